"""The Hilbert order against a recursive twin, and what makes a curve one."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish import Number, Schema
from republish.errors import PolicyError, ViewError
from republish.microdata import read_view
from republish.orders import hilbert_keys, hilbert_order, row_order

MISSING = -np.inf


def grid(axes: int, bits: int) -> np.ndarray:
    """All cells of a cube, a column each."""
    return np.array(list(itertools.product(range(2**bits), repeat=axes)), dtype=np.float64).T


def numbers(keys: np.ndarray) -> list[int]:
    """The keys as whole numbers of any size."""
    words = len(keys)
    return [sum(int(word) << 64 * (words - 1 - w) for w, word in enumerate(key)) for key in keys.T]


def gray_rank(code: int) -> int:
    rank = 0
    while code:
        rank ^= code
        code >>= 1
    return rank


def twin(cell: list[int], bits: int) -> int:
    """The index by nested cubes: visited in Gray order, each turned by its corner, every second one backwards."""
    if bits == 0:
        return 0
    mask = 2 ** (bits - 1) - 1
    corner, inner = [x > mask for x in cell], [x & mask for x in cell]
    for axis, upper in enumerate(corner):
        if upper:
            inner[0] = mask - inner[0]
        else:
            inner[0], inner[axis] = inner[axis], inner[0]
    rank = gray_rank(int("".join("01"[upper] for upper in corner), 2))
    cells = 2 ** (len(cell) * (bits - 1))
    rest = twin(inner, bits - 1)
    return rank * cells + (cells - 1 - rest if rank % 2 else rest)


@pytest.mark.parametrize(
    "axes, bits", [(1, 5), (2, 1), (2, 2), (2, 5), (3, 1), (3, 3), (4, 1), (4, 2), (5, 2)]
)
def test_the_curve_visits_every_cell_and_steps_to_a_neighbour(axes: int, bits: int) -> None:
    cells = grid(axes, bits)
    keys = numbers(hilbert_keys(cells, bits=bits))
    assert sorted(keys) == list(range(2 ** (axes * bits)))
    steps = np.abs(np.diff(cells[:, hilbert_order(cells, bits=bits)]))
    assert steps.sum(axis=0).tolist() == [1.0] * (2 ** (axes * bits) - 1)


def test_the_smallest_curve() -> None:
    assert hilbert_keys(np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0]])).tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("axes, bits", [(2, 4), (3, 3), (4, 2)])
def test_cubes_are_visited_one_after_the_other(axes: int, bits: int) -> None:
    cells = grid(axes, bits)
    coarse = cells[:, hilbert_order(cells, bits=bits)] // 2
    blocks = coarse.T.reshape(-1, 2**axes, axes)
    assert (blocks == blocks[:, :1]).all()
    again = hilbert_order(blocks[:, 0].T.copy(), bits=bits - 1)
    assert again.tolist() == list(range(len(blocks)))


@st.composite
def placed_cells(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Cells of a cube, a column each, with repetitions, opposite corners among them."""
    axes, bits = draw(st.integers(1, 15)), draw(st.integers(1, 16))
    cell = st.tuples(*[st.integers(0, 2**bits - 1)] * axes)
    chosen = draw(st.lists(cell, max_size=12))
    chosen += draw(st.lists(st.sampled_from(chosen), max_size=4)) if chosen else []
    return np.array([(0,) * axes, (2**bits - 1,) * axes, *chosen], dtype=np.float64).T, bits


