"""Revised beliefs against sums over all contexts, and joint filtering against whole sequences of values."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.adversary import Adversary
from knowledge.random_knowledge import random_knowledge
from republish import PolicyError
from republish.inference import FORMS, Revision
from republish.inference.revision import regrown, width
from republish.knowledge import Classes, Knowledge

CLOSE = 2e-5  # beliefs are kept in 32 bits


@st.composite
def knowledges(draw: st.DrawFn) -> Knowledge:
    """Random knowledge of two classes and of people of none, with unseen contexts and terminal values."""
    m = draw(st.integers(2, 3))
    terminal = draw(st.sampled_from([(), (0,), (m - 1,)]))
    gaps = draw(st.sampled_from([0.0, 0.3, 0.9]))
    found = random_knowledge(draw(st.integers(0, 2**32)), m, draw(st.integers(1, 3)), gaps, terminal)
    return replace(found, unseen=draw(st.sampled_from(["shorter", "zero"])))


def released(rng: np.random.Generator, prior: np.ndarray, zeros: float) -> np.ndarray:
    """A posterior: the prior times random likelihoods, of which some are 0; of nothing left, anything."""
    likelihood = rng.random(prior.shape) * (rng.random(prior.shape) > zeros)
    posterior = prior * likelihood
    total = posterior.sum(axis=1, keepdims=True)
    anything = rng.dirichlet(np.ones(prior.shape[1]), len(prior))
    return np.where(total > 0, posterior / np.maximum(total, 1e-300), anything)


@given(knowledges(), st.sampled_from(FORMS), st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_release_without_a_person_says_nothing_of_her(knowledge: Knowledge, form: str, seed: int) -> None:
    """Catching up with absences is as if the posterior had been the prior, so many times."""
    rng = np.random.default_rng(seed)
    revision, twin = Revision(knowledge, form), Adversary(knowledge, form)
    classes, away = rng.integers(0, 3, 6), np.array([0, 0, 1, 2, 3, 1])
    beliefs = np.zeros((6, revision.width), np.float32)
    posterior = released(rng, revision.prior(classes, beliefs), 0.0)
    beliefs[:5] = revision.observed(classes, beliefs, posterior)[:5]  # the last one is a stranger
    for i in range(5):
        twin.observe(i, classes[i], posterior[i].tolist())
        for _ in range(away[i]):
            twin.observe(i, classes[i], twin.prior(i, classes[i]))
    found = revision.prior(classes, revision.caught_up(classes, beliefs, away))
    expected = [twin.prior(i, classes[i]) for i in range(6)]
    assert found == pytest.approx(np.array(expected), abs=CLOSE)


def test_over_an_absence_the_chain_goes_on() -> None:
    step = np.array([[0.9, 0.1], [0.4, 0.6]])
    known = Knowledge(pl.Series(["a", "b"]), Classes.everyone(), np.array([[0.5, 0.5]]), step[None, None], 1)
    revision = Revision(replace(known, gaps="count"))
    classes, sure = np.zeros(1, int), np.array([[1.0, 0.0]], np.float32)
    prior = revision.prior(classes, revision.caught_up(classes, sure, np.array([2])))
    assert prior[0] == pytest.approx(np.linalg.matrix_power(step, 3)[0])


@given(knowledges(), st.sampled_from(FORMS), st.integers(0, 2**32), st.sampled_from([0.0, 0.4]))
@settings(max_examples=60)
def test_priors_are_sums_over_all_contexts(knowledge: Knowledge, form: str, seed: int, zeros: float) -> None:
    """Four releases; each person is in a random part of them, under a class that may change."""
    rng = np.random.default_rng(seed)
    revision, twin = Revision(knowledge, form), Adversary(knowledge, form)
    people = 6
    beliefs = np.zeros((people, revision.width), np.float32)
    for _ in range(4):
        there = np.flatnonzero(rng.random(people) < 0.8)
        classes = rng.integers(0, 3, len(there))
        prior = revision.prior(classes, beliefs[there])
        expected = [twin.prior(i, c) for i, c in zip(there, classes, strict=True)]
        assert prior == pytest.approx(np.array(expected).reshape(prior.shape), abs=CLOSE)
        assert prior.sum(axis=1) == pytest.approx(np.ones(len(there)))
        posterior = released(rng, prior, zeros)
        beliefs[there] = revision.observed(classes, beliefs[there], posterior)
        for i, c, p in zip(there, classes, posterior, strict=True):
            twin.observe(i, c, p.tolist())
            if form == "joint":
                assert beliefs[i] == pytest.approx(twin.context(i), abs=CLOSE)


@given(knowledges(), st.integers(0, 2**32))
@settings(max_examples=30)
def test_the_joint_belief_speaks_of_the_last_value_as_the_posterior_does(
    knowledge: Knowledge, seed: int
) -> None:
    """Also where the posterior is not the prior weighed by a release: what is known of single people is in it."""
    rng = np.random.default_rng(seed)
    revision = Revision(knowledge)
    classes = rng.integers(0, 3, 5)
    beliefs = np.zeros((5, revision.width), np.float32)
    for _ in range(3):
        posterior = rng.dirichlet(np.full(knowledge.size, 0.5), 5)
        beliefs = revision.observed(classes, beliefs, posterior)
        last = beliefs.reshape(5, -1, knowledge.size).sum(axis=1)
        assert last == pytest.approx(posterior, abs=CLOSE)


def test_joint_filtering_equals_the_enumeration_of_whole_paths() -> None:
    """P(path) is the product of chances and of how well each release fits; nothing of the papers' forms enters."""
    knowledge = random_knowledge(3, m=3, order=2, gaps=0.0)
    assert knowledge.sequential is not None
    rng = np.random.default_rng(1)
    fits = rng.random((4, 3))
    revision = Revision(knowledge)
    belief, one = np.zeros((1, revision.width), np.float32), np.array([1])
    for step in range(4):
        prior = revision.prior(one, belief)
        total = np.zeros(3)
        for path in product(range(3), repeat=step + 1):
            p = knowledge.prior[1, path[0]]
            for i in range(1, step + 1):
                older = 3 if i == 1 else path[i - 2]
                p *= fits[i - 1, path[i - 1]] * knowledge.sequential[1, older, path[i - 1], path[i]]
            total[path[-1]] += p
        assert prior[0] == pytest.approx(total / total.sum(), abs=CLOSE)
        posterior = prior * fits[step]
        belief = revision.observed(one, belief, posterior / posterior.sum())


