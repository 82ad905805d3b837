"""Merging blocks by density into a binary tree."""

from __future__ import annotations

import numpy as np

from republish.arrays import IntArray
from republish.kernels import kernel


@kernel
def find(top: IntArray, node: int) -> int:
    """Return the cluster that a node belongs to, shortening the way for the next time."""
    while top[node] != node:
        top[node] = top[top[node]]
        node = top[node]
    return node


@kernel
def merge_dense(by_density: IntArray, start: IntArray, near: IntArray) -> IntArray:
    """Return the two children of each merge: blocks in falling density, each joined with its denser neighbours."""
    count = by_density.size
    top = np.arange(2 * count - 1).astype(np.int32)
    there = np.zeros(count, np.bool_)
    child = np.empty((max(count - 1, 0), 2), np.int32)
    made = count
    for block in by_density:
        there[block] = True
        for i in range(start[block], start[block + 1]):
            if not there[near[i]]:
                continue
            one, other = find(top, near[i]), find(top, block)
            if one != other:
                child[made - count, 0], child[made - count, 1] = one, other
                top[one] = top[other] = made
                made += 1
    # Blocks fill the cube, so that nothing should be left over; if it is, join it.
    for block in range(1, count):
        one, other = find(top, 0), find(top, block)
        if one != other:
            child[made - count, 0], child[made - count, 1] = one, other
            top[one] = top[other] = made
            made += 1
    return child
