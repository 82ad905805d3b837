"""Regressions on batches: what is not known of people inside a batch does not enter.

`aggregate` regresses the mean value of a batch on the means of its people (L. A. Goodman, Ecological regressions,
1953). It is right where people came into batches without regard to their values. `inverse` regresses the means of
people on the mean value, and turns that into the covariance of both: it is right where people came into batches by
their value and otherwise without regard to their columns, as with signatures, and where means of people move along with
the value.

Both can be told from the data: batches made in the assumed way scatter around the line as much as their size lets
expect. `dispersion` is the scatter that is found over that expected: 1, but for chance. Batches that were made by value
scatter much more, or, where values are balanced, much less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray
from republish.errors import PolicyError
from republish.estimates.distributions import gamma_share
from republish.estimates.observations import Observations

_TURNS = 40
_RARE = 0.005  # a dispersion so low or so high by chance is taken not to be chance
_FEWEST = 5  # batches more than coefficients, to tell


class BatchLine(NamedTuple):
    """Coefficients, their standard errors, the dispersion, and the degrees of freedom of both."""

    coefficients: FloatArray
    errors: FloatArray
    freedom: int
    dispersion: float
    scattered: int

    @property
    def believable(self) -> bool:
        """Whether batches scatter as those do that were made in the way that the method assumes."""
        if self.freedom < _FEWEST:
            return False
        share = gamma_share(self.scattered / 2, self.dispersion * self.scattered / 2)
        return _RARE <= share <= 1 - _RARE


class _Batches(NamedTuple):
    weight: FloatArray
    mean: FloatArray
    outcome: FloatArray
    # Of people: means of their columns but the intercept, and the covariance of what cells say of these.
    centre: FloatArray
    covariance: FloatArray


def aggregate(rows: Observations, variance: float) -> BatchLine:
    """Weighted least squares of mean values on means of people; `variance` is that of all values."""
    batches = _batches_of(rows)
    weight, mean, outcome = batches.weight, batches.mean, batches.outcome
    count, width = mean.shape
    _require(count, width)
    bread = inverse_of(np.einsum("i,ij,ik->jk", weight, mean, mean))
    beta = bread @ np.einsum("i,ij,i->j", weight, mean, outcome)
    residual = outcome - mean @ beta
    # Standard errors that allow for batches of different spread and pull (MacKinnon and White 1985, HC3).
    pull = weight * np.einsum("ij,jk,ik->i", mean, bread, mean)
    error = (weight * residual / np.maximum(1.0 - pull, 1e-3)) ** 2
    spread = np.diag(bread @ np.einsum("i,ij,ik->jk", error, mean, mean) @ bread)
    errors = np.sqrt(np.maximum(spread, 0.0))  # rounding may leave a little less than nothing
    left = variance - float(beta[1:] @ batches.covariance @ beta[1:])
    scatter = float((weight * residual**2).sum()) / (count - width)
    return BatchLine(beta, errors, count - width, scatter / left if left > 0 else np.inf, count - width)


def inverse(rows: Observations, variance: float) -> BatchLine:
    """Means of people on mean values, made into coefficients; standard errors are those of the jackknife."""
    batches = _batches_of(rows)
    count, width = batches.mean.shape
    _require(count, width)
    bread = inverse_of(batches.covariance)

    def coefficients(chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
        weight, outcome = batches.weight[chosen], batches.outcome[chosen]
        design = np.column_stack([np.ones(len(weight)), outcome])
        gram = inverse_of(np.einsum("i,ij,ik->jk", weight, design, design))
        line = gram @ np.einsum("i,ij,ik->jk", weight, design, batches.mean[chosen, 1:])
        slopes = bread @ line[1] * variance
        return np.append(np.average(outcome, weights=weight) - batches.centre @ slopes, slopes), line

    everything = np.ones(count, dtype=np.bool_)
    beta, line = coefficients(everything)
    turns = min(_TURNS, count)
    turn = np.random.default_rng(0).permutation(count) % turns
    left = np.array([coefficients(turn != one)[0] for one in range(turns)])
    errors = np.sqrt((turns - 1) / turns * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    residual = batches.mean[:, 1:] - line[0] - np.outer(batches.outcome, line[1])
    scatter = np.einsum("i,ij,jk,ik->", batches.weight, residual, bread, residual)
    scattered = (count - 2) * (width - 1)
    return BatchLine(beta, errors, min(turns, count - 1) - 1, float(scatter) / scattered, scattered)


def inverse_of(gram: FloatArray) -> FloatArray:
    """The inverse of sums of squares; refused where columns cannot be told apart."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    scaled = gram / np.outer(scale, scale)
    if np.linalg.matrix_rank(scaled, tol=1e-9) < len(gram):
        raise PolicyError(
            "the columns of a regression must be distinguished by what is published: one of them does not vary, or "
            "follows from others; leave it out"
        )
    inverse: FloatArray = np.linalg.inv(scaled) / np.outer(scale, scale)
    return inverse


def _batches_of(rows: Observations) -> _Batches:
    weight = np.bincount(rows.batch, rows.weight).astype(np.float64)
    held = weight > 0
    sums = [np.bincount(rows.batch, rows.weight * x)[held] for x in rows.mean.T]
    outcome = np.bincount(rows.batch, rows.weight * rows.outcome)[held] / weight[held]
    centre = np.average(rows.mean[:, 1:], axis=0, weights=rows.weight)
    apart = rows.mean[:, 1:] - centre
    covariance = np.einsum("i,ij,ik->jk", rows.weight, apart, apart) / rows.weight.sum()
    return _Batches(weight[held], np.column_stack(sums) / weight[held, None], outcome, centre, covariance)


def _require(count: int, width: int) -> None:
    if count <= width:
        raise PolicyError(
            f"a regression on batches needs more batches than coefficients; found {count} and {width}: name fewer "
            'columns, or use method "spread"'
        )
