"""Groups joined with a neighbour and groups without some people, under the bounds they were cut with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish import Number, Schema, read_view
from republish.grouping import Grouping
from republish.microdata import Microdata
from republish.publishers._ordered.mending import divergences, joined, without_some
from republish.requirements import KAnonymity, TCloseness

BOUND = ((KAnonymity(2), TCloseness(0.5)), 0.3)


def view_of(values: str) -> Microdata:
    schema = Schema("id", [Number("age")], "dx")
    return read_view(
        pl.DataFrame({"id": list(range(len(values))), "age": list(range(len(values))), "dx": list(values)}),
        schema,
    )


def believed(sure: str) -> Any:
    """Somebody thinks of a person that the value is the first, the second, or either."""
    prior = {"a": [1.0, 0.0], "b": [0.0, 1.0], "-": [0.5, 0.5]}
    return SimpleNamespace(prior=np.array([prior[one] for one in sure]))


def groups(*numbers: int) -> Grouping:
    return Grouping(np.array(numbers, dtype=np.int32))


def test_a_group_is_joined_with_the_smaller_neighbour() -> None:
    found = joined(
        view_of("abababab"), believed("--------"), BOUND, groups(0, 0, 0, 0, 1, 1, 2, 2), np.array([1])
    )
    assert found.group.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_where_the_smaller_neighbour_may_not_be_joined_the_other_is() -> None:
    thoughts = believed("------aa")
    found = joined(view_of("abababab"), thoughts, BOUND, groups(0, 0, 0, 0, 1, 1, 2, 2), np.array([1]))
    assert found.group.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]


def test_where_neither_may_be_joined_all_stay_as_they_are() -> None:
    grouping = groups(0, 0, 1, 1, 2, 2)
    assert joined(view_of("ababab"), believed("bb--aa"), BOUND, grouping, np.array([1])).group.tolist() == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]


def test_two_neighbours_at_fault_become_one_group_with_a_third() -> None:
    grouping = groups(0, 0, 1, 1, 2, 2, 3, 3)
    found = joined(view_of("abababab"), believed("--------"), BOUND, grouping, np.array([0, 1]))
    assert found.group.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]


def test_people_are_left_out_and_with_them_a_group_that_is_too_small_then() -> None:
    view, grouping = view_of("abababab"), groups(0, 0, 1, 1, 1, 1, 2, 2)
    found = without_some(view, believed("--------"), BOUND, grouping, np.array([0, 2]))
    assert found.group.tolist() == [-1, -1, -1, 0, 0, 0, 1, 1]


def test_a_group_of_whom_too_different_things_are_believed_then_is_left_out() -> None:
    view, grouping = view_of("abababab"), groups(0, 0, 0, 0, 1, 1, 1, 1)
    found = without_some(view, believed("----a-b-"), BOUND, grouping, np.array([5]))
    assert found.group.tolist() == [0, 0, 0, 0, -1, -1, -1, -1]


@given(seed=st.integers(0, 10_000), groups=st.integers(1, 4))
def test_divergence_is_that_of_its_definition(seed: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    prior, group = rng.dirichlet(np.ones(3), 12), rng.integers(0, groups, 12)

    def bits(p: Any) -> float:
        return float(-sum(x * np.log2(x) for x in p if x > 0))

    for g, found in enumerate(divergences(prior, group, groups)):
        mine = prior[group == g]
        right = bits(mine.mean(axis=0)) - np.mean([bits(p) for p in mine]) if len(mine) else 0.0
        assert found == pytest.approx(right, abs=1e-9)
