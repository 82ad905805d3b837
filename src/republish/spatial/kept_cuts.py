"""Cuts of the space of quasi-identifiers that are made once and kept over all releases of a series.

The cuts form one binary tree. The cells of every release are nodes of it: a node is open where both sides of its cut
hold k rows of the view, and a cell where not. So cells of different releases are nested or disjoint, and whoever
intersects the cells of one person over many releases is left with one of them, which holds at least k rows. Cuts come
from quasi-identifiers and k alone. Cells are regions, not hulls of their rows: together they are the whole space.

- A cut may die: everyone grows older, a category vanishes. Where the other side holds many rows (`OUTWEIGHED` times k)
  the cut is passed over and both sides are resolved by what lies below the large one. Its cells extend over the small
  side; rows that lie there may be in cells that cross earlier ones, and are counted. The cut is open again as soon as
  both sides hold k rows.
- Columns that grow with the calendar are cut in a frame that moves with people.
- Positions of labels may change from view to view, so a cut of a labelled column is kept by the last label on its left,
  in a hierarchy also by the largest node that ends there: leaves that are new in it lie on its side.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.errors import CannotPublish, PolicyError, SchemaError
from republish.hierarchies import Intervals
from republish.microdata import INTERVAL, Axis, Microdata
from republish.schema import Number
from republish.schema.column_names import listed
from republish.spatial._kept_cuts_kernel import (
    ALL_MISSING,
    NONE_MISSING,
    OUTWEIGHED,
    CutCells,
    CutSpace,
    CutTree,
    resolve,
)
from republish.spatial.extents import axis_arrays

__all__ = ["OUTWEIGHED", "Divided", "KeptCuts", "moved_frames", "require_rows"]

_ALL_SUBSETS = 5


class Divided(NamedTuple):
    """The cells of a view, and the cuts with those that it added.

    Row r lies in cell `cell[r]`, from `low[c, axis]` to `high[c, axis]`, both ends in, as `grouping.Regions` has it. A
    cell in which a value is missing begins at -inf, and ends there where all are. `crossing` counts the rows in small
    sides that were passed over, for every such side anew; `extended` are the cells that extend over one.
    `domain[axis]` are the ends that the outermost cells are published with.
    """

    cuts: KeptCuts
    cell: IntArray
    low: FloatArray
    high: FloatArray
    crossing: int
    extended: BoolArray
    domain: FloatArray


@dataclass(frozen=True, eq=False)
class KeptCuts:
    """A binary tree of cuts, the root first.

    Attributes:
        names: the quasi-identifiers.
        low: the lowest number that a view held in each of them, in its frame; inf where there was none, and for labels.
        high: the highest, or -inf.
        offset: how far each frame has moved.
        axis: the quasi-identifier that is cut.
        at: the highest number on the left of the cut, in its frame; -inf where missing values are cut from the rest,
            NaN where the cut has a label.
        label: the last label on the left of the cut, null where it is a number or cuts off missing values.
        node: the largest node of a hierarchy that ends with this label, null where there is no hierarchy.
        child: the cut on the left and on the right side, -1 where there is none.
    """

    names: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    offset: FloatArray
    axis: IntArray
    at: FloatArray
    label: pl.Series
    node: pl.Series
    child: IntArray

    @classmethod
    def none(cls) -> KeptCuts:
        """No cuts yet."""
        nothing, unlabelled = np.empty(0), pl.Series("", [], pl.String)
        axis, child = np.empty(0, np.int16), np.empty((0, 2), np.int32)
        return cls((), nothing, nothing, nothing, axis, nothing, unlabelled, unlabelled, child)

    @property
    def cuts(self) -> int:
        """How many cuts there are."""
        return len(self.axis)

    def table(self) -> pl.DataFrame:
        """A table of one line, to be kept private: thresholds lie between values of single people."""
        arrays = {
            "names": pl.Series(self.names, dtype=pl.String),
            **{name: pl.Series(getattr(self, name)) for name in ("low", "high", "offset", "axis", "at")},
            "label": self.label,
            "node": self.node,
            "left": pl.Series(self.child[:, 0]),
            "right": pl.Series(self.child[:, 1]),
        }
        return pl.DataFrame({name: array.rename(name).implode() for name, array in arrays.items()})

    @classmethod
    def of_table(cls, frame: pl.DataFrame) -> KeptCuts:
        """The cuts that `table` wrote."""
        one: dict[str, pl.Series] = {name: frame[name][0] for name in frame.columns}
        parts: dict[str, Any] = {
            name: one[name].to_numpy() for name in ("low", "high", "offset", "axis", "at")
        }
        parts |= {name: one[name].rename("") for name in ("label", "node")}
        child = np.stack([one["left"].to_numpy(), one["right"].to_numpy()], axis=1)
        return cls(names=tuple(one["names"].to_list()), child=child, **parts)

    def divide(self, view: Microdata, k: int, moved: Mapping[str, float] | None = None) -> Divided:
        """Return the cells of a view, each of at least k rows, and the cuts with those that it added.

        `moved` says by how much the frames of some columns of numbers or dates have moved since the last release.

        Raises:
            CannotPublish: the view holds some rows, but fewer than k.
        """
        if k < 1:
            raise PolicyError(f"k must be at least 1; found {k}")
        require_rows(view.rows, k)
        cuts = self._met(view, moved or {})
        if view.rows == 0:
            nothing = np.empty((0, len(view.axes)))
            return Divided(
                cuts, np.empty(0, np.int32), nothing, nothing, 0, np.empty(0, np.bool_), np.empty((0, 2))
            )
        domain = cuts._domain(view)
        tree = cuts._tree(view.axes, view.rows // k)
        q = len(view.axes)
        cells = CutCells.room(view.rows // k, q)
        # The kernel works in place, on a copy.
        columns = np.array(view.points, dtype=np.float64, order="C")
        everywhere = np.repeat([[-np.inf], [np.inf]], q, axis=1)
        space = _space(view, domain)
        cell, found, count, crossing = resolve(columns, space, tree, cuts.cuts, k, cells, everywhere)
        low, high = _ranges(view.axes, cells, found, domain)
        extended = cells.extended[:found].copy()
        return Divided(cuts._with(view.axes, tree, count), cell, low, high, int(crossing), extended, domain)

    def _met(self, view: Microdata, moved: Mapping[str, float]) -> KeptCuts:
        """The cuts with frames moved and with the numbers of a view in their domain."""
        names = tuple(axis.column.name for axis in view.axes)
        if self.names and self.names != names:
            raise SchemaError(
                f"cuts are kept for the quasi-identifiers {listed(self.names)}; the view has {listed(names)}; "
                "start a new series"
            )
        still = [axis.column.name for axis in view.axes if _labelled(axis)]
        wrong = sorted(name for name in moved if name in still or name not in names)
        if wrong:
            raise PolicyError(
                f"only columns of numbers and dates have a frame that moves; found {listed(wrong)}"
            )
        if view.rows == 0 and not (self.names and moved):
            return self
        q = len(names)
        offset = (self.offset if self.names else np.zeros(q)) + [
            float(moved.get(name, 0.0)) for name in names
        ]
        low, high = (
            (self.low.copy(), self.high.copy()) if self.names else (np.full(q, np.inf), np.full(q, -np.inf))
        )
        for place, axis in enumerate(view.axes):
            present = view.points[place][view.points[place] > -np.inf]
            if present.size and not _labelled(axis):
                low[place] = min(low[place], present.min() - offset[place])
                high[place] = max(high[place], present.max() - offset[place])
        return replace(self, names=names, low=low, high=high, offset=offset)

    def _domain(self, view: Microdata) -> FloatArray:
        """The lowest and the highest coordinate of every axis that cells are published with."""
        ends = np.empty((len(view.axes), 2))
        for place, (axis, points) in enumerate(zip(view.axes, view.points, strict=True)):
            if _labelled(axis) or (isinstance(axis.column, Number) and axis.column.domain is not None):
                ends[place] = axis.low, axis.high
                continue
            present = points[points > -np.inf]
            # What is moved to and fro may be rounded.
            low = min(self.low[place] + self.offset[place], present.min(initial=np.inf))
            high = max(self.high[place] + self.offset[place], present.max(initial=-np.inf))
            ends[place] = (np.floor(low), np.ceil(high)) if axis.whole_numbers else (low, high)
        return ends

    def _tree(self, axes: Sequence[Axis], more: int) -> CutTree:
        """The cuts in the coordinates of a view, with room for more."""
        at = self.at + self.offset[self.axis] if self.cuts else self.at.copy()
        for place, axis in enumerate(axes):
            cut = np.flatnonzero((self.axis == place) & np.isnan(self.at))
            if cut.size:
                ends = pl.DataFrame({"label": self.label.gather(cut), "node": self.node.gather(cut)})
                at[cut] = _positions(axis, ends)
        return CutTree(
            np.append(self.axis.astype(np.int16), np.zeros(more, np.int16)),
            np.append(at, np.zeros(more)),
            np.append(self.child.astype(np.int32), np.full((more, 2), -1, np.int32), axis=0),
        )

    def _with(self, axes: Sequence[Axis], tree: CutTree, count: int) -> KeptCuts:
        """The cuts with those that a view added to the tree."""
        axis, at = tree.axis[self.cuts : count], tree.at[self.cuts : count].copy()
        label, node = _no_texts(len(axis)), _no_texts(len(axis))
        for place, one in enumerate(axes):
            cut = np.flatnonzero((axis == place) & np.isfinite(at))
            if _labelled(one):
                last = at[cut].astype(np.int64)
                label.scatter(cut, pl.Series(one.labels, dtype=pl.String).gather(last))
                node.scatter(cut, _nodes_to(one, last))
                at[cut] = np.nan
            else:
                at[cut] -= self.offset[place]
        return replace(
            self,
            axis=tree.axis[:count].copy(),
            at=np.append(self.at, at),
            label=pl.concat([self.label, label]),
            node=pl.concat([self.node, node]),
            child=tree.child[:count].copy(),
        )


def require_rows(rows: int, k: int) -> None:
    """Refuse a view that holds some rows, but fewer than k.

    Raises:
        CannotPublish: it does.
    """
    if 0 < rows < k:
        raise CannotPublish(
            f"every cell must hold at least k = {k} rows; the view holds {rows}; wait for more rows, or "
            "start a series with a lower k"
        )


def _labelled(axis: Axis) -> bool:
    """Whether coordinates are positions of labels."""
    return axis.kind_code != INTERVAL or axis.column.kind == "ordered"


def _no_texts(count: int) -> pl.Series:
    return pl.Series("", [None], dtype=pl.String).new_from_index(0, count)


def _nodes_to(axis: Axis, last: IntArray) -> pl.Series:
    """The largest node below the root that ends with each of these leaves; null where there is no hierarchy."""
    tree = axis.hierarchy
    if tree is None or not last.size:
        return _no_texts(last.size)
    level = np.count_nonzero(tree.end[last, :-1] == last[:, None] + 1, axis=1) - 1
    texts = pl.Series("", [text for path in tree.labels for text in path], dtype=pl.String)
    return texts.gather(last * len(tree.labels[0]) + level)


def _positions(axis: Axis, ends: pl.DataFrame) -> FloatArray:
    """The last position on the left of cuts with these labels and nodes, -1 for none and inf for all.

    A label that the axis has lost is found among those it has where they are sorted; else nothing is known of it, and
    its cut is dead.
    """
    place = {label: position for position, label in enumerate(axis.labels)}
    nodes: dict[str | None, int] = {}
    if axis.hierarchy is not None:
        nodes = {text: leaf for leaf, path in enumerate(axis.hierarchy.labels) for text in path[:-1]}
    key: Callable[[str], Any] = Fraction if isinstance(axis.column.hierarchy, Intervals) else str
    keys = [key(label) for label in axis.labels]
    ascending = all(one < other for one, other in pairwise(keys))

    def position(label: str, node: str | None) -> float:
        if node in nodes or label in place:
            return nodes[node] if node in nodes else place[label]
        return bisect_right(keys, key(label)) - 1 if ascending else np.inf

    distinct = ends.unique()
    at = pl.Series("at", [position(*line) for line in distinct.rows()], dtype=pl.Float64)
    found = ends.join(
        distinct.with_columns(at), on=["label", "node"], how="left", nulls_equal=True, maintain_order="left"
    )
    return found["at"].to_numpy()


def _space(view: Microdata, domain: FloatArray) -> CutSpace:
    """The axes of a view as the kernel reads them."""
    numbers = np.array([not _labelled(axis) for axis in view.axes])
    widths = np.where(numbers, domain[:, 1] - domain[:, 0], view.widths)
    # Where all values are equal or missing, cutting them apart is worth as much as elsewhere.
    widths = np.where(np.isfinite(widths) & (widths > 0), widths, 1.0)
    gaps = np.array([bool(np.isneginf(points).any()) for points in view.points])
    whole = np.array([axis.whole_numbers or _labelled(axis) for axis in view.axes])
    return CutSpace(**axis_arrays(view.axes, widths), whole=whole, gaps=gaps, domain=domain)


def _ranges(
    axes: Sequence[Axis], cells: CutCells, found: int, domain: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The regions as ranges with both ends in, inside the domain."""
    low, high, missing = cells.low[:found].copy(), cells.high[:found].copy(), cells.missing[:found]
    for place, axis in enumerate(axes):
        whole = axis.whole_numbers or _labelled(axis)
        above = np.floor(low[:, place]) + 1.0 if whole else np.nextafter(low[:, place], np.inf)
        upto = np.floor(high[:, place]) if whole else high[:, place]
        low[:, place] = np.maximum(above, domain[place, 0])
        high[:, place] = np.minimum(upto, domain[place, 1])
    low[missing != NONE_MISSING] = -np.inf
    high[missing == ALL_MISSING] = -np.inf
    return low, high


