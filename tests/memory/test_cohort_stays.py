"""The record of stays: examples by hand, and the same as plain bookkeeping on random series."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.memory.cohort_stays import COLUMNS, FREE, NOBODY, NONE, TIED, CohortSighting, Stays, continued
from small_stays import Week, naive_record, random_weeks, recorded, shown_in

V, W, X = 0, 1, 2


def listed(weeks: list[Week], *columns: str) -> list[tuple[int, ...]]:
    """Some columns of the record, one entry a stay."""
    stays, _ = recorded(weeks)
    return list(zip(*(getattr(stays, name).tolist() for name in columns), strict=True))


def test_nothing_published_is_an_empty_record() -> None:
    stays = Stays.none()
    assert (stays.count, stays.people) == (0, 0)
    assert stays.frame().columns == list(COLUMNS)
    assert [len(part) for part in stays.heights(1)] == [0, 0, 0]
    assert Stays.of_frame(None).count == 0


def test_who_stays_has_one_stay() -> None:
    weeks = [Week({"a": (1, V)}), Week({"a": (1, V)}), Week({"a": (1, V)})]
    assert listed(weeks, *COLUMNS) == [(1, V, 1, 3, FREE, 0, 0, NONE, NONE)]


def test_who_comes_back_has_two_stays_of_one_life_and_is_tied() -> None:
    weeks = [Week({"a": (1, V)}), Week({"b": (1, W)}), Week({"a": (2, V)})]
    assert listed(weeks, "cohort", "since", "until", "bearer", "person", "life") == [
        (1, 1, 1, TIED, 0, 0),
        (1, 2, 2, FREE, 1, 1),
        (2, 3, 3, TIED, 0, 0),
    ]


def test_a_changed_value_begins_a_life_and_ends_the_one_before() -> None:
    weeks = [Week({"a": (1, V)}), Week({"a": (1, W)}), Week({"a": (1, X)})]
    assert listed(weeks, "code", "bearer", "person", "life", "previous", "following") == [
        (V, FREE, 0, 0, NONE, W),
        (W, FREE, 0, 1, V, X),
        (X, FREE, 0, 2, W, NONE),
    ]


def test_a_changed_value_after_an_absence_begins_a_life() -> None:
    weeks = [Week({"a": (1, V)}), Week({}), Week({"a": (1, W)})]
    assert listed(weeks, "since", "until", "bearer", "life", "following") == [
        (1, 1, FREE, 0, W),
        (3, 3, FREE, 1, NONE),
    ]


def test_a_value_of_two_lives_ago_is_a_third_life() -> None:
    weeks = [Week({"a": (1, V)}), Week({"a": (1, W)}), Week({"a": (1, V)})]
    assert listed(weeks, "life", "previous", "following") == [(0, NONE, W), (1, V, V), (2, W, NONE)]


def test_all_stays_of_a_life_know_what_came_before_and_after() -> None:
    weeks = [
        Week({"a": (1, X)}),
        Week({"a": (1, V)}),
        Week({}),
        Week({"a": (1, V)}),
        Week({}),
        Week({"a": (2, V)}),
        Week({"a": (2, W)}),
    ]
    assert listed(weeks, "life", "bearer", "previous", "following") == [
        (0, FREE, NONE, V),
        (1, TIED, X, W),
        (1, TIED, X, W),
        (1, TIED, X, W),
        (4, FREE, V, NONE),
    ]


def test_counterfeits_go_on_as_far_as_they_can() -> None:
    weeks = [
        Week({"a": (1, V)}, [(1, W), (1, W)]),
        Week({"a": (1, V)}, [(1, W), (1, X)]),
        Week({"a": (1, V)}, [(1, W), (1, W)]),
    ]
    found = listed(weeks, "code", "since", "until", "bearer", "person", "life")
    assert found == [
        (V, 1, 3, FREE, 0, 0),
        (W, 1, 3, NOBODY, 1, 1),
        (W, 1, 1, NOBODY, 2, 2),
        (X, 2, 2, NOBODY, 3, 3),
        (W, 3, 3, NOBODY, 4, 4),
    ]


def test_a_counterfeit_whose_place_a_person_takes_ends() -> None:
    weeks = [Week({"a": (1, V)}, [(1, W)]), Week({"a": (1, V), "b": (1, W)})]
    assert listed(weeks, "code", "since", "until", "bearer") == [
        (V, 1, 2, FREE),
        (W, 1, 1, NOBODY),
        (W, 2, 2, FREE),
    ]


def test_a_counterfeit_does_not_go_on_in_another_cohort() -> None:
    weeks = [Week({"a": (1, V), "b": (2, V)}, [(1, W)]), Week({"a": (1, V), "b": (2, V)}, [(2, W)])]
    assert listed(weeks, "cohort", "since", "until")[2:] == [(1, 1, 1), (2, 2, 2)]


def test_an_empty_release_ends_everything() -> None:
    weeks = [Week({"a": (1, V)}, [(1, W)]), Week({}), Week({"b": (2, V)}, [(2, W)])]
    assert listed(weeks, "cohort", "since", "until") == [(1, 1, 1), (1, 1, 1), (2, 3, 3), (2, 3, 3)]


def test_people_are_counted_once_and_counterfeits_not() -> None:
    weeks = [
        Week({"a": (1, V), "b": (1, W)}, [(1, X)]),
        Week({"b": (1, V)}),
        Week({"a": (1, V), "c": (1, X)}),
    ]
    assert recorded(weeks)[0].people == 3


def test_a_record_with_another_release_leaves_the_old_one_as_it_was() -> None:
    stays, _ = recorded([Week({"a": (1, V), "b": (1, W)}, [(1, X)])])
    before = stays.frame()
    week = Week({"a": (1, W), "b": (1, W)}, [(1, X)])
    now = CohortSighting(
        2, np.array([1, 1]), np.array([W, W]), np.array([0, 1]), np.array([False, True]), shown_in(week)
    )
    after, entry = continued(stays, now)
    assert stays.frame().equals(before)
    assert entry.tolist() == [3, 1]
    assert after.count == 4


def test_a_record_outlives_a_file(tmp_path) -> None:
    stays, _ = recorded(random_weeks(np.random.default_rng(3)))
    stays.frame().write_parquet(tmp_path / "stays.parquet")
    again = Stays.of_frame(pl.read_parquet(tmp_path / "stays.parquet"))
    assert again.frame().equals(stays.frame())


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_record_is_that_of_plain_bookkeeping(seed: int, returns: bool) -> None:
    weeks = random_weeks(np.random.default_rng(seed), returns)
    stays, entries = recorded(weeks)
    naive, expected = naive_record(weeks)
    assert stays.frame().equals(naive.frame())
    assert entries == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_record_tells_what_every_release_showed(seed: int) -> None:
    weeks = random_weeks(np.random.default_rng(seed))
    stays, _ = recorded(weeks)
    for release, week in enumerate(weeks, start=1):
        for found, expected in zip(stays.heights(release), shown_in(week), strict=True):
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_the_names_of_people_and_their_order_do_not_matter(seed: int) -> None:
    """The record of people in another order has the same stays in another order."""
    rng = np.random.default_rng(seed)
    weeks = random_weeks(rng)
    shuffled = []
    for week in weeks:
        names = list(week.people)
        shuffled.append(
            Week({names[i]: week.people[names[i]] for i in rng.permutation(len(names))}, week.nobody)
        )
    same = ("cohort", "code", "since", "until", "bearer", "previous", "following")
    rows = [recorded(series)[0].frame().select(same).sort(same) for series in (weeks, shuffled)]
    assert rows[0].equals(rows[1])
