"""Dissolving regions whose blocks hold too little, after points were added or taken away."""

from __future__ import annotations

import numpy as np

from republish.arrays import IntArray
from republish.kernels import kernel
from republish.requirements.base import Rules
from republish.requirements.rules import satisfied


@kernel
def histograms_of(block: IntArray, codes: IntArray, blocks: int, m: int) -> IntArray:
    """Return how often each code occurs in each block."""
    counts = np.zeros((blocks, m), np.int64)
    for i in range(block.size):
        counts[block[i], codes[i]] += 1
    return counts


@kernel
def dissolve(
    parent: IntArray, by_level: IntArray, count: IntArray, histogram: IntArray, rules: Rules, m: int
) -> IntArray:
    """Return the region that takes the points of each region: itself where its block holds enough.

    The points of a block that does not go to the smallest region around it, from the innermost regions on. The
    outermost one takes in the smallest block directly inside it until it holds enough. `count` and `histogram`
    are added up on the way; `by_level` lists the regions, the deepest first.
    """
    taker = np.arange(parent.size).astype(np.int32)
    nothing = np.zeros(0, np.int64)
    for region in by_level:
        counts = nothing if rules.plain else histogram[region]
        if parent[region] < 0 or (count[region] >= m and satisfied(rules, counts, count[region])):
            continue
        # The regions around come later in the list: all of them still stand.
        _give(taker, count, histogram, region, parent[region])
    while count[0] < m or not satisfied(rules, nothing if rules.plain else histogram[0], count[0]):
        least = -1
        for region in range(1, parent.size):
            if taker[region] != region or (least >= 0 and count[region] >= count[least]):
                continue
            above = parent[region]
            while taker[above] != above:
                above = taker[above]
            if above == 0:
                least = region
        if least < 0:
            break
        _give(taker, count, histogram, least, 0)
    for region in range(parent.size):
        above = taker[region]
        while taker[above] != above:
            above = taker[above]
        taker[region] = above
    return taker


@kernel
def _give(taker: IntArray, count: IntArray, histogram: IntArray, region: int, above: int) -> None:
    taker[region] = above
    count[above] += count[region]
    for code in range(histogram.shape[1]):
        histogram[above, code] += histogram[region, code]
