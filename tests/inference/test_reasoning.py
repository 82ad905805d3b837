"""An adversary through several releases: the papers' examples end to end, and a twin that keeps whole sequences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import naive
from inference.adversary import Adversary
from knowledge.random_knowledge import random_knowledge
from republish import Category, Number, PolicyError, Schema, read_view
from republish.inference import CASCADES, FORMS, Compromised, Reasoning, Respondents, Thoughts
from republish.knowledge import Bands, Classes, Extracted, Knowledge, Listed, learn
from republish.memory.memory import Memory
from republish.secret import Secret

SECRET = Secret.from_text("the same for all of these tests")


def people(*numbers: int) -> np.ndarray:
    return np.array([(0, n) for n in numbers], dtype=np.uint64).reshape(-1, 2)


def after(
    reasoning: Reasoning, thoughts: Thoughts, memory: Memory, group: list[int], codes: list[int]
) -> tuple[np.ndarray, Memory]:
    """The posterior of everyone and the memory, once each is in that group with that value; -1 is left out."""
    shown = np.array(group) >= 0
    posterior = reasoning.inferred(
        thoughts, np.array(group), np.array(group)[shown], np.array(codes)[shown]
    ).p
    known = memory.merged(Memory(thoughts.now.people, {"last": np.zeros(len(group), np.int32)}))
    return posterior, reasoning.remembered(thoughts, posterior, known)


# The papers' examples ----------------------------------------------------------------------------

EXAMS = ["MAM-pos", "CX-neg", "CX-pos", "BS-neg", "BCM-pos", "PNE-pos", "other"]
MAM, CXN, CXP, BSN, BCM, PNE, OTHER = range(7)
ALICE, BETTY, CAROL, DORIS = range(4)


def js_reduce_table_3() -> Knowledge:
    """What the table leaves open is somewhere else."""
    prior = np.zeros((2, 7))
    prior[0, [MAM, CXN, BCM, PNE]] = 0.002, 0.05, 0.001, 0.001
    prior[1, [CXP, BSN, BCM, PNE]] = 0.0003, 0.2, 0.001, 0.001
    prior[:, OTHER] = 1 - prior.sum(axis=1)
    later = np.zeros((7, 7))
    later[[MAM, CXN, CXP, BSN], BCM] = 0.6, 0.02, 0.02, 0.02
    later[[MAM, CXN, CXP, BSN], PNE] = 0.02, 0.08, 0.6, 0.02
    later[:, OTHER] = 1 - later.sum(axis=1)
    both = np.broadcast_to(later, (2, 1, 7, 7))
    zips = Classes((Listed("zip", ("12030", "12031")),))
    return Knowledge(pl.Series("exam", EXAMS), zips, prior, both, 1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method, alice", [("additive", 62 / 69), ("omega", 0.871), ("exact", 0.990)])
def test_js_reduce_table_4(method: str, alice: float, form: str) -> None:
    knowledge = js_reduce_table_3()
    reasoning = Reasoning(knowledge, method, form=form)
    values = knowledge.values
    first = Respondents(people(0, 1, 2, 3), np.array([0, 0, 1, 1]), np.array([MAM, CXN, CXP, BSN]), values)
    thoughts = reasoning.thoughts(first, Memory.empty())
    posterior, memory = after(reasoning, thoughts, Memory.empty(), [0, 0, 1, 1], [MAM, CXN, CXP, BSN])
    assert posterior[:, :4] == pytest.approx(np.array([[0.5, 0.5, 0, 0]] * 2 + [[0, 0, 0.5, 0.5]] * 2))
    second = Respondents(people(ALICE, CAROL), np.array([0, 1]), np.array([BCM, PNE]), values)
    thoughts = reasoning.thoughts(second, memory)
    assert thoughts.prior[:, [BCM, PNE]] == pytest.approx(np.array([[0.31, 0.05], [0.02, 0.31]]), abs=1e-7)
    posterior, _ = after(reasoning, thoughts, memory, [0, 0], [BCM, PNE])
    assert posterior[0, BCM] == pytest.approx(alice, abs=5e-4)
    if method != "omega":  # whose columns need not add up
        assert posterior[1, BCM] == pytest.approx(1 - posterior[0, BCM])


DISEASES = ["flu", "ulcer", "cancer-I", "bronchitis", "alzheimer", "diabetes"]
LATER = ["gerd", "depression", "cancer-II"]
TABLE_7 = [
    (0.005, 0.001, 0.0001),
    (0.3, 0.01, 0.001),
    (0.002, 0.1, 0.6),
    (0.002, 0.003, 0.002),
    (0.002, 0.1, 0.002),
    (0.005, 0.001, 0.0001),
]


def test_bayframe_tables_8_to_10() -> None:
    """Of three diseases each is as likely after the first release; the second is read by the paper's estimator."""
    values = pl.Series("disease", [*DISEASES, *LATER, "other"])
    m = len(values)
    later = np.zeros((m, m))
    later[:6, 6:9] = TABLE_7
    later[:, -1] = 1 - later.sum(axis=1)
    knowledge = Knowledge(values, Classes(), np.full((1, m), 1 / m), later[np.newaxis, np.newaxis], 1)
    at = {name: code for code, name in enumerate(values.to_list())}
    before = ["bronchitis", "alzheimer", "cancer-I", "ulcer", "flu", "diabetes"]
    cayla, dior, elisa = 0, 3, 4
    first = Respondents(people(*range(6)), np.zeros(6, int), np.array([at[d] for d in before]), values)
    even = Reasoning(knowledge, "omega", form="chained")
    posterior, memory = after(
        even, even.thoughts(first, Memory.empty()), Memory.empty(), [0] * 3 + [1] * 3, first.codes.tolist()
    )
    for who, group in ((cayla, before[:3]), (dior, before[3:]), (elisa, before[3:])):
        assert posterior[who, [at[d] for d in group]] == pytest.approx([1 / 3] * 3)  # Table 8
    codes = [at["cancer-II"], at["gerd"], at["depression"]]
    second = Respondents(people(cayla, dior, elisa), np.zeros(3, int), np.array(codes), values)
    reasoning = Reasoning(knowledge, "bayes", form="chained", steps=1)
    thoughts = reasoning.thoughts(second, memory)
    rest = thoughts.prior[:, codes]
    assert rest[0, 0] == pytest.approx(0.2013, abs=5e-5)  # printed .199, from .33
    table_9 = rest / rest.sum(axis=1, keepdims=True)
    assert table_9[0] == pytest.approx([0.745, 0.007, 0.25], abs=0.0055)
    assert table_9[1] == pytest.approx([0.0037, 0.96, 0.037], abs=0.005)
    assert np.array_equal(table_9[1], table_9[2])
    posterior, _ = after(reasoning, thoughts, memory, [0, 0, 0], codes)
    expected = np.array([[3, 2, 2], [2, 3, 2], [2, 2, 3]]) / 7  # Table 10, printed .42 and .28
    assert posterior[:, codes] == pytest.approx(expected)


