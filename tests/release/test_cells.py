from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.hierarchies import Hierarchy, Redaction
from republish.microdata import FLAT, read_view
from republish.release.cells import (
    ALL_MISSING,
    NONE_MISSING,
    SOME_MISSING,
    Cells,
    cells_of_ranges,
    generalize,
    set_texts,
)
from republish.schema import Category, Column, Date, Number, Ordered, Schema

CITIES = Hierarchy((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")))


def cells_of(column: Column, values: list[object], group: list[int], groups: int | None = None) -> Cells:
    view = read_view(pl.DataFrame({column.name: pl.Series(values, strict=False)}), Schema(None, [column]))
    count = max(group, default=-1) + 1 if groups is None else groups
    return generalize(view.axes[0], view.points[0], np.array(group, dtype=np.int64), count)


@pytest.mark.parametrize(
    ("column", "values", "text"),
    [
        (Number("q"), [52, 51], "[51-52]"),
        (Number("q"), [51, 51], "51"),
        (Number("q"), [-5, -2], "[-5..-2]"),
        (Number("q"), [-5, 3], "[-5..3]"),
        (Number("q"), [1.5, 2], "[1.5-2.0]"),
        (Number("q"), [None, None], None),
        (Number("q"), [51, None], "*"),
        (Date("q"), ["2020-01-05", "2020-02-01"], "[2020-01-05..2020-02-01]"),
        (Date("q"), ["2020-01-05", "2020-01-05"], "2020-01-05"),
        (Date("q"), ["0001-01-01", "9999-12-31"], "[0001-01-01..9999-12-31]"),
        (Ordered("q", order=("low", "mid", "high")), ["high", "low"], "[low-high]"),
        (Ordered("q", order=("low-ish", "high")), ["high", "low-ish"], "[low-ish..high]"),
        (Category("q"), ["b", "a"], "{a|b}"),
        (Category("q"), ["b", "b"], "b"),
        (Category("q"), ["*", "*"], "{*}"),
        (Category("q"), ["*", "a"], "{*|a}"),
        (Category("q"), ["{a|b}", "{a|b}"], "{{a\\|b}}"),
        (Category("q"), ["b", None], "*"),
        (Category("q"), [None, None], None),
        (Category("q"), ["a|b", "c\\d"], "{a\\|b|c\\\\d}"),
        (Category("q"), ["a|b", "a|b"], "a|b"),
        (Category("q", domain=("z", "a")), ["z", "a"], "{a|z}"),
        (Category("q", hierarchy=CITIES), ["a", "a"], "a"),
        (Category("q", hierarchy=CITIES), ["a", "b"], "x"),
        (Category("q", hierarchy=CITIES), ["b", "c"], "*"),
        (Category("q", hierarchy=CITIES), ["b", None], "*"),
        (Category("q", hierarchy=CITIES), [None, None], None),
        (Category("q", hierarchy=Redaction()), ["12030", "12031"], "1203*"),
    ],
)
def test_a_group_has_one_cell(column: Column, values: list[object], text: str | None) -> None:
    assert cells_of(column, values, [0, 0]).texts().to_list() == [text]


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (np.nextafter(1.71, 9), 2.5, "(1.71-2.5]"),
        (np.nextafter(1.71, 9), 9.0, ">1.71"),
        (1.2, np.nextafter(1.71, 0), "[1.2-1.71)"),
        (-9.0, np.nextafter(1.71, 0), "<1.71"),
        (np.nextafter(1.71, 9), np.nextafter(1.71, 9), "1.7100000000000002"),
        (np.nextafter(0.0, 1), 2.5, "(0.0-2.5]"),
        (np.nextafter(-1.5, 1), 2.5, "(-1.5..2.5]"),
        (0.1 + 0.2, 2.5, "(0.3-2.5]"),
        (1.71, 2.5, "[1.71-2.5]"),
    ],
)
def test_a_cell_of_decimals_behind_a_cut_is_spelled_by_the_cut(low: float, high: float, text: str) -> None:
    view = read_view(pl.DataFrame({"q": [-9.0, 0.5, 9.0]}), Schema(None, [Number("q")]))
    axis = replace(view.axes[0], ends=(-9.0, 9.0))
    assert cells_of_ranges(axis, np.array([low]), np.array([high])).texts().to_list() == [text]


def test_every_group_has_its_own_cell() -> None:
    cells = cells_of(Number("age"), [1, 2, 7, None, 9, None], [0, 0, 1, 2, 1, 3])
    assert cells.texts().to_list() == ["[1-2]", "[7-9]", None, None]
    assert cells.missing.tolist() == [NONE_MISSING, NONE_MISSING, ALL_MISSING, ALL_MISSING]


def test_rows_without_a_group_play_no_part() -> None:
    assert cells_of(Number("age"), [1, 2, 99, None], [0, 0, -1, -1]).texts().to_list() == ["[1-2]"]
    assert cells_of(Category("c"), ["a", "b", "z", None], [0, 0, -1, -1]).texts().to_list() == ["{a|b}"]


@pytest.mark.parametrize("column", [Number("q"), Category("q"), Category("q", hierarchy=Redaction())])
def test_a_group_of_nobody_says_nothing(column: Column) -> None:
    cells = cells_of(column, [1, 2], [0, 0], groups=2)
    assert cells.texts()[1] == "*"
    assert cells.missing.tolist() == [NONE_MISSING, SOME_MISSING]


