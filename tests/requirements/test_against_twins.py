"""Every model against its slow twin: what a group reaches, whether it holds, and the compiled answer."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_requirements as naive
from republish.requirements import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    ProbabilisticLDiversity,
    RecursiveDiversity,
    Requirement,
    TCloseness,
    Whole,
    compile_rules,
    satisfied,
)

SOME = settings(max_examples=150, deadline=None)


class Case(NamedTuple):
    """One group of a table, with an order and a hierarchy of the sensitive values."""

    group: list[int]
    table: list[int]
    order: list[int]
    nodes: list[list[int]]

    @property
    def whole(self) -> Whole:
        codes = np.repeat(np.arange(len(self.table)), self.table)
        return Whole.of(codes, len(self.table), np.array(self.order), np.array(self.nodes, np.int32))


@st.composite
def hierarchies(draw, m):
    levels = [list(range(m))]
    for _ in range(draw(st.integers(0, 3))):
        parents = {node: draw(st.integers(0, 3)) for node in sorted(set(levels[-1]))}
        levels.append([parents[node] for node in levels[-1]])
    if m > 1 or draw(st.booleans()):
        levels.append([0] * m)
    return [list(row) for row in zip(*levels, strict=True)]


@st.composite
def cases(draw, outsiders=True):
    m = draw(st.integers(1, 6))
    counts = st.integers(0, 12)
    group = draw(st.lists(counts, min_size=m, max_size=m).filter(any))
    others = draw(st.lists(counts, min_size=m, max_size=m))
    table = [one + other for one, other in zip(group, others, strict=True)]
    if outsiders and m > 1 and draw(st.integers(0, 4)) == 0:
        table[draw(st.integers(0, m - 1))] = 0
    assume(any(table))
    return Case(group, table, draw(st.permutations(range(m))), draw(hierarchies(m)))


def check(requirement: Requirement, case: Case, reached: float, holds: bool) -> None:
    counts, whole = np.array([case.group]), case.whole
    found = requirement.achieved(counts, whole)
    assert found.shape == (1,)
    assert found[0] == pytest.approx(float(reached), rel=1e-9, abs=1e-12)
    assert bool(requirement.holds(counts, whole)[0]) is bool(holds)
    rules = compile_rules([requirement], whole)
    assert bool(satisfied(rules, counts[0], sum(case.group))) is bool(holds)


@SOME
@given(cases(), st.integers(1, 40))
def test_k_anonymity(case, k):
    check(KAnonymity(k), case, sum(case.group), naive.k_holds(k, case.group))


@SOME
@given(cases(), st.integers(1, 7))
def test_distinct(case, l):  # noqa: E741
    reached = naive.distinct_l(case.group)
    check(LDiversity(l), case, reached, reached >= l)


@SOME
@given(cases(), st.sampled_from([1, 1.5, 2, 2.5, 3, 4]))
def test_probabilistic(case, l):  # noqa: E741
    reached = naive.probabilistic_l(case.group)
    check(ProbabilisticLDiversity(l), case, reached, reached >= naive.exact(l))


@SOME
@given(cases(), st.sampled_from([1, 1.5, 1.9, 2, 2.5, 3, 4]))
def test_entropy(case, l):  # noqa: E741
    check(EntropyLDiversity(l), case, naive.entropy_l(case.group), naive.entropy_holds(l, case.group))


@SOME
@given(cases(), st.sampled_from([0.3, 0.5, 1, 1.1, 2, 2.5, 3]), st.integers(1, 7))
def test_recursive(case, c, l):  # noqa: E741
    reached = naive.recursive_c(l, case.group)
    check(RecursiveDiversity(c, l), case, reached, reached < naive.exact(c))


@SOME
@given(cases(), st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.6, 1]), st.integers(1, 20))
def test_alpha_k(case, alpha, k):
    largest = max(naive.shares(case.group))
    reached = largest if sum(case.group) >= k else math.inf
    check(AlphaKAnonymity(alpha, k), case, reached, reached <= naive.exact(alpha))


@SOME
@given(cases(), st.sampled_from([0.1, 0.5, 1, 1.5, 2, 4]))
def test_beta(case, beta):
    reached = naive.beta(case.group, case.table)
    check(BetaLikeness(beta), case, reached, reached <= naive.exact(beta))


@SOME
@given(cases(), st.sampled_from([0.1, 0.5, 1, 1.5, 2, 4]))
def test_beta_enhanced(case, beta):
    reached = naive.beta_enhanced(case.group, case.table)
    check(BetaLikeness(beta, enhanced=True), case, reached, reached <= naive.exact(beta))


@SOME
@given(cases(), st.integers(1, 6))
def test_delta(case, halves):
    reached = naive.delta(case.group, case.table)
    check(DeltaDisclosure(halves / 2), case, reached, naive.delta_holds(halves, case.group, case.table))


THRESHOLDS = st.sampled_from([0, 0.05, 0.1, 0.2, 0.25, 0.4, 0.5, 1])


@SOME
@given(cases(), THRESHOLDS)
def test_t_equal(case, t):
    reached = naive.equal_distance(case.group, case.table)
    check(TCloseness(t), case, reached, reached <= naive.exact(t))


@SOME
@given(cases(), THRESHOLDS)
def test_t_ordered(case, t):
    reached = naive.ordered_distance(case.group, case.table, case.order)
    check(TCloseness(t, "ordered"), case, reached, reached <= naive.exact(t))


@SOME
@given(cases(), THRESHOLDS)
def test_t_hierarchical(case, t):
    reached = naive.hierarchical_distance(case.group, case.table, case.nodes)
    check(TCloseness(t, "hierarchical"), case, reached, reached <= naive.exact(t))


@SOME
@given(cases())
def test_distances_are_least_work_of_a_transport_problem(case):
    counts, whole = np.array([case.group]), case.whole
    for distance, ground in (
        ("equal", naive.equal_distances(whole.m)),
        ("ordered", naive.ordered_distances(case.order, case.table)),
        ("hierarchical", naive.hierarchical_distances(case.nodes)),
    ):
        least = naive.transport(case.group, case.table, ground)
        assert TCloseness(0.5, distance).achieved(counts, whole)[0] == pytest.approx(least, abs=1e-9)


@st.composite
def policies(draw):
    distance = draw(st.sampled_from(["equal", "ordered", "hierarchical"]))
    several = [
        KAnonymity(draw(st.integers(1, 12))),
        LDiversity(draw(st.integers(1, 4))),
        ProbabilisticLDiversity(draw(st.floats(1, 4))),
        EntropyLDiversity(draw(st.floats(1, 4))),
        RecursiveDiversity(draw(st.floats(0.1, 9)), draw(st.integers(1, 4))),
        TCloseness(draw(st.floats(0, 1)), distance),
        BetaLikeness(draw(st.floats(0.01, 9)), draw(st.booleans())),
        DeltaDisclosure(draw(st.floats(0.01, 9))),
        AlphaKAnonymity(draw(st.floats(0.05, 1)), draw(st.integers(1, 12))),
    ]
    return draw(st.lists(st.sampled_from(several), max_size=3))


@SOME
@given(cases(outsiders=False), policies())
def test_the_verifier_never_refuses_what_the_compiled_rules_admit(case, policy):
    counts, whole = np.array([case.group]), case.whole
    admitted = satisfied(compile_rules(policy, whole), counts[0], sum(case.group))
    if admitted:
        assert all(requirement.holds(counts, whole)[0] for requirement in policy)


@SOME
@given(cases(outsiders=False), st.data())
def test_what_a_group_reaches_is_admitted_as_its_own_bound(case, data):
    """A bound set to exactly what was reached is a tie: it holds unless the bound is strict."""
    counts, whole = np.array([case.group]), case.whole
    build = data.draw(
        st.sampled_from(
            [
                (ProbabilisticLDiversity, 2, True),
                (EntropyLDiversity, 2, True),
                (lambda t: TCloseness(min(1, t)), 0.5, True),
                (lambda t: TCloseness(min(1, t), "ordered"), 0.5, True),
                (lambda t: TCloseness(min(1, t), "hierarchical"), 0.5, True),
                (BetaLikeness, 1, True),
                (lambda alpha: AlphaKAnonymity(min(1, alpha), 1), 0.5, True),
                (lambda c: RecursiveDiversity(c, 2), 1, False),
                (DeltaDisclosure, 1, False),
            ]
        )
    )
    make, start, holds = build
    reached = float(make(start).achieved(counts, whole)[0])
    assume(math.isfinite(reached) and reached > 1e-6)
    requirement = make(max(reached, 1) if start == 2 else reached)
    assert bool(requirement.holds(counts, whole)[0]) is holds
    assert bool(satisfied(compile_rules([requirement], whole), counts[0], sum(case.group))) is holds
