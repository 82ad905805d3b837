"""People and values of a release as a regression sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import PolicyError
from republish.estimates.design import Part, part_of
from republish.estimates.formula import Formula
from republish.metrics.boxes import real_rows
from republish.queries.columns import Columns
from republish.release.release import Release
from republish.release.two_tables import AnyRelease


class Observations(NamedTuple):
    """The people of a release one by one, as the regression sees them.

    `weight` is the share of a row that belongs to a person; `inside` the covariance of her columns in her cell;
    `outcome` is the mean of her value.
    """

    mean: FloatArray
    inside: FloatArray
    outcome: FloatArray
    weight: FloatArray
    batch: IntArray


class ScoredValues(NamedTuple):
    """The score of every value that is counted, NaN where it is left out, and its batch."""

    score: FloatArray
    batch: IntArray

    def moments(self, batches: int) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the scores of every batch, NaN where it has none."""
        kept = np.isfinite(self.score)
        batch, score = self.batch[kept], self.score[kept]
        count = np.bincount(batch, minlength=batches).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(batch, score, batches) / count
            spread = np.bincount(batch, score**2, batches) / count - mean**2
        return mean, np.maximum(spread, 0.0)


def scored_values(columns: Columns, formula: Formula) -> ScoredValues:
    """The values of a release in their batches, or groups where there is one table."""
    places = columns.places(columns.sensitive)
    score = np.where(places >= 0, np.append(formula.scores, np.nan)[places], np.nan)
    return ScoredValues(score, columns.release.values.group.astype(np.int64) - 1)


def rows_of(
    release: AnyRelease, columns: Columns, formula: Formula, scored: ScoredValues
) -> tuple[tuple[str, ...], Observations, tuple[str, ...]]:
    """The rows that say everything that is asked, and a note on those that do not."""
    people, values = release.people, release.values
    cell = people.group.astype(np.int64) - 1
    parts = [part_of(columns, name) for name in formula.columns]
    mean, inside, known = _joined(parts, cell)
    score = scored.score
    if isinstance(release, Release):
        batch, outcome = cell, score
        weight = (real_rows(people) / np.maximum(people.sizes, 1))[cell]
    else:
        batch = release.batch.astype(np.int64) - 1
        by_batch = np.append(
            scored.moments(max(values.group_count, int(batch.max(initial=-1)) + 1))[0], np.nan
        )
        outcome = by_batch[batch]
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
