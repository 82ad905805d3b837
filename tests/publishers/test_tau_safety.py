"""tau-safety: the thesis's example, and what holds over any series."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publishers.dynamic import CLOSED, SECRET, Driver, counterfeits, series_of_views, view_of, with_domain
from republish import CannotPublish, KAnonymity, LDiversity, LedgerError, PolicyError
from republish.attacks import attack
from republish.grouping import Grouping
from republish.memory.memory import Memory
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

NEAREST = {"membership": "nearest"}
WAYS = (
    {"zone": 5},
    {"membership": "random"},
    NEAREST,
    {**NEAREST, "assignment": "optimal"},
    {**NEAREST, "partition": "bang"},
)
GROUP_BY_GROUP = ("intersection", "tau", "compromised", "historical")
"""The attacks tau-safety is about; solving all releases together breaks it (docs/attacks-measured.md)."""


class _Printed:
    """The groups of Table 4.1: {p1,p2}, {p3,p4}, {p5,p6}."""

    name, m, signatures = "tau-safety", 2, "any"
    series_promises = ("tau-safety=2",)

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
@given(series_of_views(), st.integers(2, 4), st.sampled_from(WAYS))
def test_everyone_keeps_what_must_be_kept(views, m, way):
    driver = with_domain(Driver(TauSafety(m, **way)))
    for view in views:
        driver.publish(view)


@settings(max_examples=30, deadline=None)
@given(series_of_views(), st.integers(2, 4), st.sampled_from(WAYS))
def test_signatures_are_equal_or_disjoint_where_asked(views, m, way):
    driver = with_domain(Driver(TauSafety(m, signatures="equal-or-disjoint", **way)))
    for view in views:
        driver.publish(view)


@settings(max_examples=60, deadline=None)
@given(series_of_views(), st.integers(2, 4), st.sampled_from(["any", "equal-or-disjoint"]), st.booleans())
def test_nobody_has_fewer_than_m_candidates_even_to_who_knows_the_algorithm(views, m, signatures, closed):
    driver = Driver(TauSafety(m, signatures=signatures))
    driver = with_domain(driver) if closed else driver
    for view in views:
        try:
            driver.publish(view)
        except CannotPublish:  # too few values so far
            assert not closed
    for result in attack(driver.history(), attacks=GROUP_BY_GROUP, m=m):
        assert result.overall.below_m == 0, result.name


def random_weeks(driver, rng, values, weeks=8, people=40):
    """People of few values who come, go, change and come back, each of it often."""
    state = {}
    for _ in range(weeks):
        present = [f"p{i}" for i in range(people) if rng.random() < 0.6]
        for name in present:
            if name not in state or rng.random() < 0.4:
                state[name] = (int(rng.integers(20, 60)), "10", "n", f"v{rng.integers(values)}")
        driver.publish([(name, *state[name]) for name in present])


@pytest.mark.parametrize("values", [4, 5, 6, 9])
@pytest.mark.parametrize("m", [2, 3])
def test_changed_returns_with_few_values_leave_m_candidates(m, values):
    """With few values many old signatures have fewer than m values outside: both rules are at work."""
    driver = Driver(TauSafety(m))
    driver.publish([(f"v{i}", 20, "10", "n", f"v{i}") for i in range(values)])  # all values are known
    random_weeks(driver, np.random.default_rng(m + 10 * values), values)
    assert driver.returned > 40
    assert driver.changed > 40
    for result in attack(driver.history(), attacks=GROUP_BY_GROUP, m=m):
        assert result.overall.below_m == 0, result.name


def back(value, values):
    """The groups after p1, hidden among {a, b} at first, comes back with a value; all values are known."""
    driver = Driver(TauSafety(2))
    others = [(f"x{v}", 50, "10", "n", v) for v in values]
    driver.publisher = _Together(["p1", "p2"])
    driver.publish([("p1", 20, "10", "n", "a"), ("p2", 20, "10", "n", "b"), *others])
    driver.publisher = TauSafety(2)
    driver.publish(others)
    driver.publish([("p1", 20, "10", "n", value), *others])
    return driver.lives["p1"].signature


class _Together(_Printed):
    """Groups of the people named, and of all others."""

    def __init__(self, people):
        self.people = people

    def publish(self, view, memory, rng):
        names = sorted(set(self.people) | {f"x{v}" for v in view.values.to_list()})
        pseudonyms = SECRET.pseudonyms(names)
        together = Memory(view.people, {}).find(pseudonyms[[names.index(p) for p in self.people]])
        group = np.ones(view.rows, dtype=np.int32)
        group[together] = 0
        return Grouping(group)


def test_a_return_with_a_value_of_the_old_signature_keeps_it():
    assert back("b", "abcd") == {"a", "b"}


def test_a_return_with_a_value_outside_the_old_signature_shares_nothing_with_it():
    assert back("c", "abcd") == {"c", "d"}


def test_where_too_few_values_lie_outside_a_changed_return_is_a_newcomer():
    """With a, b and c no signature is apart from {a, b}, so a return says nothing about b either."""
    seen = {frozenset(back("c", "abc")), frozenset(back("b", "abc"))}
    assert all(len(signature) >= 2 for signature in seen)


def test_disjoint_updates_are_promised_only_where_asked():
    assert TauSafety(3).series_promises == ("tau-safety=3",)
    assert TauSafety(3, signatures="equal-or-disjoint").series_promises == (
        "tau-safety=3",
        "disjoint-updates",
    )


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
    with pytest.raises(CannotPublish, match=r"has 1 of its 3 there; leave people .* out until more values"):
        driver.publish([("p1", 1, "10", "n", "c"), ("p2", 2, "10", "n", "b")])


def test_remedies_after_the_first_release_do_not_speak_of_the_frozen_policy():
    driver = Driver(TauSafety(3))
    driver.publish([])
    with pytest.raises(CannotPublish, match="wait until more have occurred, or start a new series"):
        driver.publish([("p1", 1, "10", "n", "a"), ("p2", 2, "10", "n", "b")])


@pytest.mark.parametrize(
    "column, wrong",
    [("code", 2), ("code", 99), ("last", 7), ("last", 0), ("signature", -1)],
    ids=["another value", "no value", "a later release", "no release", "no signature"],
)
def test_a_memory_that_contradicts_itself_is_refused(column, wrong):
    driver = Driver(TauSafety(2))
    people = [("p1", 1, "10", "n", "a"), ("p2", 2, "10", "n", "b"), *CLOSED[3:7]]
    driver.publish(people)
    entry = int(driver.memory.find(SECRET.pseudonyms(["p1"]))[0])
    changed = driver.memory.columns[column].copy()
    own = driver.memory.signatures[driver.memory.columns["signature"][entry]]
    changed[entry] = wrong if wrong != 2 else next(code for code in range(6) if code not in own)
    driver.memory = replace(driver.memory, columns={**driver.memory.columns, column: changed})
    before = driver.memory
    with pytest.raises(LedgerError, match=r"of 6 people remembered 1 contradict that; the memory is damaged"):
        driver.publish(people)
    assert driver.memory is before


def test_the_memory_of_another_series_is_refused():
    driver = with_domain(Driver(TauSafety(2)))
    driver.publish(CLOSED)
    view, _ = view_of([("p1", 1, "10", "n", "a"), ("p2", 2, "10", "n", "b")])
    with pytest.raises(LedgerError, match="signatures hold values that the view cannot have"):
        TauSafety(2).publish(view, driver.memory, np.random.default_rng(0))


@pytest.mark.parametrize(
    "bad",
    [
        {"m": 1},
        {"m": 2.5},
        {"assignment": "best"},
        {"signatures": "some"},
        {"membership": "far"},
        {"zone": 1},
    ],
)
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
    grouping = TauSafety(2, membership="nearest").publish(view, Memory.empty(), np.random.default_rng(0))
    for group in range(grouping.groups):
        assert len(set(view.points[0][grouping.group == group])) == 1
