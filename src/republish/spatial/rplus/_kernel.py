"""The tiling of an R+-tree as one loop over an explicit stack of row ranges.

Rows lie side by side (`points[row, axis]`, the domain scaled to 0..1, missing -1) and every node is a
contiguous range of them, so that the leaves come out in the order of the tree. A cut sends the rows at most
at a threshold to the left: equal values stay together and leaves are disjoint boxes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, Int32Array, Int64Array
from republish.kernels import kernel
from republish.requirements.base import Rules
from republish.requirements.rules import rows_satisfy, satisfied
from republish.spatial.quickselect import quickselect

ABSENT = -1.0
_APART = -0.5  # between the missing values and all others


class _TilingRows(NamedTuple):
    """The permuted rows, and what each node needs for a moment."""

    points: FloatArray
    number: Int64Array
    codes: Int32Array
    scratch: FloatArray
    counts: Int64Array
    bounds: FloatArray
    threshold: FloatArray
    cost: FloatArray


@kernel
def tile(points: FloatArray, codes: Int32Array, rules: Rules, buffer: int, packed: bool) -> Int32Array:
    """Return the leaf of each row, numbered in the order of the tree; `points` and `codes` are permuted.

    All rows together must satisfy the rules. A node of more rows than `buffer` is cut where a sample says.
    """
    n, q = points.shape
    rows = _TilingRows(
        points,
        np.arange(n),
        codes,
        np.empty(n, np.float64),
        np.zeros(rules.overall.size, np.int64),
        np.empty((2, 2, q), np.float64),
        np.empty(3 * q, np.float64),
        np.empty(3 * q, np.float64),
    )
    begins = np.zeros(n + 1, np.bool_)
    # The smaller part is handled first, so that the stack never holds more than log2(n) ranges.
    stack = np.empty((64, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    depth = 1 if n > 0 else 0
    while depth > 0:
        depth -= 1
        begin, end = stack[depth, 0], stack[depth, 1]
        middle = _divide(rows, rules, begin, end, buffer, packed)
        if middle == begin:
            begins[begin] = True
            continue
        smaller_left = middle - begin < end - middle
        stack[depth, 0], stack[depth, 1] = (middle, end) if smaller_left else (begin, middle)
        stack[depth + 1, 0], stack[depth + 1, 1] = (begin, middle) if smaller_left else (middle, end)
        depth += 2
    leaf = np.empty(n, np.int32)
    current = -1
    for i in range(n):
        current += begins[i]
        leaf[rows.number[i]] = current
    return leaf


@kernel
def _divide(rows: _TilingRows, rules: Rules, begin: int, end: int, buffer: int, packed: bool) -> int:
    """Return where the rows are divided after the best allowable cut, or `begin` where there is none."""
    if end - begin < 2 * rules.min_size:
        return begin
    step = (end - begin + buffer - 1) // buffer
    middle = _divide_by(rows, rules, begin, end, step, packed)
    if middle == begin and step > 1:  # the sample misled: look at every row
        middle = _divide_by(rows, rules, begin, end, 1, packed)
    return middle


@kernel
def _divide_by(rows: _TilingRows, rules: Rules, begin: int, end: int, step: int, packed: bool) -> int:
    """Try the cuts that every `step`-th row suggests, from the least total extent of both sides on."""
    q = rows.points.shape[1]
    least = rules.min_size if step == 1 else 1
    for axis in range(q):
        _candidates(rows, axis, begin, end, step, _target(end - begin, rules.min_size, packed), least)
    for _ in range(3 * q):
        best = int(np.argmin(rows.cost))
        if rows.cost[best] == np.inf:
            return begin
        rows.cost[best] = np.inf
        middle = _partition(rows, best // 3, rows.threshold[best], begin, end)
        if middle - begin < rules.min_size or end - middle < rules.min_size:
            continue
        # A refused cut leaves the rows moved: their order within a node means nothing.
        if rules.plain or (
            rows_satisfy(rules, rows.codes[begin:middle], rows.counts)
            and rows_satisfy(rules, rows.codes[middle:end], rows.counts)
        ):
            return middle
    return begin


@kernel
def _target(size: int, least: int, packed: bool) -> float:
    """Return the share of rows that should go left: half, or half of the most leaves that the rows fill."""
    leaves = size // least
    return (leaves // 2) / leaves if packed else 0.5


@kernel
def _candidates(
    rows: _TilingRows, axis: int, begin: int, end: int, step: int, share: float, least: int
) -> None:
    """Write up to three cuts of one axis, and what they cost: apart from missing, then both sides of a rank."""
    costs, thresholds, values = rows.cost[3 * axis : 3 * axis + 3], rows.threshold[3 * axis :], rows.scratch
    costs[:] = np.inf
    size, missing = 0, 0
    lowest, highest = np.inf, -np.inf
    for i in range(begin, end, step):
        value = rows.points[i, axis]
        values[size] = value
        size += 1
        missing += value == ABSENT
        lowest, highest = min(value, lowest), max(value, highest)
    if lowest == highest:
        return
    if least <= missing <= size - least:
        thresholds[0] = _APART
        costs[0] = _extents(rows, axis, _APART, begin, end, step)
    wanted = share * size
    middle = quickselect(values[:size], min(max(int(np.ceil(wanted)) - 1, 0), size - 1))
    few, many = 0, 0
    for i in range(size):
        few += values[i] < middle
        many += values[i] <= middle
    below = np.nextafter(middle, -np.inf)
    fits_few, fits_many = least <= few <= size - least, least <= many <= size - least
    if fits_few and (not fits_many or wanted - few < many - wanted):
        thresholds[1] = below
        costs[1] = _extents(rows, axis, below, begin, end, step)
    elif fits_many:
        thresholds[1] = middle
        costs[1] = _extents(rows, axis, middle, begin, end, step)
    if fits_few and fits_many:  # only where the better one is refused for its values
        thresholds[2] = middle if thresholds[1] == below else below
        costs[2] = costs[1] + 2.0 * size * rows.points.shape[1]


@kernel
def _extents(rows: _TilingRows, axis: int, threshold: float, begin: int, end: int, step: int) -> float:
    """Return the extents of the two bounding boxes of a cut, added up over the axes and over the rows."""
    q = rows.points.shape[1]
    low, high = rows.bounds[0], rows.bounds[1]
    low[:] = np.inf
    high[:] = -np.inf
    members = np.zeros(2, np.int64)
    for i in range(begin, end, step):
        side = 1 if rows.points[i, axis] > threshold else 0
        members[side] += 1
        for a in range(q):
            value = rows.points[i, a]
            low[side, a], high[side, a] = min(low[side, a], value), max(high[side, a], value)
    total = 0.0
    for side in range(2):
        for a in range(q):
            if low[side, a] < high[side, a]:
                # Missing beside other values is published as `*`, the whole domain.
                extent = 1.0 if low[side, a] == ABSENT else high[side, a] - low[side, a]
                total += members[side] * extent
    return total


@kernel
def _partition(rows: _TilingRows, axis: int, threshold: float, begin: int, end: int) -> int:
    """Bring the rows at most at the threshold to the front and return where the others begin."""
    points, left, right = rows.points, begin, end - 1
    while True:
        while left <= right and points[left, axis] <= threshold:
            left += 1
        while left <= right and points[right, axis] > threshold:
            right -= 1
        if left > right:
            return left
        for a in range(points.shape[1]):
            points[left, a], points[right, a] = points[right, a], points[left, a]
        rows.number[left], rows.number[right] = rows.number[right], rows.number[left]
        rows.codes[left], rows.codes[right] = rows.codes[right], rows.codes[left]
        left += 1
        right -= 1


@kernel
def scan(sizes: Int64Array, histograms: Int64Array, rules: Rules) -> Int32Array:
    """Return the group of each leaf: neighbours in the order of the tree, joined until they satisfy the rules.

    `histograms[leaf]` is read only where more than the size matters. All leaves together must satisfy the
    rules. What is left at the end joins the group before it.
    """
    leaves = sizes.size
    group = np.empty(leaves, np.int32)
    counts = np.zeros(histograms.shape[1], np.int64)
    held, current, start = 0, 0, 0
    for leaf in range(leaves):
        group[leaf] = current
        held += sizes[leaf]
        if not rules.plain:
            counts += histograms[leaf]
        if satisfied(rules, counts, held):
            current, held, start = current + 1, 0, leaf + 1
            counts[:] = 0
    # Neighbours that hold stay in a group that holds, for every model that is closed under union; the last
    # group may take in several where what is left over does not suit it.
    while held > 0 and not satisfied(rules, counts, held) and current > 0:
        current -= 1
        while start > 0 and group[start - 1] == current:
            start -= 1
            held += sizes[start]
            if not rules.plain:
                counts += histograms[start]
    for leaf in range(start, leaves):
        group[leaf] = current
    return group
