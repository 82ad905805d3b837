"""Which groups must have been gathered before which, in a world.

Entries are people and rows of nobody. `world[g, p]` is the entry of group g that has the p-th value, in the order in
which groups take values. Group g takes, of those left, the entry nearest to the middle of what it has. So if the entry
of another group h is nearer, h was gathered before g: a *precedence*. A world is possible if some order of the groups
keeps all of them, and it is as likely as the share of orders that do. Rows of nobody are taken last, as if infinitely
far, and do not move the middle.

The middle of some entries is one line of numbers: how many are real, sums and counts of each number that is not
missing, and how far every leaf is from all of them together. Distances are squares, times the square of the size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.kernels import kernel

NEARER = 1e-9
"""What is nearer by less is rounding."""


class Crowd(NamedTuple):
    """Where entries are: `number[e, axis]`, -inf where missing, and `leaf[e, axis]`, a line of `apart`.

    `apart[i, j]` is how far two leaves of an axis are from each other. Entries that are not `real` are nobody's, those
    that are `fixed` have a value that is known.
    """

    number: FloatArray
    leaf: Int64Array
    apart: FloatArray
    real: BoolArray
    fixed: BoolArray


class Spots(NamedTuple):
    """Where entries are, side by side: `number[axis, i]`, `leaf[axis, i]`; nobody's are infinitely `far[i]`."""

    number: FloatArray
    leaf: Int64Array
    far: FloatArray


class OrderedWorld(NamedTuple):
    """A world, the order of its groups and the place of each in it.

    `number[p, axis, g]`, `leaf[p, axis, g]` and `far[p, g]` are where its entries are, `middle[p, :, g]` is that of the
    first p entries of a group, `own[p, g]` how far the p-th is from it.
    """

    world: Int64Array
    order: Int64Array
    place: Int64Array
    number: FloatArray
    leaf: Int64Array
    far: FloatArray
    middle: FloatArray
    own: FloatArray


@kernel
def add(crowd: Crowd, e: int, middle: FloatArray) -> None:
    """Let another entry join those of a middle."""
    numbers = crowd.number.shape[1]
    if not crowd.real[e]:
        return
    middle[0] += 1.0
    for a in range(numbers):
        if crowd.number[e, a] != -np.inf:
            middle[1 + a] += crowd.number[e, a]
            middle[1 + numbers + a] += 1.0
    for a in range(crowd.leaf.shape[1]):
        line = crowd.apart[crowd.leaf[e, a]]
        for i in range(line.size):
            middle[1 + 2 * numbers + i] += line[i]


@kernel
def spots(crowd: Crowd, entries: Int64Array) -> Spots:
    """Where some entries are."""
    count = entries.size
    numbers, leaves = crowd.number.shape[1], crowd.leaf.shape[1]
    found = Spots(np.empty((numbers, count)), np.empty((leaves, count), np.int64), np.zeros(count))
    for i in range(count):
        e = entries[i]
        for a in range(numbers):
            found.number[a, i] = crowd.number[e, a]
        for a in range(leaves):
            found.leaf[a, i] = crowd.leaf[e, a]
        if not crowd.real[e]:
            found.far[i] = np.inf
    return found


@kernel
def distances(middle: FloatArray, where: Spots) -> FloatArray:
    """How far some entries are from a middle."""
    found = where.far.copy()
    numbers = len(where.number)
    size, first = middle[0], 1 + 2 * numbers
    for a in range(numbers):
        total, present = middle[1 + a], middle[1 + numbers + a]
        x = where.number[a]
        for i in range(found.size):
            apart = present if x[i] == -np.inf else size - present + abs(x[i] * present - total)
            found[i] += apart * apart
    for a in range(len(where.leaf)):
        leaf = where.leaf[a]
        for i in range(found.size):
            apart = middle[first + leaf[i]]
            found[i] += apart * apart
    return found


@kernel
def nearer(crowd: Crowd, state: OrderedWorld, p: int, e: int) -> BoolArray:
    """Whether an entry is nearer to each group than its own with the p-th value."""
    n, numbers = state.order.size, crowd.number.shape[1]
    found = np.zeros(n)
    if not crowd.real[e]:
        return np.zeros(n, np.bool_)
    size = state.middle[p, 0]
    for a in range(numbers):
        x, total, present = crowd.number[e, a], state.middle[p, 1 + a], state.middle[p, 1 + numbers + a]
        if x == -np.inf:
            for h in range(n):
                found[h] += present[h] * present[h]
        else:
            for h in range(n):
                apart = size[h] - present[h] + abs(x * present[h] - total[h])
                found[h] += apart * apart
    for a in range(crowd.leaf.shape[1]):
        line = state.middle[p, 1 + 2 * numbers + crowd.leaf[e, a]]
        for h in range(n):
            found[h] += line[h] * line[h]
    closest: BoolArray = found < state.own[p] - NEARER
    return closest


@kernel
def ordered_world(crowd: Crowd, world: Int64Array, order: Int64Array) -> OrderedWorld:
    """The state of a world with this order of groups."""
    n, w = world.shape
    numbers, leaves = crowd.number.shape[1], crowd.leaf.shape[1]
    number, leaf = np.zeros((w, numbers, n)), np.zeros((w, leaves, n), np.int64)
    middle = np.zeros((w, 1 + 2 * numbers + crowd.apart.shape[0], n))
    place = np.argsort(order)
    state = OrderedWorld(world, order, place, number, leaf, np.zeros((w, n)), middle, np.zeros((w, n)))
    for g in range(n):
        find(crowd, state, g)
    return state


