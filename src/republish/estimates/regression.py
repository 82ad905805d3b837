"""Regression of the sensitive value on columns of people, from a release in one table or two.

- `spread` is least squares on the table that an even spread makes: people evenly over their cells, values evenly over
  their batch. What happens inside a batch is taken to be chance, so coefficients lean towards 0.
- `aggregate` is weighted least squares of the mean of every batch on the means of its people, with standard errors that
  allow for batches of different spread (White 1980, HC1). It has no such lean where a person's value depends on her own
  columns and not on those of her batch, and where batches were made without regard to values; it needs batches that
  differ.
- `em` is least squares on the table of binned columns by value that `republish.estimates.em` finds. Its prior makes it
  lean towards the even spread still, less than `spread` does. Standard errors are those of leaving out a tenth of the
  batches at a time (the jackknife), and besides what the prior can move: from the even spread to the weakest of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import PolicyError
from republish.estimates.bins import bins_of, cell_shares, density_of, span_of
from republish.estimates.design import Part, part_of
from republish.estimates.em import STRENGTHS, fit
from republish.estimates.formula import Formula, read_formula
from republish.estimates.units import units_of
from republish.metrics.boxes import real_rows
from republish.queries.columns import Columns
from republish.release.release import Release
from republish.release.two_tables import AnyRelease

Method = Literal["spread", "aggregate", "em"]
_WIDE = 1.959963984540054  # of a standard error, either side: 95 %
_MOST_PROFILES = 256
_MOST_KINDS = 10
_TENTHS = 10
_BLIND = (
    "this takes people to have come into groups or batches without regard to their values; where a publisher balances "
    "values, as tau-safety and m-invariance do, coefficients are far too large"
)
_LEANS = (
    "coefficients lean towards 0 where values follow these columns inside a group or batch, and standard errors do not "
    "cover that"
)


@dataclass(frozen=True)
class Regression:
    """Coefficients with standard errors; `people` are those counted, `batches` the groups or batches they are in."""

    formula: str
    method: str
    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    standard_errors: tuple[float, ...]
    people: int
    batches: int
    notes: tuple[str, ...] = ()

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Of every coefficient an interval of 95 %."""
        pairs = zip(self.coefficients, self.standard_errors, strict=True)
        return tuple((value - _WIDE * error, value + _WIDE * error) for value, error in pairs)

    def frame(self) -> pl.DataFrame:
        """One line a coefficient."""
        low, high = zip(*self.intervals, strict=True)
        return pl.DataFrame(
            {
                "name": self.names,
                "coefficient": self.coefficients,
                "standard_error": self.standard_errors,
                "low": low,
                "high": high,
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {
            "formula": self.formula,
            "method": self.method,
            "people": self.people,
            "batches": self.batches,
            "coefficients": self.frame().to_dicts(),
            "notes": list(self.notes),
        }


class Observations(NamedTuple):
    """The people of a release one by one, as the regression sees them.

    `weight` is the share of a row that belongs to a person; `inside` the covariance of her columns in her cell;
    `outcome` and `doubt` the mean and the variance of her value.
    """

    mean: FloatArray
    inside: FloatArray
    outcome: FloatArray
    doubt: FloatArray
    weight: FloatArray
    batch: IntArray


def regress(release: AnyRelease, formula: str, method: Method = "em") -> Regression:
    """The coefficients of a formula such as `salary ~ age + gender` or `illness = 'flu' ~ age`.

    Args:
        release: the release, in one table or two.
        formula: the sensitive column where it is a number, a date or ordered, or a condition on it, then `~` and
            quasi-identifiers or insensitive columns joined by `+`.
        method: `spread`, `aggregate` or `em`.
    """
    methods: dict[str, Callable[[AnyRelease, Columns, Formula], Regression]] = {
        "spread": _spread,
        "aggregate": _aggregate,
        "em": _likeliest,
    }
    if method not in methods:
        raise PolicyError(f"a regression is made with method {', '.join(methods)}; found {method!r}")
    columns = Columns(release)
    return methods[method](release, columns, read_formula(formula, columns))


def _rows(
    release: AnyRelease, columns: Columns, formula: Formula
) -> tuple[tuple[str, ...], Observations, tuple[str, ...]]:
    """The rows that say everything that is asked, and a note on those that do not."""
    people, values = release.people, release.values
    cell = people.group.astype(np.int64) - 1
    parts = [part_of(columns, name) for name in formula.columns]
    mean, inside, known = _joined(parts, cell)
    score = _scores_of_rows(columns, formula)
    if isinstance(release, Release):
        batch, outcome, doubt = cell, score, np.zeros(len(cell))
        weight = (real_rows(people) / np.maximum(people.sizes, 1))[cell]
    else:
        batch = release.batch.astype(np.int64) - 1
        by_batch, spread = _moments(values, score)
        held = np.where(batch >= 0, batch, 0)
        outcome = np.where(batch >= 0, by_batch[held] if len(by_batch) else np.nan, np.nan)
        doubt = np.where(batch >= 0, spread[held] if len(spread) else 0.0, 0.0)
        weight = np.ones(len(cell))
    complete = known & np.isfinite(outcome)
    left = int(np.count_nonzero(~complete))
    notes = (f"{left} rows lack a value that the regression needs and are left out",) if left else ()
    if not complete.any():
        raise PolicyError(
            "a regression needs people whose columns are all published; found none: name fewer columns"
        )
    names = ("(intercept)", *(name for part in parts for name in part.names))
    rows = Observations(
        mean[complete],
        inside[complete],
        outcome[complete],
        doubt[complete],
        weight[complete],
        batch[complete],
    )
    return names, rows, notes


def _joined(parts: list[Part], cell: IntArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The design of all rows with an intercept first."""
    at = [slice(None) if part.by_row else cell for part in parts]
    columns = [part.mean[rows] for part, rows in zip(parts, at, strict=True)]
    mean = np.column_stack([np.ones(len(cell)), *columns])
    inside, known, first = (
        np.zeros((len(cell), mean.shape[1], mean.shape[1])),
        np.ones(len(cell), np.bool_),
        1,
    )
    for part, rows in zip(parts, at, strict=True):
        last = first + len(part.names)
        inside[:, first:last, first:last] = part.inside[rows]
        known &= part.known[rows]
        first = last
    return mean, inside, known


def _scores_of_rows(columns: Columns, formula: Formula) -> FloatArray:
    places = columns.places(columns.sensitive)
    return np.where(places >= 0, np.append(formula.scores, np.nan)[places], np.nan)


def _moments(values: Release, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the score in every batch."""
    kept = np.isfinite(score)
    batch = (values.group.astype(np.int64) - 1)[kept]
    count = np.bincount(batch, minlength=values.group_count).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(batch, score[kept], values.group_count) / count
        spread = np.bincount(batch, score[kept] ** 2, values.group_count) / count - mean**2
    return mean, np.maximum(spread, 0.0)


def _spread(release: AnyRelease, columns: Columns, formula: Formula) -> Regression:
    names, rows, notes = _rows(release, columns, formula)
    x, w = rows.mean, rows.weight
    inside = np.einsum("i,ijk->jk", w, rows.inside)
    bread = _inverse(np.einsum("i,ij,ik->jk", w, x, x) + inside)
    beta = bread @ np.einsum("i,ij,i->j", w, x, rows.outcome)
    error = rows.doubt + (rows.outcome - x @ beta) ** 2 + np.einsum("j,ijk,k->i", beta, rows.inside, beta)
    meat = np.einsum("i,ij,ik->jk", w * error, x, x) + np.einsum("i,ijk->jk", w * error, rows.inside)
    errors = np.sqrt(np.diag(bread @ meat @ bread))
    return _result(formula, "spread", names, beta, errors, rows, (*notes, _LEANS))


def _aggregate(release: AnyRelease, columns: Columns, formula: Formula) -> Regression:
    names, rows, notes = _rows(release, columns, formula)
    weight = np.bincount(rows.batch, rows.weight)
    held = weight > 0
    mean = (
        np.column_stack([np.bincount(rows.batch, rows.weight * x)[held] for x in rows.mean.T])
        / weight[held, None]
    )
    outcome = np.bincount(rows.batch, rows.weight * rows.outcome)[held] / weight[held]
    weight = weight[held]
    count, width = mean.shape
    if count <= width:
        raise PolicyError(
            f"a regression on batches needs more batches than coefficients; found {count} and {width}: name fewer "
            'columns, or use method "spread"'
        )
    bread = _inverse(np.einsum("i,ij,ik->jk", weight, mean, mean))
    beta = bread @ np.einsum("i,ij,i->j", weight, mean, outcome)
    error = (weight * (outcome - mean @ beta)) ** 2 * count / (count - width)
    errors = np.sqrt(np.diag(bread @ np.einsum("i,ij,ik->jk", error, mean, mean) @ bread))
    return _result(formula, "aggregate", names, beta, errors, rows, (*notes, _BLIND))


def _likeliest(release: AnyRelease, columns: Columns, formula: Formula) -> Regression:
    names, rows, notes = _rows(release, columns, formula)
    profiles, x = _profiles(columns, formula)
    units = units_of(release)
    kind, scores = _kinds(_scores_of_rows(columns, formula))
    people, values = units.margins(profiles), units.counts(kind, len(scores))
    held = (people.sum(axis=1) > 0) & (values.sum(axis=1) > 0)
    people, values = people[held], values[held]
    values *= (people.sum(axis=1) / values.sum(axis=1))[:, None]

    def coefficients(batches: BoolArray, strength: float | None = None) -> tuple[FloatArray, float]:
        found = fit(people[batches], values[batches], strength)
        weight = found.table.sum(axis=1)
        outcome = found.table @ scores / np.maximum(weight, 1e-12)
        bread = _inverse(np.einsum("i,ij,ik->jk", weight, x, x))
        return bread @ np.einsum("i,ij,i->j", weight, x, outcome), found.strength

    everything = np.ones(len(people), dtype=np.bool_)
    beta, strength = coefficients(everything)
    turns = min(_TENTHS, len(people))
    if turns < 2:
        raise PolicyError('a regression with method "em" needs at least two batches; use method "spread"')
    tenth = np.random.default_rng(0).permutation(len(people)) % turns
    left = np.array([coefficients(tenth != turn, strength)[0] for turn in range(turns)])
    chance = (turns - 1) / turns * ((left - left.mean(axis=0)) ** 2).sum(axis=0)
    strongest, weakest = (coefficients(everything, prior)[0] for prior in (STRENGTHS[0], STRENGTHS[-1]))
    errors = np.sqrt(chance + (weakest - strongest) ** 2)
    return _result(formula, "em", names, beta, errors, rows, (*notes, _LEANS))


def _profiles(columns: Columns, formula: Formula) -> tuple[FloatArray, FloatArray]:
    """The share of every cell in every combination of bins, and the design of each: means of the evenly spread."""
    people = columns.release.people
    axes = {cells.axis.column.name: cells for cells in people.cells}
    if any(name not in axes for name in formula.columns):
        raise PolicyError(
            'a regression with method "em" takes quasi-identifiers; use another for other columns'
        )
    shares, designs = [], []
    weight = real_rows(people).astype(np.float64)
    for name in formula.columns:
        part, cells = part_of(columns, name), axes[name]
        known = density_of(columns, cells)
        own = cell_shares(cells, [span_of(columns, one) for one in bins_of(columns, name)], known)
        own *= part.known[:, None]
        held = weight @ own > 0
        own = own[:, held]
        totals = np.maximum(weight @ own, 1e-12)
        if len(part.names) == 1 and part.names[0] == name:
            mean = (weight * part.mean[:, 0] @ own / totals)[:, None]
        else:
            mean = np.eye(own.shape[1])[:, 1:]
        shares.append(own)
        designs.append(mean)
    sizes = [part.shape[1] for part in shares]
    if prod(sizes) > _MOST_PROFILES:
        raise PolicyError(
            f'a regression with method "em" looks at {_MOST_PROFILES} combinations of values at most, found '
            f'{prod(sizes)}; name fewer columns, or use method "aggregate"'
        )
    at = np.indices(sizes).reshape(len(sizes), -1)
    together = np.ones((people.group_count, at.shape[1]))
    for own, turn in zip(shares, at, strict=True):
        together *= own[:, turn]
    design = [mean[turn] for mean, turn in zip(designs, at, strict=True)]
    return together, np.column_stack([np.ones(at.shape[1]), *design])


def _kinds(score: FloatArray) -> tuple[IntArray, FloatArray]:
    """Scores in at most ten kinds, -1 for those left out, and the mean of each."""
    kept = np.isfinite(score)
    distinct = np.unique(score[kept])
    edges = distinct
    if len(distinct) > _MOST_KINDS:
        edges = np.unique(np.quantile(score[kept], np.arange(_MOST_KINDS) / _MOST_KINDS, method="lower"))
    kind = np.where(kept, np.searchsorted(edges, np.where(kept, score, 0.0), side="right") - 1, -1)
    means = np.bincount(kind[kept], score[kept], len(edges)) / np.bincount(kind[kept], minlength=len(edges))
    return kind, means


def _inverse(gram: FloatArray) -> FloatArray:
    """The inverse of sums of squares; refused where columns cannot be told apart."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    scaled = gram / np.outer(scale, scale)
    if np.linalg.matrix_rank(scaled, tol=1e-9) < len(gram):
        raise PolicyError(
            "the columns of a regression must be told apart by what is published: one of them does not vary, or "
            "follows from others; leave it out"
        )
    inverse: FloatArray = np.linalg.inv(scaled) / np.outer(scale, scale)
    return inverse


def _result(
    formula: Formula,
    method: str,
    names: tuple[str, ...],
    beta: FloatArray,
    errors: FloatArray,
    rows: Observations,
    notes: tuple[str, ...],
) -> Regression:
    return Regression(
        formula.text,
        method,
        names,
        tuple(beta.tolist()),
        tuple(errors.tolist()),
        round(float(rows.weight.sum())),
        len(np.unique(rows.batch)),
        notes,
    )
