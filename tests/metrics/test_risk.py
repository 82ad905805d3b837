from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from metrics.twins import Case, cases, fits, naive_linkage, numbers, publish
from republish.errors import ViewError
from republish.metrics import (
    Levels,
    Risk,
    achieved_levels,
    journalist_risk,
    marketer_risk,
    nearest_linkage,
    prosecutor_risk,
    record_linkage,
)
from republish.microdata import read_view
from republish.schema import Category, Number, Ordered, Schema


def test_prosecutor_risk_is_one_over_the_group() -> None:
    release = publish(numbers([0, 1, 2, 8, 9, 9]), [0, 0, 0, 0, 1, 1]).release
    assert prosecutor_risk(release) == Risk(0.5, pytest.approx(2 / 6), {0.2: 1.0, 0.09: 1.0, 0.05: 1.0})


def test_a_group_at_the_limit_is_not_above_it() -> None:
    release = publish(numbers([0] * 5 + [1] * 4), [0] * 5 + [1] * 4).release
    assert prosecutor_risk(release, (0.2,)).above == {0.2: pytest.approx(4 / 9)}


def test_counterfeits_are_candidates_and_run_no_risk() -> None:
    release = publish(numbers([0, 1, 2], list("aab")), [0, 0, 1], [(1, 0), (1, 0)]).release
    assert prosecutor_risk(release) == Risk(
        0.5, pytest.approx((2 / 2 + 1 / 3) / 3), {0.2: 1.0, 0.09: 1.0, 0.05: 1.0}
    )
    assert marketer_risk(release) == pytest.approx((2 / 2 + 1 / 3) / 3)


def test_marketer_risk_is_groups_over_rows() -> None:
    assert marketer_risk(publish(numbers([0, 1, 2, 8]), [0, 0, 0, 1]).release) == 0.5


def test_without_a_population_the_journalist_is_a_prosecutor() -> None:
    release = publish(numbers([0, 1, 8, 9]), [0, 0, 1, 1]).release
    assert journalist_risk(release) == prosecutor_risk(release)


def test_a_journalist_picks_among_the_population() -> None:
    # [0-1] fits 4 people, [8-9] fits 2.
    release = publish(numbers([0, 1, 8, 9]), [0, 0, 1, 1]).release
    population = numbers([0, 0, 1, 1, 5, 8, 9])
    assert journalist_risk(release, population, (0.3,)) == Risk(0.5, pytest.approx(0.375), {0.3: 0.5})
    assert marketer_risk(release, population) == pytest.approx((2 / 4 + 2 / 2) / 4)


def test_the_average_journalist_takes_the_worse_direction() -> None:
    # 3 of 3 people in one class and 1 of 9 in another: release to population is (3/3 + 1/9) / 4.
    release = publish(numbers([0, 0, 0, 5]), [0, 0, 0, 1]).release
    risk = journalist_risk(release, numbers([0] * 3 + [5] * 9))
    assert risk.average == pytest.approx((1 + 1 / 9) / 4)


def test_a_town_that_the_release_does_not_know_fits_no_group() -> None:
    schema = Schema(quasi_identifiers=[Category("town")])
    view = read_view(pl.DataFrame({"town": ["b", "b", "d"]}), schema)
    population = read_view(pl.DataFrame({"town": ["a", "b", "b", "b", "c", "d"]}), schema)
    release = publish(view, [0, 0, 1]).release
    assert journalist_risk(release, population).highest == 1.0
    assert marketer_risk(release, population) == pytest.approx((2 / 3 + 1) / 3)


@given(cases())
@settings(max_examples=30, deadline=None)
def test_population_counts_agree_with_counting_by_hand(case: Case) -> None:
    release, people = case.release, case.release.sizes - case.release.counterfeits
    fitting = [
        max(int(release.sizes[g]), sum(fits(release, case.view, g, tuple(p)) for p in case.view.points.T))
        for g in range(release.group_count)
    ]
    expected = sum(n / f for n, f in zip(people, fitting, strict=True)) / max(1, people.sum())
    assert marketer_risk(release, case.view) == pytest.approx(expected)


def test_record_linkage_is_the_chance_among_all_rows_that_fit() -> None:
    # 0 fits [0-2] alone (2 rows), 2 fits both (4), 1 fits both, 3 fits [1-3] alone.
    case = publish(numbers([0, 2, 1, 3]), [0, 0, 1, 1])
    assert record_linkage(case.release, case.view) == pytest.approx((1 / 2 + 1 / 4 + 1 / 4 + 1 / 2) / 4)


def test_record_linkage_of_disjoint_groups_is_the_marketers() -> None:
    case = publish(numbers([0, 1, 2, 8, 9]), [0, 0, 0, 1, 1])
    assert record_linkage(case.release, case.view) == pytest.approx(marketer_risk(case.release))


