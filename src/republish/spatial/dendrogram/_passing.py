"""Cutting a dendrogram by density: as deep as there is enough on one side, the rest passed on to what is nearest."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.kernels import kernel
from republish.requirements.base import Rules
from republish.spatial.dendrogram._cut import enough_below


@kernel
def enough_nodes(
    child: IntArray, size: IntArray, rules: Rules, start: IntArray, code: IntArray, times: IntArray
) -> BoolArray:
    """Return which nodes satisfy rules; of what lies below one that does not, nothing is asked."""
    nodes = size.size
    blocks = nodes - len(child)
    counts = np.zeros(rules.overall.size, np.int64)
    stack = np.empty(nodes + 1, np.int64)
    enough = np.zeros(nodes, np.bool_)
    enough[nodes - 1] = True
    for node in range(nodes - 1, blocks - 1, -1):
        if not enough[node]:
            continue
        for side in range(2):
            part = child[node - blocks, side]
            enough[part] = enough_below(child, part, size, rules, start, code, times, counts, stack)
    return enough


@kernel
def cut_passing(
    child: IntArray, enough: BoolArray, density: FloatArray, first: IntArray, near: IntArray
) -> IntArray:
    """Return the group of every block: the deepest nodes that are enough, numbered by their first blocks.

    A node that is not, beside one that is, goes to the group of the block on that side which is a neighbour of one of
    its own and has the density closest to its own; of all blocks there where none is a neighbour.
    """
    nodes = enough.size
    blocks = nodes - len(child)
    begin, leaves, at = _leaves(child, nodes)
    group = np.full(blocks, -1, np.int32)
    reached = np.zeros(nodes, np.bool_)
    reached[nodes - 1] = True
    for node in range(nodes - 1, -1, -1):
        if not reached[node]:
            continue
        below = False
        if node >= blocks:
            for side in range(2):
                part = child[node - blocks, side]
                reached[part] = enough[part]
                below = below or enough[part]
        if not below:
            for i in range(begin[node], begin[node] + leaves[node]):
                group[at[i]] = node
    place = np.empty(blocks, np.int64)
    for i in range(blocks):
        place[at[i]] = i
    for node in range(blocks, nodes):  # what is passed on lower down is there before what is higher up
        left, right = child[node - blocks, 0], child[node - blocks, 1]
        if not reached[node] or reached[left] == reached[right]:
            continue
        host, small = (left, right) if reached[left] else (right, left)
        taker = _nearest(small, host, begin, leaves, at, place, density, first, near)
        for i in range(begin[small], begin[small] + leaves[small]):
            group[at[i]] = group[taker]
    return _numbered(group, nodes)


@kernel
def _leaves(child: IntArray, nodes: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return where the blocks below each node begin, how many there are, and all blocks in that order."""
    blocks = nodes - len(child)
    leaves = np.ones(nodes, np.int64)
    for node in range(blocks, nodes):
        leaves[node] = leaves[child[node - blocks, 0]] + leaves[child[node - blocks, 1]]
    begin = np.zeros(nodes, np.int64)
    at = np.empty(blocks, np.int64)
    for node in range(nodes - 1, -1, -1):
        if node < blocks:
            at[begin[node]] = node
        else:
            left, right = child[node - blocks, 0], child[node - blocks, 1]
            begin[left], begin[right] = begin[node], begin[node] + leaves[left]
    return begin, leaves, at


@kernel
def _nearest(small, host, begin, leaves, at, place, density, first, near):  # type: ignore[no-untyped-def]
    """The block below one node that is nearest to another: see `cut_passing`."""
    low, high = begin[host], begin[host] + leaves[host]
    best, gap = -1, np.inf
    for i in range(begin[small], begin[small] + leaves[small]):
        for j in range(first[at[i]], first[at[i] + 1]):
            block = near[j]
            if not low <= place[block] < high:
                continue
            apart = abs(density[block] - density[small])
            if best < 0 or apart < gap or (apart == gap and block < best):
                best, gap = block, apart
    if best >= 0:
        return best
    for i in range(low, high):
        apart = abs(density[at[i]] - density[small])
        if best < 0 or apart < gap or (apart == gap and at[i] < best):
            best, gap = at[i], apart
    return best


@kernel
def _numbered(group: IntArray, nodes: int) -> IntArray:
    """Return the groups as 0, 1, ... in the order of their first blocks."""
    number = np.full(nodes, -1, np.int32)
    groups = 0
    for block in range(group.size):
        if number[group[block]] < 0:
            number[group[block]] = groups
            groups += 1
        group[block] = number[group[block]]
    return group
