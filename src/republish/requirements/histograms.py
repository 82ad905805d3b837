"""Histograms of the sensitive values of many groups, as many at once as memory likes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

CELLS_AT_ONCE = 4_000_000


def histograms(
    group: NDArray[np.integer[Any]], codes: NDArray[np.integer[Any]], groups: int, m: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the first of some consecutive groups and their histograms, one row a group, until all are done.

    Args:
        group: the group of every row, 0 to `groups` - 1.
        codes: the sensitive code of every row, 0 to `m` - 1.
        groups: number of groups.
        m: number of codes.
    """
    at_once = max(1, CELLS_AT_ONCE // max(m, 1))
    if groups <= at_once:
        yield 0, _count(group, codes, groups, m)
        return
    order = np.argsort(group, kind="stable")
    group, codes = group[order], codes[order]
    for first in range(0, groups, at_once):
        last = min(first + at_once, groups)
        rows = slice(*np.searchsorted(group, (first, last)))
        yield first, _count(group[rows] - first, codes[rows], last - first, m)


def _count(
    group: NDArray[np.integer[Any]], codes: NDArray[np.integer[Any]], groups: int, m: int
) -> NDArray[np.int64]:
    return np.bincount(group.astype(np.int64) * m + codes, minlength=groups * m).reshape(groups, m)
