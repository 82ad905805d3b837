"""The rows of many leaves of a kept tree brought into cells, each leaf by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from republish.kernels import kernel
from republish.spatial._kept_cuts_kernel import CutCells, CutSpace, CutTree, resolve

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CutLeaves(NamedTuple):
    """Leaves by their rows, one after the other, the end last; whether they may be cut; their first cut and cell.

    The region of leaf i is above `region[i, 0]` and up to `region[i, 1]`.
    """

    start: NDArray[np.int64]
    cuttable: NDArray[np.bool_]
    region: NDArray[np.float64]
    cut: NDArray[np.int64]
    cell: NDArray[np.int64]


@kernel
def resolve_leaves(
    columns: NDArray[np.float64], leaves: CutLeaves, space: CutSpace, k: int, tree: CutTree, cells: CutCells
) -> NDArray[np.int32]:
    """Return the cell of each row; write the cuts of each leaf, children counted from its first, and the cells.

    The rows are sorted by leaf. `cells.begin` is the leaf of each cell.
    """
    cell = np.empty(columns.shape[1], np.int32)
    leaves.cut[0] = leaves.cell[0] = 0
    for leaf in range(leaves.cuttable.size):
        begin, end = leaves.start[leaf], leaves.start[leaf + 1]
        cut, first = leaves.cut[leaf], leaves.cell[leaf]
        own = CutTree(tree.axis[cut:], tree.at[cut:], tree.child[cut:])
        inside = CutCells(
            cells.begin[first:],
            cells.low[first:],
            cells.high[first:],
            cells.missing[first:],
            cells.extended[first:],
        )
        least = k if leaves.cuttable[leaf] else end - begin  # a leaf of fewer than two times that is not cut
        block = np.ascontiguousarray(columns[:, begin:end])
        found, count, cuts, _ = resolve(block, space, own, 0, least, inside, leaves.region[leaf])
        for i in range(end - begin):
            cell[begin + i] = first + found[i]
        for c in range(first, first + count):
            cells.begin[c] = leaf
        leaves.cut[leaf + 1], leaves.cell[leaf + 1] = cut + cuts, first + count
    return cell