@given(placed_cells())
def test_keys_of_any_length_are_those_of_the_twin(case: tuple[np.ndarray, int]) -> None:
    cells, bits = case
    expected = [twin([int(x) for x in cell], bits) for cell in cells.T]
    keys = hilbert_keys(cells, bits=bits)
    assert len(keys) == -(-len(cells) * bits // 64)
    assert numbers(keys) == expected
    assert hilbert_order(cells, bits=bits).tolist() == sorted(range(len(expected)), key=lambda i: expected[i])


def test_scaled_gender_hardly_ever_changes_along_the_curve() -> None:
    people = np.array(list(itertools.product(range(60), range(2), range(30))), dtype=np.float64).T
    low, high = people.min(axis=1), people.max(axis=1)

    def changes(order: np.ndarray) -> int:
        return int(np.count_nonzero(np.diff(people[1, order])))

    assert changes(hilbert_order(people, low, high)) == 1
    assert changes(hilbert_order(people, low, low + 63)) > 200


def test_missing_values_are_parted_from_the_others_like_a_binary_column() -> None:
    rng = np.random.default_rng(5)
    points = rng.integers(0, 50, (3, 2000)).astype(np.float64)
    points[1, rng.random(2000) < 0.1] = MISSING
    missing = np.isneginf(points[1])[hilbert_order(points)]
    assert np.count_nonzero(missing[1:] != missing[:-1]) <= 4


def test_a_missing_value_lies_below_the_lowest() -> None:
    assert hilbert_order(np.array([[3.0, 0.0, MISSING, 1.0, MISSING]])).tolist() == [2, 4, 1, 3, 0]
    assert hilbert_keys(np.array([[3.0, 0.0, MISSING, 1.0]])).tolist() == [[7, 4, 0, 5]]


def test_whole_numbers_are_told_apart_with_as_few_bits_as_that_takes() -> None:
    for highest in (1, 2, 63, 64, 65535):
        keys = hilbert_keys(np.arange(highest + 1.0)[None])
        assert len(np.unique(keys)) == highest + 1
        assert int(keys.max()).bit_length() == highest.bit_length()


def test_fractions_have_sixteen_bits() -> None:
    assert hilbert_keys(np.array([[0.0, 0.5, 1.0]])).tolist() == [[0, 32768, 65535]]


def test_rows_of_one_cell_stay_in_their_order() -> None:
    assert hilbert_order(np.array([[5.0, 1, 5, 1, 5, 1]])).tolist() == [1, 3, 5, 0, 2, 4]


@pytest.mark.parametrize("axes, rows", [(0, 0), (0, 3), (3, 0), (1, 1), (4, 1)])
def test_few_axes_and_rows(axes: int, rows: int) -> None:
    assert hilbert_order(np.zeros((axes, rows))).tolist() == list(range(rows))


@pytest.mark.parametrize("value", [7.0, MISSING])
def test_an_axis_along_which_all_rows_are_alike_changes_nothing(value: float) -> None:
    points = np.random.default_rng(0).integers(0, 30, (3, 200)).astype(np.float64)
    alike = np.insert(points, 1, value, axis=0)
    assert hilbert_order(alike).tolist() == hilbert_order(points).tolist()


def test_the_unit_of_an_axis_changes_nothing() -> None:
    points = np.random.default_rng(1).random((4, 300))
    scaled = points * np.array([1e308, 5e-310, 3.0, 0.25])[:, None]
    fine = hilbert_keys(points, np.zeros(4), np.ones(4), bits=4)
    coarse = hilbert_keys(scaled, np.zeros(4), np.array([1e308, 5e-310, 3.0, 0.25]), bits=4)
    assert np.count_nonzero(fine != coarse) <= 1


@pytest.mark.parametrize("bits", [0, 33])
def test_bits_out_of_range_are_refused(bits: int) -> None:
    with pytest.raises(PolicyError, match="between 1 and 32"):
        hilbert_order(np.zeros((1, 2)), bits=bits)


@pytest.mark.parametrize("points", [np.zeros(3), np.array([[np.nan]]), np.array([[np.inf, 0.0]])])
def test_what_is_no_coordinate_is_refused(points: np.ndarray) -> None:
    with pytest.raises(ViewError, match="coordinates must be numbers"):
        hilbert_order(points)


@pytest.mark.parametrize("low, high", [([1.0], [3.0]), ([0.0], [1.0]), ([2.5], [1.5])])
def test_a_value_outside_its_domain_is_refused(low: list[float], high: list[float]) -> None:
    with pytest.raises(ViewError, match="inside the domain"):
        hilbert_order(np.array([[0.0, 2.0]]), np.array(low), np.array(high))


@pytest.mark.parametrize("low", [[0.0, 0.0], [MISSING]])
def test_bounds_that_do_not_fit_are_refused(low: list[float]) -> None:
    with pytest.raises(ViewError, match="finite lowest and highest"):
        hilbert_order(np.array([[0.0, 2.0]]), np.array(low))


def view_of(columns: dict[str, list[float]], domain: tuple[float, float] | None = None):
    schema = Schema(quasi_identifiers=[Number(name, domain=domain) for name in columns])
    return read_view(pl.DataFrame(columns), schema)


def test_a_view_is_ordered_by_the_domains_of_its_schema() -> None:
    rng = np.random.default_rng(2)
    columns = {"age": rng.integers(20, 80, 50).tolist(), "weight": rng.integers(40, 90, 50).tolist()}
    view = view_of(columns, (0, 100))
    bounds = np.zeros(2), np.full(2, 100.0)
    assert row_order(view).tolist() == hilbert_order(view.points, *bounds).tolist()
    assert row_order(view).tolist() != row_order(view_of(columns)).tolist()


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(PolicyError, match="hilbert, nearest"):
        row_order(view_of({"age": [1, 2]}), "alphabetical")
