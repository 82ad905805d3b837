"""Cor-Split's own promise, measured: the breach rate of the attacks it defends against stays within its bound."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from republish import Adversary, CorSplit, Series, breach_probability, read_schema
from republish.attacks import history_of
from republish.attacks.historical import historical_once
from republish.attacks.results import AttackResult
from republish.datasets import census

P, M, N, RELEASES = 0.04, 6, 3, 8


def test_the_measured_breach_rate_stays_within_the_bound(tmp_path: Path) -> None:
    """Persistent values, a tenth of the people new in each release, twelve draws of the compromised people."""
    data = census(people=12_000, rows=2_400, views=RELEASES, insert=0.1, delete=0.1, update=0, reinsert=0)
    data.write(tmp_path / "data")
    series = Series.create(tmp_path / "s", read_schema(tmp_path / "data/schema.toml"), CorSplit(m=M, n=N), seed=1)
    for view in sorted((tmp_path / "data/views").iterdir()):
        series.publish(view)
    history = history_of(series)
    shares = []
    for seed in range(12):
        known = Adversary(compromised=P, seed=seed).known(history)
        found = AttackResult.of("once", historical_once(history, known), M, known).overall
        shares.append(found.determined / found.people)
    assert 0 < np.mean(shares) <= breach_probability(P, RELEASES, M, N).probability
