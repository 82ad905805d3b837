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


class OrderedWorld(NamedTuple):
    """A world, the order of its groups and the place of each in it.

    `middle[g, p]` is that of the first p entries of a group, `own[g, p]` how far the p-th is from it.
    """

    world: Int64Array
    order: Int64Array
    place: Int64Array
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
def distances(crowd: Crowd, middle: FloatArray, entries: Int64Array) -> FloatArray:
    """How far some entries are from a middle."""
    found = np.zeros(entries.size)
    numbers = crowd.number.shape[1]
    size, first = middle[0], 1 + 2 * numbers
    for i in range(entries.size):
        e = entries[i]
        if not crowd.real[e]:
            found[i] = np.inf
            continue
        for a in range(numbers):
            x, present = crowd.number[e, a], middle[1 + numbers + a]
            apart = present if x == -np.inf else size - present + abs(x * present - middle[1 + a])
            found[i] += apart * apart
        for a in range(crowd.leaf.shape[1]):
            apart = middle[first + crowd.leaf[e, a]]
            found[i] += apart * apart
    return found


@kernel
def nearer(crowd: Crowd, state: OrderedWorld, groups: Int64Array, p: int, entries: Int64Array) -> BoolArray:
    """Whether some entries are nearer to groups than their own with the p-th value, `[group, entry]`."""
    closer = np.zeros((groups.size, entries.size), np.bool_)
    numbers = crowd.number.shape[1]
    first = 1 + 2 * numbers
    for j in range(groups.size):
        h = groups[j]
        size = state.middle[h, p, 0]
        bound = state.own[h, p] - NEARER
        for i in range(entries.size):
            e = entries[i]
            if not crowd.real[e]:
                continue
            found = 0.0
            for a in range(numbers):
                x, present = crowd.number[e, a], state.middle[h, p, 1 + numbers + a]
                apart = (
                    present if x == -np.inf else size - present + abs(x * present - state.middle[h, p, 1 + a])
                )
                found += apart * apart
            for a in range(crowd.leaf.shape[1]):
                apart = state.middle[h, p, first + crowd.leaf[e, a]]
                found += apart * apart
            closer[j, i] = found < bound
    return closer


@kernel
def ordered_world(crowd: Crowd, world: Int64Array, order: Int64Array) -> OrderedWorld:
    """The state of a world with this order of groups."""
    n, w = world.shape
    line = 1 + 2 * crowd.number.shape[1] + crowd.apart.shape[0]
    state = OrderedWorld(world, order, np.argsort(order), np.zeros((n, w, line)), np.zeros((n, w)))
    for g in range(n):
        find(crowd, state, g)
    return state


@kernel
def find(crowd: Crowd, state: OrderedWorld, g: int) -> None:
    """Find the middles of a group."""
    for p in range(1, state.world.shape[1]):
        state.middle[g, p] = state.middle[g, p - 1]
        add(crowd, state.world[g, p - 1], state.middle[g, p])
        state.own[g, p] = distances(crowd, state.middle[g, p], state.world[g, p : p + 1])[0]


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
def count_broken(crowd: Crowd, state: OrderedWorld) -> int:
    """How many precedences the order of the groups breaks."""
    broken = 0
    for i in range(len(state.order)):
        g, after = state.order[i], state.order[i + 1 :]
        for p in range(1, state.world.shape[1]):
            bound = state.own[g, p] - NEARER
            for apart in distances(crowd, state.middle[g, p], state.world[:, p][after]):
                broken += apart < bound
    return broken


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
def count_worlds(crowd: Crowd, world: Int64Array) -> FloatArray:
    """Of how many pairs of a world and an order that breaks no precedence every entry has every value.

    All worlds are tried that differ from this one in who of a group has which value, known ones aside. `world` is
    changed.
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
        if crowd.real[world[:, 0]].all():
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
    asked, everyone = np.zeros((2, n), np.int64), np.arange(n)
    for p in range(1, w):
        asked[0] += distances(crowd, state.middle[g, p], state.world[:, p]) < state.own[g, p] - NEARER
        asked[1] += nearer(crowd, state, everyone, p, state.world[g, p : p + 1])[:, 0]
    asked[:, g] = 0
    return asked
