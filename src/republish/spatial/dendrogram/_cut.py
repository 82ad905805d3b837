"""Cutting a dendrogram: as deep as every group holds what it must."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.kernels import kernel
from republish.requirements.base import Counts, Rules
from republish.requirements.rules import satisfied


@kernel
def node_sizes(child: IntArray, count: IntArray) -> IntArray:
    """Return the points of every node, blocks first."""
    blocks = count.size
    size = np.empty(blocks + len(child), np.int64)
    for b in range(blocks):
        size[b] = count[b]
    for i in range(len(child)):
        size[blocks + i] = size[child[i, 0]] + size[child[i, 1]]
    return size


@kernel
def cut_by_size(child: IntArray, size: IntArray, k: int) -> IntArray:
    """Return the group of every block: the deepest nodes of at least k points whose siblings have as many."""
    return _groups(child, size, size >= k)


@kernel
def _groups(child: IntArray, size: IntArray, enough: BoolArray) -> IntArray:
    """Descend from the root wherever both children are enough; number the groups from 0."""
    nodes = size.size
    blocks = nodes - len(child)
    group = np.full(nodes, -1, np.int32)
    groups = 0
    for node in range(nodes - 1, -1, -1):
        left = right = node
        if node >= blocks:
            left, right = child[node - blocks, 0], child[node - blocks, 1]
        if group[node] < 0 and (node < blocks or not (enough[left] and enough[right])):
            group[node] = groups
            groups += 1
        if node >= blocks:
            group[left] = group[right] = group[node]
    return group[:blocks]


@kernel
def cut_by_rules(
    child: IntArray, size: IntArray, rules: Rules, start: IntArray, code: IntArray, times: IntArray
) -> IntArray:
    """Return the group of every block where groups must satisfy rules.

    Block b holds `code[j]` `times[j]` times, j from `start[b]` to `start[b + 1]`. Nodes above one that was refused
    as a part are still looked at; what lies below a group is not.
    """
    nodes = size.size
    blocks = nodes - len(child)
    counts = np.zeros(rules.overall.size, np.int64)
    stack = np.empty(nodes + 1, np.int64)
    enough = np.zeros(nodes, np.bool_)
    reached = np.zeros(nodes, np.bool_)
    reached[nodes - 1] = True
    for node in range(nodes - 1, blocks - 1, -1):
        if not reached[node]:
            continue
        both = True
        for side in range(2):
            part = child[node - blocks, side]
            both = both and enough_below(child, part, size, rules, start, code, times, counts, stack)
        for side in range(2):
            enough[child[node - blocks, side]] = both
            reached[child[node - blocks, side]] = both
    return _groups(child, size, enough)


@kernel
def enough_below(
    child: IntArray,
    node: int,
    size: IntArray,
    rules: Rules,
    start: IntArray,
    code: IntArray,
    times: IntArray,
    counts: Counts,
    stack: IntArray,
) -> bool:
    """Return whether the blocks below a node together satisfy the rules."""
    if size[node] < rules.min_size:
        return False
    blocks = size.size - len(child)
    for c in range(counts.size):
        counts[c] = 0
    stack[0] = node
    depth = 1
    while depth > 0:
        depth -= 1
        at = stack[depth]
        if at >= blocks:
            stack[depth], stack[depth + 1] = child[at - blocks, 0], child[at - blocks, 1]
            depth += 2
            continue
        for j in range(start[at], start[at + 1]):
            counts[code[j]] += times[j]
    return bool(satisfied(rules, counts, size[node]))
