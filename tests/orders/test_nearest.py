"""Nearest point next against slow twins, ties included."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from republish import Number, Schema
from republish.errors import ViewError
from republish.microdata import read_view
from republish.orders import nearest_point_next, row_order

MISSING = -math.inf


def gaps(points: np.ndarray, to: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Distances along every axis from a point to all columns; 1 where only one of the two is missing."""
    lacking, there = np.isneginf(points), np.isneginf(to)[:, None]
    apart = np.abs(np.where(lacking, 0.0, points) - np.where(there, 0.0, to[:, None]))
    return np.where(lacking | there, lacking != there, np.minimum(apart * (1 / widths)[:, None], 1.0))


def squares(along: np.ndarray) -> np.ndarray:
    """Sums of squares, one axis after the other."""
    total = np.zeros(along.shape[1])
    for line in along:
        total = total + line * line
    return total


def naive(points: np.ndarray, widths: np.ndarray) -> list[int]:
    """Every distance at every step, rounded as numbers are."""
    means = [np.mean(line[line > MISSING]) if (line > MISSING).any() else MISSING for line in points]
    here = int(np.argmax(squares(gaps(points, np.array(means), widths))))
    order, left = [here], set(range(points.shape[1])) - {here}
    while left:
        distance = squares(gaps(points, points[:, here], widths))
        same = (points == points[:, [here]]).all(axis=0)
        here = min(left, key=lambda row: (not same[row], distance[row], row))
        order.append(here)
        left.remove(here)
    return order


def exact_steps(points: np.ndarray, widths: np.ndarray, start: int) -> list[int]:
    """The walk from a row in rational numbers: no two distances are equal but those that are."""
    rows = [[None if x == MISSING else Fraction(x) for x in column] for column in points.T]
    units = [Fraction(w) for w in widths]

    def distance(one: list[Fraction | None], other: list[Fraction | None]) -> Fraction:
        return sum(
            (
                Fraction(a is not b) if a is None or b is None else ((a - b) / w) ** 2
                for a, b, w in zip(one, other, units, strict=True)
            ),
            Fraction(0),
        )

    order, left = [start], set(range(len(rows))) - {start}
    while left:
        here = rows[order[-1]]
        order.append(min(left, key=lambda row: (distance(rows[row], here), row)))
        left.remove(order[-1])
    return order


def found_widths(points: np.ndarray) -> np.ndarray:
    """What the axes span, 1 where that is nothing."""
    spans = [np.ptp(line[line > MISSING]) if (line > MISSING).any() else 0.0 for line in points]
    return np.array([span or 1.0 for span in spans])


@st.composite
def tables(draw: st.DrawFn, value: st.SearchStrategy[float], most: int = 40) -> np.ndarray:
    """Points of some axes, repeated and with missing coordinates."""
    axes = draw(st.integers(1, 7))
    cell = value | st.just(MISSING) if draw(st.booleans()) else value
    rows = draw(st.lists(st.tuples(*[cell] * axes), min_size=1, max_size=most))
    rows += draw(st.lists(st.sampled_from(rows), max_size=8))
    return np.array(rows, dtype=np.float64).T


@given(tables(st.floats(-1e3, 1e3).map(lambda x: round(x / 10, 6))))
@example(np.array([[0.0, MISSING], [0.1, 0.0], [MISSING, -0.4]]))
def test_fractions_are_walked_as_by_the_twin(points: np.ndarray) -> None:
    lowest = np.min(points, axis=1, initial=1e3, where=points > MISSING)
    assume((np.where(points > MISSING, points - lowest[:, None], 0.0) % 1).any())
    assert nearest_point_next(points).tolist() == naive(points, found_widths(points))


@given(tables(st.integers(-2, 3).map(float)))
def test_ties_of_whole_numbers_are_exact(points: np.ndarray) -> None:
    order = nearest_point_next(points).tolist()
    assert order == exact_steps(points, found_widths(points), order[0])


@given(tables(st.integers(0, 12).map(float)), st.sampled_from([12.0, 13.0, 17.0, 60.0]))
def test_the_domain_is_the_width(points: np.ndarray, highest: float) -> None:
    axes = len(points)
    order = nearest_point_next(points, np.zeros(axes), np.full(axes, highest)).tolist()
    assert order == exact_steps(points, np.full(axes, highest), order[0])


