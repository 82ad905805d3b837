"""m-uniqueness and its weak form: literal cases, the compiled answer, and what unions do to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import PolicyError
from republish.requirements import (
    MUniqueness,
    WeakMUniqueness,
    Whole,
    compile_rules,
    parse_requirements,
    requirements_text,
    satisfied,
)

WHOLE = Whole(np.full(4, 0.25))
GROUPS = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [2, 1, 0, 0], [2, 2, 2, 0], [1, 1, 0, 0], [0, 0, 0, 0]])


def test_what_groups_reach():
    assert MUniqueness(3).achieved(GROUPS, WHOLE).tolist() == [3, 4, 0, 0, 2, 0]
    assert WeakMUniqueness(3).achieved(GROUPS, WHOLE).tolist() == [3, 4, 0, 3, 2, 0]


def test_which_groups_hold():
    assert MUniqueness(3).holds(GROUPS, WHOLE).tolist() == [True, True, False, False, False, False]
    assert WeakMUniqueness(3).holds(GROUPS, WHOLE).tolist() == [True, True, False, True, False, False]


@pytest.mark.parametrize("kind", [MUniqueness, WeakMUniqueness])
@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=4, max_size=4), st.integers(2, 4))
def test_the_kernel_agrees_with_a_plain_count(kind, group, m):
    values = [count for count in group if count]
    expected = len(values) >= m and len(set(values)) == 1 and (kind is WeakMUniqueness or values[0] == 1)
    counts = np.array(group)
    assert kind(m).holds(counts[None], WHOLE)[0] == expected
    assert satisfied(compile_rules((kind(m),), WHOLE), counts, int(counts.sum())) == expected


def test_texts_are_read_back():
    both = (MUniqueness(6), WeakMUniqueness(5))
    assert requirements_text(both) == "m-unique=6,weak-m-unique=5"
    assert parse_requirements("m-unique=6,weak-m-unique=5") == both


@pytest.mark.parametrize("kind", [MUniqueness, WeakMUniqueness])
@pytest.mark.parametrize("bad", [0, 1, 2.5, True, "3"])
def test_one_value_is_no_choice(kind, bad):
    with pytest.raises(PolicyError):
        kind(bad)


def test_neither_is_closed_under_union():
    two = np.array([[1, 1, 0, 0], [0, 1, 1, 0]])
    for requirement in (MUniqueness(2), WeakMUniqueness(2)):
        assert requirement.holds(two, WHOLE).all()
        assert not requirement.holds(two.sum(axis=0)[None], WHOLE)[0]


def test_the_weak_form_survives_the_union_of_equal_signatures():
    two = np.array([[1, 1, 0, 0], [2, 2, 0, 0]])
    assert WeakMUniqueness(2).holds(two.sum(axis=0)[None], WHOLE)[0]


def test_promises_are_sentences():
    assert (
        MUniqueness(3).describe() == "Every group holds at least 3 rows, all with different sensitive values."
    )
    assert WeakMUniqueness(3).describe() == (
        "Every group shows at least 3 different sensitive values, each of them equally often."
    )
