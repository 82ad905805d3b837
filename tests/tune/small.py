"""Three small views of made-up people, and a series to start from; no knowledge, quick to publish."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish import Category, Number, Schema, Series, TauSafety

VALUES = ["flu", "cold", "cough", "fever"]
SCHEMA = Schema("id", [Number("age"), Number("weight")], Category("dx"))
QUICK = ("mondrian", "tau-safety")


def views(count: int = 3, rows: int = 40) -> list[pl.DataFrame]:
    """Some people leave and others come in every view; values stay."""
    rng = np.random.default_rng(5)
    people = pl.DataFrame(
        {
            "id": [f"SECRET{i:03d}" for i in range(rows + 4 * count)],
            "age": rng.integers(20, 80, rows + 4 * count),
            "weight": rng.integers(50, 99, rows + 4 * count),
            "dx": [VALUES[i % 4] for i in range(rows + 4 * count)],
        }
    )
    return [people[4 * week : 4 * week + rows] for week in range(count)]


def begin(folder: Path, publisher: Any = None, **more: Any) -> Series:
    """A series with nothing published yet."""
    return Series.create(folder, SCHEMA, publisher or TauSafety(m=2), seed=3, **more)


def figures(points: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All that is known of points."""
    return [(p.publisher, p.settings, p.penalty, p.risk, p.feasible, p.counterfeits, p.why) for p in points]
