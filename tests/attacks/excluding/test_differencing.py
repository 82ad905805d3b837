"""Differences between unions of groups: certain, as the definition has them, and what they give away."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks import twins
from attacks.excluding.test_against_twins import found, truthful
from attacks.histories import Series as Example
from attacks.histories import random_history
from republish import PolicyError
from republish.attacks import History
from republish.attacks.excluding.differencing import Difference, Limits, differences, differencing

SHAPES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "values": st.integers(2, 3),
        "counterfeits": st.sampled_from([0.0, 0.2]),
        "change": st.sampled_from([0.0, 0.15]),
        "absent": st.sampled_from([0.0, 0.2]),
    }
)


def worlds(board: twins.Board, known: set[int]) -> dict[twins.Unknown, set[int]]:
    """What every life may be in some world: an assignment that all groups allow and in which lives in a row differ."""
    sets = board.intersected()
    order = sorted(unknown for unknown in sets if unknown in board.truth)
    groups = {u: [g for g, here in enumerate(board.groups) if u in here] for u in order}
    left = [Counter(values) for values in board.values]
    possible: dict[twins.Unknown, set[int]] = {unknown: set() for unknown in order}
    chosen: dict[twins.Unknown, int] = {}

    def place(at: int) -> None:
        if at == len(order):
            for unknown, code in chosen.items():
                possible[unknown].add(code)
            return
        unknown = order[at]
        person, life = unknown
        for code in {board.truth[unknown]} if person in known else sets[unknown]:
            if chosen.get((person, life - 1)) == code or any(left[g][code] == 0 for g in groups[unknown]):
                continue
            chosen[unknown] = code
            for g in groups[unknown]:
                left[g][code] -= 1
            place(at + 1)
            for g in groups[unknown]:
                left[g][code] += 1
            del chosen[unknown]

    place(0)
    return possible


def sides(board: twins.Board, first: list[int], second: list[int], known: set[int]) -> list[Counter]:
    """The lives on one side only, and the surplus of values, of each side; known people play no part."""
    people = [[u for g in side for u in board.groups[g] if u[0] not in known] for side in (first, second)]
    values = [sum((board.values[g] for g in side), Counter()) for side in (first, second)]
    for side, groups in enumerate((first, second)):
        values[side] = Counter(values[side])
        values[side].subtract(board.truth[u] for g in groups for u in board.groups[g] if u[0] in known)
    return [
        Counter(people[0]) - Counter(people[1]),
        Counter(people[1]) - Counter(people[0]),
        values[0] - values[1],
        values[1] - values[0],
        *values,
    ]


def told(board: twins.Board, first: list[int], second: list[int], known: set[int]) -> Difference | None:
    one, other, more, less, all_one, all_other = sides(board, first, second, known)
    shared = sum(u[0] not in known for g in first for u in board.groups[g]) - one.total()
    lone = all_one.total() - shared, all_other.total() - shared
    if sum(lone) == 0 or (more.total(), less.total()) != lone or not one + other:
        return None
    releases = board.release[first[0]] + 1, board.release[second[0]] + 1
    return Difference(*releases, len(first), len(second), *lone)


@given(SHAPES, st.sampled_from([0.0, 0.3]))
@settings(max_examples=150)
def test_nothing_is_excluded_that_some_world_holds(shape: dict, share: float) -> None:
    history = random_history(people=7, releases=3, **shape)
    known = np.random.default_rng(shape["seed"]).random(history.people) < share
    findings = differencing(history, known)
    assert truthful(findings)
    open_ones = worlds(twins.Board(history), set(np.flatnonzero(known).tolist()))
    for unknown, codes in found(findings, "life").items():
        assert codes >= open_ones[unknown]


@given(SHAPES, st.sampled_from([0.0, 0.3]), st.integers(1, 4))
@settings(max_examples=100)
def test_all_differences_are_true_and_pairs_of_groups_are_all_found(
    shape: dict, share: float, people: int
) -> None:
    history = random_history(people=9, releases=3, **shape)
    known = np.random.default_rng(shape["seed"]).random(history.people) < share
    granted = set(np.flatnonzero(known).tolist())
    detected = Counter(differences(history, known, Limits(people)))
    board = twins.Board(history)
    groups = {i: [g for g, r in enumerate(board.release) if r == i] for i in range(history.releases)}
    every: Counter[Difference] = Counter()
    pairs: Counter[Difference] = Counter()
    for i, j in combinations(range(history.releases), 2):
        for first in subsets(groups[i]):
            for second in subsets(groups[j]):
                found_one = told(board, first, second, granted)
                if found_one and found_one.first_only + found_one.second_only <= people:
                    every[found_one] += 1
                    one, other = (
                        {u for g in side for u in board.groups[g] if u[0] not in granted}
                        for side in (first, second)
                    )
                    if len(first) == len(second) == 1 and one & other:
                        pairs[found_one] += 1
    assert not detected - every
    assert not pairs - detected


def subsets(groups: list[int]) -> list[list[int]]:
    return [list(some) for size in range(1, len(groups) + 1) for some in combinations(groups, size)]


def determined(example: Example, history: History, **arguments: object) -> dict[str, frozenset[str]]:
    findings = differencing(history, **arguments)
    return {
        name: example.called(codes)
        for name in example.people
        for codes in [findings.candidates_of(example.who(name), 0)]
        if len(codes) == 1
    }


LEFT = Example(
    [
        [({"x": "a", "y": "b", "z": "a"}, [])],
        [({"x": "a", "y": "b"}, [])],
    ]
)


def test_who_leaves_a_group_gives_her_value_away() -> None:
    assert determined(LEFT, LEFT.history)["z"] == {"a"}
    assert differences(LEFT.history) == (Difference(1, 2, 1, 1, 1, 0),)


def test_a_counterfeit_in_her_place_protects() -> None:
    kept = Example([[({"x": "a", "y": "b", "z": "a"}, [])], [({"x": "a", "y": "b"}, ["a"])]])
    assert "z" not in determined(kept, kept.history)
    assert differences(kept.history) == ()


def test_groups_are_joined_where_everybody_is_grouped_anew() -> None:
    mixed = Example(
        [
            [({"p": "a", "q": "b", "r": "c"}, []), ({"s": "a", "t": "b"}, [])],
            [({"p": "a", "t": "b"}, []), ({"s": "a", "q": "b"}, [])],
        ]
    )
    assert determined(mixed, mixed.history)["r"] == {"c"}
    assert Difference(1, 2, 2, 2, 1, 0) in differences(mixed.history)


def test_components_of_any_size_are_compared() -> None:
    rng = np.random.default_rng(4)
    everyone = {f"p{i:03}": "abcd"[i % 4] for i in range(120)}
    names = list(everyone)

    def cut(people: list[str]) -> list[tuple[dict[str, str], list[str]]]:
        rng.shuffle(people)
        return [({p: everyone[p] for p in people[i : i + 4]}, []) for i in range(0, len(people), 4)]

    series = Example([cut(names[:]), cut(names[1:])])
    assert determined(series, series.history)[names[0]] == {"a"}


def test_two_people_who_change_places_are_both_found() -> None:
    swapped = Example([[({"x": "a", "y": "b", "z": "c"}, [])], [({"x": "a", "y": "b", "w": "d"}, [])]])
    findings = differencing(swapped.history)
    assert findings.candidates_of(swapped.who("w"), 1) == {swapped.code("d")}
    assert findings.candidates_of(swapped.who("z"), 0) == {swapped.code("c")}


def test_equal_values_of_people_who_change_places_stay_hidden() -> None:
    swapped = Example([[({"x": "a", "y": "b", "z": "c"}, [])], [({"x": "a", "y": "b", "w": "c"}, [])]])
    assert determined(swapped, swapped.history) == {}


def test_known_people_make_a_difference_smaller() -> None:
    many = Example([[({"x": "a", "y": "b", "z": "c", "v": "a", "w": "b"}, [])], [({"x": "a", "y": "b"}, [])]])
    known = np.array([name in ("v", "w") for name in many.people])
    assert differences(many.history, limits=Limits(1)) == ()
    assert differences(many.history, known, Limits(1)) == (Difference(1, 2, 1, 1, 1, 0),)
    findings = differencing(many.history, known, limits=Limits(1))
    assert findings.candidates_of(many.who("z"), 0) == {many.code("c")}


def test_without_cascade_others_are_left_as_they_are() -> None:
    series = Example(
        [
            [({"x": "a", "y": "b", "z": "c"}, []), ({"q": "d", "r": "e", "s": "f"}, [])],
            [({"x": "a", "y": "b"}, []), ({"z": "c", "q": "d"}, [])],
        ]
    )
    narrow = Limits(1, 2)
    alone = differencing(series.history, cascade=False, limits=narrow)
    assert alone.candidates_of(series.who("z"), 0) == {series.code("c")}
    assert alone.candidates_of(series.who("r"), 0) == {series.code(value) for value in "def"}
    cascading = differencing(series.history, limits=narrow)
    assert cascading.candidates_of(series.who("r"), 0) == {series.code(value) for value in "ef"}


def test_without_event_lists_nothing_is_linked() -> None:
    assert differences(replace(LEFT.history, events=None)) == ()
    assert differencing(replace(LEFT.history, events=None)).candidates_of(LEFT.who("z"), 0) == {0, 1}


def test_limits_are_checked() -> None:
    with pytest.raises(PolicyError, match="at least 1 person"):
        Limits(people=0)
    with pytest.raises(PolicyError, match="at least 1 person"):
        Limits(groups=1)


def test_an_empty_history_has_no_differences() -> None:
    assert differences(History.of(0, 0, [])) == ()
    assert differencing(History.of(0, 0, [])).sets.shape[0] == 0


def test_a_difference_is_told_by_sizes_alone() -> None:
    assert Difference(1, 2, 3, 4, 1, 0).as_dict() == {
        "first": 1,
        "second": 2,
        "first_groups": 3,
        "second_groups": 4,
        "first_only": 1,
        "second_only": 0,
    }
