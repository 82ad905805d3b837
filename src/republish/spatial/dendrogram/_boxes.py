"""The bounding boxes of blocks, and what a box costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from republish.kernels import kernel

if TYPE_CHECKING:
    from republish.arrays import FloatArray, IntArray

_INTERVAL, _TREE = 0, 2


class BlockBoxes(NamedTuple):
    """The bounding box and the points of each block, and what an extent in each dimension counts.

    A tree of dimension q lies in `start` and `end` from `offset[q]`, one line of `levels[q]` numbers a leaf: the
    half-open leaf ranges of its ancestors, itself first.
    """

    low: FloatArray
    high: FloatArray
    size: IntArray
    width: FloatArray
    kind: IntArray
    start: IntArray
    end: IntArray
    offset: IntArray
    levels: IntArray


@kernel
def bounds(points: FloatArray, block: IntArray, low: FloatArray, high: FloatArray) -> None:
    """Write the least and the greatest coordinate of each block in each dimension."""
    for b in range(low.shape[0]):
        for q in range(low.shape[1]):
            low[b, q], high[b, q] = np.inf, -np.inf
    for i in range(block.size):
        b = block[i]
        for q in range(points.shape[0]):
            low[b, q] = min(low[b, q], points[q, i])
            high[b, q] = max(high[b, q], points[q, i])


@kernel
def share(boxes: BlockBoxes, q: int, low: float, high: float) -> float:
    """Return the share of its domain that a cell with these bounds leaves open.

    In a hierarchy that is the mean of the share of the common ancestor, which will be published, and that of those of
    its children that the bounds span: a cut that leaves fewer children under the same ancestor is progress too.
    """
    if low == high or boxes.width[q] <= 0.0:
        return 0.0
    if low == -np.inf:
        return 1.0
    if boxes.kind[q] == _INTERVAL:
        return float((high - low) / boxes.width[q])
    leaves = high - low + 1.0
    if boxes.kind[q] == _TREE:
        first = boxes.offset[q] + int(low) * boxes.levels[q]
        last = boxes.offset[q] + int(high) * boxes.levels[q]
        level = 0
        while boxes.end[first + level] <= high:
            level += 1
        ancestor = boxes.end[first + level] - boxes.start[first + level]
        children = boxes.end[last + level - 1] - boxes.start[first + level - 1]
        leaves = 0.5 * (ancestor + children)
    return float(leaves / boxes.width[q])