# Against the twin --------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.sampled_from(FORMS), st.integers(0, 3))
@settings(max_examples=40)
def test_four_releases_equal_bijections_and_whole_sequences(seed: int, form: str, order: int) -> None:
    """People come and go, some are left out of a release, groups are small enough for every bijection."""
    rng = np.random.default_rng(seed)
    knowledge = random_knowledge(seed, m=3, order=max(order, 1), gaps=0.2).steps(order)
    reasoning, twin = Reasoning(knowledge, form=form), Adversary(knowledge, form)
    memory = Memory.empty()
    for _ in range(4):
        there = np.flatnonzero(rng.random(7) < 0.8)
        n = len(there)
        classes, codes = rng.integers(0, 3, n), rng.integers(0, 3, n)
        group = rng.integers(-1, 2, n)
        now = Respondents(people(*there), classes, codes, knowledge.values)
        thoughts = reasoning.thoughts(now, memory)
        prior = np.array([twin.prior(i, c) for i, c in zip(there, classes, strict=True)]).reshape(n, 3)
        assert thoughts.prior == pytest.approx(prior, abs=2e-5)
        posterior, memory = after(reasoning, thoughts, memory, group.tolist(), codes.tolist())
        expected = thoughts.prior.copy()
        for g in range(2):
            members = np.flatnonzero(group == g)
            shares = np.bincount(codes[members], minlength=3) / max(1, len(members))
            found = naive.weighted(thoughts.prior[members], codes[members].tolist(), naive.product)
            expected[members] = shares if found is None else found
        assert posterior == pytest.approx(expected, abs=1e-6)
        for i, c, p in zip(there, classes, posterior, strict=True):
            twin.observe(i, c, p.tolist())


def test_whoever_is_absent_keeps_the_belief() -> None:
    knowledge = random_knowledge(1, order=2)
    reasoning = Reasoning(knowledge)
    now = Respondents(people(1, 2), np.zeros(2, int), np.array([0, 1]), knowledge.values)
    _, memory = after(reasoning, reasoning.thoughts(now, Memory.empty()), Memory.empty(), [0, 0], [0, 1])
    other = Respondents(people(2), np.zeros(1, int), np.array([2]), knowledge.values)
    _, later = after(reasoning, reasoning.thoughts(other, memory), memory, [0], [2])
    assert np.array_equal(later.columns["belief"][0], memory.columns["belief"][0])
    assert not np.array_equal(later.columns["belief"][1], memory.columns["belief"][1])


