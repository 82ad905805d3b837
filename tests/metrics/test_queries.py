from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.twins import SCHEMA, Case, cases, naive_estimates, naive_true_counts, numbers, publish
from republish.errors import PolicyError, SchemaError, ViewError
from republish.metrics import QueryError, Workload, estimated_counts, queries, relative_error, true_counts
from republish.microdata import Microdata, read_view
from republish.schema import Category, Number, Schema


def asking(view: Microdata, low: float, high: float) -> Workload:
    """One query over the first quasi-identifier of a view."""
    workload = Workload.random(view, 1, 1)
    start, end = np.full((1, len(view.axes)), -np.inf), np.full((1, len(view.axes)), np.inf)
    start[0, 0], end[0, 0] = low, high
    return replace(workload, low=start, high=end)


def test_whole_numbers_count_the_numbers_in_common() -> None:
    # [0-3] holds 4 numbers, 2 of them in 2..9.
    case = publish(numbers([0, 3, 3, 0]), [0, 0, 0, 0])
    assert estimated_counts(case.release, asking(case.view, 2, 9)).tolist() == [2.0]
    assert true_counts(case.view, asking(case.view, 2, 9)).tolist() == [2]


def test_decimals_count_the_length_in_common() -> None:
    case = publish(numbers([0.5, 4.5, 1, 1]), [0, 0, 0, 0])
    assert estimated_counts(case.release, asking(case.view, 3.5, 9)).tolist() == [1.0]


def test_a_single_decimal_is_in_or_out() -> None:
    case = publish(numbers([0.5, 0.5, 1.5]), [0, 0, 1])
    assert estimated_counts(case.release, asking(case.view, 0, 1)).tolist() == [2.0]


def test_sets_count_the_values_in_common() -> None:
    view = read_view(
        pl.DataFrame({"town": ["a", "c", "d", "b"]}), Schema(quasi_identifiers=[Category("town")])
    )
    case = publish(view, [0, 0, 0, 1])
    # Positions 1 and 2 are b and c: one of {a|c|d}, and all of {b}.
    assert estimated_counts(case.release, asking(view, 1, 2)).tolist() == [pytest.approx(2.0)]


def test_cells_with_some_values_missing_are_spread_over_the_domain() -> None:
    case = publish(numbers([0, None, 9, 9]), [0, 0, 1, 1])
    assert estimated_counts(case.release, asking(case.view, 0, 4)).tolist() == [pytest.approx(1.0)]


def test_cells_with_all_values_missing_match_no_range() -> None:
    case = publish(numbers([None, None, 0, 9]), [0, 0, 1, 1])
    workload = asking(case.view, 0, 9)
    assert estimated_counts(case.release, workload).tolist() == [2.0]
    assert true_counts(case.view, workload).tolist() == [2]


def test_counterfeits_are_taken_out_in_proportion() -> None:
    case = publish(numbers([0, 1], ["a", "b"]), [0, 0], [(0, 0), (0, 1)])
    assert estimated_counts(case.release, asking(case.view, 0, 0)).tolist() == [1.0]


def test_intersecting_groups_count_whole() -> None:
    case = publish(numbers([0, 3, 3, 0, 8]), [0, 0, 0, 0, 1])
    assert estimated_counts(case.release, asking(case.view, 3, 7), "intersecting").tolist() == [4.0]


def test_a_range_takes_its_share_of_the_domain() -> None:
    workload = Workload.random(numbers(list(range(100))), 500, 1, 0.05, 3)
    assert set(workload.high[:, 0] - workload.low[:, 0] + 1) == {5.0}
    assert workload.low.min() >= 0
    assert workload.high.max() <= 99


def test_several_ranges_multiply_to_the_selectivity() -> None:
    frame = pl.DataFrame({"a": range(100), "b": range(100)})
    view = read_view(frame, Schema(quasi_identifiers=[Number("a"), Number("b")]))
    workload = Workload.random(view, 50, 2, 0.04, 3)
    assert set((workload.high - workload.low + 1).ravel()) == {20.0}


def test_every_query_asks_about_as_many_columns_as_told() -> None:
    view = read_view(pl.DataFrame(schema=dict.fromkeys(SCHEMA.columns, pl.String)), SCHEMA)
    asked = np.isfinite(Workload.random(view, 300, 3, 0.1, 1).low)
    assert set(asked.sum(axis=1)) == {3}
    assert asked.any(axis=0).all()


def test_a_seed_gives_the_same_queries() -> None:
    view = numbers(list(range(30)))
    first, second = (Workload.random(view, 20, 1, 0.1, 5) for _ in range(2))
    assert np.array_equal(first.low, second.low)
    assert not np.array_equal(first.low, Workload.random(view, 20, 1, 0.1, 6).low)


