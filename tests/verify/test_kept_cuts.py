"""Cells of people follow from quasi-identifiers and kept cuts, and are laminar over releases: found anew here."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import Category, Number, Schema, read_view
from republish.memory.membership import Membership
from republish.microdata import Microdata
from republish.release.cells import cells_of_ranges
from republish.spatial.kept_cuts import Divided, KeptCuts
from republish.verify.kept_cuts import CellWalk, ShownCells, from_cuts
from republish.verify.led_by_cuts import OUTWEIGHED

SCHEMA = Schema("id", [Number("age"), Category("zip")], "dx")


def view_of(seed: int, rows: int, grown: int = 0) -> Microdata:
    chance = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": [None if x < 2 else int(x) + grown for x in chance.integers(0, 40, rows)],
            "zip": [f"z{x}" for x in chance.integers(0, 6, rows)],
            "dx": ["flu"] * rows,
        },
        schema={"id": pl.String, "age": pl.Int64, "zip": pl.String, "dx": pl.String},
    )
    return read_view(frame, SCHEMA)


def people(rows: int) -> np.ndarray:
    return np.column_stack([np.arange(1, rows + 1), np.arange(1, rows + 1)]).astype(np.uint64)


def shown(view: Microdata, divided: Divided, moved: dict[str, float] | None = None) -> ShownCells:
    cells = tuple(
        cells_of_ranges(axis, divided.low[:, q], divided.high[:, q]) for q, axis in enumerate(view.axes)
    )
    extended = (np.flatnonzero(divided.extended) + 1).tolist()
    return ShownCells.of(cells, {"ends": divided.domain.tolist(), "extended": extended}, moved or {})


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(4, 120), k=st.integers(1, 4))
def test_cells_that_cuts_lead_to_are_accepted_and_others_are_not(seed: int, rows: int, k: int) -> None:
    cuts = KeptCuts.none()
    for step in range(3):
        view = view_of(seed + step, max(rows - 9 * step, k))
        divided = cuts.divide(view, k)
        cuts, cell = divided.cuts, divided.cell + 1
        assert from_cuts(view, cell, cuts.table(), k).holds
        if divided.cell.max() > 0:
            first, other = 0, int(np.flatnonzero(cell != cell[0])[0])
            exchanged = cell.copy()
            exchanged[[first, other]] = cell[[other, first]]
            same = len(np.flatnonzero(cell == cell[0])) == len(np.flatnonzero(cell == cell[other])) == 1
            assert same or not from_cuts(view, exchanged, cuts.table(), k).holds


def test_fewer_than_k_people_in_a_cell_are_found() -> None:
    view = view_of(1, 60)
    divided = KeptCuts.none().divide(view, 3)
    assert not from_cuts(view, divided.cell + 1, divided.cuts.table(), 4).holds


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(20, 150))
def test_kept_cuts_are_laminar_release_by_release(seed: int, rows: int) -> None:
    cuts, walk = KeptCuts.none(), CellWalk()
    chance = np.random.default_rng(seed)
    everyone = view_of(seed, rows)
    for _ in range(4):
        present = np.sort(chance.choice(rows, max(rows // 2, 4), replace=False))
        view = read_view(_only(everyone, present), SCHEMA)
        divided = cuts.divide(view, 3)
        cuts = divided.cuts
        nothing = np.zeros(len(present), dtype=np.int32)
        members = Membership(people(rows)[present], nothing, nothing, cell=divided.cell + 1)
        assert walk.add(members, shown(view, divided)).holds


def _only(view: Microdata, rows: np.ndarray) -> pl.DataFrame:
    age = view.points[0][rows]
    labels = view.axes[1].labels
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in rows],
            "age": pl.Series([None if np.isneginf(x) else int(x) for x in age], dtype=pl.Int64),
            "zip": [labels[int(x)] for x in view.points[1][rows]],
            "dx": ["flu"] * len(rows),
        }
    )


def boxes(*ranges: tuple[float, float]) -> ShownCells:
    low, high = np.array([[a] for a, _ in ranges]), np.array([[b] for _, b in ranges])
    axes = view_of(0, 5).axes[:1]
    return ShownCells(low, high, axes, np.zeros(len(ranges), dtype=np.bool_))


def membership(*cell: int) -> Membership:
    nothing = np.zeros(len(cell), dtype=np.int32)
    return Membership(people(len(cell)), nothing, nothing, cell=np.array(cell, dtype=np.int32))


@pytest.mark.parametrize(
    ("then", "now", "holds"),
    [
        ((0, 10), (0, 10), True),
        ((0, 10), (2, 8), True),
        ((2, 8), (0, 10), True),
        ((0, 10), (11, 20), True),
        ((0, 10), (5, 15), False),
    ],
)
def test_cells_are_nested_or_apart(then: tuple[float, float], now: tuple[float, float], holds: bool) -> None:
    walk = CellWalk()
    assert walk.add(membership(1), boxes(then)).holds
    found = walk.add(membership(1), boxes(now))
    assert (found.holds, found.rows) == (holds, 0 if holds else 1)


def test_what_is_left_of_all_earlier_cells_counts() -> None:
    walk = CellWalk()
    walk.add(membership(1), boxes((0, 4)))
    walk.add(membership(1), boxes((0, 10)))
    assert not walk.add(membership(1), boxes((3, 10))).holds


def test_cells_that_extend_over_a_dead_cut_are_counted_and_forgiven() -> None:
    walk = CellWalk()
    walk.add(membership(1), boxes((0, 10)))
    extended = boxes((5, 15))._replace(extended=np.array([True]))
    found = walk.add(membership(1), extended)
    assert (found.holds, found.noted) == (True, 1)


def test_a_dead_cut_is_passed_over_as_the_publisher_does() -> None:
    from republish.spatial import kept_cuts

    assert OUTWEIGHED == kept_cuts.OUTWEIGHED
