"""Where kept cuts lead the rows of a view, found from counts: an own way beside that of `republish.spatial.kept_cuts`.

A row follows its own side of a cut. How many rows reach a cut, on either side, tells whether it is open, closed, or
passed over because one side is too small and the other large. Then rows of the small side follow the large one, so
those below are counted again. Counts add up, so that rows may be counted in parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.hierarchies import Intervals
from republish.kernels import kernel
from republish.microdata import Axis

OUTWEIGHED = 8
"""How many times k rows a side must have for a cut to be passed over whose other side has fewer than k."""
_FREE, _OPEN, _CLOSED, _LEFT = 0, 1, 2, 3
_RIGHT = _LEFT + 1


@dataclass(frozen=True, eq=False)
class Leading:
    """The cuts in the coordinates of a view, the root first, and what was decided of each so far."""

    axis: IntArray
    at: FloatArray
    child: IntArray
    decided: IntArray

    @classmethod
    def of(cls, cuts: pl.DataFrame, axes: Sequence[Axis]) -> Leading:
        """The cuts of a stored table in the coordinates of these axes; nothing is decided yet."""
        stored: dict[str, pl.Series] = {name: cuts[name][0] for name in cuts.columns}
        axis, number = stored["axis"].to_numpy().astype(np.int64), stored["at"].to_numpy()
        at = number + stored["offset"].to_numpy()[axis] if len(axis) else np.empty(0)
        at[np.isneginf(number)] = -np.inf
        named = np.flatnonzero(np.isnan(number))
        ends = pl.DataFrame({"axis": axis, "label": stored["label"], "node": stored["node"]})[named]
        distinct = ends.unique()
        found = [_position(axes[place], label, node) for place, label, node in distinct.rows()]
        keys = ["axis", "label", "node"]
        positions = ends.join(
            distinct.with_columns(pl.Series("at", found, dtype=pl.Float64)),
            on=keys,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        at[named] = positions["at"].to_numpy()
        child = np.stack([stored["left"].to_numpy(), stored["right"].to_numpy()], axis=1).astype(np.int64)
        return cls(axis, at, child, np.zeros(len(axis), dtype=np.int8))

    @property
    def cuts(self) -> int:
        """How many cuts there are."""
        return len(self.axis)

    def counted(self, points: FloatArray) -> IntArray:
        """How many rows lie left and right of every cut that nothing was decided of, and that they reach."""
        counts = np.zeros((self.cuts, 2), dtype=np.int64)
        if self.cuts:
            _count(np.ascontiguousarray(points), self.axis, self.at, self.child, self.decided, counts)
        return counts

    def deciding(self, counts: IntArray, k: int) -> tuple[Leading, bool]:
        """What the counts of all rows decide, and whether that is all; else rows must be counted again."""
        decided = self.decided.copy()
        done = not self.cuts or bool(_decide(counts, self.child, decided, k, OUTWEIGHED))
        return replace(self, decided=decided), done

    def places(self, points: FloatArray) -> IntArray:
        """A number for the node that every row ends in: that of a closed cut, or one for the side of a cut."""
        if not self.cuts:
            return np.zeros(points.shape[1], dtype=np.int64)
        led: IntArray = _lead(np.ascontiguousarray(points), self.axis, self.at, self.child, self.decided)
        return led

    @property
    def is_open(self) -> BoolArray:
        """Which cuts are open."""
        found: BoolArray = self.decided == _OPEN
        return found

    @property
    def extended(self) -> BoolArray:
        """Whether the cell of every place extends over a cut that was passed over."""
        reaching = np.zeros(3 * self.cuts + 1, dtype=np.bool_)
        if self.cuts:
            _extend(self.child, self.decided, reaching)
        return reaching


def _position(axis: Axis, label: str, node: str | None) -> float:
    """The last position of a node of the hierarchy, or up to a label; all where the order of labels does not tell."""
    if node is not None and axis.hierarchy is not None:
        inside = [leaf for leaf, path in enumerate(axis.hierarchy.labels) if node in path[:-1]]
        if inside:
            return float(inside[-1])
    if label in axis.labels:
        return float(axis.labels.index(label))
    key: Callable[[str], Any] = Fraction if isinstance(axis.column.hierarchy, Intervals) else str
    known = [key(text) for text in axis.labels]
    ordered = all(a < b for a, b in pairwise(known))
    return float(bisect_right(known, key(label)) - 1) if ordered else np.inf


@kernel
def _count(points, axis, at, child, decided, counts):  # type: ignore[no-untyped-def]
    """Count every row on its side of all free cuts on its way."""
    for row in range(points.shape[1]):
        node = 0
        while node >= 0 and decided[node] != _CLOSED:
            side = 0 if points[axis[node], row] <= at[node] else 1
            if decided[node] == _FREE:
                counts[node, side] += 1
            elif decided[node] >= _LEFT:
                side = decided[node] - _LEFT
            node = child[node, side]


@kernel
def _decide(counts, child, decided, k, outweighed):  # type: ignore[no-untyped-def]
    """Decide of free cuts from the root down, and return whether none is left that rows are yet to be counted at."""
    waiting = np.empty(len(child) + 1, np.int64)
    waiting[0], size = 0, 1
    done = True
    while size > 0:
        size -= 1
        node = waiting[size]
        known = True
        if decided[node] == _FREE:
            left, right = counts[node, 0], counts[node, 1]
            fewer, more = min(left, right), max(left, right)
            if fewer >= k:
                decided[node] = _OPEN
            elif fewer + more < 2 * k or more < outweighed * k:
                decided[node] = _CLOSED
            else:
                decided[node] = _LEFT if left > right else _RIGHT
                known = fewer == 0
        for side in range(2):
            follows = decided[node] == _OPEN or decided[node] == _LEFT + side
            if follows and child[node, side] >= 0:
                if known:
                    waiting[size] = child[node, side]
                    size += 1
                else:
                    done = False
    return done


@kernel
def _lead(points, axis, at, child, decided):  # type: ignore[no-untyped-def]
    """Lead every row down to a closed cut, or to the side of one below which there is none."""
    cuts = len(axis)
    place = np.empty(points.shape[1], np.int64)
    for row in range(points.shape[1]):
        node = 0
        while True:
            if decided[node] == _CLOSED:
                place[row] = node
                break
            side = 0 if points[axis[node], row] <= at[node] else 1
            if decided[node] >= _LEFT:
                side = decided[node] - _LEFT
            if child[node, side] < 0:
                place[row] = cuts + 2 * node + side
                break
            node = child[node, side]
    return place


@kernel
def _extend(child, decided, reaching):  # type: ignore[no-untyped-def]
    """Mark every place below a cut that was passed over."""
    cuts = len(child)
    waiting = np.empty((cuts + 1, 2), np.int64)
    waiting[0, 0], waiting[0, 1], size = 0, 0, 1
    while size > 0:
        size -= 1
        node, over = waiting[size, 0], waiting[size, 1]
        reaching[node] = over == 1
        if decided[node] == _CLOSED:
            continue
        over = max(over, np.int64(decided[node] >= _LEFT))
        for side in range(2):
            reaching[cuts + 2 * node + side] = over == 1
            if child[node, side] >= 0:
                waiting[size, 0], waiting[size, 1] = child[node, side], over
                size += 1
