"""A whole series checked from what is stored: chain, files, every promise of every release, and the memory.

`republish verify` goes through all releases and forms anew what must be remembered, from the private memberships. One
process and many parts differ in how they read a release; what is checked, in which order, and how it is summed up is
`Audit`. What the promises are is said in `republish.verify.promises`; no publisher is imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import polars as pl

from republish.errors import LedgerError, PolicyError, SchemaError, ViewError
from republish.inference import Reasoning
from republish.knowledge.possible_people import PROMISE as POSSIBLE
from republish.ledger import Entry, Ledger
from republish.ledger.check import files_at_fault
from republish.memory.membership import Membership
from republish.memory.memory import Memory, keyed
from republish.release.domains import Scales
from republish.release.forms import HIDDEN_BATCH
from republish.release.release import COUNTERFEITS, TABLE_PARQUET, release_of
from republish.release.two_tables import (
    BATCH,
    PEOPLE_PARQUET,
    VALUES_PARQUET,
    people_schema,
    stored_release,
)
from republish.schema import Schema
from republish.sources.paths import read_parquet
from republish.verify.check import Check, Verification
from republish.verify.draft import check_against_memory
from republish.verify.hidden_batch import batches_hidden
from republish.verify.kept_cuts import ShownCells, moved_so_far
from republish.verify.possible_values import possible_for_people
from republish.verify.promises import AuditedRelease, Signatures, meaning_of, signatures_of
from republish.verify.similarity import published_rows, shown_in
from republish.verify.sums import CheckedPieces
from republish.verify.walk import About, Walk, verify_members

__all__ = [
    "AuditedRelease",
    "SeriesVerification",
    "Signatures",
    "check_against_memory",
    "meaning_of",
    "signatures_of",
    "verify_series",
]

UNREADABLE = (OSError, pl.exceptions.PolarsError, SchemaError, ViewError, LedgerError, PolicyError)
LOST_MEMORY = "the memory cannot be read any more"
_ANEW = "what came before and after release {} is not compared, and neither is the memory: it is not what was published"
_TABLES = (TABLE_PARQUET, PEOPLE_PARQUET, VALUES_PARQUET, COUNTERFEITS)
"""What later releases are compared with; the same tables as text and what recipients are told are not."""


@dataclass(frozen=True)
class SeriesVerification:
    """What is wrong with the ledger and its files, the checks of every release, and how many new episodes began.

    What is `not_recomputable` was checked when it was published, while the view was at hand; nothing that is
    stored says whether it holds.
    """

    problems: tuple[str, ...]
    releases: dict[int, Verification]
    new_lives: int = 0
    not_recomputable: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems and all(verification.holds for verification in self.releases.values())

    def as_dict(self) -> dict[str, Any]:
        document = {
            "holds": self.holds,
            "problems": list(self.problems),
            "new_lives": self.new_lives,
            "releases": {str(number): found.as_dict() for number, found in self.releases.items()},
        }
        if self.not_recomputable:
            document["not_recomputable"] = list(self.not_recomputable)
        return document


class Promising(Protocol):
    """What a policy shows of itself, which is no secret."""

    @property
    def promises(self) -> dict[str, Any]:
        """What is promised of every table and over the series."""


class PublishedSeries(Protocol):
    """What a series shows of itself to whoever verifies or attacks it."""

    @property
    def schema(self) -> Schema:
        """Its schema with all amendments."""

    @property
    def policy(self) -> Promising: ...

    @property
    def reasoning(self) -> Reasoning | None:
        """How its publisher takes an adversary to think, where it thinks of one."""

    def members(self, number: int) -> Membership:
        """Private: who is in a release, and of which class where the series' own knowledge has classes."""

    def known_values(self) -> pl.Series:
        """The sensitive domain that the codes of all releases point into."""

    def values_at(self, number: int) -> pl.Series:
        """The sensitive domain that was known at a release."""


class StoredSeries(PublishedSeries, Protocol):
    """What a series shows of itself to be verified."""

    @property
    def ledger(self) -> Ledger: ...

    def memory(self) -> Memory:
        """What is remembered of everyone published so far."""

    def scales(self, number: int) -> Scales:
        """What the codes and coordinates of a release mean."""
        ...

    def compromised_file(self, number: int) -> str | None:
        """The name of the file of what an adversary knows of people in a release, where there is one."""


