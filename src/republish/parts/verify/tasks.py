"""The tasks of an audit: people met with what is known of them, groups checked.

Rows of a table go to shards by the number of their group, so that groups are whole; people to buckets by pseudonym.
There are as many buckets as shards.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.errors import LedgerError
from republish.inference import Reasoning
from republish.inference.reasoning import last_codes
from republish.knowledge import Extracted, Transitions
from republish.memory.membership import Membership
from republish.memory.memory import KEY, Memory, memory_of, people_of
from republish.microdata import Axis
from republish.parts.batches import spread_batches
from republish.parts.blocks import Block, fact, spread, table_of, tables_of
from republish.parts.counts import COUNT, ROWS
from republish.parts.pseudonymize import CODE, MEMORY, VIEW, bucket_of, newest
from republish.parts.verify.batches import clock_in, pointed_in
from republish.parts.verify.files import (
    AGAIN,
    AWAY,
    CELL,
    CLASS,
    FALSE,
    IN_CELLS,
    MEMBER_COLUMNS,
    MEMBERS,
    PEOPLE,
    PLACE,
    STATE,
    TABLE,
    Ranges,
    spread_members,
)
from republish.parts.verify.walk_state import (
    GROUP,
    beliefs_in,
    known_in,
    laid_out,
    lists_of,
    ranges_in,
    relabelled,
    resume,
)
from republish.release.domains import Scales
from republish.release.grouped_table import GroupedTable
from republish.release.release import COUNTERFEITS, TABLE_PARQUET, release_of
from republish.release.two_tables import (
    BATCH,
    VALUES_PARQUET,
    people_schema,
    stored_counterfeits,
    stored_values,
)
from republish.schema import Schema
from republish.verify.check import Verification
from republish.verify.kept_cuts import Labels, ShownCells
from republish.verify.similarity import shown_of
from republish.verify.table import verify_frame
from republish.verify.two_tables import people_by_batch, values_by_batch, with_waiting
from republish.verify.walk import About, Walk, verify_members

CELL_LOW, CELL_HIGH, CELL_EXTENDED = "cell low", "cell high", "cell extended"


class MetMembers(NamedTuple):
    """What a bucket tells of a release: people who were forgotten, and rows that name somebody again."""

    nobody: int
    repeated: int


class Axes(NamedTuple):
    """The axes of the cells of a release, and the labels that all releases before it had, and all up to it."""

    now: tuple[Axis, ...]
    before: Labels | None
    common: Labels | None


@dataclass(frozen=True)
class CheckingPeople:
    """The task of one shard of cells: its people checked as a table of their own, and its members with their cells.

    `recorded` is what the ledger says of the cells, `moved` how far the frames of columns have moved.
    """

    stated: About
    recorded: Mapping[str, Any]
    moved: Mapping[str, float]
    scales: Scales
    ranges: Ranges
    columns: pl.Schema

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        shard = blocks[0].to
        shift, of_people = self.ranges.first(shard), self.stated.of_people
        table = tables_of(blocks, PEOPLE)
        table = table.select(*self.columns).cast(self.columns) if table.height else table
        table = table if table.width else pl.DataFrame(schema=self.columns)
        own = GroupedTable(table.with_columns((pl.col(GROUP) - shift).cast(pl.Int32)))
        schema = people_schema(self.stated.schema)
        assert of_people is not None
        yield fact(verify_frame(own, schema, of_people))
        yield from spread_batches(people_by_batch(own), self.ranges.shards)
        members = tables_of(blocks, IN_CELLS)
        if members.height:
            shown = self._shown(own, schema, shift)
            yield from spread_members(self._with_cells(members, shown, shift), self.ranges.shards)

    def _shown(self, table: GroupedTable, schema: Schema, shift: int) -> ShownCells:
        """The cells of the shard."""
        release = release_of(table, schema, self.scales)
        extended = np.array(self.recorded["extended"], dtype=np.int64) - shift
        mine = extended[(extended > 0) & (extended <= release.group_count)]
        return ShownCells.of(release.cells, {**self.recorded, "extended": mine.tolist()}, self.moved)

    def _with_cells(self, members: pl.DataFrame, shown: ShownCells, shift: int) -> pl.DataFrame:
        """Members with the ranges of their cells; of who was forgotten none is kept."""
        cell = members[CELL].to_numpy()
        place = np.where(cell > 0, cell - shift - 1, len(shown.low))
        if place.min() < 0 or place[cell > 0].max(initial=-1) >= len(shown.low):
            raise LedgerError("every member of a release is in a cell of it")
        low, high = (np.append(side, np.full((1, side.shape[1]), np.nan), axis=0) for side in shown[:2])
        return members.with_columns(
            lists_of(low[place]).alias(CELL_LOW),
            lists_of(high[place]).alias(CELL_HIGH),
            pl.Series(CELL_EXTENDED, np.append(shown.extended, False)[place]),
        )


def meet_members(ranges: Ranges, axes: Axes | None, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one bucket: people of a release go to the shards with what is known of them, others stay.

    The people; whoever is not in the release passes through the shard with the number of the bucket.
    """
    bucket = blocks[0].to
    members, state = tables_of(blocks, MEMBERS), tables_of(blocks, STATE)
    if not members.height:
        away = _away(state, axes)
        yield from spread(away, np.full(away.height, bucket), AWAY)
        return
    members = members.sort(PLACE, maintain_order=True)
    someone = (people_of(members) != 0).any(axis=1)
    again = ~members.select(pl.struct(KEY).is_first_distinct()).to_series().to_numpy() & someone
    yield fact(MetMembers(int(np.count_nonzero(~someone)), Membership.of_frame(members).repeated))
    members = members.drop(PLACE).with_columns(pl.Series(AGAIN, again))
    if state.height:
        away = _away(state.join(members, on=list(KEY), how="anti"), axes)
        yield from spread(away, np.full(away.height, bucket), AWAY)
        members = members.join(state, on=list(KEY), how="left", maintain_order="left")
    group = members[GROUP].to_numpy()
    yield from spread(members, np.where(group > 0, ranges.of(group), bucket), VIEW)


