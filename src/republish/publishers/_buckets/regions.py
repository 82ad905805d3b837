"""Buckets cut into groups by the regions of a BANG file: tau-safe BangA (A. Anjum's thesis, 5.3).

The thesis would have BangA split a block only where both sides keep their signatures. Here the block is a bucket, rows
of one signature with each of its values as often as the others, and a split gives a region of the cube one and the same
number of each value: the mean of how many rows of a value lie there. A value of which more do leaves some to the block
around, one of which fewer do gets the rows whose keys are nearest. As in the BANG file the fuller half of the space is
halved, again and again, and the region taken that balances best.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import Int64Array, WordArray
from republish.kernels import kernel
from republish.publishers._buckets.partition import Stacks
from republish.spatial.keys import bit_at


@kernel
def split_by_regions(keys: WordArray, levels: int, row: Int64Array, stacks: Stacks, limit: int) -> Int64Array:
    """Split buckets until no block has more than `limit` groups; return [bucket, low, high] of all.

    Entries lie as `partition` says, the rows of each code in ascending order of their keys; `row` is permuted.
    """
    tallest = max(1, stacks.heights.max()) if stacks.heights.size else 1
    widest = max(1, stacks.widths.max()) if stacks.widths.size else 1
    moved = np.empty(tallest, np.int64)
    held = np.empty(widest, np.int64)
    run, best = np.empty((widest, 2), np.int64), np.empty((widest, 2), np.int64)
    stack = np.empty((tallest + 1, 2), np.int64)
    parts = np.empty((stacks.heights.sum(), 3), np.int64)
    made = 0
    for b in range(stacks.heights.size):
        height, width = stacks.heights[b], stacks.widths[b]
        entries = row[stacks.starts[b] : stacks.starts[b] + height * width].reshape(width, height)
        stack[0, 0], stack[0, 1] = 0, height
        depth = 1
        while depth > 0:
            depth -= 1
            low, high = stack[depth]
            if high - low <= limit:
                parts[made, 0], parts[made, 1], parts[made, 2] = b, low, high
                made += 1
                continue
            groups = _region(keys, levels, entries[:, low:high], held, run, best)
            for p in range(width):
                _part(entries[p, low:high], held[p], groups, best[p], moved)
            stack[depth, 0], stack[depth, 1] = low, low + groups
            stack[depth + 1, 0], stack[depth + 1, 1] = low + groups, high
            depth += 2
    return parts[:made]


@kernel
def _region(keys, levels, part, held, run, best):  # type: ignore[no-untyped-def]
    """How many groups the region of best balance takes; which rows of each code lie in it, from and up to.

    Where no region tells rows apart half of the groups are taken, and of each code the first rows.
    """
    width, size = part.shape
    for p in range(width):
        held[p] = 0
        while held[p] < size and part[p, held[p]] >= 0:
            held[p] += 1
        run[p, 0], run[p, 1] = 0, held[p]
    groups = 0
    for level in range(levels):
        upper = lower = 0
        for p in range(width):
            at = _first_upper(keys, level, part[p], run[p])
            upper, lower = upper + run[p, 1] - at, lower + at - run[p, 0]
        inside = 0
        for p in range(width):
            at = _first_upper(keys, level, part[p], run[p])
            run[p, 0 if upper > lower else 1] = at
            inside += run[p, 1] - run[p, 0]
        taken = (2 * inside + width) // (2 * width)  # the mean, rounded
        if taken == 0:
            break
        if taken < size and (groups == 0 or abs(2 * taken - size) < abs(2 * groups - size)):
            groups = taken
            best[:width] = run[:width]
        if 2 * taken <= size:
            break
    if groups == 0:
        groups = size // 2
        for p in range(width):
            best[p, 0], best[p, 1] = 0, min(groups, held[p])
    return groups


@kernel
def _first_upper(keys, level, row, run):  # type: ignore[no-untyped-def]
    """The first of some rows, in ascending order, that lies in the upper half."""
    low, high = run
    while low < high:
        middle = (low + high) // 2
        if bit_at(keys, row[middle], level):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _part(row, held, groups, run, moved):  # type: ignore[no-untyped-def]
    """Put as many entries of one code first as there are groups: the rows of a run, or those around it, in order.

    Counterfeits hold the places that are left, as many on each side as there must be.
    """
    size = row.size
    begin, end = run
    take = max(min(end - begin, groups), held - (size - groups))  # there is no place outside for more
    if take > end - begin:
        begin = min(max(begin - (take - (end - begin)) // 2, 0), held - take)
    moved[:size] = -1
    left, right = 0, groups
    for i in range(held):
        if begin <= i < begin + take:
            moved[left] = row[i]
            left += 1
        else:
            moved[right] = row[i]
            right += 1
    row[:] = moved[:size]
