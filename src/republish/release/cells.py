"""The published cell of every group in one quasi-identifier.

Numbers, dates and ordered values become an interval, categories the lowest common ancestor of
their hierarchy, or the set of their values where they have none. Where every value of a group is
missing the cell is empty; where only some are, it is `*`, which says nothing.

Outermost cells of numbers and dates whose ends are nobody's business are open: `<=23`, `>=61`, and `*` where both
ends are. A cell of decimals that begins behind a cut at 1.71 begins at the next number that a computer has; it is
spelled by the cut, which is out: `(1.71-2.5]`, `>1.71`, and in the same way `[1.2-1.71)`, `<1.71`.

The cell of a nested region is the range of values in it, exactly: a range of leaves that is no node is published
as the set of the largest nodes in it, for a node around them would reach into other regions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.hierarchies import Tree
from republish.kernels import kernel
from republish.microdata import FLAT, INTERVAL, TREE, Axis

NONE_MISSING, SOME_MISSING, ALL_MISSING = 0, 1, 2
ANY, UP_TO, FROM = "*", "<=", ">="
BELOW, ABOVE = "<", ">"
_NEXT_TO = 2


def _empty() -> IntArray:
    return np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class Cells:
    """One cell a group: coordinates `low` to `high`, NaN where some or all values are missing.

    For a hierarchy `low` and `high` are the first and last leaf of the published node and `level` its
    level, or the level of the lowest node around them where several nodes are published; for a flat category
    `members[offsets[g]:offsets[g + 1]]` are the positions in the set.
    """

    axis: Axis
    low: FloatArray
    high: FloatArray
    missing: IntArray
    level: IntArray = field(default_factory=_empty)
    offsets: IntArray = field(default_factory=_empty)
    members: IntArray = field(default_factory=_empty)

    @property
    def said(self) -> BoolArray:
        """Where a cell says something about values that are there."""
        return np.equal(self.missing, NONE_MISSING)

    def penalty(self) -> FloatArray:
        """Normalized certainty penalty of every group: 0 for one value, 1 for `*`.

        Cells that are kept over a series may be wider than all that is left in the view: the widest says nothing then.
        """
        loss: FloatArray = (self.missing == SOME_MISSING).astype(np.float64)
        said, width = self.said, self.axis.width
        extent = self.high[said] - self.low[said]
        if self.axis.kind_code == INTERVAL:
            width = max(width, float(extent.max(initial=0.0)))
            loss[said] = extent / width if width > 0 else 0.0
        elif self.axis.kind_code == TREE:
            loss[said] = np.where(extent > 0, (extent + 1) / width, 0.0)
        else:
            held = np.diff(self.offsets)[said]
            loss[said] = np.where(held > 1, held / max(width, held.max(initial=1)), 0.0)
        return loss

    def cover(self, group: IntArray, coordinates: FloatArray) -> BoolArray:
        """Whether each row's own value lies in the cell of its group."""
        state, absent = self.missing[group], np.isneginf(coordinates)
        group = group.astype(np.int64, copy=False)
        with np.errstate(invalid="ignore"):
            inside = (self.low[group] <= coordinates) & (coordinates <= self.high[group])
        if self.axis.kind_code == FLAT:
            key = (
                np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets)) * len(self.axis.labels)
                + self.members
            )
            inside &= np.isin(
                group * len(self.axis.labels) + np.where(absent, 0, coordinates).astype(np.int64), key
            )
        return np.where(state == SOME_MISSING, True, np.where(state == ALL_MISSING, absent, inside & ~absent))

    def texts(self) -> pl.Series:
        """The cells as a person reads them; null where all values are missing."""
        cells = pl.Series(self.axis.column.name, [ANY], dtype=pl.String).new_from_index(0, len(self.low))
        low, high = self.bounds()
        said = pl.Series(self.said)
        if self.axis.kind_code == INTERVAL:
            spelled = _interval_texts(low, high)
        elif self.axis.kind_code == TREE:
            spelled = low
        else:
            spelled = set_texts(low)
        cells = pl.select(pl.when(said).then(spelled).otherwise(cells)).to_series()
        blank = pl.Series(self.missing == ALL_MISSING)
        return pl.select(pl.when(blank).then(None).otherwise(cells)).to_series().rename(self.axis.column.name)

    def bounds(self) -> tuple[pl.Series, pl.Series]:
        """What the typed columns hold: low and high, none where open, or twice the node, or twice the set."""
        name, said = self.axis.column.name, self.said
        low, high = (np.where(said, part, 0.0) for part in (self.low, self.high))
        least, most = (-np.inf, np.inf) if self.axis.ends is None else self.axis.ends
        hidden = (pl.Series(~said | (self.low <= least)), pl.Series(~said | (self.high >= most)))
        if self.axis.kind_code == TREE:
            values = self._node_labels(
                low.astype(np.int64), high.astype(np.int64), np.where(said, self.level, 0)
            )
            pair = (values, values)
        elif self.axis.kind_code == FLAT:
            labels = pl.Series(self.axis.labels, dtype=pl.String)
            sets = _as_lists(labels.gather(self.members), self.offsets)
            pair = (sets, sets)
        elif self.axis.labels:
            labels = pl.Series(self.axis.labels, dtype=pl.String)
            pair = (labels.gather(low.astype(np.int64)), labels.gather(high.astype(np.int64)))
        else:
            kind = pl.Int64 if self.axis.whole_numbers else pl.Float64
            pair = (pl.Series(low).cast(kind), pl.Series(high).cast(kind))
            if self.axis.column.kind == "date":
                pair = (pair[0].cast(pl.Int32).cast(pl.Date), pair[1].cast(pl.Int32).cast(pl.Date))
        first, second = (
            pl.select(pl.when(hide).then(None).otherwise(part)).to_series().rename(name)
            for hide, part in zip(hidden, pair, strict=True)
        )
        return first, second

    def _node_labels(self, first: IntArray, last: IntArray, level: IntArray) -> pl.Series:
        tree = self.axis.hierarchy
        assert tree is not None
        if not tree.labels:
            return pl.Series([""], dtype=pl.String).new_from_index(0, len(first))
        flat = pl.Series([label for path in tree.labels for label in path], dtype=pl.String)
        labels = flat.gather(first * len(tree.labels[0]) + level)
        several = np.flatnonzero((tree.start[first, level] != first) | (tree.end[first, level] != last + 1))
        several = several[self.said[several]]
        if not several.size:
            return labels
        runs, which = np.unique(
            np.stack([first[several], last[several]], axis=1), axis=0, return_inverse=True
        )
        texts = set_texts(pl.Series([_largest_nodes(tree, a, b) for a, b in runs.tolist()]))
        return labels.scatter(several, texts.gather(which.ravel()))

    def columns(self) -> list[pl.Series]:
        """The typed columns of Parquet: `age_lo` and `age_hi`, or one column of nodes or sets.

        `age_missing` follows where values are missing: true where all are, null where some are.
        """
        name = self.axis.column.name
        low, high = self.bounds()
        columns = (
            [low.rename(f"{name}_lo"), high.rename(f"{name}_hi")]
            if self.axis.kind_code == INTERVAL
            else [low]
        )
        if self.missing.any():
            flags = pl.Series(f"{name}_missing", self.missing == ALL_MISSING)
            some = pl.Series(self.missing == SOME_MISSING)
            columns.append(pl.select(pl.when(some).then(None).otherwise(flags).alias(flags.name)).to_series())
        return columns