def test_typed_columns_of_numbers_have_two_bounds() -> None:
    low, high = cells_of(Number("age"), [1, 2], [0, 0]).columns()
    assert (low.name, low.dtype, low.to_list()) == ("age_lo", pl.Int64, [1])
    assert (high.name, high.dtype, high.to_list()) == ("age_hi", pl.Int64, [2])


def test_typed_columns_keep_decimals_dates_sets_and_nodes() -> None:
    assert cells_of(Number("q"), [1.5, 2], [0, 0]).columns()[0].dtype == pl.Float64
    assert cells_of(Date("q"), ["2020-01-05"], [0]).columns()[1].dtype == pl.Date
    assert cells_of(Ordered("q", order=("a", "b")), ["b"], [0]).columns()[1].to_list() == ["b"]
    assert [c.to_list() for c in cells_of(Category("q"), ["b", "a"], [0, 0]).columns()] == [[["a", "b"]]]
    assert [c.to_list() for c in cells_of(Category("q", hierarchy=CITIES), ["a", "b"], [0, 0]).columns()] == [
        ["x"]
    ]


def test_a_third_column_tells_missing_values() -> None:
    columns = cells_of(Number("q"), [1, None, None, 2], [0, 1, 2, 2]).columns()
    assert {column.name: column.to_list() for column in columns} == {
        "q_lo": [1, None, None],
        "q_hi": [1, None, None],
        "q_missing": [False, True, None],
    }


@pytest.mark.parametrize(
    ("column", "values", "penalty"),
    [
        (Number("q", domain=(0, 100)), [10, 35], 0.25),
        (Number("q"), [7, 7], 0.0),
        (Number("q"), [7, None], 1.0),
        (Number("q"), [None, None], 0.0),
        (Category("q", domain=("a", "b", "c", "d")), ["a", "c"], 0.5),
        (Category("q", domain=("a", "b", "c", "d")), ["a", "a"], 0.0),
        (Category("q", hierarchy=CITIES), ["a", "b"], 0.5),
        (Category("q", hierarchy=CITIES), ["a", "c"], 1.0),
        (Ordered("q", order=("a", "b", "c")), ["a", "b"], 0.5),
    ],
)
def test_the_penalty_is_the_share_of_the_domain(column: Column, values: list[object], penalty: float) -> None:
    assert cells_of(column, values, [0, 0]).penalty().tolist() == [penalty]


def test_sets_are_written_sorted_and_escaped() -> None:
    assert set_texts(pl.Series([["a", "b|"], ["{x}"], None])).to_list() == ["{a|b\\|}", "{{x}}", None]


def test_many_labels_and_groups_do_not_overflow() -> None:
    labels, groups = 60_000, 60_000
    view = read_view(pl.DataFrame({"c": [f"{i:05d}" for i in range(labels)]}), Schema(None, [Category("c")]))
    group = np.arange(groups, dtype=np.int32)
    cells = generalize(view.axes[0], view.points[0], group, groups)
    assert cells.cover(group, view.points[0]).all()
    assert not cells.cover(group, np.roll(view.points[0], 1)).any()


COLUMNS: list[Column] = [
    Number("q"),
    Number("q", domain=(-5, 5)),
    Ordered("q", order=("0", "1", "2", "3", "4")),
    Category("q"),
    Category("q", domain=("4", "3", "2", "1", "0")),
    Category("q", hierarchy=Hierarchy(tuple((str(i), str(i // 2) + "x", "*") for i in range(5)))),
]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(COLUMNS),
    st.lists(st.tuples(st.none() | st.integers(0, 4), st.integers(-1, 3)), min_size=1, max_size=14),
    st.integers(0, 4),
)
def test_a_cell_covers_its_group_and_nothing_else(
    column: Column, rows: list[tuple[int | None, int]], probe: int
) -> None:
    values = [value if value is None or column.kind == "number" else str(value) for value, _ in rows]
    dtype = pl.Float64 if column.kind == "number" else pl.String
    view = read_view(pl.DataFrame({"q": pl.Series(values, dtype=dtype)}), Schema(None, [column]))
    axis, points = view.axes[0], view.points[0]
    group = np.array([g for _, g in rows], dtype=np.int64)
    cells = generalize(axis, points, group, 4)
    kept = group >= 0
    assert cells.cover(group[kept], points[kept]).all()
    if axis.labels and str(probe) not in axis.labels:
        return
    coordinate = float(axis.labels.index(str(probe))) if axis.labels else float(probe)
    inside = cells.cover(np.arange(4), np.full(4, coordinate))
    for g in range(4):
        members = [value for value, own in rows if own == g]
        held = [value for value in members if value is not None]
        if not members or len(held) not in (0, len(members)):
            expected = True
        elif not held:
            expected = False
        elif axis.hierarchy is not None:
            paths = [(v, v // 2, "*") for v in (probe, *held)]
            level = next(level for level in range(3) if len({path[level] for path in paths[1:]}) == 1)
            expected = paths[0][level] == paths[1][level]
        elif axis.kind_code == FLAT:
            expected = probe in held
        else:
            expected = min(held) <= probe <= max(held)
        assert inside[g] == expected
