"""The distinct tuples of a view in a kd-tree: rows in a box, and boxes over a tuple, without a full scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.kernels import kernel
from republish.metrics.boxes import Boxes

_LEAF = 16  # more points than this are split; below it a scan is as fast
_DEPTH = 128
_APART, _PARTLY, _INSIDE = 0, 1, 2


class Nodes(NamedTuple):
    """A kd-tree: node i holds `points[start[i]:end[i]]`, its children are nodes `child[i]` and the next."""

    points: FloatArray
    start: IntArray
    end: IntArray
    child: IntArray
    low: FloatArray
    high: FloatArray
    total: IntArray


@dataclass(frozen=True)
class Tuples:
    """Distinct tuples, how many rows bear each, and the tree over them."""

    nodes: Nodes
    counts: IntArray

    @classmethod
    def of(cls, points: FloatArray) -> Tuples:
        """The distinct columns of `points[axis, row]`."""
        frame = pl.DataFrame({str(a): part for a, part in enumerate(points)})
        # The order is kept so that sums of decimals are the same in every run.
        distinct = frame.group_by(frame.columns, maintain_order=True).len("rows")
        counts = distinct["rows"].to_numpy().astype(np.int64)
        unordered = np.ascontiguousarray(distinct.drop("rows").to_numpy(), dtype=np.float64)
        order, nodes = tree_of(unordered, counts)
        return cls(nodes, counts[order])

    @property
    def points(self) -> FloatArray:
        """`points[tuple, axis]`, in the order of the tree."""
        return self.nodes.points

    def inside(self, boxes: Boxes) -> IntArray:
        found: IntArray = _inside(self.nodes, self.counts, boxes)
        return found

    def covered(self, boxes: Boxes, weight: FloatArray) -> FloatArray:
        """For every tuple, the sum of the weights of the boxes that hold it."""
        sums: FloatArray = _covered(self.nodes, boxes, np.asarray(weight, dtype=np.float64))
        return sums


def tree_of(points: FloatArray, counts: IntArray) -> tuple[IntArray, Nodes]:
    """The order in which a tree holds `points[point, axis]`, and the tree."""
    order, start, end, child = _split(points, _scale(points))
    ordered = np.ascontiguousarray(points[order])
    return order, Nodes(ordered, start, end, child, *_summarize(ordered, counts[order], start, end, child))


def _scale(points: FloatArray) -> FloatArray:
    """What an extent is divided by, so that axes of different units compare."""
    finite = np.where(np.isfinite(points), points, np.nan)
    spread = np.ones(points.shape[1])
    for a, column in enumerate(finite.T):
        there = column[~np.isnan(column)]
        if there.size and there.max() > there.min():
            spread[a] = there.max() - there.min()
    return spread


@kernel
def _split(points, scale):  # type: ignore[no-untyped-def]
    """Halve the points at the median of the widest axis until few are left."""
    count, axes = points.shape
    room = count // 4 + 3
    order = np.arange(count)
    start = np.zeros(room, dtype=np.int64)
    end = np.zeros(room, dtype=np.int64)
    child = np.full(room, -1, dtype=np.int64)
    end[0] = count
    made = 1
    node = 0
    while node < made:
        first, last = start[node], end[node]
        if last - first > _LEAF:
            widest, at = -1.0, 0
            for a in range(axes):
                low, high = np.inf, -np.inf
                for i in range(first, last):
                    x = points[order[i], a]
                    low = min(low, x)
                    high = max(high, x)
                extent = (high - low) / scale[a] if high > low else 0.0
                if extent > widest:
                    widest, at = extent, a
            own = order[first:last].copy()
            order[first:last] = own[np.argsort(points[own, at])]
            middle = (first + last) // 2
            child[node] = made
            start[made], end[made] = first, middle
            start[made + 1], end[made + 1] = middle, last
            made += 2
        node += 1
    return order, start[:made].copy(), end[:made].copy(), child[:made].copy()


@kernel
def _summarize(points, counts, start, end, child):  # type: ignore[no-untyped-def]
    """Bounds and rows of every node, children before their parents."""
    made, axes = len(start), points.shape[1]
    low = np.full((made, axes), np.inf)
    high = np.full((made, axes), -np.inf)
    total = np.zeros(made, dtype=np.int64)
    for node in range(made - 1, -1, -1):
        if child[node] < 0:
            for i in range(start[node], end[node]):
                total[node] += counts[i]
                for a in range(axes):
                    low[node, a] = min(low[node, a], points[i, a])
                    high[node, a] = max(high[node, a], points[i, a])
        else:
            for below in range(child[node], child[node] + 2):
                total[node] += total[below]
                for a in range(axes):
                    low[node, a] = min(low[node, a], low[below, a])
                    high[node, a] = max(high[node, a], high[below, a])
    return low, high, total


@kernel
def members_between(members, first, last, low, high):  # type: ignore[no-untyped-def]
    """How many of the sorted `members[first:last]` lie in low..high."""
    begin, end = run_between(members, first, last, low, high)
    return end - begin


@kernel
def run_between(members, first, last, low, high):  # type: ignore[no-untyped-def]
    """Where those of the sorted `members[first:last]` that lie in low..high begin and end."""
    begin, stop = first, last
    while begin < stop:
        middle = (begin + stop) // 2
        if members[middle] < low:
            begin = middle + 1
        else:
            stop = middle
    lowest, stop = begin, last
    while begin < stop:
        middle = (begin + stop) // 2
        if members[middle] <= high:
            begin = middle + 1
        else:
            stop = middle
    return lowest, begin


@kernel
def _compare(lows, highs, at, boxes, box):  # type: ignore[no-untyped-def]
    """Whether the region `lows[at]` to `highs[at]` lies apart from a box, partly in it or inside."""
    answer = _INSIDE
    for a in range(lows.shape[1]):
        below, above = lows[at, a], highs[at, a]
        if above < boxes.low[box, a] or below > boxes.high[box, a]:
            return _APART
        if below < boxes.low[box, a] or above > boxes.high[box, a]:
            answer = _PARTLY
        s = boxes.set_of_axis[a]
        if s >= 0:
            first, last = boxes.offsets[s, boxes.owner[box]], boxes.offsets[s, boxes.owner[box] + 1]
            if last > first:
                held = members_between(boxes.members, first, last, below, above)
                if held == 0:
                    return _APART
                if held < above - below + 1:
                    answer = _PARTLY
    return answer


@kernel
def walk(nodes, boxes, box, stack, found):  # type: ignore[no-untyped-def]
    """Write what a box holds, in the order of the tree, and return how much: points, or -1 - n for all of node n."""
    stack[0] = 0
    waiting, made = 1, 0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        where = _compare(nodes.low, nodes.high, node, boxes, box)
        if where == _INSIDE:
            found[made] = -1 - node
            made += 1
        elif where == _PARTLY and nodes.child[node] >= 0:
            stack[waiting] = nodes.child[node] + 1
            stack[waiting + 1] = nodes.child[node]
            waiting += 2
        elif where == _PARTLY:
            for i in range(nodes.start[node], nodes.end[node]):
                if _compare(nodes.points, nodes.points, i, boxes, box) == _INSIDE:
                    found[made] = i
                    made += 1
    return made


@kernel
def room(nodes):  # type: ignore[no-untyped-def]
    """The stack and the list that `walk` needs."""
    return np.empty(_DEPTH, dtype=np.int64), np.empty(len(nodes.points) + 1, dtype=np.int64)


@kernel
def _inside(nodes, counts, boxes):  # type: ignore[no-untyped-def]
    rows = np.zeros(len(boxes.low), dtype=np.int64)
    stack, found = room(nodes)
    for box in range(len(rows)):
        for held in found[: walk(nodes, boxes, box, stack, found)]:
            rows[box] += counts[held] if held >= 0 else nodes.total[-1 - held]
    return rows


@kernel
def _covered(nodes, boxes, weight):  # type: ignore[no-untyped-def]
    sums = np.zeros(len(nodes.points))
    shared = np.zeros(len(nodes.start))  # what every tuple below a node gets
    stack, found = room(nodes)
    for box in range(len(boxes.low)):
        if weight[box] == 0.0:
            continue
        for held in found[: walk(nodes, boxes, box, stack, found)]:
            if held >= 0:
                sums[held] += weight[box]
            else:
                shared[-1 - held] += weight[box]
    for node in range(len(shared)):
        if nodes.child[node] >= 0:
            shared[nodes.child[node]] += shared[node]
            shared[nodes.child[node] + 1] += shared[node]
        else:
            for i in range(nodes.start[node], nodes.end[node]):
                sums[i] += shared[node]
    return sums
