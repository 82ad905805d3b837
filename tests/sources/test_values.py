from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import ViewError
from republish.schema import Category, Column, Date, Number, Ordered
from republish.sources.values import as_text, is_of_kind, parse, require_single_values


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1.0, 2.5, None, -0.0, 1e-7], ["1", "2.5", None, "0", "1e-7"]),
        ([7, None], ["7", None]),
        ([True, False, None], ["true", "false", None]),
        ([date(1, 1, 1), date(9999, 12, 31)], ["0001-01-01", "9999-12-31"]),
        (["x", None], ["x", None]),
    ],
)
def test_values_have_one_text(values: list[Any], texts: list[str | None]) -> None:
    assert as_text(pl.Series(values)).to_list() == texts


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.floats(-1e9, 1e9, allow_nan=False) | st.integers(-(2**53) + 1, 2**53 - 1) | st.none(), max_size=8
    )
)
def test_numbers_survive_their_texts(values: list[float | None]) -> None:
    column = pl.Series(values, dtype=pl.Float64, strict=False)
    texts = as_text(column)
    assert texts.cast(pl.Float64).to_list() == column.to_list()
    assert all("." in text or "e" in text or float(text).is_integer() for text in texts.drop_nulls())


@pytest.mark.parametrize("column", [Number("x"), Date("x"), Category("x"), Ordered("x", order=("a",))])
@pytest.mark.parametrize("dtype", [pl.Null, pl.Float64, pl.String, pl.Boolean])
def test_a_column_without_values_is_of_every_kind(column: Column, dtype: Any) -> None:
    assert parse(pl.Series([None, None], dtype=dtype), column).to_list() == [None, None]
    assert parse(pl.Series([], dtype=dtype), column).to_list() == []


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        (["1", " 2 "], "number category"),
        (["2020-01-05"], "date category"),
        (["x"], "category"),
        ([1], "number category"),
        ([float("nan")], ""),
        ([2.0**53], ""),
        (["9007199254740993"], "category"),
    ],
)
def test_the_kinds_of_a_column_are_those_it_can_be_read_as(values: list[Any], kinds: str) -> None:
    columns = (Number("x"), Date("x"), Category("x"))
    assert [c.kind for c in columns if is_of_kind(pl.Series("x", values), c)] == kinds.split()


def test_bytes_lists_and_records_are_refused() -> None:
    for cell in (b"x", ["x"], {"x": 1}):
        with pytest.raises(ViewError, match="column c: a cell must be one text"):
            require_single_values(pl.DataFrame({"c": [cell]}))
