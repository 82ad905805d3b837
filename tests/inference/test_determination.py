"""Ways out: the bound holds against every adversary of hundreds of small series, all worlds enumerated."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest

from republish.inference.determination import (
    _LONGEST,
    _arrows_of,
    _room,
    _search,
    _way,
    escape_risk,
    with_known_counterfeits,
)
from republish.memory.cohort_stays import FREE, NOBODY, Stays
from small_stays import Week, entries_of_lives, naive_record, random_weeks, recorded, twin_weeks, worlds_of

SHARES = (0.04, 0.3)
V, W, X = 0, 1, 2
KINDS = {
    "any": (random_weeks, 1000),
    "returns": (partial(random_weeks, returns=True), 800),
    "twins": (twin_weeks, 800),
}


@cache
def small_series(kind: str) -> list[list[Week]]:
    draw, count = KINDS[kind]
    made = (draw(np.random.default_rng(seed)) for seed in range(count))
    return [weeks for weeks in made if any(week.people for week in weeks)]


def exact_and_bound(weeks: list[Week], p: float) -> dict[str, list[tuple[float, float]]]:
    """Of everyone's lives: how likely each is determined, and how likely it is at most."""
    stays, entries = naive_record(weeks)
    worlds = worlds_of(weeks)
    risk = escape_risk(stays, p).of_stay
    found: dict[str, list[tuple[float, float]]] = {}
    lives = zip(
        worlds.person, worlds.exposed(p), entries_of_lives(weeks, stays, entries, worlds), strict=True
    )
    for name, exact, mine in lives:
        (bound,) = {float(risk[i]) for i in mine}  # all stays of a life are told the same
        found.setdefault(name, []).append((exact, bound))
    return found


# The proof ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", SHARES)
@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_determined_more_often_than_the_bound_says(kind: str, p: float) -> None:
    exceeding, ratios, useless, lives = [], [], 0, 0
    for number, weeks in enumerate(small_series(kind)):
        found = [life for mine in exact_and_bound(weeks, p).values() for life in mine]
        exceeding += [(number, exact, bound) for exact, bound in found if exact > bound + 1e-9]
        ratios += [bound / exact for exact, bound in found if exact > 1e-12]
        useless += sum(exact < 1 - 1e-9 and bound == 1 for exact, bound in found)
        lives += len(found)
    print(
        f"\n{kind}, {p:g}: {lives} lives; bound / exact: mean {np.mean(ratios):.1f}, median {np.median(ratios):.2f}, "
        f"exact in {np.mean(np.array(ratios) < 1 + 1e-9):.0%}; no way found where there is one: {useless / lives:.1%}"
    )
    assert not exceeding


def test_the_small_series_are_not_trivial() -> None:
    """Among them are lives that are surely determined, never, and sometimes; and such that a way out is proved for."""
    found = [
        life
        for weeks in small_series("any")[:300]
        for mine in exact_and_bound(weeks, 0.3).values()
        for life in mine
    ]
    exact, bound = (np.array(side) for side in zip(*found, strict=True))
    assert np.count_nonzero(exact > 0.999) > 100
    assert np.count_nonzero((exact > 0) & (exact < 0.9)) > 100
    assert np.count_nonzero((bound > 0) & (bound < 0.9)) > 100
    assert np.count_nonzero(exact == 0) > 20


# Hand-made series -----------------------------------------------------------------------------------


def bounds(weeks: list[Week], p: float) -> dict[str, list[float]]:
    found = exact_and_bound(weeks, p)
    assert all(exact <= bound + 1e-9 for mine in found.values() for exact, bound in mine)
    return {name: [bound for _, bound in mine] for name, mine in found.items()}


def test_two_people_hide_each_other() -> None:
    found = bounds([Week({"a": (1, V), "b": (1, W)})], 0.3)
    assert found == {"a": [pytest.approx(0.3)], "b": [pytest.approx(0.3)]}


def test_each_further_person_with_another_value_is_another_way() -> None:
    found = bounds([Week({"a": (1, V), "b": (1, W), "c": (1, W), "d": (1, X)})], 0.3)
    assert found["a"] == [pytest.approx(0.3**3)]


