"""Generated tables in one table and in two, to try estimators on."""

from __future__ import annotations

import numpy as np
import polars as pl

from metrics.twins import SECRET
from republish.grouping import Grouping
from republish.microdata import Microdata, read_view
from republish.release.release import Release, build_release
from republish.release.two_tables import TwoTableRelease, build_two_tables
from republish.schema import Category, Number, Ordered, Schema

PAY = tuple(f"{at:02}" for at in range(12))
SCHEMA = Schema(
    quasi_identifiers=[Number("age"), Category("gender")],
    insensitive=["ward"],
    sensitive=Ordered("pay", order=PAY),
)


def workers(rows: int, seed: int, slope: float = 0.08) -> Microdata:
    """People whose pay rises with their age."""
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(rng.gamma(9.0, 4.5, rows)), 18, 75).astype(int)
    gender = rng.choice(["f", "m"], rows)
    pay = np.round(2 + slope * (age - 18) + 0.5 * (gender == "m") + rng.normal(0, 2, rows))
    codes = np.clip(pay, 0, 11).astype(int)
    frame = pl.DataFrame(
        {
            "age": age,
            "gender": gender,
            "ward": rng.integers(1, 4, rows),
            "pay": [PAY[at] for at in codes.tolist()],
        }
    )
    return read_view(frame, SCHEMA)


def neighbours(view: Microdata, size: int) -> Grouping:
    """Groups of people of about the same age."""
    place = np.argsort(np.argsort(view.points[0], kind="stable"))
    last = max(view.rows // size - 1, 0)
    return Grouping(np.minimum(place // size, last).astype(np.int32))


def at_random(view: Microdata, size: int, seed: int) -> Grouping:
    """Groups drawn without regard to anything."""
    place = np.random.default_rng(seed).permutation(view.rows)
    return Grouping(np.minimum(place // size, max(view.rows // size - 1, 0)).astype(np.int32))


def in_one(view: Microdata, size: int = 10) -> Release:
    return build_release(view, neighbours(view, size), SECRET, 1)[0]


def in_two(view: Microdata, batches: Grouping, k: int = 5) -> TwoTableRelease:
    return build_two_tables(view, batches, neighbours(view, k), SECRET, 1)[0]


def by_value(view: Microdata, size: int, seed: int, m: int = 4) -> Grouping:
    """Groups with signatures: each takes people of m values, drawn from all who have one of them."""
    rng = np.random.default_rng(seed)
    kinds, count = np.unique(view.codes), max(view.rows // size, 3)
    signatures = np.array([rng.choice(kinds, m, replace=False) for _ in range(count)])
    group = np.empty(view.rows, dtype=np.int64)
    for kind in kinds.tolist():
        fitting = np.flatnonzero((signatures == kind).any(axis=1))
        own = np.flatnonzero(view.codes == kind)
        group[own] = rng.choice(fitting if len(fitting) else count, len(own))
    return Grouping(np.unique(group, return_inverse=True)[1].astype(np.int32))


def balanced(view: Microdata, size: int, seed: int) -> Grouping:
    """Groups in which every value has the same share, as nearly as that goes."""
    order = np.lexsort((np.random.default_rng(seed).random(view.rows), view.codes))
    group = np.empty(view.rows, dtype=np.int32)
    group[order] = np.arange(view.rows) % (view.rows // size)
    return Grouping(group)
