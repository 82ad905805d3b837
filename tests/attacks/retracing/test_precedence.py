"""Which groups come before which, against the same spelled out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.retracing import gathered
from republish.attacks.retracing.precedence import add, count_worlds, distances, orders, precedences, spots
from republish.publishers._kernels.geometry import geometry, include, measure, new_centre


@given(seed=st.integers(0, 10_000), nobodys=st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_precedences_and_orders_are_those_of_the_twin(seed: int, nobodys: int) -> None:
    crowd = gathered.crowd(4, 3, seed, nobodys)
    world = np.arange(12).reshape(4, 3)
    found = precedences(crowd, world)
    assert found.tolist() == gathered.comes_before(crowd, world).tolist()
    assert orders(found) == gathered.orders(found)


def test_distances_are_those_that_the_publisher_measures() -> None:
    view = gathered.read(gathered.people(30, 3, 5, missing=0.2))
    crowd = gathered.crowd_of(view, np.arange(30), np.zeros(30, dtype=np.bool_))
    space = geometry(view)
    centre = new_centre(space)
    middle = np.zeros(1 + 2 * crowd.number.shape[1] + len(crowd.apart))
    for size, row in enumerate((4, 7, 11, 20), start=1):
        include(space, centre, row)
        add(crowd, row, middle)
        everyone = np.arange(30)
        assert distances(middle, spots(crowd, everyone)) / size**2 == pytest.approx(
            measure(space, centre, everyone)
        )


@pytest.mark.parametrize(("nobodys", "known"), [(0, 0.0), (2, 0.0), (0, 0.3)])
def test_worlds_are_counted_by_the_orders_they_allow(nobodys: int, known: float) -> None:
    crowd = gathered.crowd(3, 3, 8, nobodys, known)
    world = np.arange(9).reshape(3, 3)
    assert count_worlds(crowd, world.copy()).tolist() == gathered.weights(crowd, world).tolist()
