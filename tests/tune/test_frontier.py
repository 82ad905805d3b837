"""Which points are worth a look, and which one is chosen."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from republish.tune import Point, Tuned, choose, frontier, nearest


def points(*figures: tuple[float, float] | None) -> list[Point]:
    """A point for each (penalty, risk), an infeasible one for `None`."""
    return [
        Point("mondrian", {"k": i}, why="too few rows")
        if one is None
        else Point("mondrian", {"k": i}, penalty=one[0], risk=one[1], feasible=True)
        for i, one in enumerate(figures)
    ]


def tuned(limit: float, *figures: tuple[float, float] | None) -> Tuned:
    return Tuned({"max_gain": limit}, tuple(points(*figures)), "2026-01-01T00:00:00+00:00", "abc", 9)


def test_the_frontier_leaves_out_what_another_point_beats() -> None:
    assert frontier(points((0.5, 0.1), (0.1, 0.5), (0.5, 0.5), (0.3, 0.3), (0.4, 0.35))) == [1, 3, 0]


def test_of_equal_points_the_first_stays() -> None:
    assert frontier(points((0.2, 0.2), (0.2, 0.2))) == [0]


def test_at_equal_risk_the_least_penalty_stays_and_at_equal_penalty_the_least_risk() -> None:
    assert frontier(points((0.3, 0.2), (0.2, 0.2))) == [1]
    assert frontier(points((0.2, 0.3), (0.2, 0.2))) == [1]


def test_infeasible_points_are_never_on_it() -> None:
    assert frontier(points(None, (0.9, 0.9), None)) == [1]
    assert frontier(points(None)) == []


def test_the_least_penalty_within_the_limit_is_chosen() -> None:
    tried = points((0.1, 0.9), (0.4, 0.1), (0.6, 0.0), (0.3, 0.2))
    assert choose(tried, 0.2) == 3
    assert choose(tried, 0.15) == 1
    assert choose(tried, 1.0) == 0


def test_a_risk_that_equals_the_limit_is_within_it() -> None:
    assert choose(points((0.1, 0.2)), 0.2) == 0


def test_where_none_is_within_the_nearest_is_named() -> None:
    found = tuned(0.05, (0.1, 0.9), (0.4, 0.1), None)
    assert found.chosen is None
    assert found.best is None
    assert found.nearest is not None and found.nearest.figures == (0.4, 0.1)
    assert nearest(points(None)) is None


@given(
    st.lists(st.none() | st.tuples(st.integers(0, 6).map(float), st.integers(0, 6).map(float)), max_size=12)
)
def test_against_the_definition(figures: list[tuple[float, float] | None]) -> None:
    tried = points(*figures)
    feasible = [i for i, point in enumerate(tried) if point.feasible]

    def beats(one: int, other: int) -> bool:
        mine, yours = tried[one].figures, tried[other].figures
        return mine != yours and mine[0] <= yours[0] and mine[1] <= yours[1]

    best = [i for i in feasible if not any(beats(j, i) for j in feasible)]
    first = [i for i in best if not any(tried[j].figures == tried[i].figures for j in best if j < i)]
    assert sorted(frontier(tried)) == first
    for limit in range(7):
        within = [tried[i].figures for i in feasible if tried[i].figures[1] <= limit]
        chosen = choose(tried, limit)
        assert (tried[chosen].figures if chosen is not None else None) == min(within, default=None)


def test_the_document_says_what_the_desk_reads_and_can_be_read_again() -> None:
    found = tuned(0.3, (0.1, 0.9), None, (0.4, 0.1))
    document = json.loads(json.dumps(found.as_dict()))
    assert document["limits"] == {"max_gain": 0.3}
    assert document["chosen"] == 2
    assert [point["frontier"] for point in document["points"]] == [True, False, True]
    assert document["points"][1]["feasible"] is False
    assert document["points"][1]["penalty"] is None
    assert Tuned.from_dict(document) == found


def test_infeasible_points_are_counted_by_publisher() -> None:
    assert tuned(0.3, None, (0.1, 0.1), None).infeasible == {"mondrian": (2, "too few rows")}


def test_settings_are_one_line() -> None:
    point = Point("mondrian", {"k": 5, "strict": True, "t": 0.25}, "t=0.4")
    assert point.settings == "k=5 strict=true t=0.25 require t=0.4"
