"""When the counts of a batch are taken anew: enough lives end together, or begin together, and it stays diverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.grouping import Grouping, Snapshots
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers._batches.past import BatchPast
from republish.spatial.zones import Zones


@dataclass(frozen=True)
class BatchRules:
    """What may change: see `ValueBlind`. A batch counts `least` lives or none.

    `holds` says in which batches no life may end now, and in which none begin. Zones for which `idle` was drawn make no
    batch of their own, as if that were not diverse.
    """

    m: int
    size: int
    n: int
    least: int
    holds: BoolArray
    idle: BoolArray


class BatchPlaces(NamedTuple):
    """The batch of every row, 0 for none, numbers above those of the past for batches that begin.

    `begins` are the rows whose lives want to be counted. Of somebody whom the same batch counts with another value the
    old life must end before the new one begins. `zones` are those that new people were led by.
    """

    home: IntArray
    begins: BoolArray
    zones: Zones


def renewed(
    view: Microdata, past: BatchPast, coming: BatchPlaces, rules: BatchRules, memory: Memory
) -> Grouping:
    """The batches with the counts that they keep or take anew."""
    stays = past.record.stays
    counts = _LivesAtHand(view, past, coming)
    ends, starts = _decided(counts, rules)
    counted = past.same | counts.beginning(ends, starts)
    held = past.counted[past.ended & ~ends[stays.cohort[past.counted]]]
    return _grouped(past, coming, counted, held, memory)


class _LivesAtHand:
    """The lives that batches count, and those that want to begin in them."""

    def __init__(self, view: Microdata, past: BatchPast, coming: BatchPlaces) -> None:
        stays, home = past.record.stays, coming.home
        self.view, self.past, self.home, self.begins = view, past, home, coming.begins
        self.batches = int(max(home.max(initial=0), past.batches)) + 1
        self.later: BoolArray = (
            coming.begins & past.changed & (stays.cohort[past.stay] == home if stays.count else False)
        )

    def ending(self, n: int) -> BoolArray:
        """In which batches enough lives end, and enough remain or none."""
        cohort = self.past.record.stays.cohort[self.past.counted]
        gone = np.bincount(cohort[self.past.ended], minlength=self.batches)
        remain = np.bincount(cohort[~self.past.ended], minlength=self.batches)
        enough: BoolArray = (remain == 0) | ((gone >= n) & (remain >= n))
        return enough

    def starting(self, n: int, ends: BoolArray) -> BoolArray:
        """In which batches enough lives begin, where those end; all that are new."""
        wanting = np.bincount(
            self.home[self.begins & (~self.later | ends[self.home])], minlength=self.batches
        )
        return (wanting >= n) | (np.arange(self.batches) > self.past.batches)

    def beginning(self, ends: BoolArray, starts: BoolArray) -> BoolArray:
        """The rows whose lives begin."""
        return self.begins & starts[self.home] & (~self.later | ends[self.home])

    def tallied(self, ends: BoolArray, starts: BoolArray) -> tuple[IntArray, IntArray]:
        """How many lives every batch would count, and how often the most frequent value among them."""
        stays, counted = self.past.record.stays, self.past.counted
        kept = counted[~(self.past.ended & ends[stays.cohort[counted]])]
        rows = self.beginning(ends, starts)
        batch = np.concatenate([stays.cohort[kept], self.home[rows]])
        code = np.concatenate([stays.code[kept], self.view.codes[rows]])
        return tallied(batch, code, self.batches)


def _decided(lives: _LivesAtHand, rules: BatchRules) -> tuple[BoolArray, BoolArray]:
    """In which batches lives end, and in which they begin.

    Both, where the batch would then count enough lives and none of their values too often; else those that begin alone,
    else those that end alone.
    """
    old = rules.holds.shape[1]
    may_end, may_begin = (
        np.append(~held, np.ones(lives.batches - old, dtype=np.bool_)) for held in rules.holds
    )
    none = np.zeros(lives.batches, dtype=np.bool_)
    fresh = np.arange(lives.batches) > lives.past.batches
    ended, begun, open_yet = none.copy(), fresh.copy(), ~fresh
    for with_ends, with_begins in ((True, True), (False, True), (True, False)):
        ends = lives.ending(rules.n) & may_end if with_ends else none
        starts = lives.starting(rules.n, ends) & may_begin if with_begins else none
        total, most = lives.tallied(ends, starts)
        fit = (total == 0) | ((total >= rules.least) & (most * rules.m <= total))
        fit &= open_yet & (ends | starts)
        ended[fit], begun[fit] = ends[fit], starts[fit]
        open_yet &= ~fit
    return ended, begun


def tallied(batch: IntArray, code: IntArray, batches: int) -> tuple[IntArray, IntArray]:
    """How many lives every batch counts, and how often the most frequent value among them."""
    values = int(code.max(initial=0)) + 1
    found, times = np.unique(batch.astype(np.int64) * values + code, return_counts=True)
    most = np.zeros(batches, dtype=np.int64)
    np.maximum.at(most, found // values, times)
    return np.bincount(batch, minlength=batches), most


def _grouped(
    past: BatchPast, coming: BatchPlaces, counted: BoolArray, held: IntArray, memory: Memory
) -> Grouping:
    """The grouping in which batches that count anybody are numbered from 0."""
    stays, home = past.record.stays, coming.home
    living = np.unique(home[counted])
    group = np.full(int(max(home.max(initial=0), past.batches)) + 1, -1, dtype=np.int64)
    group[living] = np.arange(len(living))
    group[0] = -1
    listed = group[home]
    held = held[group[stays.cohort[held]] >= 0]
    as_of = np.zeros(len(group), dtype=np.int64)
    ended = np.setdiff1d(past.counted[past.ended], held)
    as_of[home[counted & ~past.same]] = past.release
    as_of[stays.cohort[ended]] = past.release
    np.maximum.at(as_of, stays.cohort, stays.since)
    over = stays.until < past.release - 1
    np.maximum.at(as_of, stays.cohort[over], stays.until[over] + 1)
    return Grouping(
        np.where(counted, listed, -1).astype(np.int32),
        group[stays.cohort[held]].astype(np.int32),
        stays.code[held].astype(np.int32),
        snapshots=Snapshots(
            listed.astype(np.int32),
            past.record.bearers(memory, held),
            as_of[living].astype(np.int32),
            coming.zones,
        ),
    )
