"""Whether boxes cover a region, exactly: it is cut where no box is cut, until one box holds each part."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.kernels import kernel


def covered(low: FloatArray, high: FloatArray, start: IntArray, region: FloatArray) -> BoolArray:
    """Of sets of boxes, above `low` and up to `high`, whether each covers the region `region[0]` to `region[1]`.

    Set i are the boxes `start[i]` to `start[i + 1]`.
    """
    low, high = np.ascontiguousarray(low), np.ascontiguousarray(high)
    found = np.zeros(len(start) - 1, dtype=np.bool_)
    for i in range(len(found)):
        some = slice(int(start[i]), int(start[i + 1]))
        meets = (np.maximum(low[some], region[0]) < np.minimum(high[some], region[1])).all(axis=1)
        found[i] = _covers(low[some][meets], high[some][meets], region[0].copy(), region[1].copy())
    return found


@kernel
def _covers(low, high, bottom, top):  # type: ignore[no-untyped-def]
    """Whether the boxes, all of which meet it, cover the region above `bottom` and up to `top`."""
    n, q = low.shape
    # Parts of the region wait with the boxes that meet them: box[first:last], the last part at the end.
    box = np.arange(n)
    first, last = np.zeros(64, np.int64), np.zeros(64, np.int64)
    bottoms, tops = np.empty((64, q)), np.empty((64, q))
    last[0], bottoms[0], tops[0], depth = n, bottom, top, 1
    while depth > 0:
        depth -= 1
        begin, end = first[depth], last[depth]
        below, upto = bottoms[depth].copy(), tops[depth].copy()
        mine = box[begin:end].copy()
        if _held(low, high, mine, below, upto):
            continue
        if len(mine) == 0:
            return False
        axis, at = _cut(low, high, mine, below, upto)
        if depth + 2 > len(first):
            first, last = np.append(first, first), np.append(last, last)
            bottoms, tops = np.concatenate((bottoms, bottoms)), np.concatenate((tops, tops))
        if begin + 2 * len(mine) > len(box):
            box = np.append(box, np.empty(len(box) + 2 * len(mine), np.int64))
        for side in range(2):
            bottoms[depth], tops[depth], first[depth] = below, upto, begin
            if side == 0:
                tops[depth, axis] = at
            else:
                bottoms[depth, axis] = at
            for b in mine:
                if _meet(low[b], high[b], bottoms[depth], tops[depth]):
                    box[begin] = b
                    begin += 1
            last[depth] = begin
            depth += 1
    return True


@kernel
def _held(low, high, some, below, upto):  # type: ignore[no-untyped-def]
    """Whether one box holds a region."""
    for b in some:
        holds = True
        for q in range(len(below)):
            holds = holds and low[b, q] <= below[q] and high[b, q] >= upto[q]
        if holds:
            return True
    return False


@kernel
def _meet(low, high, below, upto):  # type: ignore[no-untyped-def]
    """Whether a box and a region have something in common."""
    both = True
    for q in range(len(below)):
        both = both and max(low[q], below[q]) < min(high[q], upto[q])
    return both


@kernel
def _cut(low, high, some, below, upto):  # type: ignore[no-untyped-def]
    """Return axis and place of a cut inside a region: the most even one that cuts no box, else beside a box.

    All boxes meet the region, and none holds it.
    """
    best, axis, at = 0, -1, 0.0
    for q in range(len(below)):
        begins, reached = np.sort(low[some, q]), -np.inf
        ends = high[some, q][np.argsort(low[some, q])]
        for i in range(1, len(some)):
            reached = max(reached, ends[i - 1])
            even = min(i, len(some) - i)
            if reached <= begins[i] and even > best and below[q] < begins[i] < upto[q]:
                best, axis, at = even, q, begins[i]
    if axis >= 0:
        return axis, at
    b = some[0]
    for q in range(len(below)):
        if high[b, q] < upto[q]:
            return q, high[b, q]
        if low[b, q] > below[q]:
            return q, low[b, q]
    return 0, upto[0]
