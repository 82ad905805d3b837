"""tau-safety: the thesis's example, and what holds over any series."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publishers.dynamic import Driver, counterfeits, series_of_views, view_of, with_domain
from republish import CannotPublish, KAnonymity, LDiversity, PolicyError
from republish.grouping import Grouping
from republish.memory import Memory
from republish.publishers.tau_safety import TauSafety
from republish.requirements import MUniqueness, TCloseness

# Tables 4.1, 4.4 and 4.5 of the thesis; p2 and p7 with the zips of the external table.
TIME_1 = [
    ("p1", 21, "12", "a", "cataract"),
    ("p2", 22, "14", "a", "pneumonia"),
    ("p3", 24, "18", "a", "flu"),
    ("p4", 23, "25", "a", "glaucoma"),
    ("p5", 41, "20", "a", "flu"),
    ("p6", 42, "34", "a", "gastritis"),
]
TIME_2 = [
    ("p1", 21, "12", "a", "cataract"),
    ("p2", 23, "40", "a", "diarrhea"),
    ("p3", 24, "18", "a", "flu"),
    ("p5", 41, "20", "a", "flu"),
    ("p6", 42, "35", "a", "gastritis"),
    ("p7", 26, "34", "a", "gastritis"),
]
TIME_3 = [*TIME_2, ("p4", 23, "25", "a", "glaucoma")]


class _Printed:
    """The groups of Table 4.1: {p1,p2}, {p3,p4}, {p5,p6}."""

    name, m, signatures = "tau-safety", 2, "any"

    def publish(self, view, memory, rng):
        _, names = view_of(TIME_1)
        return Grouping(np.array([(int(name[1]) - 1) // 2 for name in names], dtype=np.int32))

    remember = TauSafety(2).remember


def thesis_series():
    driver = Driver(_Printed())
    driver.publish(TIME_1)
    driver.publisher = TauSafety(2)
    return driver, driver.publish(TIME_2), driver.publish(TIME_3)


def test_the_thesis_example_needs_two_counterfeits_then_one():
    _, second, third = thesis_series()
    assert (counterfeits(second, 6), counterfeits(third, 7)) == (2, 1)


def test_the_thesis_example_keeps_its_signatures():
    driver, second, _ = thesis_series()
    assert sorted(sorted(group) for group in second) == [
        ["cataract", "pneumonia"],
        ["diarrhea", "gastritis"],
        ["flu", "gastritis"],
        ["flu", "glaucoma"],
    ]
    assert driver.lives["p4"].signature == {"flu", "glaucoma"}
    assert driver.lives["p2"].signature == {"diarrhea", "gastritis"}


@settings(max_examples=40, deadline=None)
@given(series_of_views(), st.integers(2, 4), st.sampled_from(["greedy", "optimal"]))
def test_everyone_keeps_what_must_be_kept(views, m, assignment):
    driver = with_domain(Driver(TauSafety(m, assignment=assignment)))
    for view in views:
        driver.publish(view)


@settings(max_examples=30, deadline=None)
@given(series_of_views(), st.integers(2, 4), st.sampled_from(["greedy", "optimal"]))
def test_signatures_are_equal_or_disjoint_where_asked(views, m, assignment):
    driver = with_domain(Driver(TauSafety(m, assignment=assignment, signatures="equal-or-disjoint")))
    for view in views:
        driver.publish(view)


def test_whoever_comes_back_after_years_has_the_old_signature():
    driver = Driver(TauSafety(2))
    driver.publish(TIME_1)
    for _ in range(3):
        driver.publish([])
    signature = driver.lives["p3"].signature
    driver.publish([TIME_1[2]])
    assert driver.lives["p3"].signature == signature


def test_one_person_is_padded_with_other_values():
    driver = with_domain(Driver(TauSafety(4)))
    (group,) = driver.publish([("p1", 30, "10", "n", "v3")])
    assert len(group) == 4
    assert group["v3"] == 1


def test_padding_is_the_least_that_makes_newcomers_eligible():
    people = [(f"p{i}", 30, "10", "n", value) for i, value in enumerate(["v0"] * 5 + ["v1"] * 3)]
    groups = with_domain(Driver(TauSafety(3))).publish(people)
    assert counterfeits(groups, 8) == 3 * 5 - 8


def test_padding_does_not_prefer_frequent_values():
    seen = set()
    for seed in range(30):
        driver = with_domain(Driver(TauSafety(2), seed=seed))
        (group,) = driver.publish([("p1", 30, "10", "n", "v0")])
        seen |= set(group)
    assert len(seen) > 10


def test_too_few_values_are_refused_with_the_remedy():
    view, _ = view_of([("p1", 30, "10", "n", "a"), ("p2", 30, "10", "n", "b")])
    with pytest.raises(CannotPublish, match="choose a smaller m"):
        TauSafety(3).publish(view, Memory.empty(), np.random.default_rng(0))


def test_too_few_values_outside_the_old_signature_are_refused():
    driver = Driver(TauSafety(2, signatures="equal-or-disjoint"))
    driver.publish([("p1", 1, "10", "n", "a"), ("p2", 2, "10", "n", "b")])
    with pytest.raises(CannotPublish, match="let signatures overlap"):
        driver.publish([("p1", 1, "10", "n", "c"), ("p2", 2, "10", "n", "b")])


@pytest.mark.parametrize("bad", [{"m": 1}, {"m": 2.5}, {"assignment": "best"}, {"signatures": "some"}])
def test_parameters_out_of_range_are_refused(bad):
    with pytest.raises(PolicyError):
        TauSafety(**{"m": 3, **bad})


def test_only_implied_requirements_are_accepted():
    assert TauSafety(3, require=(KAnonymity(3), LDiversity(2))).requirements == (
        MUniqueness(3),
        KAnonymity(3),
        LDiversity(2),
    )
    for requirement in (KAnonymity(4), TCloseness(0.9)):
        with pytest.raises(PolicyError, match="can only promise"):
            TauSafety(3, require=(requirement,))


def test_near_rows_are_grouped():
    people = [(f"p{i}", 20 + 60 * (i % 2), "10", "n", f"v{i // 2 % 2}") for i in range(40)]
    view, _ = view_of(people)
    grouping = TauSafety(2).publish(view, Memory.empty(), np.random.default_rng(0))
    for group in range(grouping.groups):
        assert len(set(view.points[0][grouping.group == group])) == 1
