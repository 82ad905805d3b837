"""What is known of a series without opening a table: policy, the ledger's records, kept assessments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from republish.attacks.assessments import Assessment, kept
from republish.errors import LedgerError
from republish.gate.amendment import GateAmendment, amendments_of, gate_after
from republish.gate.verdict import recorded_problems
from republish.ledger.chain import WITH_RELEASE, Entry, entry_of, faults_in
from republish.ledger.entries import LedgerEntries
from republish.publishers import parameters_of
from republish.publishing.limits import limits_of
from republish.publishing.policy_record import is_as_recorded
from republish.publishing.schema_changes import sentence_of
from republish.verify.promises import meaning_of

if TYPE_CHECKING:
    from republish.gate.limits import Gate
    from republish.policy import Policy
    from republish.series import Series

_AS_RECORDED = ("as_of", "rows", "suppressed", "counterfeits", "groups", "arrivals", "measures", "tool")


@dataclass(frozen=True)
class ReleaseFacts:
    """One release as the ledger recorded it when it was published.

    `checks` are the promises that were recomputed from the files before it was committed, `gate` the verdict of the
    policy's gate. `two_tables` is what was counted where people and values are published apart. `files` maps what may
    leave the house to its BLAKE2b-256 digest. `digest` is that of the entry. `adopted` is what was found when a release
    that another tool made was taken in. `usefulness` is how far analysts are off, where that was measured.
    """

    number: int
    as_of: str
    recorded_at: str
    rows: int
    suppressed: int
    counterfeits: int
    groups: int
    arrivals: dict[str, int]
    measures: dict[str, Any]
    checks: list[dict[str, Any]]
    holds: bool
    gate: dict[str, Any] | None
    withdrawn: bool
    digest: str
    files: dict[str, str]
    tool: str
    two_tables: dict[str, Any] | None = None
    adopted: dict[str, Any] | None = None
    alike: dict[str, int] | None = None
    findings: list[dict[str, Any]] | None = None
    expect_anyway: str | None = None
    usefulness: dict[str, Any] | None = None

    @property
    def published(self) -> int:
        """Rows of the table: those of the view that were not left out, and counterfeits; in two tables, people."""
        if self.two_tables is not None:
            return self.rows
        return self.rows - self.suppressed + self.counterfeits

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class SeriesFacts:
    """A series without its tables, its people, its secret and its seed.

    `name` is the folder's. `promises` holds `one_table` (text), `series` (texts), `meanings` (a sentence for each),
    `not_promised` (sentences), and `when_published` where something is checked only then. `gate` holds the gate's
    attacks, what they are granted, limits and draws, and `gate_amended` what became of it. `forgotten` counts people.
    `problems` are what the ledger itself shows to be wrong. `changes` says how views are read otherwise than at first,
    and why. `current` runs parallel to `assessments`, of which the newest is the last. `form` is that of two tables
    with a `sentence` on it, `None` for one table. `signing` is what [report] of series.toml says, `situation`
    what [situation] answers: why the publisher was chosen.
    """

    name: str
    root: Path
    columns: list[dict[str, str]]
    publisher: dict[str, Any]
    promises: dict[str, Any]
    gate: dict[str, Any] | None
    releases: list[ReleaseFacts]
    head: str
    forgotten: int
    assessments: list[Assessment]
    created_at: str
    one_table: bool
    amended: int
    gate_amended: list[dict[str, Any]]
    problems: list[str]
    current: list[bool]
    changes: list[dict[str, str]]
    form: dict[str, Any] | None = None
    signing: dict[str, str] = field(default_factory=dict)
    situation: dict[str, bool] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the series is called by those who publish it; the name of its folder where they do not say."""
        return self.signing.get("title") or self.name

    @property
    def last(self) -> ReleaseFacts | None:
        return self.releases[-1] if self.releases else None

    @property
    def sensitive(self) -> str | None:
        return next((column["name"] for column in self.columns if column["role"] == "sensitive"), None)

    @property
    def assessment(self) -> Assessment | None:
        """The newest assessment that is still true of the series."""
        true = [one for one, holds in zip(self.assessments, self.current, strict=True) if holds]
        return true[-1] if true else None

    @property
    def outdated(self) -> Assessment | None:
        """The newest assessment, where the series went on since and none is true of it any more."""
        return self.assessments[-1] if self.assessments and self.assessment is None else None

    def as_dict(self) -> dict[str, Any]:
        """A JSON document; the folder is left out, which is nobody's business."""
        document = asdict(self)
        del document["root"]
        return document


