"""Histograms of the sensitive values of many groups, as many at once as memory likes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from republish.arrays import Int64Array
from republish.kernels import kernel

CELLS_AT_ONCE = 1_000_000


def histograms(
    group: NDArray[np.integer[Any]], codes: NDArray[np.integer[Any]], groups: int, m: int
) -> Iterator[tuple[int, Int64Array]]:
    """Yield the first of some consecutive groups and their histograms, one row a group, until all are done.

    Args:
        group: the group of every row, 0 to `groups` - 1.
        codes: the sensitive code of every row, 0 to `m` - 1.
        groups: number of groups.
        m: number of codes.
    """
    offsets, codes = _by_group(group, codes, groups)
    at_once = max(1, CELLS_AT_ONCE // max(m, 1))
    for first in range(0, groups, at_once):
        last = min(first + at_once, groups)
        owner = np.repeat(np.arange(last - first), np.diff(offsets[first : last + 1]))
        counts = np.bincount(owner * m + codes[offsets[first] : offsets[last]], minlength=(last - first) * m)
        yield first, counts.reshape(last - first, m)


@kernel
def _by_group(group, codes, groups):  # type: ignore[no-untyped-def]
    """The codes of all rows group by group, and where each group begins: one pass to count, one to place."""
    offsets = np.zeros(groups + 1, dtype=np.int64)
    for row in range(group.size):
        offsets[group[row] + 1] += 1
    for g in range(groups):
        offsets[g + 1] += offsets[g]
    free = offsets[:-1].copy()
    placed = np.empty(group.size, dtype=np.int32)
    for row in range(group.size):
        g = group[row]
        placed[free[g]] = codes[row]
        free[g] += 1
    return offsets, placed
