"""Face neighbours of regions, found by their keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import IntArray, WordArray
from republish.kernels import kernel
from republish.spatial._key_bits import bit_at, enclosing

_WORD = 64


class HalvedRegions(NamedTuple):
    """The regions of an index as the kernels read them.

    `depth[level, q]` is how often a region of that level was halved in dimension q; `place[q, j]` the level that
    halves it for the j-th time.
    """

    prefix: WordArray
    level: IntArray
    parent: IntArray
    depth: IntArray
    place: IntArray


@kernel
def faces(regions: HalvedRegions, begin: int, end: int, found: IntArray) -> None:
    """Write who lies beyond the faces of some regions: `found[region, 2 q]` below, `found[region, 2 q + 1]` above.

    Beyond a face lies a box of the region's own size; the smallest region around it is the neighbour. Smaller
    regions in that box find this one from their side. -1 at the border of the cube.
    """
    words = regions.prefix.shape[0]
    key = np.zeros((words, 1), np.uint64)
    for region in range(begin, end):
        level = regions.level[region]
        for q in range(regions.depth.shape[1]):
            depth = regions.depth[level, q]
            at = 0
            for j in range(depth):
                at = 2 * at + bit_at(regions.prefix, region, regions.place[q, j])
            for side in range(2):
                beyond = at - 1 + 2 * side
                if beyond < 0 or beyond >= (1 << depth):
                    found[region, 2 * q + side] = -1
                    continue
                for w in range(words):
                    key[w, 0] = regions.prefix[w, region]
                _set(key, beyond, depth, regions.place[q])
                found[region, 2 * q + side] = enclosing(
                    regions.prefix, regions.level, regions.parent, key, 0, level
                )


@kernel
def _set(key: WordArray, value: int, depth: int, place: IntArray) -> None:
    """Write a coordinate into the bits of its dimension."""
    for j in range(depth):
        level = place[j]
        bit = np.uint64(1) << np.uint64(_WORD - 1 - level % _WORD)
        if (value >> (depth - 1 - j)) & 1:
            key[level // _WORD, 0] |= bit
        else:
            key[level // _WORD, 0] &= ~bit


@kernel
def both_ways(found: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the neighbours of each region begin, and all of them, from either side; some come twice."""
    count, sides = found.shape
    start = np.zeros(count + 1, np.int64)
    for region in range(count):
        for s in range(sides):
            other = found[region, s]
            if other >= 0:
                start[region + 1] += 1
                start[other + 1] += 1
    for region in range(count):
        start[region + 1] += start[region]
    free = start[:-1].copy()
    near = np.empty(start[-1], np.int32)
    for region in range(count):
        for s in range(sides):
            other = found[region, s]
            if other >= 0:
                near[free[region]] = other
                free[region] += 1
                near[free[other]] = region
                free[other] += 1
    return start, near
