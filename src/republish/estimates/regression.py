"""Regression of the sensitive value on columns of people, from a release in one table or two.

- `spread` is least squares on the table that an even spread makes: people evenly over their cells, values evenly over
  their batch. What happens inside a batch is taken to be chance, so coefficients lean towards 0.
- `aggregate` and `inverse` are regressions on batches (`republish.estimates.ecological`): each has no such lean where
  batches were made in the way that it assumes, which the batches tell.
- `em` is least squares on the table of binned columns by value that `republish.estimates.em` finds. Its prior makes it
  lean towards the even spread still, less than `spread` does.
- `auto` is `aggregate` where its assumption is borne out, else `inverse` where that is, else `spread`.

An interval of a regression on batches is one of 95 % where its assumption is borne out. Of all others it is that of
the bounds which hold whoever of a batch has which of its values (`republish.estimates.bounds`), and none reaches beyond
these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError
from republish.estimates.bins import bins_of, cell_shares, density_of, span_of
from republish.estimates.bounds import coefficient_bounds
from republish.estimates.design import part_of
from republish.estimates.distributions import t_quantile
from republish.estimates.ecological import BatchLine, aggregate, inverse, inverse_of
from republish.estimates.em import fit
from republish.estimates.formula import Formula, read_formula
from republish.estimates.observations import Observations, ScoredValues, rows_of, scored_values
from republish.estimates.units import units_of
from republish.metrics.boxes import real_rows
from republish.queries.columns import Columns
from republish.release.two_tables import AnyRelease

Method = Literal["auto", "spread", "aggregate", "inverse", "em"]
_WIDE = 1.959963984540054  # of a standard error, either side: 95 %
_MOST_PROFILES = 256
_MOST_KINDS = 10
_SURE = (
    "intervals are bounds that hold no matter who of a group or batch has which of its values, and standard errors "
    "their half width by 1.96"
)
_LEANS = "coefficients lean towards 0 where values follow these columns inside a group or batch"
_BORNE_OUT = {
    "aggregate": "groups or batches scatter as those do into which people came without regard to their values",
    "inverse": "batches scatter as those do into which people came by their value and else without regard to columns",
}
_NOT_BORNE_OUT = {
    "aggregate": "groups or batches do not scatter as those do into which people came without regard to their values: "
    "coefficients may be far off",
    "inverse": "groups or batches do not scatter as those do into which people came by their value alone: coefficients "
    "may be far off",
}


@dataclass(frozen=True)
class Regression:
    """Coefficients with standard errors and intervals of at least 95 %.

    `people` are those counted, `batches` the groups or batches they are in; `method` is the one that was taken.
    """

    formula: str
    method: str
    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    standard_errors: tuple[float, ...]
    people: int
    batches: int
    intervals: tuple[tuple[float, float], ...]
    notes: tuple[str, ...] = ()

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


@dataclass(frozen=True)
class _Asked:
    """One formula put to one release."""

    columns: Columns
    formula: Formula
    names: tuple[str, ...]
    rows: Observations
    scored: ScoredValues
    notes: tuple[str, ...]

    def result(
        self, method: str, beta: FloatArray, errors: FloatArray | None, wide: float, *notes: str
    ) -> Regression:
        """The coefficients with intervals, both inside the bounds that hold for certain; without errors, the bounds."""
        low, high = coefficient_bounds(self.rows, self.scored, _even_bread(self.rows))
        beta = np.clip(beta, low, high)
        if errors is None:
            errors, notes = (high - low) / (2 * _WIDE), (*notes, _SURE)
        else:
            low, high = np.maximum(low, beta - wide * errors), np.minimum(high, beta + wide * errors)
        return Regression(
            self.formula.text,
            method,
            self.names,
            tuple(beta.tolist()),
            tuple(errors.tolist()),
            round(float(self.rows.weight.sum())),
            len(np.unique(self.rows.batch)),
            tuple(zip(low.tolist(), high.tolist(), strict=True)),
            (*self.notes, *notes),
        )


def regress(release: AnyRelease, formula: str, method: Method = "auto") -> Regression:
    """The coefficients of a formula such as `salary ~ age + gender` or `illness = 'flu' ~ age`.

    Args:
        release: the release, in one table or two.
        formula: the sensitive column where it is a number, a date or ordered, or a condition on it, then `~` and
            quasi-identifiers or insensitive columns joined by `+`.
        method: `auto`, `spread`, `aggregate`, `inverse` or `em`.
    """
    methods: dict[str, Callable[[_Asked], Regression]] = {
        "auto": _borne_out,
        "spread": _spread,
        "aggregate": lambda asked: _on_batches(asked, "aggregate", _line(asked, "aggregate")),
        "inverse": lambda asked: _on_batches(asked, "inverse", _line(asked, "inverse")),
        "em": _likeliest,
    }
    if method not in methods:
        raise PolicyError(f"a regression is made with method {', '.join(methods)}; found {method!r}")
    columns = Columns(release)
    read = read_formula(formula, columns)
    scored = scored_values(columns, read)
    names, rows, notes = rows_of(release, columns, read, scored)
    return methods[method](_Asked(columns, read, names, rows, scored, notes))


def _borne_out(asked: _Asked) -> Regression:
    """The regression on batches whose assumption they bear out, or the even spread with bounds."""
    batches = len(np.unique(asked.rows.batch))
    if batches > len(asked.names):
        for method in ("aggregate", "inverse"):
            line = _line(asked, method)
            if line.believable:
                return _on_batches(asked, method, line)
    return _spread(asked)


def _line(asked: _Asked, method: str) -> BatchLine:
    variance = float(np.nanvar(asked.scored.score))
    return aggregate(asked.rows, variance) if method == "aggregate" else inverse(asked.rows, variance)


def _on_batches(asked: _Asked, method: str, line: BatchLine) -> Regression:
    if not line.believable:
        return asked.result(method, line.coefficients, None, 0.0, _NOT_BORNE_OUT[method])
    wide = t_quantile(line.freedom, 0.975)
    return asked.result(method, line.coefficients, line.errors, wide, _BORNE_OUT[method])


def _even_bread(rows: Observations) -> FloatArray:
    """The inverse of the sums of squares of the columns, people spread over their cells."""
    squares = np.einsum("i,ij,ik->jk", rows.weight, rows.mean, rows.mean)
    return inverse_of(squares + np.einsum("i,ijk->jk", rows.weight, rows.inside))


def _spread(asked: _Asked) -> Regression:
    rows = asked.rows
    beta = _even_bread(rows) @ np.einsum("i,ij,i->j", rows.weight, rows.mean, rows.outcome)
    return asked.result("spread", beta, None, 0.0, _LEANS)


def _likeliest(asked: _Asked) -> Regression:
    profiles, x = _profiles(asked.columns, asked.formula)
    units = units_of(asked.columns.release)
    kind, scores = _kinds(asked.scored.score)
    people, values = units.margins(profiles), units.counts(kind, len(scores))
    held = (people.sum(axis=1) > 0) & (values.sum(axis=1) > 0)
    people, values = people[held], values[held]
    if len(people) < 2:
        raise PolicyError('a regression with method "em" needs at least two batches; use method "spread"')
    values *= (people.sum(axis=1) / values.sum(axis=1))[:, None]
    table = fit(people, values).table
    weight = table.sum(axis=1)
    outcome = table @ scores / np.maximum(weight, 1e-12)
    beta = inverse_of(np.einsum("i,ij,ik->jk", weight, x, x)) @ np.einsum("i,ij,i->j", weight, x, outcome)
    return asked.result("em", beta, None, 0.0, _LEANS)


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
