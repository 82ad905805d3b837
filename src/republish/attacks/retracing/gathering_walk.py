"""Walks through worlds and orders of groups, for buckets with too many to count.

One group at a time gets other values, and then another place in the order, each drawn with the probability that it has
given all other groups, a broken precedence costing ever more (`precedence` says what that is). What a group's values
cost is a sum over its entries, of which each depends on the set of those before it alone, so that a walk over sets (of
at most BLOCK entries) draws from all ways to hand them out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, Int64Array
from republish.attacks.retracing.precedence import (
    NEARER,
    Crowd,
    OrderedWorld,
    add,
    compare,
    count_broken,
    distances,
    find,
    nearer,
    ordered_world,
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
    """Walk through orders and worlds from anywhere, a sweep for each cost of a broken precedence.

    While the cost is what it is in the end, count who has which value: in all worlds, `counts[0]`, and in those of
    which the order breaks no precedence, `counts[1]`. `world` and `order` are changed. How many precedences are broken
    meanwhile, on average.
    """
    np.random.seed(seed)
    n, w = world.shape
    broken, turns = 0, 0
    for g in range(n):
        _shuffle(crowd, world[g])
    state = ordered_world(crowd, world, order)
    for cost in costs:
        for _ in range(n):
            g = np.random.randint(n)
            block = _block(crowd, world, g)
            if block.value.size > 1:
                _hand_out(crowd, state, block, cost)
            _move(state, g, compare(crowd, state, g), cost)
        if cost == costs[-1]:
            found = count_broken(crowd, state)
            broken += found
            turns += 1
            for g in range(n):
                for p in range(w):
                    counts[0, world[g, p], p] += 1
                    counts[1, world[g, p], p] += found == 0
    return broken / turns


@kernel
def _shuffle(crowd: Crowd, group: Int64Array) -> None:
    """Hand out the values of a group that are not known by chance; it begins with a person."""
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
def _hand_out(crowd: Crowd, state: OrderedWorld, block: Handful, cost: float) -> None:
    """Draw which entry of a block has which of its values, given the order and all other groups."""
    k = block.entry.size
    costs, between = block_costs(crowd, state, block, _UNLIKELY / cost)
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
    crowd: Crowd, state: OrderedWorld, block: Handful, more: float
) -> tuple[FloatArray, FloatArray]:
    """How many precedences are broken if an entry of a block is next after a set of them, and by others meanwhile.

    The first is `[set, entry]`, the set as bits; the second of the entries outside the block which take their turn
    after just this set. Where a group would begin with nobody the cost is infinite, and where so many `more` would be
    broken than now.
    """
    g, k = block.group, block.entry.size
    costs, between = np.full((1 << k, k), np.inf), np.zeros(1 << k)
    least = np.full(1 << k, np.inf)  # the fewest that are broken so far
    base = state.middle[g, block.value[0]].copy()
    sums = _sums(crowd, block, base.size)
    most, least[0], done = _broken(crowd, state, block) + more, 0.0, 0
    for p in range(block.value[0], block.value[-1] + 1):
        inside = p == block.value[done]
        asked = _asked(crowd, state, block, p) if inside else np.zeros(1)
        candidates = block.entry if inside else state.world[g, p : p + 1]
        after = state.world[:, p][state.order[state.place[g] + 1 :]]
        for mask in range(1 << k):
            if _bits(mask) != done or least[mask] > most:
                continue
            broken = asked.copy()
            if p > 0:
                broken += _count_nearer(crowd, base + sums[mask], after, candidates)
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
def _broken(crowd: Crowd, state: OrderedWorld, block: Handful) -> float:
    """How many precedences are broken now that handing out a block may mend."""
    g, broken = block.group, 0.0
    for p in range(max(block.value[0], 1), block.value[-1] + 1):
        after = state.world[:, p][state.order[state.place[g] + 1 :]]
        broken += _count_nearer(crowd, state.middle[g, p], after, state.world[g, p : p + 1])[0]
        if (block.value == p).any():
            before = state.order[: state.place[g]]
            broken += nearer(crowd, state, before, p, state.world[g, p : p + 1]).sum()
    return broken


@kernel
def _asked(crowd: Crowd, state: OrderedWorld, block: Handful, p: int) -> FloatArray:
    """How many groups before this one ask for each entry with the p-th value; no group begins with nobody."""
    if p == 0:
        return np.where(crowd.real[block.entry], 0.0, np.inf)
    before = state.order[: state.place[block.group]]
    asked = np.zeros(block.entry.size)
    asked += nearer(crowd, state, before, p, block.entry).sum(axis=0)
    return asked


@kernel
def _sums(crowd: Crowd, block: Handful, line: int) -> FloatArray:
    """What every set of a block adds to a middle."""
    sums = np.zeros((1 << block.entry.size, line))
    for i in range(block.entry.size):
        for mask in range(1 << i):
            sums[mask | 1 << i] = sums[mask]
            add(crowd, block.entry[i], sums[mask | 1 << i])
    return sums


@kernel
def _bits(mask: int) -> int:
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@kernel
def _count_nearer(
    crowd: Crowd, middle: FloatArray, entries: Int64Array, candidates: Int64Array
) -> FloatArray:
    """How many entries are nearer to a middle than each candidate."""
    count = np.zeros(candidates.size)
    own = distances(crowd, middle, candidates) - NEARER
    for apart in distances(crowd, middle, entries):
        for i in range(own.size):
            count[i] += apart < own[i]
    return count
