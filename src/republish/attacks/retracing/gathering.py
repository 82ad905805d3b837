"""The gathering attack: groups that grow by the nearest row say which worlds they cannot have grown in.

A publisher that lets groups grow one after the other, each by the nearest row of the next value that is left
(tau-safety as published), makes other groups in most other worlds. She asks of every world, a way to hand out the
values of each group to its members, in which share of the orders of groups it leads to the groups that are published:
see `precedence`. Where a bucket has few worlds they are counted; else they are drawn, by several walks that start
anywhere and grow colder, and what the walks disagree on is said to be unsettled.

What is granted: who is in which group, quasi-identifiers, and in which value a bucket has no rows of nobody. Each
release is looked at alone, and newcomers' way into a bucket is not. Where people are dealt by chance that does not look
at values all worlds are alike, and a group's shares are all there is to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, inf, prod

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.attacks.history import History
from republish.attacks.retracing.gathering_walk import walk
from republish.attacks.retracing.places import crowd_of
from republish.attacks.retracing.precedence import count_worlds
from republish.attacks.retracing.shares import RetracedFindings, Shares, dealt, findings
from republish.attacks.retracing.traces import AlikeGroups, Trace, buckets, known_entries
from republish.publishers.contract import GATHERED

_HOT, _COLD = 0.5, 4.0
_ENOUGH = 50  # so many worlds that break no precedence are enough to count no others
_SELDOM = 0.3  # a value that was never drawn may be one that is seldom drawn
UNSETTLED = 0.1
"""Probabilities about which walks differ by more have not settled."""


@dataclass(frozen=True)
class Effort:
    """How hard to try: buckets of at most so many `worlds` and `groups` are counted, others walked through.

    There are so many `walks`, each of so many `sweeps` over all groups and at least so many `moves` of one.
    """

    worlds: int = 2000
    groups: int = 8
    walks: int = 4
    sweeps: int = 250
    moves: int = 20_000

    def costs(self, groups: int) -> FloatArray:
        """What a broken precedence costs in every sweep: ever more, and the same in the last fifth."""
        sweeps = max(self.sweeps, self.moves // groups)
        warm = sweeps * 4 // 5
        return np.append(np.geomspace(_HOT, _COLD, warm, endpoint=False), np.full(sweeps - warm, _COLD))


def gathering(
    history: History,
    traces: Sequence[Trace],
    known: BoolArray,
    effort: Effort | None = None,
    seed: int = 0,
) -> RetracedFindings:
    """What the order in which groups were gathered gives away to whoever knows the values of `known` people."""
    effort = effort or Effort()
    parts = []
    for number, trace in enumerate(traces):
        key = b"gathering" + known.tobytes() + repr((effort, seed)).encode()
        if key not in trace.found:
            trace.found[key] = _release(history, number, trace, known, effort, seed)
        parts.append(trace.found[key])
    return findings(history, parts)


def _release(
    history: History, number: int, trace: Trace, known: BoolArray, effort: Effort, seed: int
) -> Shares:
    """The shares of one release."""
    shares = dealt(history, number, known)
    if trace.forming is None or trace.forming.rule != GATHERED:
        return shares
    first = history.member_start[history.group_start[number]]
    rng = np.random.default_rng([seed, number])
    for bucket in buckets(history, number, trace):
        fixed = known_entries(history, bucket, known)
        if not bucket.single or fixed.all() or len(bucket.entry) < 2:
            continue
        who = bucket.entry[bucket.entry >= 0] - first
        if len(bucket.entry) > trace.forming.most:  # cut before it was gathered, nobody says where
            shares.unsettled[who] = True
            continue
        weight, possible, unsettled = _weighed(history, bucket, trace, fixed, effort, rng)
        if weight.any():
            shares.put(who, weight, possible, unsettled)
        else:  # no world leads to these groups: they were gathered in parts
            shares.unsettled[who] = True
    return shares


def _weighed(
    history: History,
    bucket: AlikeGroups,
    trace: Trace,
    fixed: BoolArray,
    effort: Effort,
    rng: np.random.Generator,
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """How likely each value is for everybody in a bucket, which values are possible, and who has not settled."""
    n, w = bucket.entry.shape
    crowd = crowd_of(trace.view, bucket.row.ravel(), fixed.ravel())
    true = _true_world(history, bucket)
    full = next((p for p in range(w) if crowd.real[true[:, p]].all()), 0)
    turn = np.append(full, np.delete(np.arange(w), full))  # the order in which groups take values
    real, back = crowd.real, np.argsort(turn)
    worlds = prod(factorial(int(free)) for free in (~fixed).sum(axis=1)) if n <= effort.groups else inf
    if worlds <= effort.worlds:
        weight = count_worlds(crowd, true[:, turn].copy())[real][:, back]
        return weight, weight > 0, np.zeros(len(weight), dtype=np.bool_)
    walked = np.zeros((effort.walks, 2, n * w, w), dtype=np.int64)
    costs = effort.costs(n)
    for counts in walked:
        walk(crowd, true[:, turn].copy(), rng.permutation(n), costs, int(rng.integers(2**31)), counts)
    whole = (
        walked[:, 1, 0].sum(axis=1).min() >= _ENOUGH
    )  # else all worlds count, those that break little the most
    drawn = walked[:, int(whole)][:, real][:, :, back]
    likely = drawn / drawn.sum(axis=2, keepdims=True)
    drift = np.abs(likely[::2].mean(axis=0) - likely[1::2].mean(axis=0))
    weight = drawn.sum(axis=0) + _SELDOM
    return weight, np.ones_like(weight, dtype=np.bool_), drift.max(axis=1) > UNSETTLED


def _true_world(history: History, bucket: AlikeGroups) -> Int64Array:
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
