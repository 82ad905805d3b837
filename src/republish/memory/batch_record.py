"""What is remembered of batches: who was counted in which from when to when, the cuts of zones, and where batches are.

It holds no pseudonyms: memory entries point into it, by the number of a stay and of a batch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray, WordArray
from republish.memory.cohort_stays import FORGOTTEN, Stays
from republish.memory.memory import Memory

CUTS: dict[str, type[pl.DataType]] = {
    "axis": pl.Int64,
    "cut": pl.Float64,
    "share": pl.Float64,
    "below": pl.Int64,
    "above": pl.Int64,
}
STAY, HOME = "stay", "home"
"""Columns of the memory: the last stay of everyone, and the batch that she is in, each from 1; 0 for none."""


class BatchTerms(NamedTuple):
    """What is stated of batches: whether they are closed, their size, and the weight of every axis."""

    closed: bool
    size: int
    weights: FloatArray


class BatchRecord(NamedTuple):
    """The stays of lives in batches; the cuts that lead people to zones; the zone of every batch and its first size.

    `overdue` is for how many releases in a row a batch was not counted anew although enough lives ended or began.

    A stay lasts for as long as a batch counts the life, also when the person has left or changed meanwhile.
    """

    stays: Stays
    cuts: pl.DataFrame
    zone: IntArray
    size: IntArray
    overdue: IntArray

    @classmethod
    def of(cls, memory: Memory) -> BatchRecord:
        frame = memory.counts
        if frame is None:
            nothing = np.zeros(0, dtype=np.int64)
            return cls(Stays.none(), pl.DataFrame(schema=CUTS), nothing, nothing, nothing)
        batches, cuts = (frame[name].explode().struct.unnest() for name in ("batches", "cuts"))
        return cls(
            Stays.of_frame(frame),
            cuts.drop_nulls(),
            *(batches[name].drop_nulls().cast(pl.Int64).to_numpy() for name in ("zone", "size", "overdue")),
        )

    def frame(self) -> pl.DataFrame:
        """All of it as a table of one line, a table in each cell."""
        batches = pl.DataFrame({"zone": self.zone, "size": self.size, "overdue": self.overdue}).cast(pl.Int32)
        tables = {"stays": self.stays.frame(), "cuts": self.cuts, "batches": batches}
        return pl.DataFrame({name: pl.Series([table.to_struct()]) for name, table in tables.items()})

    def known_to(self, memory: Memory) -> BatchRecord:
        """The record in which the stays of people who are not in the memory any more are of forgotten ones."""
        stays, last = self.stays, _last_stays(memory)
        remembered = np.zeros(stays.count, dtype=np.bool_)
        remembered[stays.person[last[last >= 0]]] = True
        bearer = np.where(remembered[stays.person], stays.bearer, FORGOTTEN)
        return self._replace(stays=replace(stays, bearer=bearer))

    def bearers(self, memory: Memory, stays: IntArray) -> WordArray:
        """The pseudonyms of the people of these stays, nobody's for those who were forgotten."""
        last = _last_stays(memory)
        known = np.flatnonzero(last >= 0)
        entry = np.full(self.stays.count + 1, -1, dtype=np.int64)
        entry[self.stays.person[last[known]]] = known
        found = entry[self.stays.person[stays]]
        return np.where((found >= 0)[:, None], memory.people[found], np.uint64(0))


def _last_stays(memory: Memory) -> IntArray:
    """The last stay of everyone in a memory, -1 for none."""
    found: IntArray = memory.columns.get(STAY, np.zeros(memory.size, dtype=np.int32)).astype(np.int64) - 1
    return found
