"""The unit cube: every quasi-identifier cut into 2**bits ranges, whatever its kind (thesis 3.5.1).

Numbers, dates and ordered values lie in proportion over their domain, whole numbers one to a range where there are
enough ranges. Categories have the order of their leaves; under a hierarchy the halves are nodes, or runs of
sibling nodes, so that no halving cuts through a node that could be kept whole. Break points given by the user take the
place of all that: background knowledge about where a column falls apart.

Where values are missing they have the first range and the others the upper half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError, ViewError
from republish.hierarchies import Tree
from republish.microdata import Axis, Microdata
from republish.spatial.break_points import positions, require_names
from republish.spatial.keys import cyclic_turns

MOST_BITS = 16
_LIMIT = 31


@dataclass(frozen=True, eq=False)
class LinearScale:
    """How the coordinates of one quasi-identifier fall into 2**bits ranges.

    Attributes:
        bits: the resolution; 0 where one range holds everything.
        low: the coordinate at which the first range begins.
        step: the width of a range, used where `breaks` is empty.
        breaks: ascending; a value at or above the i-th break lies in a range after the i-th.
        place: the range of each stretch between breaks; empty where they are numbered one after the other.
        gaps: whether the first range belongs to missing values and the upper half to all others.
    """

    bits: int
    low: float
    step: float
    breaks: FloatArray
    place: IntArray
    gaps: bool = False

    def cells(self, values: FloatArray) -> IntArray:
        """Return the range of every value; values outside the domain go to the first or the last."""
        if self.bits == 0:
            return np.zeros(len(values), dtype=np.uint32)
        most = (1 << (self.bits - self.gaps)) - 1
        missing = np.isneginf(values)
        some = bool(missing.any())
        known = np.where(missing, self.low, values) if some else values
        if self.breaks.size:
            found = np.searchsorted(self.breaks, known, side="right")
            chosen = (self.place[found] if self.place.size else found).astype(np.uint32)
        else:
            share = known - self.low
            share /= self.step
            # Values at the upper end belong to the last range.
            chosen = np.clip(share, 0.0, float(most), out=share).astype(np.uint32)
        if self.gaps:
            chosen += np.uint32(most + 1)
        if some:
            chosen[missing] = 0
        return chosen


@dataclass(frozen=True, eq=False)
class Cube:
    """The scales of all quasi-identifiers and the dimension that each level of halving divides."""

    scales: tuple[LinearScale, ...]
    turns: IntArray

    @property
    def bits(self) -> IntArray:
        return np.array([scale.bits for scale in self.scales], dtype=np.int64)

    @property
    def levels(self) -> int:
        """How often the cube can be halved."""
        return len(self.turns)


def cells(cube: Cube, points: FloatArray) -> IntArray:
    """Return the range of every coordinate of `points[q, row]`, shape and order kept."""
    if points.shape[0] != len(cube.scales):
        raise ViewError(
            f"points must have one line for each of the {len(cube.scales)} quasi-identifiers of the cube; "
            f"found {points.shape[0]}"
        )
    placed = np.empty(points.shape, dtype=np.uint32)
    for q, scale in enumerate(cube.scales):
        placed[q] = scale.cells(points[q])
    return placed


def cube_of(
    view: Microdata,
    bits: int | Mapping[str, int] | None = None,
    scales: Mapping[str, Sequence[float | str]] | None = None,
) -> Cube:
    """Return the cube of a view's quasi-identifiers, halved in turn from the first on.

    Args:
        view: gives the axes and says where values are missing.
        bits: the resolution of some quasi-identifiers by name, or a number that none may have more than. Without
            it there are as many bits as tell whole numbers and categories apart, else 16; for numbers and dates
            never more than 16.
        scales: ascending break points of some quasi-identifiers by name: numbers, dates as texts, values of an
            ordered column or of a category.
    """
    most = bits if isinstance(bits, int) else _LIMIT
    check_bits(most, 1)
    bits, scales = {} if isinstance(bits, int) else dict(bits or {}), dict(scales or {})
    names = [axis.column.name for axis in view.axes]
    require_names(names, bits, scales)
    made = []
    for name, axis, points in zip(names, view.axes, view.points, strict=True):
        gaps = bool(points.size) and bool(np.isneginf(points).any())
        if name in scales:
            made.append(broken(positions(axis.column, axis.labels, scales[name]), gaps=gaps))
            continue
        scale = _scale(axis, gaps, bits.get(name))
        # Where less is asked for than would do, the ranges are of equal width.
        made.append(scale if scale.bits - gaps <= most or name in bits else _scale(axis, gaps, most))
    return Cube(tuple(made), cyclic_turns(np.array([scale.bits for scale in made], dtype=np.int64)))


def linear(low: float, high: float, bits: int, *, gaps: bool = False) -> LinearScale:
    """Return a scale of equal ranges between two coordinates; `bits` counts the one that gaps cost."""
    check_bits(bits)
    width = high - low
    step = width / (1 << max(bits - gaps, 0))
    if not (np.isfinite(width) and step > 0.0):
        bits, step = int(gaps), 1.0
    return LinearScale(bits, low, step, _NO_BREAKS, _NO_PLACES, gaps)


def broken(breaks: Sequence[float] | FloatArray, *, gaps: bool = False) -> LinearScale:
    """Return the scale whose ranges begin at the given break points, the first one below all of them."""
    at = np.array(breaks, dtype=np.float64)
    if at.ndim != 1 or not np.isfinite(at).all() or not (np.diff(at) > 0).all():
        raise PolicyError("the break points of a scale must be finite numbers in ascending order; sort them")
    bits = int(at.size).bit_length()
    check_bits(bits + gaps)
    # Spread over the ranges such that every halving divides the stretches evenly.
    place = (np.arange(at.size + 1) << bits) // (at.size + 1)
    return LinearScale(bits + gaps, at[0] if at.size else 0.0, 1.0, at, place.astype(np.int64), gaps)


def _scale(axis: Axis, gaps: bool, bits: int | None) -> LinearScale:
    if bits is not None:
        check_bits(bits)
    if axis.hierarchy is not None and bits is None:
        place, needed = _aligned(axis.hierarchy)
        if needed + gaps <= _LIMIT:
            return LinearScale(needed + gaps, 0.0, 1.0, np.arange(1.0, len(place)), place, gaps)
    if axis.labels or axis.whole_numbers or axis.column.kind in ("category", "date"):
        values = len(axis.labels) if axis.labels else int(axis.high - axis.low) + 1
        enough = max(values - 1, 0).bit_length()
        enough = enough if axis.labels else min(enough, MOST_BITS)
        low = 0.0 if axis.labels else axis.low
        return linear(low, low + values, (enough if bits is None else bits) + gaps, gaps=gaps)
    return linear(axis.low, axis.high, (MOST_BITS if bits is None else bits) + gaps, gaps=gaps)


def check_bits(bits: int, least: int = 0) -> None:
    """Refuse a resolution that a cell number cannot hold, or one below the least."""
    if not least <= bits <= _LIMIT:
        raise PolicyError(
            f"the resolution of a quasi-identifier must lie between {least} and {_LIMIT} bits; found {bits}"
        )


_NO_BREAKS: FloatArray = np.zeros(0)
_NO_PLACES: IntArray = np.zeros(0, dtype=np.int64)


def _aligned(tree: Tree) -> tuple[IntArray, int]:
    """Return the range of every leaf and the bits these need, such that halves do not cut through nodes.

    The children of a node are halved where their leaves are nearest to even, down to single children.
    """
    leaves, levels = tree.start.shape
    code = [0] * leaves
    depth = [0] * leaves
    # A run of leaves that is one node at `level`, or some neighbouring children of one.
    stack = [(0, leaves, levels - 1, 0, 0)] if leaves else []
    while stack:
        begin, end, level, prefix, length = stack.pop()
        if end - begin == 1:
            code[begin], depth[begin] = prefix, length
            continue
        while int(tree.end[begin, level]) >= end and int(tree.start[begin, level]) <= begin:
            level -= 1
        bounds, at = [], int(tree.end[begin, level])
        while at < end:
            bounds.append(at)
            at = int(tree.end[at, level])
        middle = min(bounds, key=lambda bound: abs(2 * bound - begin - end))
        stack.append((begin, middle, level, 2 * prefix, length + 1))
        stack.append((middle, end, level, 2 * prefix + 1, length + 1))
    needed = max(depth, default=0)
    if needed > _LIMIT:
        return _NO_PLACES, needed
    return np.array([c << (needed - d) for c, d in zip(code, depth, strict=True)], dtype=np.int64), needed