def _away(state: pl.DataFrame, axes: Axes | None) -> pl.DataFrame:
    if axes is None or axes.before is None or axes.common is None:
        return state
    return relabelled(state, axes.before, axes.common)


def count_followers(source: Extracted, tasks: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that counts what followed what in a release, where knowledge is counted from the views."""
    order = source.start().order
    for block in blocks:
        frame = table_of(block).filter(pl.any_horizontal(pl.col(key) != 0 for key in KEY))
        known = known_in(frame)
        memory = beliefs_in(known) if known.height else Memory.empty()
        history = last_codes(memory, memory.find(people_of(frame)), order)
        classes, codes = (frame[name].to_numpy() for name in (CLASS, CODE))
        table = Transitions.empty(order).add(classes, history, codes).table.rename({"count": ROWS})
        task = (table[CLASS].to_numpy() * 31 + table["next"].to_numpy() + 1) % tasks
        yield from spread(table, task.astype(np.int64), COUNT)


@dataclass(frozen=True)
class Auditor:
    """What a walk begins with; see `Walk`.

    `counts_lost` says that somebody was forgotten of whom counts were made.
    """

    promises: dict[str, Any]
    recorded: tuple[str, ...]
    reasoning: Reasoning | None
    counts_lost: bool = False
    anew: bool = False

    def walk(self) -> Walk:
        made = Walk(self.promises, self.recorded, self.reasoning, self.anew)
        if made.beliefs is not None:
            made.beliefs.counts_lost = self.counts_lost
        made.batches = None  # those of all people are followed by one task
        return made


class Checked(NamedTuple):
    """What a shard tells."""

    verification: Verification
    new_lives: int


@dataclass(frozen=True)
class CheckingGroups:
    """The task of one shard: its groups checked as a release of their own, then remembered.

    `checked` is the number of releases that were checked before this one, `columns` those of its table. In two tables
    groups are batches, and cells are on `axes`.
    """

    auditor: Auditor
    stated: About
    checked: int
    ranges: Ranges
    columns: pl.Schema
    axes: Axes | None = None

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        shard = blocks[0].to
        yield from (Block(shard, STATE, block.data) for block in blocks if block.kind == AWAY)
        if all(block.kind == AWAY for block in blocks):
            return
        shift, stated = self.ranges.first(shard), self.stated
        members, walk = self._members(blocks, shift), self.auditor.walk()
        present = Membership.of_frame(members)
        resume(walk, members, self.checked)
        if self.axes is not None:
            walk.cells.labels = self.axes.before
            present, stated = self._in_cells(present, members)
        with tempfile.TemporaryDirectory(prefix="republish-") as name:
            folder = Path(name)
            self._write(folder, blocks, shift)
            shown = None
            if walk.beliefs is not None:
                shown = shown_of(folder, stated.schema, stated.values, present)
            part = stated._replace(groups=self.ranges.count(shard))
            found = verify_members(folder, part, present, walk, shown)
            if self.axes is not None:
                values = GroupedTable(stored_values(folder), stored_counterfeits(folder))
                counted, clock = values_by_batch(values), clock_in(blocks, shift)
                counted = counted if clock is None else with_waiting(counted, clock)
                counted = counted.with_columns(pl.col(GROUP) + shift)
                yield from spread_batches(counted, self.ranges.shards)
        yield fact(Checked(found, walk.new_lives))
        state = laid_out(walk, shift)
        first = members.filter(~pl.col(AGAIN))  # of somebody named twice the first counts, in whatever shard
        state = state.join(first, on=list(KEY), how="semi")
        yield from spread(state, bucket_of(state[KEY[0]].to_numpy(), self.ranges.shards), STATE)

    def _members(self, blocks: Sequence[Block], shift: int) -> pl.DataFrame:
        """The people of the shard by pseudonym, their groups numbered from 1."""
        members = tables_of(blocks, VIEW)
        if not members.width:
            schema = {**MEMBER_COLUMNS, CLASS: pl.Int32, AGAIN: pl.Boolean}
            members = pl.DataFrame(schema=schema)
        number = pl.when(pl.col(GROUP) > 0).then(pl.col(GROUP) - shift).otherwise(pl.col(GROUP))
        return members.sort(*KEY, AGAIN).with_columns(number.cast(pl.Int32).alias(GROUP))

    def _in_cells(self, present: Membership, members: pl.DataFrame) -> tuple[Membership, About]:
        """Who is there, the cells of these people numbered from 1, and what is stated with them."""
        assert self.axes is not None
        if not members.height:
            none = np.empty((0, len(self.axes.now)))
            shown = ShownCells(none, none, self.axes.now, np.empty(0, dtype=np.bool_))
            return replace(present, cell=np.empty(0, np.int64)), self.stated._replace(cells=shown)
        named = members[CELL].to_numpy()
        _, first, cell = np.unique(named, return_index=True, return_inverse=True)
        low, high = (ranges_in(members[name])[first] for name in (CELL_LOW, CELL_HIGH))
        shown = ShownCells(low, high, self.axes.now, members[CELL_EXTENDED].to_numpy()[first])
        return replace(present, cell=np.where(named > 0, cell + 1, 0)), self.stated._replace(cells=shown)

    def _write(self, folder: Path, blocks: Sequence[Block], shift: int) -> None:
        """The groups of the shard as a release of its own."""
        group, name = (GROUP, TABLE_PARQUET) if self.axes is None else (BATCH, VALUES_PARQUET)
        own = (pl.col(group) - shift).cast(pl.Int32)
        table, false = tables_of(blocks, TABLE), tables_of(blocks, FALSE)
        table = (
            table.select(*self.columns).cast(self.columns)
            if table.height
            else pl.DataFrame(schema=self.columns)
        )
        table.with_columns(own).write_parquet(folder / name, compression="uncompressed")
        if false.height:
            false.with_columns(own).write_csv(folder / COUNTERFEITS)


class Compared(NamedTuple):
    """What a bucket has to say of the memory: what is wrong, and of how many people it believes otherwise."""

    wrong: Counter[str]
    otherwise: int


def compare_memory(auditor: Auditor, releases: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one bucket: the memory that is stored, and the one that the releases say there must be.

    In numbers of people.
    """
    state, stored = tables_of(blocks, STATE), newest(tables_of(blocks, MEMORY))
    walk, memory = auditor.walk(), memory_of(stored, releases)
    if state.height:
        resume(walk, state, releases)
    wrong = walk.rebuilt.compared(memory, walk.signatures)
    yield fact(Compared(wrong, 0 if walk.beliefs is None else walk.beliefs.otherwise(memory)))
    yield from pointed_in(stored)
