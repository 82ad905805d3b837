"""Whether cells of people come from quasi-identifiers and kept cuts alone, and are laminar over all releases.

- While the view is at hand, the cell of everybody is found anew from the cuts that are stored, her quasi-identifiers
  and k: no value and no earlier cell plays a part in it.
- Later, from what is stored: a cell contains what was left of the earlier cells of every person in it, or lies inside,
  or has nothing in common with it, for then she moved. Cells that extend over a cut that died are recorded as such;
  they may cross others, and the people in them who are affected are counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.hierarchies import Intervals
from republish.kernels import kernel
from republish.memory.membership import Membership
from republish.memory.memory import KEY, keyed
from republish.microdata import Axis, Microdata
from republish.release.cells import SOME_MISSING, Cells
from republish.release.forms import KEPT_CUTS as PROMISE
from republish.verify.check import Check

OUTWEIGHED = 8
"""How many times k rows a side must have for a cut to be passed over whose other side has fewer than k."""

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
    return Check(
        f"{PROMISE}: cells", broken == 0, _FROM_CUTS, None, broken, int(twice["len"].sum()) if broken else 0
    )


def _led_to(view: Microdata, cuts: pl.DataFrame, k: int) -> IntArray:
    """The node of the tree of cuts that every row is led to."""
    stored: dict[str, pl.Series] = {name: cuts[name][0] for name in cuts.columns}
    axis, number = stored["axis"].to_numpy().astype(np.int64), stored["at"].to_numpy()
    if not len(axis):
        return np.zeros(view.rows, dtype=np.int64)
    at = number + stored["offset"].to_numpy()[axis]
    at[np.isneginf(number)] = -np.inf
    named = pl.DataFrame({"axis": axis, "label": stored["label"], "node": stored["node"]})
    distinct = named.filter(pl.col("label").is_not_null()).unique()
    places = [_position(view.axes[one], label, node) for one, label, node in distinct.iter_rows()]
    known = distinct.with_columns(pl.Series("place", places, dtype=pl.Float64))
    found = named.join(known, on=named.columns, how="left", nulls_equal=True, maintain_order="left")["place"]
    at = np.where(found.is_null().to_numpy(), at, found.fill_null(0.0).to_numpy())
    child = np.stack([stored["left"].to_numpy(), stored["right"].to_numpy()], axis=1).astype(np.int64)
    place: IntArray = _walked(np.ascontiguousarray(view.points), axis, at, child, k, OUTWEIGHED)
    return place


def _position(axis: Axis, label: str, node: str | None = None) -> float:
    """The last position of a node of the hierarchy, or up to a label; all where the order of labels does not tell."""
    if node is not None and axis.hierarchy is not None:
        inside = [leaf for leaf, path in enumerate(axis.hierarchy.labels) if node in path[:-1]]
        if inside:
            return float(inside[-1])
    if label in axis.labels:
        return float(axis.labels.index(label))
    as_number = isinstance(axis.column.hierarchy, Intervals)
    key: Callable[[str], Any] = Fraction if as_number else str
    known = [key(text) for text in axis.labels]
    ordered = all(a < b for a, b in pairwise(known))
    return float(bisect_right(known, key(label)) - 1) if ordered else np.inf


@kernel
def _walked(points, axis, at, child, k, outweighed):  # type: ignore[no-untyped-def]
    """All rows led down the tree at once, one level after the other; a row that stays keeps a number of its place."""
    rows, cuts = points.shape[1], len(axis)
    node = np.zeros(rows, np.int64)
    place = np.full(rows, -1, np.int64)
    left, all_rows = np.zeros(cuts, np.int64), np.zeros(cuts, np.int64)
    going = rows
    while going > 0:
        left[:] = 0
        all_rows[:] = 0
        for row in range(rows):
            if place[row] < 0:
                all_rows[node[row]] += 1
                left[node[row]] += points[axis[node[row]], row] <= at[node[row]]
        for row in range(rows):
            if place[row] >= 0:
                continue
            here = node[row]
            fewer = min(left[here], all_rows[here] - left[here])
            side = 0 if points[axis[here], row] <= at[here] else 1
            if fewer < k:
                if all_rows[here] < 2 * k or all_rows[here] - fewer < outweighed * k:
                    place[row] = here
                    going -= 1
                    continue
                side = 0 if 2 * left[here] > all_rows[here] else 1
            if child[here, side] >= 0:
                node[row] = child[here, side]
            else:
                place[row] = cuts + 2 * here + side
                going -= 1
    return place


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
            if count and not column.axis.labels:
                first, last = recorded["ends"][a]
                low[column.low <= first, a], high[column.high >= last, a] = -np.inf, np.inf
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
    labels: list[list[str]] | None = None

    def add(self, members: Membership, shown: ShownCells) -> Check:
        """Whether the cells of a release are laminar with what is left of earlier ones; then take it in."""
        assert members.cell is not None
        there = np.flatnonzero(members.someone & (members.cell > 0))
        cell = members.cell[there] - 1
        self._keep_labels(shown.axes)
        low, high, reaching = shown.low[cell], shown.high[cell], shown.extended[cell]
        for a, axis in enumerate(shown.axes):
            _among(low[:, a], high[:, a], axis.labels, self._labels[a])
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

    @property
    def _labels(self) -> list[list[str]]:
        assert self.labels is not None
        return self.labels

    def _keep_labels(self, axes: tuple[Axis, ...]) -> None:
        """Keep those labels that a further release has too, in its order."""
        if self.labels is None:
            self.labels = [list(axis.labels) for axis in axes]
            self.low = self.high = np.empty((0, len(axes)))
        for a, axis in enumerate(axes):
            known = set(self.labels[a])
            common = [label for label in axis.labels if label in known]
            _among(self.low[:, a], self.high[:, a], self.labels[a], common)
            self.labels[a] = common


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
    """Of ranges and others: which cross, which have nothing in common, which lie inside. A cell `*` decides nothing."""
    if not len(low):
        none = np.zeros(0, dtype=np.bool_)
        return none, none, none
    silent = np.isnan(low) | np.isnan(other_low) | np.isnan(high) | np.isnan(other_high)
    with np.errstate(invalid="ignore"):
        apart = np.any(~silent & ((high < other_low) | (other_high < low)), axis=1)
        inside = np.all(silent | ((other_low <= low) & (high <= other_high)), axis=1)
        around = np.all(silent | ((low <= other_low) & (other_high <= high)), axis=1)
    crosses: BoolArray = ~(apart | inside | around)
    return crosses, np.asarray(apart), np.asarray(inside)


def stated_cells(cells: tuple[Cells, ...], payloads: list[dict[str, Any]]) -> ShownCells:
    """The cells of the last of some releases, with what the ledger recorded of frames up to it."""
    moved: dict[str, float] = {}
    for payload in payloads:
        for name, by in payload.get("moved", {}).items():
            moved[name] = moved.get(name, 0.0) + by
    return ShownCells.of(cells, payloads[-1], moved)
