"""Regressions from a release, and how often their intervals hold the truth."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from estimates.generated import PAY, at_random, balanced, by_value, in_one, in_two, neighbours, workers
from metrics.twins import SECRET
from republish.errors import PolicyError
from republish.estimates import compare_regressions
from republish.grouping import Grouping
from republish.microdata import read_view
from republish.queries.counts import count_many
from republish.release.release import build_release
from republish.schema import Number, Schema

VIEW = workers(1500, seed=1)
METHODS = ("spread", "aggregate", "em")


def least_squares(view) -> dict[str, float]:
    pay = np.array([PAY.index(text) for text in view.values.to_list()], dtype=float)[view.codes]
    x = np.column_stack([np.ones(view.rows), view.points[0], view.points[1]])
    return dict(zip(("(intercept)", "age", "gender[m]"), np.linalg.lstsq(x, pay, rcond=None)[0], strict=True))


def test_exact_cells_give_the_coefficients_of_the_view() -> None:
    release = build_release(VIEW, Grouping(np.arange(VIEW.rows, dtype=np.int32)), SECRET, 1)[0]
    for method in ("spread", "aggregate"):
        found = release.regress("pay ~ age + gender", method)
        assert dict(zip(found.names, found.coefficients, strict=True)) == pytest.approx(least_squares(VIEW))
        assert found.people == 1500


def test_the_view_itself_is_the_measure() -> None:
    found = compare_regressions(in_one(VIEW), VIEW, "pay ~ age + gender", "spread")
    assert {name: one["true"] for name, one in found.items()} == pytest.approx(least_squares(VIEW))


@pytest.mark.parametrize("method", METHODS)
def test_batches_of_neighbours_show_the_slope(method: str) -> None:
    release = in_two(VIEW, neighbours(VIEW, 15))
    found = dict(zip(*_pair(release.regress("pay ~ age", method)), strict=True))
    slope = compare_regressions(release, VIEW, "pay ~ age", method)["age"]["true"]
    assert found["age"] == pytest.approx(slope, rel=0.2)


def _pair(found):
    return found.names, found.coefficients


def test_a_condition_is_an_indicator() -> None:
    release = in_one(VIEW)
    found = release.regress("pay >= '06' ~ age", "aggregate")
    assert 0.0 < found.coefficients[1] < 0.1
    low, high = found.intervals[1]
    assert low < found.coefficients[1] < high
    assert found.frame().columns == ["name", "coefficient", "standard_error", "low", "high"]


def test_insensitive_columns_explain_too() -> None:
    assert in_one(VIEW).regress("pay ~ age + ward", "spread").names == ("(intercept)", "age", "ward")


def test_rows_that_lack_a_value_are_left_out() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4, None], "pay": [1.0, 2.0, 3.0, 4.0, 9.0]})
    view = read_view(frame, Schema(quasi_identifiers=[Number("age")], sensitive=Number("pay")))
    release = build_release(view, Grouping(np.arange(5, dtype=np.int32)), SECRET, 1)[0]
    found = release.regress("pay ~ age", "spread")
    assert found.coefficients == pytest.approx((0.0, 1.0))
    assert found.notes[0] == "1 rows lack a value that the regression needs and are left out"


@pytest.mark.parametrize(
    "formula, method, said",
    [
        ("pay", "em", "written like `pay ~ age \\+ gender`"),
        ("pay ~ height", "em", "columns of the release, each once: age, gender, ward"),
        ("age ~ gender", "em", "what is explained is pay"),
        ("age > 3 ~ gender", "em", "what is explained is pay"),
        ("pay ~ age", "magic", "spread, aggregate, inverse, em"),
        ("pay ~ ward", "em", "takes quasi-identifiers"),
    ],
)
def test_what_is_no_regression_is_refused(formula: str, method: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        in_one(VIEW).regress(formula, method)


def test_too_few_batches_are_refused() -> None:
    release = in_two(VIEW, Grouping(np.zeros(VIEW.rows, dtype=np.int32)))
    with pytest.raises(PolicyError, match="more batches than coefficients; found 1 and 2"):
        release.regress("pay ~ age", "aggregate")
    with pytest.raises(PolicyError, match="at least two batches"):
        release.regress("pay ~ age", "em")


BATCHES = {
    "random": lambda view, seed: at_random(view, 20, seed),
    "neighbours": lambda view, seed: neighbours(view, 20),
    "by value": lambda view, seed: by_value(view, 40, seed),
    "balanced": lambda view, seed: balanced(view, 20, seed),
}


def compared(batches: str, method: str, seed: int, slope: float) -> dict[str, dict[str, float]]:
    view = workers(1000, seed=300 + seed, slope=slope)
    release = in_two(view, BATCHES[batches](view, seed))
    return compare_regressions(release, view, "pay ~ age + gender", method)


def held(found: list[dict[str, float]]) -> float:
    return float(np.mean([one["low"] <= one["true"] <= one["high"] for one in found]))


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("slope", [0.0, 0.03, 0.08])
def test_intervals_hold_the_truth(batches: str, slope: float) -> None:
    found = [compared(batches, "auto", seed, slope) for seed in range(30)]
    assert held([one[name] for one in found for name in ("age", "gender[m]")]) >= 0.9


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("method", ["spread", "aggregate", "inverse", "em"])
def test_intervals_of_every_method_hold_the_truth(batches: str, method: str) -> None:
    found = [compared(batches, method, seed, 0.08) for seed in range(10 if method == "em" else 40)]
    assert held([one[name] for one in found for name in ("age", "gender[m]")]) >= 0.9


@pytest.mark.parametrize(
    "batches, chosen", [("random", "aggregate"), ("neighbours", "aggregate"), ("by value", "inverse")]
)
def test_batches_tell_how_they_were_made(batches: str, chosen: str) -> None:
    view = workers(1000, seed=5)
    found = in_two(view, BATCHES[batches](view, 5)).regress("pay ~ age")
    assert found.method == chosen
    assert "scatter as those do" in found.notes[-1]


def test_where_no_assumption_is_borne_out_intervals_are_bounds() -> None:
    view = workers(1000, seed=5)
    release = in_two(view, by_value(view, 40, 5))
    found, spread = release.regress("pay ~ age", "aggregate"), release.regress("pay ~ age", "spread")
    assert "do not scatter" in found.notes[0]
    assert found.intervals == spread.intervals
    low, high = spread.intervals[1]
    assert spread.standard_errors[1] == pytest.approx((high - low) / 3.92, rel=1e-3)


def test_what_batches_bear_out_is_nearer_than_the_even_spread() -> None:
    # Both lean towards 0 where values follow columns inside batches, and say so.
    spread, likeliest, auto = (
        np.mean(
            [
                abs(one["estimated"] - one["true"])
                for one in (compared("random", method, seed, 0.08)["age"] for seed in range(10))
            ]
        )
        for method in ("spread", "em", "auto")
    )
    assert likeliest < 0.9 * spread
    assert auto < 0.5 * spread
    assert "lean towards 0" in in_one(VIEW).regress("pay ~ age", "em").notes[0]


@pytest.mark.parametrize("form", ["one", "two"])
def test_intervals_of_counts_hold_the_truth(form: str) -> None:
    held = asked = 0
    for seed in range(8):
        view = workers(800, seed=seed)
        release = in_one(view) if form == "one" else in_two(view, at_random(view, 12, seed=seed))
        rng = np.random.default_rng(seed)
        pay = np.array([PAY.index(text) for text in view.values.to_list()])[view.codes]
        texts, true = [], []
        for _ in range(60):
            low, width, most = rng.integers(18, 60), rng.integers(3, 25), rng.integers(2, 9)
            texts.append(f"age between {low} and {low + width} and pay <= '{PAY[most]}'")
            inside = (view.points[0] >= low) & (view.points[0] <= low + width) & (pay <= most)
            true.append(np.count_nonzero(inside))
        found = count_many(release, texts)
        held += int((np.abs(found.expected - true) <= 1.96 * found.standard_error + 1e-9).sum())
        asked += len(true)
    assert held >= 0.85 * asked
