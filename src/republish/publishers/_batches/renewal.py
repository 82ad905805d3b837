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
    """What may change: see `ValueBlind`. A batch counts `least` lives or none; those in `still` must not change now.

    Zones for which `idle` was drawn make no batch of their own, as if that were not diverse.
    """

    m: int
    size: int
    n: int
    least: int
    still: IntArray
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
    home, begins, _ = coming
    stays, old = past.record.stays, past.batches
    batches = int(max(home.max(initial=0), old)) + 1
    cohort = stays.cohort[past.counted]
    gone = np.bincount(cohort[past.ended], minlength=batches)
    remain = np.bincount(cohort[~past.ended], minlength=batches)
    ends = (remain == 0) | ((gone >= rules.n) & (remain >= rules.n))
    later = begins & past.changed & (stays.cohort[past.stay] == home if stays.count else False)
    wanting = np.bincount(home[begins & ~later], minlength=batches)
    wanting += np.where(ends, np.bincount(home[later], minlength=batches), 0)
    fresh = np.arange(batches) > old
    starts = (wanting >= rules.n) | fresh
    may = _may_renew(view, past, (home, begins & (~later | ends[home])), (ends, starts), rules)
    ends &= may
    starts &= may | fresh
    counted = past.same | (begins & starts[home] & (~later | ends[home]))
    held = past.counted[past.ended & ~ends[cohort]]
    return _grouped(past, coming, counted, held, memory)


def _may_renew(
    view: Microdata,
    past: BatchPast,
    beginning: tuple[IntArray, BoolArray],
    wants: tuple[BoolArray, BoolArray],
    rules: BatchRules,
) -> BoolArray:
    """Which batches would count enough lives, none of their values too often, and are free to change."""
    home, begins = beginning
    ends, starts = wants
    stays = past.record.stays
    kept = past.counted[~(past.ended & ends[stays.cohort[past.counted]])]
    rows = begins & starts[home]
    batch = np.concatenate([stays.cohort[kept], home[rows]])
    code = np.concatenate([stays.code[kept], view.codes[rows]])
    total, most = tallied(batch, code, len(ends))
    may: BoolArray = (total == 0) | ((total >= rules.least) & (most * rules.m <= total))
    may[rules.still] = False
    return may


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
