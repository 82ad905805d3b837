"""Shards of a release in two tables: batches with their values, and cells with their people.

Batches and cells lie across each other. A shard of batches writes values, membership and memory, and sends everyone on
to the shard of her cell, which writes people. That batches have as many people as values is found from counts of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.grouping import Grouping, Regions
from republish.memory.memory import KEY, people_of
from republish.metrics.sums import Sums, sums_of
from republish.parts.batches import spread_batches
from republish.parts.blocks import Block, fact, spread, table_block, tables_of
from republish.parts.files import read_intact, write_bytes, write_table
from republish.parts.pseudonymize import CODE, ROW, frame_of, tally_of, view_of
from republish.parts.publish.cells import CELL, CELL_NUMBER, CELL_SHARD, regions_block, regions_in
from republish.parts.publish.groups import GROUP, Making
from republish.parts.publish.shards import Places, WritingShards, Written
from republish.parts.survey import Domains
from republish.publishing.steps import CheckedPiece, Piece, Terms, ValuesPiece
from republish.release.domains import Scales
from republish.release.grouped_table import GroupedTable
from republish.release.release import Release, release_of
from republish.release.two_tables import (
    BATCH,
    COUNT,
    TwoTableCounts,
    batches_of,
    build_people,
    counted_out,
    people_schema,
    sides_of,
    with_batch,
)
from republish.secret import order_of
from republish.sources.paths import read_csv
from republish.verify.check import Check, Verification
from republish.verify.kept_cuts import cells_check
from republish.verify.led_by_cuts import Leading
from republish.verify.sums import CheckedCells, verified
from republish.verify.table import verify_against_view, verify_frame
from republish.verify.two_tables import people_by_batch, values_by_batch

PEOPLE = "people"
"""Everyone on her way to the shard of her cell."""


@dataclass(frozen=True)
class WritingValues(WritingShards):
    """The task of one shard of batches; `cells` is what the numbers of cells of each shard of them begin after."""

    cells: IntArray

    def _piece(self, piece: Piece, frame: pl.DataFrame) -> Piece:
        first = self.cells[frame[CELL_SHARD].to_numpy()]
        cell = (frame[CELL_NUMBER].to_numpy() + first).astype(np.int32)
        return ValuesPiece(
            piece.terms, piece.view, piece.grouping, piece.digests, piece.memory, piece.large, cell=cell
        )

    def _write(self, piece: Piece, release: Release, shard: int, shift: int) -> dict[Path, dict[str, Any]]:
        places = self.places
        table = batches_of(release).with_columns((pl.col(BATCH) + shift).cast(pl.Int32))
        files = {places.table[shard]: write_table(table, places.table[shard], places.aside)}
        held = np.flatnonzero(release.counterfeits)
        if len(held):
            place = places.counterfeits[shard]
            statistics = pl.DataFrame({BATCH: held + 1 + shift, COUNT: release.counterfeits[held]})
            files[place] = write_bytes(statistics.write_csv().encode(), place, places.aside)
        return files

    def _stored(self, files: Mapping[Path, dict[str, Any]], shard: int, shift: int) -> GroupedTable:
        place, told = self.places.table[shard], self.places.counterfeits[shard]
        back = (pl.col(GROUP) - shift).cast(pl.Int32)
        counterfeits = None
        if told in files:
            counterfeits = read_csv(told).rename({BATCH: GROUP}).with_columns(back)
        return GroupedTable(counted_out(read_intact(place, files[place])).with_columns(back), counterfeits)

    def _counts(self, checked: CheckedPiece) -> TwoTableCounts:
        return TwoTableCounts.of_values(checked.release.values, checked.suppressed)

    def _onward(
        self, frame: pl.DataFrame, published: CheckedPiece, table: GroupedTable, shard: int
    ) -> Iterator[Block]:
        plain = [name for name in frame.columns if name.startswith(("p:", "i:"))]
        batch = pl.Series(BATCH, self._batch(published, shard), dtype=pl.Int32)
        people = frame.select(*KEY, ROW, CODE, *plain, CELL, batch)
        yield from spread(people, frame[CELL_SHARD].to_numpy(), PEOPLE)
        values = self._shown(table, shard).with_columns(pl.col("group") + int(self.first[shard]))
        yield from spread_batches(values, self.making.shards)

    def _batch(self, published: CheckedPiece, shard: int) -> IntArray:
        """The batch that people show."""
        return published.placed.group

    def _shown(self, table: GroupedTable, shard: int) -> pl.DataFrame:
        """How many people show every batch, by what lies there of its values."""
        return values_by_batch(table)


@dataclass(frozen=True)
class WrittenPeople:
    """What a shard of people tells: its file, checks and sums, and what must add up over all shards.

    `leaf` is the one of every cell that the cuts lead its people to, -1 where they lead to several; `sizes` are the
    people of the cells.
    """

    shard: int
    files: dict[Path, dict[str, Any]]
    verification: Verification
    true: Check
    sums: Sums
    people: int
    tally: int
    leaf: IntArray
    sizes: IntArray
    suppressed: int = 0


@dataclass(frozen=True)
class WritingPeople:
    """The task of one shard of people; `first` is what the numbers of its cells begin after."""

    making: Making
    places: Places
    first: IntArray
    leading: Leading

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The file of the shard, written and verified."""
        made, shard = self.making, blocks[0].to
        terms, shift, place = made.terms, int(self.first[shard]), self.places.people[shard]
        frame = tables_of(blocks, PEOPLE)
        frame = frame[order_of(people_of(frame))] if frame.height else frame
        view, cells = view_of(frame, made.domains), frame[CELL].to_numpy()
        regions = Regions(*regions_in(blocks, len(view.axes)))
        grouping = Grouping(cells, regions=regions)
        batch = frame[BATCH].to_numpy()
        people, batches, cell = build_people(
            view, batch, grouping, terms.secret, *terms.label("shard", shard)
        )
        table = with_batch(people.frame(), batches).with_columns((pl.col(GROUP) + shift).cast(pl.Int32))
        files = {place: write_table(table, place, self.places.aside)}
        stored = read_intact(place, files[place])
        local = GroupedTable(stored.with_columns((pl.col(GROUP) - shift).cast(pl.Int32)))
        schema = people_schema(made.domains.schema)
        release = release_of(local, schema, Scales(view.axes, made.domains.values))
        assert terms.of_people is not None
        checked = verify_frame(local, schema, terms.of_people)
        true = verify_against_view(release, sides_of(view).people, cell)
        leaf = _leaves(cells, self.leading.places(view.points), len(regions.low))
        digests, codes = frame[ROW].to_numpy(), frame[CODE].to_numpy()
        yield fact(
            WrittenPeople(
                shard,
                files,
                checked,
                true,
                sums_of(release),
                view.rows,
                tally_of(people_of(frame), digests, codes),
                leaf,
                np.bincount(cells, minlength=len(leaf)),
            )
        )
        counted = people_by_batch(local)
        yield from spread_batches(counted, made.shards)


