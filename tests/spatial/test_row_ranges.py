"""What partitions ask of a range of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.spatial.row_ranges import bounds, counts_upto, present_bounds, select, swap


def column(seed, size, distinct, missing):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, distinct, size).astype(np.float64)
    values[rng.random(size) < missing] = -np.inf
    return values


columns = st.builds(
    column, st.integers(0, 10**6), st.sampled_from([1, 2, 9, 500, 3000]), st.sampled_from([1, 5, 10**6]),
    st.sampled_from([0.0, 0.2, 0.7]),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(columns, st.floats(0, 1))
def test_a_value_is_found_by_its_rank(values, share) -> None:
    rank, before = int(share * (values.size - 1)), values.copy()
    found, below, upto = select(values, np.empty(values.size), rank)
    expected = sorted(before.tolist())[rank]
    assert (found, below, upto) == (expected, np.sum(before < expected), np.sum(before <= expected))
    assert values.tolist() == before.tolist()


@settings(max_examples=30, deadline=None)
@given(columns)
def test_bounds_are_the_least_and_the_greatest_value(values) -> None:
    present = values[values > -np.inf]
    assert bounds(values) == (values.min(), values.max())
    assert present_bounds(values) == (present.min(initial=np.inf), present.max(initial=-np.inf))


@pytest.mark.parametrize(
    ("first", "second", "counts"), [(-np.inf, 0.0, (1, 1)), (1.0, 2.0, (2, 4)), (9.0, 2.5, (5, 4))]
)
def test_values_upto_two_bounds_are_counted(first, second, counts) -> None:
    assert counts_upto(np.array([2.0, -np.inf, 3.0, 1.0, 2.0]), first, second) == counts


def test_values_change_places() -> None:
    values = np.array([0, 1, 2, 3, 4])
    swap(values, np.array([0, 1]), np.array([4, 2]))
    assert values.tolist() == [4, 2, 1, 3, 0]