@given(cases(), st.integers(1, 4), st.sampled_from([0.01, 0.2, 1.0]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_counts_agree_with_going_through_the_rows(
    case: Case, dimensions: int, selectivity: float, sensitive: bool
) -> None:
    workload = Workload.random(case.view, 12, dimensions, selectivity, 1, sensitive=sensitive)
    assert true_counts(case.view, workload).tolist() == naive_true_counts(case.view, workload)
    for answer in ("uniform", "intersecting"):
        found = estimated_counts(case.release, workload, answer)  # type: ignore[arg-type]
        assert found == pytest.approx(
            naive_estimates(case.release, workload, answer == "intersecting"), abs=1e-9
        )


@given(case=cases(), own=st.sampled_from([1, 100]))
@settings(max_examples=30, deadline=None)
def test_a_tree_for_each_kind_of_query_and_one_for_all_give_the_same_counts(case: Case, own: int) -> None:
    workload = Workload.random(case.view, 12, 1, 0.3, 1, sensitive=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "_EACH_WITH_EACH", 0)
        patch.setattr(queries, "_OWN_TREE", own)
        assert true_counts(case.view, workload).tolist() == naive_true_counts(case.view, workload)


def test_many_rows_agree_with_going_through_them() -> None:
    generator = np.random.default_rng(4)
    points = generator.integers(0, 40, (2, 3000))
    schema = Schema(quasi_identifiers=[Number("a"), Number("b")])
    view = read_view(pl.DataFrame({"a": points[0], "b": points[1]}), schema)
    workload = Workload.random(view, 40, 2, 0.05, 2)
    expected = [
        np.count_nonzero(((points >= low[:, None]) & (points <= high[:, None])).all(axis=0))
        for low, high in zip(workload.low, workload.high, strict=True)
    ]
    assert true_counts(view, workload).tolist() == expected


def test_point_queries_find_the_row_they_ask_for() -> None:
    view = numbers([1, None, 3, 3])
    workload = Workload.points(view, 50, 1, 2)
    counts = true_counts(view, workload)
    asked = workload.low[:, 0]
    assert {(x, int(n)) for x, n in zip(asked, counts, strict=True)} == {(1.0, 1), (3.0, 2), (-np.inf, 4)}


def test_point_queries_need_rows() -> None:
    with pytest.raises(ViewError, match="no rows"):
        Workload.points(numbers([]), 5, 1)


def test_relative_error_divides_by_the_truth() -> None:
    error = relative_error(np.array([10, 4, 0]), np.array([11.0, 2.0, 0.25]))
    assert error == QueryError(pytest.approx(0.25), pytest.approx((0.1 + 0.5 + 0.25) / 3), 3, 1)


def test_relative_error_divides_by_the_sanity_bound_at_least() -> None:
    assert relative_error(np.array([1]), np.array([3.0]), sanity=4.0).mean == 0.5


def test_no_queries_are_no_error() -> None:
    assert relative_error(np.array([], dtype=np.int64), np.array([])) == QueryError(0.0, 0.0, 0, 0)


def test_an_exact_release_answers_exactly() -> None:
    case = publish(numbers([1, 1, 4, 7, 7]), [0, 0, 1, 2, 2])
    workload = Workload.random(case.view, 30, 1, 0.3, 1)
    assert (
        relative_error(true_counts(case.view, workload), estimated_counts(case.release, workload)).mean == 0.0
    )


@pytest.mark.parametrize(
    "parameters",
    [{"dimensions": 0}, {"dimensions": 2}, {"queries": -1}, {"dimensions": 1, "selectivity": 0.0}],
)
def test_impossible_workloads_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(PolicyError):
        Workload.random(numbers([1, 2]), **({"dimensions": 1} | parameters))  # type: ignore[arg-type]


def test_a_sanity_bound_is_positive() -> None:
    with pytest.raises(PolicyError, match="above 0"):
        relative_error(np.array([1]), np.array([1.0]), sanity=0)


def test_a_sensitive_range_needs_a_sensitive_column() -> None:
    with pytest.raises(SchemaError, match="needs a sensitive column"):
        Workload.random(numbers([1, 2]), 5, 1, sensitive=True)


def test_a_workload_of_other_columns_is_refused() -> None:
    other = read_view(pl.DataFrame({"town": ["a"]}), Schema(quasi_identifiers=[Category("town")]))
    with pytest.raises(ViewError, match="make it of the view"):
        estimated_counts(publish(numbers([1]), [0]).release, Workload.random(other, 1, 1))
