"""The tree of cuts by which a bucket was halved, found again from the values as they are.

Every part of a bucket is cut along the quasi-identifier that leaves the two halves with the smallest sum of extents: of
every value, the lower half of the rows goes to one side. Rows of nobody, which are nowhere, are shared in proportion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, Int64Array, IntArray
from republish.attacks.retracing.places import scaled
from republish.microdata import FLAT, INTERVAL, MISSING, Microdata


class Cut(NamedTuple):
    """A part that was cut: the axis, its entries and which of them went right, and of how many levels how many left."""

    axis: int
    left: Int64Array
    right: Int64Array
    lower: int
    levels: int


class Ground(NamedTuple):
    """Where the entries of a bucket are, `x[axis, e]`, and how wide a leaf of each axis is; 0 for numbers."""

    x: FloatArray
    kind: IntArray
    leaves: IntArray


def ground_of(view: Microdata, row: IntArray) -> Ground:
    """The ground that rows of a view stand on, -1 for nobody."""
    columns = [
        scaled(axis, view.points[a]) if axis.kind_code == INTERVAL else view.points[a]
        for a, axis in enumerate(view.axes)
    ]
    leaves = [0 if axis.kind_code == INTERVAL else len(axis.labels) for axis in view.axes]
    kind = [axis.kind_code for axis in view.axes]
    x = np.array([column[row] for column in columns]).reshape(len(columns), len(row))
    return Ground(x, np.array(kind), np.array(leaves))


def cuts_of(ground: Ground, row: IntArray, world: Int64Array) -> list[Cut]:
    """The cuts that halve a bucket in which group g has the entries `world[g]`, one of each value.

    `row` is the row of each entry, by which ties are settled.
    """
    n, w = world.shape
    value = np.empty(n * w, dtype=np.int64)
    value[world] = np.arange(w)
    people = np.flatnonzero(row >= 0)
    people = people[np.argsort(row[people], kind="stable")]
    found, todo = [], [(people, n)]
    while todo:
        entries, levels = todo.pop()
        if levels <= 1:
            continue
        lower = levels // 2
        held = np.bincount(value[entries], minlength=w)
        taken = np.maximum(held * lower // levels, held - (levels - lower))
        best, least = None, np.inf
        for axis in range(len(ground.x)):
            left = _lower(ground.x[axis, entries], value[entries], held, taken)
            total = sum(_extent(ground, side) for side in (entries[left], entries[~left]))
            if total < least - 1e-12:
                best, least = (axis, left), total
        if best is None:
            best = 0, _lower(ground.x[0, entries], value[entries], held, taken)
        axis, left = best
        found.append(Cut(axis, entries[left], entries[~left], lower, levels))
        todo += [(entries[~left], levels - lower), (entries[left], lower)]
    return found


def _lower(x: FloatArray, value: Int64Array, held: IntArray, taken: IntArray) -> np.ndarray:
    """Whether each entry is among the lowest of its value that are taken; of equal ones the first are."""
    order = np.lexsort((np.arange(len(x)), x, value))
    rank = np.empty(len(x), dtype=np.int64)
    rank[order] = np.arange(len(x)) - np.repeat(np.cumsum(held) - held, held)
    return rank < taken[value]


def _extent(ground: Ground, entries: Int64Array) -> float:
    """The sum of the shares of all domains that entries leave open."""
    total = 0.0
    for x, kind, leaves in zip(ground.x[:, entries], ground.kind, ground.leaves, strict=True):
        there = x[x != MISSING]
        if not len(there):
            continue
        if len(there) < len(x):
            total += 1.0
        elif kind == FLAT:
            distinct = len(np.unique(there))
            total += distinct / leaves if distinct > 1 else 0.0
        else:
            total += (there.max() - there.min()) / (leaves or 1)
    return total
