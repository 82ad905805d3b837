"""Two groups that satisfy a requirement satisfy it together: a theorem for every model here."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from republish.requirements import KAnonymity, LDiversity, Whole, parse_requirements

NODES = np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 0], [4, 2, 0]], np.int32)
HISTOGRAMS = st.lists(st.integers(0, 9), min_size=5, max_size=5)
TEXTS = [
    "k=5",
    "l=3",
    "probabilistic-l=2",
    "entropy-l=2.5",
    "recursive=1.5/2",
    "recursive=3/3",
    "t=0.3",
    "t-ordered=0.2",
    "t-hierarchical=0.25",
    "beta=1",
    "beta-enhanced=1",
    "delta=1.5",
    "alpha-k=0.5/4",
]


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=80, deadline=None)
@given(st.lists(HISTOGRAMS.filter(any), min_size=2, max_size=8), HISTOGRAMS)
def test_the_union_of_holding_groups_holds(text, groups, others):
    (requirement,) = parse_requirements(text)
    counts = np.array(groups)
    table = counts.sum(axis=0) + np.array(others)
    whole = Whole(table / table.sum(), np.arange(5), NODES)
    holding = counts[requirement.holds(counts, whole)]
    assume(len(holding) >= 2)
    assert requirement.holds(holding.sum(axis=0)[None], whole)[0]


@pytest.mark.parametrize("requirement", [KAnonymity(4), LDiversity(2)])
@settings(max_examples=50, deadline=None)
@given(HISTOGRAMS, st.integers(0, 4))
def test_size_and_distinct_values_survive_any_added_row(requirement, group, code):
    whole = Whole(np.full(5, 0.2))
    more = np.array(group)
    more[code] += 1
    before, after = requirement.holds(np.array([group, more]), whole)
    assert after or not before


def test_an_added_row_can_break_a_share():
    (requirement,) = parse_requirements("probabilistic-l=2")
    held, broken = requirement.holds(np.array([[2, 2], [3, 2]]), Whole(np.array([0.5, 0.5])))
    assert (bool(held), bool(broken)) == (True, False)
