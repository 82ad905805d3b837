"""The rows of a view brought into the cells of a kept tree, one loop over an explicit stack of row ranges.

The rows are kept permuted, column by column, so that every node of the tree is a contiguous range of every column.
No step depends on the order of the rows inside a range. A row lies left of a cut where its value is at most the
threshold; missing values, -inf, lie left of all others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from republish.kernels import kernel
from republish.spatial.extents import HIERARCHY, ancestor
from republish.spatial.row_ranges import bounds, counts_upto, present_bounds, select, swap

if TYPE_CHECKING:
    from numpy.typing import NDArray

OUTWEIGHED = 8
"""A cut is passed over where one side has fewer than k rows and the other at least this many times k."""
NONE_MISSING, SOME_MISSING, ALL_MISSING = 0, 1, 2
_BLOCK = 256
_DEEPEST = 64
_TRIES = 4
INTERVAL = 0
_FINEST = 300  # decimal places of a float


class CutSpace(NamedTuple):
    """How coordinates are read: `republish.spatial.extents.axis_arrays`, where values are whole, where some miss.

    `domain` holds the lowest and the highest coordinate of every axis.
    """

    width: NDArray[np.float64]
    weight: NDArray[np.float64]
    kind: NDArray[np.int8]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    offset: NDArray[np.int64]
    levels: NDArray[np.int64]
    whole: NDArray[np.bool_]
    gaps: NDArray[np.bool_]
    domain: NDArray[np.float64]


class CutTree(NamedTuple):
    """The cuts: `axis`, threshold `at` and the `child` to the left (0) and to the right (1), -1 where none is cut.

    The root comes first. There is room for the cuts that a view can add; where there is none, none is added.
    """

    axis: NDArray[np.int16]
    at: NDArray[np.float64]
    child: NDArray[np.int32]


class CutCells(NamedTuple):
    """The cells: their first row, the region above `low` and up to `high`, whether some or all values miss.

    `extended` cells extend over a cut that was passed over.
    """

    begin: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    missing: NDArray[np.int8]
    extended: NDArray[np.bool_]

    @classmethod
    def room(cls, most: int, q: int) -> CutCells:
        """Room for so many cells of q axes."""
        return cls(
            np.empty(most, np.int64),
            np.empty((most, q)),
            np.empty((most, q)),
            np.empty((most, q), np.int8),
            np.empty(most, np.bool_),
        )


class _CutRows(NamedTuple):
    """The permuted rows, and what each node needs for a moment."""

    columns: NDArray[np.float64]
    number: NDArray[np.int32]
    buffer: NDArray[np.float64]
    misplaced: NDArray[np.int64]
    lowest: NDArray[np.float64]


class _Open(NamedTuple):
    """Nodes to be resolved: rows begin to end, the cut, the cut and side that it hangs from, whether it extends."""

    node: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@kernel
def resolve(
    columns: NDArray[np.float64],
    space: CutSpace,
    tree: CutTree,
    cuts: int,
    k: int,
    cells: CutCells,
    region: NDArray[np.float64],
) -> tuple[NDArray[np.int32], int, int, int]:
    """Return the cell of each row, and how many cells, cuts and rows in sides that were passed over there are.

    There must be at least k rows, all in the region above `region[0]` and up to `region[1]`. `columns` is permuted,
    `cells` and the free places of `tree` are written.
    """
    q, n = columns.shape
    rows = _CutRows(
        columns,
        np.arange(n).astype(np.int32),
        np.empty(n, np.float64),
        np.empty((2, _BLOCK), np.int64),
        np.empty(q, np.float64),
    )
    # The smaller part is handled first, so that the stack never holds more than log2(n) ranges.
    waiting = _Open(
        np.empty((_DEEPEST, 6), np.int64),
        np.empty((_DEEPEST, q), np.float64),
        np.empty((_DEEPEST, q), np.float64),
    )
    first = waiting.node[0]
    first[0], first[1], first[2], first[3], first[4], first[5] = 0, n, (0 if cuts > 0 else -1), -1, 0, 0
    for axis in range(q):
        waiting.low[0, axis], waiting.high[0, axis] = region[0, axis], region[1, axis]
    depth, found, crossing = 1, 0, 0
    while depth > 0:
        depth -= 1
        middle, node, cuts, passed = _open(rows, space, tree, cuts, k, waiting, depth)
        crossing += passed
        if node < 0:
            _close(rows, space, waiting, depth, cells, found)
            found += 1
            continue
        _push(waiting, depth, tree, node, middle)
        depth += 2
    order = np.argsort(cells.begin[:found])
    cell = np.empty(n, np.int32)
    for c in range(found):
        begin = cells.begin[order[c]]
        end = cells.begin[order[c + 1]] if c + 1 < found else n
        for i in range(begin, end):
            cell[rows.number[i]] = c
    _in_order(cells, order)
    return cell, found, cuts, crossing


@kernel
def _open(
    rows: _CutRows, space: CutSpace, tree: CutTree, cuts: int, k: int, waiting: _Open, depth: int
) -> tuple[int, int, int, int]:
    """Divide the rows of a node; return where, by which cut (-1 for none), all cuts, and the rows passed over."""
    place = waiting.node[depth]
    begin, end, node, parent, side = place[0], place[1], place[2], place[3], place[4]
    size, crossing = end - begin, 0
    if size < 2 * k:
        return begin, -1, cuts, 0
    while node >= 0:
        axis, at = tree.axis[node], tree.at[node]
        left = _count_upto(rows.columns[axis, begin:end], at)
        fewer = min(left, size - left)
        if fewer >= k:
            _move(rows, axis, at, begin, begin + left, end)
            return begin + left, node, cuts, crossing
        if size - fewer < OUTWEIGHED * k:
            return begin, -1, cuts, crossing
        crossing += fewer
        place[5] = 1
        side = 0 if 2 * left > size else 1
        parent, node = node, tree.child[node, side]
    if cuts == tree.axis.size:
        return begin, -1, cuts, crossing
    axis, at, middle = _new_cut(rows, space, k, begin, end, waiting.low[depth], waiting.high[depth])
    if axis < 0:
        return begin, -1, cuts, crossing
    tree.axis[cuts], tree.at[cuts] = axis, at
    tree.child[cuts, 0] = tree.child[cuts, 1] = -1
    if parent >= 0:
        tree.child[parent, side] = cuts
    _move(rows, axis, at, begin, middle, end)
    return middle, cuts, cuts + 1, crossing


@kernel
def _push(waiting: _Open, depth: int, tree: CutTree, node: int, middle: int) -> None:
    """Put the two sides of the node at `depth` in its place and the one after it, the larger one first."""
    axis, at = tree.axis[node], tree.at[node]
    begin, end = waiting.node[depth, 0], waiting.node[depth, 1]
    extended = waiting.node[depth, 5]
    later = 0 if middle - begin >= end - middle else 1
    for q in range(waiting.low.shape[1]):
        waiting.low[depth + 1, q], waiting.high[depth + 1, q] = waiting.low[depth, q], waiting.high[depth, q]
    for side in range(2):
        here = depth if side == later else depth + 1
        line = waiting.node[here]
        line[0], line[1] = (begin, middle) if side == 0 else (middle, end)
        line[2], line[3], line[4], line[5] = tree.child[node, side], node, side, extended
        if side == 0:
            waiting.high[here, axis] = at
        else:
            waiting.low[here, axis] = at


@kernel
def _close(rows: _CutRows, space: CutSpace, waiting: _Open, depth: int, cells: CutCells, found: int) -> None:
    """Write down the node at `depth` as a cell."""
    begin, end = waiting.node[depth, 0], waiting.node[depth, 1]
    cells.begin[found] = begin
    cells.extended[found] = waiting.node[depth, 5] == 1
    for axis in range(waiting.low.shape[1]):
        cells.low[found, axis], cells.high[found, axis] = waiting.low[depth, axis], waiting.high[depth, axis]
        cells.missing[found, axis] = NONE_MISSING
        if space.gaps[axis]:
            absent = _count_upto(rows.columns[axis, begin:end], -np.inf)
            if absent > 0:
                cells.missing[found, axis] = ALL_MISSING if absent == end - begin else SOME_MISSING


@kernel
def _in_order(cells: CutCells, order: NDArray[np.int64]) -> None:
    """Bring the cells into the order of the tree, the left side first."""
    count = order.size
    low, high, missing = cells.low[:count].copy(), cells.high[:count].copy(), cells.missing[:count].copy()
    extended = cells.extended[:count].copy()
    for c in range(count):
        cells.extended[c] = extended[order[c]]
        for axis in range(low.shape[1]):
            cells.low[c, axis], cells.high[c, axis] = low[order[c], axis], high[order[c], axis]
            cells.missing[c, axis] = missing[order[c], axis]


@kernel
def _new_cut(
    rows: _CutRows,
    space: CutSpace,
    k: int,
    begin: int,
    end: int,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> tuple[int, float, int]:
    """Return axis, threshold and middle of the cut that saves most certainty penalty, -1 for none.

    Cells are regions, so what counts is the region above `low` and up to `high`, not where its rows lie.
    """
    best, axis_of, at_of, middle = -1.0, -1, 0.0, begin
    size = end - begin
    for axis in range(low.size):
        rows.lowest[axis], highest = bounds(rows.columns[axis, begin:end])
        if rows.lowest[axis] == highest:
            continue
        at, left = _cut_axis(rows, space, k, axis, begin, end)
        if left <= 0:
            continue
        whole = _open_share(space, axis, low[axis], high[axis], rows.lowest[axis] == -np.inf)
        below = _open_share(space, axis, low[axis], at, rows.lowest[axis] == -np.inf and at > -np.inf)
        above = _open_share(space, axis, max(low[axis], at), high[axis], False)
        saved = space.weight[axis] * (size * whole - left * below - (size - left) * above)
        if saved > best:
            best, axis_of, at_of, middle = saved, axis, at, begin + left
    return axis_of, at_of, middle


@kernel
def _open_share(space: CutSpace, axis: int, low: float, high: float, missing: bool) -> float:
    """Return the share of the domain that the region above `low` and up to `high` leaves open."""
    if missing:
        return 1.0
    if high == -np.inf:
        return 0.0
    first = max(low, space.domain[axis, 0] - (1.0 if space.whole[axis] else 0.0))
    span = min(high, space.domain[axis, 1]) - first
    if space.whole[axis]:
        span -= 1.0
    if span <= 0.0:
        return 0.0
    return float((span if space.kind[axis] == INTERVAL else span + 1.0) / space.width[axis])


@kernel
def _cut_axis(rows: _CutRows, space: CutSpace, k: int, axis: int, begin: int, end: int) -> tuple[float, int]:
    """Return the threshold nearest to the median that leaves k rows on both sides, and how many it leaves left.

    Of all boundaries those beside the median are nearest to it, so where they leave too few rows all do.
    """
    values = rows.columns[axis, begin:end]
    if rows.lowest[axis] == -np.inf:
        absent = _count_upto(values, -np.inf)
        if k <= absent <= values.size - k:
            return -np.inf, absent
    median, few, many = select(values, rows.buffer[begin:end], (values.size - 1) // 2)
    if median == -np.inf:
        return 0.0, 0
    if space.kind[axis] == HIERARCHY:
        return _cut_hierarchy(space, k, axis, values, median)
    above = abs(2 * many - values.size) <= abs(2 * few - values.size)
    left = many if above else few
    if min(left, values.size - left) < k:
        return 0.0, 0
    before, after = _beside(values, median)
    if above:
        return between(median, after, space.whole[axis]), left
    return between(before, median, space.whole[axis]), left


@kernel
def _cut_hierarchy(
    space: CutSpace, k: int, axis: int, values: NDArray[np.float64], median: float
) -> tuple[float, int]:
    """Return the cut beside the child of the common ancestor that holds the median, or beside one further below."""
    lowest, highest = present_bounds(values)
    _, level = ancestor(space, axis, lowest, highest)
    line = space.offset[axis] + int(median) * space.levels[axis]
    while level > 0:
        level -= 1
        below, upto = space.start[line + level] - 1.0, space.end[line + level] - 1.0
        few, many = counts_upto(values, below, upto)
        if abs(2 * many - values.size) > abs(2 * few - values.size):
            many, upto = few, below
        if min(many, values.size - many) >= k:
            return upto, many
    return 0.0, 0


@kernel
def _beside(values: NDArray[np.float64], median: float) -> tuple[float, float]:
    """Return the greatest value below and the least value above the median."""
    before, after = -np.inf, np.inf
    for value in values:
        before = max(before, value if value < median else -np.inf)
        after = min(after, value if value > median else np.inf)
    return before, after


@kernel
def between(low: float, high: float, whole: bool) -> float:
    """Return a threshold from `low` to below `high`: near the middle, of as few digits as there is room for."""
    middle = low / 2.0 + high / 2.0
    if whole:
        at = np.floor(middle)
        return float(at) if low <= at < high else low
    room = high - low
    if not 0.0 < room < np.inf:
        return low
    places = -int(np.floor(math.log10(room))) - 1
    for digits in range(places, places + _TRIES):
        if abs(digits) > _FINEST:
            break
        unit = 10.0 ** abs(digits)
        at = np.ceil(middle * unit - 0.5) / unit if digits >= 0 else np.ceil(middle / unit - 0.5) * unit
        if low <= at < high:
            return float(at) + 0.0
    return low


@kernel
def _count_upto(values: NDArray[np.float64], bound: float) -> int:
    """Return how many values are at most the bound."""
    count = 0
    for value in values:
        count += value <= bound
    return count


@kernel
def _move(rows: _CutRows, axis: int, at: float, begin: int, middle: int, end: int) -> None:
    """Bring the rows left of the cut before `middle` and the others after it.

    As many rows are misplaced on one side as on the other. They are listed block by block without
    branches on the data, then swapped in one column after the other.
    """
    left, right = begin, middle
    lows = highs = low_used = high_used = 0
    while True:
        while low_used == lows and left < middle:
            stop = min(left + _BLOCK, middle)
            lows = _misplaced(rows, axis, at, left, stop, 1)
            low_used, left = 0, stop
        if low_used == lows:
            return
        while high_used == highs:
            stop = min(right + _BLOCK, end)
            highs = _misplaced(rows, axis, at, right, stop, 0)
            high_used, right = 0, stop
        pairs = min(lows - low_used, highs - high_used)
        here = rows.misplaced[1, low_used : low_used + pairs]
        there = rows.misplaced[0, high_used : high_used + pairs]
        for column in range(rows.columns.shape[0]):
            swap(rows.columns[column], here, there)
        swap(rows.number, here, there)
        low_used += pairs
        high_used += pairs


@kernel
def _misplaced(rows: _CutRows, axis: int, at: float, begin: int, end: int, right: int) -> int:
    """List the rows of a block that lie right (1) or left (0) of a cut and return how many there are."""
    column, found = rows.columns[axis], rows.misplaced[right]
    lies_right = right == 1
    size = 0
    for i in range(begin, end):
        found[size] = i
        size += (column[i] > at) == lies_right
    return size