class Audit(ABC):
    """A series gone through from its first release; who goes through it says how its files are read."""

    def __init__(self, series: StoredSeries, walk: Walk) -> None:
        self.series, self.walk = series, walk
        self.records, self.schema = series.ledger.releases(), series.schema

    @abstractmethod
    def faults(self) -> list[str]:
        """What is wrong with chain and files."""

    @abstractmethod
    def pieces(self, entry: Entry) -> CheckedPieces | None:
        """What is found in the next release, which is then remembered; nothing where it cannot be read."""

    @abstractmethod
    def begin_anew(self) -> None:
        """Forget all releases so far: the last one is not what was published, and says nothing of those to come."""

    @abstractmethod
    def memory_faults(self) -> list[str]:
        """What the stored memory has wrong, after the last release."""

    def verify(self, progress: Callable[[int, int], None] | None = None) -> SeriesVerification:
        """Check chain and files, then every promise of every release, then the memory."""
        problems, promises = self.faults(), self.walk.promises
        altered = self._altered(problems)
        releases: dict[int, Verification] = {}
        new_lives, unreliable = 0, list[int]()
        for done, entry in enumerate(self.records, start=1):
            number = entry.release or done
            if not entry.adopted and _but_the_gate(entry.payload["promises"]) != _but_the_gate(promises):
                problems.append(f"release {number} records other promises than the policy makes")
            found = self.pieces(entry)
            if found is None:
                problems.append(f"release {number} cannot be read any more")
            else:
                releases[number] = found.together().with_checks(*self._hidden(entry), *self._possible(entry))
                new_lives += found.new_lives
            if found is None or number in altered:
                unreliable.append(number)
                self.begin_anew()
            if progress:
                progress(done, len(self.records))
        if self.records and not unreliable:
            problems += self.memory_faults()
        elif unreliable and unreliable[0] < len(self.records):
            problems.append(_ANEW.format(", ".join(map(str, unreliable))))
        unseen = tuple(promises.get("when_published", ()))
        return SeriesVerification(tuple(problems), releases, new_lives, unseen)

    def _altered(self, faults: Sequence[str]) -> set[int]:
        """The releases that are not what was published, in a file that later ones are compared with."""
        wrong, entries = files_at_fault(faults), self.series.ledger.entries()
        if not wrong:
            return set()
        numbers = range(1, len(self.records) + 1)
        found = {number for number in numbers if not wrong.isdisjoint(entries.membership_files(number))}
        parts = [name.split("/") for name in wrong & set(entries.files)]
        return found | {int(one[1]) for one in parts if one[0] == "releases" and one[2] in _TABLES}

    def about(self, entry: Entry) -> About:
        """What the series says of one of its releases."""
        number, walk = entry.release or 0, self.walk
        values = self.series.values_at(number)
        return About(
            number,
            self.schema,
            walk.requirements(entry),
            walk.over_series(entry),
            self._known,
            values,
            of_people=walk.of_people(entry),
            cells=self._cells(entry),
            adopted=entry.adopted,
        )

    def _cells(self, entry: Entry) -> ShownCells | None:
        """The cells of people of a release in two tables; those that another tool made follow no cuts of ours."""
        if entry.adopted or self.walk.of_people(entry) is None:
            return None
        number = entry.release or 0
        with stored_release(self.series.ledger.folder(number)) as stored:
            table = release_of(stored.people, people_schema(self.schema), self.series.scales(number))
        payloads = [record.payload for record in self.records[:number]]
        return ShownCells.of(table.cells, payloads[-1], moved_so_far(payloads))

    def _hidden(self, entry: Entry) -> list[Check]:
        """Whether no batch of a release can be excluded, where that is promised."""
        if HIDDEN_BATCH not in self.walk.over_series(entry):
            return []
        number = entry.release or 0
        with stored_release(self.series.ledger.folder(number)) as stored:
            table = release_of(stored.people, people_schema(self.schema), self.series.scales(number))
            batch = stored.people[BATCH].fill_null(0).to_numpy()
        return [batches_hidden(table, batch)]

    def _possible(self, entry: Entry) -> list[Check]:
        """Whether groups show possible values alone, where those of each person were given and kept."""
        if POSSIBLE not in self.walk.over_series(entry):
            return []
        number = entry.release or 0
        name, members = self.series.ledger.entries().possible_file(number), self.series.members(number)
        try:
            may = read_parquet(self.series.ledger.path(name or ""))
        except UNREADABLE:
            return [Check(POSSIBLE, False, "The possible values of its people cannot be read any more.")]
        group, code = published_rows(
            self.series.ledger.folder(number), self.schema, self.series.values_at(number)
        )
        named = keyed(members.people).with_columns(group=pl.Series(members.group))
        return [possible_for_people(named, pl.DataFrame({"group": group, "code": code}), may)]

    @cached_property
    def _known(self) -> pl.Series:
        return self.series.known_values()


class _AtOnce(Audit):
    """The audit of one process: every release is one piece."""

    def faults(self) -> list[str]:
        return self.series.ledger.check()

    def pieces(self, entry: Entry) -> CheckedPieces | None:
        before = self.walk.new_lives
        try:
            stated = self.about(entry)
            members = self.series.members(stated.number)
            shown = None
            if self.series.reasoning is not None:
                shown = shown_in(self.series, stated.number, members)
            folder = self.series.ledger.folder(stated.number)
            found = verify_members(folder, stated, members, self.walk, shown)
        except UNREADABLE:
            return None
        lives = self.walk.new_lives - before
        return CheckedPieces([found], stated.requirements, lives, members.repeated)

    def begin_anew(self) -> None:
        self.walk = _walk(self.series, anew=True)

    def memory_faults(self) -> list[str]:
        try:
            return self.walk.differences(self.series.memory())
        except UNREADABLE:
            return [LOST_MEMORY]


def verify_series(
    series: StoredSeries, progress: Callable[[int, int], None] | None = None
) -> SeriesVerification:
    """Check the chain and all files, then every promise of every release and the memory, from what is stored."""
    return _AtOnce(series, _walk(series)).verify(progress)


def _walk(series: StoredSeries, anew: bool = False) -> Walk:
    recorded = recorded_promises(series.ledger.releases())
    return Walk(series.policy.promises, recorded, series.reasoning, anew)


def recorded_promises(records: Iterable[Entry]) -> list[str]:
    """All promises over the series that releases were recorded with."""
    return [promise for entry in records for promise in entry.payload["promises"]["series"]]


def _but_the_gate(promises: dict[str, Any]) -> dict[str, Any]:
    """What is promised of groups and series; the gate may be amended, and is held against its own entries."""
    return {name: said for name, said in promises.items() if name != "gate"}
