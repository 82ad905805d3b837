"""A table of kinds of people by kinds of values, from batches that say only the margins of both.

The even spread takes values to be independent of people inside every batch, so that what the batches do not show is
taken not to be there. The likeliest table is found by expectation and maximisation: the people of every batch are put
into its values as the table has it, to the margins of both, and the table is what comes of it. Left to itself it fits
the chance of small batches and finds far more association than there is. Two guards keep it: a Dirichlet prior draws
every row towards the values of all people, and how strongly is chosen on batches that are held out. With an infinite
strength the answer is that of the even spread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray
from republish.kernels import kernel

STRENGTHS = (np.inf, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Weights of the prior, in people for every one of the row; the first is the even spread."""
_ROUNDS = 1000
_FITTING = 4
_FOLDS = 4
_LEAST = 1e-12


class Fitted(NamedTuple):
    """People of every kind by kind of value, and the strength of the prior."""

    table: FloatArray
    strength: float


def fit(people: FloatArray, values: FloatArray, strength: float | None = None) -> Fitted:
    """The table of `people[batch, kind]` by `values[batch, kind]`, whose rows have the same sums.

    `strength` is chosen on batches held out where it is not given.
    """
    chosen = _chosen_strength(people, values) if strength is None else strength
    return Fitted(_maximise(people, values, chosen)[0], chosen)


def _maximise(people: FloatArray, values: FloatArray, strength: float) -> tuple[FloatArray, FloatArray]:
    """The table, and the shares of values in every row."""
    overall = values.sum(axis=0) / max(values.sum(), _LEAST)
    shares = np.tile(overall, (people.shape[1], 1))
    people, values = np.ascontiguousarray(people), np.ascontiguousarray(values)
    table = _expected(people, values, shares)
    if np.isinf(strength):
        return table, shares
    row = np.maximum(table.sum(axis=1, keepdims=True), _LEAST)
    for _ in range(_ROUNDS):
        before = shares
        shares = (table + strength * row * overall) / (row * (1 + strength))
        table = _expected(people, values, np.ascontiguousarray(shares))
        if np.abs(shares - before).max() < 1e-6:
            break
    return table, shares


def _chosen_strength(people: FloatArray, values: FloatArray) -> float:
    """The strongest of the priors that explain held-out batches best."""
    batches = len(people)
    if batches < 2 * _FOLDS:
        return float(STRENGTHS[0])
    fold = np.random.default_rng(0).permutation(batches) % _FOLDS
    gains = np.zeros(len(STRENGTHS))
    for held in range(_FOLDS):
        out = fold == held
        for s, strength in enumerate(STRENGTHS):
            _, shares = _maximise(people[~out], values[~out], strength)
            gains[s] += _explained(people[out], values[out], shares)
    return float(STRENGTHS[int(gains.argmax())])


def _explained(people: FloatArray, values: FloatArray, shares: FloatArray) -> float:
    """The log-likelihood of the values of batches, given their people."""
    expected = people @ shares
    total = np.maximum(expected.sum(axis=1, keepdims=True), _LEAST)
    return float((values * np.log(np.maximum(expected / total, _LEAST))).sum())


@kernel
def _expected(people, values, shares):  # type: ignore[no-untyped-def]
    """The expected table: of every batch the shares of the rows, fitted to its people and values, added up."""
    batches, rows, kinds = people.shape[0], people.shape[1], values.shape[1]
    table = np.zeros((rows, kinds))
    own, across = np.empty(rows), np.empty(kinds)
    for b in range(batches):
        across[:] = 1.0
        for _ in range(_FITTING):
            for x in range(rows):
                total = 0.0
                if people[b, x] > 0.0:
                    for v in range(kinds):
                        total += shares[x, v] * across[v]
                own[x] = people[b, x] / total if total > 0.0 else 0.0
            for v in range(kinds):
                total = 0.0
                if values[b, v] > 0.0:
                    for x in range(rows):
                        total += own[x] * shares[x, v]
                across[v] = values[b, v] / total if total > 0.0 else 0.0
        for x in range(rows):
            if own[x] > 0.0:
                for v in range(kinds):
                    table[x, v] += own[x] * shares[x, v] * across[v]
    return table
