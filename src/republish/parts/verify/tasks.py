"""The tasks of an audit: files measured and read, people met with what is known of them, groups checked.

Rows of a table go to shards by the number of their group, so that groups are whole; people to buckets by pseudonym.
There are as many buckets as shards.
"""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import ViewError
from republish.inference import Reasoning
from republish.inference.reasoning import last_codes
from republish.knowledge import Extracted, Transitions
from republish.ledger.files import measure
from republish.memory.membership import Membership
from republish.memory.memory import KEY, Memory, memory_of, people_of
from republish.parts.blocks import Block, Task, fact, spread, table_of, tables_of
from republish.parts.counts import COUNT, ROWS
from republish.parts.pseudonymize import CODE, MEMORY, ROW, VIEW, bucket_of, newest
from republish.parts.verify.walk_state import GROUP, beliefs_in, known_in, laid_out, resume
from republish.release.release import COUNTERFEITS, TABLE_PARQUET
from republish.schema.schema import Schema
from republish.sources.paths import parquet_schema, read_csv, read_parquet
from republish.verify.check import Verification
from republish.verify.series import UNREADABLE
from republish.verify.similarity import shown_of
from republish.verify.table import same_tables
from republish.verify.walk import About, Walk, verify_members

FILE, CSV = "file", "csv"
STATE, AWAY, TABLE, FALSE, MEMBERS, START, UNREAD = (
    "state",
    "away",
    "table",
    "false",
    "members",
    "start",
    "unread",
)
_CLASS, _PLACE, _AGAIN = "class", "place", "again"
_MEMBERS = {**dict.fromkeys(KEY, pl.UInt64), GROUP: pl.Int32, CODE: pl.Int32, ROW: pl.UInt64}


class Unreadable(NamedTuple):
    """Says that something cannot be read any more."""


@dataclass(frozen=True)
class Legible:
    """A task that tells of what it cannot read, and tells it to all who wait for what it would have made."""

    task: Task

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The blocks of the task, or that it cannot read something."""
        made: list[Block] = []
        try:
            if any(block.kind == UNREAD for block in blocks):
                raise ViewError("what this needs cannot be read")
            made.extend(self.task(blocks))
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


@dataclass(frozen=True)
class SurveyingTables:
    """The task that looks over files of a table; and compares the CSV table of a release with it where it has one."""

    schema: Schema

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The facts."""
        for place in named(block for block in blocks if block.kind == CSV):
            yield fact(same_tables(place, self.schema))
        for place in named(block for block in blocks if block.kind == FILE):
            sensitive = self.schema.sensitive
            frame = read_parquet(place, [GROUP] if sensitive is None else [GROUP, sensitive.name])
            if frame[GROUP].null_count():
                raise ViewError("every row needs a group")
            values = None if sensitive is None else frame[sensitive.name].value_counts(name=ROWS)
            top = int(frame[GROUP].max() or 0)  # type: ignore[arg-type]
            yield fact(Surveyed(pl.Schema(parquet_schema(place)), frame.height, max(0, top), values))