@pytest.mark.parametrize("lacking", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("kind", ["uniform", "clustered", "grid"])
@pytest.mark.parametrize("axes", [1, 2, 3, 5, 7])
@pytest.mark.jit
def test_many_rows_are_walked_as_by_the_twin(axes: int, kind: str, lacking: float) -> None:
    rng = np.random.default_rng(axes)
    points = {
        "uniform": lambda: rng.random((axes, 600)),
        "clustered": lambda: (
            rng.random((axes, 5))[:, rng.integers(0, 5, 600)] + rng.normal(0, 0.01, (axes, 600))
        ),
        # 1 / 8 is no rounded number, so that the twin's ties are true ones.
        "grid": lambda: np.insert(rng.integers(0, 9, (axes, 599)), 0, 0, axis=1).astype(np.float64),
    }[kind]()
    points[rng.random(points.shape) < lacking] = MISSING
    points[:, :2] = np.array([[0.0, 8.0]]) if kind == "grid" else points[:, :2]
    assert nearest_point_next(points).tolist() == naive(points, found_widths(points))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_whole_numbers_of_unequal_widths_tie_across_axes(seed: int, axes: int) -> None:
    points = np.random.default_rng(seed).integers(0, [[7], [2], [4]], (3, 60))[:axes].astype(np.float64)
    widths = np.array([6.0, 1.0, 3.0])[:axes]
    order = nearest_point_next(points, np.zeros(axes), widths).tolist()
    assert order == exact_steps(points, widths, order[0])


def test_a_walk_along_a_line() -> None:
    assert nearest_point_next(np.array([[4.0, 0.0, 1.0, 10.0, 3.0]])).tolist() == [3, 0, 4, 2, 1]


def test_the_first_is_the_farthest_from_the_mean_and_the_lowest_of_equal_ones() -> None:
    assert nearest_point_next(np.array([[2.0, 3.0, 1.0, 3.0, 1.0]])).tolist() == [1, 3, 0, 2, 4]


def test_rows_of_one_point_follow_each_other_even_where_squares_vanish() -> None:
    points = np.array([[1e-200, 0.0, 1e-200, 1.0, 0.0, -0.0]])
    assert nearest_point_next(points).tolist() == [3, 0, 2, 1, 4, 5]


def test_a_missing_value_is_as_far_from_all_values() -> None:
    points = np.array([[0.0, 10.0, MISSING, 9.0, MISSING], [0.0, 0.0, 0.0, 8.0, 1.0]])
    assert nearest_point_next(points, np.zeros(2), np.full(2, 10.0)).tolist() == [2, 4, 0, 1, 3]


def test_all_of_a_grid_is_walked_in_short_steps() -> None:
    cells = np.array(list(itertools.product(range(40), range(40))), dtype=np.float64).T
    order = nearest_point_next(cells)
    assert sorted(order.tolist()) == list(range(1600))
    assert np.abs(np.diff(cells[:, order])).sum(axis=0).mean() < 1.2


@pytest.mark.parametrize("axes, rows", [(0, 0), (0, 3), (3, 0), (1, 1), (4, 1)])
def test_few_axes_and_rows(axes: int, rows: int) -> None:
    assert nearest_point_next(np.zeros((axes, rows))).tolist() == list(range(rows))


@pytest.mark.parametrize("value", [7.0, MISSING])
def test_an_axis_along_which_all_rows_are_alike_changes_nothing(value: float) -> None:
    points = np.random.default_rng(0).integers(0, 30, (3, 200)).astype(np.float64)
    alike = np.insert(points, 1, value, axis=0)
    assert nearest_point_next(alike).tolist() == nearest_point_next(points).tolist()


def test_equal_rows_stay_in_their_order() -> None:
    assert nearest_point_next(np.full((2, 50), 3.0)).tolist() == list(range(50))


def test_the_unit_of_an_axis_changes_nothing() -> None:
    points = np.random.default_rng(1).integers(0, 2**10, (3, 200)) / 2**10
    units = np.array([2.0**1023, 2.0**-1040, 2.0])
    assert (
        nearest_point_next(points * units[:, None], np.zeros(3), units).tolist()
        == nearest_point_next(points, np.zeros(3), np.ones(3)).tolist()
    )


def test_the_coordinates_are_not_modified() -> None:
    points = np.array([[3.0, MISSING, 1.0, 1.0]])
    before = points.copy()
    nearest_point_next(points)
    assert (points == before).all()


def test_what_is_no_coordinate_is_refused() -> None:
    with pytest.raises(ViewError, match="coordinates must be numbers"):
        nearest_point_next(np.array([[np.nan, 1.0]]))


def test_a_view_is_scaled_by_the_domains_of_its_schema() -> None:
    schema = Schema(quasi_identifiers=[Number("age", domain=(0, 10)), Number("weight", domain=(0, 100))])
    table = pl.DataFrame({"age": [0, 2, 0, None], "weight": [0, 0, 10, 0]})
    assert row_order(read_view(table, schema), "nearest").tolist() == [3, 0, 2, 1]
