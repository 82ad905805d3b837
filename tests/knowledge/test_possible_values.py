"""Which values are possible for whom: texts, tables and views."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from republish import Category, Number, PolicyError, Schema, ViewError, read_view
from republish.knowledge.possible_values import PossibleValues

SCHEMA = Schema("id", [Number("age"), Category("gender")], "dx")
TEXT = '{"gender": {"m": ["flu", "gout"], "x": ["flu", "cold", null]}}'


def view_of(*rows: tuple[str | None, str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(len(rows))],
            "age": [30] * len(rows),
            "gender": [gender for gender, _ in rows],
            "dx": [value for _, value in rows],
        }
    )


def test_a_text_is_given_back() -> None:
    assert PossibleValues.of(TEXT).text == TEXT


def test_a_table_lists_possible_pairs() -> None:
    table = pl.DataFrame({"gender": ["m", "f", "m", "m"], "dx": ["gout", "flu", "flu", "flu"]})
    assert PossibleValues.of_table(table, SCHEMA).text == '{"gender": {"f": ["flu"], "m": ["flu", "gout"]}}'


@pytest.mark.parametrize(
    "table",
    [{"gender": ["m"]}, {"gender": ["m"], "age": [3], "dx": ["flu"]}, {"gender": [None], "dx": ["flu"]}],
)
def test_a_table_of_other_columns_is_refused(table: dict[str, list[object]]) -> None:
    with pytest.raises(PolicyError, match="a table of two columns"):
        PossibleValues.of_table(pl.DataFrame(table), SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "gender",
        "[]",
        "{}",
        '{"gender": {}}',
        '{"gender": ["flu"]}',
        '{"a": {"m": ["flu"]}, "b": {"m": ["flu"]}}',
        '{"gender": {"m": "flu"}}',
        '{"gender": {"m": [1]}}',
        '{"gender": {"m": ["flu", "flu"]}}',
    ],
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="theta must be a text such as"):
        PossibleValues.of(text)


def test_a_schema_must_have_the_column_and_the_values() -> None:
    PossibleValues.of(TEXT).require_fit(SCHEMA, 2)
    with pytest.raises(PolicyError, match="at least m=3 possible values; 1 of the 2 cells"):
        PossibleValues.of(TEXT).require_fit(SCHEMA, 3)
    for column in ("age", "dx", "town"):
        with pytest.raises(PolicyError, match="a category or ordered"):
            PossibleValues.of(TEXT.replace("gender", column)).require_fit(SCHEMA, 2)
    closed = Schema("id", [Category("gender")], Category("dx", domain=("cold", "flu")))
    with pytest.raises(ViewError):
        PossibleValues.of(TEXT).require_fit(closed, 2)


def test_who_is_not_listed_may_have_any_value() -> None:
    view = read_view(
        view_of(("m", "flu"), ("x", "cold"), ("f", "gout"), (None, None), ("m", "gout"), ("x", None)), SCHEMA
    )
    of_row, allowed = PossibleValues.of(TEXT).of_people(view)
    values = view.values.to_list()
    found = [{values[i] for i in np.flatnonzero(allowed[one])} for one in of_row]
    everything = {"flu", "cold", "gout", None}
    assert found == [
        {"flu", "gout"},
        {"flu", "cold", None},
        everything,
        everything,
        {"flu", "gout"},
        {"flu", "cold", None},
    ]
    assert len(allowed) == 3


def test_people_of_different_cells_with_the_same_values_are_of_one_class() -> None:
    possible = PossibleValues.of('{"gender": {"m": ["flu", "cold"], "x": ["cold", "flu"]}}')
    of_row, allowed = possible.of_people(read_view(view_of(("m", "flu"), ("x", "cold")), SCHEMA))
    assert (of_row.tolist(), allowed.tolist()) == ([0, 0], [[True, True]])


def test_a_value_that_is_impossible_is_refused_without_a_word_of_it() -> None:
    view = read_view(view_of(("m", "cold"), ("m", "flu"), ("f", "cold")), SCHEMA)
    with pytest.raises(ViewError, match="1 of 3 rows do not, going by gender") as found:
        PossibleValues.of(TEXT).of_people(view)
    assert "cold" not in str(found.value)