@given(st.integers(0, 2**32), st.sampled_from(FORMS))
@settings(max_examples=15)
def test_all_forms_are_one_for_one_step(seed: int, form: str) -> None:
    knowledge = random_knowledge(seed, m=3, order=1)
    rng = np.random.default_rng(seed)
    classes, posterior = rng.integers(0, 2, 4), rng.dirichlet(np.ones(3), 4)
    found = []
    for one in (form, "joint"):
        revision = Revision(knowledge, one)
        beliefs = revision.observed(classes, np.zeros((4, 3), np.float32), posterior)
        found.append(revision.prior(classes, beliefs))
    assert np.array_equal(*found)


def test_a_stranger_has_the_prior_of_the_class() -> None:
    knowledge = random_knowledge(5)
    revision = Revision(knowledge)
    nothing = np.zeros((3, revision.width), np.float32)
    assert np.array_equal(revision.prior(np.array([0, 1, 2]), nothing), knowledge.prior)


def everyone(table: list[list[float]], terminal: tuple[int, ...] = ()) -> Knowledge:
    m = len(table)
    values = pl.Series("result", [f"v{i}" for i in range(m)])
    prior = np.full((1, m), 1 / m)
    return Knowledge(values, Classes(), prior, np.array([[table]]), 1, terminal)


def test_whoever_is_seen_again_did_not_have_a_terminal_value() -> None:
    revision = Revision(everyone([[0.2, 0.8, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 0.0]], terminal=(2,)))
    believed = np.array([[0.1, 0.2, 0.7]], np.float32)  # .1 to .2 of what is left
    expected = np.array([0.2, 0.8, 0]) / 3 + np.array([0.6, 0.4, 0]) * 2 / 3
    assert revision.prior(np.array([0]), believed)[0] == pytest.approx(expected, abs=CLOSE)


def test_a_belief_in_terminal_values_alone_falls_back_to_the_class() -> None:
    knowledge = everyone([[0.2, 0.8], [0.0, 0.0]], terminal=(1,))
    believed = np.array([[0, 1]], np.float32)
    assert Revision(knowledge).prior(np.array([0]), believed)[0] == pytest.approx([0.5, 0.5])


def test_without_sequential_knowledge_nothing_is_kept() -> None:
    knowledge = random_knowledge(2).steps(0)
    revision = Revision(knowledge)
    beliefs = revision.observed(np.array([0]), np.zeros((1, 0), np.float32), np.array([[1.0, 0, 0]]))
    assert beliefs.shape == (1, 0)
    assert np.array_equal(revision.prior(np.array([0]), beliefs), knowledge.prior[:1])


@given(
    st.integers(0, 2**32), st.sampled_from(FORMS), st.integers(0, 3), st.lists(st.integers(0, 4), min_size=1)
)
@settings(max_examples=60)
def test_beliefs_over_fewer_values_keep_their_contexts(
    seed: int, form: str, order: int, sizes: list[int]
) -> None:
    """Everyone's belief may be over a domain of its own; the column is as wide as the widest."""
    m = 4
    knowledge = random_knowledge(seed, m=m, order=order) if order else random_knowledge(seed, m=m).steps(0)
    rng = np.random.default_rng(seed)
    revision = Revision(knowledge, form)
    widths = [width(form, order, size) for size in sizes]
    stored = np.zeros((len(sizes), max(widths)), np.float32)
    expected = np.zeros((len(sizes), revision.width), np.float32)
    for i, size in enumerate(sizes):
        stored[i, : widths[i]] = rng.random(widths[i])
        for place in range(widths[i]):
            expected[i, moved(place, form, order, size, m)] = stored[i, place]
    assert np.array_equal(regrown(stored, np.array(sizes, np.int32), revision), expected)


def moved(place: int, form: str, order: int, size: int, m: int) -> int:
    """Where a number of a belief over `size` values stands among those over m."""
    place, last = divmod(place, size)
    if form != "joint":
        return place * m + last
    digits = []
    for _ in range(order - 1):
        place, digit = divmod(place, size + 1)
        digits.append(m if digit == size else digit)
    older = 0
    for digit in reversed(digits):
        older = older * (m + 1) + digit
    return older * m + last


def test_other_forms_are_refused() -> None:
    with pytest.raises(PolicyError, match="one of the forms joint, product, chained; found 'path'"):
        Revision(random_knowledge(0), "path")
