"""The groups of one release as arrays: who is in each and which values it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from republish.arrays import IntArray
from republish.errors import PolicyError
from republish.kernels import kernel

_TWICE, _NEGATIVE, _SHORT = 1, 2, 3


class Groups(NamedTuple):
    """Members sorted by group, and the values of each group with their counts.

    Rows `member_start[g]` to `member_start[g + 1]` of a prior are the members of group g, which holds
    `value_code[j]` `value_count[j]` times for j from `value_start[g]` to `value_start[g + 1]`. Values that
    outnumber the members are counterfeits: they belong to unknown people.
    """

    member_start: IntArray
    value_start: IntArray
    value_code: IntArray
    value_count: IntArray

    @classmethod
    def one(cls, members: int, values: Sequence[int] | IntArray) -> Groups:
        """The one group of `members` rows that shows `values`, one code a published row."""
        codes, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
        return cls(np.array([0, members]), np.array([0, len(codes)]), codes, counts)

    @classmethod
    def of(cls, group: IntArray, row_group: IntArray, row_code: IntArray) -> tuple[Groups, IntArray]:
        """Groups numbered from 0, and the order that sorts the members into them.

        `group` holds the group of every member, `row_group` and `row_code` group and value of every published
        row. A member whose group is negative is in none and left out of the order.
        """
        order = np.argsort(group, kind="stable")
        order = order[np.searchsorted(group[order], 0) :]
        known = row_group >= 0
        total = int(max(group.max(initial=-1), row_group.max(initial=-1))) + 1
        width = int(row_code.max(initial=-1)) + 1
        keys = row_group[known].astype(np.int64) * width + row_code[known]
        keys, counts = np.unique(keys, return_counts=True)
        starts = np.arange(total + 1)
        members = np.searchsorted(group[order], starts)
        values = np.searchsorted(keys, starts * width)
        return cls(members, values, keys % max(width, 1), counts), order

    @property
    def total(self) -> int:
        return len(self.member_start) - 1

    @property
    def members(self) -> IntArray:
        return np.diff(self.member_start)

    def checked(self, rows: int, values: int) -> Groups:
        """These groups with indices of 64 bits; raises unless they fit a prior of `rows` times `values`."""
        made = Groups(*(np.ascontiguousarray(a, dtype=np.int64) for a in self))
        starts, codes = (made.member_start, made.value_start), made.value_code
        if (
            len(starts[0]) != len(starts[1])
            or len(codes) != len(made.value_count)
            or not (_runs(starts[0], rows) and _runs(starts[1], len(codes)))
        ):
            raise PolicyError(
                f"the groups must cover the {rows} rows of the prior and their {len(codes)} values in order; "
                "sort the members by group and give every group a start and an end"
            )
        if len(codes) and not 0 <= codes.min() <= codes.max() < values:
            raise PolicyError(f"the codes of a group must be columns of the prior, from 0 to {values - 1}")
        fault, group = _fault(*made, np.full(values, -1))
        if fault:
            raise PolicyError(f"group {group} {_FAULTS[fault]}")
        return made


_FAULTS = {
    _TWICE: "lists a value twice; list each once, with its count",
    _NEGATIVE: "has a negative count",
    _SHORT: "must show a value for every member; it has more members than values",
}


def _runs(start: IntArray, end: int) -> bool:
    """Whether these are the starts of runs from 0 to `end`."""
    return bool(len(start) and start[0] == 0 and start[-1] == end and (np.diff(start) >= 0).all())


@kernel
def _fault(
    member_start: IntArray, value_start: IntArray, value_code: IntArray, value_count: IntArray, seen: IntArray
) -> tuple[int, int]:
    """What is wrong with the first group that cannot be, and its number; `seen` starts with -1 everywhere."""
    for g in range(len(member_start) - 1):
        room = 0
        for j in range(value_start[g], value_start[g + 1]):
            if seen[value_code[j]] == g:
                return 1, g
            seen[value_code[j]] = g
            if value_count[j] < 0:
                return 2, g
            room += value_count[j]
        if room < member_start[g + 1] - member_start[g]:
            return 3, g
    return 0, 0