def moved_frames(
    digests_of: Callable[[FloatArray], WordArray], points: FloatArray, before: WordArray, axes: Sequence[Axis]
) -> dict[str, float]:
    """Return the columns that grew by one for most people since the last release, with 1.0 each.

    Raw views are not kept, so coordinates are shifted back and their digests compared with those that were stored. Of
    more than five columns of whole numbers or dates each is tried alone, and all together.

    Args:
        digests_of: the digests of the same people with other coordinates.
        points: coordinates of a sample of people who were in the last release, some 2,000 at most.
        before: their digests in the last release.
        axes: the axes of `points`.
    """
    growing = [place for place, axis in enumerate(axes) if axis.whole_numbers and not _labelled(axis)]
    sizes = range(1, len(growing) + 1) if len(growing) <= _ALL_SUBSETS else (1, len(growing))
    best: tuple[int, ...] = ()
    most = _agreeing(digests_of(points), before)
    if most == len(before):
        return {}
    for shifted in (some for size in sizes for some in combinations(growing, size)):
        tried = points.copy()
        tried[list(shifted)] -= 1.0
        found = _agreeing(digests_of(tried), before)
        if found > most and 2 * found > len(before):
            best, most = shifted, found
    return {axes[place].column.name: 1.0 for place in best}


def _agreeing(now: WordArray, before: WordArray) -> int:
    return int(np.count_nonzero(now == before))