def test_a_person_alone_or_among_equals_is_determined() -> None:
    found = bounds([Week({"a": (1, V), "b": (1, V), "c": (2, W)})], 0.3)
    assert found == {"a": [1.0], "b": [1.0], "c": [1.0]}


def test_a_counterfeit_of_the_whole_time_hides_from_everyone() -> None:
    found = bounds([Week({"a": (1, V)}, [(1, W)]), Week({"a": (1, V)}, [(1, W)])], 0.3)
    assert found == {"a": [0.0]}


def test_a_counterfeit_whose_value_is_known_hides_nobody() -> None:
    stays, _ = recorded([Week({"a": (1, V), "b": (2, V), "c": (2, W)}, [(1, W)])])
    assert escape_risk(stays, 0.3).of_stay.tolist() == pytest.approx([0.0, 0.3, 0.3, 0.0])
    told = escape_risk(with_known_counterfeits(stays), 0.3)
    assert told.of_stay.tolist() == pytest.approx([1.0, 0.3, 0.3, 0.0])
    assert (told.worst, told.people) == (1.0, 3)


def test_a_counterfeit_of_half_the_time_hides_nobody() -> None:
    found = bounds([Week({"a": (1, V)}, [(1, W)]), Week({"a": (1, V)}, [(1, V)])], 0.3)
    assert found == {"a": [1.0]}


def test_different_counterfeits_of_successive_releases_hide_together() -> None:
    """One of w in the first release, one who leaves and another who comes in the others."""
    weeks = [
        Week({"a": (1, V)}, [(1, W)]),
        Week({"a": (1, V), "b": (1, W)}),
        Week({"a": (1, V)}, [(1, W)]),
    ]
    assert bounds(weeks, 0.3)["a"] == [pytest.approx(0.3)]


def test_a_successor_completes_the_time_of_who_left() -> None:
    weeks = [Week({"a": (1, V), "b": (1, W)}), Week({"a": (1, V), "c": (1, W)})]
    found = bounds(weeks, 0.3)
    assert found["a"] == [pytest.approx(1 - 0.7**2)]
    assert found["b"] == found["c"] == [pytest.approx(1 - 0.7**2)]


def test_who_left_alone_is_determined() -> None:
    """b's place is given up, so its value is missing in the second release."""
    weeks = [Week({"a": (1, V), "b": (1, W), "c": (1, X)}), Week({"a": (1, V), "c": (1, X)})]
    assert bounds(weeks, 0.04)["b"] == [1.0]


def test_one_who_came_back_needs_a_way_for_each_stay() -> None:
    weeks = [
        Week({"a": (1, V), "b": (1, W)}),
        Week({"z": (1, V)}, [(1, W)]),
        Week({"a": (2, V), "c": (2, W)}),
    ]
    found = bounds(weeks, 0.3)
    assert found["a"] == [pytest.approx(1 - 0.7**2)]
    assert found["b"] == found["c"] == [1.0]  # whoever came back is tied and counts for nobody


def test_a_value_of_the_life_before_or_after_is_no_way_out() -> None:
    weeks = [Week({"a": (1, V), "b": (1, W)}), Week({"a": (1, W), "c": (1, V)})]
    found = bounds(weeks, 0.3)
    assert found["a"] == [1.0, 1.0]


def test_a_counterfeit_serves_only_one_stay_of_a_life() -> None:
    """x was there with v in releases 1 and 3. Both ways out would need the one counterfeit of release 3."""
    weeks = [
        Week({"x": (1, V), "b": (1, W)}),
        Week({"a": (1, V), "b": (1, W)}),
        Week({"a": (1, V), "x": (1, V)}, [(1, W)]),
    ]
    assert len(worlds_of(weeks).values) == 1
    assert bounds(weeks, 0.04)["x"] == [1.0]


def test_two_counterfeits_serve_two_stays_of_a_life() -> None:
    weeks = [
        Week({"x": (1, V), "b": (1, W)}),
        Week({"a": (1, V), "b": (1, W)}),
        Week({"a": (1, V), "x": (1, V)}, [(1, W), (1, W)]),
    ]
    assert exact_and_bound(weeks, 0.04)["x"][0][0] == pytest.approx(1 - 0.96**2)
    assert bounds(weeks, 0.04)["x"][0] >= 1 - 0.96**2 - 1e-9


