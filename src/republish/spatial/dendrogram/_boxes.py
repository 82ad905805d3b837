"""The bounding boxes of blocks, and what a box costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.kernels import kernel
from republish.spatial.extents import HIERARCHY, ancestor, extent


class BlockBoxes(NamedTuple):
    """The bounding box and the points of each block, and what an extent in each dimension counts.

    From `width` on it is `republish.spatial.extents.axis_arrays`.
    """

    low: FloatArray
    high: FloatArray
    size: IntArray
    width: FloatArray
    weight: FloatArray
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
    """Return the share of its domain that a cell with these bounds leaves open, times its weight.

    In a hierarchy that is the mean of the share of the common ancestor, which will be published, and that of those of
    its children that the bounds span: a cut that leaves fewer children under the same ancestor is progress too.
    """
    if boxes.kind[q] != HIERARCHY or not -np.inf < low < high or boxes.width[q] <= 0.0:
        return extent(boxes, q, low, high)
    first, level = ancestor(boxes, q, low, high)
    last = boxes.offset[q] + int(high) * boxes.levels[q]
    above = boxes.end[first + level] - boxes.start[first + level]
    children = boxes.end[last + level - 1] - boxes.start[first + level - 1]
    return float(boxes.weight[q] * (0.5 * (above + children) / boxes.width[q]))
