"""Queries on nested regions, as a table with a level column publishes them (thesis, section 3.6.3).

A region is a box, `boxes[region, axis]` = (low, high) with the low end included and the high end not; its
level is the number of halvings that made it. Two regions are apart or one holds the other, and then the inner
one has the higher level. The block of a region is what is left of it without the regions inside; its people
lie in the block and nowhere else.

- A point query finds all regions that hold the point, one inside the other; the right one has the highest
  level.
- A range query asks about blocks. What it shares with a block is what it shares with the region less what it
  shares with the regions next inside, which are apart from each other: so its share of a block's volume is
  exact. That a block is met, or lies inside, is decided by cutting away the inner regions, never by volumes,
  whose rounding could break a bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import PolicyError
from republish.kernels import kernel

_PAIRS = 1 << 22  # of a query and a region, compared at a time
_CLEAR = 1e-6  # a share of volume that no rounding makes up


class RangeCounts(NamedTuple):
    """Expected people of every query, and the fewest and the most that can match."""

    expected: FloatArray
    lower: IntArray
    upper: IntArray


def holding(levels: IntArray, boxes: FloatArray, point: FloatArray) -> IntArray:
    """The regions that hold one point, from the outermost to the innermost."""
    levels, boxes = _checked(levels, boxes)
    inside = ((boxes[:, :, 0] <= point) & (point < boxes[:, :, 1])).all(axis=1)
    found = np.flatnonzero(inside)
    return found[np.argsort(levels[found], kind="stable")]


def locate(levels: IntArray, boxes: FloatArray, points: FloatArray) -> IntArray:
    """The innermost region of every point `points[axis, point]`: the highest level counts; -1 where none is."""
    levels, boxes = _checked(levels, boxes)
    points = np.ascontiguousarray(np.asarray(points, dtype=np.float64).T)
    order = np.argsort(-levels, kind="stable")
    found: IntArray = _locate(order, boxes, points)
    return found


def parents(levels: IntArray, boxes: FloatArray) -> IntArray:
    """The smallest region around every region, -1 around the outermost ones."""
    levels, boxes = _checked(levels, boxes)
    found: IntArray = _parents(np.argsort(-levels, kind="stable"), levels, boxes)
    return found


def block_volumes(levels: IntArray, boxes: FloatArray, parent: IntArray | None = None) -> FloatArray:
    """The volume of every block: its region's without those of the regions next inside."""
    levels, boxes = _checked(levels, boxes)
    parent = parents(levels, boxes) if parent is None else parent
    volumes = np.prod(boxes[:, :, 1] - boxes[:, :, 0], axis=1)
    inside = parent >= 0
    nested = np.bincount(parent[inside], weights=volumes[inside], minlength=len(levels))
    own: FloatArray = np.maximum(volumes - nested, 0.0)
    return own


def meeting(
    levels: IntArray, boxes: FloatArray, low: FloatArray, high: FloatArray, parent: IntArray | None = None
) -> BoolArray:
    """Whether every range `low[query, axis]` to `high[query, axis]`, the high end out, meets every block."""
    meets, _, _ = _compare(levels, boxes, low, high, parent)
    return meets