def test_who_is_left_out_is_not_linked() -> None:
    case = publish(numbers([0, 1, 2]), [0, -1, 0])
    assert record_linkage(case.release, case.view, case.membership) == pytest.approx((1 / 2 + 1 / 2) / 3)
    assert record_linkage(case.release, case.view) == pytest.approx(3 * (1 / 2) / 3)


@given(cases(least=1))
@settings(max_examples=60, deadline=None)
def test_record_linkage_agrees_with_counting_by_hand(case: Case) -> None:
    assert record_linkage(case.release, case.view, case.membership) == pytest.approx(naive_linkage(case))


def test_record_linkage_of_many_rows_agrees_with_trying_every_group() -> None:
    generator = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"age": generator.integers(0, 60, 1200), "town": generator.choice(list("abcdefghij"), 1200)}
    )
    view = read_view(frame, Schema(quasi_identifiers=[Number("age"), Category("town")]))
    order = np.lexsort((generator.random(1200), view.points[0]))
    groups = np.empty(1200, dtype=np.int64)
    groups[order] = np.arange(1200) // 4
    case = publish(view, groups.tolist())
    candidates = np.zeros(1200)
    for group in range(case.release.group_count):
        here = np.full(1200, group)
        inside = [
            cells.cover(here, part) for cells, part in zip(case.release.cells, view.points, strict=True)
        ]
        candidates += case.release.sizes[group] * np.logical_and.reduce(inside)
    assert record_linkage(case.release, view) == pytest.approx((1 / candidates).mean())


@given(cases(least=1))
@settings(max_examples=30, deadline=None)
def test_linkage_never_exceeds_the_prosecutors_highest(case: Case) -> None:
    highest = prosecutor_risk(case.release).highest
    assert record_linkage(case.release, case.view, case.membership) <= highest + 1e-12
    assert nearest_linkage(case.release, case.view, case.membership) <= highest + 1e-12


def test_nearest_linkage_fails_where_another_centre_is_nearer() -> None:
    # Centres 5 and 12; the row at 10 belongs to [0-10] and is nearer to 12.
    case = publish(numbers([0, 10, 12, 12]), [0, 0, 1, 1])
    assert nearest_linkage(case.release, case.view, case.membership) == pytest.approx(
        (1 / 2 + 0 + 1 / 2 + 1 / 2) / 4
    )


def test_groups_with_one_centre_are_one_target() -> None:
    case = publish(numbers([0, 4, 1, 3]), [0, 0, 1, 1])
    assert nearest_linkage(case.release, case.view, case.membership) == pytest.approx(1 / 4)


def test_a_membership_names_every_row() -> None:
    case = publish(numbers([0, 1]), [0, 0])
    with pytest.raises(ViewError, match="2 rows, found 1"):
        record_linkage(case.release, case.view, np.array([1]))


def test_nobody_published_is_nobody_linked() -> None:
    case = publish(numbers([0, 1]), [-1, -1])
    assert record_linkage(case.release, case.view, case.membership) == 0.0
    assert nearest_linkage(case.release, case.view, case.membership) == 0.0
    assert prosecutor_risk(case.release) == Risk(0.0, 0.0, {0.2: 0.0, 0.09: 0.0, 0.05: 0.0})
    assert journalist_risk(case.release, case.view).average == 0.0
    assert marketer_risk(case.release) == 0.0


def test_levels_are_those_of_the_weakest_group() -> None:
    # {a, a, b} and {b, c}; overall a 2/5, b 2/5, c 1/5.
    case = publish(numbers([0, 1, 2, 8, 9], list("aabbc")), [0, 0, 0, 1, 1])
    levels = achieved_levels(case.release)
    entropy = np.exp(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))
    assert levels == Levels(2, 2, pytest.approx(entropy), pytest.approx(0.4), "equal")


def test_levels_use_the_distance_of_the_column_over_the_values_that_occur() -> None:
    column = Ordered("stage", order=("i", "ii", "iii"), distance="ordered")
    frame = pl.DataFrame({"age": [0, 1, 8, 9], "stage": ["i", "i", "ii", "ii"]})
    view = read_view(frame, Schema(quasi_identifiers=[Number("age")], sensitive=column))
    levels = achieved_levels(publish(view, [0, 0, 1, 1]).release)
    # Half of the rows move the one step there is: the third value of the order does not occur.
    assert (levels.distinct_l, levels.t, levels.distance) == (1, pytest.approx(0.5), "ordered")


def test_levels_without_a_sensitive_column_are_a_size() -> None:
    assert achieved_levels(publish(numbers([0, 1, 2]), [0, 0, 1]).release) == Levels(1)


def test_levels_without_groups_are_none() -> None:
    assert achieved_levels(publish(numbers([], []), []).release) == Levels(None)


def test_a_missing_sensitive_value_is_a_value() -> None:
    levels = achieved_levels(publish(numbers([0, 1], ["a", None]), [0, 0]).release)
    assert (levels.distinct_l, levels.t) == (2, 0.0)
