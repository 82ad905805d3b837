"""Rows along the Hilbert curve of all quasi-identifiers, as JS-reduce (section 6) walks them.

Every quasi-identifier is stretched over the full grid first, whatever its domain: two genders lie at opposite
faces of the cube and not in neighbouring cells, else the curve would change gender every few rows. The
curve is that of Skilling, "Programming the Hilbert curve" (2004).
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray, IntArray, WordArray
from republish.errors import PolicyError
from republish.kernels import kernel
from republish.orders._domain import Coordinates, coordinates

MOST_BITS = 16
_LIMIT = 32
_WORD = 64
_BLOCK = 1024


def hilbert_order(
    points: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None, bits: int | None = None
) -> IntArray:
    """Return the rows of `points[axis, row]` in their order along the Hilbert curve, equal cells by row number.

    Args:
        points: One coordinate an axis and row, -inf where it is missing.
        low: Lowest value of the domain of every axis, else the lowest found.
        high: Highest value of the domain of every axis, else the highest found.
        bits: 2**bits cells an axis; see `hilbert_keys`.
    """
    keys = hilbert_keys(points, low, high, bits)
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    if len(keys) == 0:
        return np.arange(keys.shape[1])
    return np.lexsort(keys[::-1])


def hilbert_keys(
    points: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None, bits: int | None = None
) -> WordArray:
    """Return the place of every row on the curve: `keys[word, row]`, the most significant word first.

    The lowest value of an axis lies in its first cell, the highest in its last, the others in proportion. Where
    values are missing, they have the first cell and the values the upper half of the axis, so that the
    curve parts the two like the two values of a binary column. Axes along which all rows are alike are left
    out; those of the fewest steps come first, since the curve crosses the first axis the least often.

    Without `bits` there are as many as whole numbers need to be told apart, else 16, never more than 16. The
    key has `bits` times the number of axes, in as many words of 64 as that takes, the spare bits on top.
    """
    space = _arranged(coordinates(points, low, high))
    if bits is None:
        bits = _enough(space)
    elif not 1 <= bits <= _LIMIT:
        raise PolicyError(f"bits of a Hilbert curve must lie between 1 and {_LIMIT}; found {bits}")
    return curve_keys(_cells(space, bits), bits)


def curve_keys(cells: IntArray, bits: int) -> WordArray:
    """Return the place on the curve of every row of `cells[axis, row]`, which is used up; see `hilbert_keys`."""
    axes, rows = cells.shape
    keys = np.zeros((-(-axes * bits // _WORD), rows), dtype=np.uint64)
    if keys.size:
        _walk(cells, bits, keys)
    return keys


def _arranged(space: Coordinates) -> Coordinates:
    """Return the axes along which rows differ, those of the fewest steps first."""
    steps = np.where(space.whole, space.high - space.low, np.inf)
    order = np.argsort(steps, kind="stable")
    if space.points.shape[1]:
        order = order[(space.points.min(axis=1) < space.points.max(axis=1))[order]]
    return Coordinates(*(part[order] for part in space))


def _enough(space: Coordinates) -> int:
    """Return the bits that tell whole numbers apart, as far as there are so many."""
    if not space.whole.all():
        return MOST_BITS
    gaps = np.isneginf(space.points).any(axis=1)
    needed = np.frexp(np.maximum(space.high - space.low, 1.0))[1] + gaps
    return int(min(needed.max(initial=1), MOST_BITS))


def _cells(space: Coordinates, bits: int) -> IntArray:
    """Return the cell of every row along every axis."""
    cells = np.empty(space.points.shape, dtype=np.int64)
    for axis, (row, low, high) in enumerate(zip(*space, strict=True)):
        missing = np.isneginf(row)
        gaps = bool(missing.any())
        first = 1 << (bits - 1) if gaps else 0
        steps = (1 << bits) - 1 - first
        share = np.where(missing, 0.0, row - low) * (steps / (high - low) if high > low else 0.0)
        place = np.minimum(np.rint(share, out=share), steps, out=share) + first
        cells[axis] = np.where(missing, 0.0, place) if gaps else place
    return cells


@kernel
def _walk(cells: IntArray, bits: int, keys: WordArray) -> None:
    """Write the Hilbert index of every row of `cells[axis, row]`, which is used up, into `keys`."""
    axes, rows = cells.shape
    for begin in range(0, rows, _BLOCK):
        end = min(begin + _BLOCK, rows)
        _transpose(cells[:, begin:end], bits)
        for place in range(axes * bits):
            axis, level = axes - 1 - place % axes, place // axes
            word = keys[keys.shape[0] - 1 - place // _WORD, begin:end]
            x = cells[axis, begin:end]
            for i in range(end - begin):
                word[i] |= np.uint64((x[i] >> level) & 1) << np.uint64(place % _WORD)


@kernel
def _transpose(cells: IntArray, bits: int) -> None:
    """Turn cells into the bits of their index: axis after axis of the highest level, then the next level."""
    axes, rows = cells.shape
    first, last = cells[0], cells[axes - 1]
    # Turn every sub-cube back to the position of the first, from the coarsest on.
    for level in range(bits - 1, 0, -1):
        below = (1 << level) - 1
        for a in range(axes):
            x = cells[a]
            for i in range(rows):
                inverted = -((x[i] >> level) & 1)
                swap = (first[i] ^ x[i]) & below & ~inverted
                first[i] ^= (below & inverted) | swap
                x[i] ^= swap
    # Gray code: along the axes, then what the last axis says of all finer levels.
    for a in range(1, axes):
        cells[a] ^= cells[a - 1]
    for i in range(rows):
        flip = 0
        for level in range(bits - 1, 0, -1):
            flip ^= -((last[i] >> level) & 1) & ((1 << level) - 1)
        for a in range(axes):
            cells[a, i] ^= flip