def range_counts(
    levels: IntArray,
    boxes: FloatArray,
    people: IntArray,
    low: FloatArray,
    high: FloatArray,
    *,
    group: IntArray | None = None,
    parent: IntArray | None = None,
) -> RangeCounts:
    """People in the ranges `low[query, axis]` to `high[query, axis]`, the high end out.

    `people[g]` are those of group g, and `group[region]` says which blocks make up a group, each block one of
    its own where it is not given. The expectation spreads the people of a group evenly over its blocks; the
    lower bound counts the groups whose blocks all lie inside the range, the upper one those of which one meets
    it. `parent` is what `parents` returns, where it is known already.
    """
    levels, boxes = _checked(levels, boxes)
    group = np.arange(len(levels)) if group is None else np.asarray(group)
    if len(group) != len(levels) or (
        len(group) and not 0 <= int(group.min()) <= int(group.max()) < len(people)
    ):
        raise PolicyError(f"every one of {len(levels)} regions must belong to one of {len(people)} groups")
    parent = parents(levels, boxes) if parent is None else parent
    people = np.asarray(people, dtype=np.int64)
    volume = np.bincount(group, weights=block_volumes(levels, boxes, parent), minlength=len(people))
    queries = len(low)
    expected, lower, upper = np.zeros(queries), np.zeros(queries, np.int64), np.zeros(queries, np.int64)
    many = max(1, _PAIRS // max(len(levels), 1))
    for start in range(0, queries, many):
        some = slice(start, start + many)
        compared = _compare(levels, boxes, low[some], high[some], parent)
        for query, (meets, inside, shared) in enumerate(zip(*compared, strict=True), start=start):
            touched = np.bincount(group, weights=meets, minlength=len(people)) > 0
            partial = np.bincount(group, weights=~inside, minlength=len(people)) > 0
            part = np.bincount(group, weights=shared, minlength=len(people))
            share = np.divide(part, volume, out=np.zeros(len(people)), where=volume > 0)
            share = np.clip(np.where(partial, share, touched), 0.0, 1.0)
            expected[query] = np.dot(share, people)
            lower[query] = people[touched & ~partial].sum()
            upper[query] = people[touched].sum()
    return RangeCounts(expected, lower, upper)


def _checked(levels: IntArray, boxes: FloatArray) -> tuple[IntArray, FloatArray]:
    levels, boxes = np.asarray(levels, dtype=np.int64), np.ascontiguousarray(boxes, dtype=np.float64)
    if boxes.ndim != 3 or boxes.shape[0] != len(levels) or boxes.shape[2] != 2:
        raise PolicyError(
            f"nested regions need one level and one box of low and high ends each; found {len(levels)} levels "
            f"and boxes of shape {boxes.shape}"
        )
    return levels, boxes


def _compare(
    levels: IntArray, boxes: FloatArray, low: FloatArray, high: FloatArray, parent: IntArray | None
) -> tuple[BoolArray, BoolArray, FloatArray]:
    """Of every query and block: whether they meet, whether the block lies inside, and the volume they share."""
    levels, boxes = _checked(levels, boxes)
    low, high = (np.ascontiguousarray(bound, dtype=np.float64) for bound in (low, high))
    if low.shape != high.shape or low.ndim != 2 or low.shape[1] != boxes.shape[1]:
        raise PolicyError(
            f"ranges need a low and a high end for each of {boxes.shape[1]} axes, a row a query; found shapes "
            f"{low.shape} and {high.shape}"
        )
    parent = parents(levels, boxes) if parent is None else np.asarray(parent, dtype=np.int64)
    child = np.argsort(parent, kind="stable")
    first = np.searchsorted(parent[child], np.arange(len(levels) + 1))
    found: tuple[BoolArray, BoolArray, FloatArray] = _met(boxes, child, first, low, high)
    return found


@kernel
def _holds_point(box, point):  # type: ignore[no-untyped-def]
    for a in range(len(point)):  # noqa: SIM110 - numba compiles the loop, not the generator
        if not box[a, 0] <= point[a] < box[a, 1]:
            return False
    return True


@kernel
def _locate(order, boxes, points):  # type: ignore[no-untyped-def]
    """Regions from the highest level down: the first that holds a point is the innermost."""
    found = np.full(len(points), -1, np.int64)
    for i in range(len(points)):
        for region in order:
            if _holds_point(boxes[region], points[i]):
                found[i] = region
                break
    return found


@kernel
def _parents(order, levels, boxes):  # type: ignore[no-untyped-def]
    found = np.full(len(levels), -1, np.int64)
    for at in range(len(order)):
        inner = order[at]
        for outer in order[at + 1 :]:
            # Nested or apart: a region of a lower level that holds a corner holds all.
            if levels[outer] < levels[inner] and _holds_point(boxes[outer], boxes[inner, :, 0]):
                found[inner] = outer
                break
    return found


@kernel
def _met(boxes, child, first, low, high):  # type: ignore[no-untyped-def]
    queries, regions, axes = len(low), len(boxes), boxes.shape[1]
    meets, inside = np.zeros((queries, regions), np.bool_), np.zeros((queries, regions), np.bool_)
    shared = np.zeros((queries, regions))
    whole = np.empty(regions)
    for region in range(regions):
        whole[region] = _volume(boxes[region], boxes[region])
        children = child[first[region] : first[region + 1]]
        # A block of which nothing is left lies inside every range.
        inside[:, region] = not uncovered(boxes[region], boxes, children)
    part, piece = np.empty((axes, 2)), np.empty((axes, 2))
    for query in range(queries):
        asked = np.stack((low[query], high[query]), axis=1)
        for region in range(regions):
            children = child[first[region] : first[region + 1]]
            common = _volume(boxes[region], asked)
            block, taken = whole[region], common
            for inner in children:
                block -= whole[inner]
                taken -= _volume(boxes[inner], asked)
            taken = min(max(taken, 0.0), max(block, 0.0))
            apart = False
            for a in range(axes):
                part[a, 0], part[a, 1] = (
                    max(boxes[region, a, 0], asked[a, 0]),
                    min(boxes[region, a, 1], asked[a, 1]),
                )
                apart |= part[a, 0] >= part[a, 1]
            if apart:
                continue
            meets[query, region] = taken > _CLEAR * common or uncovered(part, boxes, children)
            if not meets[query, region]:
                continue
            shared[query, region] = taken
            inside[query, region] = block - taken <= _CLEAR * whole[region] and not _sticks_out(
                boxes[region], asked, boxes, children, piece
            )
    return meets, inside, shared


@kernel
def _volume(one, other):  # type: ignore[no-untyped-def]
    """The volume that two boxes have in common."""
    volume = 1.0
    for a in range(len(one)):
        volume *= max(min(one[a, 1], other[a, 1]) - max(one[a, 0], other[a, 0]), 0.0)
    return volume


@kernel
def _sticks_out(region, asked, boxes, children, piece):  # type: ignore[no-untyped-def]
    """Whether some of a block lies outside a range: one of the slices of the region around it is not covered."""
    piece[:] = region
    for a in range(len(region)):
        for side in range(2):
            piece[a, 0] = region[a, 0] if side == 0 else max(asked[a, 1], region[a, 0])
            piece[a, 1] = min(asked[a, 0], region[a, 1]) if side == 0 else region[a, 1]
            if piece[a, 0] < piece[a, 1] and uncovered(piece, boxes, children):
                return True
        piece[a, 0], piece[a, 1] = max(region[a, 0], asked[a, 0]), min(region[a, 1], asked[a, 1])
        if piece[a, 0] >= piece[a, 1]:
            return True
    return False


@kernel
def uncovered(box, boxes, children):  # type: ignore[no-untyped-def]
    """Whether a box has a place outside all children, found by cutting them away one after the other."""
    if len(children) == 0:
        return True
    axes = len(box)
    stack = [(box.copy(), 0)]
    while len(stack) > 0:
        left, at = stack.pop()
        while at < len(children):
            inner = boxes[children[at]]
            if _overlap(left, inner):
                break
            at += 1
        if at == len(children):
            return True
        for a in range(axes):
            if left[a, 0] < inner[a, 0]:
                slice_ = left.copy()
                slice_[a, 1] = inner[a, 0]
                stack.append((slice_, at + 1))
                left[a, 0] = inner[a, 0]
            if inner[a, 1] < left[a, 1]:
                slice_ = left.copy()
                slice_[a, 0] = inner[a, 1]
                stack.append((slice_, at + 1))
                left[a, 1] = inner[a, 1]
    return False


@kernel
def _overlap(one, other):  # type: ignore[no-untyped-def]
    """Whether two boxes overlap."""
    for a in range(len(one)):  # noqa: SIM110 - numba compiles the loop, not the generator
        if max(one[a, 0], other[a, 0]) >= min(one[a, 1], other[a, 1]):
            return False
    return True