def _leaves(cell: IntArray, led: IntArray, cells: int) -> IntArray:
    """The place that all people of each cell are led to; -1 where there are several."""
    lowest = np.full(cells, np.iinfo(np.int64).max)
    highest = np.full(cells, -1, dtype=np.int64)
    np.minimum.at(lowest, cell, led)
    np.maximum.at(highest, cell, led)
    return np.where(lowest == highest, lowest, -1)


def from_cuts_in_parts(written: Sequence[WrittenPeople], k: int) -> Check:
    """Whether the cells of all shards are those that the cuts lead to."""
    leaf = np.concatenate([np.empty(0, np.int64), *(one.leaf for one in written)])
    sizes = np.concatenate([np.empty(0, np.int64), *(one.sizes for one in written)])
    names, times = np.unique(leaf, return_counts=True)
    twice = (leaf < 0) | np.isin(leaf, names[times > 1])
    return cells_check(int(twice.sum()) + int(np.count_nonzero(sizes < k)), int(sizes[twice].sum()))


def checked_tables(
    values: Sequence[Written], people: Sequence[WrittenPeople], batches: Check, terms: Terms
) -> Verification:
    """The checks of all shards of both tables as those of one release."""
    assert terms.of_people is not None
    cells = CheckedCells([one.verification for one in people], terms.of_people, batches)
    true = verified([Verification(0, 0, 0, (one.true,)) for one in people], ()).checks
    return cells.with_values(verified([one.verification for one in values], terms.requirements), *true)


def nobody(domains: Domains) -> list[Block]:
    """The people of an empty week."""
    axes = len(domains.axes)
    none = np.empty(0, dtype=np.int32)
    cells = pl.DataFrame(schema=dict.fromkeys(domains.schema.insensitive, pl.String()))
    view = domains.view(np.empty((axes, 0)), none, cells, np.empty((0, 2), dtype=np.uint64))
    frame = frame_of(view, np.empty(0, dtype=np.uint64))
    frame = frame.with_columns(pl.Series(CELL, none), pl.Series(BATCH, none))
    return [table_block(frame, 0, PEOPLE), regions_block(np.empty((0, axes)), np.empty((0, axes)), 0)]
