"""Coefficients of a release beside those of the raw view that it was made of."""

from __future__ import annotations

import numpy as np

from republish.errors import PolicyError
from republish.estimates.design import points_of
from republish.estimates.ecological import inverse_of
from republish.estimates.formula import read_formula
from republish.estimates.regression import Method, regress
from republish.metrics.boxes import aligned
from republish.microdata import Microdata
from republish.queries.columns import Columns
from republish.release.two_tables import AnyRelease
from republish.sources.values import as_text


def compare_regressions(
    release: AnyRelease, view: Microdata, formula: str, method: Method = "auto"
) -> dict[str, dict[str, float]]:
    """Of every coefficient what the view says, what the release says, and its standard error and interval."""
    found, true = regress(release, formula, method), true_coefficients(release, view, formula)
    return {
        name: {"true": true[name], "estimated": value, "standard_error": error, "low": low, "high": high}
        for name, value, error, (low, high) in zip(
            found.names, found.coefficients, found.standard_errors, found.intervals, strict=True
        )
    }


def true_coefficients(release: AnyRelease, view: Microdata, formula: str) -> dict[str, float]:
    """Least squares on the raw view, with the columns that the release has."""
    columns = Columns(release)
    asked = read_formula(formula, columns)
    view = aligned(view, release.people)
    names, design, complete = points_of(view, asked.columns, columns)
    place = columns.domain(columns.names[columns.sensitive]).place
    at = [place.get(text, -1) if text is not None else -1 for text in as_text(view.values).to_list()]
    scores = np.append(asked.scores, np.nan)[np.array(at, dtype=np.int64)][view.codes]
    complete &= np.isfinite(scores)
    if not complete.any():
        raise PolicyError("a regression needs rows of the view without missing values; found none")
    x, y = np.column_stack([np.ones(view.rows), design])[complete], scores[complete]
    beta = inverse_of(x.T @ x) @ (x.T @ y)
    return dict(zip(("(intercept)", *names), beta.tolist(), strict=True))