def _interval_texts(low: pl.Series, high: pl.Series) -> pl.Series:
    """`[40-49]`, `45`, `<=23`, `>=61`; with dashes in the ends `[-5..5]`."""
    (first, behind), (last, before) = _end_texts(low, -np.inf), _end_texts(high, np.inf)
    table = pl.DataFrame({"same": low == high, "exact": low.cast(pl.String), "first": first, "last": last})
    opening, closing = (pl.lit(pl.Series(marks)) for marks in (behind, before))
    separator = (
        pl.when(pl.any_horizontal(pl.col("first", "last").str.contains("-", literal=True)))
        .then(pl.lit(".."))
        .otherwise(pl.lit("-"))
    )
    return table.select(
        pl.when(pl.col("first").is_null() & pl.col("last").is_null())
        .then(pl.lit(ANY))
        .when(pl.col("first").is_null())
        .then(pl.when(closing).then(pl.lit(BELOW)).otherwise(pl.lit(UP_TO)) + pl.col("last"))
        .when(pl.col("last").is_null())
        .then(pl.when(opening).then(pl.lit(ABOVE)).otherwise(pl.lit(FROM)) + pl.col("first"))
        .when("same")
        .then("exact")
        .otherwise(
            pl.concat_str(
                pl.when(opening).then(pl.lit("(")).otherwise(pl.lit("[")),
                "first",
                separator,
                "last",
                pl.when(closing).then(pl.lit(")")).otherwise(pl.lit("]")),
            )
        )
    ).to_series()


def _end_texts(ends: pl.Series, outwards: float) -> tuple[pl.Series, BoolArray]:
    """One end of every interval as a text, and where it is out: the number next to it, which is much shorter."""
    texts = ends.cast(pl.String)
    if ends.dtype != pl.Float64:
        return texts, np.zeros(len(ends), dtype=np.bool_)
    beside = pl.Series(np.nextafter(ends.fill_null(0.0).to_numpy(), outwards)).cast(pl.String)
    out = beside.str.len_chars() + _NEXT_TO < texts.str.len_chars().fill_null(0)
    return pl.select(pl.when(out).then(beside).otherwise(texts)).to_series(), out.to_numpy()


def set_texts(sets: pl.Series) -> pl.Series:
    """`{a|b}`, sorted, `|` and a backslash escaped; a single value stands plain.

    A single value that reads like another cell, `*` or one with a brace in front, stands in braces too.
    """
    escaped = (
        pl.element().str.replace_all("\\", "\\\\", literal=True).str.replace_all("|", "\\|", literal=True)
    )
    joined = sets.list.eval(escaped).list.join("|")
    first = sets.list.first()
    plain = (sets.list.len() == 1) & (first != ANY) & ~first.str.starts_with("{")
    return pl.select(
        pl.when(plain).then(first).otherwise(pl.concat_str(pl.lit("{"), joined, pl.lit("}")))
    ).to_series()


