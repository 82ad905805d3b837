"""Whether cells of people come from quasi-identifiers and kept cuts alone, and are laminar over all releases.

- While the view is at hand, the cell of everybody is found anew from the cuts that are stored, her quasi-identifiers
  and k: no value and no earlier cell plays a part in it.
- Later, from what is stored: a cell contains what was left of the earlier cells of every person in it, or lies inside,
  or has nothing in common with it, for then she moved. Cells that extend over a cut that died are recorded as such;
  they may cross others, and the people in them who are affected are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.memory.membership import Membership
from republish.memory.memory import KEY, keyed
from republish.microdata import Axis, Microdata
from republish.release.cells import SOME_MISSING, Cells
from republish.release.forms import KEPT_CUTS as PROMISE
from republish.verify.check import Check
from republish.verify.led_by_cuts import Leading, ends_among

_FROM_CUTS = "Who is in which cell of people follows from quasi-identifiers, k and the kept cuts alone."
_LAMINAR = (
    "Cells of people lie inside those of earlier releases, contain them, or have nothing in common with them."
)
_CROSSING = "{} people are in cells that extend over a cut that died, and may cross earlier ones."


def from_cuts(view: Microdata, cell: IntArray, cuts: pl.DataFrame, k: int) -> Check:
    """Whether the cell of every row of a view is the one that the cuts lead to."""
    expected = _led_to(view, cuts, k)
    pairs = pl.DataFrame({"cell": cell, "expected": expected}).group_by("cell", "expected").len()
    twice = pairs.filter(pl.col("cell").is_duplicated() | pl.col("expected").is_duplicated())
    broken = twice.height + int(np.count_nonzero(np.bincount(cell)[1:] < k)) if len(cell) else 0
    return cells_check(broken, int(twice["len"].sum()) if broken else 0)


def cells_check(cells: int, rows: int) -> Check:
    """Whether cells follow from the cuts: so many cells, with so many rows, do not."""
    return Check(f"{PROMISE}: cells", cells == 0, _FROM_CUTS, None, cells, rows)


def _led_to(view: Microdata, cuts: pl.DataFrame, k: int) -> IntArray:
    """The node of the tree of cuts that every row is led to."""
    leading, done = Leading.of(cuts, view.axes), False
    while not done:
        leading, done = leading.deciding(leading.counted(view.points), k)
    return leading.places(view.points)


class StatedCells(NamedTuple):
    """What the ledger recorded of the cells of a release.

    How far the frame of a column has moved since the first release, which cells extend over a cut that died, and the
    lowest and the highest coordinates that cells were published with.
    """

    moved: dict[str, float]
    extended: list[int]
    ends: list[list[float] | None]

    @classmethod
    def of(cls, payloads: list[dict[str, Any]]) -> StatedCells:
        """What was recorded of the last of some releases."""
        moved: dict[str, float] = {}
        for payload in payloads:
            for name, by in payload.get("moved", {}).items():
                moved[name] = moved.get(name, 0.0) + by
        return cls(moved, payloads[-1]["extended"], payloads[-1]["ends"])


class ShownCells(NamedTuple):
    """The cells of people of one release: ranges of every axis in frames that move with people, and which extend.

    `scale` is the axis that positions of labels belong to. A cell `*` is NaN; the outermost ranges are open.
    """

    low: FloatArray
    high: FloatArray
    axes: tuple[Axis, ...]
    extended: BoolArray

    @classmethod
    def of(cls, cells: tuple[Cells, ...], stated: StatedCells) -> ShownCells:
        """The cells of a published table, with what the ledger recorded of them."""
        moved, ends = stated.moved, stated.ends
        count = len(cells[0].low)
        low, high = np.empty((count, len(cells))), np.empty((count, len(cells)))
        for a, column in enumerate(cells):
            offset = moved.get(column.axis.column.name, 0.0)
            low[:, a], high[:, a] = column.low - offset, column.high - offset
            domain = ends[a] if count else None
            if domain is not None:
                low[column.low <= domain[0], a] = -np.inf
                high[column.high >= domain[1], a] = np.inf
            low[column.missing == SOME_MISSING, a] = np.nan
        reaching = np.zeros(count, dtype=np.bool_)
        reaching[np.array(stated.extended, dtype=np.int64) - 1] = True
        return cls(low, high, tuple(column.axis for column in cells), reaching)


@dataclass
class CellWalk:
    """What is left of everyone's cells, release by release: the smallest so far, in the labels of the last release."""

    people: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict.fromkeys(KEY, pl.UInt64)))
    low: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    high: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    extended: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    axes: tuple[Axis, ...] = ()

    def add(self, members: Membership, shown: ShownCells) -> Check:
        """Whether the cells of a release are laminar with what is left of earlier ones; then take it in."""
        assert members.cell is not None
        there = np.flatnonzero(members.someone & (members.cell > 0))
        cell = members.cell[there] - 1
        low, high, reaching = shown.low[cell], shown.high[cell], shown.extended[cell]
        if not self.people.height:
            self.low = self.high = np.empty((0, shown.low.shape[1]))
        if len(shown.low):  # an empty week has no labels
            self._to_labels_of(shown.axes)
        who = keyed(members.people[there])
        place = who.join(
            self.people.with_row_index("place"), on=list(KEY), how="left", maintain_order="left"
        )["place"]
        known = np.flatnonzero(place.is_not_null().to_numpy())
        before = place.drop_nulls().to_numpy()
        crosses, apart, finer = _compared(low[known], high[known], self.low[before], self.high[before])
        explained = reaching[known] | self.extended[before]
        broken = crosses & ~explained
        # Who moved, or crosses, begins anew; of nested cells the smaller one is kept.
        older = known[~finer & ~crosses & ~apart]
        kept = place.gather(older).to_numpy()
        low[older], high[older], reaching[older] = self.low[kept], self.high[kept], self.extended[kept]
        stay = np.ones(self.people.height, dtype=np.bool_)
        stay[before] = False
        self.people = pl.concat([self.people.filter(pl.Series(stay)), who])
        self.low = np.concatenate([self.low[stay], low])
        self.high = np.concatenate([self.high[stay], high])
        self.extended = np.concatenate([self.extended[stay], reaching])
        cells = len(np.unique(cell[known[broken]]))
        noted = int(np.count_nonzero(crosses & explained))
        rows = int(broken.sum())
        return Check(
            f"{PROMISE}: laminar", rows == 0, _LAMINAR, None, cells, rows, note=_CROSSING, noted=noted
        )

    def _to_labels_of(self, axes: tuple[Axis, ...]) -> None:
        """Bring positions of labels to those of a later release."""
        relabel(self.low, self.high, self.axes, axes)
        self.axes = axes


