"""Cor-Split's own estimate, measured over several series: Theorem 2 says how many are determined, up to chance.

Theorem 2 multiplies probabilities as if exclusions were independent, and who is determined is determined together
with others. So it is the mean over series and draws that it speaks of: a single draw may be several times above it. The
test asks that the mean does not exceed it by more than three standard errors, those of the means of whole series, and
that m-invariance, which does not keep correlations apart, is told from it by the same measure.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from republish import Adversary, CorSplit, MInvariance, Series, breach_probability, read_schema
from republish.arrays import FloatArray
from republish.attacks import history_of
from republish.attacks.excluding.historical import historical_once
from republish.attacks.results import AttackResult
from republish.datasets import census
from republish.publishers import Publisher

P, M, N, RELEASES, DRAWS = 0.04, 6, 3, 8, 20


def test_the_measured_breach_rate_is_what_the_theorem_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Persistent values, a tenth of the people new in each release, twenty draws of the compromised people a series."""
    shares = {}
    for publisher, count in ((CorSplit(m=M, n=N), 5), (MInvariance(m=M), 2)):
        folders = [tmp_path / publisher.name / str(number) for number in range(count)]
        for number, folder in enumerate(folders):
            monkeypatch.setenv("REPUBLISH_SECRET", f"secret {number} of the measured series")
            shares.setdefault(publisher.name, []).append(breaches(folder, publisher, number))
    said = float(breach_probability(P, RELEASES, M, N).probability)
    measured = np.array(shares["cor-split"])
    error = float(measured.std(ddof=1) / np.sqrt(len(measured)))
    assert error < 0.5 * said  # else this would be no measurement
    assert 0 < measured.mean() < said + 3 * error
    assert np.mean(shares["m-invariance"]) > said + 3 * error


def breaches(folder: Path, publisher: Publisher, number: int) -> float:
    """The share of people who are determined in one series, on average over draws of the compromised."""
    data = census(
        people=12_000, rows=1_200, views=RELEASES, insert=0.1, delete=0.1, update=0, reinsert=0, seed=number
    )
    data.write(folder / "data")
    series = Series.create(folder / "s", read_schema(folder / "data/schema.toml"), publisher, seed=1)
    for view in sorted((folder / "data/views").iterdir()):
        series.publish(view)
    history = history_of(series)
    shares: FloatArray = np.empty(DRAWS)
    for draw in range(DRAWS):
        known = Adversary(compromised=P, seed=1000 * number + draw).known(history)
        found = AttackResult.of("once", historical_once(history, known), M, known).overall
        shares[draw] = found.determined / found.people
    return float(shares.mean())
