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
    """All cuts of a bucket; cut c has the entries `entry[start[c] : start[c + 1]]`, the lowest first, then the left.

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
def scatter_cut(tree: BucketCuts, world: Int64Array, seed: int) -> None:
    """Hand out values that are not known by chance."""
    np.random.seed(seed)
    for group in world:
        for p in range(group.size - 1, 0, -1):
            q = np.random.randint(p + 1)
            if not tree.fixed[group[p]] and not tree.fixed[group[q]]:
                group[p], group[q] = group[q], group[p]


class Standing(NamedTuple):
    """Who has which value and how many that misplaces, ready for the next exchange.

    `spot[depth, e]` is the place of an entry in the cut that its group went through at this depth, -1 for nobody's.
    `held[cut, v]` are the rows of a value on either side and `wrong[cut, v]` those misplaced. The rows of a value that
    a cut sent left and right are -1 and 1; cut c has a binary tree of stretches of its entries, of `width[c]` leaves
    and from `first[c]` on: `total[v, node]` is the sum of a stretch, `low[v, node]` the least sum of its beginnings.
    """

    value: Int64Array
    spot: Int64Array
    held: Int64Array
    wrong: Int64Array
    first: Int64Array
    width: Int64Array
    total: Int64Array
    low: Int64Array


@kernel
def standing(tree: BucketCuts, world: Int64Array) -> Standing:
    """The standing of a world."""
    w, cuts = world.shape[1], tree.levels.size
    first, width = np.zeros(cuts + 1, np.int64), np.ones(cuts, np.int64)
    for cut in range(cuts):
        while width[cut] < tree.start[cut + 1] - tree.start[cut]:
            width[cut] *= 2
        first[cut + 1] = first[cut] + 2 * width[cut]
    nodes = np.zeros((2, w, first[-1]), np.int64)
    spot = np.full((tree.path.shape[1], world.size), -1, np.int64)
    now = Standing(
        _values(world),
        spot,
        np.zeros((cuts, w, 2), np.int64),
        all_misplaced(tree, world),
        first,
        width,
        nodes[0],
        nodes[1],
    )
    for g in range(len(world)):
        for depth in range(tree.path.shape[1]):
            cut = tree.path[g, depth]
            if cut < 0:
                break
            for i in range(tree.start[cut], tree.start[cut + 1]):
                if tree.entry[i] // w == g:
                    spot[depth, tree.entry[i]] = i
                    _put(tree, now, cut, i, now.value[tree.entry[i]], 1)
    return now


@kernel
def _put(tree: BucketCuts, now: Standing, cut: int, i: int, v: int, count: int) -> None:
    """Add (1) an entry to those of a cut that have a value, or take it (-1) from them."""
    side = int(tree.right[i])
    now.held[cut, v, side] += count
    node, first = now.width[cut] + i - tree.start[cut], now.first[cut]
    total, low = now.total[v], now.low[v]
    total[first + node] += count if side else -count
    low[first + node] = min(0, total[first + node])
    node //= 2
    while node > 0:
        one, other = first + 2 * node, first + 2 * node + 1
        total[first + node] = total[one] + total[other]
        low[first + node] = min(low[one], total[one] + low[other])
        node //= 2


@kernel
def _wrong(tree: BucketCuts, now: Standing, cut: int, v: int) -> int:
    """How many rows of a value a cut misplaces: see `misplaced`."""
    left, right = now.held[cut, v]
    held, lower, levels = left + right, tree.lower[cut], tree.levels[cut]
    taken = max(held * lower // levels, held - (levels - lower))
    best = now.low[v, now.first[cut] + 1]
    return int(left + best + abs(left - taken))


@kernel
def exchange(tree: BucketCuts, now: Standing, one: int, other: int, g: int) -> int:
    """Let two of a group exchange values; by how many more are misplaced."""
    a, b = now.value[one], now.value[other]
    now.value[one], now.value[other] = b, a
    change = 0
    for depth in range(tree.path.shape[1]):
        cut = tree.path[g, depth]
        if cut < 0:
            break
        for e, old, new in ((one, a, b), (other, b, a)):
            i = now.spot[depth, e]
            if i >= 0:
                _put(tree, now, cut, i, old, -1)
                _put(tree, now, cut, i, new, 1)
        for v in (a, b):
            found = _wrong(tree, now, cut, v)
            change += found - now.wrong[cut, v]
            now.wrong[cut, v] = found
    return change


@kernel
def cut_walk(tree: BucketCuts, world: Int64Array, costs: FloatArray, seed: int, counts: Int64Array) -> float:
    """Walk on through worlds, a sweep for each cost of somebody misplaced; `world` is changed.

    While the cost is what it is in the end, count who has which value: in all worlds, `counts[0]`, and in those in
    which nobody is misplaced, `counts[1]`. How many are misplaced meanwhile, on average.
    """
    np.random.seed(seed)
    n, w = world.shape
    now = standing(tree, world)
    broken, total, turns = now.wrong.sum(), 0, 0
    for cost in costs:
        for _ in range(n * w):
            broken += _try(tree, world, now, np.random.randint(n), cost)
        if cost == costs[-1]:
            for g in range(n):
                for p in range(w):
                    counts[0, world[g, p], p] += 1
                    counts[1, world[g, p], p] += broken == 0
            total += broken
            turns += 1
    return total / turns


@kernel
def _try(tree: BucketCuts, world: Int64Array, now: Standing, g: int, cost: float) -> int:
    """Try to let two of a group exchange values; by how many more are misplaced then."""
    a, b = np.random.randint(world.shape[1]), np.random.randint(world.shape[1])
    one, other = world[g, a], world[g, b]
    if a == b or tree.fixed[one] or tree.fixed[other]:
        return 0
    change = exchange(tree, now, one, other, g)
    if change > 0 and np.random.random() >= np.exp(-cost * change):
        exchange(tree, now, one, other, g)
        return 0
    world[g, a], world[g, b] = other, one
    return change
