"""What all attacks share that weigh worlds by how groups came about: bucket after bucket, counted or drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial, inf, prod

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.attacks.history import History
from republish.attacks.retracing.shares import RetracedFindings, Shares, dealt, findings
from republish.attacks.retracing.traces import AlikeGroups, Trace, buckets, known_entries

UNSETTLED = 0.1
"""Probabilities about which walks differ by more have not settled."""
_ENOUGH = 50  # so many worlds that break nothing are enough to count no others
_STUCK = 2.0  # so many times as many broken as in another walk
_SELDOM = 0.3  # a value that was never drawn may be one that is seldom drawn


@dataclass(frozen=True)
class Effort:
    """How hard to try: buckets of at most so many `worlds` and `groups` are counted, others walked through.

    There are so many `walks`, each of so many `sweeps` over all groups and at least so many `moves` of one. What a
    world breaks costs `hot` in the first sweep, ever more in the next, and `cold` in the last fifth.
    """

    worlds: int = 2000
    groups: int = 8
    walks: int = 4
    sweeps: int = 400
    moves: int = 20_000
    hot: float = 0.7
    cold: float = 5.0

    def counts_all(self, fixed: BoolArray) -> bool:
        """Whether a bucket, in whose groups these values are known, is small enough."""
        free = (~fixed).sum(axis=1)
        return (prod(factorial(int(k)) for k in free) if len(free) <= self.groups else inf) <= self.worlds

    def costs(self, groups: int) -> FloatArray:
        """What is broken costs in every sweep."""
        sweeps = max(self.sweeps, self.moves // groups)
        warm = sweeps * 4 // 5
        return np.append(
            np.geomspace(self.hot, self.cold, warm, endpoint=False), np.full(sweeps - warm, self.cold)
        )


@dataclass(frozen=True)
class Bucketful:
    """A bucket to be weighed: its groups, the release it is of, whose value is known, and the world as it is."""

    groups: AlikeGroups
    trace: Trace
    fixed: BoolArray
    world: Int64Array

    @property
    def real(self) -> BoolArray:
        return self.groups.entry.ravel() >= 0


Odds = tuple[FloatArray, BoolArray, BoolArray]
"""What every value weighs for every person of a bucket, whether it is possible, and who has not settled."""
Weigh = Callable[[Bucketful, np.random.Generator], Odds | None]


def weighed(
    history: History, traces: Sequence[Trace], known: BoolArray, rule: str, key: str, weigh: Weigh
) -> RetracedFindings:
    """What releases by this rule give away, each looked at alone; other releases give shares alone.

    Where `weigh` can say nothing of a bucket its people have not settled. What it says is kept under the `key`.
    """
    parts = []
    for number, trace in enumerate(traces):
        kept = key.encode() + known.tobytes()
        if kept not in trace.found:
            trace.found[kept] = _release(history, number, trace, known, rule, weigh)
        parts.append(trace.found[kept])
    return findings(history, parts)


def _release(
    history: History, number: int, trace: Trace, known: BoolArray, rule: str, weigh: Weigh
) -> Shares:
    """The shares of one release."""
    shares = dealt(history, number, known)
    if trace.forming is None or trace.forming.rule != rule:
        return shares
    first = history.member_start[history.group_start[number]]
    rng = np.random.default_rng(number)
    for groups in buckets(history, number, trace):
        fixed = known_entries(history, groups, known)
        if not groups.single or fixed.all() or len(groups.entry) < 2:
            continue
        who = groups.entry[groups.entry >= 0] - first
        odds = weigh(Bucketful(groups, trace, fixed, true_world(history, groups)), rng)
        if odds is None or not odds[0].any():
            shares.unsettled[who] = True
        else:
            shares.put(who, *odds)
    return shares


def counted(weight: FloatArray) -> Odds:
    """Odds of worlds that were counted, all of them."""
    return weight, weight > 0, np.zeros(len(weight), dtype=np.bool_)


def drawn(walks: Int64Array, broken: Sequence[float]) -> Odds:
    """Odds of worlds that were drawn: `[walk, all or those that break nothing, person, value]`.

    Where every walk met enough that break nothing no others count; else all do, those that break little the most. A
    walk that got stuck, where worlds break far more than in another one, does not count, but for what has settled.
    """
    whole = walks[:, 1, 0].sum(axis=1).min() >= _ENOUGH
    counts = walks[:, int(whole)]
    likely = counts / counts.sum(axis=2, keepdims=True)
    drift = np.abs(likely[::2].mean(axis=0) - likely[1::2].mean(axis=0))
    through = np.array(broken) <= _STUCK * (min(broken) + 1.0)
    weight = counts[through].sum(axis=0) + _SELDOM
    return weight, np.ones_like(weight, dtype=np.bool_), drift.max(axis=1) > UNSETTLED


def true_world(history: History, bucket: AlikeGroups) -> Int64Array:
    """The entry of each value in every group as it is; rows of nobody have the values that are left."""
    n, w = bucket.entry.shape
    assert history.truth is not None
    world = np.full((n, w), -1, dtype=np.int64)
    group, i = np.nonzero(bucket.entry >= 0)
    value = np.searchsorted(bucket.code, history.truth[bucket.entry[group, i]])
    world[group, value] = group * w + i
    nobodys = np.flatnonzero(bucket.entry.ravel() < 0)  # as many in each group as are missing there
    world[world < 0] = nobodys
    return world
