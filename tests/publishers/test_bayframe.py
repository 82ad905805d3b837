"""BayFrame: what every group satisfies, also where single people are known, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.adversary import Adversary
from knowledge.random_knowledge import random_knowledge
from publishers.believing import SCHEMA, SECRET, Options, Walk, promised, random_frame
from republish import PolicyError, read_view
from republish.inference import Compromised, Reasoning
from republish.knowledge import Knowledge
from republish.memory.memory import Memory
from republish.publishers import BayFrame, make_publisher
from republish.publishers.bayframe import LARGEST


def walk_of(publisher: BayFrame, knowledge: Knowledge | None) -> Walk:
    kept = promised(publisher)
    adversary = None if knowledge is None else Adversary(knowledge, publisher.form)
    viewed = publisher.against == "view"
    beta = kept["view-beta" if viewed else "beta"]
    return Walk(publisher, kept["similarity"], int(kept["k"]), None, beta, adversary, against_view=viewed)


@given(st.integers(0, 2**32), Options, st.sampled_from([0.5, 1.5, 5.0]), st.integers(1, 2))
@settings(max_examples=30)
def test_every_group_keeps_what_is_declared(
    seed: int, options: dict[str, object], beta: float, order: int
) -> None:
    knowledge = random_knowledge(seed, m=3, order=order, gaps=0.2)
    rng = np.random.default_rng(seed)
    publisher = BayFrame(beta=beta, knowledge=knowledge, **options)  # type: ignore[arg-type]
    walk = walk_of(publisher, knowledge)
    walk.values = knowledge.values.rename("")
    for _ in range(3):
        walk.publish(random_frame(rng))


def told(rng: np.random.Generator, codes: np.ndarray) -> Compromised:
    """What is known of every third person: a value that is the true one, for certain or not, or one that is not."""
    rows = np.arange(0, len(codes), 3)
    p = rng.choice([0.0, 0.3, 0.8, 1.0], len(rows))
    wrong = (codes[rows] + 1) % 3
    lie = (p == 0) | ((p < 1) & (rng.random(len(rows)) < 0.3))
    return Compromised(rows, np.where(lie, wrong, codes[rows]).astype(np.int64), p)


@given(st.integers(0, 2**32), Options)
@settings(max_examples=25)
def test_what_is_known_of_single_people_enters_the_divergence(seed: int, options: dict[str, object]) -> None:
    knowledge = random_knowledge(seed, m=3, order=2, gaps=0.0)
    rng = np.random.default_rng(seed)
    publisher = BayFrame(knowledge=knowledge, **(options | {"rest": "insert"}))  # type: ignore[arg-type]
    walk = walk_of(publisher, knowledge)
    walk.values = knowledge.values.rename("")
    for _ in range(3):
        frame = random_frame(rng)
        codes = codes_of(walk, frame)
        walk.publish(frame, told(rng, codes))


def codes_of(walk: Walk, frame: pl.DataFrame) -> np.ndarray:
    """The codes in the order of the view."""
    return read_view(frame, walk.schema, walk.values).pseudonymous(SECRET).codes.astype(np.int64)


def test_somebody_known_for_certain_is_hard_to_hide() -> None:
    """Under a small j nobody shares a group with her; without that knowledge everybody is in one."""
    knowledge = random_knowledge(3, m=3, order=1)
    frame = random_frame(np.random.default_rng(0), share=1.0)
    left = []
    for known in (False, True):
        publisher = BayFrame(k=2, beta=50.0, j=0.05, crowd=0.0, rest="suppress", knowledge=knowledge)
        walk = walk_of(publisher, None)
        walk.values = knowledge.values.rename("")
        codes = codes_of(walk, frame)
        sure = Compromised(np.array([4]), codes[[4]], np.array([1.0])) if known else None
        left.append(walk.publish(frame, sure).group[4] < 0)
    assert left == [False, True]


def test_the_cascade_decides_when_it_matters() -> None:
    """Known after the release, it does not change the groups of this one but what is believed at the next."""
    knowledge = random_knowledge(3, m=3, order=1)
    frame = random_frame(np.random.default_rng(0), share=1.0)
    groups, beliefs = [], []
    for known in (None, "posterior"):
        publisher = BayFrame(k=2, beta=50.0, j=0.3, crowd=10.0, cascade=known or "prior", knowledge=knowledge)
        walk = walk_of(publisher, None)
        walk.values = knowledge.values.rename("")
        codes = codes_of(walk, frame)
        sure = Compromised(np.array([4]), codes[[4]], np.array([0.9])) if known else None
        groups.append(walk.publish(frame, sure).group)
        beliefs.append(walk.memory.columns["belief"][4, codes[4]])
    assert np.array_equal(*groups)
    assert beliefs[1] > 0.85 > beliefs[0]


def test_as_published_is_the_paper() -> None:
    made = BayFrame.as_published(k=4, beta=2.0, j=0.2, cascade="posterior")
    assert (made.k, made.beta, made.j, made.steps, made.cascade) == (4, 2.0, 0.2, 1, "posterior")
    assert (made.cut, made.rest, made.crowd, made.keep) == ("greedy", "insert", 0.0, 0.0)
    assert (made.order, made.posterior, made.form) == ("nearest", "bayes", "chained")


def test_it_declares_what_relaxed_groups_satisfy() -> None:
    made = BayFrame(k=3, beta=4.0, j=0.5, rest="relax", slack=2.0)
    assert [r.text for r in made.requirements] == ["k=3", "beta=8"]
    assert made.series_promises == ("similarity=1",)


def test_nobody_one_person_and_equal_rows() -> None:
    walk = walk_of(BayFrame(k=2), None)
    rng = np.random.default_rng(0)
    assert walk.publish(random_frame(rng, share=0.0)).groups == 0
    assert walk.publish(random_frame(rng, names=1, share=1.0)).suppressed == 1
    frame = random_frame(rng, share=1.0)
    same = frame.with_columns(age=pl.lit(30), sex=pl.lit("F"), town=pl.lit("n"))
    assert walk.publish(same).suppressed == 0


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"k": 0}, "k must be a whole number"),
        ({"beta": 0}, "beta must be"),
        ({"j": -1}, "j must be above 0"),
        ({"cascade": "both"}, "cascade must be one of prior, posterior"),
        ({"rest": "forget"}, "rest must be one of"),
        ({"slack": 0}, "slack must be at least 1"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        BayFrame(**wrong)  # type: ignore[arg-type]


def test_texts_become_parameters() -> None:
    made = make_publisher("bayframe", {"cascade": "posterior", "beta": "3", "steps": "full"})
    assert isinstance(made, BayFrame)
    assert (made.cascade, made.beta, made.steps) == ("posterior", 3.0, "full")


def test_large_groups_are_left_to_the_omega_estimate() -> None:
    rng = np.random.default_rng(3)
    knowledge = random_knowledge(4, m=3)
    view = read_view(random_frame(rng, 40, 1.0), SCHEMA, knowledge.values.rename("")).pseudonymous(SECRET)
    group = np.where(np.arange(40) < LARGEST, 0, 1).astype(np.int32)

    def posterior(reasoning: Reasoning) -> np.ndarray:
        thoughts = reasoning.thoughts(reasoning.respondents(view), Memory.empty())
        return reasoning.inferred(thoughts, group, group, view.codes).p

    mixed = posterior(BayFrame.as_published(knowledge=knowledge).reasoning)
    small = group == 0
    bayes, omega = (posterior(Reasoning(knowledge, name, 1, "chained")) for name in ("bayes", "omega"))
    np.testing.assert_array_equal(mixed[small], bayes[small])
    np.testing.assert_array_equal(mixed[~small], omega[~small])
    assert not np.allclose(bayes[~small], omega[~small])
    with pytest.raises(PolicyError, match="omega_above"):
        BayFrame(omega_above=-1)
