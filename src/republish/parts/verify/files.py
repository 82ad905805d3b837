"""The files of a series in an audit in parts: measured, looked over, and read into blocks of rows and of people."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import LedgerError, ViewError
from republish.ledger.files import measure
from republish.memory.membership import HELD
from republish.memory.memory import KEY, people_of
from republish.microdata import no_codes, sensitive_codes, whole_of
from republish.parts.blocks import Block, Task, fact, spread
from republish.parts.counts import ROWS
from republish.parts.pseudonymize import CODE, ROW, bucket_of
from republish.parts.verify.walk_state import GROUP
from republish.release.two_tables import BATCH, counted_out
from republish.schema import Schema
from republish.sources.paths import parquet_schema, read_csv, read_parquet
from republish.verify.series import UNREADABLE
from republish.verify.table import AtLarge
from republish.verify.two_tables import compared_texts

FILE, CSV = "file", "csv"
STATE, AWAY, TABLE, FALSE, CLOCK = "state", "away", "table", "false", "clock"
MEMBERS, START, UNREAD = "members", "start", "unread"
PEOPLE, IN_CELLS = "people", "in cells"
"""The table of people, and members of a release, on their way to the shards of their cells."""
CLASS, PLACE, AGAIN, CELL = "class", "place", "again", "cell"
MEMBER_COLUMNS = {**dict.fromkeys(KEY, pl.UInt64), GROUP: pl.Int32, CODE: pl.Int32, ROW: pl.UInt64}


class Unreadable(NamedTuple):
    """Says that something cannot be read any more."""


def legible(task: Task, blocks: Sequence[Block]) -> Iterator[Block]:
    """A task that tells of what it cannot read, and tells it to all who wait for what it would have made.

    The blocks of the task, or that it cannot read something.
    """
    made: list[Block] = []
    try:
        if any(block.kind == UNREAD for block in blocks):
            raise ViewError("what this needs cannot be read")
        made.extend(task(blocks))
    except UNREADABLE as problem:
        if isinstance(problem, OSError) and not isinstance(problem, FileNotFoundError):
            raise  # of the machine, not of the data: the engine tries again elsewhere
        made = [fact(Unreadable()), Block(0, UNREAD, b"")]
    yield from made


def listed(files: Iterable[Any], kind: str, batches: int | None = None) -> list[Block]:
    """Blocks that name something, one each or in so many batches; `named` reads them."""
    names = list(files)
    lots = [[name] for name in names] if batches is None else [names[i::batches] for i in range(batches)]
    return [Block(i, kind, pickle.dumps(lot)) for i, lot in enumerate(lots) if lot]


def named(blocks: Iterable[Block]) -> Iterator[Any]:
    """What blocks name."""
    for block in blocks:
        yield from pickle.loads(block.data)


def measuring(blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that measures files: name and measure of each, none where it is not there."""
    for name, place in named(blocks):
        try:
            yield fact((name, measure(place)))
        except OSError:
            yield fact((name, None))


@dataclass(frozen=True)
class Surveyed:
    """What a file of a table tells: columns, rows, the highest number of a group, and how often each value occurs."""

    columns: pl.Schema
    rows: int
    top: int
    values: pl.DataFrame | None


def survey_tables(
    schema: Schema, read: Callable[[Path, list[str]], pl.DataFrame], blocks: Sequence[Block]
) -> Iterator[Block]:
    """The task that looks over files of a table; and compares the CSV tables of a release with it where it has some."""
    for place in named(block for block in blocks if block.kind == CSV):
        yield from map(fact, compared_texts(place, schema))
    for place in named(block for block in blocks if block.kind == FILE):
        sensitive = schema.sensitive
        frame = read(place, [GROUP] if sensitive is None else [GROUP, sensitive.name])
        if frame[GROUP].null_count():
            raise ViewError("every row needs a group")
        values = None if sensitive is None else frame[sensitive.name].value_counts(name=ROWS)
        top = int(frame[GROUP].max() or 0)  # type: ignore[arg-type]
        yield fact(Surveyed(pl.Schema(parquet_schema(place)), frame.height, max(0, top), values))


def read_values(place: Path, columns: list[str]) -> pl.DataFrame:
    """Some columns of a table that counts values by batch, a row for each."""
    values = read_parquet(place)
    if values[BATCH].null_count():
        raise ViewError("every value needs a batch")
    return counted_out(values).select(columns)


