"""Cohorts: people stay together, places are filled, given up or held, and the bound is kept."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from publishers.cohort_driver import CohortDriver
from publishers.dynamic import Person, series_of_views, view_of, with_domain
from republish import CannotPublish, KAnonymity, LDiversity, LedgerError, PolicyError
from republish.inference.determination import escape_risk
from republish.memory.cohort_stays import TIED
from republish.memory.memory import Memory
from republish.publishers._cohorts.kernels import give_up, join_nearest
from republish.publishers.cohorts import Cohorts
from republish.requirements import EntropyLDiversity, ProbabilisticLDiversity, TCloseness
from small_stays import entries_of_lives, naive_record, worlds_of

WAYS = ({"membership": "nearest"}, {}, {"zone": 6})

SMALL = Cohorts(m=2, size=12, values=3, together=2, max_determined=0.3)
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)  # seeds do not shrink


def crowd(counts: dict[str, int], first: int = 0, age: int = 30) -> list[Person]:
    """So many people of each value, of about the same age."""
    values = [value for value, rows in counts.items() for _ in range(rows)]
    return [(f"p{first + i}", age + i % 7, "10", "n", value) for i, value in enumerate(values)]


def of_value(people: list[Person], value: str) -> list[Person]:
    return [person for person in people if person[4] == value]


def without(people: list[Person], gone: list[Person]) -> list[Person]:
    return [person for person in people if person not in gone]


# Parameters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"m": 1},
        {"m": 2.5},
        {"m": True},
        {"m": 6, "size": 5},
        {"size": 20.0},
        {"size": "90"},
        {"m": 6, "values": 5},
        {"values": True},
        {"together": 0},
        {"together": -1},
        {"together": True},
        {"max_determined": 0},
        {"max_determined": 1},
        {"max_determined": -0.1},
        {"max_determined": "0.1"},
        {"max_determined": True},
        {"max_determined": float("nan")},
        {"compromised": 0.0},
        {"compromised": 1.0},
        {"compromised": None},
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(PolicyError):
        Cohorts(**parameters)


@pytest.mark.parametrize("requirement", [KAnonymity(7), LDiversity(7), TCloseness(0.2)])
def test_requirements_that_cohorts_do_not_imply_are_refused(requirement) -> None:
    with pytest.raises(PolicyError):
        Cohorts(m=6, require=(requirement,))


def test_requirements_that_cohorts_imply_are_kept() -> None:
    asked = (KAnonymity(6), LDiversity(6), EntropyLDiversity(6))
    assert Cohorts(m=6, require=asked).requirements == (ProbabilisticLDiversity(6), *asked)


def test_it_promises_the_set_of_values_and_the_bound() -> None:
    promised = Cohorts(m=4, max_determined=0.025, compromised=0.1).series_promises
    assert promised == ("weak-m-invariance=4", "determined=0.025@0.1")


# The first release ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [12, 60, 300])
def test_the_first_cohorts_have_at_most_size_rows_of_so_many_values(rows: int) -> None:
    people = crowd({f"v{i}": rows // 6 for i in range(6)})
    shown = CohortDriver(Cohorts(m=3, size=30, values=6, max_determined=0.2)).publish(people)
    assert sum(sum(counter.values()) for counter in shown.values()) == rows  # no counterfeits
    assert all(sum(counter.values()) <= 30 and len(counter) == 6 for counter in shown.values())


def test_where_one_value_is_frequent_cohorts_have_fewer_values_but_at_least_m() -> None:
    people = crowd({"a": 40, "b": 20, "c": 20, "d": 20, "e": 20})
    shown = CohortDriver(Cohorts(m=2, size=30, values=5)).publish(people)
    assert {len(counter) for counter in shown.values()} <= {2, 3, 4, 5}
    assert min(len(counter) for counter in shown.values()) == 3
    assert sum(sum(counter.values()) for counter in shown.values()) == 120


def test_rows_of_one_value_alone_are_padded() -> None:
    driver = with_domain(CohortDriver(SMALL))
    shown = driver.publish(crowd({"v0": 10}))
    assert all(counter["v0"] * 2 <= sum(counter.values()) for counter in shown.values())
    assert driver.risk() == 0


def test_one_row_is_padded_where_values_are_known() -> None:
    driver = with_domain(CohortDriver(SMALL))
    (counter,) = driver.publish(crowd({"v0": 1})).values()
    assert len(counter) >= 2
    assert set(counter.values()) == {1}


def test_too_few_values_are_refused() -> None:
    with pytest.raises(CannotPublish, match="the sensitive column has 2"):
        CohortDriver(Cohorts(m=3, values=3, size=9)).publish(crowd({"a": 5, "b": 5}))


def test_a_first_release_that_breaks_the_bound_is_refused() -> None:
    """Everyone hides behind one other person, and 4 % of those are compromised."""
    view, _ = view_of(crowd({"a": 4, "b": 4}))
    publisher = Cohorts(m=2, size=2, values=2, max_determined=0.01, compromised=0.04)
    with pytest.raises(CannotPublish, match=r"at most 0\.01 of all people"):
        publisher.publish(view, Memory.empty(), np.random.default_rng(0))


def test_newcomers_who_break_the_bound_are_refused() -> None:
    """Four pairs come to a crowd that hides everyone well; two in a cohort of two are too few."""
    publisher = Cohorts(m=2, size=2, values=2, together=2, max_determined=0.03, compromised=0.04)
    driver = CohortDriver(publisher)
    driver.publisher = Cohorts(m=2, size=40, values=2, together=2, max_determined=0.03, compromised=0.04)
    old = crowd({"a": 20, "b": 20})
    driver.publish(old)
    driver.publisher = publisher
    with pytest.raises(CannotPublish, match=r"at most 0\.03 of all people"):
        driver.publish([*old, *crowd({"a": 60, "b": 60}, 100)])


# Places ---------------------------------------------------------------------------------------------


def begun(counts: dict[str, int], publisher: Cohorts = SMALL) -> tuple[CohortDriver, list[Person]]:
    """A series of one release that is one cohort."""
    driver, people = CohortDriver(publisher), crowd(counts)
    assert len(driver.publish(people)) == 1
    return driver, people


def test_whoever_stays_changes_nothing() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4})
    for _ in range(3):
        assert driver.publish(people) == {1: Counter(a=4, b=4, c=4)}
    assert driver.stays.count == 12


def test_places_of_one_value_wait_as_counterfeits() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4})
    stay = without(people, of_value(people, "a")[:2])
    assert driver.publish([*stay, *crowd({"a": 1}, 50)])[1] == Counter(a=4, b=4, c=4)
    assert driver.people[-1]["p50"][0] != 1


def test_places_of_two_values_go_to_newcomers() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4})
    stay = without(people, [of_value(people, "a")[0], of_value(people, "b")[0]])
    shown = driver.publish([*stay, *crowd({"a": 1, "b": 1}, 50)])
    assert shown == {1: Counter(a=4, b=4, c=4)}
    assert driver.people[-1]["p50"] == (1, "a")
    assert driver.people[-1]["p51"] == (1, "b")
    assert not driver.weeks[-1].nobody


def test_places_that_nobody_takes_are_given_up() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4}, Cohorts(2, 12, 3, 2, max_determined=0.9))
    stay = without(people, [of_value(people, "a")[0], of_value(people, "b")[0]])
    assert driver.publish(stay) == {1: Counter(a=3, b=3, c=4)}


def test_a_value_keeps_its_last_row() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4}, Cohorts(2, 12, 3, 2, max_determined=0.9))
    stay = without(people, [*of_value(people, "a"), *of_value(people, "b")])
    (counter,) = driver.publish(stay).values()
    assert counter["c"] == 4
    assert min(counter["a"], counter["b"]) >= 1
    assert counter["a"] + counter["b"] == 4  # c may have one row in two


def test_newcomers_without_a_place_get_one_where_their_value_is() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4}, Cohorts(2, 12, 3, 2, max_determined=0.9))
    stay = without(people, [of_value(people, "a")[0], of_value(people, "b")[0]])
    shown = driver.publish([*stay, *crowd({"c": 1, "a": 1, "b": 1}, 50)])
    assert shown == {1: Counter(a=4, b=4, c=5)}
    assert driver.people[-1]["p50"] == (1, "c")


def test_newcomers_to_a_cohort_that_does_not_change_form_their_own() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4})
    shown = driver.publish([*people, *crowd({"a": 2, "b": 2, "c": 2}, 50)])
    assert shown == {1: Counter(a=4, b=4, c=4), 2: Counter(a=2, b=2, c=2)}


def test_a_cohort_takes_at_most_twice_its_size() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4}, Cohorts(2, 12, 3, 2, max_determined=0.9))
    stay = without(people, [of_value(people, "a")[0], of_value(people, "b")[0]])
    shown = driver.publish([*stay, *crowd({"a": 30, "b": 30, "c": 30}, 50)])
    assert sum(shown[1].values()) == 24


def test_a_newcomer_goes_to_the_nearest_place() -> None:
    """Two cohorts, of the young and of the old, with the same open places."""
    driver = CohortDriver(Cohorts(2, 6, 3, 2, max_determined=0.9, membership="nearest"))
    young, old = crowd({"a": 2, "b": 2, "c": 2}, 0, 20), crowd({"a": 2, "b": 2, "c": 2}, 50, 80)
    assert len(driver.publish([*young, *old])) == 2
    gone = [of_value(people, value)[0] for people in (young, old) for value in "ab"]
    stay = without([*young, *old], gone)
    newcomers = [("y", 21, "10", "n", "a"), ("o", 81, "10", "n", "a"), ("z", 82, "10", "n", "b")]
    driver.publish([*stay, *newcomers])
    now = driver.people[-1]
    assert now["y"][0] == now[of_value(young, "c")[0][0]][0]
    assert now["o"][0] == now["z"][0] == now[of_value(old, "c")[0][0]][0]


def test_a_changed_value_leaves_a_place_and_comes_as_a_newcomer() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4}, Cohorts(2, 12, 3, 2, max_determined=0.9))
    one, two = of_value(people, "a")[0], of_value(people, "b")[0]
    changed = [(*one[:4], "b"), (*two[:4], "a")]
    shown = driver.publish([*without(people, [one, two]), *changed])
    assert shown == {1: Counter(a=4, b=4, c=4)}
    assert driver.stays.count == 14


# Returns, new values, ends --------------------------------------------------------------------------


def test_who_comes_back_finds_the_same_values() -> None:
    """The driver checks it for everyone; here the cohort has died, and the others hide among other values."""
    driver = CohortDriver(Cohorts(2, 6, 2, 2, max_determined=0.9))
    first, others = crowd({"a": 3, "b": 3}), crowd({"c": 3, "d": 3}, 50, 70)
    driver.publish([*first, *others])
    hidden = driver.hidden_in["p0"]
    driver.publish(others)
    driver.publish([first[0], *others])
    assert driver.hidden_in["p0"] == hidden
    assert driver.people[-1]["p0"][0] > max(driver.shown[0])


def test_who_comes_back_with_another_value_is_a_newcomer() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4}, Cohorts(2, 12, 3, 2, max_determined=0.9))
    one = of_value(people, "a")[0]
    driver.publish(without(people, [one]))
    driver.publish([*without(people, [one]), (*one[:4], "c")])
    stays, entry = driver.stays, int(np.flatnonzero(driver.stays.previous >= 0)[0])
    assert stays.following[stays.person[entry]] == stays.code[entry]


def test_everyone_leaves_and_others_come() -> None:
    driver, _ = begun({"a": 4, "b": 4, "c": 4})
    assert driver.publish([]) == {}
    assert driver.publish(crowd({"a": 4, "b": 4, "c": 4}, 50)) == {2: Counter(a=4, b=4, c=4)}
    assert driver.stays.until.tolist() == [1] * 12 + [3] * 12


def test_everyone_leaves_and_comes_back_or_it_is_refused() -> None:
    driver = CohortDriver(Cohorts(3, 12, 4, 2, max_determined=0.9))
    people = crowd({f"v{i}": 9 for i in range(4)})
    driver.publish(people)
    driver.publish([])
    before = driver.stays.frame()
    try:
        driver.publish(people)
        assert (driver.stays.bearer[driver.stays.bearer > 0] == TIED).all()
    except CannotPublish:
        assert driver.stays.frame().equals(before)


def test_many_who_come_back_form_cohorts_of_at_most_size_rows() -> None:
    driver = CohortDriver(Cohorts(3, 12, 4, 2, max_determined=0.9))
    people = crowd({f"v{i}": 30 for i in range(4)})
    assert max(sum(c.values()) for c in driver.publish(people).values()) <= 12
    gone = [person for value in range(4) for person in of_value(people, f"v{value}")[:15]]
    driver.publish(without(people, gone))
    shown = driver.publish(people)
    fresh = [sum(shown[cohort].values()) for cohort in shown if cohort not in driver.shown[0]]
    assert fresh
    assert max(fresh) <= 12


def test_a_new_value_comes_in_a_cohort_of_its_own() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4})
    shown = driver.publish([*people, *crowd({"new": 1}, 50)])
    assert set(shown[1]) == {"a", "b", "c"}
    assert shown[2]["new"] == 1
    assert driver.risk() <= SMALL.max_determined


def test_a_series_that_begins_empty() -> None:
    driver = CohortDriver(SMALL)
    assert driver.publish([]) == {}
    driver.publish(crowd({"a": 4, "b": 4, "c": 4}))
    assert driver.stays.since.tolist() == [2] * 12


def test_growing_and_shrinking_tables() -> None:
    rng = np.random.default_rng(1)
    driver = CohortDriver(Cohorts(3, 24, 5, 2, max_determined=0.05))
    people: list[Person] = []
    for week, rows in enumerate([60, 90, 140, 140, 80, 40, 10, 5, 1, 0, 30]):
        people = [people[i] for i in sorted(rng.permutation(len(people))[: int(0.8 * rows)])]
        values = Counter(f"v{i % 5}" for i in range(rows - len(people)))
        people = [*people, *crowd(dict(values), 1000 * (week + 1), int(rng.integers(20, 70)))]
        driver.publish(people)


def test_a_damaged_memory_is_refused() -> None:
    driver, people = begun({"a": 4, "b": 4, "c": 4})
    driver.memory.columns["stay"][0] = 99
    view, _ = view_of(people, driver.values)
    with pytest.raises(LedgerError, match="stay must be in the record"):
        driver.publisher.publish(view, driver.memory, np.random.default_rng(0))


def test_the_bound_is_kept_by_cohorts_that_do_not_change() -> None:
    """The places of two who left are given up where the bound allows it, and wait where it does not."""
    people = crowd({"a": 4, "b": 4, "c": 4})
    stay = without(people, [of_value(people, "a")[0], of_value(people, "b")[0]])
    shown = {}
    for limit in (0.9, 0.0001):
        driver, _ = begun({"a": 4, "b": 4, "c": 4}, Cohorts(2, 12, 3, 2, max_determined=limit))
        shown[limit] = driver.publish(stay)[1]
    assert shown == {0.9: Counter(a=3, b=3, c=4), 0.0001: Counter(a=4, b=4, c=4)}


# Any series -----------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None, phases=UNSHRUNK)
@given(
    series_of_views(),
    st.integers(2, 3),
    st.integers(0, 2),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(WAYS),
)
def test_any_series_keeps_people_together_and_the_bound(views, m, wider, together, closed, way) -> None:
    """Or it is refused; the driver checks everything after each release."""
    driver = CohortDriver(Cohorts(m, 10, m + wider, together, max_determined=0.2, compromised=0.1, **way))
    driver = with_domain(driver) if closed else driver
    for view in views:
        try:
            driver.publish(view)
        except CannotPublish:
            continue
    if driver.weeks:
        naive, _ = naive_record(driver.weeks)
        assert driver.stays.frame().equals(naive.frame())


def churn(driver: CohortDriver, rng: np.random.Generator, people: int, values: int, weeks: int) -> int:
    """Weeks in which about a third leaves, some come back, some change; how many were published."""
    state: dict[str, str] = {}
    here: set[str] = set()
    published = 0
    for _ in range(weeks):
        here = {name for name in here if rng.random() < 0.7} | {
            f"p{i}" for i in range(people) if rng.random() < 0.35
        }
        for name in sorted(here):
            if name not in state or rng.random() < 0.1:
                state[name] = f"v{rng.integers(values)}"
        try:
            driver.publish([(name, 30, "10", "n", state[name]) for name in sorted(here)])
            published += 1
        except CannotPublish:
            continue
    return published


@pytest.mark.parametrize("together", [1, 2])
def test_nobody_of_small_cohorts_is_determined_more_often_than_the_bound_says(together: int) -> None:
    """All worlds of what the publisher itself made, and all sets of compromised people."""
    published, tried = 0, 0
    for seed in range(25):
        driver = CohortDriver(Cohorts(2, 6, 3, together, max_determined=0.99, compromised=0.3))
        published += churn(driver, np.random.default_rng(seed), people=7, values=3, weeks=4)
        if not driver.weeks:
            continue
        worlds = worlds_of(driver.weeks)
        stays, entries = naive_record(driver.weeks)
        assert driver.stays.frame().equals(stays.frame())
        risk = escape_risk(stays, 0.3).of_stay
        lives = entries_of_lives(driver.weeks, stays, entries, worlds)
        for exact, mine in zip(worlds.exposed(0.3), lives, strict=True):
            assert exact <= risk[mine[0]] + 1e-9
            tried += 1
    assert published > 50
    assert tried > 120


# Kernels --------------------------------------------------------------------------------------------


@st.composite
def places(draw):
    """Cohorts of two to four values with rows shown and held, no value more than one row in m."""
    m = draw(st.integers(2, 3))
    offsets, shown = [0], []
    for _ in range(draw(st.integers(1, 4))):
        width = draw(st.integers(m, m + 2))
        rows = draw(st.lists(st.integers(1, 4), min_size=width, max_size=width))
        while m * max(rows) > sum(rows):
            rows[rows.index(max(rows))] -= 1
        shown += rows
        offsets.append(len(shown))
    held = [draw(st.integers(0, rows)) for rows in shown]
    return m, offsets, shown, held


@settings(max_examples=150, deadline=None)
@given(places(), st.data())
def test_places_are_given_up_as_by_the_naive_twin(made, data) -> None:
    m, offsets, shown, held = made
    may = data.draw(st.lists(st.booleans(), min_size=len(offsets) - 1, max_size=len(offsets) - 1))
    found = np.array(shown, dtype=np.int64)
    give_up(np.array(offsets, dtype=np.int64), found, np.array(held, dtype=np.int64), np.array(may), m)
    expected = list(shown)
    for c, changes in enumerate(may):
        mine = range(offsets[c], offsets[c + 1])
        while changes:
            spare = [i for i in mine if expected[i] > max(held[i], 1)]
            if not spare:
                break
            tallest = max(spare, key=lambda i: (expected[i], -i))
            less = [expected[i] - (i == tallest) for i in mine]
            if m * max(less) > sum(less):
                break
            expected[tallest] -= 1
    assert found.tolist() == expected
    for c in range(len(may)):
        rows = found[offsets[c] : offsets[c + 1]]
        assert rows.min() >= 1
        assert m * rows.max() <= rows.sum()
    assert (found >= held).all()


@settings(max_examples=150, deadline=None)
@given(places(), st.integers(1, 8), st.integers(4, 20), st.integers(0, 2**32 - 1))
def test_rows_join_the_nearest_as_by_the_naive_twin(made, rows, most, seed) -> None:
    m, offsets, shown, held = made
    owner = [c for c in range(len(offsets) - 1) for _ in range(offsets[c], offsets[c + 1])]
    items = [offsets[c] for c in range(len(offsets) - 1)]  # the value is the first of each cohort
    rng = np.random.default_rng(seed)
    apart = rng.integers(0, 5, (rows, len(items))).astype(float)
    apart[rng.random(apart.shape) < 0.2] = np.inf
    sizes = [sum(shown[offsets[c] : offsets[c + 1]]) for c in range(len(items))]
    kernel = [np.array(part, dtype=np.int64) for part in (items, owner, shown, held, sizes)]
    taken = join_nearest(apart, *kernel, m, most)
    shown, held, sizes = list(shown), list(held), list(sizes)
    for i in range(rows):
        able = [
            (apart[i, j], j)
            for j, place in enumerate(items)
            if np.isfinite(apart[i, j])
            and sizes[owner[place]] < most
            and m * (shown[place] + 1) <= sizes[owner[place]] + 1
        ]
        assert taken[i] == (items[min(able)[1]] if able else -1)
        if able:
            place = items[min(able)[1]]
            shown[place], held[place], sizes[owner[place]] = (
                shown[place] + 1,
                held[place] + 1,
                sizes[owner[place]] + 1,
            )
    assert [part.tolist() for part in kernel[2:]] == [shown, held, sizes]
