"""UCI Adult with its ARX hierarchies, where `REPUBLISH_ADULT` names the folder that holds them."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from republish import Category, LDiversity, Mondrian, Number, Schema, Series, anonymize, measure

FOLDER = Path(os.environ.get("REPUBLISH_ADULT") or "nowhere")
pytestmark = pytest.mark.skipif(
    not (FOLDER / "adult.csv").is_file(), reason="REPUBLISH_ADULT does not name a folder with adult.csv"
)
HIERARCHIES = ("education", "marital-status", "native-country", "race", "sex", "workclass")


def adult() -> tuple[pl.DataFrame, Schema]:
    table = pl.read_csv(FOLDER / "adult.csv", infer_schema=False)
    table.columns = [name.strip() for name in table.columns]
    quasi = [
        Number("age"),
        *(Category(name, hierarchy=FOLDER / f"adult_hierarchy_{name}.csv") for name in HIERARCHIES),
    ]
    table = table.select("age", *HIERARCHIES, "occupation").with_row_index("id")
    return table, Schema("id", quasi, "occupation")


def test_adult_is_published_under_its_own_hierarchies(tmp_path: Path) -> None:
    table, schema = adult()
    series = Series.create(tmp_path / "adult", schema, Mondrian(10, (LDiversity(3),)), seed=1)
    done = series.publish(table)
    assert (done.rows, done.suppressed) == (30_162, 0)
    assert done.measures.levels.k >= 10
    assert series.verify().holds


def test_more_anonymity_costs_more(tmp_path: Path) -> None:
    table, schema = adult()
    penalties = [measure(anonymize(table, schema, Mondrian(k), seed=1)).penalty for k in (5, 50, 500)]
    assert penalties == sorted(penalties)
    assert penalties[0] < 0.2
