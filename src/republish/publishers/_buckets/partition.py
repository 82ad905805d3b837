"""Kernels that cut buckets into groups of one entry of each value.

The entries of a bucket of height h lie code after code, h of each, and its j-th group will be the j-th entry
of every code. So a part of a bucket is a range [low, high) of those positions, and cutting it only moves
entries within their own code. Of each code the rows come before the counterfeits, in every part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, Int64Array
from republish.kernels import kernel
from republish.publishers._kernels.geometry import Geometry, clear, include, nearest, new_centre
from republish.spatial.extents import FLAT
from republish.spatial.quickselect import quickselect


class Stacks(NamedTuple):
    """Where each bucket starts among the entries, how high it is, how many codes it has."""

    starts: Int64Array
    heights: Int64Array
    widths: Int64Array


class _BucketRange(NamedTuple):
    """A range of the positions of one bucket."""

    start: int
    height: int
    width: int
    low: int
    high: int


class _Room(NamedTuple):
    """What the cut of one part needs for a moment; a line of `bound` and `ties` for each axis."""

    values: FloatArray
    moved: Int64Array
    bound: FloatArray
    ties: Int64Array
    taken: Int64Array
    seen: Int64Array
    lowest: FloatArray
    highest: FloatArray
    distinct: Int64Array
    missing: Int64Array
    counter: Int64Array


@kernel
def halve(space: Geometry, row: Int64Array, stacks: Stacks, limit: int) -> Int64Array:
    """Cut buckets in halves until no part has more than `limit` groups; return [bucket, low, high] of all.

    A part is cut along the quasi-identifier that leaves the two halves with the smallest sum of extents: of
    every code, the lower half of the rows goes to one side. Counterfeits, which have no quasi-identifiers, are
    shared between the sides in proportion. `row` is permuted.
    """
    q = space.kind.size
    most = max(1, stacks.widths.max()) if stacks.widths.size else 1
    tallest = max(1, stacks.heights.max()) if stacks.heights.size else 1
    room = _Room(
        np.empty(tallest, np.float64),
        np.empty(tallest, np.int64),
        np.empty((q, most), np.float64),
        np.empty((q, most), np.int64),
        np.empty(most, np.int64),
        np.zeros((2, space.nodes), np.int64),
        np.empty((2, q), np.float64),
        np.empty((2, q), np.float64),
        np.empty((2, q), np.int64),
        np.empty((2, q), np.int64),
        np.zeros(1, np.int64),
    )
    parts = np.empty((stacks.heights.sum(), 3), np.int64)
    made = 0
    stack = np.empty((128, 2), np.int64)
    for b in range(stacks.heights.size):
        stack[0, 0], stack[0, 1] = 0, stacks.heights[b]
        depth = 1
        while depth > 0:
            depth -= 1
            low, high = stack[depth, 0], stack[depth, 1]
            if high - low <= limit:
                parts[made, 0], parts[made, 1], parts[made, 2] = b, low, high
                made += 1
                continue
            part = _BucketRange(stacks.starts[b], stacks.heights[b], stacks.widths[b], low, high)
            middle = (low + high) // 2
            _halve_part(space, row, part, middle, room)
            stack[depth, 0], stack[depth, 1] = middle, high
            stack[depth + 1, 0], stack[depth + 1, 1] = low, middle
            depth += 2
    return parts[:made]


@kernel
def _halve_part(space: Geometry, row: Int64Array, part: _BucketRange, middle: int, room: _Room) -> None:
    """Move the entries of a part so that one side of the best cut lies before `middle`."""
    best, least = 0, np.inf
    for p in range(part.width):
        held = _rows_in(row, part, p)
        # Neither side may get more rows than places, and a code without counterfeits stays so on both.
        room.taken[p] = held * (middle - part.low) // (part.high - part.low)
        room.taken[p] = max(room.taken[p], held - (part.high - middle))
    for axis in range(space.kind.size):
        for p in range(part.width):
            _bound(space, row, part, axis, p, room)
        sum_of_both = _extents(space, row, part, axis, room)
        if sum_of_both < least - 1e-12:  # a difference of rounding is none: the first axis stays
            best, least = axis, sum_of_both
    for p in range(part.width):
        _move(space, row, part, middle, best, p, room)


@kernel
def _rows_in(row: Int64Array, part: _BucketRange, p: int) -> int:
    """Return how many entries of a code are rows."""
    first = part.start + p * part.height
    held = 0
    while part.low + held < part.high and row[first + part.low + held] >= 0:
        held += 1
    return held


@kernel
def _bound(space: Geometry, row: Int64Array, part: _BucketRange, axis: int, p: int, room: _Room) -> None:
    """Find the largest value that goes to the first side, and how many of those equal to it do."""
    room.bound[axis, p], room.ties[axis, p] = -np.inf, 0
    first = part.start + p * part.height + part.low
    held = 0
    while held < part.high - part.low and row[first + held] >= 0:
        room.values[held] = space.x[row[first + held], axis]
        held += 1
    if room.taken[p] == 0:
        return
    bound = quickselect(room.values[:held], room.taken[p] - 1)
    less = 0
    for i in range(held):
        less += room.values[i] < bound
    room.bound[axis, p], room.ties[axis, p] = bound, room.taken[p] - less


@kernel
def _extents(space: Geometry, row: Int64Array, part: _BucketRange, axis: int, room: _Room) -> float:
    """Return the sum of the extents of both sides in all quasi-identifiers."""
    q = space.kind.size
    room.counter[0] += 1
    room.lowest[:] = np.inf
    room.highest[:] = -np.inf
    room.distinct[:] = 0
    room.missing[:] = 0
    for p in range(part.width):
        first = part.start + p * part.height
        ties = room.ties[axis, p]
        for i in range(first + part.low, first + part.high):
            if row[i] < 0:
                break
            value = space.x[row[i], axis]
            tied = value == room.bound[axis, p]
            side = 1
            if value < room.bound[axis, p] or (tied and ties > 0):
                side = 0
                ties -= tied
            for a in range(q):
                value = space.x[row[i], a]
                if value == -np.inf:
                    room.missing[side, a] = 1
                elif space.kind[a] == FLAT:
                    place = space.offset[a] + int(value)
                    if room.seen[side, place] != room.counter[0]:
                        room.seen[side, place] = room.counter[0]
                        room.distinct[side, a] += 1
                    room.lowest[side, a], room.highest[side, a] = 0.0, 0.0
                else:
                    room.lowest[side, a] = min(room.lowest[side, a], value)
                    room.highest[side, a] = max(room.highest[side, a], value)
    total = 0.0
    for side in range(2):
        for a in range(q):
            if room.highest[side, a] == -np.inf:
                continue
            if room.missing[side, a]:
                total += 1.0
            elif space.kind[a] != FLAT:
                extent = room.highest[side, a] - room.lowest[side, a]
                total += extent / space.leaves[a] if space.leaves[a] > 0 else extent
            elif room.distinct[side, a] > 1:
                total += room.distinct[side, a] / space.leaves[a]
    return total


@kernel
def _move(
    space: Geometry, row: Int64Array, part: _BucketRange, middle: int, axis: int, p: int, room: _Room
) -> None:
    """Arrange the entries of one code: first side, its counterfeits, second side, its counterfeits."""
    first = part.start + p * part.height
    size = part.high - part.low
    ties = room.ties[axis, p]
    left, right = 0, middle - part.low
    room.moved[:size] = -1
    for i in range(first + part.low, first + part.high):
        if row[i] < 0:
            break
        value = space.x[row[i], axis]
        tied = value == room.bound[axis, p]
        if value < room.bound[axis, p] or (tied and ties > 0):
            ties -= tied
            room.moved[left] = row[i]
            left += 1
        else:
            room.moved[right] = row[i]
            right += 1
    row[first + part.low : first + part.high] = room.moved[:size]


@kernel
def gather_groups(
    space: Geometry, row: Int64Array, stacks: Stacks, parts: Int64Array, draws: FloatArray
) -> None:
    """Arrange the entries of every part into groups, each around a row drawn at random.

    The row is one of a code without counterfeits; then of each other code, in turn, the row nearest to the
    mean of those chosen so far joins. Counterfeits stand in where a code has no row left. `row` is permuted.
    """
    centre = new_centre(space)
    q = space.kind.size
    total = np.empty(max(1, row.size))
    used = 0
    for k in range(len(parts)):
        b, low, high = parts[k, 0], parts[k, 1], parts[k, 2]
        part = _BucketRange(stacks.starts[b], stacks.heights[b], stacks.widths[b], low, high)
        size = high - low
        held = np.empty(part.width, np.int64)
        full = 0
        columns = np.empty((q, part.width * size), np.float64)
        for p in range(part.width):
            held[p] = _rows_in(row, part, p)
            if held[p] == size and held[full] < size:
                full = p
            first = part.start + p * part.height + low
            for i in range(held[p]):
                for a in range(q):
                    columns[a, p * size + i] = space.x[row[first + i], a]
        for j in range(size):
            _bring(row, columns, part, full, j, j + int(draws[used] * (size - j)))
            used += 1
            include(space, centre, row[part.start + full * part.height + low + j])
            for p in range(part.width):
                if p == full or held[p] <= j:
                    continue
                left = columns[:, p * size + j : p * size + held[p]]
                _bring(row, columns, part, p, j, j + nearest(space, centre, left, total))
                include(space, centre, row[part.start + p * part.height + low + j])
            clear(space, centre)


@kernel
def _bring(row: Int64Array, columns: FloatArray, part: _BucketRange, p: int, j: int, chosen: int) -> None:
    """Swap the chosen entry of a code with its j-th."""
    if chosen == j:
        return
    first = part.start + p * part.height + part.low
    row[first + j], row[first + chosen] = row[first + chosen], row[first + j]
    begin = p * (part.high - part.low)
    for a in range(columns.shape[0]):
        value = columns[a, begin + j]
        columns[a, begin + j] = columns[a, begin + chosen]
        columns[a, begin + chosen] = value