def generalize(axis: Axis, coordinates: FloatArray, group: IntArray, groups: int) -> Cells:
    """The smallest cells that hold the coordinates of every group; rows with a negative group play no part."""
    low, high, absent, size = _extents(coordinates, group, groups)
    missing = np.full(groups, SOME_MISSING, dtype=np.int8)  # also where a group holds nobody: it says nothing
    missing[(absent == 0) & (size > 0)] = NONE_MISSING
    missing[(absent == size) & (size > 0)] = ALL_MISSING
    said = missing == NONE_MISSING
    low, high = np.where(said, low, np.nan), np.where(said, high, np.nan)
    if axis.kind_code == TREE:
        return _climb(axis, low, high, missing)
    if axis.kind_code == FLAT:
        offsets, members = _members(coordinates, group, groups, len(axis.labels), said)
        return Cells(axis, low, high, missing, offsets=offsets, members=members)
    return Cells(axis, low, high, missing)


def cells_of_ranges(axis: Axis, low: FloatArray, high: FloatArray) -> Cells:
    """The cells of ranges of coordinates, both ends in, the missing value being -inf; see `Regions`."""
    missing = np.full(len(low), NONE_MISSING, dtype=np.int8)
    missing[np.isneginf(low)] = SOME_MISSING
    missing[np.isneginf(high)] = ALL_MISSING
    said = missing == NONE_MISSING
    low, high = np.where(said, low, np.nan), np.where(said, high, np.nan)
    if axis.kind_code == INTERVAL:
        return Cells(axis, low, high, missing)
    first, last = (np.where(said, part, 0).astype(np.int64) for part in (low, high))
    if axis.hierarchy is not None:
        level = np.zeros(len(low), dtype=np.int64)
        level[said] = axis.hierarchy.lowest_common(first[said], last[said])
        return Cells(axis, low, high, missing, level=level)
    held = np.where(said, last - first + 1, 0)
    offsets = np.append(0, np.cumsum(held))
    members = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, held)
    return Cells(axis, low, high, missing, offsets=offsets, members=members)


def _largest_nodes(tree: Tree, first: int, last: int) -> list[str]:
    """The labels of the largest nodes that together are the leaves from first to last."""
    labels = []
    while first <= last:
        inside = (tree.start[first] == first) & (tree.end[first] <= last + 1)
        end = int(tree.end[first][inside].max())
        labels.append(tree.labels[first][int(np.argmax(inside & (tree.end[first] == end)))])
        first = end
    return labels


def _climb(axis: Axis, low: FloatArray, high: FloatArray, missing: IntArray) -> Cells:
    """Widen every range of leaves to its lowest common ancestor."""
    tree = axis.hierarchy
    assert tree is not None
    said = missing == NONE_MISSING
    level = np.zeros(len(low), dtype=np.int64)
    first, last = low[said].astype(np.int64), high[said].astype(np.int64)
    level[said] = tree.lowest_common(first, last)
    low[said] = tree.start[first, level[said]]
    high[said] = tree.end[first, level[said]] - 1
    return Cells(axis, low, high, missing, level=level)


def _members(
    coordinates: FloatArray, group: IntArray, groups: int, labels: int, said: BoolArray
) -> tuple[IntArray, IntArray]:
    """The distinct positions in every group that says something."""
    rows = group >= 0
    rows[rows] = said[group[rows]]
    pairs = np.unique(group[rows].astype(np.int64) * max(labels, 1) + coordinates[rows].astype(np.int64))
    owner, members = np.divmod(pairs, max(labels, 1))
    return np.searchsorted(owner, np.arange(groups + 1)), members


@kernel
def _extents(coordinates, group, groups):  # type: ignore[no-untyped-def]
    """Lowest and highest coordinate, missing ones and size of every group in one pass.

    What belongs to a group lies side by side: rows come in no order of groups, and memory is slow to jump.
    """
    bounds = np.empty((groups, 2))
    bounds[:, 0] = np.inf
    bounds[:, 1] = -np.inf
    counts = np.zeros((groups, 2), dtype=np.int64)
    for row in range(group.size):
        g = group[row]
        if g < 0:
            continue
        counts[g, 1] += 1
        x = coordinates[row]
        if x == -np.inf:
            counts[g, 0] += 1
            continue
        bounds[g, 0] = min(bounds[g, 0], x)
        bounds[g, 1] = max(bounds[g, 1], x)
    return bounds[:, 0].copy(), bounds[:, 1].copy(), counts[:, 0].copy(), counts[:, 1].copy()


def _as_lists(values: pl.Series, offsets: IntArray) -> pl.Series:
    """The values cut into lists at the offsets."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    lists = (
        pl.DataFrame({"owner": owner, "value": values})
        .group_by("owner", maintain_order=True)
        .agg(pl.col("value").sort())
    )
    everyone = pl.DataFrame({"owner": np.arange(len(offsets) - 1)})
    return everyone.join(lists, on="owner", how="left", maintain_order="left")["value"]
