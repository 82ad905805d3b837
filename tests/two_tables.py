"""A small series in two tables: three weeks of made-up people under tau-safety."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from republish import Category, Number, Schema, Series, TauSafety
from republish.release.forms import TwoTables

VALUES = ["flu", "asthma", "cancer", "gastritis", "angina", "migraine"]
SCHEMA = Schema("patient", [Number("age"), Number("weight")], Category("diagnosis"), insensitive=["ward"])


def view(week: int = 1, rows: int = 60) -> pl.DataFrame:
    """The people of a week; six of them are others than in the week before."""
    people = range(6 * (week - 1), 6 * (week - 1) + rows)
    return pl.DataFrame(
        {
            "patient": [f"person-{i:03d}" for i in people],
            "age": [20 + i * 7 % 60 for i in people],
            "weight": [50 + i * 11 % 40 for i in people],
            "diagnosis": [VALUES[i % 6] for i in people],
            "ward": ["north" if i % 2 else "south" for i in people],
        }
    )


def make(root: Path, releases: int = 2, form: TwoTables | None = None) -> Series:
    """A series with some releases, the first as of 2 January 2026."""
    series = Series.create(root, SCHEMA, TauSafety(m=3), seed=5, form=form or TwoTables(k=5))
    for week in range(1, releases + 1):
        series.publish(view(week), as_of=f"2026-01-{week + 1:02d}")
    return series
