"""The regions around groups in the coordinates of a view."""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.grouping import Regions
from republish.microdata import Axis, Microdata
from republish.spatial.cube import Cube, LinearScale
from republish.spatial.enclosing import EnclosingRegions

_WORD = 64
_LISTED = 1 << 20  # whole numbers of a domain, at most


def regions_of(cube: Cube, around: EnclosingRegions, group: IntArray, view: Microdata) -> Regions:
    """The region around every group: from the lowest to the highest value of the domain that falls into it.

    Decimals, and whole numbers of very wide domains, end at values that occur in the view. Either way a row lies
    between the ends if and only if it lies in the region, so that regions side by side never overlap.

    The place of missing values belongs to the region where some row of the group is there, and is all of it where every
    row is: what a cell says of missing values, it says of people.
    """
    first, last = _cells(cube, around)
    low, high = np.empty(first.shape), np.empty(first.shape)
    groups = len(around.level)
    rows = np.bincount(group, minlength=groups)
    for q, (scale, axis) in enumerate(zip(cube.scales, view.axes, strict=True)):
        low[:, q], high[:, q] = _values(scale, _domain(axis, view.points[q]), first[:, q], last[:, q])
        absent = np.bincount(group[np.isneginf(view.points[q])], minlength=groups)
        low[absent > 0, q] = -np.inf
        high[(absent == rows) & (rows > 0), q] = -np.inf
    return Regions(low, high)


def _cells(cube: Cube, around: EnclosingRegions) -> tuple[IntArray, IntArray]:
    """The first and the last range of every region in every dimension."""
    bits, groups = cube.bits, len(around.level)
    first = np.zeros((groups, len(bits)), dtype=np.int64)
    depth = np.zeros((groups, len(bits)), dtype=np.int64)
    for at, q in enumerate(cube.turns[: int(around.level.max())].tolist()):
        deep = around.level > at
        bit = (around.prefix[at // _WORD, deep] >> np.uint64(_WORD - 1 - at % _WORD)) & np.uint64(1)
        first[deep, q] = 2 * first[deep, q] + bit.astype(np.int64)
        depth[deep, q] += 1
    left = bits[None] - depth
    first <<= left
    return first, first + (1 << left) - 1


def _domain(axis: Axis, points: FloatArray) -> FloatArray:
    """The values that ends may have, ascending."""
    if axis.labels:
        return np.arange(float(len(axis.labels)))
    if axis.whole_numbers and axis.width < _LISTED:
        return np.arange(axis.low, axis.high + 1)
    found: FloatArray = np.unique(points[points > -np.inf])
    return found


def _values(
    scale: LinearScale, domain: FloatArray, first: IntArray, last: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest value in the ranges from first to last, -inf where there is none."""
    ranges = scale.cells(domain).astype(np.int64)
    begin, end = np.searchsorted(ranges, first), np.searchsorted(ranges, last, side="right") - 1
    known = np.append(domain, -np.inf)  # the last place is read where a region holds no value
    high = known[np.where(end >= begin, end, len(domain))]
    low = known[np.where(end >= begin, begin, len(domain))]
    return low, high
