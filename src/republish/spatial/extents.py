"""The certainty penalty of a cell that is still to be made: the share of its domain that given bounds leave open.

What a published cell costs is `release.cells.Cells.penalty`; publishers and indexes foresee it by the kernels here.
They read quasi-identifiers as `axis_arrays` lays them out, whatever else their tuple holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from republish.kernels import kernel

if TYPE_CHECKING:
    from republish.microdata import Axis

FLAT = 1
HIERARCHY = 2
_SMALLEST = 5e-324


def axis_arrays(axes: Sequence[Axis], widths: ArrayLike) -> dict[str, NDArray[Any]]:
    """Widths, weights, kinds and hierarchies of quasi-identifiers as kernels read them.

    Weights are those of the schema over their mean, so that a cell that says nothing costs 1 on average.
    A hierarchy of axis q lies in `start` and `end` from `offset[q]`, one line of `levels[q]` numbers for each leaf:
    the half-open leaf ranges of its ancestors, itself first, the root last.
    """
    trees = [axis.hierarchy for axis in axes]
    shapes = [(0, 0) if tree is None else tree.start.shape for tree in trees]
    sizes = np.array([leaves * levels for leaves, levels in shapes], dtype=np.int64)
    nothing = np.empty(0, dtype=np.int32)
    weights = np.array([axis.column.weight for axis in axes], dtype=np.float64)
    return {
        "width": np.array(widths, dtype=np.float64),
        "weight": weights / weights.mean() if len(weights) else weights,
        "kind": np.array([axis.kind_code for axis in axes], dtype=np.int8),
        "start": np.concatenate([nothing, *(tree.start.ravel() for tree in trees if tree)], dtype=np.int32),
        "end": np.concatenate([nothing, *(tree.end.ravel() for tree in trees if tree)], dtype=np.int32),
        "offset": np.cumsum(sizes) - sizes,
        "levels": np.array([levels for _, levels in shapes], dtype=np.int64),
    }


@kernel
def extent(space: Any, axis: int, lowest: float, highest: float) -> float:
    """Return the share of the column's domain that rows with these bounds would be published with, times its weight."""
    if lowest == highest or space.width[axis] <= 0.0:
        return 0.0
    if lowest == -np.inf:
        return float(space.weight[axis])
    if space.kind[axis] == HIERARCHY:
        line, level = ancestor(space, axis, lowest, highest)
        share = (space.end[line + level] - space.start[line + level]) / space.width[axis]
        return float(space.weight[axis] * share)
    span = highest - lowest + 1.0 if space.kind[axis] == FLAT else highest - lowest
    # Where the quotient is too small for a float the values still differ.
    return max(float(space.weight[axis] * (span / space.width[axis])), _SMALLEST)


@kernel
def ancestor(space: Any, axis: int, lowest: float, highest: float) -> tuple[int, int]:
    """Return where the ancestors of the lowest leaf lie, and the first level that holds both leaves."""
    line = space.offset[axis] + int(lowest) * space.levels[axis]
    level = 0
    while space.end[line + level] <= highest:
        level += 1
    return line, level