def test_who_comes_back_together_with_another_is_not_also_a_way_by_an_earlier_life() -> None:
    """The twin of e had other values before: if she is compromised, both the exchange and that way are blocked."""
    weeks = [
        Week({"r": (1, 2), "q": (1, 0)}),
        Week({"r": (1, 2), "q": (1, 3)}, [(1, 0)]),
        Week({"r": (1, 2), "e": (1, 0), "q": (1, 1)}),
        Week({}),
        Week({"e": (1, 0), "q": (1, 1)}, [(1, 2)]),
    ]
    assert bounds(weeks, 0.1)["e"] == [pytest.approx(0.1)]


def test_an_empty_record_has_no_risk() -> None:
    risk = escape_risk(Stays.none(), 0.04)
    assert (len(risk.of_stay), risk.expected, risk.people, risk.share) == (0, 0.0, 0, 0.0)


def test_counterfeits_alone_have_no_risk() -> None:
    stays, _ = naive_record([Week({}, [(1, V), (1, W)])])
    assert escape_risk(stays, 0.04).share == 0.0


def test_the_share_counts_every_life_of_a_person_but_the_person_once() -> None:
    weeks = [Week({"a": (1, V), "b": (2, X)}), Week({"a": (1, W), "b": (2, X)})]
    risk = escape_risk(naive_record(weeks)[0], 0.04)
    assert (risk.expected, risk.people) == (3.0, 2)
    assert risk.share == 1.5


@pytest.mark.parametrize("kind", KINDS)
def test_the_expected_number_is_the_sum_over_lives(kind: str) -> None:
    for weeks in small_series(kind)[:100]:
        stays, _ = naive_record(weeks)
        risk = escape_risk(stays, 0.3)
        lives = {int(life): i for i, life in enumerate(stays.life) if stays.bearer[i] != NOBODY}
        assert risk.expected == pytest.approx(sum(risk.of_stay[i] for i in lives.values()))
        assert (risk.of_stay[stays.bearer == NOBODY] == 0).all()


def test_more_compromised_people_never_lower_the_bound() -> None:
    for weeks in small_series("any")[:200]:
        stays, _ = naive_record(weeks)
        few, many = (escape_risk(stays, p).of_stay for p in SHARES)
        # Once a product is below 1e-7 no further ways are sought, so it is as small as it needs to be.
        assert (few <= many + 1e-7).all()


# The search -----------------------------------------------------------------------------------------


def naive_lengths(stays: Stays, i: int, w: int) -> list[float]:
    """Fewest people on any path from the end of stay i to each point, none of them its person."""
    c, v = int(stays.cohort[i]), int(stays.code[i])
    points = int(stays.until.max()) + 2
    steps = []
    for k in range(stays.count):
        code, since, after = int(stays.code[k]), int(stays.since[k]), int(stays.until[k]) + 1
        if stays.cohort[k] != c or code not in (v, w):
            continue
        other = w if code == v else v
        if stays.bearer[k] == NOBODY:
            steps += [(t, t + 1, 0) if code == v else (t + 1, t, 0) for t in range(since, after)]
        elif (
            stays.bearer[k] == FREE
            and stays.person[k] != stays.person[i]
            and other not in (stays.previous[k], stays.following[k])
        ):
            steps.append((since, after, 1) if code == v else (after, since, 1))
    length = [float("inf")] * points
    length[int(stays.until[i]) + 1] = 0
    for _ in range(points):
        for start, end, cost in steps:
            length[end] = min(length[end], length[start] + cost)
    return length


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_way_is_as_short_as_any(kind: str) -> None:
    found = 0
    for weeks in small_series(kind)[:300]:
        stays, _ = naive_record(weeks)
        arrows = _arrows_of(stays)
        room, taken = _room(arrows), np.full(arrows.vacant.shape, -1)
        for i in np.flatnonzero(stays.bearer == FREE):
            for w in range(len(arrows.value)):
                value = int(arrows.value[w])
                here = int(arrows.bounds[arrows.cohort[i]]) <= w < int(arrows.bounds[arrows.cohort[i] + 1])
                if not here or value == stays.code[i]:
                    continue
                shortest = naive_lengths(stays, int(i), value)[int(stays.since[i])]
                used = np.full(stays.count, -1, dtype=np.int64)
                used[stays.person[i]] = i
                needed = _way(arrows, i, w, used, i, _LONGEST, taken, room)
                assert needed == (shortest if shortest <= _LONGEST else -1)
                if needed > 0:
                    again = np.full(stays.count, -1, dtype=np.int64)
                    again[stays.person[i]] = i
                    assert _way(arrows, i, w, again, i, needed - 1, taken, room) == -1
                    assert 1 <= np.count_nonzero(used == i) - 1 <= needed
                found += needed >= 0
    assert found > 60


