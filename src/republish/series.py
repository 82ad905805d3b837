"""A series of releases: the loop from a raw view to a committed release, and the only place where state changes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from republish.arrays import IntArray
from republish.errors import LedgerError
from republish.gate.limits import Gate
from republish.gate.verdict import Verdict, recorded_problems
from republish.grouping import Grouping
from republish.hierarchies import read_hierarchy
from republish.hooks import html_of
from republish.inference import Reasoning
from republish.ledger import Draft, Entry, Ledger, crash_points
from republish.memory.membership import Membership
from republish.memory.memory import Memory, compare, read_memory, sight
from republish.metrics import measure
from republish.microdata import NEWEST_ROWS, SUMS_OF_CELLS, Microdata, read_view
from republish.policy import Policy, read_policy
from republish.publishers import Publisher
from republish.publishing.about import Size, about_release
from republish.publishing.as_of import moment_of
from republish.publishing.compromised_records import with_compromised
from republish.publishing.create import create_folder
from republish.publishing.migration import migrate
from republish.publishing.plausibility import other_spelling, require_plausible, turnout
from republish.publishing.policy_record import (
    is_as_recorded,
    policy_record,
    require_another_release,
    require_as_recorded,
)
from republish.publishing.private_files import write_private
from republish.publishing.publishable import require_publishable, shapes_of
from republish.publishing.result import Published
from republish.release.domains import Scales
from republish.release.release import Release, build_release, read_release
from republish.schema.schema import Schema
from republish.secret import Secret, pseudonym_texts
from republish.sources.identifiers import normal_texts, require_whole
from republish.sources.paths import place_of
from republish.verify.bt_privacy import checks_of_beliefs
from republish.verify.check import Verification
from republish.verify.series import (
    AuditedRelease,
    SeriesVerification,
    check_against_memory,
    signatures_of,
    verify_series,
)
from republish.verify.similarity import shown_to
from republish.verify.table import verify_against_view, verify_release

if TYPE_CHECKING:
    from republish.parts import Engine

Progress = Callable[[str], None]
STEPS = ("reading the view", "grouping", "writing", "verifying", "attacking", "remembering", "committing")


class Series:
    """A changing table, published again and again; open it with `Series.open` or make it with `Series.create`."""

    def __init__(self, root: Path, policy: Policy, ledger: Ledger) -> None:
        self.root = root
        self.ledger = ledger
        self.policy = policy
        self._amended: tuple[dict[str, str], Schema] = ({}, policy.schema)

    @classmethod
    def create(
        cls,
        root: str | Path,
        schema: Schema,
        publisher: Publisher,
        *,
        seed: int | None = None,
        ledger: str | None = None,
        one_table: bool = False,
        gate: Gate | None = None,
        store: str | None = None,
    ) -> Series:
        """A new series in a new or empty folder; nothing is published yet.

        `one_table` accepts a publisher that promises nothing over the series. `gate` refuses releases from which
        adversaries would find out too much. `store` is a folder, or an address that fsspec opens, for releases and
        memory; ledger and secret stay in the folder of the series.
        """
        root = Path(root)
        chosen = secrets.randbelow(2**31) if seed is None else seed
        policy = Policy(schema, publisher, chosen, one_table, ledger, gate, store and str(place_of(store)))
        return cls(root, policy, create_folder(root, policy))

    @classmethod
    def open(cls, root: str | Path) -> Series:
        """The series in this folder."""
        root = Path(root)
        if not root.is_dir():
            raise LedgerError(f"there is no series at {root}; `republish init {root} ...` makes one")
        policy = read_policy(root)
        return cls(root, policy, Ledger.open(root, policy.ledger, policy.store))

    # What is stored -------------------------------------------------------------------------------

    def snapshot(self) -> Series:
        """The series as it stands now, to be read: its ledger is read once, and what others commit is not seen."""
        stored = copy(self)
        stored.ledger = self.ledger.snapshot()
        return stored

    @property
    def schema(self) -> Schema:
        """The schema with every amendment of its hierarchies."""
        files = self.ledger.entries().hierarchies
        if files != self._amended[0]:  # a file is never written again, so what was read of it stays true
            read = {column: read_hierarchy(self.ledger.path(name)) for column, name in files.items()}
            self._amended = files, self.policy.schema.with_hierarchies(read)
        return self._amended[1]

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

    def release(self, number: int) -> Release:
        """One published release."""
        return read_release(self.ledger.folder(number), self.schema, self.scales(number))

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

    def memory(self) -> Memory:
        """What is remembered of everyone published so far."""
        counts = self.counts_file()
        files = [self.ledger.intact(name) for name in self.memory_files()]
        return read_memory(files, len(self.records), self.ledger.intact(counts) if counts else None)

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

    def compromised_file(self, number: int) -> str | None:
        """The name of the newest file of what outsiders know of people in a release, where there is one."""
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
        return replace(found, problems=(*stored._policy_problems(), *found.problems))

    def _policy_problems(self) -> list[str]:
        """What keeps the series from going on: a changed policy, a lost secret."""
        problems = recorded_problems(self.policy.gate, self.records) if self.policy.gate else []
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
    ) -> Published:
        """One release of a view: group, verify, pass the gate, commit; or an error, and the series is as it was.

        A dry run returns what the gate says without raising it.

        `compromised` is what outsiders know of single people in this view: a table with the identifier, a
        sensitive value, and how sure they are of it in a column p. `engine` makes the release in parts on other
        machines: see `republish.parts`. `meant` says what would else be refused as a mistake: "new-people", that
        almost nobody in the view is recognised, "fewer-rows", that it is empty or a small part of the last one.
        """
        if engine is not None:
            return engine.publish(self, view, as_of, dry_run, progress, compromised, meant)
        step = progress or (lambda _: None)
        with self.ledger.lock("publish --dry-run") if dry_run else self.writing("publish"):
            self.ledger.require_present()
            head, records = self.ledger.head, self.records
            number = len(records) + 1
            moment = moment_of(as_of, records[-1].payload["as_of"] if records else None)
            require_another_release(self.policy, records, self.root)
            secret, schema = self.secret(), self.schema
            step(STEPS[0])
            read = read_view(view, schema, self.known_values() if number > 1 else None)
            require_publishable(schema, shapes_of(read))
            raw, memory = read.pseudonymous(secret), self.memory()
            said = self._plausible(read, raw, memory, meant)
            if compromised is not None:
                raw = with_compromised(raw, compromised, self.policy, secret)
            crash_points.reach("view-read")
            step(STEPS[1])
            rng = secret.generator(self.policy.seed, number, "publisher")
            grouping = self.policy.publisher.publish(raw, memory, rng)
            crash_points.reach("grouped")
            with self.ledger.stage(number) as draft:
                step(STEPS[2])
                group_of_row = self._write_release(draft, raw, grouping, moment)
                draft.adopt_release()
                crash_points.reach("release-written")
                step(STEPS[3])
                release, verification = self._verify_draft(draft, raw, group_of_row, memory)
                crash_points.reach("verified")
                measures = measure(release, suppressed=grouping.suppressed)
                seen = sight(raw, raw.row_digests(secret, self.row_digests), group_of_row, number, memory)
                done = Published(
                    number=number,
                    as_of=moment,
                    rows=raw.rows,
                    suppressed=grouping.suppressed,
                    counterfeits=grouping.counterfeits,
                    groups=release.group_count,
                    arrivals=compare(seen, number, memory),
                    measures=measures,
                    verification=verification,
                    folder=None if dry_run else self.ledger.layout.release(number),
                    gate=self._judge(release, raw, seen, step),
                    meant=said,
                )
                if dry_run:
                    return done
                if done.gate is not None:
                    done.gate.require()
                crash_points.reach("gated")
                step(STEPS[5])
                kept = write_private(self, draft, raw, grouping, seen, memory)
                crash_points.reach("private-written")
                step(STEPS[6])
                payload = done.as_dict() | kept | policy_record(self.policy)
                del payload["folder"]
                self.ledger.commit(draft, "release", payload, head)
        return done

    def _plausible(
        self, read: Microdata, raw: Microdata, memory: Memory, meant: Collection[str]
    ) -> tuple[str, ...]:
        """Refuse a view that can hardly be the next one; return what of it is meant."""
        assert raw.people is not None and read.identifiers is not None
        texts, records = read.identifiers, self.records
        found = turnout(raw.people, memory, records[-1].payload["rows"] if records else 0)
        said = require_plausible(found, meant, lambda: other_spelling(texts, self.secret(), memory))
        if not found.known:
            require_whole(texts, read.schema)
        return said

    def _write_release(self, draft: Draft, view: Microdata, grouping: Grouping, moment: str) -> IntArray:
        """Write what may leave the house; return the published group of every row of the view."""
        number = draft.release or 0
        release, group_of_row = build_release(view, grouping, self.secret(), self.policy.seed, number)
        size = Size(release.rows, release.group_count, grouping.suppressed, grouping.counterfeits)
        release.write(draft.folder, about_release(self.policy, number, moment, size))
        return group_of_row

    def _verify_draft(
        self, draft: Draft, view: Microdata, group_of_row: IntArray, memory: Memory
    ) -> tuple[Release, Verification]:
        """Check what lies on disk, not what the publisher or this process believes; return it as read back."""
        found = verify_release(draft.folder, view.schema, self.policy.requirements)
        stored = read_release(draft.folder, view.schema, Scales.of(view))
        verification = found.with_checks(
            verify_against_view(stored, view, group_of_row),
            *checks_of_beliefs(self.policy.publisher, view, group_of_row),
        )
        promises = self.policy.publisher.series_promises
        if promises and view.people is not None:
            signatures = signatures_of(draft.folder, view.schema, view.values)
            shown = None if self.reasoning is None else shown_to(self.reasoning, view, draft.folder)
            members = Membership(view.people, group_of_row, view.codes)
            now = AuditedRelease(draft.release or 0, members, signatures, shown)
            verification = verification.with_checks(
                *check_against_memory(promises, now, stored.sizes, memory, self.reasoning)
            )
        verification.require()
        return stored, verification

    def _judge(self, release: Release, view: Microdata, seen: Memory, step: Progress) -> Verdict | None:
        """What the gate says of all releases with this one, where the policy has a gate."""
        if self.policy.gate is None:
            return None
        from republish.gate.run import Coming, WithDraft, judge  # attacks are loaded where they are made

        step(STEPS[4])
        source = WithDraft(self, Coming(release, view, seen))
        return judge(self.policy.gate, source, lambda name: step(f"{STEPS[4]}: {name}"))
