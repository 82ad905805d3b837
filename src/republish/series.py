"""A series of releases: what is stored of it, who may write, and the door to `publishing/run.py`."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from republish.errors import LedgerError
from republish.expect import Expect, Margins
from republish.gate.amendment import gate_after
from republish.gate.limits import Gate
from republish.gate.verdict import recorded_problems
from republish.hierarchies import read_hierarchy
from republish.hooks import answer_of, html_of
from republish.inference import Reasoning
from republish.ledger import Entry, Ledger
from republish.ledger.lock import AT_ONCE, Patience
from republish.memory.membership import Membership
from republish.memory.memory import Memory, read_memory
from republish.microdata import NEWEST_ROWS, SUMS_OF_CELLS, read_view
from republish.policy import Policy, read_policy, report_fields, situation_answers
from republish.publishers import Publisher, publisher_of
from republish.publishing.create import create_folder
from republish.publishing.migration import migrate
from republish.publishing.policy_record import (
    is_as_recorded,
    require_as_recorded,
)
from republish.publishing.result import AdoptOptions, Published, ReleaseOptions
from republish.release.domains import Scales
from republish.release.forms import TwoTables, form_from
from republish.release.release import COUNTERFEITS, TABLE_PARQUET
from republish.release.two_tables import BATCHES_CSV, PEOPLE_PARQUET, VALUES_PARQUET, AnyRelease, read_release
from republish.schema import Amendments, Schema
from republish.schema.files import schema_of
from republish.secret import Secret, pseudonym_texts
from republish.sources.amended import read_codes
from republish.sources.identifiers import normal_texts
from republish.sources.paths import place_of, read_parquet
from republish.spatial.kept_cuts import KeptCuts
from republish.verify.series import SeriesVerification, verify_series

if TYPE_CHECKING:
    from republish.parts import Engine
    from republish.publishing.schema_changes import SchemaChange

Progress = Callable[[str], None]
_TABLES = (TABLE_PARQUET, COUNTERFEITS, PEOPLE_PARQUET, VALUES_PARQUET, BATCHES_CSV)


class Series:
    """A changing table, published again and again; open it with `Series.open` or make it with `Series.create`."""

    def __init__(self, root: Path, policy: Policy, ledger: Ledger) -> None:
        self.root = root
        self.ledger = ledger
        self.policy = policy
        self._amended: tuple[Any, Schema] = (({}, 0, False, 0), policy.schema)

    @classmethod
    def create(
        cls,
        root: str | Path,
        schema: Schema | str | Path,
        publisher: Publisher | str,
        *,
        seed: int | None = None,
        ledger: str | None = None,
        one_table: bool = False,
        gate: Gate | None = None,
        store: str | None = None,
        form: TwoTables | str | None = None,
        expect: Expect | None = None,
        report: Mapping[str, str] | None = None,
        situation: Mapping[str, bool] | None = None,
    ) -> Series:
        """A new series in a new or empty folder; nothing is published yet.

        The schema may be the path of a file, or of a series; the publisher a name, with its usual parameters.
        `one_table` accepts a publisher that promises nothing over the series. `gate` refuses releases from which
        adversaries would find out too much. `store` is a folder, or an address that fsspec opens, for releases and
        memory; ledger and secret stay in the folder of the series. `form` publishes people and values in two tables.
        `expect` says how far a view may differ from the last one; without it the usual limits are written down.
        `report` is what is said in the disclosure report: title, purpose, recipients, legal_basis, decided_by,
        signed_by, contact; [report] of series.toml has it, and may be edited later. `situation` are the answers by
        which the publisher was chosen (`republish.recommend(...).answers.given()`): by them the report
        asks for attacks.
        """
        root = Path(root)
        chosen = secrets.randbelow(2**31) if seed is None else seed
        tables = form_from(form) if isinstance(form, str) else form
        place = store and str(place_of(store))
        said = report_fields(report or {}, "report")
        answers = situation_answers(situation or {}, "situation")
        limits = expect or Expect()
        columns, method = schema_of(schema), publisher_of(publisher)
        policy = Policy(
            columns, method, chosen, one_table, ledger, gate, place, tables, limits, said, answers
        )
        return cls(root, policy, create_folder(root, policy))

    @classmethod
    def open(cls, root: str | Path, patience: Patience = AT_ONCE) -> Series:
        """The series in this folder; `patience` says how long writing waits while another process writes to it."""
        root = Path(root)
        if not root.is_dir():
            raise LedgerError(f"there is no series at {root}; `republish init {root} ...` makes one")
        policy = read_policy(root)
        ledger = Ledger.open(root, policy.ledger, policy.store)
        ledger.patience = patience
        return cls(root, policy, ledger)

    # What is stored -------------------------------------------------------------------------------

    def snapshot(self) -> Series:
        """The series as it stands now, to be read: its ledger is read once, and what others commit is not seen."""
        stored = copy(self)
        stored.ledger = self.ledger.snapshot()
        return stored

    @property
    def schema(self) -> Schema:
        """The schema with every amendment of its hierarchies, and of how views are read."""
        entries = self.ledger.entries()
        files, changes, frozen = entries.hierarchies, entries.schema_changes, bool(entries.releases)
        known = (files, len(changes), frozen, entries.adopted)
        if known != self._amended[0]:  # a file is never written again, so what was read of it stays true
            read = {column: read_hierarchy(self.ledger.path(name)) for column, name in files.items()}
            before = (name for entry in entries.releases for name in entry.payload.get("lacking", ()))
            amended = Amendments(before=tuple(before), series=str(self.root) if frozen else None)
            for change in changes:
                amended = amended.amended(change, self._codes(change))
            self._amended = known, replace(self.policy.schema.with_hierarchies(read), amended=amended)
        return self._amended[1]

    def _codes(self, change: dict[str, Any]) -> dict[str, str] | None:
        """The codes of a change that recodes a column."""
        return read_codes(self.ledger.intact(change["recode"])) if "recode" in change else None

    @property
    def gate(self) -> Gate | None:
        """The gate with every amendment: what the next release must pass."""
        return gate_after(self.policy.gate, self.ledger.entries().gates)

    @property
    def in_force(self) -> Policy:
        """The policy with the gate as amended; `policy` is the one that was frozen."""
        return replace(self.policy, gate=self.gate)

    @property
    def records(self) -> tuple[Entry, ...]:
        """The ledger's entries of all releases, oldest first."""
        return self.ledger.releases()

    def record(self, number: int) -> Entry:
        """The ledger's entry of one release."""
        return self.ledger.entries().record(number)

    def withdrawn(self) -> set[int]:
        """The releases that were withdrawn; an adversary may still have them."""
        return set(self.ledger.entries().withdrawn)

    def release(self, number: int) -> AnyRelease:
        """One published release, as the ledger recorded it."""
        self.require_intact(number)
        return read_release(self.ledger.folder(number), self.schema, self.scales(number))

    def require_intact(self, number: int) -> None:
        """Refuse a release whose table is not what the ledger recorded."""
        folder = f"releases/{number:04d}/"
        for name in self.record(number).payload["files"]:
            if name.startswith(tuple(f"{folder}{table}" for table in _TABLES)):
                self.ledger.intact(name)

    def scales(self, number: int) -> Scales:
        """What the codes and coordinates of a release mean."""
        path = self.ledger.intact(self.record(number).payload["scales"])
        return Scales.from_json(json.loads(path.read_text(encoding="utf-8")), self.schema)

    def known_values(self) -> pl.Series:
        """The sensitive values that the codes of all releases point into."""
        return self.values_at(len(self.records))

    def values_at(self, number: int) -> pl.Series:
        """The sensitive values that were known at a release."""
        return self.scales(number).values

    @property
    def reasoning(self) -> Reasoning | None:
        """How the publisher takes an adversary to think, where it thinks of one."""
        return self.policy.reasoning

    @property
    def publisher(self) -> Publisher:
        """What makes its releases."""
        return self.policy.publisher

    def memory(self) -> Memory:
        """What is remembered of everyone published so far."""
        counts = self.counts_file()
        files = [self.ledger.intact(name) for name in self.memory_files()]
        return read_memory(files, len(self.records), self.ledger.intact(counts) if counts else None)

    def cuts(self) -> KeptCuts:
        """The cuts that cells of people are made by; none before the first release, and in one table."""
        name = self.ledger.entries().cuts_file
        return KeptCuts.none() if name is None else KeptCuts.of_table(read_parquet(self.ledger.intact(name)))

    def margins(self) -> Margins | None:
        """What the next view is compared with: the margins of the last one; none where an earlier version made it."""
        name = self.ledger.entries().margins_file
        if name is None:
            return None
        return Margins.from_document(json.loads(self.ledger.intact(name).read_text(encoding="utf-8")))

    def counts_file(self) -> str | None:
        """The file of what was counted over the whole series, where something was and `forget` did not drop it."""
        return self.ledger.entries().counts_file

    def memory_files(self) -> dict[str, int]:
        """The files that make up the memory, oldest first, with the number of entries in each."""
        return self.ledger.entries().memory_files

    def membership(self, number: int) -> pl.DataFrame:
        """Private: the pseudonym of everyone in a release and the group they were published in (0 = suppressed)."""
        return self.appearances(number).select("person", "group")

    def appearances(self, number: int) -> pl.DataFrame:
        """Private: everyone in a release with group, sensitive code and a digest of the quasi-identifiers."""
        return self.members(number).table()

    def members(self, number: int) -> Membership:
        """Private: who is in a release, in the form that verification and attacks have it."""
        entries = self.ledger.entries()
        return Membership.read([self.ledger.path(name) for name in entries.membership_files(number)])

    def membership_files(self, number: int) -> list[str]:
        """The newest files that hold the membership of a release, in their order; later entries may name new ones."""
        return self.ledger.entries().membership_files(number)

    @property
    def row_digests(self) -> int:
        """The form of the digests of rows in memory and memberships; see `Microdata.row_digests`."""
        told = [
            entry.payload["row_digests"] for entry in self.ledger.entries() if "row_digests" in entry.payload
        ]
        return NEWEST_ROWS if NEWEST_ROWS in told else SUMS_OF_CELLS

    @property
    def open_ends(self) -> bool:
        """Whether outermost cells of people are published open; series in two tables made earlier tell their ends."""
        return any(entry.payload.get("open_ends", False) for entry in self.ledger.entries())

    def compromised_file(self, number: int) -> str | None:
        """The name of the newest file of what an adversary knows of people in a release, where there is one."""
        return self.ledger.entries().compromised_file(number)

    def true_codes(self, number: int, view: Any) -> pl.DataFrame:
        """Private: the pseudonym and sensitive code of everyone in a raw view of that release, to score attacks."""
        raw = read_view(view, self.schema, self.scales(number).values).pseudonymous(self.secret())
        assert raw.people is not None
        return pl.DataFrame([pseudonym_texts(raw.people), pl.Series("code", raw.codes)])

    def pseudonyms(self, identifiers: Iterable[str]) -> pl.Series:
        """The pseudonyms of these people in this series."""
        texts = normal_texts(pl.Series(identifiers, dtype=pl.String), self.policy.schema.normal)
        return pseudonym_texts(self.secret().pseudonyms(texts))

    def secret(self) -> Secret:
        """The secret of the series, checked against the fingerprint in the ledger."""
        secret = Secret.load(self.root / "private" / "secret.key")
        if secret.fingerprint() != self.ledger.entries()[0].payload["secret"]:
            raise LedgerError(
                "this is not the secret the series was made with; restore the right one. With another secret "
                "everyone would look like a newcomer; nothing was written"
            )
        return secret

    def verify(
        self, progress: Callable[[int, int], None] | None = None, engine: Engine | None = None
    ) -> SeriesVerification:
        """Recompute everything that the series promises from what is stored; in parts where an engine is given."""
        stored = self.snapshot()
        found = verify_series(stored, progress) if engine is None else engine.verify(stored, progress)
        return replace(found, problems=(*stored.policy_problems(), *found.problems))

    def policy_problems(self) -> list[str]:
        """What keeps the series from going on: a changed policy, a lost secret."""
        problems = recorded_problems(self.policy.gate, self.ledger.entries())
        if not is_as_recorded(self.policy, self.records):
            problems.append("series.toml, a hierarchy or the knowledge is not what the ledger recorded")
        try:
            self.secret()
        except LedgerError:
            problems.append("the secret of the series is missing or wrong: nobody can be recognised again")
        return problems

    def require_policy(self) -> None:
        """Refuse to go on where the policy is not the one that releases were made under."""
        require_as_recorded(self.policy, self.records)

    # Who may write -------------------------------------------------------------------------------

    @contextmanager
    def writing(self, command: str) -> Iterator[None]:
        """Be the only writer for the block; a series of an earlier version is brought to the newest form before it."""
        with self.ledger.lock(command):
            migrate(self)
            yield

    _repr_html_ = html_of("series_html")

    # One release ----------------------------------------------------------------------------------

    def publish(
        self,
        view: Any,
        as_of: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        compromised: Any = None,
        engine: Engine | None = None,
        meant: Collection[str] = (),
        truth: Sequence[Any] = (),
        corrects: int | None = None,
        expect_anyway: str | None = None,
        hold_newcomers: bool = False,
        theta: Any = None,
    ) -> Published:
        """One release of a view: group, verify, pass the gate, commit; or an error, and the series is as it was.

        A dry run returns what the gate says without raising it.

        `compromised` is what an adversary knows of single people in this view: a table with the identifier, a
        sensitive value, and how sure she is of it in a column p. `engine` makes the release in parts on other
        machines: see `republish.parts`. `meant` says what would else be refused as a mistake: "new-people", that
        almost nobody in the view is recognised, "fewer-rows", that it is empty or a small part of the last one,
        "same-view", that it is the last one once more (`NothingNew`). `truth` are the raw views of all earlier
        releases, for a gate with linkage or presence. `corrects` is the number of the last release, which was made of
        a wrong view: it is withdrawn with this one, which takes its place and says what an adversary who has
        both finds.
        `expect_anyway` is the reason, for the record and without names, why a view is published that differs from the
        last by more than `[expect]` allows. With `hold_newcomers` people who were in no release before wait for a
        later one. `theta` is a table of possible values of the people in the view, identifier and sensitive value, for
        a publisher with `theta` "people".
        """
        options = ReleaseOptions(
            as_of, dry_run, compromised, meant, truth, corrects, expect_anyway, hold_newcomers, theta
        )
        if engine is not None:
            return engine.publish(self, view, options, progress)
        done: Published = answer_of("republish.publishing.run:publish")(self, view, options, progress)
        return done

    def amend(self, changes: Sequence[SchemaChange], reason: str) -> list[str]:
        """Say how views are read from now on, all changes or none; return what each does.

        See `republish.publishing.schema_changes`.
        """
        done: list[str] = answer_of("republish.publishing.schema_changes:amend_schema")(self, changes, reason)
        return done

    def adopt(
        self,
        *tables: Any,
        view: Any,
        as_of: str | None = None,
        groups: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        meant: Collection[str] = (),
        expect_anyway: str | None = None,
    ) -> Published:
        """One release that another tool made before the series began: one table, or two, people and values.

        `view` is the raw view that it was made of, with identifiers. Everyone is put into a group whose cells and
        values fit her, or into that which the column `groups` of the view names. Attacks, gate and promises count
        with the release from then on; nothing is promised of it. Adopt all of them, in order, before the first
        `publish`. For `meant` and `expect_anyway` see there.
        """
        options = AdoptOptions(as_of, dry_run, groups, meant, expect_anyway)
        done: Published = answer_of("republish.publishing.adopt.run:adopt")(
            self, tables, view, options, progress
        )
        return done
