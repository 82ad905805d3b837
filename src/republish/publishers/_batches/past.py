"""What value-blind batches go by: whom each counts, who is where, and what the memory is after a release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.errors import LedgerError
from republish.grouping import Grouping
from republish.memory.batch_record import HOME, STAY, BatchRecord
from republish.memory.cohort_stays import CohortSighting, continued
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.spatial.zones import LedRow


@dataclass(frozen=True)
class BatchPast:
    """What is remembered of the people of a view, parallel to its rows, and of all batches.

    Attributes:
        release: the number of the release that is made.
        record: stays, zones and batches after all earlier releases.
        stay: the last stay of each person, -1 for none.
        home: the batch each person is in, 0 for none.
        same: who is counted, with the value she has.
        changed: who is counted with another value than she has.
        known: who was counted with the value she has, now or before.
    """

    release: int
    record: BatchRecord
    stay: IntArray
    home: IntArray
    same: BoolArray
    changed: BoolArray
    known: BoolArray

    @cached_property
    def counted(self) -> IntArray:
        """The stays that batches count."""
        return np.flatnonzero(self.record.stays.until == self.release - 1)

    @cached_property
    def ended(self) -> BoolArray:
        """Of the stays that batches count, those of people who left or changed, or were forgotten."""
        here = np.zeros(self.record.stays.count, dtype=np.bool_)
        here[self.stay[self.same]] = True
        return ~here[self.counted]

    @property
    def batches(self) -> int:
        """The highest number of a batch, all that ever were."""
        return len(self.record.zone)


def recall_batches(view: Microdata, memory: Memory, release: int) -> BatchPast:
    """What is remembered of the people of a view before the release of that number.

    Raises:
        LedgerError: somebody's stay or batch is not one of the record.
    """
    record = BatchRecord.of(memory)
    assert view.people is not None
    entry = np.append(memory.find(view.people), -1)[:-1]
    blank = np.zeros(memory.size + 1, dtype=np.int64)  # what a stranger's entry, -1, points to
    stay, home = (
        np.append(memory.columns[c], 0).astype(np.int64) if c in memory.columns else blank
        for c in (STAY, HOME)
    )
    stay, home = stay[entry] - 1, home[entry]
    if (stay >= record.stays.count).any() or (home > len(record.zone)).any():
        raise LedgerError(
            "everyone's stay and batch must be in the record of batches; some are not: the memory is damaged or of "
            "another series: restore it from a backup. Nothing was written"
        )
    record = record.known_to(memory)
    stays = record.stays
    known, there = (np.zeros(view.rows, dtype=np.bool_) for _ in range(2))
    has = stay >= 0
    known[has] = stays.code[stay[has]] == view.codes[has]
    there[has] = stays.until[stay[has]] == release - 1
    return BatchPast(release, record, stay, home, there & known, there & ~known, known)


def sight_batches(view: Microdata, past: BatchPast, grouping: Grouping) -> tuple[CohortSighting, IntArray]:
    """Everyone who is counted in a release, those who left or changed last; and the number of every batch."""
    stays = past.record.stays
    number = np.zeros(grouping.groups, dtype=np.int64)
    number[grouping.group[past.same]] = stays.cohort[past.stay[past.same]]
    fresh = np.flatnonzero(number == 0)
    number[fresh] = past.batches + 1 + np.arange(len(fresh))
    rows = np.flatnonzero(grouping.group >= 0)
    held = held_stays(past, grouping, number)
    cohort = np.concatenate([number[grouping.group[rows]], stays.cohort[held]])
    code = np.concatenate([view.codes[rows], stays.code[held]]).astype(np.int64)
    stay = np.concatenate([past.stay[rows], held])
    goes_on = np.concatenate([past.same[rows], np.ones(len(held), dtype=np.bool_)])
    shown, times = np.unique(np.column_stack([cohort, code]), axis=0, return_counts=True)
    counts = shown[:, 0], shown[:, 1], times.astype(np.int64)
    return CohortSighting(past.release, cohort, code, stay, goes_on, counts), number


def held_stays(past: BatchPast, grouping: Grouping, number: IntArray) -> IntArray:
    """The stays of people who left or changed and are counted on: all of a batch, or none."""
    ended = past.counted[past.ended]
    goes_on = np.isin(past.record.stays.cohort[ended], number[np.unique(grouping.counterfeit_group)])
    return ended[goes_on]


def _overdue(past: BatchPast, grouping: Grouping, number: IntArray, n: int) -> IntArray:
    """For how many releases every batch is overdue now: n lives or more ended, or wait, and it was not counted."""
    assert grouping.snapshots is not None
    waiting = grouping.snapshots.listed[(grouping.group < 0) & (grouping.snapshots.listed >= 0)]
    due = np.bincount(grouping.counterfeit_group, minlength=grouping.groups) >= n
    due |= np.bincount(waiting, minlength=grouping.groups) >= n
    before = np.zeros(int(max(number.max(initial=0), past.batches)) + 1, dtype=np.int64)
    before[1 : past.batches + 1] = past.record.overdue
    now = np.zeros_like(before)
    now[number[due]] = before[number[due]] + 1
    return now[1:]


def remember_batches(view: Microdata, past: BatchPast, grouping: Grouping, memory: Memory, n: int) -> Memory:
    """The memory after a release."""
    assert view.people is not None and grouping.snapshots is not None
    listed, zones = grouping.snapshots.listed, grouping.snapshots.zones
    sighting, number = sight_batches(view, past, grouping)
    stays, entry = continued(past.record.stays, sighting)
    rows = np.flatnonzero(grouping.group >= 0)
    place = memory.find(view.people)
    nobody = np.zeros(memory.size, dtype=np.int32)
    stay, home = (memory.columns.get(name, nobody).copy() for name in (STAY, HOME))
    stay[place[rows]] = entry[: len(rows)] + 1
    home[place] = np.where(listed >= 0, number[np.maximum(listed, 0)] if len(number) else 0, 0)
    fresh = np.flatnonzero(number > past.batches)
    a_row = np.zeros(grouping.groups, dtype=np.int64)
    a_row[grouping.group[rows]] = rows
    led = LedRow(view.points[:, a_row[fresh]], view.people[a_row[fresh]])
    record = BatchRecord(
        stays,
        zones.frame(),
        np.append(past.record.zone, zones.lead(led)),
        np.append(past.record.size, np.bincount(grouping.group[rows], minlength=grouping.groups)[fresh]),
        _overdue(past, grouping, number, n),
    )
    return replace(memory, columns={**memory.columns, STAY: stay, HOME: home}, counts=record.frame())
