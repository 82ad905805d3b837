"""The smallest region of the cube around each group, and levels that tell which group a place belongs to.

The thesis publishes the region around every group with its level, and takes the innermost one around a place for its
group (3.6.3). That is right as long as each group is one block: its rows lie in its region and in none inside it. A
group of several blocks may have rows inside a region inside its own. The level of that inner one is lowered here until
what levels say is true: a group's rows lie in its region, and in none inside it that has a higher level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray, WordArray
from republish.kernels import kernel
from republish.spatial._key_bits import bit_at, first_difference, truncated
from republish.spatial.bang.bang_file import BangIndex
from republish.spatial.cube import cells
from republish.spatial.keys import key_order

_SMALL = 8  # rows that are looked at one by one


class EnclosingRegions(NamedTuple):
    """The smallest region around each group: the first `level` bits of `prefix`, zeros after them."""

    prefix: WordArray
    level: IntArray


def around_blocks(index: BangIndex, group: IntArray, groups: int) -> EnclosingRegions:
    """Return the smallest region around all blocks of each group; `group` is that of every block."""
    lowest = np.full(groups, index.cube.levels, dtype=np.int64)
    np.minimum.at(lowest, group, index.level)
    return _around(index.prefix, np.arange(index.blocks), group, lowest)


def around_rows(index: BangIndex, group: IntArray, groups: int) -> EnclosingRegions:
    """Return the smallest region around all rows of each group; `group` is that of every row."""
    return _around(index.keys, key_order(index.keys), group, np.full(groups, index.cube.levels))


def _around(keys: WordArray, order: IntArray, group: IntArray, most: IntArray) -> EnclosingRegions:
    """Return what the first and the last key of each group in ascending order have in common, at most so many bits."""
    last = np.zeros(len(most), dtype=np.int64)
    last[group[order]] = order
    first = np.zeros(len(most), dtype=np.int64)
    first[group[order[::-1]]] = order[::-1]
    level = np.minimum(_common(keys, first, last), most).astype(np.int32)
    return EnclosingRegions(truncated(keys, first, level), level)


@kernel
def _common(keys: WordArray, one: IntArray, other: IntArray) -> IntArray:
    found = np.empty(one.size, np.int64)
    for i in range(one.size):
        found[i] = first_difference(keys, one[i], keys, other[i])
    return found


def true_levels(
    index: BangIndex,
    points: FloatArray,
    group: IntArray,
    ends: tuple[FloatArray, FloatArray],
    level: IntArray,
) -> IntArray:
    """Return a level for every group: its own, or that of a region around it whose group has rows inside it.

    `points` and `group` are those of the rows of the index; `ends` are those of each group's region in every dimension,
    where one from missing values to others holds all there are.
    """
    low, high = ends
    high = np.where(np.isneginf(low) & (high > -np.inf), np.inf, high)
    order = key_order(index.keys)
    rows = _KeyedRows(
        np.ascontiguousarray(index.keys[:, order]),
        np.ascontiguousarray(points[:, order]),
        group[order].astype(np.int64),
        index.cube.turns.astype(np.int64),
        index.cube.bits.astype(np.int64),
    )
    first, last = (cells(index.cube, np.ascontiguousarray(end.T)).astype(np.int64) for end in (low, high))
    outer, inner = crossing(rows, low, high, first.T.copy(), last.T.copy())
    told = level.astype(np.int32)
    while len(outer):
        before = told.copy()
        np.minimum.at(told, inner, told[outer])
        if np.array_equal(before, told):
            break
    return told


class _KeyedRows(NamedTuple):
    """Rows in ascending order of their keys: coordinates, groups, and the dimension that each bit of a key halves."""

    keys: WordArray
    points: FloatArray
    group: IntArray
    turns: IntArray
    bits: IntArray


@kernel
def crossing(rows: _KeyedRows, low: FloatArray, high: FloatArray, first: IntArray, last: IntArray):  # type: ignore[no-untyped-def]
    """Return the pairs of groups of which the box of the second lies in that of the first and holds rows of it.

    The box of group g is `low[g]` to `high[g]`, in ranges of the scales `first[g]` to `last[g]`. Rows in a box are
    found by halving the cube as keys do, wherever a half meets it.
    """
    groups, axes = low.shape
    levels = rows.turns.size
    outer, inner = np.empty(64, np.int64), np.empty(64, np.int64)
    pairs = 0
    seen = np.full(groups, -1, np.int64)
    run = np.empty(
        (levels + 2, 3), np.int64
    )  # rows from, up to, and level of each part that is still to be searched
    corner = np.empty((levels + 2, axes), np.int64)
    width = np.empty((levels + 2, axes), np.int64)
    for g in range(groups):
        seen[g] = g
        run[0, 0], run[0, 1], run[0, 2] = 0, rows.group.size, 0
        for q in range(axes):
            corner[0, q], width[0, q] = 0, 1 << rows.bits[q]
        depth = 1
        while depth > 0:
            depth -= 1
            begin, end, level = run[depth]
            if end - begin > _SMALL and level < levels:
                depth = _halve(rows, first[g], last[g], run, corner, width, depth)
                continue
            for i in range(begin, end):
                other = rows.group[i]
                if seen[other] == g or not _holds(rows.points, i, low[g], high[g]):
                    continue
                seen[other] = g
                if (low[other] <= low[g]).all() and (high[g] <= high[other]).all():
                    if pairs == outer.size:
                        outer, inner = np.append(outer, outer), np.append(inner, inner)
                    outer[pairs], inner[pairs] = other, g
                    pairs += 1
    return outer[:pairs], inner[:pairs]


@kernel
def _holds(points: FloatArray, i: int, low: FloatArray, high: FloatArray) -> bool:
    for q in range(len(points)):  # noqa: SIM110 - numba compiles the loop, not the generator
        if not low[q] <= points[q, i] <= high[q]:
            return False
    return True


@kernel
def _halve(rows, first, last, run, corner, width, depth):  # type: ignore[no-untyped-def]
    """Put those halves of a part in its place that meet the ranges asked for; return how many parts there are now."""
    begin, end, level = run[depth]
    axis = rows.turns[level]
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if bit_at(rows.keys, middle, level):
            high = middle
        else:
            low = middle + 1
    half = width[depth, axis] // 2
    start = corner[depth, axis]
    upper = start + half
    meets_upper = low < end and last[axis] >= upper
    if begin < low and first[axis] < upper:
        run[depth, 1], run[depth, 2] = low, level + 1
        width[depth, axis] = half
        depth += 1
        if meets_upper:
            corner[depth], width[depth] = corner[depth - 1], width[depth - 1]
    if meets_upper:
        run[depth, 0], run[depth, 1], run[depth, 2] = low, end, level + 1
        corner[depth, axis], width[depth, axis] = upper, half
        depth += 1
    return depth
