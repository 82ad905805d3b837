"""Outermost cells of people: open where no domain is declared, so that nobody's extreme is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from republish import Category, Date, Number, Schema, Series, TauSafety, TwoTables
from republish.parts import Here
from republish.publishing import create

SCHEMA = Schema(
    "id", [Number("age"), Number("height", domain=(100, 220)), Date("seen"), Category("sex")], "dx"
)


def view() -> pl.DataFrame:
    rows = np.arange(80)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in rows],
            "age": [None if i == 40 else 111 if i == 7 else int(20 + 7 * i % 50) for i in rows],
            "height": 150 + 11 * rows % 40,
            "seen": pl.Series((np.datetime64("2026-01-01") + 13 * rows % 90).tolist(), dtype=pl.Date),
            "sex": ["f" if i % 3 else "m" for i in rows],
            "dx": [("flu", "cold", "gout", "hiv")[i % 4] for i in rows],
        }
    )


def made(folder: Path, engine: Here | None = None) -> Series:
    series = Series.create(folder, SCHEMA, TauSafety(m=2), seed=4, form=TwoTables(k=4))
    series.publish(view(), engine=engine)
    return series


@pytest.mark.parametrize("engine", [None, Here(parts=2)], ids=["one process", "in parts"])
def test_nobodys_extreme_is_told(tmp_path: Path, engine: Here | None) -> None:
    series = made(tmp_path / "s", engine)
    table = series.release(1).table()
    for name in ("age", "seen"):
        texts = table[name].drop_nulls()
        assert texts.str.starts_with("<=").any() and texts.str.starts_with(">=").any()
        inside = texts.filter(texts.str.starts_with("["))
        extreme = "111" if name == "age" else "2026-01-01"
        assert not inside.str.contains(extreme, literal=True).any()
    heights = "".join(table["height"])
    assert "[100-" in heights and "220]" in heights and "=" not in heights
    assert series.verify().holds


def test_the_house_knows_the_ends(tmp_path: Path) -> None:
    series = made(tmp_path / "s")
    age = series.release(1).people.cells[0]
    assert (np.nanmin(age.low), np.nanmax(age.high)) == (20, 111)
    typed = series.release(1).frame()
    assert typed["age_lo"].drop_nulls().min() > 20 and typed["age_hi"].drop_nulls().max() < 111


def test_a_series_that_was_made_before_tells_its_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = create._write

    def earlier(*given: Any) -> dict[str, object]:
        return {name: value for name, value in write(*given).items() if name != "open_ends"}

    monkeypatch.setattr(create, "_write", earlier)
    series = made(tmp_path / "s")
    assert not series.open_ends
    assert "111]" in "".join(series.release(1).table()["age"].drop_nulls())
    assert series.verify().holds


def test_exact_numbers_are_published_where_presence_is_public(tmp_path: Path) -> None:
    form = TwoTables(k=1, presence="public")
    assert not Series.create(tmp_path / "s", SCHEMA, TauSafety(m=2), form=form).open_ends
