"""Break points: what a schema or a view can have, and where they lie."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from republish import Category, Date, Hierarchy, Number, Ordered, PolicyError, Schema, read_view
from republish.hierarchies import Calendar, Intervals, Redaction
from republish.spatial.break_points import positions, require_scales
from republish.spatial.cube import cells, cube_of

PLANTS = Hierarchy(
    (("oak", "tree", "*"), ("rose", "flower", "*"), ("elm", "tree", "*"), ("lily", "flower", "*"))
)
UNSORTED = Hierarchy((("30", "old", "*"), ("5", "young", "*"), ("7", "young", "*")))
SCHEMA = Schema(
    "id",
    [
        Number("age", domain=(0, 110)),
        Number("income"),
        Number("years", hierarchy=Intervals((5, 10))),
        Number("odd", hierarchy=UNSORTED),
        Category("town", domain=("a", "b", "3")),
        Category("plant", hierarchy=PLANTS),
        Category("zip", hierarchy=Redaction()),
        Category("open"),
        Ordered("degree", order=("school", "college", "doctor")),
        Date("seen"),
        Date("born", hierarchy=Calendar(("month", "year"))),
    ],
    "dx",
)
RIGHT: list[tuple[str, list[Any]]] = [
    ("age", [-3, 18, 65.5, 999]),
    ("income", [-4, 2.5, 1e9]),
    ("years", [18, 65]),
    ("odd", [30, 5]),
    ("town", ["b", "3"]),
    ("plant", ["elm", "rose"]),
    ("degree", ["college", "doctor"]),
    ("seen", ["2025-04-01", "2026-01-01"]),
    ("born", ["1990-01-01"]),
]
WRONG: list[tuple[str, list[Any], str]] = [
    ("age", ["x"], "found x"),
    ("age", [65, 18], "ascending"),
    ("age", [18, 18], "ascending"),
    ("income", ["nan"], "must be numbers; found nan"),
    ("income", ["inf"], "must be numbers"),
    ("years", ["ten"], "must be numbers"),
    ("odd", [6], "in its hierarchy; found 6"),
    ("odd", [5, 30], "ascending"),
    ("town", [0], "values of the column; found 0"),
    ("town", [999], "found 999"),
    ("town", [-4], "found -4"),
    ("town", [2.5], "found 2.5"),
    ("town", ["3", "a"], "ascending"),
    ("plant", [1], "values of the column in its hierarchy; found 1"),
    ("plant", ["tree"], "in its hierarchy"),
    ("plant", ["rose", "elm"], "ascending"),
    ("zip", ["120"], "list them in the schema"),
    ("open", ["x"], "list them in the schema"),
    ("degree", ["king"], "found king"),
    ("degree", [1], "found 1"),
    ("degree", ["doctor", "college"], "ascending"),
    ("seen", [5], "dates such as 2026-03-02; found 5"),
    ("seen", ["2025-13-01"], "found 2025-13-01"),
    ("seen", ["20250401"], "found 20250401"),
    ("seen", ["2026-01-01", "2025-04-01"], "ascending"),
    ("nobody", [1], "nobody are none"),
    ("dx", ["flu"], "dx are none"),
]


@pytest.mark.parametrize(("name", "points"), RIGHT)
def test_break_points_that_the_schema_can_have_are_taken(name: str, points: list[Any]) -> None:
    require_scales(SCHEMA, None, {name: points})
    require_scales(SCHEMA, None, {name: [str(point) for point in points]})


@pytest.mark.parametrize(("name", "points", "said"), WRONG)
def test_break_points_that_it_cannot_have_are_refused(name: str, points: list[Any], said: str) -> None:
    for given in (points, [str(point) for point in points]):
        with pytest.raises(PolicyError, match=said):
            require_scales(SCHEMA, None, {name: given})


def test_bits_and_break_points_of_one_column_are_refused() -> None:
    with pytest.raises(PolicyError, match="leave out its bits"):
        require_scales(SCHEMA, {"age": 3}, {"age": [18]})


@pytest.mark.parametrize("points", [["0"], [1], ["999"], [2.5]])
def test_a_number_is_no_position_of_a_category_in_a_view_either(points: list[Any]) -> None:
    view = read_view(pl.DataFrame({"town": list("abc")}), Schema(None, [Category("town")], None))
    with pytest.raises(PolicyError, match="values of the column"):
        cube_of(view, scales={"town": points})


def test_numbers_under_intervals_break_where_the_numbers_do() -> None:
    schema = Schema(None, [Number("age", hierarchy=Intervals((5, 10)))], None)
    view = read_view(pl.DataFrame({"age": [3, 17, 20, 64, 70]}), schema)
    assert cells(cube_of(view, scales={"age": [18, 65]}), view.points).tolist() == [[0, 0, 1, 1, 2]]
    # Nobody is between 21 and 60, so that both part the same leaves.
    assert cells(cube_of(view, scales={"age": [21, 60]}), view.points).tolist() == [[0, 0, 0, 1, 1]]


def test_values_of_a_hierarchy_lie_in_its_order() -> None:
    labels = ("oak", "elm", "rose", "lily")
    assert positions(SCHEMA.column("plant"), labels, ["elm", "lily"]) == [1.0, 3.0]
