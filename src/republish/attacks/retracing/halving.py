"""The halving attack: cuts that send of every value the lower half one way say who has not which value.

m-invariance cuts buckets in two again and again, each time along one quasi-identifier and of *every value* at a
threshold of its own. Whoever went left of a cut and stands above the threshold of a value does not have it. She asks of
every world, a way to hand out the values of each group to its members, whether thresholds exist that cut it so: see
`cut_walk`. Where a bucket has few worlds they are counted; else they are drawn, as `gathering` draws them.

What is granted: who is in which group, quasi-identifiers, and the tree of cuts, which groups went which way along which
quasi-identifier; she would have to guess it from the groups. Each release is looked at alone. Where people are dealt by
chance that does not look at values, heights of buckets say what there is to know: see `full_values`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from republish.arrays import BoolArray
from republish.attacks.history import History
from republish.attacks.retracing.cut_tree import Cut, Ground, cuts_of, ground_of
from republish.attacks.retracing.cut_walk import BucketCuts, count_cut_worlds, cut_walk, scatter_cut
from republish.attacks.retracing.shares import RetracedFindings
from republish.attacks.retracing.traces import Trace
from republish.attacks.retracing.weighing import Bucketful, Effort, Odds, Walk, counted, drawn, weighed
from republish.publishers.contract import HALVED

_ROUNDS = 100  # a sweep costs little, and exchanges change one pair of a group at a time


def halving(
    history: History, traces: Sequence[Trace], known: BoolArray, effort: Effort | None = None
) -> RetracedFindings:
    """What the cuts of buckets give away to whoever knows the values of `known` people."""
    effort = effort or Effort(rounds=_ROUNDS)
    return weighed(history, traces, known, HALVED, f"halving {effort}", partial(_weigh, effort))


def _weigh(effort: Effort, bucket: Bucketful, rng: np.random.Generator) -> Odds | None:
    """How likely each value is for everybody in a bucket; `None` where it was not cut so."""
    w = bucket.world.shape[1]
    row = bucket.groups.row.ravel()
    ground = ground_of(bucket.trace.view, row)
    cuts = cuts_of(ground, row, bucket.world)
    if any(not _whole(cut, w) for cut in cuts):
        return None
    tree = tree_of(ground, cuts, bucket)
    if effort.counts_all(bucket.fixed):
        return counted(count_cut_worlds(tree, bucket.world.copy())[bucket.real])

    def begin(seed: int) -> Walk:
        world = bucket.world.copy()
        scatter_cut(tree, world, seed)
        return lambda costs, seed, counts: cut_walk(tree, world, costs, seed, counts)

    return drawn(begin, bucket, effort, rng)


def _whole(cut: Cut, w: int) -> bool:
    """Whether no group was cut in two."""
    return not np.intersect1d(cut.left // w, cut.right // w).size


def tree_of(ground: Ground, cuts: Sequence[Cut], bucket: Bucketful) -> BucketCuts:
    """All cuts of a bucket as kernels read them."""
    n, w = bucket.world.shape
    parts = [
        (np.append(c.left, c.right), np.repeat([False, True], [len(c.left), len(c.right)])) for c in cuts
    ]
    along = [ground.x[cut.axis, entries] for cut, (entries, _) in zip(cuts, parts, strict=True)]
    order = [np.argsort(x, kind="stable") for x in along]
    path = np.full((n, len(cuts) + 1), -1, dtype=np.int64)
    depth = np.zeros(n, dtype=np.int64)
    for number, (entries, _) in enumerate(parts):
        groups = np.unique(entries // w)
        path[groups, depth[groups]] = number
        depth[groups] += 1
    return BucketCuts(
        np.append(0, np.cumsum([len(x) for x in along])).astype(np.int64),
        np.concatenate([entries[o] for (entries, _), o in zip(parts, order, strict=True)]),
        np.concatenate([x[o] for x, o in zip(along, order, strict=True)]),
        np.concatenate([right[o] for (_, right), o in zip(parts, order, strict=True)]),
        np.array([cut.lower for cut in cuts], dtype=np.int64),
        np.array([cut.levels for cut in cuts], dtype=np.int64),
        np.ascontiguousarray(path[:, : int(depth.max()) + 1]),
        bucket.real,
        bucket.fixed.ravel(),
    )