@dataclass(frozen=True)
class Ranges:
    """Which groups each shard has: those up to `top` in ranges of numbers, what lies beyond in the last."""

    top: int
    shards: int

    def of(self, group: IntArray) -> IntArray:
        """The shard of rows with these groups."""
        place = np.maximum(group.astype(np.int64), 0) * self.shards // (self.top + 1)
        found: IntArray = np.minimum(place, self.shards - 1)
        return found

    def first(self, shard: int) -> int:
        """The number before the first group of a shard."""
        return max(1, -(-shard * (self.top + 1) // self.shards)) - 1

    def count(self, shard: int) -> int:
        """How many groups a shard has."""
        last = self.top if shard == self.shards - 1 else self.first(shard + 1)
        return max(0, last - self.first(shard))


@dataclass(frozen=True)
class ReadingRelease:
    """The task that reads files of a release: tables and counterfeits for the shards, people for the buckets."""

    ranges: Ranges
    flags: frozenset[str] = frozenset()
    classes: bool = False

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The rows."""
        for block in blocks:
            for i, (kind, place) in enumerate(named([block])):
                yield from self._read(kind, place, block.to + i)

    def _read(self, kind: str, place: Path, number: int) -> Iterator[Block]:
        if kind == TABLE:
            frame = read_parquet(place)
            lacking = sorted(self.flags - set(frame.columns))  # a flag that a part lacks is false there
            frame = frame.with_columns(pl.lit(value=False).alias(name) for name in lacking)
            yield from spread(frame, self.ranges.of(frame[GROUP].to_numpy()), TABLE)
        elif kind == FALSE:
            frame = read_csv(place)
            yield from spread(frame, self.ranges.of(frame[GROUP].to_numpy()), FALSE)
        else:
            columns = [*_MEMBERS, *([_CLASS] if self.classes else [])]
            frame = read_parquet(place, columns).with_columns(pl.lit(number, pl.Int32).alias(_PLACE))
            people = people_of(frame)
            # Whoever was forgotten is nobody, and nothing is known of nobody: they need not meet.
            nobody = (people == 0).all(axis=1)
            bucket = bucket_of(people[:, 0], self.ranges.shards)
            bucket[nobody] = np.flatnonzero(nobody) % self.ranges.shards
            yield from spread(frame, bucket, MEMBERS)


class MetMembers(NamedTuple):
    """What a bucket tells of a release: people who were forgotten, and rows that name somebody again."""

    nobody: int
    repeated: int


@dataclass(frozen=True)
class MeetingMembers:
    """The task of one bucket: people of a release go to the shards with what is known of them, others stay."""

    ranges: Ranges

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The people; whoever is not in the release passes through the shard with the number of the bucket."""
        bucket = blocks[0].to
        members, state = tables_of(blocks, MEMBERS), tables_of(blocks, STATE)
        if not members.height:
            yield from (Block(bucket, AWAY, block.data) for block in blocks if block.kind == STATE)
            return
        members = members.sort(_PLACE, maintain_order=True)
        someone = (people_of(members) != 0).any(axis=1)
        again = ~members.select(pl.struct(KEY).is_first_distinct()).to_series().to_numpy() & someone
        yield fact(MetMembers(int(np.count_nonzero(~someone)), Membership.of_frame(members).repeated))
        members = members.drop(_PLACE).with_columns(pl.Series(_AGAIN, again))
        if state.height:
            away = state.join(members, on=list(KEY), how="anti")
            yield from spread(away, np.full(away.height, bucket), AWAY)
            members = members.join(state, on=list(KEY), how="left", maintain_order="left")
        group = members[GROUP].to_numpy()
        yield from spread(members, np.where(group > 0, self.ranges.of(group), bucket), VIEW)


@dataclass(frozen=True)
class CountingFollowers:
    """The task that counts what followed what in a release, where knowledge is counted from the views."""

    source: Extracted
    tasks: int

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The counts."""
        order = self.source.start().order
        for block in blocks:
            frame = table_of(block).filter(pl.any_horizontal(pl.col(key) != 0 for key in KEY))
            known = known_in(frame)
            memory = beliefs_in(known) if known.height else Memory.empty()
            history = last_codes(memory, memory.find(people_of(frame)), order)
            classes, codes = (frame[name].to_numpy() for name in (_CLASS, CODE))
            table = Transitions.empty(order).add(classes, history, codes).table.rename({"count": ROWS})
            task = (table[_CLASS].to_numpy() * 31 + table["next"].to_numpy() + 1) % self.tasks
            yield from spread(table, task.astype(np.int64), COUNT)


@dataclass(frozen=True)
class Auditor:
    """What a walk begins with; see `Walk`. `counts_lost` says that somebody was forgotten of whom counts were made."""

    promises: dict[str, Any]
    recorded: tuple[str, ...]
    reasoning: Reasoning | None
    counts_lost: bool = False

    def walk(self) -> Walk:
        """A walk that has seen nothing yet."""
        made = Walk(self.promises, self.recorded, self.reasoning)
        if made.beliefs is not None:
            made.beliefs.counts_lost = self.counts_lost
        return made


class Checked(NamedTuple):
    """What a shard tells."""

    verification: Verification
    new_lives: int


@dataclass(frozen=True)
class CheckingGroups:
    """The task of one shard: its groups checked as a release of their own, then remembered.

    `checked` is the number of releases that were checked before this one, `columns` those of its table.
    """

    auditor: Auditor
    stated: About
    checked: int
    ranges: Ranges
    columns: pl.Schema

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The checks, and what is known of everyone now."""
        shard = blocks[0].to
        yield from (Block(shard, STATE, block.data) for block in blocks if block.kind == AWAY)
        if all(block.kind == AWAY for block in blocks):
            return
        shift, stated = self.ranges.first(shard), self.stated
        members, walk = self._members(blocks, shift), self.auditor.walk()
        present = Membership.of_frame(members)
        resume(walk, members, self.checked)
        with tempfile.TemporaryDirectory(prefix="republish-") as name:
            folder = Path(name)
            self._write(folder, blocks, shift)
            shown = None
            if walk.beliefs is not None:
                shown = shown_of(folder, stated.schema, stated.values, present)
            part = stated._replace(groups=self.ranges.count(shard))
            found = verify_members(folder, part, present, walk, shown)
        yield fact(Checked(found, walk.new_lives))
        state = laid_out(walk, shift)
        first = members.filter(~pl.col(_AGAIN))  # of somebody named twice the first counts, in whatever shard
        state = state.join(first, on=list(KEY), how="semi")
        yield from spread(state, bucket_of(state[KEY[0]].to_numpy(), self.ranges.shards), STATE)

    def _members(self, blocks: Sequence[Block], shift: int) -> pl.DataFrame:
        """The people of the shard by pseudonym, their groups numbered from 1."""
        members = tables_of(blocks, VIEW)
        if not members.width:
            schema = {**_MEMBERS, _CLASS: pl.Int32, _AGAIN: pl.Boolean}
            members = pl.DataFrame(schema=schema)
        number = pl.when(pl.col(GROUP) > 0).then(pl.col(GROUP) - shift).otherwise(pl.col(GROUP))
        return members.sort(*KEY, _AGAIN).with_columns(number.cast(pl.Int32).alias(GROUP))

    def _write(self, folder: Path, blocks: Sequence[Block], shift: int) -> None:
        """The groups of the shard as a release of its own."""
        own = (pl.col(GROUP) - shift).cast(pl.Int32)
        table, false = tables_of(blocks, TABLE), tables_of(blocks, FALSE)
        table = (
            table.select(*self.columns).cast(self.columns)
            if table.height
            else pl.DataFrame(schema=self.columns)
        )
        table.with_columns(own).write_parquet(folder / TABLE_PARQUET, compression="uncompressed")
        if false.height:
            false.with_columns(own).write_csv(folder / COUNTERFEITS)


class Compared(NamedTuple):
    """What a bucket has to say of the memory: what is wrong, and of how many people it believes otherwise."""

    wrong: Counter[str]
    otherwise: int


@dataclass(frozen=True)
class ComparingMemory:
    """The task of one bucket: the memory that is stored, and the one that the releases say there must be."""

    auditor: Auditor
    releases: int

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """In numbers of people."""
        state, stored = tables_of(blocks, STATE), newest(tables_of(blocks, MEMORY))
        walk, memory = self.auditor.walk(), memory_of(stored, self.releases)
        if state.height:
            resume(walk, state, self.releases)
        wrong = walk.rebuilt.compared(memory, walk.signatures)
        yield fact(Compared(wrong, 0 if walk.beliefs is None else walk.beliefs.otherwise(memory)))
