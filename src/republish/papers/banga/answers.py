"""Figures 3.12 and 3.13: errors of point and window queries by the number of quasi-identifiers they ask for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.metrics import Workload, estimated_counts, true_counts
from republish.microdata import Microdata
from republish.papers.banga.checks import steadier
from republish.papers.banga.data import (
    BANGA,
    MAKERS,
    MONDRIAN,
    PENALTY,
    RPLUS,
    M,
    about,
    customers,
    published,
)
from republish.papers.checks import all_of, below, falls
from republish.papers.study import Cell, Claim, Row, Scale, figure
from republish.queries import count_many

QUERIES = 300
SELECTIVITY = 0.05
QUASI = 7
EVEN, CLUSTERED = "even", "in clusters"
_KINDS = ("point", "window")


def run_answers(scale: Scale, *, table: str) -> list[Row]:
    """Mean relative error of 300 queries a kind and number of quasi-identifiers, each group counted as a whole.

    A group of BangA is met where its region is met outside of the regions inside it. A query that no row of the view
    matches has no relative error and is left out.
    """
    view = customers(scale, QUASI, clustered=table == CLUSTERED)
    workload = _all_queries(view, scale.seed)
    actual = true_counts(view, workload)
    return [row for method in MAKERS for row in _errors(method, actual, _counted(view, method, workload))]


def cells(scale: Scale) -> list[Cell]:
    """A cell a table."""
    return [Cell("banga-answers", run_answers, {"table": table}) for table in (EVEN, CLUSTERED)]


def _counted(view: Microdata, method: str, workload: Workload) -> FloatArray:
    release = published(view, method, M)
    if release.level is not None:
        return count_many(release, workload).upper.astype(np.float64)
    return estimated_counts(release, workload, "intersecting")


def _errors(method: str, actual: IntArray, counted: FloatArray) -> list[Row]:
    rows: list[Row] = []
    for place, (kind, dimensions) in enumerate(_asked()):
        part = slice(place * QUERIES, (place + 1) * QUERIES)
        matched = actual[part] > 0
        if matched.any():
            error = (counted[part] - actual[part])[matched] / actual[part][matched]
            rows.append(
                {"method": method, "kind": kind, "dimensions": dimensions, "error": float(error.mean())}
            )
    return rows


def _asked() -> list[tuple[str, int]]:
    return [(kind, dimensions) for kind in _KINDS for dimensions in range(1, QUASI + 1)]


def _all_queries(view: Microdata, seed: int) -> Workload:
    """The queries of every kind and number of quasi-identifiers, one after the other."""
    parts = [
        Workload.points(view, QUERIES, dimensions, seed)
        if kind == "point"
        else Workload.random(view, QUERIES, dimensions, SELECTIVITY, seed)
        for kind, dimensions in _asked()
    ]
    return replace(
        parts[0],
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        value_low=np.concatenate([part.value_low for part in parts]),
        value_high=np.concatenate([part.value_high for part in parts]),
    )


_CLAIMS = tuple(
    claim
    for line in (BANGA, PENALTY)
    for claim in (
        Claim(
            f"{about(line)} errs less than the R+-tree whatever the number of quasi-identifiers asked for.",
            "A mean error of at most that of the R+-tree at each of 1 to 7; in shape if on average.",
            below(line, RPLUS),
            own=line != BANGA,
        ),
        Claim(
            f"The more quasi-identifiers a query asks for, the smaller the error, for {about(line)} and the R+-tree.",
            "Falls from 1 to 7 and in three quarters of all pairs; in shape if from 1 to 7.",
            all_of(falls(line), falls(RPLUS)),
            own=line != BANGA,
        ),
        Claim(
            f"The error of {about(line)} changes less with the number of quasi-identifiers than the R+-tree's.",
            "A standard deviation over 1 to 7 of at most that of the R+-tree; in shape if so as a share of the mean.",
            steadier(line, RPLUS),
            own=line != BANGA,
        ),
    )
)

FIGURES = tuple(
    figure(
        f"{name}, customers {table}",
        f"mean relative error of {kind} queries, k = 5",
        "banga-answers",
        ("dimensions", "quasi-identifiers asked for"),
        ("error", "mean relative error (1 = twice as many)"),
        *_CLAIMS,
        line="method",
        where={"table": table, "kind": kind, "method": (BANGA, RPLUS, MONDRIAN, PENALTY)},
        log="y",
    )
    for name, kind in (("Fig. 3.12", "point"), ("Fig. 3.13", "window"))
    for table in (EVEN, CLUSTERED)
)
