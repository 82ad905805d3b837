"""Some weeks of a small table: people come, change, leave and come back; cells are missing; a week has nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from republish import Category, Hierarchy, Number, Ordered, Schema, Series
from republish.parts import Here
from republish.publishers import Publisher

PLACES = ("11", "12", "21", "22")
WARDS = ("east", "north", "south", "west")
VALUES = ("asthma", "burn", "cold", "cut", "flu", "gout", "hiv", "none")
COLUMNS = {
    "id": pl.String,
    "age": pl.Int64,
    "height": pl.Float64,
    "zip": pl.String,
    "ward": pl.String,
    "dx": pl.String,
}


def schema(sensitive: str = "category") -> Schema:
    """A number, a decimal, a hierarchy and a plain category; the sensitive column of a kind."""
    tree = Hierarchy(tuple((place, f"{place[0]}*", "*") for place in PLACES))
    held = Category("dx") if sensitive == "category" else Ordered("dx", order=VALUES)
    return Schema(
        "id", [Number("age"), Number("height"), Category("zip", hierarchy=tree), Category("ward")], held
    )


def views_of(people: int, number: int, seed: int) -> list[pl.DataFrame]:
    """So many views of a crowd of which each time some are away; the third has nobody."""
    rng = np.random.default_rng(seed)
    unknown = rng.random(people) < 0.1
    ages = rng.integers(20, 80, people).tolist()
    rows: dict[str, Any] = {
        "id": [f"p{i}" for i in range(people)],
        "age": [None if gap else age for gap, age in zip(unknown, ages, strict=True)],
        "height": np.round(rng.normal(170, 9, people), 1),
        "zip": rng.choice(PLACES, people),
        "ward": rng.choice(WARDS, people),
        "dx": rng.permutation(np.resize(np.array(VALUES), people)),
    }
    views = []
    for week in range(number):
        changed, moved = rng.random((2, people)) < 0.1
        rows["dx"] = np.where(changed, rng.choice(VALUES, people), rows["dx"])
        rows["ward"] = np.where(moved, rng.choice(WARDS, people), rows["ward"])
        there = rng.random(people) < (0.75 if week != 2 else 0.0)
        views.append(pl.DataFrame({name: list(part) for name, part in rows.items()}, COLUMNS).filter(there))
    return views


def published(
    folder: Path, publisher: Publisher, engine: Here | None = None, kind: str = "category"
) -> Series:
    """A series of five weeks of 150 people."""
    series = Series.create(folder / "series", schema(kind), publisher, seed=7, one_table=True)
    for week, view in enumerate(views_of(150, 5, 1), 1):
        series.publish(view, as_of=f"2026-03-{week:02d}", engine=engine, meant=["fewer-rows"])
    return series


def close(value: Any) -> Any:
    """A document that any with the same figures equals, decimals up to rounding."""
    if isinstance(value, dict):
        return {key: close(part) for key, part in value.items()}
    return pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
