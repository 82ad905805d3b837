"""The joint attack against enumeration of all worlds, and against the belief attack where they must agree."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.believing.test_beliefs import random_knowledge, whole_register
from attacks.enumeration import branching_history, enumerated, lasting_knowledge
from attacks.histories import Series as Example
from attacks.histories import array, random_history
from republish import PolicyError
from republish.attacks import Adversary, History, Register, Table, Told, attack, beliefs
from republish.attacks.believing.beliefs import plain_register, walk
from republish.attacks.believing.joint import joint, weigh
from republish.inference import CHANGED, UNTOLD, Groups, Reasoning, group_posteriors, posterior
from republish.inference._kernels.answers import answer, keep_possible
from republish.inference._kernels.chains import (
    Chains,
    Seats,
    Tables,
    look_ahead,
    look_back,
    settle_ahead,
    settle_back,
)
from republish.inference._kernels.sinkhorn import scale_groups
from republish.inference._kernels.support import confine
from republish.knowledge import Classes, Extracted, Knowledge
from republish.memory.event_lists import Appearances, events_of

FINE = {"tolerance": 1e-10, "rounds": 200}


def register_of(history: History, knowledge: Knowledge, seed: int) -> Register:
    """Everyone in the groups, each of any class."""
    plain = plain_register(history, Reasoning(lasting_knowledge(0, history.values, 1, 0.5)))
    rng = np.random.default_rng(seed)
    classes = tuple(rng.integers(0, knowledge.classes.count, len(who)) for who in plain.person)
    return Register(knowledge.values, plain.person, classes, plain.codes)


# Against enumeration ------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    order=st.sampled_from([1, 2]),
    share=st.sampled_from([0.0, 0.3]),
    events=st.booleans(),
)
def test_without_loops_beliefs_are_those_of_enumeration(
    seed: int, order: int, share: float, events: bool
) -> None:
    history = branching_history(seed)
    knowledge = random_knowledge(seed, 3, order)
    register = register_of(history, knowledge, seed)
    if events:
        assert history.events is not None
        register = register.with_events(history.events)
    told = np.random.default_rng(seed).random((3, 6)) < share
    expected = enumerated(history, knowledge, register, told)
    found = weigh(history, Reasoning(knowledge), register, Told(told, 1.0), **FINE)
    assert found.settled
    for one, p in zip(found.posteriors, expected, strict=True):
        assert one.p == pytest.approx(p, abs=1e-6)


def test_the_branching_histories_branch() -> None:
    """The test above would say little if nobody ever met twice, or changed, or stayed, or both while left out."""
    histories = [branching_history(seed) for seed in range(50)]
    assert np.mean([(np.diff(one.member_start) > 1).sum() for one in histories]) > 2
    known = [register_of(one, random_knowledge(0, 3, 1), 0).with_events(one.events) for one in histories]
    marks = np.concatenate([part for one in known for part in one.changed])
    assert np.bincount(marks + 1).min() > 20
    back = [
        one.events.life[who, i]
        for one, r in zip(histories, known, strict=True)
        for i, who in enumerate(r.person)
    ]
    assert max(int(one.max(initial=0)) for one in back) > 1


@pytest.mark.parametrize(
    "order, stay, releases, people, scaled, trusting",
    [
        (1, 0.0, 3, 5, 0.02, 0.015),
        (1, 0.9, 3, 5, 0.045, 0.035),
        (2, 0.6, 3, 5, 0.03, 0.025),
        (1, 0.9, 5, 3, 0.03, 0.03),
    ],
)
def test_with_loops_beliefs_are_close_to_enumeration(
    order: int, stay: float, releases: int, people: int, scaled: float, trusting: float
) -> None:
    """Mean absolute errors over 20 random series; those of the belief attack are two to five times as large."""
    errors: dict[str, list[float]] = {"ahead": [], "scaled": [], "posterior": []}
    for seed in range(20):
        history = random_history(
            seed, people, 3, releases, counterfeits=0.1, change=1 - stay if stay else 0.5, absent=0.1
        )
        knowledge = lasting_knowledge(seed, 3, order, stay)
        register = plain_register(history, Reasoning(knowledge))
        exact = np.concatenate(enumerated(history, knowledge, register))
        for name, found in (
            ("ahead", weigh(history, Reasoning(knowledge), register, rounds=0)),
            ("scaled", weigh(history, Reasoning(knowledge), register)),
            ("posterior", weigh(history, Reasoning(knowledge), register, loops="posterior")),
        ):
            p = np.concatenate([one.p for one in found.posteriors])
            errors[name].append(float(np.abs(p - exact).mean()))
    mean = {name: np.mean(found) for name, found in errors.items()}
    assert mean["scaled"] < scaled
    assert mean["posterior"] < trusting
    assert 1.8 * mean["scaled"] < mean["ahead"]


@pytest.mark.parametrize(
    "order, stay, releases, people, limit", [(1, 0.6, 3, 5, 0.09), (2, 0.6, 3, 5, 0.08), (1, 0.9, 5, 3, 0.02)]
)
def test_with_loops_and_event_lists_beliefs_are_close_to_enumeration(
    order: int, stay: float, releases: int, people: int, limit: float
) -> None:
    """Mean absolute errors over 20 random series; who does not use event lists, or does not look back, errs more."""
    errors: dict[str, list[float]] = {"joint": [], "ahead": [], "without": []}
    for seed in range(20):
        history = random_history(
            seed, people, 3, releases, counterfeits=0.1, change=1.5 * (1 - stay), absent=0.1
        )
        knowledge = lasting_knowledge(seed, 3, order, stay)
        register = plain_register(history, Reasoning(knowledge))
        assert history.events is not None
        told = register.with_events(history.events)
        exact = np.concatenate(enumerated(history, knowledge, told))
        for name, seen, rounds in (("joint", told, 30), ("ahead", told, 0), ("without", register, 30)):
            found = weigh(history, Reasoning(knowledge), seen, rounds=rounds)
            p = np.concatenate([one.p for one in found.posteriors])
            errors[name].append(float(np.abs(p - exact).mean()))
    mean = {name: np.mean(found) for name, found in errors.items()}
    assert mean["joint"] < limit
    assert 2 * mean["joint"] < min(mean["ahead"], mean["without"])


def test_scaling_expects_what_every_group_shows() -> None:
    history = random_history(3, people=12, values=3, releases=5, counterfeits=0.0)
    knowledge = lasting_knowledge(3, 3, 1, 0.7)
    register = plain_register(history, Reasoning(knowledge))
    found = weigh(history, Reasoning(knowledge, "sinkhorn"), register, tolerance=1e-9, rounds=2000)
    assert found.settled
    for i, one in enumerate(found.posteriors):
        for g in range(history.group_start[i], history.group_start[i + 1]):
            here = slice(history.member_start[g], history.member_start[g + 1])
            shown = slice(history.value_start[g], history.value_start[g + 1])
            count = np.zeros(3)
            count[history.value_code[shown]] = history.value_count[shown]
            mine = np.isin(register.person[i], history.person[here])
            assert one.p[mine].sum(axis=0) == pytest.approx(count, abs=1e-4)


# Against the belief attack ------------------------------------------------------------------------


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    order=st.sampled_from([0, 1, 2, 3]),
    certainty=st.sampled_from([0.6, 1.0]),
    events=st.booleans(),
)
def test_who_does_not_look_back_has_the_beliefs_of_the_belief_attack(
    seed: int, order: int, certainty: float, events: bool
) -> None:
    history = random_history(seed, people=6, values=3, releases=4, change=0.5)
    knowledge = random_knowledge(seed, 3, order)
    register = whole_register(history, knowledge, seed)
    if events:
        assert history.events is not None
        register = register.with_events(history.events)
    told = Told(np.random.default_rng(seed).random((4, 6)) < 0.3, certainty)
    ahead = weigh(history, Reasoning(knowledge), register, told, rounds=0)
    for one, step in zip(ahead.posteriors, walk(history, Reasoning(knowledge), register, told), strict=True):
        assert one.p == pytest.approx(step.posterior.p, abs=1e-5)


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), order=st.sampled_from([1, 2]), events=st.booleans())
def test_gaps_count_as_in_the_belief_attack(seed: int, order: int, events: bool) -> None:
    history = random_history(seed, people=6, values=3, releases=6, change=0.5, absent=0.5)
    knowledge = replace(random_knowledge(seed, 3, order), gaps="count")
    register = register_of(history, knowledge, seed)
    if events:
        assert history.events is not None
        register = register.with_events(history.events)
    ahead = weigh(history, Reasoning(knowledge), register, rounds=0)
    for i, step in enumerate(walk(history, Reasoning(knowledge), register)):
        mine = ahead.posteriors[i].p[: len(register.person[i])]
        assert mine == pytest.approx(step.posterior.p, abs=1e-5)


def test_over_a_gap_of_one_release_two_steps_are_made() -> None:
    """x and y are seen in the first and third release; looking back, too, the way between them is two steps."""
    first, third = [({"x": "a", "y": "b"}, [])], [({"x": "b"}, ["c"]), ({"y": "c"}, ["a"])]
    history = Example([first, [({"z": "a"}, ["b"])], third]).history
    steps = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])
    prior = np.array([[0.5, 0.3, 0.2]])
    values = pl.Series("dx", ["a", "b", "c"])

    def believed(table: np.ndarray, gaps: str) -> np.ndarray:
        known = Knowledge(values, Classes.everyone(), prior, table[None, None], order=1, gaps=gaps)
        found = joint(history, Reasoning(known), **FINE)
        assert found.settled
        return found.confidence

    assert believed(steps, "count") == pytest.approx(believed(steps @ steps, "skip"), abs=1e-7)
    assert believed(steps, "count") != pytest.approx(believed(steps, "skip"), abs=1e-2)


@pytest.mark.parametrize("steps, order", [(None, 0), (0, 2)])
def test_without_knowledge_of_what_follows_nothing_is_gained(steps: int | None, order: int) -> None:
    history = random_history(5, people=10, values=3)
    knowledge = random_knowledge(5, 3, order)
    register = register_of(history, knowledge, 5)
    reasoning = Reasoning(knowledge, steps=steps)
    found = joint(history, reasoning, register)
    assert found.confidence == pytest.approx(beliefs(history, reasoning, register).confidence)
    assert (found.rounds, found.settled) == (0, True)


def test_one_release_is_a_posterior() -> None:
    history = random_history(8, people=6, values=3, releases=1, size=6, absent=0.0, counterfeits=1.0)
    knowledge = random_knowledge(8, 3, 2)
    register = register_of(history, knowledge, 8)
    rows = np.repeat(history.value_code, history.value_count)
    here = np.isin(register.person[0], history.person)
    prior = knowledge.prior[register.classes[0][here]]
    found = weigh(history, Reasoning(knowledge), register)
    assert found.posteriors[0].p[here] == pytest.approx(posterior(prior, rows))


# By hand ------------------------------------------------------------------------------------------


@pytest.fixture
def weeks() -> History:
    """x and y share a group with the values a and b; then x is seen alone with a."""
    return Example([[({"x": "a", "y": "b"}, [])], [({"x": "a"}, []), ({"y": "b"}, ["a"])]]).history


def chain(stay: float, terminal: tuple[int, ...] = ()) -> Knowledge:
    table = np.array([[[[stay, 1 - stay], [1 - stay, stay]]]])
    return Knowledge(pl.Series(["a", "b"]), Classes.everyone(), np.array([[0.5, 0.5]]), table, 1, terminal)


def test_a_later_release_sharpens_an_earlier_one(weeks: History) -> None:
    """Of a,b then a for x, the worlds for y weigh the same by a and b in the second week: .9 stays."""
    knowledge = chain(0.9)
    assert beliefs(weeks, Reasoning(knowledge)).confidence[:2] == pytest.approx([0.5, 0.5])
    found = joint(weeks, Reasoning(knowledge), **FINE)
    # x kept a and y has a or b: .9 (.9 + .1); x came from b: .1 (.1 + .9)
    assert found.confidence[:2] == pytest.approx([0.9, 0.9])
    assert found.confidence[2] == 1.0
    assert found.confidence[3] == pytest.approx(0.9 * 0.9 + 0.1 * 0.1)


def test_whoever_is_seen_again_did_not_have_a_terminal_value() -> None:
    seen = Example([[({"x": "a", "y": "b"}, [])], [({"x": "a"}, ["b"])]]).history
    table = np.array([[[[0.5, 0.5], [0.0, 0.0]]]])
    knowledge = Knowledge(
        pl.Series(["a", "b"]), Classes.everyone(), np.array([[0.5, 0.5]]), table, 1, terminal=(1,)
    )
    assert beliefs(seen, Reasoning(knowledge)).confidence[:2] == pytest.approx([0.5, 0.5])
    assert joint(seen, Reasoning(knowledge)).confidence[:2] == pytest.approx([1.0, 1.0])


def test_who_is_told_of_one_release_knows_more_of_the_others(weeks: History) -> None:
    people = np.zeros((2, 2), dtype=np.bool_)
    people[1, 1] = True
    found = joint(weeks, Reasoning(chain(0.9)), told=Told(people, 1.0), **FINE)
    # y has b in the second week: kept .9 * .9, both exchanged .1 * .1
    assert found.confidence[:2] == pytest.approx([0.81 / 0.82] * 2)
    assert found.overall.uncompromised is not None
    assert found.overall.uncompromised.rows == 3


def test_half_a_secret_mixes_as_in_the_belief_attack() -> None:
    one = Example([[({"x": "a", "y": "b"}, [])]]).history
    told = Told(np.array([[True, False]]), 0.5)
    knowledge = chain(0.9)
    assert joint(one, Reasoning(knowledge), told=told).confidence == pytest.approx(
        beliefs(one, Reasoning(knowledge), told=told).confidence
    )


def test_what_the_knowledge_rules_out_is_cut_and_counted() -> None:
    """Values never change, says the knowledge; they did."""
    strange = Example([[({"x": "a"}, [])], [({"x": "b", "y": "a"}, [])], [({"x": "b"}, [])]]).history
    found = joint(strange, Reasoning(chain(1.0)))
    assert found.confidence[0] == 1.0
    assert found.confidence[-1] == 1.0
    lost = Example([[({"x": "a"}, [])], [({"x": "b"}, ["b"]), ({"y": "a", "z": "b"}, [])]]).history
    assert joint(lost, Reasoning(chain(1.0))).confidence == pytest.approx([1.0, 1.0, 0.5, 0.5])


def test_knowledge_counted_from_the_views_serves_too() -> None:
    history = random_history(2, people=20, values=3, releases=5)
    assert history.truth is not None
    bounds = np.searchsorted(history.release, np.arange(1, 5))
    person, codes = np.split(history.person, bounds), np.split(history.truth.astype(np.int64), bounds)
    names = pl.Series(["a", "b", "c"])
    register = Register(names, tuple(person), tuple(np.zeros_like(who) for who in person), tuple(codes))
    found = joint(history, Reasoning(Extracted(order=1)), register)
    ahead = beliefs(history, Reasoning(Extracted(order=1)), register)
    assert found.overall.everyone.gain > ahead.overall.everyone.gain


# Event lists --------------------------------------------------------------------------------------


def test_event_lists_are_granted_unless_they_are_not(weeks: History) -> None:
    """x and y kept their values, and x is seen alone with a: with event lists nothing is left open."""
    knowledge = chain(0.9)
    granted = attack(weeks, Adversary(knowledge=knowledge), ["beliefs", "joint"])
    assert granted[0].confidence == pytest.approx(
        [0.5, 0.5, 1.0, 0.5]
    )  # of y the belief attack has not heard yet
    assert granted[1].confidence == pytest.approx([1.0, 1.0, 1.0, 1.0])
    found = attack(weeks, Adversary(knowledge=knowledge, event_lists=False), ["joint"])[0]
    assert found.confidence == pytest.approx(joint(weeks, Reasoning(knowledge)).confidence)


def test_a_change_excludes_the_value_before() -> None:
    """x had a or b and changed; then she has a, c or c: so it was b first, or c."""
    seen = Example([[({"x": "b", "y": "a"}, [])], [({"x": "c", "z": "a", "y": "c"}, [])]]).history
    table = np.full((1, 1, 3, 3), 1 / 3)
    knowledge = Knowledge(pl.Series(["a", "b", "c"]), Classes.everyone(), np.full((1, 3), 1 / 3), table, 1)
    found = attack(seen, Adversary(knowledge=knowledge), ["joint"])[0]
    # x a, y b: x has c, or (y has a or c, z the other); x b, y a: y has c
    ways = {("a", "b"): 0, ("b", "a"): 0}
    right = 0
    for first in ways:
        for second in set(permutations("acc")):  # x, y, z
            if first[0] != second[0] and first[1] != second[1]:
                ways[first] += 1
    right = ways["b", "a"] / sum(ways.values())
    assert found.confidence[:2] == pytest.approx([right, right], abs=0.03)
    assert right == 0.5


def test_what_no_step_explains_goes_on_from_what_was_believed() -> None:
    """Values never change, says the knowledge, and event lists say that x did; or the other way round."""
    changed = Example([[({"x": "a"}, [])], [({"x": "b"}, ["a"])]]).history
    never = attack(changed, Adversary(knowledge=chain(1.0)), ["beliefs", "joint"])
    assert [one.confidence.tolist() for one in never] == [[1.0, 1.0], [1.0, 1.0]]
    stayed = Example([[({"x": "a"}, [])], [({"x": "a"}, ["b"])]]).history
    always = attack(stayed, Adversary(knowledge=chain(0.0)), ["beliefs", "joint"])
    assert [one.confidence.tolist() for one in always] == [[1.0, 1.0], [1.0, 1.0]]


def test_the_register_knows_changes_through_lives() -> None:
    """Somebody who changed twice between two tables may have gone back; who is seen in every view did not."""
    tables = [
        Table(array([0]), array([group]), array([0] * (group == 0)), array([0] * (group == 0)))
        for group in (0, -1, 0)
    ]
    codes = [array([0]), array([1]), array([0])]
    events = events_of(1, [Appearances(array([0]), code, np.zeros(1, np.uint64)) for code in codes])
    history = History.of(1, 2, tables, events, codes)
    shown = plain_register(history, Reasoning(chain(0.9))).with_events(events)
    assert [one.tolist() for one in shown.changed] == [[UNTOLD], [], [UNTOLD]]
    whole = Register.of_tables(shown.values, tables).with_events(events)
    assert [one.tolist() for one in whole.changed] == [[UNTOLD], [CHANGED], [CHANGED]]
    assert [one.tolist() for one in whole.until(2).changed] == [[UNTOLD], [CHANGED]]
    assert whole.published(history).changed is None


# Figures and refusals -----------------------------------------------------------------------------


def test_the_figures_say_whether_beliefs_settled() -> None:
    history = random_history(4, people=12, values=3, releases=5)
    knowledge = lasting_knowledge(4, 3, 2, 0.8)
    heard: list[tuple[int, float]] = []
    early = joint(history, Reasoning(knowledge), rounds=1, progress=lambda *said: heard.append(said))
    assert not early.settled
    assert early.overall.unsettled > 0.5
    assert [number for number, _ in heard] == [1]
    document = early.as_dict()
    assert json.loads(json.dumps(document)) == document
    assert (document["attack"], document["rounds"], document["settled"]) == ("joint", 1, False)
    late = joint(history, Reasoning(knowledge), tolerance=1e-3, rounds=500)
    assert late.settled
    assert late.overall.unsettled == 0.0


def test_posteriors_that_weigh_no_product_are_refused(weeks: History) -> None:
    with pytest.raises(PolicyError, match="exact, bp, sinkhorn, not 'additive'"):
        joint(weeks, Reasoning(chain(0.9), "additive"))
    with pytest.raises(PolicyError, match="loops must be one of"):
        joint(weeks, Reasoning(chain(0.9)), loops="none")
    product_form = Reasoning(lasting_knowledge(0, 2, 2, 0.5), form="product")
    with pytest.raises(PolicyError, match="form joint"):
        joint(weeks, product_form)


def test_an_empty_history_has_nothing_to_believe() -> None:
    nothing = History.of(0, 2, [])
    assert joint(nothing, Reasoning(chain(0.9))).overall.everyone.rows == 0
    nobody = History.of(1, 2, [Table(array([]), array([]), array([]), array([]))])
    assert joint(nobody, Reasoning(chain(0.9))).overall.everyone.rows == 0


# Kernels ------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    order=st.sampled_from([1, 2, 3]),
    length=st.integers(1, 4),
    events=st.booleans(),
)
def test_a_chain_is_the_sum_over_its_paths(seed: int, order: int, length: int, events: bool) -> None:
    m = 3
    rng = np.random.default_rng(seed)
    known = random_knowledge(seed, m, order).complete()
    assert known.sequential is not None
    tables = Tables.of(known.prior, known.sequential, (m + 1) ** (order - 1))
    kind = rng.integers(0, 2, length)
    odds = rng.random((length, m)) * (rng.random((length, m)) < 0.8)
    odds[:, 0] += 0.1
    odds[:, 1] += 0.1 * events
    changed = (
        rng.integers(UNTOLD, CHANGED + 1, length).astype(np.int8)
        if events
        else np.full(length, UNTOLD, np.int8)
    )
    weight = np.zeros((length, m))
    for path in product(range(m), repeat=length):
        if any(
            changed[t] != UNTOLD and (path[t] != path[t - 1]) != (changed[t] == CHANGED)
            for t in range(1, length)
        ):
            continue
        past, chances = [m] * order, []
        for t, x in enumerate(path):
            older = 0
            for digit in past[:-1]:
                older = older * (m + 1) + digit
            table = known.sequential[kind[t], older]
            chances.append(table[past[-1], x] if t else known.prior[kind[0], x])
            past = [*past, x][1:]
        for t, x in enumerate(path):
            rest = [odds[s, path[s]] for s in range(length) if s != t]
            weight[t, x] += np.prod(chances) * np.prod(rest)
    weight = np.where(odds > 0, weight, 0.0)  # of what the own group excludes nothing need be known
    weight /= weight.sum(axis=1, keepdims=True)

    row, out = array([0]), np.zeros((length, m))
    states = len(tables.last)
    chains = Chains(
        np.arange(length + 1) * states,
        np.tile(np.arange(states, dtype=np.int32), length),
        np.zeros(length * states, np.float32),
        np.zeros(length * states),
        np.ones(length * states, np.float32),
    )
    seats = [
        Seats(
            array([0]),
            kind[t : t + 1],
            odds[t : t + 1],
            np.zeros(1, np.bool_),
            array([t - 1]),
            changed[t : t + 1],
        )
        for t in range(length)
    ]
    for t in range(length):
        look_ahead(seats[t], tables, chains, t, row, out[t : t + 1])
        settle_ahead(seats[t], tables, chains, t, row)
    for t in range(length - 1, -1, -1):
        look_back(seats[t], tables, chains, t, row, out[t : t + 1])
        settle_back(seats[t], tables, chains, t, row)
    out[odds == 0] = 0.0
    assert out / out.sum(axis=1, keepdims=True) == pytest.approx(weight, abs=1e-6)
    again = np.zeros((length, m))
    for t in range(length):  # the second way there, with what follows
        look_ahead(seats[t], tables, chains, t, row, again[t : t + 1])
        settle_ahead(seats[t], tables, chains, t, row)
    again[odds == 0] = 0.0
    assert again / again.sum(axis=1, keepdims=True) == pytest.approx(weight, abs=1e-6)


@given(seed=st.integers(0, 10_000))
def test_groups_answer_by_the_posterior_over_what_was_expected(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, expected, odds = (rng.random((6, 3)) * (rng.random((6, 3)) < 0.7) for _ in range(3))
    possible, cut = rng.random((6, 3)) < 0.5, rng.random(6) < 0.3
    least, rows = 0.2, array([0, 1, 3, 4, 5])
    right = expected.copy()
    for i, x in product(rows.tolist(), range(3)):
        if possible[i, x]:
            right[i, x] = max(right[i, x], least)
    keep_possible(expected, possible, least, rows)
    assert expected == pytest.approx(right)
    told = odds.copy()
    for i in rows.tolist():
        ratio = [p[i, x] / expected[i, x] if expected[i, x] > 0 else 0.0 for x in range(3)]
        most = max(ratio) or 1.0
        told[i] = [max(r / most, least) if o > 0 else 0.0 for r, o in zip(ratio, odds[i], strict=True)]
        if cut[i]:
            told[i] = p[i]
    answer(p, expected, cut, least, rows, odds)
    assert odds == pytest.approx(told)


@settings(max_examples=50)
@given(seed=st.integers(0, 100_000), members=st.integers(1, 4), unknown=st.integers(0, 2))
def test_members_are_confined_to_what_some_assignment_gives_them(
    seed: int, members: int, unknown: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, members + unknown)
    expected = rng.random((members, 4)) * (rng.random((members, 4)) < 0.6)
    can = np.zeros((members, 4), np.bool_)
    for handed in permutations(rows.tolist(), members):
        if all(expected[i, x] > 0 for i, x in enumerate(handed)):
            can[np.arange(members), handed] = True
    code, count = np.unique(rows, return_counts=True)
    found = expected.copy()
    confine(found, array([0, members]), array([0, len(code)]), code.astype(np.int64), count.astype(np.int64))
    shown = np.isin(np.arange(4), rows)
    if not can.any():
        assert (found == expected).all()
    else:
        assert ((found > 0)[:, shown] == can[:, shown]).all()
        assert (found[can] == expected[can]).all()


@settings(max_examples=40)
@given(seed=st.integers(0, 100_000), unknown=st.integers(0, 3))
def test_groups_are_scaled_as_the_posterior_sinkhorn_is_wherever_scaling_begins(
    seed: int, unknown: int
) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 3)
    expected = rng.dirichlet(np.full(4, 0.7), int(sizes.sum()))
    group = np.repeat(np.arange(3), sizes)
    rows = np.append(group, rng.integers(0, 3, unknown))
    groups, order = Groups.of(group, rows, rng.integers(0, 4, len(rows)))
    right = group_posteriors(expected[order], groups, "sinkhorn")
    shares = [rng.random(len(groups.value_code)) + 0.1, np.ones(len(groups.value_code))]
    for factor in shares:
        found, fell = expected[order].copy(), np.zeros(len(order), np.bool_)
        chosen = np.arange(3)
        scale_groups(found, *groups, chosen, factor, 1e-12, 20_000, fell)
        assert not fell.any()
        assert found == pytest.approx(right.p, abs=1e-6)
        again = expected[order].copy()
        scale_groups(again, *groups, chosen, factor, 1e-12, 1, fell)  # the factors hold what was found
        assert again == pytest.approx(found, abs=1e-9)


def test_what_cannot_be_scaled_falls_back_to_shares() -> None:
    """Both expect the first value for certain, and the group shows one of each."""
    found, fell = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]]), np.zeros(3, np.bool_)
    groups, _ = Groups.of(array([0, 0, 1]), array([0, 0, 1]), array([0, 1, 1]))
    scale_groups(found, *groups, np.arange(2), np.ones(3), 1e-9, 50, fell)
    assert found.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]
    assert fell.tolist() == [True, True, False]
