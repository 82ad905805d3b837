"""The gathering attack: groups that grow by the nearest row say which worlds they cannot have grown in.

A publisher that lets groups grow one after the other, each by the nearest row of the next value that is left
(tau-safety as published), makes other groups in most other worlds. She asks of every world, a way to hand out the
values of each group to its members, in which share of the orders of groups it leads to the groups that are published:
see `precedence`. Where a bucket has few worlds they are counted; else they are drawn, by several walks that start
anywhere and grow colder, and what the walks disagree on is said to be unsettled.

What is granted: who is in which group, quasi-identifiers, and, where worlds are drawn, in which value a bucket has no
rows of nobody. Each release is looked at alone, and newcomers' way into a bucket is not. Where people are dealt by
chance that does not look at values, heights of buckets say what there is to know beside a group's shares: see
`full_values`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.attacks.history import History
from republish.attacks.retracing.gathering_walk import scatter, walk
from republish.attacks.retracing.places import crowd_of
from republish.attacks.retracing.precedence import Crowd, count_worlds
from republish.attacks.retracing.shares import RetracedFindings
from republish.attacks.retracing.traces import Trace
from republish.attacks.retracing.weighing import Bucketful, Effort, Odds, Walk, counted, drawn, weighed
from republish.publishers.contract import GATHERED


def gathering(
    history: History, traces: Sequence[Trace], known: BoolArray, effort: Effort | None = None
) -> RetracedFindings:
    """What the order in which groups were gathered gives away to whoever knows the values of `known` people."""
    effort = effort or Effort()
    return weighed(history, traces, known, GATHERED, f"gathering {effort}", partial(_weigh, effort))


def _weigh(effort: Effort, bucket: Bucketful, rng: np.random.Generator) -> Odds | None:
    """How likely each value is for everybody in a bucket; `None` where it was cut before it was gathered."""
    n, w = bucket.world.shape
    forming = bucket.trace.forming
    if forming is None or n > forming.most:
        return None
    crowd = crowd_of(bucket.trace.view, bucket.groups.row.ravel(), bucket.fixed.ravel())
    if effort.counts_all(bucket.fixed):
        return counted(_counted(crowd, bucket.world)[crowd.real])
    full = next((p for p in range(w) if crowd.real[bucket.world[:, p]].all()), 0)
    turn = _turn(full, w)
    world, back = bucket.world[:, turn], np.argsort(turn)

    def begin(seed: int) -> Walk:
        mine, order = world.copy(), np.random.default_rng(seed).permutation(n)
        scatter(crowd, mine, seed)
        return lambda costs, seed, counts: walk(crowd, mine, order, costs, seed, counts)

    weight, possible, unsettled = drawn(begin, bucket, effort, rng)
    return weight[:, back], possible, unsettled


def _counted(crowd: Crowd, world: Int64Array) -> FloatArray:
    """What every value weighs for every entry; groups begin with the first value that has no rows of nobody."""
    n, w = world.shape
    weight = np.zeros((n * w, w))
    for full in range(w if not crowd.real.all() else 1):
        turn = _turn(full, w)
        weight += count_worlds(crowd, world[:, turn], full)[:, np.argsort(turn)]
    return weight


def _turn(full: int, values: int) -> Int64Array:
    """The order in which groups take values that begin with one of them."""
    return np.append(full, np.delete(np.arange(values), full))
