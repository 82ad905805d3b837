"""The unit cube: which range every value falls into."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish import Category, Date, Hierarchy, Number, Ordered, PolicyError, Schema, ViewError, read_view
from republish.spatial.cube import broken, cells, cube_of, linear

MISSING = -np.inf
PLANTS = Hierarchy(
    [
        ["oak", "tree", "*"],
        ["elm", "tree", "*"],
        ["fir", "tree", "*"],
        ["rose", "flower", "*"],
        ["lily", "flower", "*"],
    ]
)


def view(**columns):
    kinds = {
        "age": Number("age"),
        "share": Number("share"),
        "town": Category("town"),
        "plant": Category("plant", hierarchy=PLANTS),
        "degree": Ordered("degree", order=("school", "college", "doctor")),
        "seen": Date("seen"),
    }
    schema = Schema(None, [kinds[name] for name in columns], None)
    return read_view(pl.DataFrame(columns), schema)


def places(given, **options):
    return cells(cube_of(given, **options), given.points)


def test_whole_numbers_have_a_range_each() -> None:
    assert places(view(age=[20, 21, 23, 27])).tolist() == [[0, 1, 3, 7]]


def test_decimals_lie_in_proportion() -> None:
    found = places(view(share=[0.0, 0.25, 0.5, 1.0]))
    assert found.tolist() == [[0, 2**14, 2**15, 2**16 - 1]]


def test_a_given_resolution_is_kept() -> None:
    assert places(view(age=[20, 21, 23, 27]), bits={"age": 1}).tolist() == [[0, 0, 0, 1]]


def test_dates_and_ordered_values_keep_their_order() -> None:
    given = view(seen=["2026-01-01", "2026-01-04"], degree=["doctor", "college"])
    found = places(given)
    assert found[0, 0] < found[0, 1]
    assert found[1, 0] > found[1, 1]


def test_missing_values_have_the_first_range_and_others_the_upper_half() -> None:
    assert places(view(age=[None, 20, 23])).tolist() == [[0, 4, 7]]


def test_halves_of_a_hierarchy_are_nodes() -> None:
    given = view(plant=["oak", "elm", "fir", "rose", "lily"])
    found = dict(zip(given.axes[0].labels, sorted(places(given)[0].tolist()), strict=True))
    top = {label: cell >> 2 for label, cell in found.items()}
    assert {label for label, half in top.items() if half == top["oak"]} == {"oak", "elm", "fir"}
    assert cube_of(given).bits.tolist() == [3]


def test_break_points_take_the_place_of_the_scale() -> None:
    given = view(age=[1, 17, 18, 64, 65, 99])
    assert places(given, scales={"age": [18, 65]}).tolist() == [[0, 0, 1, 1, 2, 2]]


def test_two_breaks_leave_three_ranges_of_four() -> None:
    scale = broken([18.0, 65.0])
    assert scale.bits == 2
    assert scale.cells(np.array([0.0, 18.0, 70.0])).tolist() == [0, 1, 2]


def test_break_points_may_be_dates_and_values() -> None:
    given = view(
        seen=["2026-01-01", "2026-01-04", "2026-02-01"],
        degree=["doctor", "college", "school"],
        plant=["oak", "rose", "lily"],
    )
    found = places(given, scales={"seen": ["2026-01-04"], "degree": ["doctor"], "plant": ["rose"]})
    assert found[0].tolist() == [0, 1, 1]
    assert found[1].tolist() == [1, 0, 0]
    at = given.axes[2].labels.index("rose")
    assert found[2].tolist() == [int(position >= at) for position in given.points[2]]


@pytest.mark.parametrize(
    ("name", "points"), [("seen", ["spring"]), ("degree", ["king"]), ("age", ["x"]), ("age", ["nan"])]
)
def test_break_points_that_are_no_values_are_refused(name, points) -> None:
    given = view(seen=["2026-01-01"], degree=["doctor"], age=[3])
    with pytest.raises(PolicyError):
        cube_of(given, scales={name: points})


def test_one_resolution_bounds_all() -> None:
    given = view(age=[0, 255], share=[0.0, 0.5], plant=["oak", "rose"])
    assert cube_of(given).bits.tolist() == [8, 16, 3]
    assert cube_of(given, bits=9).bits.tolist() == [8, 9, 3]
    assert cube_of(given, bits=2).bits.tolist() == [2, 2, 2]


def test_values_outside_the_domain_go_to_the_ends() -> None:
    assert linear(0.0, 8.0, 3).cells(np.array([-5.0, 3.0, 99.0])).tolist() == [0, 3, 7]


def test_a_domain_of_one_value_has_no_bits() -> None:
    assert cube_of(view(age=[7, 7])).bits.tolist() == [0]
    assert places(view(age=[7, 7])).tolist() == [[0, 0]]


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=30), st.integers(1, 31))
def test_a_scale_keeps_the_order(values, bits) -> None:
    values = np.sort(np.array(values))
    found = linear(values[0], values[-1], bits).cells(values).astype(np.int64)
    assert (np.diff(found) >= 0).all()
    assert found.max() < 1 << bits


@pytest.mark.parametrize(
    "options",
    [
        {"bits": {"age": 40}},
        {"bits": {"size": 3}},
        {"scales": {"age": [5, 3]}},
        {"scales": {"age": [5]}, "bits": {"age": 2}},
    ],
)
def test_scales_that_mean_nothing_are_refused(options) -> None:
    with pytest.raises(PolicyError):
        cube_of(view(age=[1, 2]), **options)


def test_points_of_another_cube_are_refused() -> None:
    with pytest.raises(ViewError):
        cells(cube_of(view(age=[1, 2])), np.zeros((3, 1)))
