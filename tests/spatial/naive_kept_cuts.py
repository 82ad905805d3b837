"""Kept cuts in plain Python: nodes are dictionaries, and every boundary of an axis is looked at."""

from __future__ import annotations

import math
from bisect import bisect_right
from types import SimpleNamespace

import numpy as np

from republish.hierarchies import Intervals
from republish.microdata import FLAT, TREE
from republish.spatial._kept_cuts_kernel import between

MISSING = -math.inf


def labelled(axis):
    return axis.kind_code in (FLAT, TREE) or axis.column.kind == "ordered"


class NaiveCuts:
    """The same tree, changed in place by every view."""

    def __init__(self):
        self.root, self.offset, self.domain = {}, {}, {}

    def divide(self, view, k, moved=None):
        self.view, self.k = view, k
        self.cells, self.crossing, self.passed = [], 0, 0
        for name, shift in (moved or {}).items():
            self.offset[name] = self.offset.get(name, 0.0) + shift
        rows = list(range(view.rows))
        if rows:
            self.ends = [self.domain_of(q) for q in range(len(view.axes))]
            q = len(view.axes)
            self.resolve(self.root, rows, [MISSING] * q, [math.inf] * q)
        cell = np.full(view.rows, -1)
        for number, (held, _, _) in enumerate(self.cells):
            cell[held] = number
        printed = [self.printed(*one) for one in self.cells]
        low, high = ([ends[side] for ends in printed] for side in (0, 1))
        return SimpleNamespace(
            cell=cell.tolist(), low=low, high=high, crossing=self.crossing, passed=self.passed
        )

    def domain_of(self, q):
        axis = self.view.axes[q]
        if labelled(axis) or getattr(axis.column, "domain", None):
            return axis.low, axis.high
        name, present = axis.column.name, [x for x in self.view.points[q] if x > MISSING]
        shift = self.offset.get(name, 0.0)
        known = [*self.domain.get(name, []), *(x - shift for x in present)]
        if not known:
            return 0.0, 0.0
        self.domain[name] = [min(known), max(known)]
        low, high = min([min(known) + shift, *present]), max([max(known) + shift, *present])
        return (math.floor(low), math.ceil(high)) if axis.whole_numbers else (low, high)

    def resolve(self, node, rows, low, high):
        if not node and len(rows) >= 2 * self.k:
            node.update(self.new_cut(rows, low, high))
        if not node:
            self.cells.append((rows, low, high))
            return
        q, at = node["axis"], self.threshold(node)
        left = [row for row in rows if self.view.points[q][row] <= at]
        right = [row for row in rows if self.view.points[q][row] > at]
        large = "left" if len(left) > len(right) else "right"
        fewer, more = sorted([len(left), len(right)])
        if fewer >= self.k:
            self.resolve(node["left"], left, low, [*high[:q], at, *high[q + 1 :]])
            self.resolve(node["right"], right, [*low[:q], at, *low[q + 1 :]], high)
        elif more < 8 * self.k:
            self.cells.append((rows, low, high))
        else:
            self.crossing += fewer
            self.passed += 1
            self.resolve(node[large], rows, low, high)

    def threshold(self, node):
        axis = self.view.axes[node["axis"]]
        if node["at"] is not None:
            return node["at"] + self.offset.get(axis.column.name, 0.0)
        if node["node"] is not None:
            ends = [leaf for leaf, path in enumerate(axis.hierarchy.labels) if node["node"] in path[:-1]]
            if ends:
                return max(ends)
        if node["label"] in axis.labels:
            return axis.labels.index(node["label"])
        read = float if isinstance(axis.column.hierarchy, Intervals) else str
        known = [read(label) for label in axis.labels]
        return bisect_right(known, read(node["label"])) - 1 if known == sorted(known) else math.inf

    def new_cut(self, rows, low, high):
        """The cut that saves most penalty over all rows; the first axis of those that save the same."""
        saved = []
        weights = [axis.column.weight for axis in self.view.axes]
        weights = [weight / (sum(weights) / len(weights)) for weight in weights]
        for q in range(len(self.view.axes)):
            values = [self.view.points[q][row] for row in rows]
            found = self.boundary(q, values)
            if found is not None and min(values) < max(values):
                left, missing = sum(value <= found for value in values), min(values) == MISSING
                parts = (
                    len(rows) * self.left_open(q, low[q], high[q], missing)
                    - left * self.left_open(q, low[q], found, missing and found > MISSING)
                    - (len(rows) - left) * self.left_open(q, max(low[q], found), high[q], False)
                )
                saved.append((weights[q] * parts, -q, found))
        if not saved:
            return {}
        _, axis, found = max(saved)
        return {"axis": -axis, **self.named(-axis, found), "left": {}, "right": {}}

    def left_open(self, q, low, high, missing):
        """The share of the domain that a region above low and up to high leaves open."""
        axis, (first, last) = self.view.axes[q], self.ends[q]
        if missing or high == MISSING:
            return 1.0 if missing else 0.0
        whole = axis.whole_numbers or labelled(axis)
        span = min(high, last) - max(low, first - (1.0 if whole else 0.0)) - (1.0 if whole else 0.0)
        if span <= 0:
            return 0.0
        if axis.kind_code in (FLAT, TREE):
            return (span + 1.0) / len(axis.labels)
        width = axis.width if labelled(axis) else last - first
        return span / (width if width > 0 else 1.0)

    def common(self, axis, lowest, highest):
        """The level of the lowest common ancestor of two leaves."""
        paths = axis.hierarchy.labels
        one, other = paths[int(lowest)], paths[int(highest)]
        return min(level for level in range(len(one)) if one[level] == other[level])

    def boundary(self, q, values):
        """The threshold nearest to the median with k values on either side, None where there is none."""
        axis, size = self.view.axes[q], len(values)
        median = sorted(values)[(size - 1) // 2]

        def upto(at):
            return sum(value <= at for value in values)

        def nearest(thresholds):
            good = [at for at in thresholds if min(upto(at), size - upto(at)) >= self.k]
            return min(
                good, key=lambda at: (abs(2 * upto(at) - size), -upto(at), abs(at - median)), default=None
            )

        if min(upto(MISSING), size - upto(MISSING)) >= self.k:
            return MISSING
        present = sorted({value for value in values if value > MISSING})
        if not present or median == MISSING:
            return None
        if axis.kind_code != TREE:
            whole = axis.whole_numbers or labelled(axis)
            found = nearest(present[:-1])
            return None if found is None else between(found, present[present.index(found) + 1], whole)
        for level in reversed(range(self.common(axis, present[0], present[-1]))):
            found = nearest(
                sorted({axis.hierarchy.end[leaf, level] - 1.0 for leaf in range(len(axis.labels))})
            )
            if found is not None:
                return found
        return None

    def named(self, q, at):
        """How a cut is kept."""
        axis = self.view.axes[q]
        if at == MISSING or not labelled(axis):
            return {"at": at - self.offset.get(axis.column.name, 0.0), "label": None, "node": None}
        node = None
        if axis.kind_code == TREE:
            paths, last = axis.hierarchy.labels, int(at)
            for text in paths[last][:-1]:
                if max(leaf for leaf, path in enumerate(paths) if text in path) == last:
                    node = text
        return {"at": None, "label": axis.labels[int(at)], "node": node}

    def printed(self, rows, low, high):
        """The range of a cell in every axis."""
        ends = []
        for q, axis in enumerate(self.view.axes):
            absent = sum(self.view.points[q][row] == MISSING for row in rows)
            whole = axis.whole_numbers or labelled(axis)
            first, last = self.ends[q]
            if low[q] > MISSING:
                first = max(first, math.floor(low[q]) + 1 if whole else math.nextafter(low[q], math.inf))
            if math.isfinite(high[q]):
                last = min(last, math.floor(high[q]) if whole else high[q])
            ends.append((MISSING if absent else first, MISSING if absent == len(rows) else last))
        return [one for one, _ in ends], [other for _, other in ends]
