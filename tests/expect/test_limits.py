"""`[expect]` of series.toml: which limits there are, how they are written, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from republish import Category, Number, PolicyError, Schema, Series, TauSafety
from republish.expect import EARLIER, Expect, Limit
from republish.expect.limits import expect_from_mapping


def test_a_new_series_says_what_is_expected(tmp_path: Path) -> None:
    series = _made(tmp_path)
    assert "[expect.missing]\nwarn = 0.1\nrefuse = 0.5\n" in (series.root / "series.toml").read_text()
    assert Series.open(series.root).policy.expect == Expect()


def test_a_series_that_says_nothing_expects_what_it_did(tmp_path: Path) -> None:
    series = _made(tmp_path)
    text = (series.root / "series.toml").read_text()
    before, _, rest = text.partition("[expect.")
    (series.root / "series.toml").write_text(before + rest[rest.index("[schema") :])
    assert Series.open(series.root).policy.expectations is EARLIER


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.2, Limit(refuse=0.2)),
        ({"warn": 0.2}, Limit(warn=0.2)),
        ({"warn": 0.1, "refuse": 1}, Limit(0.1, 1.0)),
        ({}, Limit()),
        (False, Limit()),
    ],
)
def test_how_a_limit_is_written(written: Any, meant: Limit) -> None:
    assert expect_from_mapping({"missing": written}) == Expect(missing=meant)


@pytest.mark.parametrize(
    "section", [{"rows": 1}, {"missing": "a"}, {"missing": -1}, {"missing": True}, {"missing": {"w": 1}}, 3]
)
def test_what_is_no_limit_is_refused(section: Any) -> None:
    with pytest.raises(PolicyError, match=r"\[expect\]"):
        expect_from_mapping(section)


def test_limits_may_be_changed_after_a_release(tmp_path: Path) -> None:
    series = _made(tmp_path)
    series.publish(_view(60))
    file = series.root / "series.toml"
    file.write_text(file.read_text().replace("refuse = 0.5", "refuse = 0.05", 1))  # fewer_rows
    opened = Series.open(series.root)
    assert opened.publish(_view(20)).meant == ()
    assert opened.verify().holds


def _made(folder: Path) -> Series:
    return Series.create(folder / "s", Schema("id", [Number("age")], Category("dx")), TauSafety(2), seed=1)


def _view(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": range(rows),
            "age": [20 + i % 30 for i in range(rows)],
            "dx": [f"d{i % 4}" for i in range(rows)],
        }
    )
