"""How far an analyst of a release is off, in figures that she knows: counts, tables of two columns, a regression.

It takes the raw view, so it is measured while a release is made. No figure names a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import RepublishError
from republish.estimates.compare import compare_regressions
from republish.metrics.boxes import aligned, ranks_of
from republish.metrics.queries import Workload, estimated_counts, query_error
from republish.microdata import MISSING, Axis, Microdata
from republish.release.two_tables import AnyRelease

QUERIES = 100
MOST_ROWS = 100_000
"""Of larger views errors are measured in a dry run alone: it takes about as long as making the release."""
_BINS = 5
_MOST_BINS = 6  # categories of no more values have a bin each
_MOST_DUMMIES = 8
_MOST_COLUMNS = 6  # of a regression


@dataclass(frozen=True)
class TableError:
    """Of a table of a quasi-identifier with the sensitive column: the share of people in a wrong cell.

    `independent` is that share where both columns are taken for independent: at or above it nothing was learned.
    """

    column: str
    error: float
    independent: float


@dataclass(frozen=True)
class RegressionError:
    """Of a regression on the release: how many coefficients it has, and how far they are from those of the view.

    `error` is the median distance as a share of the coefficient of the view, `held` counts those that the interval
    holds, `certain` those whose sign the interval tells, `right` those of them with the sign of the view.
    """

    response: str
    columns: tuple[str, ...]
    coefficients: int
    error: float
    held: int
    certain: int
    right: int


@dataclass(frozen=True)
class Usefulness:
    """Errors of one release: medians over random counts, of tables of two columns, and of a regression.

    `count_error` is that of counts of people over two quasi-identifiers, `value_count_error` of those that ask for a
    sensitive value too. Both are shares of the true count. Without a sensitive column there is the first alone.
    """

    count_error: float
    value_count_error: float | None = None
    tables: tuple[TableError, ...] = ()
    regression: RegressionError | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def usefulness_of(release: AnyRelease, view: Microdata) -> Usefulness | None:
    """The errors of a release against the raw view it was made of; `None` where there is nothing to count."""
    if not release.rows or not view.rows:
        return None
    view = aligned(view, release.people)
    counted = query_error(release.people, view, QUERIES, 0).median
    if view.schema.sensitive is None:
        return Usefulness(counted)
    values = Workload.random(view, 0, dimensions=0, sensitive=True).values
    ranks = ranks_of(view.values, values)[view.codes]
    tables = [_table_error(release, view, place, ranks, values) for place in range(len(view.axes))]
    return Usefulness(
        counted,
        query_error(release, view, QUERIES, 0, sensitive=True).median,
        tuple(sorted(tables, key=lambda one: -one.error)),
        _regression_error(release, view),
    )


def _table_error(
    release: AnyRelease, view: Microdata, place: int, ranks: IntArray, values: pl.Series
) -> TableError:
    """Every cell of the table is a count; the people in a wrong one are half of all differences.

    `ranks` are the places of everyone's value among `values`, -1 where it is missing.
    """
    low, high = _bins(view.points[place], view.axes[place])
    first = np.unique(np.arange(_MOST_BINS) * len(values) // _MOST_BINS)
    shape = len(low), len(first)
    workload = _workload(view, place, (low, high), (first, np.append(first[1:], len(values)) - 1), values)
    points = view.points[place]
    known = (points > MISSING) & (ranks >= 0)
    line = np.searchsorted(low, points[known], side="right") - 1
    column = np.searchsorted(first, ranks[known], side="right") - 1
    true = (
        np.bincount(line * shape[1] + column, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)
    )
    people = max(true.sum(), 1.0)
    alone = true.sum(axis=1, keepdims=True) * true.sum(axis=0, keepdims=True) / people
    found = estimated_counts(release, workload).reshape(shape)
    error, independent = (float(np.abs(part - true).sum() / (2 * people)) for part in (found, alone))
    return TableError(view.axes[place].column.name, error, independent)


def _workload(
    view: Microdata,
    place: int,
    bins: tuple[FloatArray, FloatArray],
    of_values: tuple[IntArray, IntArray],
    values: pl.Series,
) -> Workload:
    """The cells of a table of a quasi-identifier with the sensitive column, one query each, line by line."""
    lines, columns = len(bins[0]), len(of_values[0])
    low = np.full((lines * columns, len(view.axes)), -np.inf)
    high = -low
    low[:, place], high[:, place] = (np.repeat(side, columns) for side in bins)
    value_low, value_high = (np.tile(side.astype(np.float64), lines) for side in of_values)
    return Workload(view.axes, low, high, values, value_low, value_high)


def _bins(points: FloatArray, axis: Axis) -> tuple[FloatArray, FloatArray]:
    """Both ends of every bin: a few categories are one each, all else about as many people each."""
    if 0 < len(axis.labels) <= _MOST_BINS:
        each = np.arange(len(axis.labels), dtype=np.float64)
        return each, each
    there = np.sort(points[points > MISSING])
    if not len(there):
        return np.array([axis.low]), np.array([axis.high])
    starts = np.unique(there[np.arange(_BINS) * len(there) // _BINS])
    starts[0] = min(starts[0], axis.low)
    return starts, np.append(np.nextafter(starts[1:], -np.inf), max(axis.high, there[-1]))


def _regression_error(release: AnyRelease, view: Microdata) -> RegressionError | None:
    """A regression of the sensitive column on what it is mostly regressed on; `None` where that cannot be made."""
    columns = _explaining(view)
    formula = _formula(view, columns)
    if not columns:
        return None
    try:
        with np.errstate(all="ignore"):  # what is no number is left out below
            found = compare_regressions(release, view, formula)
    except (RepublishError, np.linalg.LinAlgError):
        return None  # columns that say the same, or cells that leave no line
    return _summed(found, view.schema.sensitive.name if view.schema.sensitive else "", columns)


def _summed(
    found: Mapping[str, Mapping[str, float]], response: str, columns: tuple[str, ...]
) -> RegressionError | None:
    slopes = [one for name, one in found.items() if name != "(intercept)"]
    names = ("true", "estimated", "low", "high")
    true, estimated, low, high = (np.array([one[name] for one in slopes]) for name in names)
    if not slopes or not np.isfinite([true, estimated]).all():
        return None
    rounding = 1e-9 * np.maximum(np.abs(true), 1.0)
    certain = (low > 0) | (high < 0)
    return RegressionError(
        response,
        columns,
        len(slopes),
        float(np.median(np.abs(estimated - true) / np.maximum(np.abs(true), 1e-12))),
        int(((low - rounding <= true) & (true <= high + rounding)).sum()),
        int(certain.sum()),
        int((certain & (np.sign(estimated) == np.sign(true))).sum()),
    )


def _explaining(view: Microdata) -> tuple[str, ...]:
    """The quasi-identifiers of a regression: numbers first, then categories of few values; none that never varies."""
    varying = [
        axis
        for axis, points in zip(view.axes, view.points, strict=True)
        if len(np.unique(points[points > MISSING])) > 1
        and (axis.column.kind != "category" or len(axis.labels) <= _MOST_DUMMIES)
    ]
    varying.sort(key=lambda axis: axis.column.kind == "category")
    return tuple(axis.column.name for axis in varying[:_MOST_COLUMNS])


def _formula(view: Microdata, columns: tuple[str, ...]) -> str:
    """The sensitive column, or where its values have no order that it is its most frequent one, on the columns."""
    sensitive = view.schema.sensitive
    assert sensitive is not None
    left = _quoted(sensitive.name)
    if sensitive.kind == "category":
        value = view.values.gather([int(np.bincount(view.codes).argmax())]).cast(pl.String)[0] or ""
        left += " = '{}'".format(value.replace("'", "''"))
    return f"{left} ~ {' + '.join(map(_quoted, columns))}"


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
