"""Distances between rows and the middle of a set of rows, for every kind of quasi-identifier.

- A number, date or ordered value is divided by the width of its domain; the middle of a set is the mean of
  those that are not missing.
- Two values of a hierarchy are apart by the share of leaves below their lowest common ancestor, two different
  values of a flat category by 1. A value and a set are apart by the mean over the set.
- A missing value is 1 apart from any that is not.

The squares of the quasi-identifiers are added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int8Array, Int32Array, Int64Array
from republish.kernels import kernel
from republish.microdata import FLAT, INTERVAL, TREE
from republish.spatial.extents import axis_arrays

if TYPE_CHECKING:
    from republish.microdata import Microdata


class Geometry(NamedTuple):
    """The rows of a view, `x[row, axis]`: scaled numbers, or the position of a leaf; missing is -inf.

    `gaps` tells which axes have missing values. The ancestors of a leaf, itself first, the root last, are leaf
    ranges in a line of `levels[axis]` numbers of `start` and `end`, from `lines[axis]` on. Counts by node lie
    from `offset[axis]` on, a level after the other; of a flat category there are only leaves.
    """

    x: FloatArray
    gaps: BoolArray
    kind: Int8Array
    leaves: Int64Array
    offset: Int64Array
    nodes: int
    lines: Int64Array
    levels: Int64Array
    start: Int32Array
    end: Int32Array


class Centre(NamedTuple):
    """The middle of a set of rows under construction; `size` holds the number of rows.

    `known` keeps the distances of leaves that were measured since the last of the `changes`.
    """

    size: Int64Array
    rows: Int64Array
    total: FloatArray
    present: Int64Array
    tally: Int64Array
    changes: Int64Array
    stamp: Int64Array
    known: FloatArray


def geometry(view: Microdata) -> Geometry:
    """Return the rows of a view as the kernels measure them."""
    arrays = axis_arrays(view.axes, view.widths)
    kind, levels = arrays["kind"], np.maximum(arrays["levels"], 1)
    x = np.empty((view.rows, len(view.axes)), dtype=np.float64)
    for a, axis in enumerate(view.axes):
        scale = axis.width if kind[a] == INTERVAL else 1.0
        # A domain of one value has no width: all its rows are alike.
        x[:, a] = view.points[a] / scale if scale > 0 else np.minimum(view.points[a], 0.0)
    leaves = np.array([0 if axis.kind_code == INTERVAL else len(axis.labels) for axis in view.axes], np.int64)
    gaps = np.array([np.isneginf(column).any() for column in x.T], dtype=np.bool_)
    nodes, offset = int((leaves * levels).sum()), np.cumsum(leaves * levels) - leaves * levels
    hierarchies = arrays["offset"], levels, arrays["start"], arrays["end"]
    return Geometry(x, gaps, kind, leaves, offset, nodes, *hierarchies)


@kernel
def new_centre(space: Geometry) -> Centre:
    """Return the middle of no rows."""
    q = space.kind.size
    return Centre(
        np.zeros(1, np.int64),
        np.empty(space.x.shape[0], np.int64),
        np.zeros(q, np.float64),
        np.zeros(q, np.int64),
        np.zeros(space.nodes, np.int64),
        np.zeros(1, np.int64),
        np.full(space.nodes, -1, np.int64),
        np.empty(space.nodes, np.float64),
    )


@kernel
def include(space: Geometry, centre: Centre, row: int) -> None:
    """Add a row to the set."""
    centre.rows[centre.size[0]] = row
    centre.size[0] += 1
    centre.changes[0] += 1
    _count(space, centre, row, 1)


@kernel
def clear(space: Geometry, centre: Centre) -> None:
    """Take all rows out of the set again; `space` must be the one they were added in."""
    for i in range(centre.size[0]):
        _count(space, centre, centre.rows[i], -1)
    centre.size[0] = 0
    centre.changes[0] += 1
    centre.total[:] = 0.0


@kernel
def _count(space: Geometry, centre: Centre, row: int, step: int) -> None:
    for a in range(space.kind.size):
        value = space.x[row, a]
        if value == -np.inf:
            continue
        centre.present[a] += step
        if space.kind[a] == INTERVAL:
            centre.total[a] += step * value
        elif space.kind[a] == FLAT:
            centre.tally[space.offset[a] + int(value)] += step
        else:
            line = space.lines[a] + int(value) * space.levels[a]
            for level in range(space.levels[a]):
                place = space.offset[a] + level * space.leaves[a] + space.start[line + level]
                centre.tally[place] += step


@kernel
def measure(space: Geometry, centre: Centre, rows: Int64Array) -> FloatArray:
    """Return the square of the distance of each row to the middle of a set that is not empty."""
    total = np.zeros(rows.size, np.float64)
    values = np.empty(rows.size, np.float64)
    for a in range(space.kind.size):
        for i in range(rows.size):
            values[i] = space.x[rows[i], a]
        _add_along(space, centre, a, values, total)
    for i in range(rows.size):
        total[i] /= centre.size[0] ** 2
    return total


@kernel
def nearest(space: Geometry, centre: Centre, columns: FloatArray, total: FloatArray) -> int:
    """Return which of the rows with these values, `columns[axis, i]`, is nearest, of equal ones the first.

    `total` is at least as long as a column; what it holds means nothing.
    """
    count = columns.shape[1]
    total[:count] = 0.0
    for a in range(space.kind.size):
        _add_along(space, centre, a, columns[a], total)
    best = 0
    for i in range(1, count):
        if total[i] < total[best]:
            best = i
    return best


@kernel
def _add_along(space: Geometry, centre: Centre, a: int, values: FloatArray, total: FloatArray) -> None:
    """Add the squares of the distances along one axis, each times the size of the set."""
    size, present = centre.size[0], centre.present[a]
    if space.kind[a] == INTERVAL and not space.gaps[a]:
        middle = centre.total[a]
        for i in range(values.size):
            apart = values[i] * present - middle
            total[i] += apart * apart
        return
    offset = space.offset[a]
    if space.kind[a] == TREE:
        _add_tree(space, centre, a, values, total)
        return
    for i in range(values.size):
        if values[i] == -np.inf:
            apart = float(present)
        elif space.kind[a] == INTERVAL:
            apart = size - present + abs(values[i] * present - centre.total[a])
        else:
            apart = float(size - centre.tally[offset + int(values[i])])
        total[i] += apart * apart


@kernel
def _add_tree(space: Geometry, centre: Centre, a: int, values: FloatArray, total: FloatArray) -> None:
    """Add squares along a hierarchy; a leaf met before since the set changed is looked up."""
    known, stamp, changes = centre.known, centre.stamp, centre.changes[0]
    tally, start, end = centre.tally, space.start, space.end
    offset, lines = space.offset[a], space.lines[a]
    leaves, levels = space.leaves[a], space.levels[a]
    present = centre.present[a]
    absent = float(centre.size[0] - present)
    for i in range(values.size):
        if values[i] == -np.inf:
            total[i] += float(present) * float(present)
            continue
        leaf = int(values[i])
        if stamp[offset + leaf] != changes:
            stamp[offset + leaf] = changes
            line = lines + leaf * levels
            apart = absent
            below = tally[offset + leaf]
            for level in range(1, levels):
                if below == present:
                    break
                first = start[line + level]
                upto = tally[offset + level * leaves + first]
                apart += (upto - below) * (end[line + level] - first) / leaves
                below = upto
            known[offset + leaf] = apart * apart
        total[i] += known[offset + leaf]
