"""Which groups of a table fit a person, by the cells of their quasi-identifiers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.kernels import kernel
from republish.metrics.boxes import Boxes, cell_boxes
from republish.metrics.tuples import room, tree_of, walk
from republish.release.cells import SOME_MISSING
from republish.release.release import Release


class Fits(NamedTuple):
    """Which groups hold which points: group `group[r]` (0, 1, ...) holds the points `order[start[r]:end[r]]`."""

    order: IntArray
    group: IntArray
    start: IntArray
    end: IntArray


def fitting(release: Release, points: FloatArray) -> Fits:
    """The groups whose cells hold each of the points `points[axis, i]`.

    In a release of nested regions a point belongs to the innermost one around it. A cell `*` does not say where its
    region ends: such a group stays possible, and rules out those around it only where it holds the point for certain.
    """
    boxes = cell_boxes(release)
    ones = np.ones(points.shape[1], dtype=np.int64)  # equal points are told apart
    order, nodes = tree_of(np.ascontiguousarray(points.T, dtype=np.float64), ones)
    if not len(order) or not release.group_count:
        none = np.zeros(0, dtype=np.int64)
        return Fits(order, none, none, none)
    found = _ranges(nodes, boxes)
    if release.level is not None:
        certain = _ranges(nodes, _certain(release, boxes))
        found = _innermost(found, certain, release.level.astype(np.int64), len(order))
    return Fits(order, *found)


def _certain(release: Release, boxes: Boxes) -> Boxes:
    """What lies in a region whatever its cells `*` stand for: there, the missing value alone."""
    high = boxes.high.copy()
    for a, cells in enumerate(release.cells):
        high[(cells.missing == SOME_MISSING) & np.isneginf(boxes.low[:, a]), a] = -np.inf
    return boxes._replace(high=high)


@kernel
def _ranges(nodes, boxes):  # type: ignore[no-untyped-def]
    """The points in every box, as ranges of the tree's order: box, first point, one past the last."""
    size, made = 1024, 0
    box_of, start, end = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    stack, found = room(nodes)
    for box in range(len(boxes.low)):
        for held in found[: walk(nodes, boxes, box, stack, found)]:
            first = held if held >= 0 else nodes.start[-1 - held]
            last = held + 1 if held >= 0 else nodes.end[-1 - held]
            if made > 0 and box_of[made - 1] == box and end[made - 1] == first:
                end[made - 1] = last
            elif last > first:
                if made == size:
                    box_of, start, end = doubled(box_of), doubled(start), doubled(end)
                    size *= 2
                box_of[made], start[made], end[made] = box, first, last
                made += 1
    return box_of[:made].copy(), start[:made].copy(), end[:made].copy()


@kernel
def doubled(items):  # type: ignore[no-untyped-def]
    """The same items, with room for as many again."""
    more = np.empty(2 * len(items), items.dtype)
    more[: len(items)] = items
    return more


@kernel
def _innermost(found, certain, level, points):  # type: ignore[no-untyped-def]
    """The ranges of `found`, point by point, without groups around one that holds the point for certain."""
    deepest = np.full(points, -1, np.int64)
    group, start, end = certain
    for r in range(len(group)):
        for i in range(start[r], end[r]):
            deepest[i] = max(deepest[i], level[group[r]])
    group, start, end = found
    kept = 0
    for r in range(len(group)):
        for i in range(start[r], end[r]):
            kept += level[group[r]] >= deepest[i]
    of, at = np.empty(kept, np.int64), np.empty(kept, np.int64)
    kept = 0
    for r in range(len(group)):
        for i in range(start[r], end[r]):
            if level[group[r]] >= deepest[i]:
                of[kept], at[kept] = group[r], i
                kept += 1
    return of, at, at + 1


@kernel
def sole_groups(order, group, start, end):  # type: ignore[no-untyped-def]
    """The one group that holds each point, -1 where none or several do."""
    count, total = np.zeros(len(order) + 1, np.int64), np.zeros(len(order) + 1, np.int64)
    for r in range(len(group)):
        count[start[r]] += 1
        count[end[r]] -= 1
        total[start[r]] += group[r]
        total[end[r]] -= group[r]
    sole = np.full(len(order), -1, np.int64)
    many, which = 0, 0
    for i in range(len(order)):
        many += count[i]
        which += total[i]
        if many == 1:
            sole[order[i]] = which
    return sole
