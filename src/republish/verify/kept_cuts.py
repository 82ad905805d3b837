"""Whether cells of people come from quasi-identifiers and kept cuts alone, and are laminar over all releases.

- While the view is at hand, the cell of everybody is found anew from the cuts that are stored, her quasi-identifiers
  and k: no value and no earlier cell plays a part in it.
- Later, from what is stored: a cell contains what was left of the earlier cells of every person in it, or lies inside,
  or has nothing in common with it, for then she moved. Cells that extend over a cut that died are recorded as such;
  they may cross others, and the people in them who are affected are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from republish.verify.led_by_cuts import Leading

_FROM_CUTS = "Who is in which cell of people follows from quasi-identifiers, k and the kept cuts alone."
_LAMINAR = (
    "Cells of people lie inside those of earlier releases, contain them, or have nothing in common with them."
)
Labels = Sequence[Sequence[str]]
"""The labels of every axis, none where it has numbers."""
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


class ShownCells(NamedTuple):
    """The cells of people of one release: ranges of every axis in frames that move with people, and which extend.

    A cell `*` is NaN; outermost ranges of numbers are open. Of a column with labels a range is given by positions among
    those of the view that it was published of.
    """

    low: FloatArray
    high: FloatArray
    axes: tuple[Axis, ...]
    extended: BoolArray

    @classmethod
    def of(
        cls, cells: tuple[Cells, ...], recorded: Mapping[str, Any], moved: Mapping[str, float]
    ) -> ShownCells:
        """The cells of a published table; `moved` says how far the frame of a column has moved since the first.

        `recorded` is what the ledger says of the cells: the ends of the domain, and which extend over a dead cut.
        """
        count = len(cells[0].low)
        low, high = np.empty((count, len(cells))), np.empty((count, len(cells)))
        for a, column in enumerate(cells):
            offset = moved.get(column.axis.column.name, 0.0)
            low[:, a], high[:, a] = column.low - offset, column.high - offset
            ends = recorded["ends"][a] if count and not column.axis.labels else None
            if ends is not None:
                low[column.low <= ends[0], a], high[column.high >= ends[1], a] = -np.inf, np.inf
            low[column.missing == SOME_MISSING, a] = np.nan
        reaching = np.zeros(count, dtype=np.bool_)
        reaching[np.array(recorded["extended"], dtype=np.int64) - 1] = True
        return cls(low, high, tuple(column.axis for column in cells), reaching)


@dataclass
class CellWalk:
    """What is left of everyone's cells, release by release: the smallest so far.

    Ranges of labels are given by positions among `labels`, those that all releases had: a label that some view lacks
    says nothing of where its cells end.
    """

    people: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict.fromkeys(KEY, pl.UInt64)))
    low: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    high: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    extended: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    labels: Labels | None = None

    def add(self, members: Membership, shown: ShownCells) -> Check:
        """Whether the cells of a release are laminar with what is left of earlier ones; then take it in."""
        assert members.cell is not None
        there = np.flatnonzero(members.someone & (members.cell > 0))
        cell = members.cell[there] - 1
        low, high, reaching = shown.low[cell], shown.high[cell], shown.extended[cell]
        if not self.people.height:
            self.low = self.high = np.empty((0, low.shape[1]))
        if len(shown.low):  # an empty week has no labels
            common = labels_in_common(self.labels, shown.axes)
            to_labels(self.low, self.high, self.labels or common, common)
            to_labels(low, high, [axis.labels for axis in shown.axes], common)
            self.labels = common
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


def labels_in_common(known: Labels | None, axes: Sequence[Axis]) -> Labels:
    """The labels of every axis that a further release has too, in its order; all of the first release."""
    found = [axis.labels for axis in axes]
    if known is None:
        return found
    held = [set(labels) for labels in known]
    return [tuple(x for x in new if x in old) for old, new in zip(held, found, strict=True)]


def to_labels(low: FloatArray, high: FloatArray, labels: Labels, common: Labels) -> None:
    """Turn ranges of labels, of every axis, into ranges of those in common, in place; NaN where none is."""
    for a, (old, new) in enumerate(zip(labels, common, strict=True)):
        _among(low[:, a], high[:, a], old, new)


def _among(low: FloatArray, high: FloatArray, labels: Sequence[str], common: Sequence[str]) -> None:
    """Turn ranges of labels into ranges of those in common, in place; NaN where none is."""
    if not len(labels) or list(labels) == list(common):
        return
    place = {label: position for position, label in enumerate(common)}
    held = np.array([label in place for label in labels])
    first = np.append(0, np.cumsum(held))  # of each label, how many in common lie before it
    said = np.isfinite(low) & np.isfinite(high)
    begin, end = first[low[said].astype(np.int64)], first[high[said].astype(np.int64) + 1] - 1
    low[said], high[said] = np.where(begin <= end, begin, np.nan), np.where(begin <= end, end, np.nan)


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


def moved_so_far(payloads: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How far the frame of every column has moved over some releases, by what the ledger recorded."""
    moved: dict[str, float] = {}
    for payload in payloads:
        for name, by in payload.get("moved", {}).items():
            moved[name] = moved.get(name, 0.0) + by
    return moved
