"""Who is in which batch of two tables that another tool made."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import Category, Number, Schema, read_view
from republish.attacks.matching.foreign_batches import PeopleLines, placed_in_batches, read_foreign_batches
from republish.microdata import Microdata, sensitive_codes
from republish.release.two_tables import TwoTableRelease

SCHEMA = Schema("id", (Number("age"),), Category("dx"))


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """A view with its true batches, and people and values as another tool would publish them."""
    size = draw(st.integers(4, 24))
    ages = draw(st.lists(st.integers(20, 59), min_size=size, max_size=size))
    dx = draw(st.lists(st.sampled_from("abcd"), min_size=size, max_size=size))
    batch = draw(st.lists(st.integers(1, 4), min_size=size, max_size=size))
    view = pl.DataFrame({"id": [f"p{i}" for i in range(size)], "age": ages, "dx": dx, "batch": batch})
    low = pl.col("age") // 10 * 10
    cell = pl.concat_str(pl.lit("["), low, pl.lit("-"), low + 9, pl.lit("]"))
    people = view.select(age=cell, batch=pl.format("B{}", "batch")).sample(fraction=1, shuffle=True, seed=1)
    values = view.group_by(pl.format("B{}", "batch").alias("batch"), "dx").len("count")
    return view, people, values


def placed(
    view: pl.DataFrame, people: pl.DataFrame, values: pl.DataFrame, stated: Any = None
) -> tuple[TwoTableRelease, Microdata, np.ndarray, PeopleLines]:
    raw = read_view(view.drop("batch"), SCHEMA)
    release = read_foreign_batches(people, values, SCHEMA, raw.axes)
    codes, _ = sensitive_codes(release.values.rest["dx"], Category("dx"), raw.values)
    return release, raw, codes, placed_in_batches(release, raw, codes.astype(np.int64), stated)


def over(one: np.ndarray, other: np.ndarray, published: list[tuple[int, int]], there: np.ndarray) -> int:
    """How many pairs are taken more often than they were published, counted one by one."""
    left = list(published)
    wrong = 0
    for pair in zip(one[there].tolist(), other[there].tolist(), strict=True):
        if pair in left:
            left.remove(pair)
        else:
            wrong += 1
    return wrong


@settings(max_examples=40)
@given(tables())
def test_nobody_is_where_cells_or_values_do_not_fit_and_no_line_is_taken_twice(
    found: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame],
) -> None:
    release, raw, codes, lines = placed(*found)
    there = lines.cell > 0
    assert ((lines.batch > 0) == there).all()
    shown = list(zip(release.batch.tolist(), release.people.group.tolist(), strict=True))
    assert over(lines.batch, lines.cell, shown, there) == 0
    counted = list(zip(release.values.group.tolist(), codes.tolist(), strict=True))
    assert over(lines.batch, raw.codes, counted, there) == 0
    cells = release.people.cells[0]
    assert cells.cover(lines.cell[there].astype(np.int64) - 1, raw.points[0][there]).all()


@settings(max_examples=40)
@given(tables())
def test_where_the_view_says_who_is_in_which_batch_everyone_finds_her_line(
    found: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame],
) -> None:
    view, people, values = found
    names = sorted({f"B{one}" for one in view["batch"]})
    stated = np.array([names.index(f"B{one}") + 1 for one in view["batch"]])
    *_, lines = placed(view, people, values, stated)
    assert lines.batch.tolist() == stated.tolist()
    assert (lines.cell > 0).all()
    assert lines.elsewhere == 0


def test_single_lines_leave_one_batch_and_people_without_one_have_a_cell_alone() -> None:
    view = pl.DataFrame(
        {"id": ["a", "b", "c"], "age": [21, 35, 47], "dx": ["x", "y", "x"], "batch": [1, 1, 0]}
    )
    people = pl.DataFrame({"age": ["[20-29]", "[30-39]", "[40-49]"], "batch": [7, 7, None]})
    values = pl.DataFrame({"batch": [7, 7], "dx": ["x", "y"], "count": [1, 1]})
    *_, lines = placed(view, people, values)
    assert lines.batch.tolist() == [1, 1, 0]
    assert (lines.cell > 0).tolist() == [True, True, True]
    assert lines.elsewhere == 0


def test_people_who_could_be_in_either_batch_are_counted() -> None:
    view = pl.DataFrame({"id": ["a", "b"], "age": [21, 22], "dx": ["x", "x"], "batch": [1, 2]})
    people = pl.DataFrame({"age": ["[20-29]", "[20-29]"], "batch": ["p", "q"]})
    values = pl.DataFrame({"batch": ["p", "q"], "dx": ["x", "x"], "count": [1, 1]})
    *_, lines = placed(view, people, values)
    assert sorted(lines.batch.tolist()) == [1, 2]
    assert lines.elsewhere == 2
