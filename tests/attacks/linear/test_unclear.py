"""Whom the linear attack gave up on: counted, never fewer than are determined in truth, and shown with the result."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from attacks.histories import random_history
from republish.attacks import Adversary, AttackResult, Target, Unclear, run
from republish.attacks.excluding.candidates import sizes
from republish.attacks.linear import Budget, LinearFindings, linear

TIGHT = Budget(
    nodes=1, largest=1, support=0, patience=0, thorough=0, effort=0, chains=1, moves=1, sweeps=1, start=1
)
"""Counts and searches nothing, and looks at next to no worlds."""


def determined(findings: LinearFindings, known: np.ndarray) -> set[int]:
    """People with one candidate left in some published life."""
    unknowns = findings.unknowns
    published = np.diff(unknowns.place_start) > 0
    there = published & (sizes(findings.sets) == 1) & ~known[unknowns.person]
    return set(unknowns.person[there].tolist())


@pytest.mark.parametrize("truth", [True, False])
def test_whoever_is_determined_is_so_with_a_small_budget_or_undecided(truth: bool) -> None:
    left_undecided, overlooked = 0, 0
    for seed in range(60):
        history = random_history(seed, releases=2)
        known = np.zeros(history.people, dtype=np.bool_)
        if truth:
            known[:1] = True
        else:
            history = replace(history, truth=None)
        hasty, thorough = linear(history, known, budget=TIGHT), linear(history, known)
        unclear = Unclear.of(hasty, known)
        mine, all_ = determined(hasty, known), determined(thorough, known)
        assert mine <= all_
        assert len(all_) <= len(mine) + unclear.people
        assert unclear.people <= unclear.undecided
        left_undecided += unclear.people > 0
        overlooked += len(all_ - mine)
    assert left_undecided > 5
    assert overlooked > 5  # else nothing was asked


def test_of_whom_one_value_alone_was_seen_she_is_not_certain() -> None:
    """An undecided life has the share of worlds that were drawn, in which another value may be seldom."""
    found = 0
    for seed in range(20):
        history = random_history(seed, releases=2)
        findings = linear(
            history, np.zeros(history.people, dtype=np.bool_), budget=replace(TIGHT, start=10_000)
        )
        doubtful = findings.undecided & (findings.likeliest > 1 / sizes(findings.sets) + 1e-9)
        assert (findings.likeliest[doubtful] < 1).all()
        assert (findings.confidence[findings.undecided] < 1).all()
        found += int(doubtful.sum())
    assert found > 5


def test_a_result_carries_what_is_unclear(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(random_history(15, releases=2))
    enough = run(target, Adversary(), "linear")
    assert isinstance(enough, AttackResult)
    assert enough.unclear == Unclear(0, 0, 0, 0)
    monkeypatch.setattr("republish.attacks.linear.Budget", lambda: TIGHT)
    hasty = run(target, Adversary(), "linear")
    assert isinstance(hasty, AttackResult)
    assert hasty.unclear is not None and hasty.unclear.people > 0
    assert hasty.as_dict()["unclear"] == asdict(hasty.unclear)
    assert enough.summary.determined <= hasty.summary.determined + hasty.unclear.people


def test_attacks_without_a_budget_have_nothing_unclear() -> None:
    result = run(Target(random_history(1)), Adversary(), "tau")
    assert isinstance(result, AttackResult)
    assert result.unclear is None
    assert "unclear" not in result.as_dict()
