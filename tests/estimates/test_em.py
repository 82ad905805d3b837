"""The likeliest table from batches: against a slow twin, and kept from finding what is not there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates.generated import at_random, in_two, workers
from republish.estimates import crosstab
from republish.estimates.em import _FITTING, _expected, fit

COUNTS = st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=4)


def naive_expected(people: np.ndarray, values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    total = np.zeros((people.shape[1], values.shape[1]))
    for own, counted in zip(people, values, strict=True):
        across = np.ones(len(counted))
        for _ in range(_FITTING):
            sums = shares @ across
            rows = np.array([n / s if n > 0 and s > 0 else 0.0 for n, s in zip(own, sums, strict=True)])
            sums = rows @ shares
            across = np.array([n / s if n > 0 and s > 0 else 0.0 for n, s in zip(counted, sums, strict=True)])
        total += rows[:, None] * shares * across
    return total


@settings(max_examples=40)
@given(COUNTS, st.integers(0, 1000))
def test_the_expected_table_is_that_of_a_slow_twin(given_people, seed) -> None:
    rng = np.random.default_rng(seed)
    people = np.array(given_people, dtype=np.float64)
    values = np.array(
        [rng.multinomial(int(n), [0.5, 0.3, 0.2]) for n in people.sum(axis=1)], dtype=np.float64
    )
    shares = rng.dirichlet([1.0, 1.0, 1.0], 3)
    assert _expected(people, values, shares) == pytest.approx(naive_expected(people, values, shares))


def test_an_infinite_prior_is_the_even_spread() -> None:
    people, values = np.array([[2.0, 2.0], [0.0, 4.0]]), np.array([[3.0, 1.0], [0.0, 4.0]])
    assert fit(people, values, np.inf).table == pytest.approx(np.array([[1.5, 0.5], [1.5, 4.5]]))


def test_batches_of_one_kind_say_the_table_itself() -> None:
    people = np.repeat([[6.0, 0.0], [0.0, 6.0]], 20, axis=0)
    values = np.repeat([[5.0, 1.0], [1.0, 5.0]], 20, axis=0)
    found = fit(people, values)
    assert found.table == pytest.approx(np.array([[100.0, 20.0], [20.0, 100.0]]))


def association(table: np.ndarray) -> float:
    even = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(np.sqrt(((table - even) ** 2 / even).sum() / table.sum() / (min(table.shape) - 1)))


def test_the_guard_keeps_association_near_the_truth() -> None:
    # Five kinds of people, ten values, forty batches of 150 that differ little: most of what they show is chance.
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([3.0] * 10) * np.exp(0.25 * rng.normal(size=(5, 10)))
    shares /= shares.sum(axis=1, keepdims=True)
    batch, mix = np.arange(6000) // 150, rng.dirichlet([10.0] * 5, 40)
    kind = np.array([rng.choice(5, p=mix[b]) for b in batch])
    value = np.array([rng.choice(10, p=shares[k]) for k in kind])
    people, values, table = np.zeros((40, 5)), np.zeros((40, 10)), np.zeros((5, 10))
    np.add.at(people, (batch, kind), 1)
    np.add.at(values, (batch, value), 1)
    np.add.at(table, (kind, value), 1)
    true = association(table)
    assert true == pytest.approx(0.10, abs=0.02)
    assert association(fit(people, values, 1e-9).table) > 2 * true
    assert abs(association(fit(people, values).table) - true) < 0.06


def test_the_likeliest_table_is_nearer_to_the_truth_than_the_even_spread() -> None:
    view = workers(3000, seed=3, slope=0.15)
    release = in_two(view, at_random(view, 12, seed=4))
    edges, young = [32, 42, 52], view.points[0] < 32
    low = np.array([float(text) for text in view.values.to_list()])[view.codes] < 4
    true = np.count_nonzero(young & low)
    spread, likeliest = (
        crosstab(release, "age", edges, values=["04"], method=method).expected[0, 0]
        for method in ("spread", "em")
    )
    assert abs(likeliest - true) < abs(spread - true)
