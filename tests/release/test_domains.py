from __future__ import annotations

import json
from datetime import date
from typing import Any

import polars as pl
import pytest

from republish.hierarchies import Hierarchy, Intervals, Neighbours, Redaction
from republish.microdata import read_view
from republish.release.domains import Scales
from republish.schema import Category, Column, Date, Number, Ordered, Schema

CITIES = Hierarchy((("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")))


def scales_and_copy(schema: Schema, **columns: Any) -> tuple[Scales, Scales]:
    scales = Scales.of(read_view(pl.DataFrame(columns, strict=False), schema))
    return scales, Scales.from_json(json.loads(json.dumps(scales.to_json(schema))), schema)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (Number("q"), [1, 5]),
        (Number("q"), [1.5, None]),
        (Number("q", domain=(0, 10)), [1, 5]),
        (Number("q", hierarchy=Intervals((5, 10))), [1, 17.5]),
        (Date("q"), ["0001-01-01", "9999-12-31"]),
        (Ordered("q", order=("a", "b")), ["b"]),
        (Ordered("q", order=("a", "b", "c"), hierarchy=Neighbours((2,))), ["b"]),
        (Category("q"), ["b", "a", None]),
        (Category("q"), [None]),
        (Category("q", domain=("b", "a")), ["a"]),
        (Category("q", hierarchy=CITIES), ["b"]),
        (Category("q", hierarchy=CITIES, domain=("b", "a")), ["b"]),
        (Category("q", hierarchy=Redaction()), ["12030", "1203", "1"]),
    ],
)
def test_an_axis_comes_back_from_its_document(column: Column, values: list[Any]) -> None:
    scales, copy = scales_and_copy(Schema(None, [column]), q=values)
    one, other = scales.axes[0], copy.axes[0]
    assert (one.column, one.low, one.high, one.labels) == (other.column, other.low, other.high, other.labels)
    assert (one.kind_code, one.width, one.whole_numbers) == (
        other.kind_code,
        other.width,
        other.whole_numbers,
    )
    if one.hierarchy is not None:
        assert other.hierarchy is not None
        assert one.hierarchy.labels == other.hierarchy.labels


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (Category("s"), ["b", None, "a"]),
        (Number("s"), [1.0, 0.1, None, 1e-9]),
        (Date("s"), [date(1, 1, 1), None]),
        (Ordered("s", order=("low", "high")), ["high"]),
    ],
)
def test_the_sensitive_domain_comes_back_code_by_code(column: Column, values: list[Any]) -> None:
    scales, copy = scales_and_copy(Schema(None, [Number("q")], column), q=[1] * len(values), s=values)
    assert scales.values.dtype == copy.values.dtype
    assert scales.values.to_list() == copy.values.to_list()


def test_without_a_sensitive_column_there_is_one_value() -> None:
    _, copy = scales_and_copy(Schema(None, [Number("q")]), q=[1])
    assert copy.values.to_list() == [None]


def test_leaves_that_came_later_do_not_change_an_old_release() -> None:
    schema = Schema(None, [Category("q", hierarchy=CITIES)])
    document = Scales.of(read_view(pl.DataFrame({"q": ["b"]}), schema)).to_json(schema)
    amended = schema.with_hierarchies({"q": CITIES.extended(Hierarchy((("d", "x", "*"),)))})
    assert Scales.from_json(document, amended).axes[0].labels == ("a", "c", "b")
