"""The regions of a BANG file in the coordinates of a view."""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.grouping import Regions
from republish.microdata import Axis, Microdata
from republish.spatial.bang.bang_file import BangIndex
from republish.spatial.cube import LinearScale

_WORD = 64
_LISTED = 1 << 20  # whole numbers of a domain, at most


def regions_of(index: BangIndex, view: Microdata) -> Regions:
    """The region of every block: from the lowest to the highest value of the domain that falls into it.

    Decimals, and whole numbers of very wide domains, end at values that occur in the view. Either way a row lies
    between the ends if and only if it lies in the region, so that regions side by side never overlap.

    The place of missing values belongs to the region where some row of the block is there, and is all of it where every
    row is: what a cell says of missing values, it says of people.
    """
    first, last = _cells(index)
    low, high = np.empty(first.shape), np.empty(first.shape)
    rows = np.bincount(index.block, minlength=index.blocks)
    for q, (scale, axis) in enumerate(zip(index.cube.scales, view.axes, strict=True)):
        low[:, q], high[:, q] = _values(scale, _domain(axis, view.points[q]), first[:, q], last[:, q])
        absent = np.bincount(index.block[np.isneginf(view.points[q])], minlength=index.blocks)
        low[absent > 0, q] = -np.inf
        high[(absent == rows) & (rows > 0), q] = -np.inf
    return Regions(low, high, index.level.astype(np.int32))


def _cells(index: BangIndex) -> tuple[IntArray, IntArray]:
    """The first and the last range of every region in every dimension."""
    bits = index.cube.bits
    first = np.zeros((index.blocks, len(bits)), dtype=np.int64)
    depth = np.zeros((index.blocks, len(bits)), dtype=np.int64)
    for at, q in enumerate(index.cube.turns[: int(index.level.max())].tolist()):
        deep = index.level > at
        bit = (index.prefix[at // _WORD, deep] >> np.uint64(_WORD - 1 - at % _WORD)) & np.uint64(1)
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
