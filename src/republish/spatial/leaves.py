"""Cells made leaf by leaf: what `KeptCuts.divide` does where rows of different leaves lie apart.

Whoever knows how many rows lie where decides which kept cuts are open (`republish.verify.led_by_cuts`). Then every
leaf of the tree is cut further by whoever has its rows, and the new cuts are put together in the order of the leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.kernels import kernel
from republish.microdata import Axis, Microdata
from republish.spatial._kept_cuts_kernel import CutCells, CutSpace, CutTree
from republish.spatial._leaves_kernel import CutLeaves, resolve_leaves
from republish.spatial.kept_cuts import KeptCuts, _ranges, _space


class Grown(NamedTuple):
    """New cuts below leaves: `first[i]` is the first one below `leaf[i]`, from which their children are counted."""

    leaf: IntArray
    first: IntArray
    axis: IntArray
    at: FloatArray
    child: IntArray


class LeafCells(NamedTuple):
    """The cells of some leaves: the cell of every row, the regions of the cells, their leaves, and the new cuts."""

    cell: IntArray
    low: FloatArray
    high: FloatArray
    leaf: IntArray
    grown: Grown


@dataclass(frozen=True, eq=False)
class OpenCuts:
    """The kept cuts as a release begins, in the coordinates of its view."""

    cuts: KeptCuts
    axes: tuple[Axis, ...]
    domain: FloatArray
    space: CutSpace
    tree: CutTree

    @classmethod
    def of(cls, cuts: KeptCuts, corners: Microdata, moved: Mapping[str, float]) -> OpenCuts:
        """The cuts for a view of which `corners` have the least and the greatest values, and missing ones."""
        met = cuts._met(corners, moved)
        domain = met._domain(corners)
        return cls(met, corners.axes, domain, _space(corners, domain), met._tree(corners.axes, 0))

    def cells(self, points: FloatArray, leaf: IntArray, is_open: BoolArray, k: int) -> LeafCells:
        """The cells of the rows of some leaves, of each leaf all.

        A leaf is the number of a closed cut, or for a side of a cut the one of `Leading.places`; `is_open` says of
        every cut whether it is open.
        """
        order = np.argsort(leaf, kind="stable")
        names, start = np.unique(leaf[order], return_index=True)
        cuts, count, q = self.cuts.cuts, len(names), len(self.axes)
        most = len(leaf) // k + count
        leaves = CutLeaves(
            np.append(start, len(leaf)).astype(np.int64),
            names >= cuts,
            np.stack(regions_of(self.tree, is_open, names, q), axis=1),
            np.zeros(count + 1, np.int64),
            np.zeros(count + 1, np.int64),
        )
        tree = CutTree(np.zeros(most, np.int16), np.zeros(most), np.full((most, 2), -1, np.int32))
        cells = CutCells.room(most, q)
        columns = np.ascontiguousarray(points[:, order], dtype=np.float64)
        cell = np.empty(len(leaf), np.int32)
        cell[order] = resolve_leaves(columns, leaves, self.space, k, tree, cells)
        found, own = int(leaves.cell[-1]), cells.begin[: leaves.cell[-1]]
        lows, highs = _ranges(self.axes, cells, found, self.domain)
        new = int(leaves.cut[-1])
        cut = np.flatnonzero(np.diff(leaves.cut))
        grown = Grown(names[cut], leaves.cut[cut], tree.axis[:new], tree.at[:new], tree.child[:new])
        return LeafCells(cell, lows, highs, names[own], grown)

    def with_cuts(self, grown: Sequence[Grown]) -> KeptCuts:
        """The cuts with those that were added below leaves, in the order of the leaves, whoever added them."""
        parts = [part for part in grown if len(part.leaf)]
        if not parts:
            return self.cuts
        sizes = [np.diff(np.append(part.first, len(part.axis))) for part in parts]
        before = np.cumsum([0, *(len(part.axis) for part in parts)])
        leaf = np.concatenate([part.leaf for part in parts])
        start = np.concatenate([part.first + at for part, at in zip(parts, before, strict=False)])
        size, order = np.concatenate(sizes), np.argsort(leaf, kind="stable")
        base = self.cuts.cuts + np.cumsum(size[order]) - size[order]
        taken = np.repeat(start[order] - (base - self.cuts.cuts), size[order]) + np.arange(size.sum())
        axis, at, child = (np.concatenate([getattr(p, name) for p in parts]) for name in Grown._fields[2:])
        below = child[taken].astype(np.int64)
        below = np.where(below >= 0, below + np.repeat(base, size[order])[:, None], -1)
        children = np.concatenate([self.tree.child, below.astype(np.int32)])
        if self.cuts.cuts:
            side = leaf[order] - self.cuts.cuts
            children[side // 2, side % 2] = base
        tree = CutTree(
            np.append(self.tree.axis, axis[taken]).astype(np.int16),
            np.append(self.tree.at, at[taken]),
            children,
        )
        return self.cuts._with(self.axes, tree, len(tree.axis))


def regions_of(tree: CutTree, is_open: BoolArray, leaf: IntArray, q: int) -> tuple[FloatArray, FloatArray]:
    """The regions of leaves, above `low` and up to `high` in each of q axes."""
    cuts = len(is_open)
    low, high = np.full((len(leaf), q), -np.inf), np.full((len(leaf), q), np.inf)
    if cuts:
        above = np.full(cuts, -1, dtype=np.int64)
        for side in range(2):
            there = np.flatnonzero(tree.child[:cuts, side] >= 0)
            above[tree.child[there, side]] = 2 * there + side
        at_side = np.where(leaf >= cuts, leaf - cuts, -1)
        from_cut = np.where(leaf < cuts, above[np.minimum(leaf, cuts - 1)], at_side)
        _climb(from_cut, above, is_open, tree.axis, tree.at, low, high)
    return low, high


@kernel
def _climb(start, above, is_open, axis, at, low, high):  # type: ignore[no-untyped-def]
    """Narrow the region of every leaf by the open cuts above it; `above` is two times a cut, and its side."""
    for leaf in range(len(start)):
        up = start[leaf]
        while up >= 0:
            cut, side = up // 2, up % 2
            if is_open[cut]:
                q = axis[cut]
                if side == 0:
                    high[leaf, q] = min(high[leaf, q], at[cut])
                else:
                    low[leaf, q] = max(low[leaf, q], at[cut])
            up = above[cut]
