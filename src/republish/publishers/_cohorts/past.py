"""What cohorts go by: who stays, who comes back, and what each cohort showed last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.errors import LedgerError
from republish.grouping import Grouping
from republish.memory.cohort_stays import NOBODY, CohortSighting, Stays
from republish.memory.memory import Memory
from republish.microdata import Microdata

_STAY = "stay"


@dataclass(frozen=True)
class Remembered:
    """What is remembered of the people of a view, parallel to its rows, and of all cohorts.

    Attributes:
        release: the number of the release that is made.
        stays: the stays of all earlier releases.
        stay: the last stay of each person, -1 for a stranger.
        goes_on: who was in the release before, with the same value.
        returns: who comes back with the value of her last stay.
    """

    release: int
    stays: Stays
    stay: IntArray
    goes_on: BoolArray
    returns: BoolArray

    @cached_property
    def living(self) -> IntArray:
        """The cohorts that somebody stays in, sorted."""
        return np.unique(self.stays.cohort[self.stay[self.goes_on]])

    @cached_property
    def signature_of(self) -> dict[int, tuple[int, ...]]:
        """The values of every cohort that ever was, sorted."""
        pairs = np.unique(np.column_stack([self.stays.cohort, self.stays.code]), axis=0)
        starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
        parts = np.split(pairs[:, 1], starts[1:]) if len(starts) else []
        return {
            int(pairs[start, 0]): tuple(codes.tolist()) for start, codes in zip(starts, parts, strict=True)
        }

    @cached_property
    def kinds(self) -> IntArray:
        """A number for every cohort, equal for those with the same values."""
        numbers: dict[tuple[int, ...], int] = {}
        kinds = np.full(int(self.stays.cohort.max(initial=0)) + 1, -1, dtype=np.int64)
        for cohort, signature in self.signature_of.items():
            kinds[cohort] = numbers.setdefault(signature, len(numbers))
        return kinds

    def only(self, rows: IntArray) -> Remembered:
        """What is remembered of some of the people, and of all cohorts."""
        some = replace(self, stay=self.stay[rows], goes_on=self.goes_on[rows], returns=self.returns[rows])
        some.__dict__.update(signature_of=self.signature_of, kinds=self.kinds)  # of all cohorts, found once
        return some

    def remembered(self, memory: Memory, view: Microdata, stays: Stays, entry: IntArray) -> Memory:
        """The memory in which everyone of the view points to a stay of the record."""
        assert view.people is not None
        column = memory.columns.get(_STAY, np.zeros(memory.size, dtype=np.int32)).copy()
        column[memory.find(view.people)] = entry + 1
        return replace(memory, columns={**memory.columns, _STAY: column}, counts=stays.frame())


def look_back(view: Microdata, memory: Memory, release: int) -> Remembered:
    """What is remembered of the people of a view before the release of that number.

    Raises:
        LedgerError: somebody's stay is not one of the record, or of nobody.
    """
    stays = Stays.of_frame(memory.counts)
    entry = np.full(view.rows, -1) if view.people is None else memory.find(view.people)
    known = entry >= 0
    stay = np.full(view.rows, -1, dtype=np.int64)
    stay[known] = memory.columns.get(_STAY, np.zeros(memory.size, dtype=np.int32))[entry[known]] - 1
    has = stay >= 0
    if (stay >= stays.count).any() or (stays.bearer[stay[has]] == NOBODY).any():
        raise LedgerError(
            "everyone's stay must be in the record of stays, and be a person's; some are not: the memory is damaged "
            "or of another series: restore it from a backup. Nothing was written"
        )
    same = np.zeros(view.rows, dtype=np.bool_)
    same[has] = stays.code[stay[has]] == view.codes[has]
    present = np.zeros(view.rows, dtype=np.bool_)
    present[has] = stays.until[stay[has]] == release - 1
    return Remembered(release, stays, stay, same & present, same & ~present)


def sighted(view: Microdata, before: Remembered, grouping: Grouping) -> CohortSighting:
    """Everyone in a release that was grouped; a group is the cohort of those in it who stay, or a new one."""
    number = np.zeros(grouping.groups, dtype=np.int64)
    number[grouping.group[before.goes_on]] = before.stays.cohort[before.stay[before.goes_on]]
    fresh = np.flatnonzero(number == 0)
    number[fresh] = int(before.stays.cohort.max(initial=0)) + 1 + np.arange(len(fresh))
    group = np.concatenate([grouping.group, grouping.counterfeit_group]).astype(np.int64)
    code = np.concatenate([view.codes, grouping.counterfeit_code]).astype(np.int64)
    shown, rows = np.unique(np.column_stack([number[group], code]), axis=0, return_counts=True)
    return CohortSighting(
        before.release,
        number[grouping.group],
        view.codes.astype(np.int64),
        before.stay,
        before.goes_on,
        (shown[:, 0], shown[:, 1], rows.astype(np.int64)),
    )
