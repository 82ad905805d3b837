"""The linear attack against all worlds, one by one, on random small series: never wrong, nothing missed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attacks.histories import Series, random_history
from attacks.linear.twins import worlds
from republish.attacks import Adversary, History
from republish.attacks.excluding.candidates import intersected, lives, members, sizes
from republish.attacks.linear import Budget, LinearFindings, linear
from republish.attacks.linear.board import board_of
from republish.attacks.linear.likelihood import weigh

SHAPES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "people": st.integers(1, 8),
        "values": st.integers(2, 4),
        "releases": st.integers(1, 4),
        "counterfeits": st.sampled_from([0.0, 0.0, 0.4]),
        "change": st.sampled_from([0.0, 0.0, 0.3]),
        "absent": st.sampled_from([0.0, 0.3]),
        "size": st.integers(2, 4),
        "signatures": st.booleans(),
    }
)
KNOWN = st.sets(st.integers(0, 7), max_size=3)
COUNTED = Budget(nodes=10**6)
SEARCHED = Budget(
    largest=0, support=10**6, patience=10**6, thorough=10**6, effort=10**9, moves=20, sweeps=2, chains=2
)


def case(shape: dict, known: set[int]) -> tuple[History, np.ndarray, list[dict]]:
    """A random history, who is known, and all its worlds."""
    history = random_history(**shape)
    known = {person for person in known if person < history.people}
    found = worlds(history, known)
    assume(found is not None)
    told = np.zeros(history.people, dtype=np.bool_)
    told[sorted(known)] = True
    return history, told, found


def shares(findings: LinearFindings, every: list[dict]) -> list[dict[int, float]]:
    """Of every unknown the share of worlds in which it has each value."""
    person = findings.unknowns.person
    life = np.arange(len(person)) - np.searchsorted(person, person)
    names = list(zip(person.tolist(), life.tolist(), strict=True))
    return [{c: n / len(every) for c, n in Counter(world[name] for world in every).items()} for name in names]


def compare(findings: LinearFindings, every: list[dict], tolerance: float) -> None:
    """Candidates are those of the worlds, and probabilities their shares."""
    for u, share in enumerate(shares(findings, every)):
        assert members(findings.sets[u]) == set(share)
        assert findings.likeliest[u] == pytest.approx(max(share.values()), abs=tolerance)
        truth = int(findings.unknowns.truth[u])
        true = share[truth] if truth >= 0 else max(share.values())
        assert findings.confidence[u] == pytest.approx(true, abs=tolerance)


@given(SHAPES, KNOWN)
@settings(max_examples=400, deadline=None)
def test_counted_worlds_are_all_worlds(shape: dict, known: set[int]) -> None:
    history, told, every = case(shape, known)
    findings = linear(history, told, budget=COUNTED)
    assert findings.stages.sampled == findings.stages.undecided == 0
    compare(findings, every, 1e-9)


@given(SHAPES, KNOWN)
@settings(max_examples=300, deadline=None)
def test_search_finds_a_world_for_every_candidate_and_proves_the_others_impossible(
    shape: dict, known: set[int]
) -> None:
    history, told, every = case(shape, known)
    findings = linear(history, told, budget=SEARCHED)
    assert findings.stages.undecided == 0
    assert [members(words) for words in findings.sets] == [set(s) for s in shares(findings, every)]


@given(SHAPES, KNOWN)
@settings(max_examples=200, deadline=None)
def test_with_no_budget_at_all_nothing_true_is_excluded_and_nobody_wrongly_determined(
    shape: dict, known: set[int]
) -> None:
    history, told, every = case(shape, known)
    findings = linear(history, told, budget=replace(SEARCHED, support=0, start=0, patience=1))
    for u, share in enumerate(shares(findings, every)):
        assert members(findings.sets[u]) >= set(share)


@given(SHAPES, KNOWN)
@settings(max_examples=100, deadline=None)
def test_without_truth_a_world_is_searched_for(shape: dict, known: set[int]) -> None:
    history, _, every = case(shape, set())
    findings = linear(replace(history, truth=None), np.zeros(history.people, dtype=np.bool_), budget=SEARCHED)
    assert findings.stages.undecided == 0
    assert [members(words) for words in findings.sets] == [set(s) for s in shares(findings, every)]


@pytest.mark.jit
@pytest.mark.parametrize("seed", range(40))
def test_sampled_shares_are_those_of_all_worlds(seed: int) -> None:
    """Within .05 for everyone; chains that start at different worlds agree within .05."""
    rng = np.random.default_rng(seed)
    shape = {
        "people": 6,
        "values": int(rng.integers(2, 5)),
        "releases": 3,
        "signatures": bool(rng.integers(2)),
    }
    history = random_history(seed, **shape, change=float(rng.choice([0, 0.3])), counterfeits=0.2)
    every = worlds(history, set())
    assert every is not None
    nobody = np.zeros(history.people, dtype=np.bool_)
    findings = linear(history, nobody, budget=replace(SEARCHED, moves=400_000, chains=4), seed=seed)
    compare(findings, every, 0.05)
    assert findings.stages.drift < 0.05


def test_all_equations_together_tell_what_no_two_groups_do() -> None:
    """Three groups of one release and three of the next, none of which share more than one member with another."""
    first = [({"a": "x", "b": "y"}, []), ({"c": "x", "d": "y"}, []), ({"e": "x", "f": "y"}, [])]
    second = [({"b": "y", "c": "x"}, []), ({"d": "y", "e": "x"}, []), ({"f": "y", "a": "x"}, [])]
    series = Series([first, second])
    nobody = np.zeros(6, dtype=np.bool_)
    assert (sizes(linear(series.history, nobody).sets) == 2).all()
    told = nobody.copy()
    told[series.who("a")] = True
    assert (sizes(linear(series.history, told).sets) == 1).all()


def test_equations_determine_whom_propagation_leaves_open() -> None:
    """Of any value: p, a and b together, less a and d, less b and e, plus d and e, is p alone."""
    first = [({"p": "x", "a": "x", "b": "y"}, []), ({"d": "y", "e": "x"}, [])]
    second = [({"a": "x", "d": "y"}, []), ({"b": "y", "e": "x"}, [])]
    series = Series([first, second])
    findings = linear(series.history, np.zeros(5, dtype=np.bool_))
    stages = findings.stages
    assert (stages.propagation, stages.equations, stages.search, stages.open) == (0, 1, 0, 4)
    assert series.called(findings.candidates_of(series.who("p"), 0)) == {"x"}
    expected = [1.0 if name == "p" else 0.5 for name in series.people]
    assert findings.confidence.tolist() == expected


def test_a_counterfeit_may_hold_any_row() -> None:
    """As above, but a row of nobody in the group of d and e: nothing is known of p any more."""
    first = [({"p": "x", "a": "x", "b": "y"}, []), ({"d": "y", "e": "x"}, ["y"])]
    second = [({"a": "x", "d": "y"}, []), ({"b": "y", "e": "x"}, [])]
    findings = linear(Series([first, second]).history, np.zeros(5, dtype=np.bool_))
    assert findings.stages.open == 5


def test_values_that_could_change_places_are_alike_without_counting() -> None:
    """Every group holds every value once and nobody is known: what the releases say of one value they say of each."""
    releases = [
        [({f"x{i}": "x", f"y{(i + r) % 10}": "y", f"z{(i + 3 * r) % 10}": "z"}, []) for i in range(10)]
        for r in range(4)
    ]
    nobody = np.zeros(30, dtype=np.bool_)
    findings = linear(Series(releases).history, nobody, budget=Budget(nodes=0, largest=0))
    assert (findings.stages.counted, findings.stages.sampled, findings.stages.open) == (30, 0, 30)
    assert findings.confidence == pytest.approx(np.full(30, 1 / 3))


def test_the_same_seed_finds_the_same() -> None:
    history = random_history(5, people=60, values=4, releases=5)
    known = Adversary(0.1).known(history)
    budget = Budget(largest=5, moves=2000)
    one, other = (linear(history, known, budget=budget, seed=9) for _ in range(2))
    assert (one.confidence == other.confidence).all()
    assert one.stages == other.stages


def test_chains_start_at_the_true_world_and_where_search_has_ended() -> None:
    """However little is sampled, a true value is seen: it is never called impossible for want of time."""
    history = random_history(3, people=300, values=5, releases=2, size=6)
    nobody = np.zeros(history.people, dtype=np.bool_)
    findings = linear(history, nobody, budget=Budget(largest=0, nodes=0, moves=1, sweeps=2, effort=0))
    assert findings.stages.sampled > 50, findings.stages
    assert (findings.confidence > 0).all()
    unknowns = lives(history)
    board = board_of(unknowns, intersected(unknowns))
    truth = np.append(unknowns.truth, -1)[board.unknown]
    weighed = weigh(board, truth, Budget(largest=0, nodes=0), seed=1)
    mine = np.flatnonzero(weighed.sampled & (truth >= 0))
    assert len(mine) > 50
    assert (board.code[weighed.world[mine]] == truth[mine]).all()
    assert (weighed.moved[mine] != weighed.world[mine]).any()


@pytest.mark.parametrize("seed", range(6))
def test_larger_series_never_lose_a_true_value(seed: int) -> None:
    history = random_history(seed, people=150, values=6, releases=6, change=0.05, signatures=bool(seed % 2))
    findings = linear(history, Adversary(0.2, seed=seed).known(history), budget=Budget(moves=500, sweeps=2))
    for truth, words in zip(findings.unknowns.truth, findings.sets, strict=True):
        assert truth < 0 or truth in members(words)
    number = findings.stages
    published = np.diff(findings.unknowns.place_start) > 0
    assert number.given + number.propagation + number.equations + number.search + number.open + (
        number.undecided
    ) == np.count_nonzero(published)


def test_a_history_of_nothing_has_no_findings() -> None:
    history = History.of(0, 0, [])
    assert len(linear(history, np.zeros(0, dtype=np.bool_)).sets) == 0
