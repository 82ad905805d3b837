"""m-invariance over any series, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publishers.dynamic import Driver, counterfeits, series_of_views, view_of
from republish import CannotPublish, KAnonymity, PolicyError
from republish.memory.memory import Memory
from republish.publishers.m_invariance import MInvariance
from republish.requirements import MUniqueness, ProbabilisticLDiversity

WAYS = ({"membership": "nearest"}, {}, {"zone": 6})


@settings(max_examples=50, deadline=None)
@given(series_of_views(), st.integers(2, 3), st.sampled_from(WAYS))
def test_whoever_stays_keeps_the_signature(views, m, way):
    driver = Driver(MInvariance(m, **way))
    for view in views:
        before = driver.memory
        try:
            driver.publish(view)
        except CannotPublish:
            assert driver.memory is before


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from(WAYS))
def test_eligible_series_are_always_published(seed, m, way):
    rng = np.random.default_rng(seed)
    driver = Driver(MInvariance(m, **way))
    present, unseen = [], 0
    for _ in range(5):
        present = [person for person in present if rng.random() < 0.7]
        count = m * int(rng.integers(1, 6))
        values = rng.permutation(
            np.arange(count) % (m + int(rng.integers(0, 3))) if rng.random() < 0.5 else np.arange(count)
        )
        counts = np.bincount(values)
        if counts.max() * m > count:
            continue
        present += [
            (f"p{unseen + i}", int(rng.integers(20, 60)), str(rng.integers(10, 99)), "n", f"v{value}")
            for i, value in enumerate(values)
        ]
        unseen += count
        driver.publish(present)


def test_a_table_of_its_own_needs_no_counterfeits():
    people = [(f"p{i}", 20 + i, "10", "n", f"v{i % 3}") for i in range(30)]
    groups = Driver(MInvariance(3)).publish(people)
    assert len(groups) == 10
    assert counterfeits(groups, 30) == 0


def test_a_value_that_left_is_held_by_a_counterfeit():
    driver = Driver(MInvariance(2))
    driver.publish([("p1", 20, "10", "n", "a"), ("p2", 21, "10", "n", "b")])
    (group,) = driver.publish([("p1", 20, "10", "n", "a")])
    assert group == {"a": 1, "b": 1}


def test_a_newcomer_fills_the_gap_where_the_others_stay_eligible():
    driver = Driver(MInvariance(2))
    driver.publish([("p1", 20, "10", "n", "a"), ("p2", 21, "10", "n", "b")])
    newcomers = [("p3", 20, "10", "n", "b"), ("p4", 21, "10", "n", "c"), ("p5", 22, "10", "n", "d")]
    groups = driver.publish([("p1", 20, "10", "n", "a"), *newcomers])
    assert counterfeits(groups, 4) == 0


def test_a_newcomer_is_left_to_the_others_where_they_need_it():
    driver = Driver(MInvariance(2))
    driver.publish([("p1", 20, "10", "n", "a"), ("p2", 21, "10", "n", "b")])
    groups = driver.publish(
        [("p1", 20, "10", "n", "a"), ("p3", 20, "10", "n", "b"), ("p4", 21, "10", "n", "c")]
    )
    assert sorted(sorted(group) for group in groups) == [["a", "b"], ["b", "c"]]
    assert counterfeits(groups, 3) == 1


def test_newcomers_that_are_not_eligible_are_refused_with_numbers_and_remedies():
    view, _ = view_of([(f"p{i}", 20, "10", "n", "a" if i < 7 else f"v{i}") for i in range(10)])
    with pytest.raises(CannotPublish) as refused:
        MInvariance(3).publish(view, Memory.empty(), np.random.default_rng(0))
    assert str(refused.value) == (
        "at most one in m=3 newcomers may have the same sensitive value; of 10 newcomers 7 have; "
        "choose a smaller m, tau-safety, which adds counterfeits, or merge rare values"
    )


def test_remedies_after_the_first_release_can_be_followed():
    driver = Driver(MInvariance(3))
    people = [(f"p{i}", 20, "10", "n", f"v{i % 3}") for i in range(9)]
    driver.publish(people)
    with pytest.raises(CannotPublish) as refused:
        driver.publish([*people[:8], ("p8", 20, "10", "n", "v0"), ("q", 20, "10", "n", "v1")])
    assert str(refused.value) == (
        "at most one in m=3 people who need a new signature may have the same sensitive value; of 2 (newcomers "
        "and those with a changed value) 1 have; leave some of them out until a later view brings other values, or "
        "start a new series with tau-safety, which adds counterfeits: a new series knows nothing of the signatures "
        "of this one, so people published in both are not protected between the two"
    )
    driver.publish(people[:8])


def test_more_values_than_there_are_is_refused():
    view, _ = view_of([(f"p{i}", 20, "10", "n", f"v{i % 2}") for i in range(10)])
    with pytest.raises(CannotPublish, match="has 2 so far; choose a smaller m"):
        MInvariance(3).publish(view, Memory.empty(), np.random.default_rng(0))


def test_parameters_and_requirements():
    assert MInvariance(3, (ProbabilisticLDiversity(3),)).requirements == (
        MUniqueness(3),
        ProbabilisticLDiversity(3),
    )
    assert MInvariance(6).series_promises == ("m-invariance=6",)
    with pytest.raises(PolicyError, match="m must be at least 2"):
        MInvariance(1)
    with pytest.raises(PolicyError, match="can only promise"):
        MInvariance(3, (KAnonymity(4),))
    with pytest.raises(PolicyError, match="found 1 of another type"):
        MInvariance(3, ("k=2",))


def test_near_rows_are_grouped():
    people = [(f"p{i}", 20 + 60 * (i % 2), "10", "n", f"v{i // 2 % 2}") for i in range(40)]
    view, _ = view_of(people)
    grouping = MInvariance(2, membership="nearest").publish(view, Memory.empty(), np.random.default_rng(0))
    for group in range(grouping.groups):
        assert len(set(view.points[0][grouping.group == group])) == 1
