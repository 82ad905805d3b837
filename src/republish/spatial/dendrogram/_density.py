"""Merging neighbours of closest density, pair by pair, into a binary tree (thesis 3.6.1).

The thesis ranks blocks by falling density, merges pairs of neighbours whose densities are closest, and makes a new
cluster of what finds none. Here that is done in rounds: each round goes through the clusters of the last one in
falling density, and pairs each that is still alone with the neighbour, also alone, of closest density. Whoever finds
nobody waits for the next round. The density of a pair is that of the union. So sizes about double with every round,
and a cut finds parts of every size; merges one block at a time would end in a chain.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.kernels import kernel

ALONE = -1
_FEW = 16  # a round that pairs fewer than one cluster in so many is filled up with clusters that are no neighbours


@kernel
def paired(order: IntArray, density: FloatArray, start: IntArray, near: IntArray) -> IntArray:
    """Return the mate of every cluster, -1 where it has none.

    In this order each takes the free neighbour of closest density, of several the first. The neighbours of cluster c
    are `near[start[c]:start[c + 1]]`.
    """
    mate = np.full(order.size, ALONE, np.int64)
    for one in order:
        if mate[one] != ALONE:
            continue
        best, gap = ALONE, np.inf
        for i in range(start[one], start[one + 1]):
            other = near[i]
            if other == one or mate[other] != ALONE:
                continue
            apart = abs(density[one] - density[other])
            if best == ALONE or apart < gap or (apart == gap and other < best):
                best, gap = other, apart
        if best != ALONE:
            mate[one], mate[best] = best, one
    return mate


def merged_by_density(
    count: IntArray, volume: FloatArray, start: IntArray, near: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return the two children of each merge, blocks being the first nodes, and the volume of every node.

    Densities are compared as logarithms: twice as dense is as far away as half as dense.
    """
    blocks = len(count)
    size, space = np.zeros(2 * blocks - 1), np.zeros(2 * blocks - 1)
    size[:blocks], space[:blocks] = count, volume
    child = np.empty((blocks - 1, 2), dtype=np.int32)
    active = np.arange(blocks)
    made = blocks
    while len(active) > 1:
        density = np.log(size[active]) - np.log(space[active])
        order = np.argsort(-density, kind="stable")
        mate = paired(order, density, start, near)
        _fill_up(mate, order)
        first = np.flatnonzero(mate > np.arange(len(active)))  # of each pair; waits have no mate
        pair = np.stack([active[first], active[mate[first]]], axis=1)
        new = np.arange(made, made + len(pair))
        child[new - blocks] = pair
        size[new], space[new] = size[pair].sum(axis=1), space[pair].sum(axis=1)
        waiting = np.flatnonzero(mate == ALONE)
        place = np.empty(len(active), dtype=np.int64)
        place[waiting] = np.arange(len(waiting))
        place[first] = place[mate[first]] = len(waiting) + np.arange(len(pair))
        active = np.concatenate([active[waiting], new])
        start, near = joined(place, len(active), start, near)
        made += len(pair)
    return child, space


def _fill_up(mate: IntArray, order: IntArray) -> None:
    """Pair clusters that found no neighbour with each other in the order of density, where too few found one.

    One large block can be the only neighbour of very many: then a round pairs it with one of them, and all would wait.
    """
    if _FEW * np.count_nonzero(mate != ALONE) >= len(mate):
        return
    left = order[mate[order] == ALONE]
    one, other = left[0 : len(left) - 1 : 2], left[1::2]
    mate[one], mate[other] = other, one


@kernel
def joined(cluster: IntArray, clusters: int, start: IntArray, near: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the neighbours of each cluster begin, and all of them once, from those of what it is made of.

    Part p belongs to `cluster[p]`; its neighbours are `near[start[p]:start[p + 1]]`, some twice.
    """
    begin = np.zeros(clusters + 1, np.int64)
    for part in range(cluster.size):
        begin[cluster[part] + 1] += 1
    for c in range(clusters):
        begin[c + 1] += begin[c]
    free = begin[:-1].copy()
    member = np.empty(cluster.size, np.int64)
    for part in range(cluster.size):
        member[free[cluster[part]]] = part
        free[cluster[part]] += 1
    seen = np.full(clusters, -1, np.int64)
    first = np.zeros(clusters + 1, np.int64)
    beside = np.empty(near.size, np.int64)
    found = 0
    for c in range(clusters):
        seen[c] = c
        for i in range(begin[c], begin[c + 1]):
            for j in range(start[member[i]], start[member[i] + 1]):
                other = cluster[near[j]]
                if seen[other] != c:
                    seen[other] = c
                    beside[found] = other
                    found += 1
        first[c + 1] = found
    return first, beside[:found].copy()
