"""Slow, obvious twins: every bijection of people and published rows, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from math import prod

import numpy as np

from republish.arrays import FloatArray

Weight = Callable[[FloatArray, Sequence[int]], float]


def with_unknown(prior: FloatArray, values: Sequence[int]) -> FloatArray:
    """The prior with one row of equal probabilities for every value that outnumbers the members."""
    unknown = len(values) - len(prior)
    return np.vstack([prior, np.full((unknown, prior.shape[1]), 1 / prior.shape[1])])


def bijections(values: Sequence[int]) -> list[tuple[int, ...]]:
    """The value of each person, in each of the k! bijections of people and rows."""
    return list(permutations(values))


def weighted(prior: FloatArray, values: Sequence[int], weight: Weight) -> FloatArray | None:
    """The posterior of the members by the given weight of a bijection, None where all weigh nothing."""
    everyone = with_unknown(prior, values)
    p = np.zeros(everyone.shape)
    total = 0.0
    for bijection in bijections(values):
        w = weight(everyone, bijection)
        total += w
        for person, value in enumerate(bijection):
            p[person, value] += w
    return p[: len(prior)] / total if total else None


def additive(prior: FloatArray, bijection: Sequence[int]) -> float:
    return sum(prior[i, s] for i, s in enumerate(bijection))


def product(prior: FloatArray, bijection: Sequence[int]) -> float:
    return prod(prior[i, s] for i, s in enumerate(bijection))


def best_total(prior: FloatArray, values: Sequence[int]) -> float:
    """The largest total prior of a bijection."""
    everyone = with_unknown(prior, values)
    return max(additive(everyone, bijection) for bijection in bijections(values))


def best(prior: FloatArray, values: Sequence[int]) -> tuple[int, ...]:
    """The bijection of largest total prior; of several, that in which early members like their values most."""
    everyone = with_unknown(prior, values)
    all_ = bijections(values)
    most = best_total(prior, values)
    ties = [b for b in all_ if additive(everyone, b) > most - 1e-12]
    return min(ties, key=lambda b: [(-prior[i, b[i]], b[i]) for i in range(len(prior))])


def dirichlet(known: FloatArray, values: Sequence[int], seen: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Parameters a and expectations E(theta) of all bijections; `seen` is observed once, as one bijection."""
    all_ = bijections(values)
    a = np.array([1.0 + sum(known[i, s] for i, s in enumerate(b) if i < len(known)) for b in all_])
    x = np.zeros(len(all_))
    x[all_.index(tuple(seen))] = 1.0
    return a, (a + x) / (a.sum() + 1.0)


def bayes(prior: FloatArray, values: Sequence[int], known: FloatArray | None = None) -> FloatArray:
    """BayFrame's posterior by enumeration."""
    known = np.zeros(prior.shape) if known is None else known
    seen = best(prior, values)
    _, theta = dirichlet(known, values, seen)
    p = np.zeros(prior.shape)
    for bijection, e in zip(bijections(values), theta, strict=True):
        for i in range(len(prior)):
            p[i, bijection[i]] += e
    return p / theta.sum()


def omega(prior: FloatArray, values: Sequence[int]) -> FloatArray:
    """The Omega-estimate, entry by entry; every value and every member must be possible."""
    everyone = with_unknown(prior, values)
    p = np.zeros(prior.shape)
    for i in range(len(prior)):
        for s in set(values):
            p[i, s] = values.count(s) * prior[i, s] / sum(row[s] for row in everyone)
        p[i] /= p[i].sum()
    return p


def sinkhorn(prior: FloatArray, values: Sequence[int], rounds: int = 4000) -> FloatArray:
    """Columns and rows scaled in turn, very often."""
    everyone = with_unknown(prior, values)
    codes = sorted(set(values))
    a = everyone[:, codes]
    counts = np.array([values.count(s) for s in codes])
    for _ in range(rounds):
        a = a * (counts / a.sum(axis=0))
        a = a / a.sum(axis=1, keepdims=True)
    p = np.zeros(prior.shape)
    p[:, codes] = a[: len(prior)]
    return p


def beyond_prior(
    prior: FloatArray, entries: dict[tuple[int, int], float], values: Sequence[int]
) -> FloatArray:
    """The confidences above the prior, those below it turned over to the values of the group without an entry."""
    known = np.zeros(prior.shape)
    for i in range(len(prior)):
        mine = {s: p for (row, s), p in entries.items() if row == i and s in values}
        rest = [s for s in sorted(set(values)) if s not in mine]
        if any(p < prior[i, s] for s, p in mine.items()) and rest:
            mass = sum(prior[i, s] for s in rest)
            left = 1 - sum(mine.values())
            mine |= {s: left * (prior[i, s] / mass if mass else 1 / len(rest)) for s in rest}
        for s, p in mine.items():
            if p > prior[i, s]:
                known[i, s] = p
    return known
