"""Every attack on random histories: never wrong, and exactly what its slow twin finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks import twins
from attacks.histories import random_history
from republish.attacks import ATTACKS, Adversary, History, attack, correlations
from republish.attacks.excluding.candidates import intersected, lifespans, lives, members, only, sizes
from republish.attacks.excluding.signature_rule import SignatureRule, exclude_kept
from republish.attacks.excluding.tau import _possible
from republish.attacks.results import Findings

SEEDS = st.integers(0, 2**32 - 1)
SHAPES = st.fixed_dictionaries(
    {
        "seed": SEEDS,
        "values": st.integers(1, 5),
        "counterfeits": st.sampled_from([0.0, 0.4]),
        "change": st.sampled_from([0.0, 0.2]),
        "absent": st.sampled_from([0.0, 0.3]),
        "signatures": st.booleans(),
    }
)


def found(findings: Findings, linked: str) -> dict[twins.Unknown, set[int]]:
    """The candidates of every published unknown, as a twin names it."""
    history = findings.unknowns.history
    number = history.release
    if linked != "nothing":
        number = getattr(history.events, linked)[history.person, history.release]
    return {
        (int(person), int(n)): set(members(findings.sets[unknown]))
        for person, n, unknown in zip(history.person, number, findings.unknowns.of_appearance, strict=True)
    }


def published(history: History, sets: dict[twins.Unknown, set[int]]) -> dict[twins.Unknown, set[int]]:
    there = set(twins.Board(history).truth)
    return {unknown: codes for unknown, codes in sets.items() if unknown in there}


def truthful(findings: Findings) -> bool:
    return all(
        truth < 0 or truth in members(words)
        for truth, words in zip(findings.unknowns.truth, findings.sets, strict=True)
    )


@given(SHAPES, st.sampled_from(sorted(ATTACKS)), st.booleans(), st.sampled_from([0.0, 0.3]))
@settings(max_examples=150)
def test_a_true_value_is_never_excluded(shape: dict, name: str, event_lists: bool, share: float) -> None:
    history = random_history(**shape)
    (result,) = attack(history, Adversary(share, event_lists), [name])
    assert truthful(result.findings)
    assert (result.candidates >= 1).all()


@given(SEEDS, st.sampled_from(sorted(ATTACKS)))
@settings(max_examples=30)
def test_a_true_value_is_never_excluded_from_larger_histories(seed: int, name: str) -> None:
    history = random_history(seed, people=150, values=90, releases=6, size=5, change=0.05)
    (result,) = attack(history, Adversary(0.3, seed=seed), [name])
    assert truthful(result.findings)


@given(SHAPES)
def test_intersection_is_the_naive_one(shape: dict) -> None:
    history = random_history(**shape)
    unknowns = lifespans(history)
    expected = twins.Board(history, "run").intersected()
    assert found(Findings.even(unknowns, intersected(unknowns)), "run") == expected


@given(SHAPES)
def test_without_event_lists_each_appearance_stands_alone(shape: dict) -> None:
    history = replace(random_history(**shape), events=None)
    unknowns = lifespans(history)
    expected = twins.Board(history, "nothing").intersected()
    assert found(Findings.even(unknowns, intersected(unknowns)), "nothing") == expected


@given(SHAPES)
@settings(max_examples=120)
def test_tau_is_the_enumeration_of_every_group_to_a_fixpoint(shape: dict) -> None:
    history = random_history(**shape, people=9)
    (result,) = attack(history, attacks=["tau"])
    assert found(result.findings, "life") == published(history, twins.tau(history))


@given(SHAPES, st.integers(1, 3), st.booleans())
@settings(max_examples=100)
def test_what_a_rule_excludes_is_what_its_twin_excludes(shape: dict, m: int, updates: bool) -> None:
    """People who were left out of a release are not in it for an adversary, so they come back."""
    history = random_history(**{**shape, "change": 0.4})
    history = replace(history, rule=SignatureRule(m, np.arange(history.releases) + 3, updates))
    unknowns = lives(history)
    sets = intersected(unknowns)
    exclude_kept(unknowns, sets)
    expected = published(history, twins.ruled(history))
    left = {u: codes for u, codes in found(Findings.even(unknowns, sets), "life").items() if u in expected}
    assert left == expected


@given(SHAPES)
@settings(max_examples=60)
def test_the_posterior_counts_the_sequences_of_unequal_values(shape: dict) -> None:
    history = random_history(**{**shape, "change": 0.5}, people=6)
    (result,) = attack(history, attacks=["tau"])
    unknowns, sets = result.findings.unknowns, result.findings.sets
    for person in range(history.people):
        own = np.flatnonzero(unknowns.person == person)
        expected = twins.posterior([set(members(sets[u])) for u in own]) if len(own) else []
        for unknown, shares in zip(own, expected, strict=True):
            assert result.findings.likeliest[unknown] == pytest.approx(max(shares.values()))
            if unknowns.truth[unknown] >= 0:
                assert result.findings.confidence[unknown] == pytest.approx(
                    shares[int(unknowns.truth[unknown])]
                )


@given(SHAPES, st.sets(st.integers(0, 11), max_size=5), st.booleans(), st.booleans())
@settings(max_examples=150)
def test_compromised_and_historical_are_the_naive_fixpoints(
    shape: dict, known: set[int], hc: bool, cascade: bool
) -> None:
    history = random_history(**shape)
    adversary = Adversary(sorted(known), cascade=cascade)
    (result,) = attack(history, adversary, ["historical" if hc else "compromised"])
    expected = twins.restricted(history, known, hc, cascade)
    assert found(result.findings, "life") == published(history, expected)


@given(SHAPES)
@settings(max_examples=80)
def test_correlations_are_the_naive_ones(shape: dict) -> None:
    history = random_history(**{**shape, "values": min(shape["values"], 3), "change": 0.0})
    listed = {(*c.releases, c.first, c.second) for c in correlations(history)}
    assert listed == twins.correlations(history)


@given(st.data())
@settings(max_examples=200)
def test_what_a_group_leaves_to_its_members_is_what_enumeration_leaves(data: st.DataObject) -> None:
    values = data.draw(st.integers(1, 5))
    count = data.draw(st.lists(st.integers(1, 2), min_size=values, max_size=values))
    people = data.draw(st.integers(1, min(5, sum(count))))
    drawn = st.sets(st.integers(0, values - 1), min_size=1)
    held = data.draw(st.lists(drawn, min_size=people, max_size=people))
    code = np.array([3 + 31 * i for i in range(values)])  # more than one word
    sets = np.zeros((people, 3), dtype=np.uint64)
    for i, codes in enumerate(held):
        for s in codes:
            sets[i, code[s] >> 6] |= np.uint64(1) << np.uint64(code[s] & 63)
    can = _possible(sets, np.arange(people), code, np.array(count))
    ways = twins.assignments(held, twins.Counter(dict(enumerate(count))))
    assert [set(np.flatnonzero(row)) for row in can] == [{way[i] for way in ways} for i in range(people)]


@given(st.lists(st.sets(st.integers(0, 199)), min_size=1, max_size=5))
def test_sets_are_counted_and_listed(codes: list[set[int]]) -> None:
    sets = np.zeros((len(codes), 4), dtype=np.uint64)
    for i, inside in enumerate(codes):
        for code in inside:
            sets[i, code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    assert sizes(sets).tolist() == [len(inside) for inside in codes]
    assert [members(words) for words in sets] == codes


def test_a_known_value_is_the_only_candidate() -> None:
    sets = np.full((2, 2), 2**64 - 1, dtype=np.uint64)
    only(sets, np.array([1]), np.array([70]))
    assert members(sets[1]) == {70}
    assert len(members(sets[0])) == 128


def test_lives_of_one_person_follow_each_other() -> None:
    unknowns = lives(random_history(5, people=20, change=0.5))
    linked = np.flatnonzero(unknowns.previous >= 0)
    assert len(linked) > 5
    assert (unknowns.previous[linked] == linked - 1).all()
    assert (unknowns.person[linked] == unknowns.person[linked - 1]).all()
