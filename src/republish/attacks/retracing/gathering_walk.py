"""Walks through worlds and orders of groups, for buckets with too many to count.

One group at a time gets other values, and then another place in the order, each drawn with the probability that it has
given all other groups, a broken precedence costing ever more (`precedence` says what that is). What a group's values
cost is a sum over its entries, of which each depends on the set of those before it alone, so that a walk over sets (of
at most BLOCK entries) draws from all ways to hand them out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.attacks.retracing.precedence import (
    Crowd,
    OrderedWorld,
    add,
    closer,
    count_below,
    count_broken,
    distances,
    find,
    members,
    nearer,
    ordered_world,
    spots,
)
from republish.kernels import kernel

BLOCK = 6
"""Most entries of a group that are handed out anew at a time."""
_UNLIKELY = 15.0  # what costs so much more than what is there is not drawn


class Handful(NamedTuple):
    """Values of a group that are handed out anew, and the entries that have them now, one each."""

    group: int
    value: Int64Array
    entry: Int64Array


@kernel
def walk(
    crowd: Crowd, world: Int64Array, order: Int64Array, costs: FloatArray, seed: int, counts: Int64Array
) -> float:
    """Walk on through orders and worlds, a sweep for each cost of a broken precedence.

    While the cost is what it is in the end, count who has which value: in all worlds, `counts[0]`, and in those of
    which the order breaks no precedence, `counts[1]`. `world` and `order` are changed. How many precedences are broken
    meanwhile, on average.
    """
    np.random.seed(seed)
    n, w = world.shape
    broken, turns = 0, 0
    state = ordered_world(crowd, world, order)
    for cost in costs:
        for _ in range(n):
            g = np.random.randint(n)
            block = _block(crowd, world, g)
            asked = demands(crowd, state, block)
            if block.value.size > 1:
                _hand_out(crowd, state, block, asked, cost)
            _move(state, g, _compared(state, block, asked), cost)
        if cost == costs[-1]:
            found = count_broken(state)
            broken += found
            turns += 1
            for g in range(n):
                for p in range(w):
                    counts[0, world[g, p], p] += 1
                    counts[1, world[g, p], p] += found == 0
    return broken / turns


@kernel
def scatter(crowd: Crowd, world: Int64Array, seed: int) -> None:
    """Hand out values that are not known by chance; every group begins with a person."""
    np.random.seed(seed)
    for group in world:
        for p in range(group.size - 1, 0, -1):
            q = np.random.randint(p + 1)
            fixed = crowd.fixed[group[p]] or crowd.fixed[group[q]]
            if not fixed and (q > 0 or crowd.real[group[p]]):
                group[p], group[q] = group[q], group[p]


@kernel
def _move(state: OrderedWorld, g: int, asked: Int64Array, cost: float) -> None:
    """Draw a place in the order for a group."""
    order, place = state.order, state.place
    n = len(order)
    for k in range(place[g], n - 1):
        order[k] = order[k + 1]
    weight = np.empty(n)
    weight[0] = -cost * asked[0].sum()
    for k in range(n - 1):
        weight[k + 1] = weight[k] + cost * (asked[0, order[k]] - asked[1, order[k]])
    chosen = _drawn(weight)
    for k in range(n - 1, chosen, -1):
        order[k] = order[k - 1]
    order[chosen] = g
    for k in range(n):
        place[order[k]] = k


@kernel
def _drawn(weight: FloatArray) -> int:
    """Draw one of some things with these logarithms of weights."""
    sums = np.cumsum(np.exp(weight - weight.max()))
    return min(int(np.searchsorted(sums, np.random.random() * sums[-1], side="right")), len(sums) - 1)


@kernel
def _block(crowd: Crowd, world: Int64Array, g: int) -> Handful:
    """Draw values of a group to hand out anew: as many as may be, of entries whose value is not known."""
    chosen = np.empty(world.shape[1], np.int64)
    count = 0
    for p in np.random.permutation(world.shape[1]):
        if count < BLOCK and not crowd.fixed[world[g, p]]:
            chosen[count] = p
            count += 1
    value = np.sort(chosen[:count])
    return Handful(g, value, world[g][value])


@kernel
def demands(crowd: Crowd, state: OrderedWorld, block: Handful) -> BoolArray:
    """Whether each group asks for an entry of a block, `[p, i, group]`; elsewhere for the one that is there, `[p, 0]`.

    The group of the block asks for nothing.
    """
    n, w = state.world.shape
    asked = np.zeros((w, max(1, block.entry.size), n), np.bool_)
    for p in range(1, w):
        if _holds(block, p):
            for i in range(block.entry.size):
                asked[p, i] = nearer(crowd, state, p, block.entry[i])
        else:
            asked[p, 0] = nearer(crowd, state, p, state.world[block.group, p])
    asked[:, :, block.group] = False
    return asked


@kernel
def _holds(block: Handful, p: int) -> bool:
    found = False
    for q in block.value:
        found |= p == q
    return found


@kernel
def _compared(state: OrderedWorld, block: Handful, asked: BoolArray) -> Int64Array:
    """What `compare` finds for the group of a block, with what is asked of its entries."""
    n, w = state.world.shape
    g = block.group
    found = np.zeros((2, n), np.int64)
    for p in range(1, w):
        closer(state, p, g, found[0])
        i = 0
        if _holds(block, p):
            while block.entry[i] != state.world[g, p]:
                i += 1
        for h in range(n):
            found[1, h] += asked[p, i, h]
    found[:, g] = 0
    return found


@kernel
def _hand_out(crowd: Crowd, state: OrderedWorld, block: Handful, asked: BoolArray, cost: float) -> None:
    """Draw which entry of a block has which of its values, given the order and all other groups."""
    k = block.entry.size
    costs, between = block_costs(crowd, state, block, asked, _UNLIKELY / cost)
    left = np.zeros(
        1 << k
    )  # the logarithm of what all ways to go on weigh, by the set of entries that have a value
    weight = np.empty((1 << k, k))
    for mask in range((1 << k) - 2, -1, -1):
        for i in range(k):
            weight[mask, i] = -np.inf if mask >> i & 1 else left[mask | 1 << i] - cost * costs[mask, i]
        most = weight[mask].max()
        left[mask] = -np.inf
        if most > -np.inf:
            left[mask] = most + np.log(np.exp(weight[mask] - most).sum()) - cost * between[mask]
    mask = 0
    for p in block.value:
        i = _drawn(weight[mask])
        state.world[block.group, p] = block.entry[i]
        mask |= 1 << i
    find(crowd, state, block.group)


@kernel
def block_costs(
    crowd: Crowd, state: OrderedWorld, block: Handful, asked: BoolArray, more: float
) -> tuple[FloatArray, FloatArray]:
    """How many precedences are broken if an entry of a block is next after a set of them, and by others meanwhile.

    The first is `[set, entry]`, the set as bits; the second of the entries outside the block which take their turn
    after just this set. Where a group would begin with nobody the cost is infinite, and where so many `more` would be
    broken than now. `asked` are the demands of others.
    """
    g, k = block.group, block.entry.size
    costs, between = np.full((1 << k, k), np.inf), np.zeros(1 << k)
    least = np.full(1 << k, np.inf)  # the fewest that are broken so far
    base = state.middle[block.value[0], :, g].copy()
    sums = _sums(crowd, block, base.size)
    most, least[0], done, now = more, 0.0, 0, 0
    after = state.order[state.place[g] + 1 :]
    wanted = _wanted(crowd, block, asked, state.place < state.place[g])
    others = [members(state, p, after) for p in range(state.world.shape[1])]
    for p in range(block.value[0], block.value[-1] + 1):  # what is broken now
        if p > 0:
            own = state.own[p, g]
            most += count_below(distances(state.middle[p, :, g].copy(), others[p]), own)
            if _holds(block, p):
                most += wanted[p, now]
        now += _holds(block, p)
    for p in range(block.value[0], block.value[-1] + 1):
        inside = _holds(block, p)
        candidates = spots(crowd, block.entry if inside else state.world[g, p : p + 1])
        for mask in range(1 << k):
            if _bits(mask) != done or least[mask] > most:
                continue
            broken = wanted[p].copy() if inside else np.zeros(1)
            if p > 0:
                middle = base + sums[mask]
                own, found = distances(middle, candidates), distances(middle, others[p])
                for i in range(broken.size):
                    if not inside or mask >> i & 1 == 0:
                        broken[i] += count_below(found, own[i])
            if not inside:
                between[mask] += broken[0]
                least[mask] += broken[0]
                continue
            costs[mask] = broken
            for i in range(k):
                if mask >> i & 1 == 0:
                    least[mask | 1 << i] = min(least[mask | 1 << i], least[mask] + broken[i])
        if inside:
            done += 1
        else:
            add(crowd, state.world[g, p], base)
    return costs, between


@kernel
def _wanted(crowd: Crowd, block: Handful, asked: BoolArray, before: BoolArray) -> FloatArray:
    """How many groups before this one ask for each entry of a block, `[p, i]`; no group begins with nobody."""
    wanted = np.zeros(asked.shape[:2])
    wanted[0] = np.where(crowd.real[block.entry], 0.0, np.inf)
    for p in block.value:
        if p > 0:
            for i in range(block.entry.size):
                count = 0
                for h in range(before.size):
                    count += asked[p, i, h] & before[h]
                wanted[p, i] = count
    return wanted


@kernel
def _sums(crowd: Crowd, block: Handful, line: int) -> FloatArray:
    """What every set of a block adds to a middle."""
    sums = np.zeros((1 << block.entry.size, line))
    for i in range(block.entry.size):
        add(crowd, block.entry[i], sums[1 << i])
        for mask in range(1, 1 << i):
            for a in range(line):
                sums[mask | 1 << i, a] = sums[mask, a] + sums[1 << i, a]
    return sums


@kernel
def _bits(mask: int) -> int:
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count
