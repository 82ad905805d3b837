"""The partition of Mondrian as one loop over an explicit stack of row ranges.

The rows are kept permuted, column by column, so that every node of the tree is a contiguous range of
every column: extents and counts run over plain slices, and a cut is one in-place pass. No step
depends on the order of the rows inside a range, so the partition depends on the input alone, and no
function calls itself.

Every cut has one form, whatever the kind of the column: a row goes right when its value is above a
threshold, or equal to it and its row number above `last`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, Int8Array, Int32Array, Int64Array
from republish.kernels import kernel
from republish.requirements.base import Rules
from republish.requirements.bt_privacy import Beliefs, rows_within
from republish.requirements.rules import rows_satisfy
from republish.spatial.extents import HIERARCHY, ancestor, extent
from republish.spatial.quickselect import quickselect
from republish.spatial.row_ranges import bounds, counts_upto, present_bounds, select, swap

_BLOCK = 256
_ALL = 2**31


class Space(NamedTuple):
    """The quasi-identifiers of a view: `points[j, i]` is row i in column j, missing is -inf.

    What follows is `republish.spatial.extents.axis_arrays`.
    """

    points: FloatArray
    width: FloatArray
    weight: FloatArray
    kind: Int8Array
    start: Int32Array
    end: Int32Array
    offset: Int64Array
    levels: Int64Array


class _MondrianRows(NamedTuple):
    """The permuted rows, and what each node needs for a moment.

    The node with rows begin to end owns `buffer[begin:end]`; once final, it marks there where a group begins.
    """

    columns: FloatArray
    number: Int32Array
    codes: Int32Array
    buffer: FloatArray
    counts: Int64Array
    misplaced: Int64Array
    extents: FloatArray
    lowest: FloatArray


class _Task(NamedTuple):
    """What a partition is made from, and what it works on."""

    space: Space
    rules: Rules
    beliefs: Beliefs
    rows: _MondrianRows
    strict: bool


class _Cut(NamedTuple):
    """A cut of column `axis`; the rows that go right will start at `middle`."""

    axis: int
    threshold: float
    last: int
    middle: int


@kernel
def partition(space: Space, rules: Rules, beliefs: Beliefs, codes: Int32Array, strict: bool) -> Int32Array:
    """Return the group of each row, numbered from 0 without gaps.

    The groups are written over `codes`, and `space.points` is permuted. All rows together must satisfy the
    rules and what is asked of beliefs; the codes mean nothing where only the size matters.
    """
    q, n = space.points.shape
    rows = _MondrianRows(
        space.points,
        np.arange(n).astype(np.int32),
        codes,
        np.empty(n, np.float64),
        np.zeros(rules.overall.size, np.int64),
        np.empty((2, _BLOCK), np.int64),
        np.empty(q, np.float64),
        np.empty(q, np.float64),
    )
    if n > 0:
        _divide_all(_Task(space, rules, beliefs, rows, strict), n)
    current = -1
    for i in range(n):
        if rows.buffer[i] > 0.0:
            current += 1
        codes[rows.number[i]] = current
    return codes


@kernel
def _divide_all(task: _Task, n: int) -> None:
    """Divide the rows until no cut is allowable."""
    # The smaller part is handled first, so that the stack never holds more than log2(n) ranges.
    stack = np.empty((64, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    depth = 1
    while depth > 0:
        depth -= 1
        begin, end = stack[depth, 0], stack[depth, 1]
        middle = _divide(task, begin, end)
        if middle == begin:
            task.rows.buffer[begin] = 1.0
            task.rows.buffer[begin + 1 : end] = 0.0
            continue
        smaller_left = middle - begin < end - middle
        stack[depth, 0], stack[depth, 1] = (middle, end) if smaller_left else (begin, middle)
        stack[depth + 1, 0], stack[depth + 1, 1] = (begin, middle) if smaller_left else (middle, end)
        depth += 2


@kernel
def _divide(task: _Task, begin: int, end: int) -> int:
    """Return where the rows are divided after the first allowable cut, or `begin` where there is none."""
    if end - begin < 2 * task.rules.min_size:
        return begin
    extents = task.rows.extents
    for axis in range(extents.size):
        task.rows.lowest[axis], highest = bounds(task.rows.columns[axis, begin:end])
        extents[axis] = extent(task.space, axis, task.rows.lowest[axis], highest)
    for _ in range(extents.size):
        widest = int(np.argmax(extents))
        if extents[widest] <= 0.0:
            # Equal in every column left: only a relaxed partition divides them, in each column alike.
            return begin if task.strict else _cut(task, _halves(task.rows, widest, begin, end), begin, end)
        middle = _cut_axis(task, widest, begin, end)
        if middle > begin:
            return middle
        extents[widest] = -1.0
    return begin


@kernel
def _cut_axis(task: _Task, axis: int, begin: int, end: int) -> int:
    """Return where the first allowable cut in one column divides the rows, or `begin`."""
    rows = task.rows
    values = rows.columns[axis, begin:end]
    if rows.lowest[axis] == -np.inf:
        missing, _ = counts_upto(values, -np.inf, -np.inf)
        middle = _cut(task, _Cut(axis, -np.inf, _ALL, begin + missing), begin, end)
        if middle > begin:
            return middle
    nested = task.space.kind[axis] == HIERARCHY
    if not task.strict and not nested:
        middle = _cut(task, _halves(rows, axis, begin, end), begin, end)
        if middle > begin:
            return middle
    median, few, many = select(values, rows.buffer[begin:end], (end - begin - 1) // 2)
    below, upto = np.nextafter(median, -np.inf), median
    if nested and median > -np.inf:
        below, upto = _beside_child(task.space, axis, values, median)
        few, many = counts_upto(values, below, upto)
    if abs(2 * many - values.size) > abs(2 * few - values.size):
        few, many, below, upto = many, few, upto, below
    middle = _cut(task, _Cut(axis, upto, _ALL, begin + many), begin, end)
    if middle == begin:
        middle = _cut(task, _Cut(axis, below, _ALL, begin + few), begin, end)
    if middle == begin and nested and not task.strict:
        middle = _cut(task, _halves(rows, axis, begin, end), begin, end)
    return middle


@kernel
def _beside_child(space: Space, axis: int, values: FloatArray, median: float) -> tuple[float, float]:
    """Return the last leaf before, and the last one of, that child of the common ancestor with the median."""
    lowest, highest = present_bounds(values)
    _, level = ancestor(space, axis, lowest, highest)
    # One level below the first common one, the lowest and the highest leaf part: the children are several.
    place = space.offset[axis] + int(median) * space.levels[axis] + max(level - 1, 0)
    return space.start[place] - 1.0, space.end[place] - 1.0


@kernel
def _halves(rows: _MondrianRows, axis: int, begin: int, end: int) -> _Cut:
    """Return the cut that sends half of the rows left, of those equal to the median the first in the view."""
    half = (end - begin) // 2
    values, buffer = rows.columns[axis, begin:end], rows.buffer[begin:end]
    threshold, less, upto = select(values, buffer, half - 1)
    if upto == half:
        return _Cut(axis, threshold, _ALL, begin + half)
    equal = 0
    for i in range(begin, end):
        rows.buffer[begin + equal] = rows.number[i]
        equal += rows.columns[axis, i] == threshold
    last = quickselect(rows.buffer[begin : begin + equal], half - less - 1)
    return _Cut(axis, threshold, int(last), begin + half)


@kernel
def _cut(task: _Task, cut: _Cut, begin: int, end: int) -> int:
    """Divide the rows and return where, or return `begin` where a side would not satisfy what is asked."""
    rules, beliefs, rows = task.rules, task.beliefs, task.rows
    if cut.middle - begin < rules.min_size or end - cut.middle < rules.min_size:
        return begin
    _move(rows, cut, begin, end, beliefs.asked or not rules.plain)
    # A refused cut leaves the rows moved: their order within the range means nothing.
    if not rules.plain:
        if not rows_satisfy(rules, rows.codes[begin : cut.middle], rows.counts):
            return begin
        if not rows_satisfy(rules, rows.codes[cut.middle : end], rows.counts):
            return begin
    if beliefs.asked:
        if not rows_within(beliefs, rows.number[begin : cut.middle], rows.codes[begin : cut.middle]):
            return begin
        if not rows_within(beliefs, rows.number[cut.middle : end], rows.codes[cut.middle : end]):
            return begin
    return cut.middle


@kernel
def _move(rows: _MondrianRows, cut: _Cut, begin: int, end: int, with_codes: bool) -> None:
    """Bring the rows that go left before `cut.middle` and the others after it.

    As many rows are misplaced on one side as on the other. They are listed block by block without
    branches on the data, then swapped in one column after the other.
    """
    left, right = begin, cut.middle
    lows = highs = low_used = high_used = 0
    while True:
        while low_used == lows and left < cut.middle:
            stop = min(left + _BLOCK, cut.middle)
            lows = _misplaced(rows, cut, left, stop, 1)
            low_used, left = 0, stop
        if low_used == lows:
            return
        while high_used == highs:
            stop = min(right + _BLOCK, end)
            highs = _misplaced(rows, cut, right, stop, 0)
            high_used, right = 0, stop
        pairs = min(lows - low_used, highs - high_used)
        here = rows.misplaced[1, low_used : low_used + pairs]
        there = rows.misplaced[0, high_used : high_used + pairs]
        for axis in range(rows.columns.shape[0]):
            swap(rows.columns[axis], here, there)
        swap(rows.number, here, there)
        if with_codes:
            swap(rows.codes, here, there)
        low_used += pairs
        high_used += pairs


@kernel
def _misplaced(rows: _MondrianRows, cut: _Cut, begin: int, end: int, right: int) -> int:
    """List the rows of a block that go right (1) or left (0) and return how many there are."""
    column, number, found = rows.columns[cut.axis], rows.number, rows.misplaced[right]
    goes_right = right == 1
    size = 0
    if cut.last == _ALL:
        for i in range(begin, end):
            found[size] = i
            size += (column[i] > cut.threshold) == goes_right
        return size
    for i in range(begin, end):
        tied = (column[i] == cut.threshold) & (number[i] > cut.last)
        found[size] = i
        size += ((column[i] > cut.threshold) | tied) == goes_right
    return size
