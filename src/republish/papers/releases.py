"""A census series published in memory: the releases of a publisher without a folder, a ledger or a verification."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import IntArray, WordArray
from republish.attacks import History, Table
from republish.datasets import CensusSeries, HospitalSeries, census
from republish.grouping import Grouping
from republish.knowledge import Extracted, Knowledge, read_knowledge
from republish.memory.event_lists import Appearances, events_of
from republish.memory.memory import Memory, sight
from republish.microdata import NEWEST_ROWS, Microdata, read_view
from republish.publishers import Publisher
from republish.publishing.cells import PeopleCells, moved_among, stayed_among
from republish.release.release import Release, build_release
from republish.release.two_tables import AnyRelease, build_two_tables
from republish.schema import Schema, read_schema
from republish.secret import Secret
from republish.series import Series
from republish.spatial.kept_cuts import KeptCuts


class Made(NamedTuple):
    """What is published of a view, the group of every row, and the cuts of people, none in one table."""

    grouping: Grouping
    published: AnyRelease
    group: IntArray
    cuts: KeptCuts

    @property
    def release(self) -> Release:
        """The table that has the quasi-identifiers."""
        return self.published.people


@dataclass(frozen=True)
class InMemory:
    """Publishes views of a series without storing anything, in two tables where `people_k` people look alike."""

    publisher: Publisher
    seed: int
    people_k: int | None = None

    @property
    def secret(self) -> Secret:
        return secret_of(self.seed)

    def publish(self, view: Microdata, memory: Memory, cuts: KeptCuts, draw: int) -> Made:
        """Group and generalize a view with what is remembered; `draw` is what else chance depends on."""
        grouping = self.publisher.publish(view, memory, np.random.default_rng([self.seed, draw]))
        if self.people_k is None:
            release, group = build_release(view, grouping, self.secret, self.seed, draw)
            return Made(grouping, release, group, cuts)
        cells = self._cells(view, memory, cuts, self.people_k)
        tables, placed = build_two_tables(view, grouping, cells.grouping, self.secret, self.seed, draw)
        return Made(grouping, tables, placed.group, cells.divided.cuts)

    def _cells(self, view: Microdata, memory: Memory, cuts: KeptCuts, k: int) -> PeopleCells:
        assert view.people is not None
        stayed, before = stayed_among(view.people, memory)
        some = replace(view, people=view.people[stayed], points=view.points[:, stayed])
        moved = moved_among(some, before, self.secret, NEWEST_ROWS)
        return PeopleCells(cuts.divide(view, k, moved), moved)


@dataclass(frozen=True)
class PublishedView:
    """One release: the view it was made of, what was published, and what was remembered afterwards.

    `rows` are digests of the quasi-identifiers, `seconds` what grouping and generalizing took.
    """

    number: int
    view: Microdata
    made: Made
    memory: Memory
    rows: WordArray
    seconds: float

    @property
    def grouping(self) -> Grouping:
        """Who is with whom, or in which batch."""
        return self.made.grouping

    @property
    def release(self) -> Release:
        """The table that has the quasi-identifiers."""
        return self.made.release

    @property
    def counterfeits(self) -> float:
        """Counterfeits in percent of the published values."""
        return 100 * self.grouping.counterfeits / len(self.made.published.values.group)


def publish_all(
    views: CensusSeries, publisher: Publisher, seed: int, people_k: int | None = None
) -> Iterator[PublishedView]:
    """Publish every view of a census series in turn, each with what the publisher remembers of those before."""
    schema, maker = census_schema(views.columns), InMemory(publisher, seed, people_k)
    memory, values, cuts = Memory.empty(), None, KeptCuts.none()
    for number, frame in enumerate(views, 1):
        view = read_view(frame, schema, values).pseudonymous(maker.secret)
        start = time.perf_counter()
        made = maker.publish(view, memory, cuts, number)
        seconds = time.perf_counter() - start
        rows = view.row_digests(maker.secret)
        memory = publisher.remember(
            view, made.grouping, memory.merged(sight(view, rows, made.group, number, memory))
        )
        values, cuts = view.values, made.cuts
        yield PublishedView(number, view, made, memory, rows, seconds)


class Trail:
    """What an adversary reads in a series, kept release by release without all that it was made of."""

    def __init__(self) -> None:
        self._seen: list[tuple[WordArray, IntArray, WordArray, Grouping]] = []
        self.last: PublishedView | None = None

    def add(self, one: PublishedView) -> None:
        assert one.view.people is not None
        self._seen.append((one.view.people, one.view.codes, one.rows, one.grouping))
        self.last = one

    def history(self) -> History:
        """The releases so far, to somebody who is granted who is in which group, and event lists."""
        assert self.last is not None
        everyone, tables, appearances = self.last.memory, [], []
        for people, codes, rows, grouping in self._seen:
            person = everyone.find(people)
            row_group = np.concatenate([grouping.group, grouping.counterfeit_group]).astype(np.int64)
            row_code = np.concatenate([codes, grouping.counterfeit_code]).astype(np.int64)
            tables.append(Table(person, grouping.group, row_group, row_code))
            appearances.append(Appearances(person, codes, rows))
        events = events_of(everyone.size, appearances)
        truth = [codes for _, codes, _, _ in self._seen]
        return History.of(everyone.size, len(self.last.view.values), tables, events, truth)


def history_of_all(made: Iterable[PublishedView]) -> History:
    """What an adversary reads in these releases."""
    trail = Trail()
    for one in made:
        trail.add(one)
    return trail.history()


class SeededSeries(Series):
    """A stored series whose secret follows from its seed, so that a study can be run again and gives the same."""

    def secret(self) -> Secret:
        return secret_of(self.policy.seed)


def secret_of(seed: int) -> Secret:
    """The secret of a series with this seed."""
    return Secret.from_text(f"the secret of a series with seed {seed}")


class GeneratedFiles(NamedTuple):
    """A generated series as it lies in a folder: its schema, the knowledge that it was drawn from, its views."""

    folder: Path
    schema: Schema
    knowledge: Knowledge | None
    views: list[Path]


@contextmanager
def generated(data: CensusSeries | HospitalSeries) -> Iterator[GeneratedFiles]:
    """A generated series read back from files that go with the context."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data.write(folder)
        schema = read_schema(folder / "schema.toml")
        known = read_knowledge(folder / "knowledge", schema) if (folder / "knowledge").is_dir() else None
        assert not isinstance(known, Extracted)
        yield GeneratedFiles(folder, schema, known, sorted((folder / "views").iterdir()))


def replaced(people: int, rows: int, views: int, share: float, seed: int) -> CensusSeries:
    """A census of which this share is exchanged from view to view, and nobody changes or comes back."""
    return census(people, rows, views, insert=share, delete=share, update=0, reinsert=0, seed=seed)


def census_schema(columns: str) -> Schema:
    """The schema of every census series with these columns."""
    with generated(census(people=10, rows=1, views=1, columns=columns)) as data:
        return data.schema


def read_views(
    tables: Iterable[pl.DataFrame | Path], schema: Schema, secret: Secret
) -> tuple[Microdata, ...]:
    """The views of a series with pseudonyms, read as they would be for publication."""
    values, found = None, []
    for table in tables:
        found.append(read_view(table, schema, values).pseudonymous(secret))
        values = found[-1].values
    return tuple(found)