@dataclass(frozen=True)
class Ranges:
    """Which groups each shard has: those up to `top` in ranges of numbers, what lies beyond in the last."""

    top: int
    shards: int

    def of(self, group: IntArray) -> IntArray:
        place = np.maximum(group.astype(np.int64), 0) * self.shards // (self.top + 1)
        found: IntArray = np.minimum(place, self.shards - 1)
        return found

    def first(self, shard: int) -> int:
        """The number before the first group of a shard."""
        return max(1, -(-shard * (self.top + 1) // self.shards)) - 1

    def count(self, shard: int) -> int:
        last = self.top if shard == self.shards - 1 else self.first(shard + 1)
        return max(0, last - self.first(shard))


@dataclass(frozen=True)
class ReadingRelease:
    """The task that reads files of a release: tables and counterfeits for the shards, people for the buckets.

    In two tables there are shards of batches and of `cells`; people go to the latter first.
    """

    ranges: Ranges
    flags: frozenset[str] = frozenset()
    classes: bool = False
    cells: Ranges | None = None

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        for block in blocks:
            for i, (kind, place) in enumerate(named([block])):
                yield from self._read(kind, place, block.to + i)

    def _read(self, kind: str, place: Path, number: int) -> Iterator[Block]:
        group = GROUP if self.cells is None else BATCH
        if kind == PEOPLE:
            assert self.cells is not None
            frame = self._with_flags(read_parquet(place))
            yield from spread(frame, self.cells.of(frame[GROUP].to_numpy()), PEOPLE)
        elif kind == TABLE:
            frame = self._with_flags(read_parquet(place)) if self.cells is None else read_parquet(place)
            yield from spread(frame, self.ranges.of(frame[group].to_numpy()), TABLE)
        elif kind in (FALSE, CLOCK):
            frame = read_csv(place)
            yield from spread(frame, self.ranges.of(frame[group].to_numpy()), kind)
        else:
            columns = [*MEMBER_COLUMNS, *([CLASS] if self.classes else [])]
            columns += [] if self.cells is None else [CELL]
            frame = self._present(place, columns).with_columns(pl.lit(number, pl.Int32).alias(PLACE))
            if self.cells is not None:
                yield from spread(frame, self.cells.of(frame[CELL].to_numpy()), IN_CELLS)
                return
            yield from spread_members(frame, self.ranges.shards)

    def _present(self, place: Path, columns: list[str]) -> pl.DataFrame:
        """The members who are there; whom a batch counts as they were is none of them."""
        if HELD not in parquet_schema(place):
            return read_parquet(place, columns)
        return read_parquet(place, [*columns, HELD]).filter(~pl.col(HELD)).drop(HELD)

    def _with_flags(self, frame: pl.DataFrame) -> pl.DataFrame:
        lacking = sorted(self.flags - set(frame.columns))  # a flag that a part lacks is false there
        return frame.with_columns(pl.lit(value=False).alias(name) for name in lacking)


def spread_members(frame: pl.DataFrame, buckets: int) -> Iterator[Block]:
    """The members of a release, on their way to their buckets."""
    people = people_of(frame)
    # Whoever was forgotten is nobody, and nothing is known of nobody: they need not meet.
    nobody = (people == 0).all(axis=1)
    bucket = bucket_of(people[:, 0], buckets)
    bucket[nobody] = np.flatnonzero(nobody) % buckets
    yield from spread(frame, bucket, MEMBERS)


def parts_of(place: Path, suffix: str) -> tuple[Path, ...]:
    """A file, or the parts in a folder."""
    if not place.is_dir():
        return (place,)
    parts = sorted((part for part in place.iterdir() if part.suffix == suffix), key=lambda part: part.name)
    if not parts:
        raise LedgerError("a folder of parts must hold some")
    return tuple(parts)


def at_large(found: Sequence[Surveyed], schema: Schema) -> AtLarge:
    """What all files of a table say of its sensitive values."""
    column = schema.sensitive
    if column is None:
        values, counts = no_codes(0)[1], np.array([sum(one.rows for one in found)])
    else:
        every = pl.concat([one.values for one in found if one.values is not None], how="vertical_relaxed")
        codes, values = sensitive_codes(every[column.name], column)
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, codes, every[ROWS].to_numpy())
    nobody = whole_of(column, np.empty(0, dtype=np.int64), values)
    return AtLarge(values, replace(nobody, overall=counts / max(1, int(counts.sum()))))
