"""Query error: how far counts from a release are from those of the raw view, over random queries.

The protocol of the papers (thesis 2.5.2, after Anatomy and m-invariance): every query counts the rows in a
range of each of `dimensions` quasi-identifiers, and, if asked, of the sensitive column. A range takes the
share `selectivity ** (1 / ranges)` of its domain, so that evenly spread data would return the share
`selectivity` of the rows. Ranges of categories are runs of neighbours in the order of their leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import PolicyError, ViewError
from republish.kernels import kernel
from republish.metrics.boxes import (
    Boxes,
    aligned,
    cell_boxes,
    is_discrete,
    ranges,
    ranks_of,
    real_rows,
    require_sensitive,
    sensitive_ranks,
)
from republish.metrics.tuples import Tuples, members_between
from republish.microdata import MISSING, Axis, Microdata
from republish.release.release import Release
from republish.release.two_tables import AnyRelease
from republish.schema import Ordered

Answer = Literal["uniform", "intersecting"]
_OWN_TREE = 100
_EACH_WITH_EACH = 2_000_000  # pairs of a row and a query that are compared at once, without a tree


class _Table(NamedTuple):
    """What the estimate reads of a release.

    The people of cell c are in the units `first_unit[c]` to `first_unit[c + 1]`: `people[u]` of them in the batch
    `batch[u]`. `ranks` are those of all values, sorted batch by batch; of one table every group is a cell and a batch.
    """

    boxes: Boxes
    discrete: BoolArray
    first_unit: IntArray
    people: FloatArray
    batch: IntArray
    ranks: IntArray
    first_row: IntArray
    whole_groups: bool


@dataclass(frozen=True)
class Workload:
    """Counting queries: `low[query, axis]` to `high[query, axis]`, both included, infinite where not asked.

    `value_low` and `value_high` bound the sensitive value by its place in `values`. A missing value is in
    no range that is asked.
    """

    axes: tuple[Axis, ...]
    low: FloatArray
    high: FloatArray
    values: pl.Series
    value_low: FloatArray
    value_high: FloatArray

    @property
    def queries(self) -> int:
        return len(self.low)

    @classmethod
    def random(
        cls,
        view: Microdata,
        queries: int = 10_000,
        dimensions: int = 2,
        selectivity: float = 0.05,
        seed: int = 0,
        *,
        sensitive: bool = False,
    ) -> Workload:
        """Queries over random quasi-identifiers, ranges placed at random in the domain."""
        if not 0 < selectivity <= 1:
            raise PolicyError(
                f"the selectivity of queries must be above 0 and at most 1, found {selectivity}"
            )
        generator = np.random.default_rng(seed)
        asked = _asked(view, queries, dimensions, sensitive, generator)
        share = selectivity ** (1 / (dimensions + sensitive))
        low, high = np.full(asked.shape, -np.inf), np.full(asked.shape, np.inf)
        for a, axis in enumerate(view.axes):
            start, end = _random_ranges(
                axis.low, axis.high, is_discrete(axis), share, generator.random(queries)
            )
            low[asked[:, a], a], high[asked[:, a], a] = start[asked[:, a]], end[asked[:, a]]
        values = _ranked_values(view)
        value_low, value_high = np.full(queries, -np.inf), np.full(queries, np.inf)
        if sensitive:
            last = float(max(len(values) - 1, 0))
            value_low, value_high = _random_ranges(0.0, last, True, share, generator.random(queries))
        return cls(view.axes, low, high, values, value_low, value_high)

    @classmethod
    def together(cls, parts: Sequence[Workload]) -> Workload:
        """All queries of workloads over the same columns, one after the other."""
        columns = (
            [getattr(part, name) for part in parts] for name in ("low", "high", "value_low", "value_high")
        )
        low, high, value_low, value_high = (np.concatenate(column) for column in columns)
        return cls(parts[0].axes, low, high, parts[0].values, value_low, value_high)

    def of_people(self) -> Workload:
        """The same queries without what they ask of the sensitive value."""
        unasked = np.full(self.queries, np.inf)
        return replace(self, value_low=-unasked, value_high=unasked)

    @classmethod
    def points(cls, view: Microdata, queries: int = 1_000, dimensions: int = 2, seed: int = 0) -> Workload:
        """Queries for the exact values of random rows; a value that is missing there is not asked for."""
        generator = np.random.default_rng(seed)
        asked = _asked(view, queries, dimensions, False, generator)
        if view.rows == 0:
            raise ViewError(
                "point queries ask for values of the view, which has no rows; give a view with rows"
            )
        values = view.points[:, generator.integers(0, view.rows, queries)].T
        asked &= values > MISSING
        low, high = np.where(asked, values, -np.inf), np.where(asked, values, np.inf)
        unasked = np.full(queries, np.inf)
        return cls(view.axes, low, high, _ranked_values(view), -unasked, unasked)


@dataclass(frozen=True)
class QueryError:
    """Relative errors of a workload; `empty` queries match no row of the view."""

    median: float
    mean: float
    queries: int
    empty: int


def true_counts(view: Microdata, workload: Workload) -> IntArray:
    """Rows of the view that every query matches."""
    require_axes(view.axes, workload)
    ranks = ranks_of(view.values.gather(view.codes), workload.values).astype(np.float64)
    points = np.vstack([view.points, np.where(ranks < 0, MISSING, ranks)])
    low = np.column_stack([workload.low, workload.value_low])
    high = np.column_stack([workload.high, workload.value_high])
    if view.rows * workload.queries <= _EACH_WITH_EACH:
        inside = np.ones((workload.queries, view.rows), dtype=np.bool_)
        for axis, column in enumerate(points):
            inside &= (low[:, axis, None] <= column) & (column <= high[:, axis, None])
        return np.asarray(inside.sum(axis=1), dtype=np.int64)
    kinds, kind, frequency = np.unique(low > -np.inf, axis=0, return_inverse=True, return_counts=True)
    counts = np.zeros(workload.queries, dtype=np.int64)
    # Few tuples are distinct in the columns of one query: a tree of their own pays where many ask alike.
    for one in np.flatnonzero(frequency >= _OWN_TREE):
        queries, axes = np.flatnonzero(kind.ravel() == one), np.flatnonzero(kinds[one])
        boxes = ranges(low[np.ix_(queries, axes)], high[np.ix_(queries, axes)])
        counts[queries] = Tuples.of(points[axes]).inside(boxes) if axes.size else view.rows
    rest = np.flatnonzero(frequency[kind.ravel()] < _OWN_TREE)
    if rest.size:
        counts[rest] = Tuples.of(points).inside(ranges(low[rest], high[rest]))
    return counts


def estimated_counts(release: AnyRelease, workload: Workload, answer: Answer = "uniform") -> FloatArray:
    """People that every query matches, as a reader of the release estimates them.

    `uniform` spreads the people of a group evenly over its cells: whole numbers, dates, ordered values and
    categories over the values in the cell, decimals over its length, `*` over the whole domain; an empty cell
    matches no range. `intersecting` counts the whole of every group whose cells meet the query (thesis
    3.7.4). The share of a group's counterfeits is left out of both. In two tables a person has each value with its
    share of her batch, or of the whole release where she has none.
    """
    people = release.people
    axes = tuple(cells.axis for cells in people.cells)
    require_axes(axes, workload)
    discrete = np.array([is_discrete(axis) for axis in axes])
    whole = answer == "intersecting"
    table = _Table(
        cell_boxes(people, star_is_domain=True), discrete, *_units(release), *_ranks(release, workload), whole
    )
    asked = (workload.low, workload.high, workload.value_low, workload.value_high)
    counts: FloatArray = _estimate(asked, table)
    return counts


def _units(release: AnyRelease) -> tuple[IntArray, FloatArray, IntArray]:
    """Where the units of every cell begin, their people and their batches."""
    if isinstance(release, Release):
        groups = release.group_count
        return np.arange(groups + 1), real_rows(release).astype(np.float64), np.arange(groups)
    cells, batches = release.people.group_count, int(release.batch.max(initial=0)) + 1
    key = (release.people.group.astype(np.int64) - 1) * batches + release.batch
    unit, people = np.unique(key, return_counts=True)
    first = np.searchsorted(unit // batches, np.arange(cells + 1))
    return first, people.astype(np.float64), unit % batches


def _ranks(release: AnyRelease, workload: Workload) -> tuple[IntArray, IntArray]:
    """The ranks of all values, sorted batch by batch, and where each batch begins; in two tables batch 0 holds all."""
    values = release.values
    group = values.group.astype(np.int64) - 1
    has_values = release.schema.sensitive is not None
    ranks = sensitive_ranks(values, workload.values) if has_values else np.zeros_like(group)
    batches = values.group_count
    if not isinstance(release, Release):
        batches = max(batches, int(release.batch.max(initial=0))) + 1
        group = np.concatenate([np.zeros_like(group), group + 1])
        ranks = np.concatenate([ranks, ranks])
    order = np.lexsort((ranks, group))
    return ranks[order], np.searchsorted(group[order], np.arange(batches + 1))


def query_error(
    release: AnyRelease, view: Microdata, queries: int, seed: int, *, sensitive: bool = False
) -> QueryError:
    """The error of random queries over two quasi-identifiers, with `sensitive` also over the value, 5 % together."""
    view = aligned(view, release.people)
    workload = Workload.random(view, queries, min(2, len(view.axes)), 0.05, seed, sensitive=sensitive)
    return relative_error(true_counts(view, workload), estimated_counts(release, workload))


def relative_error(true: IntArray, estimated: FloatArray, sanity: float = 1.0) -> QueryError:
    """Median and mean of |estimated - true| / max(true, sanity); `sanity` keeps empty queries finite."""
    if sanity <= 0:
        raise PolicyError(f"the sanity bound of a relative error must be above 0, found {sanity}")
    if len(true) == 0:
        return QueryError(0.0, 0.0, 0, 0)
    errors = np.abs(estimated - true) / np.maximum(true, sanity)
    return QueryError(
        float(np.median(errors)), float(errors.mean()), len(true), int(np.count_nonzero(true == 0))
    )


def _asked(
    view: Microdata, queries: int, dimensions: int, sensitive: bool, generator: np.random.Generator
) -> BoolArray:
    """Which axes every query asks about, `dimensions` of them."""
    axes = len(view.axes)
    if queries < 0 or not (0 if sensitive else 1) <= dimensions <= axes:
        raise PolicyError(
            f"a workload needs 0 or more queries over 1 to {axes} quasi-identifiers, found {queries} over "
            f"{dimensions}; lower the dimensions"
        )
    if sensitive:
        require_sensitive(view.schema, "a workload over the sensitive column")
    return np.argsort(np.argsort(generator.random((queries, axes)), axis=1), axis=1) < dimensions


def _random_ranges(
    low: float, high: float, discrete: bool, share: float, places: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ranges over a share of the domain, each at its place between 0 (lowest) and 1 (highest)."""
    if not discrete:
        width = (high - low) * share
        start = low + places * (high - low - width)
        return start, start + width
    count = high - low + 1
    # A hair less, so that 100 values at a share of .1 ** (1/2) ** 2 are 10 and not 11.
    held = max(1.0, np.ceil(count * share - 1e-9))
    start = low + np.floor(places * (count - held + 1))
    return start, start + held - 1