@pytest.mark.parametrize("steps, order", [(None, 2), (1, 1), (0, 0), (7, 2)])
def test_steps_shorten_the_memory(steps: int | None, order: int) -> None:
    knowledge = random_knowledge(1, m=3, order=2)
    now = Respondents(people(1), np.zeros(1, int), np.array([0]), knowledge.values)
    thoughts = Reasoning(knowledge, steps=steps).thoughts(now, Memory.empty())
    assert thoughts.revision.knowledge.order == order
    assert thoughts.beliefs.shape == (1, {0: 0, 1: 3, 2: 12}[order])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("steps", [0, 1, None])
def test_beliefs_outlive_a_growing_domain(form: str, steps: int | None) -> None:
    """Values are added after those there were; whoever is absent meanwhile is carried over two steps at once."""
    reasoning = Reasoning(random_knowledge(4, m=2, order=2), form=form, steps=steps)
    memory, believed = Memory.empty(), {}
    for size, there in ((2, [1, 2]), (3, [2, 3]), (4, [1, 2, 3])):
        values = pl.Series("result", ["v0", "v1", "v2", "v3"][:size])
        now = Respondents(people(*there), np.zeros(len(there), int), np.arange(len(there)), values)
        thoughts = reasoning.thoughts(now, memory)
        assert thoughts.prior.shape == (len(there), size)
        for who, belief in zip(there, thoughts.beliefs, strict=True):
            if who in believed and steps != 0:
                last = belief.reshape(-1, size)
                last = last.sum(axis=0) if form == "joint" else last[-1]
                assert last == pytest.approx([*believed[who], 0, 0][:size], abs=1e-6)
        posterior, memory = after(reasoning, thoughts, memory, [0] * len(there), list(range(len(there))))
        believed |= {who: p.tolist() for who, p in zip(there, posterior, strict=True)}


# What is known of single people ------------------------------------------------------------------


def two_people(compromised: Compromised | None, order: int = 2) -> tuple[Knowledge, Respondents]:
    knowledge = random_knowledge(8, m=3, order=order, gaps=0.0)
    return knowledge, Respondents(
        people(1, 2), np.zeros(2, int), np.array([0, 1]), knowledge.values, compromised
    )


TOLD = Compromised(np.array([0]), np.array([0]), np.array([0.9]))
SURE = Compromised(np.array([0]), np.array([0]), np.array([1.0]))


def test_the_prior_cascade_enters_before_the_release() -> None:
    knowledge, now = two_people(TOLD)
    thoughts = Reasoning(knowledge, cascade="prior").thoughts(now, Memory.empty())
    p = knowledge.prior[0]
    assert thoughts.prior[0] == pytest.approx([0.9 + 0.1 * p[0], 0.1 * p[1], 0.1 * p[2]])
    assert thoughts.prior[1] == pytest.approx(p)


def test_the_posterior_cascade_enters_after_it() -> None:
    knowledge, now = two_people(TOLD)
    reasoning = Reasoning(knowledge, cascade="posterior")
    thoughts = reasoning.thoughts(now, Memory.empty())
    assert thoughts.prior == pytest.approx(knowledge.prior[[0, 0]])
    posterior, _ = after(reasoning, thoughts, Memory.empty(), [0, 0], [0, 1])
    early = Reasoning(knowledge, cascade="prior")
    same, _ = after(early, early.thoughts(now, Memory.empty()), Memory.empty(), [0, 0], [0, 1])
    assert posterior == pytest.approx(same)
    assert posterior[0, 0] > 0.9


def test_bayes_takes_it_in_where_the_cascade_says() -> None:
    knowledge, now = two_people(TOLD)
    found = []
    for cascade in CASCADES:
        reasoning = Reasoning(knowledge, "bayes", cascade=cascade)
        found.append(
            after(reasoning, reasoning.thoughts(now, Memory.empty()), Memory.empty(), [0, 0], [0, 1])[0]
        )
    known = np.zeros((2, 3))
    assert found[0] == pytest.approx(
        naive.bayes(Reasoning(knowledge).thoughts(now, Memory.empty()).prior, [0, 1])
    )
    known[0, 0] = 0.9
    assert found[1] == pytest.approx(naive.bayes(knowledge.prior[[0, 0]], [0, 1], known))


@pytest.mark.parametrize("cascade", CASCADES)
@pytest.mark.parametrize("method", ["exact", "omega", "bayes"])
def test_certainty_settles_the_others_too(cascade: str, method: str) -> None:
    knowledge, now = two_people(SURE)
    reasoning = Reasoning(knowledge, method, cascade=cascade)
    posterior, memory = after(
        reasoning, reasoning.thoughts(now, Memory.empty()), Memory.empty(), [0, 0], [0, 1]
    )
    assert posterior == pytest.approx(np.array([[1, 0, 0], [0, 1, 0]]))
    later = reasoning.thoughts(now._replace(compromised=None), memory)
    assert knowledge.sequential is not None
    assert later.prior == pytest.approx(knowledge.sequential[0, 3, [0, 1]], abs=1e-6)


