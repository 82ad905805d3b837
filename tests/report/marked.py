"""A small series in which every cell and every identifier carries a mark that must not come out anywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from republish import Category, Gate, Number, Schema, Series, TauSafety
from republish.publishers import Publisher

MARK = "XMARKX"
SEED = 918273645
VALUES = [f"{MARK}value{i}" for i in range(4)]


def schema(sensitive: bool = True) -> Schema:
    return Schema(
        identifier="patient",
        quasi_identifiers=[Number("age"), Category("zip")],
        sensitive=Category("diagnosis", domain=VALUES) if sensitive else None,
        insensitive=["ward"],
        dropped=["remark"] if sensitive else ["remark", "diagnosis"],
    )


def view(week: int, people: int = 60) -> pl.DataFrame:
    """Ages have seven digits that are nobody's count; some people leave and some come each week."""
    rng = np.random.default_rng(week)
    who = np.arange(week * 5, week * 5 + people)
    return pl.DataFrame(
        {
            "patient": [f"{MARK}id{i}" for i in who],
            "age": 7_130_000 + who % 40,
            "zip": [f"{MARK}zip{i % 3}" for i in who],
            "diagnosis": [VALUES[i % 4] for i in who],
            "ward": [f"{MARK}ward{i}" for i in rng.integers(0, 3, people)],
            "remark": [f"{MARK}remark"] * people,
        }
    )


def make(
    folder: Path,
    releases: int = 3,
    publisher: Publisher | None = None,
    sensitive: bool = True,
    gate: Gate | None = None,
) -> Series:
    """The series with so many releases."""
    chosen = TauSafety(m=2) if publisher is None else publisher
    series = Series.create(folder, schema(sensitive), chosen, seed=SEED, one_table=True, gate=gate)
    for week in range(releases):
        series.publish(view(week), as_of=f"2026-01-{week + 1:02d}")
    return series
