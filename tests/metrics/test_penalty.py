from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings

from metrics.twins import Case, cases, numbers, publish
from republish.errors import PolicyError
from republish.metrics import (
    average_class_size,
    column_penalties,
    discernibility,
    global_certainty_penalty,
    measure,
)
from republish.microdata import read_view
from republish.schema import Category, Number, Schema


def test_the_penalty_is_the_mean_over_rows_of_the_share_left_open() -> None:
    # Groups [0-2] and [8-10] of a domain of width 10: 5 rows at .2.
    case = publish(numbers([0, 1, 2, 8, 10]), [0, 0, 0, 1, 1])
    assert global_certainty_penalty(case.release) == pytest.approx(0.2)


def test_a_suppressed_row_counts_one() -> None:
    case = publish(numbers([0, 2, 8, 10, 5]), [0, 0, 1, 1, -1])
    assert global_certainty_penalty(case.release, 1) == pytest.approx((4 * 0.2 + 1) / 5)


def test_counterfeits_are_left_out_of_the_mean() -> None:
    # [0-2] at .2 three times and [6-10] at .4 twice, whatever the counterfeit adds.
    case = publish(numbers([0, 1, 2, 6, 10], list("abaab")), [0, 0, 0, 1, 1], [(1, 0)])
    assert global_certainty_penalty(case.release) == pytest.approx((3 * 0.2 + 2 * 0.4) / 5)


def test_a_group_of_counterfeits_alone_weighs_nothing() -> None:
    case = publish(numbers([0, 10], list("ab")), [0, 0], [(1, 0)])
    assert global_certainty_penalty(case.release) == 1.0


def test_penalties_by_column_average_to_the_penalty() -> None:
    frame = pl.DataFrame({"age": [0, 5, 10, 10], "town": ["a", "a", "b", "c"]})
    view = read_view(frame, Schema(quasi_identifiers=[Number("age"), Category("town")]))
    case = publish(view, [0, 0, 1, 1])
    assert column_penalties(case.release) == {"age": pytest.approx(0.25), "town": pytest.approx(1 / 3)}
    assert global_certainty_penalty(case.release) == pytest.approx((0.25 + 1 / 3) / 2)


def test_columns_count_by_their_weights() -> None:
    frame = pl.DataFrame({"age": [0, 5, 10, 10], "town": ["a", "a", "b", "c"]})
    view = read_view(frame, Schema(quasi_identifiers=[Number("age", weight=3), Category("town")]))
    case = publish(view, [0, 0, 1, 1])
    assert column_penalties(case.release) == {"age": pytest.approx(0.25), "town": pytest.approx(1 / 3)}
    assert global_certainty_penalty(case.release) == pytest.approx((3 * 0.25 + 1 / 3) / 4)
    assert measure(case.release).penalty == pytest.approx((3 * 0.25 + 1 / 3) / 4)


def test_a_release_without_rows_has_lost_nothing_unless_all_was_left_out() -> None:
    case = publish(numbers([1, 2]), [-1, -1])
    assert global_certainty_penalty(case.release) == 0.0
    assert global_certainty_penalty(case.release, 2) == 1.0


def test_a_negative_number_of_suppressed_rows_is_refused() -> None:
    release = publish(numbers([1, 2]), [0, 0]).release
    with pytest.raises(PolicyError, match="0 or more"):
        global_certainty_penalty(release, -1)
    with pytest.raises(PolicyError, match="0 or more"):
        discernibility(release, -1)


@given(cases())
@settings(max_examples=40, deadline=None)
def test_suppression_never_improves_the_penalty(case: Case) -> None:
    # Group 1 goes; group 2 becomes the first, and so on.
    fewer = [int(group) - 2 if group > 1 else -1 for group in case.membership]
    before = global_certainty_penalty(case.release, case.suppressed)
    after = publish(case.view, fewer)
    assert global_certainty_penalty(after.release, after.suppressed) >= before - 1e-12


@given(cases())
@settings(max_examples=40, deadline=None)
def test_a_penalty_lies_between_nothing_and_everything(case: Case) -> None:
    assert 0 <= global_certainty_penalty(case.release, case.suppressed) <= 1


def test_discernibility_squares_groups_and_charges_the_view_for_every_suppressed_row() -> None:
    case = publish(numbers([0, 1, 2, 8, 10, 5], list("abcabc")), [0, 0, 0, 1, 1, -1], [(1, 2)])
    assert discernibility(case.release) == 9 + 9
    assert discernibility(case.release, 1) == 9 + 9 + 6


def test_average_class_size_is_rows_a_group_over_k() -> None:
    release = publish(numbers([0, 1, 2, 8, 10, 5]), [0, 0, 0, 0, 1, 1]).release
    assert average_class_size(release) == 3.0
    assert average_class_size(release, k=2) == 1.5


def test_average_class_size_without_groups_is_zero() -> None:
    assert average_class_size(publish(numbers([]), []).release, k=5) == 0.0


def test_average_class_size_needs_a_k() -> None:
    with pytest.raises(PolicyError, match="at least 1"):
        average_class_size(publish(numbers([1]), [0]).release, k=0)
