"""Which worlds the cuts of a bucket allow, and walks through them.

`world[g, p]` is the entry of group g that has the p-th value. A cut sends of every value the lower rows one way: there
is a threshold, at or below which all rows of the value on the left are, and at or above which all on the right. What is
on the wrong side of the best threshold is *misplaced*. A world is possible if nobody is, and if as many people of each
value are on the left as the publisher would have sent there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.attacks.retracing.precedence import turn_over
from republish.kernels import kernel


class BucketCuts(NamedTuple):
    """All cuts of a bucket; cut c has the entries `entry[start[c] : start[c + 1]]`, the lowest first.

    `x` is where each is along the axis of the cut, `right` which way it went, `lower[c]` of `levels[c]` rows of a value
    go left. `path[g]` are the cuts that group g went through, then -1. `real` and `fixed` are as in `Crowd`.
    """

    start: Int64Array
    entry: Int64Array
    x: FloatArray
    right: BoolArray
    lower: Int64Array
    levels: Int64Array
    path: Int64Array
    real: BoolArray
    fixed: BoolArray


@kernel
def misplaced(tree: BucketCuts, value: Int64Array, cut: int, v: int) -> int:
    """How many rows of a value are on the wrong side of a cut, and by how many too many or too few went left."""
    last = tree.start[cut + 1]
    left, right = 0, 0  # so far, the lowest first
    best = 0  # by how much fewer are wrong at the best threshold than below all
    i = tree.start[cut]
    while i < last:
        x, before = tree.x[i], right
        while i < last and tree.x[i] == x:
            if value[tree.entry[i]] == v:
                right += tree.right[i]
                left += not tree.right[i]
            i += 1
        best = min(best, before - left)
    held, lower, levels = left + right, tree.lower[cut], tree.levels[cut]
    taken = max(held * lower // levels, held - (levels - lower))
    wrong: int = left + best + abs(left - taken)
    return wrong


@kernel
def _values(world: Int64Array) -> Int64Array:
    """The value of every entry."""
    value = np.empty(world.size, np.int64)
    for g in range(len(world)):
        for p in range(world.shape[1]):
            value[world[g, p]] = p
    return value


@kernel
def all_misplaced(tree: BucketCuts, world: Int64Array) -> Int64Array:
    """How many are misplaced by every cut, value by value."""
    value = _values(world)
    found = np.zeros((tree.levels.size, world.shape[1]), np.int64)
    for cut in range(tree.levels.size):
        for v in range(world.shape[1]):
            found[cut, v] = misplaced(tree, value, cut, v)
    return found


@kernel
def count_cut_worlds(tree: BucketCuts, world: Int64Array) -> FloatArray:
    """In how many worlds that the cuts allow every entry has every value; `world` is changed."""
    n, w = world.shape
    weight = np.zeros((n * w, w))
    free, count = np.zeros((n, w), np.int64), np.zeros(n, np.int64)
    for g in range(n):
        for p in range(w):
            if not tree.fixed[world[g, p]]:
                free[g, count[g]] = p
                count[g] += 1
        entries = np.sort(world[g][free[g, : count[g]]])
        for i in range(count[g]):
            world[g, free[g, i]] = entries[i]
    g = 0
    while g < n:
        if not all_misplaced(tree, world).any():
            for h in range(n):
                for p in range(w):
                    weight[world[h, p], p] += 1.0
        g = 0
        while g < n and not turn_over(world[g], free[g, : count[g]]):
            g += 1
    return weight


@kernel
def cut_walk(tree: BucketCuts, world: Int64Array, costs: FloatArray, seed: int, counts: Int64Array) -> float:
    """Walk through worlds from anywhere, a sweep for each cost of somebody misplaced; `world` is changed.

    While the cost is what it is in the end, count who has which value: in all worlds, `counts[0]`, and in those in
    which nobody is misplaced, `counts[1]`. How many are misplaced meanwhile, on average.
    """
    np.random.seed(seed)
    n, w = world.shape
    for _ in range(w):
        for g in range(n):
            _try(tree, world, g, np.zeros(0, np.int64), np.zeros((0, w), np.int64), 0.0)
    value, found = _values(world), all_misplaced(tree, world)
    broken, total, turns = found.sum(), 0, 0
    for cost in costs:
        for _ in range(n * w):
            broken += _try(tree, world, np.random.randint(n), value, found, cost)
        if cost == costs[-1]:
            for g in range(n):
                for p in range(w):
                    counts[0, world[g, p], p] += 1
                    counts[1, world[g, p], p] += broken == 0
            total += broken
            turns += 1
    return total / turns


@kernel
def _try(
    tree: BucketCuts, world: Int64Array, g: int, value: Int64Array, found: Int64Array, cost: float
) -> int:
    """Try to let two of a group exchange values; by how much fewer are misplaced, negated. For free, they do."""
    a, b = np.random.randint(world.shape[1]), np.random.randint(world.shape[1])
    one, other = world[g, a], world[g, b]
    if a == b or tree.fixed[one] or tree.fixed[other]:
        return 0
    change = 0
    if cost > 0.0:
        value[one], value[other] = b, a
        for cut in tree.path[g]:
            if cut < 0:
                break
            for v in (a, b):
                change += misplaced(tree, value, cut, v) - found[cut, v]
        if change > 0 and np.random.random() >= np.exp(-cost * change):
            value[one], value[other] = a, b
            return 0
        for cut in tree.path[g]:
            if cut < 0:
                break
            for v in (a, b):
                found[cut, v] = misplaced(tree, value, cut, v)
    world[g, a], world[g, b] = other, one
    return change
