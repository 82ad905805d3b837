"""The regions of an index between two releases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import Category, Hierarchy, Number, Schema, read_view
from republish.spatial.bang.bang_file import bulk_load
from republish.spatial.cube import cube_of
from republish.spatial.region_table import regions_table, stored_regions
from spatial.layouts import check, clouds, grid, regions

PLANTS = Hierarchy((("oak", "tree", "*"), ("elm", "tree", "*"), ("lily", "flower", "*")))
SCHEMA = Schema(None, [Number("a"), Category("b"), Category("c", hierarchy=PLANTS)], None)


def view(**columns):
    rng = np.random.default_rng(0)
    made = {
        "a": rng.random(200) * 100,
        "b": rng.choice(["x", "y", "z"], 200),
        "c": rng.choice(["oak", "elm", "lily"], 200),
    }
    return read_view(pl.DataFrame({**made, **columns}), SCHEMA)


def table_of(before, m=3):
    return regions_table(bulk_load(cube_of(before), before.points, m), before)


def test_regions_are_the_same_after_they_were_written_down(tmp_path: Path) -> None:
    before = view()
    index = bulk_load(cube_of(before), before.points, 3)
    regions_table(index, before).write_parquet(tmp_path / "regions.parquet")
    again = stored_regions(pl.read_parquet(tmp_path / "regions.parquet"), cube_of(before), before)
    assert again is not None
    assert regions(again) == regions(index)
    assert again.parent.tolist() == index.parent.tolist()
    assert (again.m, again.full, len(again.block)) == (3, 7, 0)
    assert again.updated(before.points).block.tolist() == index.block.tolist()


def test_rows_are_not_written_down() -> None:
    table = table_of(view(), m=20)
    assert table.height == 1
    lengths = [len(table[name][0]) for name in table.columns if name != "labels"]
    assert max(lengths) < 100


HALF = np.where(np.arange(200) % 2 == 0, None, 50.0)


@pytest.mark.parametrize(
    ("columns", "fits"),
    [
        ({}, True),
        ({"b": ["x", "y", "z"] + ["x"] * 197}, True),
        ({"b": ["w", "y", "z"] + ["x"] * 197}, False),
        ({"b": ["x", "y"] * 100}, False),
        ({"a": np.arange(200) / 2 + 0.1}, True),
        ({"a": [1e3] + [50.0] * 199}, True),
        ({"a": np.arange(200) + 50}, False),
        ({"a": [1.0, 1.5] * 100}, False),
        ({"a": pl.Series(HALF.tolist())}, False),
    ],
)
def test_regions_fit_as_long_as_values_lie_on_their_scales(columns, fits) -> None:
    table = table_of(view())
    later = view(**columns)
    assert (stored_regions(table, cube_of(later), later) is not None) == fits


def test_a_scale_with_a_place_for_missing_values_may_find_none() -> None:
    before = view(a=pl.Series([None, *np.linspace(0, 100, 199).tolist()]))
    assert stored_regions(table_of(before), cube_of(view()), view()) is not None


def test_other_break_points_do_not_fit() -> None:
    before = view()
    index = bulk_load(cube_of(before, scales={"a": [20, 50]}), before.points, 3)
    table = regions_table(index, before)
    assert stored_regions(table, cube_of(before, scales={"a": [20, 50]}), before) is not None
    assert stored_regions(table, cube_of(before, scales={"a": [20, 60]}), before) is None
    assert stored_regions(table, cube_of(before), before) is None


def test_a_column_of_one_value_fits_until_there_are_two() -> None:
    before = view(a=[5] * 200)
    table = table_of(before)
    assert stored_regions(table, cube_of(before), before) is not None
    assert stored_regions(table, cube_of(view()), view()) is None


# --- an index grown out of another --------------------------------------------------------------------------


@settings(max_examples=60)
@given(clouds(most=60), st.integers(1, 4), st.data())
def test_an_updated_index_is_valid_whatever_became_of_the_points(cloud, m, data) -> None:
    bits, points = cloud
    rows = points.shape[1]
    if rows < m:
        return
    index = bulk_load(grid(*bits), points, m)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    for _ in range(3):
        later = points[:, rng.integers(0, rows, data.draw(st.integers(m, 2 * rows)))]
        moved = rng.random(later.shape) * np.array([1 << b for b in bits])[:, None]
        later = np.where(rng.random(later.shape[1]) < 0.3, moved, later)
        index = index.updated(later)
        check(index, later.shape[1])


@settings(max_examples=40)
@given(clouds(most=60), st.integers(1, 4), st.data())
def test_it_holds_the_points_that_deleting_and_inserting_leave(cloud, m, data) -> None:
    """Where deleting alone changes no region, even in the same blocks."""
    bits, points = cloud
    rows = points.shape[1]
    if rows < 2 * m:
        return
    index = bulk_load(grid(*bits), points, m)
    gone = data.draw(st.sets(st.integers(0, rows - 1), max_size=rows - m))
    stays = np.setdiff1d(np.arange(rows), sorted(gone)).astype(np.int64)
    more = points[:, : data.draw(st.integers(0, 10))]
    shrunk = index.delete(np.array(sorted(gone), dtype=np.int64))
    in_turn = shrunk.insert(more)
    at_once = index.updated(np.hstack([points[:, stays], more]))
    assert np.array_equal(in_turn.keys, at_once.keys)
    check(at_once, len(stays) + more.shape[1])
    if regions(shrunk) == regions(index):
        assert regions(in_turn) == regions(at_once)
        assert in_turn.block.tolist() == at_once.block.tolist()