def facts_of(series: Series) -> SeriesFacts:
    """All facts of a series; no table file is opened, so that a long series takes no longer than a short one."""
    records, head = series.ledger.catalogue.records()
    entries = (
        tuple(map(entry_of, records)) or series.ledger.entries()
    )  # which refuses a ledger without entries
    policy = series.policy
    releases = [entry for entry in entries if entry.kind in WITH_RELEASE]
    withdrawn = LedgerEntries(entries).withdrawn
    found = kept(series)
    return SeriesFacts(
        name=series.root.resolve().name,
        root=series.root,
        columns=_columns(policy),
        publisher=_publisher(policy),
        promises=_promises(policy),
        gate=_gate(gate_after(policy.gate, LedgerEntries(entries).gates)),
        releases=[_release(entry, entry.release in withdrawn) for entry in releases],
        head=entries[-1].digest,
        forgotten=sum(entry.payload["people"] for entry in entries if entry.kind == "forget"),
        assessments=found,
        created_at=entries[0].recorded_at,
        one_table=policy.one_table,
        amended=sum(entry.kind == "amend" and "hierarchy" in entry.payload for entry in entries),
        gate_amended=[_amended(entry, made) for entry, made in amendments_of(policy.gate, entries)],
        problems=[*faults_in(records, head), *_problems(policy, entries)],
        current=[one.holds_at(entries) for one in found],
        changes=[
            {"when": entry.recorded_at, "what": sentence_of(change), "reason": entry.payload["reason"]}
            for entry in entries
            for change in entry.payload.get("changes", ())
        ],
        form=None if policy.form is None else policy.form.document() | {"sentence": policy.form.sentence()},
        signing=dict(policy.report),
        situation=dict(policy.situation),
    )


def _columns(policy: Policy) -> list[dict[str, str]]:
    schema = policy.schema
    columns = [(column.name, "quasi-identifier", column.kind) for column in schema.quasi_identifiers]
    if schema.identifier is not None:
        columns.insert(0, (schema.identifier, "identifier", ""))
    if schema.sensitive is not None:
        columns.append((schema.sensitive.name, "sensitive", schema.sensitive.kind))
    columns += [(name, "insensitive", "") for name in schema.insensitive]
    columns += [(name, "drop", "") for name in schema.dropped]
    return [{"name": name, "role": role, "kind": kind} for name, role, kind in columns]


def _publisher(policy: Policy) -> dict[str, Any]:
    publisher = policy.publisher
    return {
        "name": publisher.name,
        "paper": publisher.paper,
        "summary": publisher.summary,
        "parameters": {
            name: "given" if value and name in publisher.cell_parameters else value
            for name, value in parameters_of(publisher).items()
        },
        "protects_series": bool(publisher.series_promises),
        "keeps_counts": publisher.keeps_counts,
        "knowledge": policy.knowledge is not None,
    }


def _promises(policy: Policy) -> dict[str, Any]:
    promises = {key: value for key, value in policy.promises.items() if key != "gate"}
    of_people = [(f"people: {one.text}", one.describe()) for one in policy.of_people or ()]
    described = [*of_people, *((one.text, one.describe()) for one in policy.requirements)]
    if policy.bt is not None:
        described.append((policy.bt.text, policy.bt.describe()))
    if policy.possible is not None:
        described.append((policy.possible.promise, policy.possible.describe()))
    described += [(promise, meaning_of(promise)) for promise in promises["series"]]
    return promises | {"meanings": dict(described), "not_promised": limits_of(policy)}


def _gate(gate: Gate | None) -> dict[str, Any] | None:
    if gate is None:
        return None
    return gate.public() | {"draws": gate.draws, "sentence": gate.sentence(), "needs_views": gate.needs_views}


def _release(entry: Entry, withdrawn: bool) -> ReleaseFacts:
    payload = entry.payload
    try:
        published = {name: found for name, found in payload["files"].items() if name.startswith("releases/")}
        return ReleaseFacts(
            number=entry.release or 0,
            recorded_at=entry.recorded_at,
            checks=payload["verification"]["checks"],
            holds=payload["verification"]["holds"],
            gate=payload.get("gate"),
            withdrawn=withdrawn,
            digest=entry.digest,
            files={name.split("/", 2)[2]: found["digest"] for name, found in published.items()},
            two_tables=payload.get("two_tables"),
            adopted=payload.get("adopted"),
            alike=payload.get("alike"),
            findings=payload.get("findings"),
            expect_anyway=payload.get("expect_anyway"),
            usefulness=payload.get("usefulness"),
            **{name: payload[name] for name in _AS_RECORDED},
        )
    except (KeyError, TypeError, AttributeError):
        raise LedgerError(
            f"entry {entry.seq} of the ledger does not say what every release does; restore the series from a backup"
        ) from None


def _amended(entry: Entry, made: GateAmendment) -> dict[str, Any]:
    """When the gate was amended, and what became of it."""
    return {"at": entry.recorded_at, "loosened": list(made.loosened), "sentence": made.sentence()}


def _problems(policy: Policy, entries: Sequence[Entry]) -> list[str]:
    """What is wrong by the records alone; `verify` looks at the files."""
    problems = recorded_problems(policy.gate, entries)
    if not is_as_recorded(policy, [entry for entry in entries if entry.kind in WITH_RELEASE]):
        problems.append("series.toml, a hierarchy or the knowledge is not what the ledger recorded")
    return problems
