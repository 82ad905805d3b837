"""How many values a cell `*` is taken to lack: at least one of its group is missing, and at least one is there.

A release does not say how many. It says of every group whether none, some or all of its people lack a value. People of
a group are alike, so the chance of a missing value is not the same in all groups: it is taken to follow a beta
distribution, the one under which groups of these sizes are likeliest to be as they are published. The share expected of
a group is then that of a beta-binomial number of missing values, given that it is neither none nor all.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.release.cells import ALL_MISSING, NONE_MISSING, SOME_MISSING

_STEEPEST = 10.0  # the logarithm of a parameter, at most
_PULL = 1e-3  # towards even odds, where the groups leave them open
_STARTS = (-9.0, -6.0, -3.0, 0.0, 3.0, 6.0, 9.0)
_LEAST = np.finfo(np.float64).tiny


class GroupSizes(NamedTuple):
    """Sizes of groups and how many there are of each."""

    size: tuple[float, ...]
    times: tuple[int, ...]

    @classmethod
    def of(cls, sizes: IntArray) -> GroupSizes:
        size, times = np.unique(sizes, return_counts=True)
        return cls(tuple(size.astype(np.float64).tolist()), tuple(times.tolist()))


def missing_shares(states: IntArray, people: IntArray) -> FloatArray:
    """Of every cell `*`, the share of the group's people that is expected to lack the value; else 0.

    Args:
        states: of every axis and group, whether none, some or all values are missing.
        people: how many there are in every group.
    """
    shares = np.zeros(states.shape)
    for axis, state in enumerate(states):
        shares[axis, state == SOME_MISSING] = 0.5  # of groups of nobody, which say nothing
        mixed = (state == SOME_MISSING) & (people > 1)
        if mixed.any():
            none, every = (people[(state == kind) & (people > 0)] for kind in (NONE_MISSING, ALL_MISSING))
            found = likeliest(GroupSizes.of(none), GroupSizes.of(people[mixed]), GroupSizes.of(every))
            shares[axis, mixed] = share_of_some(*found, people[mixed].astype(np.float64))
    return shares


@lru_cache(maxsize=256)  # a release is asked more than once
def likeliest(none: GroupSizes, some: GroupSizes, every: GroupSizes) -> tuple[float, float]:
    """The beta distribution under which groups are likeliest to lack none, some and every one of their values."""
    from scipy.optimize import minimize

    sizes = [np.array(part.size) for part in (none, some, every)]

    def surprise(logarithms: FloatArray) -> float:
        a, b = np.exp(logarithms)
        total = np.dot(none.times, _chance_of_all(b, a, sizes[0]))
        total += np.dot(some.times, np.log(_chance_of_some(a, b, sizes[1])))
        total += np.dot(every.times, _chance_of_all(a, b, sizes[2]))
        return float(_PULL * np.dot(logarithms, logarithms) - total)

    start = min((np.array(pair) for pair in product(_STARTS, _STARTS)), key=surprise)
    found = minimize(surprise, start, method="L-BFGS-B", bounds=[(-_STEEPEST, _STEEPEST)] * 2)
    a, b = np.exp(found.x)
    return float(a), float(b)


def share_of_some(a: float, b: float, sizes: FloatArray) -> FloatArray:
    """The expected share of missing values in groups that lack some and not all."""
    left = a / (a + b) - np.exp(_chance_of_all(a, b, sizes))
    return np.clip(left / _chance_of_some(a, b, sizes), 1.0 / sizes, 1.0 - 1.0 / sizes)


def _chance_of_all(a: float, b: float, sizes: FloatArray) -> FloatArray:
    """The logarithm of the chance that all of a group lack the value; with a and b exchanged, that none does."""
    from scipy.special import betaln

    return np.asarray(betaln(a + sizes, b) - betaln(a, b), dtype=np.float64)


def _chance_of_some(a: float, b: float, sizes: FloatArray) -> FloatArray:
    """The chance that some of a group lack the value and some have it."""
    one_way = np.logaddexp(_chance_of_all(a, b, sizes), _chance_of_all(b, a, sizes))
    return np.maximum(-np.expm1(one_way), _LEAST).astype(np.float64, copy=False)
