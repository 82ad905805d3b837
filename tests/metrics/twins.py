"""Slow and obvious versions of what the metrics compute, and small views to try them on."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from republish.grouping import Grouping
from republish.hierarchies import Redaction
from republish.metrics import Workload
from republish.microdata import FLAT, Microdata, read_view
from republish.release.cells import ALL_MISSING, SOME_MISSING, Cells
from republish.release.release import Release, build_release
from republish.schema import Category, Date, Number, Ordered, Schema
from republish.secret import Secret

MISSING = -math.inf
_DAY = date(2020, 2, 1)
SECRET = Secret.from_text("a secret for tests only")

SCHEMA = Schema(
    quasi_identifiers=[
        Number("age"),
        Number("weight"),
        Category("town"),
        Category("zip", hierarchy=Redaction()),
        Date("born"),
        Ordered("school", order=("none", "basic", "high")),
    ],
    sensitive=Category("illness"),
)


@dataclass(frozen=True)
class Case:
    view: Microdata
    release: Release
    membership: np.ndarray
    suppressed: int


def publish(view: Microdata, groups: list[int], counterfeits: list[tuple[int, int]] = ()) -> Case:
    grouping = Grouping(
        np.array(groups, dtype=np.int32),
        np.array([group for group, _ in counterfeits], dtype=np.int32),
        np.array([code for _, code in counterfeits], dtype=np.int32),
    )
    release, membership = build_release(view, grouping, SECRET, 1)
    return Case(view, release, membership, grouping.suppressed)


def numbers(ages: list[Any], values: list[str] | None = None, **settings: Any) -> Microdata:
    """A view of one number, and of a sensitive value where some are given."""
    frame = pl.DataFrame({"age": ages}, schema={"age": pl.Float64})
    if values is not None:
        frame = frame.with_columns(pl.Series("illness", values, dtype=pl.String))
    schema = Schema(
        quasi_identifiers=[Number("age", **settings)], sensitive=None if values is None else "illness"
    )
    return read_view(frame, schema)


@st.composite
def cases(draw: st.DrawFn, counterfeits: bool = True, least: int = 0) -> Case:
    """A random view of all kinds of columns, randomly grouped."""
    maybe = lambda strategy: st.none() | strategy  # noqa: E731
    row = st.tuples(
        maybe(st.integers(-3, 6)),
        maybe(st.sampled_from([0.5, 1.25, 2.0, 3.75])),
        maybe(st.sampled_from("abcde")),
        maybe(st.sampled_from(["10", "11", "20", "21", "30"])),
        maybe(st.dates(min_value=_DAY, max_value=_DAY.replace(day=6))),
        maybe(st.sampled_from(["none", "basic", "high"])),
        maybe(st.sampled_from(["flu", "gout", "ague"])),
    )
    rows = draw(st.lists(row, min_size=least, max_size=24))
    kinds = [pl.Int64, pl.Float64, pl.String, pl.String, pl.Date, pl.String, pl.String]
    frame = pl.DataFrame(rows, schema=dict(zip(SCHEMA.columns, kinds, strict=True)), orient="row")
    view = read_view(frame, SCHEMA)
    raw = draw(st.lists(st.integers(-1, 4), min_size=len(rows), max_size=len(rows)))
    used = sorted({group for group in raw if group >= 0})
    groups = [used.index(group) if group >= 0 else -1 for group in raw]
    extra: list[tuple[int, int]] = []
    if counterfeits and used and len(view.values):
        pair = st.tuples(st.integers(0, len(used) - 1), st.integers(0, len(view.values) - 1))
        extra = draw(st.lists(pair, max_size=4))
    return publish(view, groups, extra)


def allowed(cells: Cells, group: int, points: np.ndarray) -> list[float]:
    """Every value that a cell may stand for, `points` being the raw column."""
    axis, known = cells.axis, sorted(set(points[points > MISSING]))
    if axis.labels:
        domain = [float(at) for at in range(len(axis.labels))]
    elif axis.whole_numbers:
        domain = [float(x) for x in range(int(axis.low), int(axis.high) + 1)]
    else:
        domain = known
    if cells.missing[group] == ALL_MISSING:
        return [MISSING]
    if cells.missing[group] == SOME_MISSING:
        return [*domain, MISSING]
    if axis.kind_code == FLAT:
        return [float(x) for x in cells.members[cells.offsets[group] : cells.offsets[group + 1]]]
    return [x for x in domain if cells.low[group] <= x <= cells.high[group]]


def fits(release: Release, view: Microdata, group: int, point: tuple[float, ...]) -> bool:
    return all(
        x in allowed(cells, group, column)
        for cells, column, x in zip(release.cells, view.points, point, strict=True)
    )


def naive_divergence(case: Case, sensitive: bool) -> float:
    release, view = case.release, case.view
    values = view.values.to_list()
    published = release.rest["illness"].to_list()
    rows = [(*point, code if sensitive else 0) for point, code in zip(view.points.T, view.codes, strict=True)]
    total = 0.0
    everything = len(values) if sensitive else 1
    for cells, column in zip(release.cells, view.points, strict=True):
        blank = Cells(cells.axis, np.array([math.nan]), np.array([math.nan]), np.array([SOME_MISSING]))
        everything *= len(allowed(blank, 0, column)) - (0 if (column == MISSING).any() else 1)
    for row, count in Counter(rows).items():
        estimate = case.suppressed / everything
        for group in range(release.group_count):
            if not fits(release, view, group, row[:-1]):
                continue
            people = release.sizes[group] - release.counterfeits[group]
            if sensitive:
                own = [v for v, g in zip(published, release.group, strict=True) if g == group + 1]
                people = people * own.count(values[row[-1]]) / len(own)
            possible = math.prod(
                len(allowed(cells, group, column))
                for cells, column in zip(release.cells, view.points, strict=True)
            )
            estimate += people / possible
        share = count / view.rows
        total += share * math.log(share / (estimate / view.rows))
    return total


def naive_linkage(case: Case) -> float:
    total = 0.0
    for point, group in zip(case.view.points.T, case.membership, strict=True):
        if group:
            total += 1 / sum(
                case.release.sizes[g]
                for g in range(case.release.group_count)
                if fits(case.release, case.view, g, tuple(point))
            )
    return total / case.view.rows


def naive_true_counts(view: Microdata, workload: Workload) -> list[int]:
    places = {value: at for at, value in enumerate(workload.values.to_list())}
    counts = []
    for q in range(workload.queries):
        matching = 0
        for point, code in zip(view.points.T, view.codes, strict=True):
            inside = all(
                lo <= x <= hi for lo, x, hi in zip(workload.low[q], point, workload.high[q], strict=True)
            )
            place = places.get(view.values[int(code)], -math.inf)
            matching += inside and workload.value_low[q] <= place <= workload.value_high[q]
        counts.append(matching)
    return counts


def naive_estimates(release: Release, workload: Workload, whole_groups: bool) -> list[float]:
    """Row by row: every published row counts the share of its cells that the query takes."""
    values = workload.values.to_list()
    published = release.rest["illness"].to_list()
    counts = []
    for q in range(workload.queries):
        total = 0.0
        for group, value in zip(release.group - 1, published, strict=True):
            share = 1 - release.counterfeits[group] / release.sizes[group]
            for cells, low, high in zip(release.cells, workload.low[q], workload.high[q], strict=True):
                if low > MISSING:
                    share *= _share(cells, group, low, high, whole_groups)
            if workload.value_low[q] > MISSING:
                place = values.index(value) if value is not None else -math.inf
                share *= workload.value_low[q] <= place <= workload.value_high[q]
            total += share
        counts.append(total)
    return counts


def _share(cells: Cells, group: int, low: float, high: float, whole_groups: bool) -> float:
    axis = cells.axis
    if cells.missing[group] == ALL_MISSING:
        return 0.0
    bounds = (cells.low[group], cells.high[group])
    if cells.missing[group] == SOME_MISSING:
        bounds = (axis.low, axis.high)
    if axis.labels or axis.whole_numbers:
        if axis.kind_code == FLAT and cells.missing[group] != SOME_MISSING:
            possible = [float(x) for x in cells.members[cells.offsets[group] : cells.offsets[group + 1]]]
        else:
            possible = [float(x) for x in range(int(bounds[0]), int(bounds[1]) + 1)]
        share = sum(low <= x <= high for x in possible) / len(possible)
        return float(share > 0) if whole_groups else share
    overlap = min(high, bounds[1]) - max(low, bounds[0])
    if overlap < 0:
        return 0.0
    return 1.0 if whole_groups or bounds[0] == bounds[1] else overlap / (bounds[1] - bounds[0])
