"""Publishing and its kernels against named limits: what a sort, a k-d tree or polars needs for the same rows.

Work and limit take turns in one warm process, so that a ratio is one of its repeat.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from bench.mondrian import COLUMNS, K, space_of
from bench.orders import queries, tables
from bench.peers.package import timed
from bench.penalty_tree import uniform
from bench.publish import make_view, polars_round_trip, publish_once
from republish.orders import hilbert_order, nearest_point_next
from republish.publishers.mondrian import divide
from republish.requirements import KAnonymity
from republish.spatial import bulk_load, cube_of

REPEATS = 3


class Ratio(NamedTuple):
    """What something took in every repeat, and its limit beside it."""

    what: str
    rows: int
    limit: str
    seconds: list[float]
    limits: list[float]

    @property
    def ratios(self) -> list[float]:
        """Lowest first."""
        return sorted(ours / theirs for ours, theirs in zip(self.seconds, self.limits, strict=True))


def compared(what: str, rows: int, limit: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> Ratio:
    """Both in turns, once before to warm up."""
    ours(), theirs()
    pairs = [(timed(ours), timed(theirs)) for _ in range(REPEATS)]
    return Ratio(what, rows, limit, [one for one, _ in pairs], [other for _, other in pairs])


def measured(rows: int = 1_000_000) -> Iterator[Ratio]:
    """A line for each kernel with a limit, and one for `publish`."""
    space, codes, whole = space_of(rows)
    points = np.ascontiguousarray(space.points.T)
    yield compared(
        "Mondrian, k = 10",
        rows,
        "cKDTree",
        lambda: divide(space, codes, whole, (KAnonymity(K),), True),
        lambda: cKDTree(points, leafsize=K),
    )
    view = uniform(rows, COLUMNS)
    yield compared(
        "index of the penalty tree",
        rows,
        "cKDTree",
        lambda: bulk_load(cube_of(view), view.points, 5),
        lambda: cKDTree(points, leafsize=5),
    )
    yield compared(
        "Hilbert order",
        rows,
        "np.lexsort",
        lambda: hilbert_order(view.points),
        lambda: np.lexsort(view.points),
    )
    some = tables(rows // 10)["5 uniform"]
    yield compared(
        "nearest point next",
        rows // 10,
        "cKDTree, its queries",
        lambda: nearest_point_next(some),
        lambda: queries(some),
    )
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "view.csv"
        make_view(rows, path)
        yield compared(
            "`publish`: read, group, verify, write, commit",
            rows,
            "polars, read and write",
            lambda: publish_once(path, folder),
            lambda: polars_round_trip(path, folder),
        )


def line(found: Ratio) -> str:
    """One line of the table."""
    low, middle, high = found.ratios[0], found.ratios[len(found.ratios) // 2], found.ratios[-1]
    return (
        f"| {found.what} | {found.rows:,} | {min(found.seconds):.2f} s | {found.limit} {min(found.limits):.2f} s "
        f"| {middle:.2f} ({low:.2f} to {high:.2f}) |"
    )