@pytest.mark.parametrize("cascade", CASCADES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_what_is_known_stays_known_of_somebody_left_out(cascade: str, order: int) -> None:
    """At a second release, where joint beliefs are filtered: the last value is believed as the posterior says."""
    knowledge, now = two_people(TOLD, order)
    reasoning = Reasoning(knowledge, cascade=cascade)
    first = now._replace(compromised=None)
    _, memory = after(reasoning, reasoning.thoughts(first, Memory.empty()), Memory.empty(), [0, 0], [0, 1])
    posterior, memory = after(reasoning, reasoning.thoughts(now, memory), memory, [-1, -1], [0, 1])
    assert posterior[0, 0] >= 0.9
    last = memory.columns["belief"].reshape(2, -1, 3).sum(axis=1)
    assert last == pytest.approx(posterior, abs=1e-6)


# Knowledge counted from the views ----------------------------------------------------------------

SCHEMA = Schema("id", [Number("age"), Category("town")], "dx")
BY_AGE = Classes((Bands("age", (0, 50, 200)),))


def random_views(seed: int, values: int = 4) -> list[pl.DataFrame]:
    """Views of people who come and go, of a domain that grows, some ages missing."""
    rng = np.random.default_rng(seed)
    views = []
    for number in range(4):
        there = np.flatnonzero(rng.random(25) < 0.7)
        ages = [None if rng.random() < 0.1 else int(a) for a in rng.integers(20, 80, len(there))]
        views.append(
            pl.DataFrame(
                {
                    "id": [f"p{i}" for i in there],
                    "age": ages,
                    "town": rng.choice(["n", "s"], len(there)),
                    "dx": [f"v{int(v)}" for v in rng.integers(0, min(values, 2 + number), len(there))],
                },
                schema_overrides={"age": pl.Int64, "dx": pl.String, "town": pl.String},
            )
        )
    return views


@given(st.integers(0, 2**32), st.sampled_from([0, 1, 2, 3]), st.sampled_from([0.0, 2.0]))
@settings(max_examples=20)
def test_extracted_counts_are_what_learn_counts(seed: int, order: int, smoothing: float) -> None:
    views = random_views(seed)
    reasoning = Reasoning(Extracted(order, BY_AGE, ("v0",), smoothing))
    memory, values = Memory.empty(), None
    for number, raw in enumerate(views, start=1):
        view = read_view(raw, SCHEMA, values).pseudonymous(SECRET)
        values = view.values
        thoughts = reasoning.thoughts(reasoning.respondents(view), memory)
        learned = learn(views[:number], SCHEMA, BY_AGE, order, smoothing, ("v0",)).complete()
        found = thoughts.revision.knowledge
        assert found.values.to_list() == learned.values.to_list()
        assert np.array_equal(found.prior, learned.prior)
        if order:
            assert found.sequential is not None and learned.sequential is not None
            assert np.array_equal(found.sequential, learned.sequential)
        assert found.terminal == learned.terminal
        _, memory = after(reasoning, thoughts, memory, [0] * view.rows, view.codes.tolist())


def test_a_first_view_without_anybody_teaches_nothing() -> None:
    for source in (Extracted(), random_knowledge(0, m=2), Extracted(order=0)):
        reasoning = Reasoning(replace(source, classes=Classes()) if isinstance(source, Extracted) else source)
        none = pl.Series("", [], dtype=pl.String)
        now = Respondents(people(), np.zeros(0, int), np.zeros(0, int), none)
        thoughts = reasoning.thoughts(now, Memory.empty())
        posterior, memory = after(reasoning, thoughts, Memory.empty(), [], [])
        assert len(posterior) == memory.size == 0
        later = Respondents(people(3), np.zeros(1, int), np.zeros(1, int), pl.Series("", ["v0"]))
        assert reasoning.thoughts(later, memory).prior.tolist() == [[1.0]]


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"posterior": "guess"}, "posterior must be one of additive"),
        ({"form": "path"}, "form must be one of joint"),
        ({"cascade": "both"}, "cascade must be one of prior, posterior"),
        ({"steps": -1}, "steps must be a whole number from 0"),
        ({"steps": 1.5}, "steps must be a whole number from 0"),
    ],
)
def test_what_does_not_exist_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Reasoning(random_knowledge(0), **wrong)  # type: ignore[arg-type]


def test_knowledge_of_another_type_is_refused() -> None:
    now = Respondents(people(1), np.zeros(1, int), np.zeros(1, int), pl.Series("", [1.0, 2.0]))
    with pytest.raises(PolicyError, match="values of type String; the view has Float64"):
        Reasoning(random_knowledge(0)).thoughts(now, Memory.empty())
