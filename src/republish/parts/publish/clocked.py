"""Shards of batches with clocks of their own: people who wait are listed in them, people who left are counted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.grouping import SUPPRESSED, Grouping, Snapshots
from republish.memory.memory import KEY, Memory, people_of
from republish.parts.blocks import Block, tables_of
from republish.parts.files import write_bytes
from republish.parts.pseudonymize import CODE, VIEW
from republish.parts.publish.groups import FALSE, GROUP
from republish.parts.publish.together import CLOCK, KEPT, LISTED
from republish.parts.publish.two_tables import WritingValues
from republish.publishing.steps import CheckedPiece, Piece, ValuesPiece
from republish.release.grouped_table import GroupedTable
from republish.release.release import Release, drawn_numbers
from republish.release.two_tables import AS_OF, BATCH, Placed, TwoTableCounts, clocked
from republish.secret import order_of
from republish.sources.paths import read_csv
from republish.spatial.zones import Zones
from republish.verify.check import Check
from republish.verify.two_tables import values_by_batch, with_waiting


@dataclass(frozen=True)
class ClockedPiece(ValuesPiece):
    """A piece of batches of which some were counted earlier; what is promised over the series is checked elsewhere."""

    def built(self, *label: object) -> tuple[Release, Placed]:
        """The table of values, and where every row of the view is counted and listed."""
        values, placed = super().built(*label)
        return values, placed._replace(listed=self.clocked(*label)[0])

    def clocked(self, *label: object) -> tuple[IntArray, pl.DataFrame]:
        """The batch that everyone is listed in, and when each was counted and how many were not then."""
        grouping, terms = self.grouping, self.terms
        assert grouping.snapshots is not None
        number = drawn_numbers(grouping.groups, terms.secret, *terms.label(*label), "values")
        return clocked(grouping, grouping.snapshots, number)

    def _against_memory(self, *given: object) -> tuple[Check, ...]:
        return ()


@dataclass(frozen=True)
class WritingClocked(WritingValues):
    """The task of one shard of batches that have clocks of their own."""

    def _piece(self, piece: Piece, frame: pl.DataFrame) -> Piece:
        found = super()._piece(piece, frame)
        assert isinstance(found, ValuesPiece)
        return ClockedPiece(**{name: getattr(found, name) for name in found.__dataclass_fields__})

    def _groups(self, blocks: Sequence[Block]) -> tuple[pl.DataFrame, Grouping]:
        """The people of the shard by pseudonym, and its batches from 0."""
        frame, held, clock = (tables_of(blocks, kind) for kind in (VIEW, FALSE, CLOCK))
        frame = frame[order_of(people_of(frame))] if frame.height else frame
        batches = np.sort(clock[GROUP].to_numpy()) if clock.height else np.empty(0, dtype=np.int32)
        group, listed = (_numbered(frame[name].to_numpy(), batches) for name in (GROUP, LISTED))
        as_of = clock.sort(GROUP)[AS_OF].to_numpy() if clock.height else batches
        if not held.height:
            snapshots = Snapshots(listed, np.empty((0, 2), dtype=np.uint64), as_of, Zones.one())
            return frame, Grouping(group, snapshots=snapshots)
        held = held.sort(GROUP, CODE, *KEY)
        snapshots = Snapshots(listed, people_of(held), as_of, Zones.one())
        false = _numbered(held[GROUP].to_numpy(), batches)
        return frame, Grouping(group, false, held[CODE].to_numpy(), snapshots=snapshots)

    def _write(self, piece: Piece, release: Release, shard: int, shift: int) -> dict[Path, dict[str, Any]]:
        files = super()._write(piece, release, shard, shift)
        assert isinstance(piece, ClockedPiece)
        clock = piece.clocked("shard", shard)[1]
        if clock.height or not piece.view.rows:
            place, own = self.places.clock[shard], clock.with_columns(pl.col(BATCH) + shift)
            files[place] = write_bytes(own.write_csv().encode(), place, self.places.aside)
        return files

    def _remembered(self, checked: CheckedPiece, seen: Memory, frame: pl.DataFrame) -> Memory:
        known = checked.piece.memory.merged(seen)
        own = {
            name.removeprefix(KEPT): frame[name].to_numpy() for name in frame.columns if name.startswith(KEPT)
        }
        return replace(known, columns={**known.columns, **own})

    def _counts(self, checked: CheckedPiece) -> TwoTableCounts:
        listed, waits = checked.placed.listed, checked.piece.grouping.group < 0
        assert listed is not None
        without = listed == 0
        return TwoTableCounts.of_values(
            checked.release.values, int(np.count_nonzero(without)), listed[waits & ~without]
        )

    def _batch(self, published: CheckedPiece, shard: int) -> IntArray:
        listed = published.placed.listed
        assert listed is not None
        return np.where(listed > 0, listed + int(self.first[shard]), 0)

    def _shown(self, table: GroupedTable, shard: int) -> pl.DataFrame:
        counted, place = values_by_batch(table), self.places.clock[shard]
        if not counted.height:
            return counted
        own = pl.col(BATCH) - int(self.first[shard])
        return with_waiting(counted, read_csv(place).with_columns(own))


def _numbered(batch: IntArray, batches: IntArray) -> IntArray:
    """The place of every batch among those of the shard."""
    found = np.searchsorted(batches, batch).astype(np.int32)
    return np.where(batch >= 0, found, np.int32(SUPPRESSED))
