"""A whole series checked in parts: what `verify_series` checks, with its functions, as sums over tasks.

Release after release people meet what is known of them, go to the shard of their group, and are known better after
it. Nothing but counts and checks comes back. The memory is compared with what is known in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from republish.errors import LedgerError, PolicyError
from republish.knowledge import Extracted, Transitions
from republish.knowledge.possible_people import PROMISE as POSSIBLE
from republish.ledger import Entry
from republish.ledger.check import places_of
from republish.ledger.files import split_name
from republish.memory.memory import Memory
from republish.parts.batches import BATCHES, batches_together, fit_batches
from republish.parts.blocks import Block, Mover, Task
from republish.parts.counts import ROWS, add_up
from republish.parts.pseudonymize import MEMORY, VIEW, recall
from republish.parts.publish.plan import Sizes
from republish.parts.verify.batches import BatchesInParts, BatchFiles
from republish.parts.verify.files import (
    AWAY,
    CLOCK,
    CSV,
    FALSE,
    FILE,
    IN_CELLS,
    MEMBERS,
    PEOPLE,
    START,
    STATE,
    TABLE,
    UNREAD,
    Ranges,
    ReadingRelease,
    Surveyed,
    Unreadable,
    at_large,
    legible,
    listed,
    measuring,
    parts_of,
    read_values,
    survey_tables,
)
from republish.parts.verify.tasks import (
    Auditor,
    Axes,
    CheckingGroups,
    CheckingPeople,
    Compared,
    MetMembers,
    compare_memory,
    count_followers,
    meet_members,
)
from republish.release.domains import Scales
from republish.release.release import COUNTERFEITS, TABLE_CSV, TABLE_PARQUET
from republish.release.two_tables import (
    BATCHES_CSV,
    PEOPLE_PARQUET,
    VALUES_CSV,
    VALUES_PARQUET,
    people_schema,
)
from republish.schema import Schema
from republish.series import Series
from republish.sources.paths import read_parquet
from republish.verify.batches import ABOUT_BATCHES, BLIND
from republish.verify.check import Check, Verification
from republish.verify.cohorts import DETERMINED
from republish.verify.kept_cuts import Labels, labels_in_common, moved_so_far
from republish.verify.memory import sentences
from republish.verify.promises import EVENTS, GROWING, NEW_VALUES, WITHSTAND
from republish.verify.promises import VIEW as OF_VIEW
from republish.verify.series import LOST_MEMORY, UNREADABLE, Audit, SeriesVerification, recorded_promises
from republish.verify.similarity import BeliefWalk
from republish.verify.sums import CheckedCells, CheckedPieces
from republish.verify.table import AtLarge
from republish.verify.walk import About

_FILES_A_TASK = 64


def verify_in_parts(
    series: Series,
    mover: Mover[Any],
    part_rows: int,
    parts: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SeriesVerification:
    """Check chain and files, every promise of every release, and the memory, in parts of about `part_rows` rows.

    Raises:
        PolicyError: something is promised that only one process can check.
    """
    try:
        return _AuditInParts(series, mover, part_rows, parts).verify(progress)
    finally:
        mover.release()


@dataclass(frozen=True)
class _Stored:
    """A release to be checked: what the series says of it, and where its files lie."""

    stated: About
    tables: tuple[Path, ...]
    counterfeits: tuple[Path, ...]
    members: tuple[Path, ...]
    csv: tuple[Path, ...]
    people: tuple[Path, ...] = ()
    scales: Scales | None = None
    clock: tuple[Path, ...] = ()


@dataclass(frozen=True)
class _LookedOver:
    """What all files of a table say: of values, columns and groups, and whether CSV tables say the same."""

    large: AtLarge
    columns: pl.Schema
    ranges: Ranges
    same: tuple[Check, ...]
    rows: int

    @property
    def flags(self) -> frozenset[str]:
        """The columns that a part may lack: what they say is false there."""
        return frozenset(name for name, kind in self.columns.items() if kind == pl.Boolean)


@dataclass(frozen=True)
class _ReadMembers:
    """The members of a release, and how its files are read; in two tables with cells, and what was found there."""

    reading: Task
    members: Any
    axes: Axes | None = None
    found: tuple[Verification, ...] = ()


class _AuditInParts(Audit):
    """An audit under way."""

    def __init__(self, series: Series, mover: Mover[Any], part_rows: int, parts: int | None) -> None:
        recorded = tuple(dict.fromkeys(recorded_promises(series.records)))
        self.auditor = Auditor(series.policy.promises, recorded, series.reasoning)
        super().__init__(series, self.auditor.walk())
        self.entries, self.mover = series.ledger.entries(), mover
        self._require_in_parts()
        rows = [int(entry.payload["rows"]) for entry in self.records]
        most = max([*rows, sum(self.entries.memory_files.values())], default=0)
        self.tasks = Sizes.of(most, part_rows, parts).parts
        self.state: Any = None
        self.counts: pl.DataFrame | None = None
        self.counts_lost = False
        self.checked = 0
        self.labels: Labels | None = None
        self.batches = BatchesInParts(mover) if BLIND in self.walk.names else None

    def _require_in_parts(self) -> None:
        reason = None
        bound = DETERMINED in self.walk.names and BLIND not in self.walk.names
        if bound or self.walk.names & {NEW_VALUES, WITHSTAND, EVENTS, GROWING}:
            reason = "its promises are about all people of a release together"
        elif any(name.startswith(OF_VIEW) for name in self.walk.names):
            reason = "its groups are compared with whole views"
        elif self.series.reasoning is not None and self.series.reasoning.knowledge.gaps == "count":
            reason = "its knowledge counts the releases that people are absent from"
        elif POSSIBLE in self.walk.promises["series"]:
            reason = "possible values of single people are looked up"
        elif any(self.entries.compromised_file(number) for number in range(1, len(self.records) + 1)):
            reason = "an adversary knows something of single people"
        elif self.entries.adopted:
            reason = "it holds releases that another tool made"
        if reason:
            raise PolicyError(
                f"a series is verified in parts only where no check needs all rows at once, and {reason}; verify "
                "without --engine"
            )

    def faults(self) -> list[str]:
        return self.series.ledger.check(measured=self._measured())

    def _measured(self) -> dict[str, dict[str, Any]]:
        places = places_of(self.series.ledger.layout, self.entries)
        batches = max(1, -(-len(places) // _FILES_A_TASK))
        names = self.mover.blocks(listed(places.items(), FILE, batches))
        found = dict(self.mover.facts(self.mover.map(names, [FILE], measuring)))
        unseen = [name for name, measure in found.items() if measure is None and places[name].is_file()]
        if unseen:
            raise LedgerError(
                f"executors must see the folder of the series, or its store, under the same path as the driver; they "
                f"cannot read {len(unseen)} of its {len(places)} files. Nothing was verified"
            )
        return {name: measure for name, measure in found.items() if measure is not None}

    # One release ----------------------------------------------------------------------------------

    def pieces(self, entry: Entry) -> CheckedPieces | None:
        try:
            stored = self._stored(entry)
        except UNREADABLE:
            return None
        read_table = read_values if stored.people else read_parquet
        surveyed = self._looked_over(stored.tables, stored.csv, self.schema, read_table)
        if surveyed is None:
            return None
        large, columns, ranges, same = surveyed.large, surveyed.columns, surveyed.ranges, surveyed.same
        of_batches, others = self._divided(stored.stated.promises)
        stated = stored.stated._replace(large=large, batches=bool(stored.people), promises=others)
        mover = self.mover
        read = self._read(stored, surveyed)
        if read is None:
            return None
        met = mover.exchange(
            [read.members] if self.state is None else [self.state, read.members],
            [STATE, MEMBERS, UNREAD],
            self.tasks,
            partial(legible, partial(meet_members, ranges, read.axes)),
        )
        met = mover.keep(met)
        met_facts = mover.facts(met)
        if any(isinstance(one, Unreadable) for one in met_facts):
            mover.forget(met)
            return None
        auditor, counts = self._knowing(met, met_facts)
        kinds = ((TABLE, stored.tables), (FALSE, stored.counterfeits), (CLOCK, stored.clock))
        files = [(kind, place) for kind, places in kinds for place in places]
        tables = mover.map(mover.blocks(listed(files, FILE)), [FILE], read.reading)
        start = mover.blocks([Block(0, START, b"")])
        task = partial(legible, CheckingGroups(auditor, stated, self.checked, ranges, columns, read.axes))
        shards = mover.keep(
            mover.exchange(
                [met, tables, start], [VIEW, AWAY, TABLE, FALSE, CLOCK, START, UNREAD], self.tasks, task
            )
        )
        facts = mover.facts(shards)
        cells = self._fitting(read, shards, stated)
        mover.forget(met)
        followed = None
        if self.batches is not None:
            followed = self.batches.follow(
                stated.number, of_batches, BatchFiles(stored.members, stored.clock)
            )
        lost = self.batches is not None and followed is None
        if lost or any(isinstance(one, Unreadable) for one in facts):
            mover.forget(shards)
            return None
        if self.batches is not None and followed is not None:
            self.batches.keep(followed)
        if self.state is not None:
            mover.forget(self.state)
        self.state, self.counts, self.counts_lost = shards, counts, auditor.counts_lost
        self.checked += 1
        self.labels = self.labels if read.axes is None else read.axes.common
        return CheckedPieces(
            [one.verification for one in facts],
            stated.requirements,
            sum(one.new_lives for one in facts),
            sum(one.repeated for one in met_facts),
            same,
            cells,
            () if followed is None else followed.found.checks,
        )

    def _divided(self, promises: list[str]) -> tuple[list[str], list[str]]:
        """The promises that one task checks for all batches, and the others."""
        if self.batches is None:
            return [], promises
        mine = [promise for promise in promises if promise.partition("=")[0] in ABOUT_BATCHES]
        return mine, [promise for promise in promises if promise not in mine]

    def _read(self, stored: _Stored, surveyed: _LookedOver) -> _ReadMembers | None:
        """The members of a release; in two tables with their cells, and the people checked on the way."""
        mover, classes = self.mover, self.auditor.reasoning is not None
        members = [(MEMBERS, place) for place in stored.members]
        if stored.scales is None:
            reading = partial(legible, ReadingRelease(surveyed.ranges, surveyed.flags, classes))
            return _ReadMembers(reading, mover.map(mover.blocks(listed(members, FILE)), [FILE], reading))
        people = self._looked_over(stored.people, (), people_schema(self.schema), read_parquet)
        if people is None:
            return None
        reading = partial(legible, ReadingRelease(surveyed.ranges, people.flags, classes, people.ranges))
        files = [*members, *((PEOPLE, place) for place in stored.people)]
        rows = mover.map(mover.blocks(listed(files, FILE)), [FILE], reading)
        start = mover.blocks([Block(0, START, b"")])
        stated, number = stored.stated, stored.stated.number
        payloads = [record.payload for record in self.records[:number]]
        recorded = {name: payloads[-1][name] for name in ("ends", "extended")}
        task = CheckingPeople(
            stated, recorded, moved_so_far(payloads), stored.scales, people.ranges, people.columns
        )
        found = mover.keep(
            mover.exchange(
                [rows, start], [PEOPLE, IN_CELLS, START, UNREAD], self.tasks, partial(legible, task)
            )
        )
        facts = mover.facts(found)
        if any(isinstance(one, Unreadable) for one in facts):
            mover.forget(found)
            return None
        # An empty week has no labels.
        common = labels_in_common(self.labels, stored.scales.axes) if people.rows else self.labels
        return _ReadMembers(reading, found, Axes(stored.scales.axes, self.labels, common), tuple(facts))

    def _fitting(self, read: _ReadMembers, shards: Any, stated: About) -> CheckedCells | None:
        """What was found in the table of people, where there is one."""
        if read.axes is None or stated.of_people is None:
            return None
        fitting = self.mover.exchange(
            [read.members, shards], [BATCHES, UNREAD], self.tasks, partial(legible, fit_batches)
        )
        checks = [one for one in self.mover.facts(fitting) if isinstance(one, Check)]
        self.mover.forget(read.members)
        return CheckedCells(read.found, stated.of_people, batches_together(checks))

    def _cells(self, entry: Entry) -> None:
        """Nothing: everyone's cell goes with her."""
        return

    def _stored(self, entry: Entry) -> _Stored:
        number, stated = entry.release or 0, self.about(entry)
        folder = self.series.ledger.folder(number)
        members = tuple(self._private(name) for name in self.entries.membership_files(number))
        two = stated.of_people is not None
        table, text = (VALUES_PARQUET, VALUES_CSV) if two else (TABLE_PARQUET, TABLE_CSV)
        return _Stored(
            stated,
            parts_of(folder / table, ".parquet"),
            parts_of(folder / COUNTERFEITS, ".csv") if (folder / COUNTERFEITS).exists() else (),
            members,
            (folder,) if (folder / text).exists() else (),
            parts_of(folder / PEOPLE_PARQUET, ".parquet") if two else (),
            self.series.scales(number) if two else None,
            parts_of(folder / BATCHES_CSV, ".csv") if (folder / BATCHES_CSV).exists() else (),
        )

    def _private(self, name: str) -> Path:
        """Where a private file lies; the names of a large series are too many to ask the ledger for each."""
        split_name(name)
        return self.series.ledger.layout.store / name

    def _looked_over(
        self,
        tables: Sequence[Path],
        csv: Sequence[Path],
        schema: Schema,
        read: Callable[[Path, list[str]], pl.DataFrame],
    ) -> _LookedOver | None:
        """What a table says as a whole: values, columns, groups, and whether CSV tables of a folder say the same."""
        mover = self.mover
        names = mover.blocks([*listed(tables, FILE), *listed(csv, CSV)])
        facts = mover.facts(
            mover.map(names, [FILE, CSV], partial(legible, partial(survey_tables, schema, read)))
        )
        if any(isinstance(one, Unreadable) for one in facts):
            return None
        found = [one for one in facts if isinstance(one, Surveyed)]
        empty = [pl.DataFrame(schema=one.columns) for one in found]
        columns = pl.concat(empty, how="diagonal_relaxed").schema
        same = tuple(one for one in facts if isinstance(one, Check))
        try:
            large = at_large(found, schema)
        except UNREADABLE:
            return None
        rows, top = sum(one.rows for one in found), max(one.top for one in found)
        return _LookedOver(large, columns, Ranges(top, self.tasks), same, rows)

    def _knowing(self, met: Any, facts: Sequence[MetMembers]) -> tuple[Auditor, pl.DataFrame | None]:
        """The auditor who knows the counts of all views up to this one, where knowledge is counted; and the counts."""
        reasoning = self.auditor.reasoning
        source = None if reasoning is None else reasoning.knowledge
        if reasoning is None or not isinstance(source, Extracted):
            return self.auditor, None
        lost = self.counts_lost or any(one.nobody for one in facts)
        tasks = -(-self.tasks // 16)
        counted = add_up(self.mover, met, tasks, partial(count_followers, source, tasks))
        start = source.start()
        counts = start if self.counts is None else Transitions(start.order, self.counts)
        counts = counts.plus(counted.rename({ROWS: "count"}, strict=False))
        knowing = replace(reasoning, knowledge=replace(source, counted=counts))
        return replace(self.auditor, reasoning=knowing, counts_lost=lost), counts.table

    def begin_anew(self) -> None:
        if self.state is not None:
            self.mover.forget(self.state)
        self.auditor = replace(self.auditor, anew=True)
        self.batches = None if self.batches is None else BatchesInParts(self.mover)
        self.state, self.counts, self.labels, self.checked = None, None, None, 0

    # The memory -----------------------------------------------------------------------------------

    def memory_faults(self) -> list[str]:
        mover, entries = self.mover, self.entries
        try:
            files = tuple((self._private(name), entries.files[name]) for name in entries.memory_files)
            counts = entries.counts_file
            record = (self._private(counts), entries.files[counts]) if counts else None
            counted = counts is not None and self.batches is None
            kept = read_parquet(self.series.ledger.intact(counts)) if counts and counted else None
        except (KeyError, *UNREADABLE):
            return [LOST_MEMORY]
        listing = mover.blocks([Block(i, FILE, str(i).encode()) for i in range(len(files))])
        memory = mover.map(listing, [FILE], partial(legible, partial(recall, files, self.tasks)))
        comparing = partial(legible, partial(compare_memory, self.auditor, len(self.records)))
        compared = mover.exchange([self.state, memory], [STATE, MEMORY, UNREAD], self.tasks, comparing)
        compared = compared if self.batches is None else mover.keep(compared)
        facts = mover.facts(compared)
        if any(isinstance(one, Unreadable) for one in facts):
            return [LOST_MEMORY]
        found = [one for one in facts if isinstance(one, Compared)]
        wrong: Counter[str] = Counter()
        for one in found:
            wrong.update(one.wrong)
        problems = sentences(wrong)
        if self.auditor.reasoning is not None:
            beliefs = BeliefWalk(self.auditor.reasoning)
            beliefs.memory, beliefs.counts_lost = (
                replace(Memory.empty(), counts=self.counts),
                self.counts_lost,
            )
            problems += beliefs.sentences(sum(one.otherwise for one in found), kept)
        if self.batches is None:
            return problems
        differs = self.batches.differences(compared, record)
        return [LOST_MEMORY] if differs is None else problems + differs
