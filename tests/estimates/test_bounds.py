"""Bounds of coefficients, against all ways in which people of a batch may have its values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.estimates.bounds import coefficient_bounds
from republish.estimates.observations import Observations, ScoredValues

NUMBERS = st.integers(-5, 5).map(float)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 1), NUMBERS, NUMBERS), min_size=4, max_size=7), st.integers(0, 2))
def test_bounds_are_those_of_all_assignments(people, extra) -> None:
    batch = np.array([b for b, _, _ in people])
    x = np.column_stack([np.ones(len(people)), [value for _, value, _ in people]])
    scores = np.array([score for _, _, score in people])
    # Counterfeits in the first batch belong to nobody.
    scored = ScoredValues(
        np.append(scores, np.arange(extra) * 2.0), np.append(batch, np.zeros(extra, np.int64))
    )
    rows = Observations(x, np.zeros((len(x), 2, 2)), scores, np.ones(len(x)), batch)
    bread = np.array([[0.5, -0.25], [-0.25, 1.0]])
    z = x @ bread
    least, most = np.zeros(2), np.zeros(2)
    for b in (0, 1):
        own = np.flatnonzero(batch == b)
        sums = np.array(
            [
                z[own].T @ np.array(order)
                for order in itertools.permutations(scored.score[scored.batch == b], len(own))
            ]
        )
        least, most = least + sums.min(axis=0), most + sums.max(axis=0)
    low, high = coefficient_bounds(rows, scored, bread)
    assert low == pytest.approx(least)
    assert high == pytest.approx(most)