def _ranked_values(view: Microdata) -> pl.Series:
    """The sensitive domain in its order, without the missing value."""
    values = view.values.drop_nulls()
    if isinstance(view.schema.sensitive, Ordered):
        return values.gather(
            np.argsort(ranks_of(values, pl.Series(view.schema.sensitive.order, dtype=pl.String)))
        )
    return values.sort()


def require_axes(axes: tuple[Axis, ...], workload: Workload) -> None:
    """Refuse a workload that was made for other quasi-identifiers."""
    found = [(axis.column.name, axis.labels) for axis in axes]
    if found != [(axis.column.name, axis.labels) for axis in workload.axes]:
        raise ViewError(
            "a workload must ask about the quasi-identifiers and categories of the table it is put to; make "
            "it of the view that the release was made of"
        )


@kernel
def _estimate(asked, table):  # type: ignore[no-untyped-def]
    low, high, value_low, value_high = asked
    counts = np.zeros(len(low))
    shares = np.ones(len(table.first_row) - 1)
    bottoms, tops = table.boxes.low, table.boxes.high
    for query in range(len(low)):
        if value_low[query] > -np.inf:
            for b in range(len(shares)):
                begin, end = table.first_row[b], table.first_row[b + 1]
                held = members_between(table.ranks, begin, end, value_low[query], value_high[query])
                shares[b] = held / (end - begin) if end > begin else 0.0
        else:
            shares[:] = 1.0
        total = 0.0
        for cell in range(len(table.first_unit) - 1):
            part = 1.0
            for a in range(low.shape[1]):
                first, last = low[query, a], high[query, a]
                if first == -np.inf:
                    continue
                # Most cells lie apart or inside, which is told without passing the table on.
                bottom, top = bottoms[cell, a], tops[cell, a]
                if max(first, bottom) > min(last, top):
                    part = 0.0
                elif first > bottom or last < top:
                    part *= _overlap(table, cell, a, first, last)
                if part == 0.0:
                    break
            if part > 0.0:
                for unit in range(table.first_unit[cell], table.first_unit[cell + 1]):
                    total += part * table.people[unit] * shares[table.batch[unit]]
        counts[query] = total
    return counts


@kernel
def _overlap(table, group, a, low, high):  # type: ignore[no-untyped-def]
    """The share of a cell that lies in low..high."""
    boxes = table.boxes
    bottom, top = boxes.low[group, a], boxes.high[group, a]
    start, end = max(low, bottom), min(high, top)
    if start > end:
        return 0.0
    if not table.discrete[a]:
        return 1.0 if table.whole_groups or top == bottom else (end - start) / (top - bottom)
    s = boxes.set_of_axis[a]
    first = boxes.offsets[s, group] if s >= 0 else 0
    last = boxes.offsets[s, group + 1] if s >= 0 else 0
    if last > first:
        held, possible = float(members_between(boxes.members, first, last, start, end)), float(last - first)
    else:
        held, possible = np.floor(end) - np.ceil(start) + 1.0, top - bottom + 1.0
    return 1.0 if table.whole_groups and held > 0 else held / possible
