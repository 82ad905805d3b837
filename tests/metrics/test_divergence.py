from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from metrics.twins import Case, cases, naive_divergence, numbers, publish
from republish.errors import SchemaError, ViewError
from republish.metrics import kl_divergence


def test_an_exact_release_diverges_by_nothing() -> None:
    case = publish(numbers([1, 1, 2, 5]), [0, 0, 1, 2])
    assert kl_divergence(case.release, case.view) == pytest.approx(0, abs=1e-12)


def test_a_group_is_spread_evenly_over_the_whole_numbers_in_its_cell() -> None:
    # 4 rows over 0, 1, 2, 3; the view has 0, 0, 0, 3: 3/4 log 3 + 1/4 log 1.
    case = publish(numbers([0, 0, 0, 3]), [0, 0, 0, 0])
    assert kl_divergence(case.release, case.view) == pytest.approx(0.75 * math.log(3))


def test_decimals_are_spread_over_the_values_of_the_view() -> None:
    # One group over 0.5, 1.5 and 2.5, a third each.
    case = publish(numbers([0.5, 0.5, 1.5, 2.5]), [0, 0, 0, 0])
    expected = 0.5 * math.log(0.5 * 3) + 0.5 * math.log(0.25 * 3)
    assert kl_divergence(case.release, case.view) == pytest.approx(expected)


def test_overlapping_groups_add_up() -> None:
    # [0-1] and [1-2]: estimates 1/4, 1/2, 1/4, and so are the rows.
    case = publish(numbers([0, 1, 1, 2]), [0, 0, 1, 1])
    assert kl_divergence(case.release, case.view) == pytest.approx(0, abs=1e-12)


def test_suppressed_rows_are_spread_over_the_whole_domain() -> None:
    # 0 twice exactly, one row anywhere in 0..9: estimates 2/3 + 1/30 for 0 and 1/30 for 9.
    case = publish(numbers([0, 0, 9]), [0, 0, -1])
    expected = 2 / 3 * math.log((2 / 3) / (2.1 / 3)) + 1 / 3 * math.log((1 / 3) / (0.1 / 3))
    assert kl_divergence(case.release, case.view) == pytest.approx(expected)


def test_sensitive_values_are_spread_as_published_in_their_group() -> None:
    # 0a and 1b in one group: four pairs at a quarter each, two of them there: log 2.
    case = publish(numbers([0, 1], ["a", "b"]), [0, 0])
    assert kl_divergence(case.release, case.view, sensitive=True) == pytest.approx(math.log(2))


@pytest.mark.parametrize("sensitive", [False, True])
@given(case=cases(least=1))
@settings(max_examples=60, deadline=None)
def test_the_tree_agrees_with_counting_by_hand(case: Case, sensitive: bool) -> None:
    found = kl_divergence(case.release, case.view, sensitive=sensitive)
    assert found == pytest.approx(max(0.0, naive_divergence(case, sensitive)), abs=1e-9)


def test_a_column_of_missing_values_alone_is_exact() -> None:
    case = publish(numbers([None, None]), [0, 0])
    assert kl_divergence(case.release, case.view) == 0.0


def test_a_view_without_rows_diverges_by_nothing() -> None:
    case = publish(numbers([]), [])
    assert kl_divergence(case.release, case.view) == 0.0


def test_another_view_is_refused() -> None:
    release = publish(numbers([0, 1, 2]), [0, 0, 0]).release
    with pytest.raises(ViewError, match="1 of its rows lie in no group"):
        kl_divergence(release, numbers([0, 1, 7]))
    with pytest.raises(ViewError, match="1 fewer"):
        kl_divergence(release, numbers([0, 1]))


def test_sensitive_tuples_need_a_sensitive_column() -> None:
    case = publish(numbers([0, 1]), [0, 0])
    with pytest.raises(SchemaError, match="needs a sensitive column"):
        kl_divergence(case.release, case.view, sensitive=True)
