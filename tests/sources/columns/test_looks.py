from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest

from republish.sources.columns.looks import looks


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["34", "71"], "whole numbers, two digits"),
        (["7", "171"], "whole numbers, up to three digits"),
        (["-7", "3"], "whole numbers, one digit, some below zero"),
        (["1.5", "2"], "decimals"),
        ([1, 20], "whole numbers, up to two digits"),
        (["01067", "80331"], "codes of five digits, leading zeros kept"),
        (["a", "b", "a", "b"], "2 labels"),
        (["a", "a"], "1 label"),
        (["anna", "bert"], "text, mostly unique"),
        ([str(i % 60) + "x" for i in range(600)], "text, 60 different"),
        (["2020-12-31"], "dates, year-month-day"),
        ([date(2020, 12, 31), None], "dates, 50% missing"),
        ([True, False], "true or false"),
        (["a"] * 3 + [None], "1 label, 25% missing"),
        (["a"] * 300 + [None], "1 label, under 1% missing"),
        ([None, None], "empty"),
        ([], "empty"),
    ],
)
def test_a_column_in_a_few_words(cells: list[Any], said: str) -> None:
    assert looks(pl.Series("x", cells)) == said


def test_days_are_said_in_their_form() -> None:
    assert looks(pl.Series("x", ["2020-12-31"]), "DD.MM.YYYY") == "dates, day.month.year"


def test_decimals_say_their_comma() -> None:
    assert looks(pl.Series("x", ["1.5"]), comma=True) == "decimals with a comma"