def relabel(low: FloatArray, high: FloatArray, old: Sequence[Axis], new: Sequence[Axis]) -> None:
    """Bring ranges, positions of labels in them, from the axes of one release to those of a later one, in place."""
    for a, (before, after) in enumerate(zip(old, new, strict=False)):
        if not before.labels or before.labels == after.labels:
            continue
        upto = ends_among(before, after)
        for bounds, shift in ((low, 1), (high, 0)):  # a cut keeps what a range begins after, or ends with
            finite = np.isfinite(bounds[:, a])
            bounds[finite, a] = upto[bounds[finite, a].astype(np.int64) - shift] + shift


def _compared(
    low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray
) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Of ranges and others: which cross, which have nothing in common, which lie inside.

    A cell `*` decides nothing: the ranges behind it may have nothing in common.
    """
    if not len(low):
        none = np.zeros(0, dtype=np.bool_)
        return none, none, none
    silent = np.isnan(low) | np.isnan(other_low) | np.isnan(high) | np.isnan(other_high)
    with np.errstate(invalid="ignore"):
        apart = np.any(~silent & ((high < other_low) | (other_high < low)), axis=1)
        inside = np.all(silent | ((other_low <= low) & (high <= other_high)), axis=1)
        around = np.all(silent | ((low <= other_low) & (other_high <= high)), axis=1)
    unsaid = np.any(silent, axis=1)
    crosses: BoolArray = ~(apart | inside | around | unsaid)
    return crosses, np.asarray(apart | (unsaid & ~inside & ~around)), np.asarray(inside)
