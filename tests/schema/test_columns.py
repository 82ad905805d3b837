from __future__ import annotations

import re
from pathlib import Path

import pytest

from republish.errors import SchemaError
from republish.hierarchies import Calendar, Hierarchy, Intervals, Neighbours, Redaction
from republish.schema import Category, Column, Date, Number, Ordered

ZIPS = Hierarchy((("12030", "1203*", "*"), ("12031", "1203*", "*")))


def test_a_hierarchy_may_be_given_as_a_path(tmp_path: Path) -> None:
    ZIPS.write(tmp_path / "zip.csv")
    assert Category("zip", hierarchy=tmp_path / "zip.csv").hierarchy == ZIPS  # type: ignore[arg-type]


@pytest.mark.parametrize("column", [Number("x"), Date("x"), Category("x"), Ordered("x", order=("1",))])
def test_redaction_suits_every_kind(column: Column) -> None:
    given = {"order": ("1",)} if isinstance(column, Ordered) else {}
    assert type(column)("x", hierarchy=Redaction(), **given).hierarchy == Redaction()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Number("x", domain=(2, 1)), "low <= high"),
        (lambda: Number("x", domain=(0, float("nan"))), "low <= high"),
        (lambda: Number("x", domain=(0, float("inf"))), "low <= high"),
        (lambda: Ordered("x"), "needs `order`"),
        (lambda: Ordered("x", order=("a", "a")), "each once"),
        (lambda: Ordered("x", order=("a", "*")), "* stands for any value"),
        (lambda: Category("x", domain=("a", "a")), "each value once"),
        (lambda: Category("x", domain=("12030", "9"), hierarchy=ZIPS), "1 values of its list are not in"),
        (lambda: Ordered("x", order=("8", "9"), hierarchy=ZIPS), "2 values of its list are not in"),
        (lambda: Number("x", weight=0), "weight is a number above 0"),
        (lambda: Number("x", weight=float("nan")), "weight is a number above 0"),
        (lambda: Number("x", weight="2"), "weight is a number above 0"),  # type: ignore[arg-type]
        (lambda: Category("x", distance="near"), "distance must be one of"),
        (lambda: Category("x", distance="ordered"), "needs kind ordered"),
        (lambda: Category("x", distance="hierarchical"), "needs a hierarchy"),
        (lambda: Category("x", hierarchy=Intervals((5,))), "Intervals is for kind number; found category"),
        (lambda: Number("x", hierarchy=Calendar()), "Calendar is for kind date"),
        (lambda: Category("x", hierarchy=Neighbours((2,))), "Neighbours is for kind ordered"),
    ],
)
def test_what_contradicts_itself_is_refused(build: object, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        build()  # type: ignore[operator]
