"""Verdicts on made-up numbers."""

from __future__ import annotations

import numpy as np
import pytest

from republish.papers import checks
from republish.papers.checks import (
    Check,
    all_of,
    at_least,
    at_most,
    below,
    falls,
    flat,
    grows,
    lower,
    near,
    reaches,
    told,
)
from republish.papers.study import Claim, Finding, Lines, Outcome

HOLDS, SHAPE, FAILS, NOT_RUN = Outcome.HOLDS, Outcome.SHAPE, Outcome.FAILS, Outcome.NOT_RUN
OPEN = Outcome.OPEN


def found(verdict: Outcome) -> Check:
    """A check that finds this whatever it is shown."""
    return lambda _: Finding(verdict, verdict.value)


def judge(check: Check, shown: Lines) -> Finding:
    return checks.judge(Claim("it is so", "if it is", check), shown)


def lines(**points: list[float]) -> Lines:
    return Lines({name: (list(range(len(y))), np.array(y, dtype=float)) for name, y in points.items()})


@pytest.mark.parametrize(
    "check, a, b, verdict",
    [
        (below("a", "b"), [1, 2, 3], [1, 3, 4], HOLDS),
        (below("a", "b"), [1, 4, 3], [1, 3, 9], SHAPE),
        (below("a", "b"), [2, 4, 9], [1, 5, 3], FAILS),
        (below("a", "b", factor=0.5), [1, 1], [2, 4], HOLDS),
        (below("a", "b", factor=0.5), [2, 2], [2, 3], FAILS),
        (lower("a", "b"), [1, 5], [4], HOLDS),
        (lower("a", "b"), [5], [4], FAILS),
        (at_most("a", 3), [1, 3], [], HOLDS),
        (at_most("a", 3), [1, 4.5], [], SHAPE),
        (at_most("a", 3), [1, 4.6], [], FAILS),
        (at_most("a", 3, loosely=3.2), [1, 3.3], [], FAILS),
        (at_least("a", 3), [3, 9], [], HOLDS),
        (at_least("a", 3), [2, 9], [], SHAPE),
        (at_least("a", 3), [1, 9], [], FAILS),
        (reaches("a", 3), [0, 3], [], HOLDS),
        (reaches("a", 3), [0, 2], [], SHAPE),
        (reaches("a", 3), [0, 1], [], FAILS),
        (near("a", 1, 5, within=1), [0, 6], [], HOLDS),
        (near("a", 1, 5, within=1), [0, 8], [], SHAPE),
        (near("a", 1, 5, within=1), [0, 9], [], FAILS),
        (grows("a"), [1, 2, 3], [], HOLDS),
        (grows("a", by=3), [1, 2, 3], [], SHAPE),
        (grows("a"), [2, 5, 1, 0, 3], [], SHAPE),
        (grows("a"), [2, 2], [], FAILS),
        (grows("a"), [3, 2], [], FAILS),
        (grows("a"), [3], [], NOT_RUN),
        (falls("a"), [3, 2, 2], [], HOLDS),
        (falls("a"), [3, 4], [], FAILS),
        (flat("a", 1), [3, 4, 3], [], HOLDS),
        (flat("a", 1), [3, 5], [], SHAPE),
        (flat("a", 1), [3, 6], [], FAILS),
        (all_of(at_most("a", 3), at_least("a", 1)), [1, 4], [], SHAPE),
        (all_of(at_most("a", 3), at_least("a", 9)), [1, 2], [], FAILS),
        (all_of(found(OPEN), found(SHAPE), found(HOLDS)), [], [], OPEN),
        (all_of(found(OPEN), found(FAILS)), [], [], FAILS),
        (all_of(found(OPEN), found(NOT_RUN)), [], [], NOT_RUN),
        (told("a"), [9, 1], [], HOLDS),
        (at_most("c", 3), [1], [], NOT_RUN),
        (near("a", 7, 5, within=1), [0, 6], [], NOT_RUN),
    ],
)
def test_a_claim_is_judged(check: Check, a: list[float], b: list[float], verdict: Outcome) -> None:
    assert judge(check, lines(a=a, b=b)).verdict is verdict


def test_the_best_of_several_findings_is_named_and_the_others_are_said() -> None:
    either = checks.best_of({"strict": at_most("a", 1), "relaxed": at_most("b", 3)})
    found = judge(either, lines(a=[2], b=[3]))
    assert found.verdict is HOLDS
    assert found.number == (
        "judged by relaxed: b at most 3; limit 3; strict (does not hold): a at most 2; limit 1"
    )
    assert judge(either, lines(a=[1], b=[3])).number.startswith("judged by strict")
    assert judge(either, lines(a=[2], b=[9])).verdict is FAILS


def test_the_numbers_are_said() -> None:
    assert (
        judge(below("a", "b"), lines(a=[1, 4], b=[2, 3])).number
        == "a 2.5, b 2.5 on average; so at 1 of 2 points"
    )
    assert judge(reaches("a", 0.5), lines(a=[0.1, 0.61234])).number == "a reaches 0.612; limit 0.5"


def test_lines_are_compared_where_both_have_points() -> None:
    two = Lines({"a": ([1, 2], np.array([9.0, 1.0])), "b": ([2, 3], np.array([2.0, 0.0]))})
    assert judge(below("a", "b"), two).verdict is HOLDS


def test_points_that_share_a_place_are_all_kept_and_compared_by_their_mean() -> None:
    points = Lines(
        {
            "a": ([1, 2, 2, 3], np.array([4.0, 9.0, 1.0, 0.0])),
            "b": ([2, 2, 3], np.array([4.0, 8.0, 0.0])),
        }
    )
    assert list(points.y("a")) == [4, 9, 1, 0]
    assert points.at("a", 2) == 5
    assert [list(values) for values in points.together("a", "b")] == [[5, 0], [6, 0]]
    assert judge(below("a", "b"), points).verdict is HOLDS


@pytest.mark.parametrize(
    "x, y, verdict",
    [
        ([1, 2, 2, 2], [9.0, 5.0, 0.0, 7.0], HOLDS),  # no two of one place are a step
        ([1, 1, 2, 2], [9.0, 1.0, 2.0, 5.0], SHAPE),  # half of the steps fall, and the mean does
        ([2, 2, 2], [9.0, 1.0, 0.0], NOT_RUN),
        ([1, 1, 2, 2], [9.0, 1.0, 6.0, 5.0], FAILS),
    ],
)
def test_a_trend_is_one_between_places(x: list[float], y: list[float], verdict: Outcome) -> None:
    assert judge(falls("a"), Lines({"a": (list(x), np.array(y))})).verdict is verdict


def test_what_is_told_is_not_judged() -> None:
    assert told("a")(lines(a=[2.0])).number == "a 2 (not judged)"
    assert told("a")(lines(a=[2.0, 1.0])).number == "a 1 to 2 (not judged)"


def test_another_error_is_not_hidden() -> None:
    def broken(_: Lines) -> None:
        raise ValueError("something else")

    with pytest.raises(ValueError, match="something else"):
        judge(broken, lines(a=[1]))  # type: ignore[arg-type]