@kernel
def find(crowd: Crowd, state: OrderedWorld, g: int) -> None:
    """Find where the entries of a group are, and its middles."""
    middle = np.zeros(state.middle.shape[1])
    where = spots(crowd, state.world[g])
    for p in range(state.world.shape[1]):
        state.number[p, :, g], state.leaf[p, :, g] = where.number[:, p], where.leaf[:, p]
        state.far[p, g] = where.far[p]
        if p > 0:
            state.middle[p, :, g] = middle
            state.own[p, g] = distances(middle, where)[p]
        add(crowd, state.world[g, p], middle)


@kernel
def members(state: OrderedWorld, p: int, groups: Int64Array) -> Spots:
    """Where the entries of some groups with the p-th value are."""
    number, leaf = (
        np.empty((state.number.shape[1], groups.size)),
        np.empty((state.leaf.shape[1], groups.size), np.int64),
    )
    far = np.empty(groups.size)
    for i in range(groups.size):
        far[i] = state.far[p, groups[i]]
    for a in range(len(number)):
        for i in range(groups.size):
            number[a, i] = state.number[p, a, groups[i]]
    for a in range(len(leaf)):
        for i in range(groups.size):
            leaf[a, i] = state.leaf[p, a, groups[i]]
    return Spots(number, leaf, far)


@kernel
def precedences(crowd: Crowd, world: Int64Array) -> Int64Array:
    """How many entries of group h are nearer to group g than its own, `[g, h]`: h must come before g where any is."""
    n = len(world)
    state = ordered_world(crowd, world, np.arange(n))
    found = np.zeros((n, n), np.int64)
    for g in range(n):
        found[:, g] = compare(crowd, state, g)[1]
    return found


@kernel
def count_broken(state: OrderedWorld) -> int:
    """How many precedences the order of the groups breaks."""
    broken = 0
    for i in range(len(state.order)):
        g, after = state.order[i], state.order[i + 1 :]
        for p in range(1, state.world.shape[1]):
            found = distances(state.middle[p, :, g].copy(), members(state, p, after))
            broken += count_below(found, state.own[p, g])
    return broken


@kernel
def count_below(found: FloatArray, own: float) -> int:
    """How many distances are less than one."""
    count = 0
    for i in range(found.size):
        count += found[i] < own - NEARER
    return count


@kernel
def orders(found: Int64Array) -> float:
    """In how many orders of all groups no precedence is broken."""
    n = len(found)
    ways = np.zeros(1 << n)
    ways[0] = 1.0
    for done in range(1 << n):
        if ways[done] == 0.0:
            continue
        for g in range(n):
            if done >> g & 1:
                continue
            free = True
            for h in range(n):
                free &= found[g, h] == 0 or done >> h & 1 == 1
            if free:
                ways[done | 1 << g] += ways[done]
    return float(ways[-1])


@kernel
def count_worlds(crowd: Crowd, world: Int64Array, padded: int = 0) -> FloatArray:
    """Of how many pairs of a world and an order that breaks no precedence every entry has every value.

    All worlds are tried that differ from this one in who of a group has which value, known ones aside, and in which the
    first value has no rows of nobody, and so many after it, `padded`, have some. `world` is changed.
    """
    n, w = world.shape
    weight = np.zeros((n * w, w))
    free = np.zeros((n, w), np.int64)  # the values of each group that are not known, and how many
    count = np.zeros(n, np.int64)
    for g in range(n):
        for p in range(w):
            if not crowd.fixed[world[g, p]]:
                free[g, count[g]] = p
                count[g] += 1
        entries = np.sort(world[g][free[g, : count[g]]])
        for i in range(count[g]):
            world[g, free[g, i]] = entries[i]
    g = 0
    while g < n:
        whole = 0  # of the values after the first that have some
        for p in range(1, padded + 1):
            whole += int(crowd.real[world[:, p]].all())
        if crowd.real[world[:, 0]].all() and whole == 0:
            ways = orders(precedences(crowd, world))
            for h in range(n):
                for p in range(w):
                    weight[world[h, p], p] += ways
        g = 0
        while g < n and not turn_over(world[g], free[g, : count[g]]):
            g += 1
    return weight


@kernel
def turn_over(group: Int64Array, free: Int64Array) -> bool:
    """Hand out values in the next way, in the order of entries; whether there was one, else the first comes again."""
    k = free.size
    i = k - 2
    while i >= 0 and group[free[i]] > group[free[i + 1]]:
        i -= 1
    low, high = i + 1, k - 1
    while low < high:
        group[free[low]], group[free[high]] = group[free[high]], group[free[low]]
        low, high = low + 1, high - 1
    if i < 0:
        return False
    j = i + 1
    while group[free[j]] < group[free[i]]:
        j += 1
    group[free[i]], group[free[j]] = group[free[j]], group[free[i]]
    return True


@kernel
def compare(crowd: Crowd, state: OrderedWorld, g: int) -> Int64Array:
    """How many entries of each other group ask that it come before g, and how many of g that it come after."""
    n, w = state.world.shape
    asked = np.zeros((2, n), np.int64)
    for p in range(1, w):
        closer(state, p, g, asked[0])
        for h, found in enumerate(nearer(crowd, state, p, state.world[g, p])):
            asked[1, h] += found
    asked[:, g] = 0
    return asked


@kernel
def closer(state: OrderedWorld, p: int, g: int, count: Int64Array) -> None:
    """Count where the entry of another group with the p-th value is nearer to a group than its own."""
    where = Spots(state.number[p], state.leaf[p], state.far[p])
    found, own = distances(state.middle[p, :, g].copy(), where), state.own[p, g] - NEARER
    for h in range(found.size):
        count[h] += found[h] < own