def exchanged(weeks: list[Week], stays: Stays, i: int, path: list[tuple[int, int, int]], w: int) -> bool:
    """Whether what every release shows stays the same once all on a path, and stay i, exchange values."""
    v, c = int(stays.code[i]), int(stays.cohort[i])
    change = np.zeros((len(weeks) + 3, 2), dtype=np.int64)  # of v and of w in each release
    for k in [i, *(by for by, _, _ in path if by >= 0)]:
        sign = 1 if stays.code[k] == w else -1
        change[stays.since[k] : stays.until[k] + 1] += (sign, -sign)
    for by, start, end in path:
        if by < 0:
            release, code, sign = (start, v, -1) if end > start else (end, w, 1)
            if (c, code) not in weeks[release - 1].nobody:
                return False
            change[release] += (sign, -sign)
    return not change.any()


def test_every_way_is_another_world() -> None:
    """Each path that the search finds, followed arrow by arrow, leaves every release as it was."""
    found = 0
    for weeks in small_series("any")[:300]:
        stays, _ = naive_record(weeks)
        arrows = _arrows_of(stays)
        room, taken = _room(arrows), np.full(arrows.vacant.shape, -1)
        for i in np.flatnonzero(stays.bearer == FREE):
            for w in range(int(arrows.bounds[arrows.cohort[i]]), int(arrows.bounds[arrows.cohort[i] + 1])):
                goal, start = int(stays.since[i]), int(stays.until[i]) + 1
                used = np.full(stays.count, -1, dtype=np.int64)
                used[stays.person[i]] = i
                _search(arrows, goal, start, arrows.slot[i], w, used, i, _LONGEST, taken, room)
                distance, by, came, _, _ = room
                if w == arrows.slot[i] or distance[goal] > _LONGEST:
                    continue
                path, t = [], goal
                while t != start:
                    path.append((int(by[t]), int(came[t]), t))
                    t = int(came[t])
                assert len({end for _, _, end in path}) == len(path)
                assert sum(k >= 0 for k, _, _ in path) == distance[goal]
                assert exchanged(weeks, stays, int(i), path, int(arrows.value[w]))
                found += 1
    assert found > 200


def test_a_way_of_many_people_is_found_up_to_the_longest() -> None:
    """a stays n releases; n people follow each other in w."""
    for n in (_LONGEST, _LONGEST + 1):
        weeks = [Week({"a": (1, V), f"b{t}": (1, W)}) for t in range(n)]
        stays, entries = naive_record(weeks)
        expected = 1 - 0.96**n if n <= _LONGEST else 1.0
        assert escape_risk(stays, 0.04).of_stay[entries["a"][0]] == pytest.approx(expected)


def test_a_long_record_of_churn_is_searched_without_end() -> None:
    """Forty releases, many counterfeits and stays: the queue is long enough."""
    rng = np.random.default_rng(5)
    weeks: list[Week] = []
    for t in range(40):
        before = weeks[-1].people if weeks else {}
        people = {name: place for name, place in before.items() if rng.random() < 0.7}
        people |= {f"n{t}.{k}": (1, int(rng.integers(4))) for k in range(12 - len(people))}
        weeks.append(Week(people, [(1, int(rng.integers(4))) for _ in range(rng.integers(3))]))
    risk = escape_risk(naive_record(weeks)[0], 0.04)
    assert 0 < risk.share < 1
