"""Blocks in a binary tree of clusters, and any k as a cut of that tree (thesis 3.6.1 and 3.6.2).

Two rules make the tree. `dendrogram_of`, from above: sets of blocks are cut in two where the certainty penalty of their
bounding boxes falls most, at sizes that are wanted as groups. `density_tree`, the rule of the source, from below:
neighbours of closest density are merged, pair by pair.

A cut descends from the root wherever both parts satisfy what is asked, and by density also where one does: then the
other goes to the nearest group on that side. It reads counts and histograms of blocks, never the points, and the groups
of a larger k are unions of those of a smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.errors import CannotPublish, PolicyError
from republish.microdata import Axis
from republish.requirements.base import Rules
from republish.requirements.l_diversity import OP_DISTINCT
from republish.spatial.bang.bang_file import BangIndex, Sensitive, size_rules
from republish.spatial.dendrogram._boxes import BlockBoxes, bounds
from republish.spatial.dendrogram._cut import cut_by_rules, cut_by_size, node_sizes
from republish.spatial.dendrogram._density import joined, merged_by_density
from republish.spatial.dendrogram._divide import DivisionTree, Task, divide
from republish.spatial.dendrogram._faces import HalvedRegions, both_ways, faces
from republish.spatial.dendrogram._passing import cut_passing, enough_nodes
from republish.spatial.extents import axis_arrays
from republish.spatial.threads import in_chunks, side_by_side, threads

_FEWEST = 5_000
_GRAIN = 5_000


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """A binary tree over the blocks of an index.

    Attributes:
        child: the two nodes of each merge; node b is block b, node B + i the i-th merge, the last one the root.
        size: the points of every node.
        start: where the histogram of each block begins; empty where codes were not given.
        code: the sensitive codes of each block.
        times: how often each occurs.
    """

    child: IntArray
    size: IntArray
    start: IntArray
    code: IntArray
    times: IntArray

    def cut(self, k: int, rules: Rules | None = None) -> IntArray:
        """Return the group of every block, 0 and on: at least k points each, and what the rules ask.

        Raises:
            CannotPublish: the whole does not reach k.
        """
        rules = self._asked(k, rules)
        if rules.plain:
            return cut_by_size(self.child, self.size, rules.min_size)
        return cut_by_rules(self.child, self.size, rules, self.start, self.code, self.times)

    def _asked(self, k: int, rules: Rules | None) -> Rules:
        """What is asked of every group, k with it."""
        if self.size.size == 0 or self.size[-1] < k:
            total = int(self.size[-1]) if self.size.size else 0
            raise CannotPublish(
                f"all points together must be at least k={k}; there are {total}; lower k or wait for more rows"
            )
        rules = size_rules(k) if rules is None else rules
        if not rules.plain and self.start.size == 0:
            raise PolicyError(
                "a cut under requirements needs the sensitive codes; give them to the dendrogram"
            )
        return rules._replace(min_size=max(k, rules.min_size))


@dataclass(frozen=True, eq=False)
class DensityTree(Dendrogram):
    """A binary tree over clusters of blocks by density.

    Attributes:
        density: the logarithm of points over volume of every node.
        first: where the neighbours of each block begin.
        near: all of them.
    """

    density: FloatArray
    first: IntArray
    near: IntArray

    def cut(self, k: int, rules: Rules | None = None) -> IntArray:
        """Return the group of every block, 0 and on: the deepest nodes with at least k points and what the rules ask.

        A node with too little goes to the group of the block beside it, on its sibling's side, whose density is
        closest. Where adding points may break a rule, as t-closeness, its parent is a group instead.

        Raises:
            CannotPublish: the whole does not reach k.
        """
        rules = self._asked(k, rules)
        if not np.all(rules.op == OP_DISTINCT):
            return super().cut(k, rules)
        enough = self.size >= rules.min_size
        if not rules.plain:
            enough = enough_nodes(self.child, self.size, rules, self.start, self.code, self.times)
        return cut_passing(self.child, enough, self.density, self.first, self.near)


def neighbours(index: BangIndex) -> tuple[IntArray, IntArray]:
    """Return the face neighbours of all blocks: those of block b are `near[start[b]:start[b + 1]]`, some twice.

    Two blocks are neighbours where one of them is the smallest region around the box that lies, as large as the
    other region, beyond one of its faces.
    """
    regions = _regions(index)
    found = np.empty((index.blocks, 2 * len(index.cube.scales)), dtype=np.int32)
    in_chunks(index.blocks, lambda begin, end: faces(regions, begin, end, found), _FEWEST)
    start, near = both_ways(found)
    return start, near


def densities(index: BangIndex) -> FloatArray:
    """Return the points of each block over its volume."""
    return np.asarray(index.count / volumes(index), dtype=np.float64)


def volumes(index: BangIndex) -> FloatArray:
    """Return the volume of each block: that of its region without the regions nested in it."""
    volume = np.ldexp(1.0, -index.level)
    inner = index.parent >= 0
    nested = np.bincount(index.parent[inner], weights=volume[inner], minlength=index.blocks)
    # Very many small regions may seem to fill one around them that still has room for its points.
    return np.maximum(volume - nested, np.ldexp(1.0, -index.cube.levels))


def density_tree(
    index: BangIndex, sensitive: Sensitive | None = None, unit: IntArray | None = None
) -> DensityTree:
    """Return the tree over an index's blocks by density.

    Args:
        index: its regions and how many points each has.
        sensitive: the codes of the rows, for cuts under requirements.
        unit: the number of each block where several blocks, as groups that stay together, are one leaf of the tree.
    """
    units = np.arange(index.blocks) if unit is None else unit.astype(np.int64)
    leaves = int(units.max()) + 1
    count = np.bincount(units, weights=index.count, minlength=leaves).astype(np.int64)
    volume = np.bincount(units, weights=volumes(index), minlength=leaves).astype(np.float64)
    first, beside = joined(units, leaves, *neighbours(index))
    child, space = merged_by_density(
        np.maximum(count, 1), volume, first, beside
    )  # a leaf may have lost all points
    size = node_sizes(child, count)
    histograms = _block_histograms(units[index.block], leaves, sensitive)
    density = np.log(np.maximum(size, 1)) - np.log(space)
    return DensityTree(child, size, *histograms, density, first, beside)


def dendrogram_of(
    index: BangIndex,
    points: FloatArray,
    axes: Sequence[Axis],
    sensitive: Sensitive | None = None,
    wanted: Sequence[int] = (),
) -> Dendrogram:
    """Return the tree over an index's blocks by least certainty penalty.

    Args:
        index: the index of these points.
        points: `points[q, row]`, read once for the bounding box of each block.
        axes: how they are measured.
        sensitive: the codes of the rows, for cuts under requirements, and what every group shall satisfy.
        wanted: the sizes of groups that cuts will be asked for; the tree does best at these.
    """
    if any(size < 1 for size in wanted):
        raise PolicyError("the sizes of groups that are wanted must be at least 1")
    histograms = _block_histograms(index.block, index.blocks, sensitive)
    rules = size_rules(index.m) if sensitive is None else sensitive.rules
    sizes = np.array(sorted(set(wanted), reverse=True) or [index.m], dtype=np.int64)
    order = np.arange(index.blocks)
    tree = DivisionTree(order, order.copy(), np.empty((max(index.blocks - 1, 0), 2), dtype=np.int32))
    _divide(Task(_boxes(index, points, axes), tree, rules, *histograms), sizes)
    return Dendrogram(tree.child, node_sizes(tree.child, index.count), *histograms)


def _divide(task: Task, sizes: IntArray) -> None:
    """Make the tree; sets that are no longer large are taken on by several threads."""
    blocks = len(task.tree.order)
    whole = np.array([[0, blocks, blocks - 2, 0]], dtype=np.int64)
    if blocks < 2:
        return
    if threads() < 2 or blocks <= _GRAIN:
        divide(task, sizes, whole, 1)
        return
    parts = divide(task, sizes, whole, max(_GRAIN, blocks // (16 * threads())))
    side_by_side(lambda part: divide(task, sizes, part, 1), [parts[p : p + 1] for p in range(len(parts))])


def _regions(index: BangIndex) -> HalvedRegions:
    turns, dimensions = index.cube.turns, len(index.cube.scales)
    depth = np.zeros((len(turns) + 1, dimensions), dtype=np.int64)
    depth[1:] = np.cumsum(turns[:, None] == np.arange(dimensions), axis=0)
    place = np.zeros((dimensions, int(depth[-1].max(initial=0))), dtype=np.int64)
    for q in range(dimensions):
        at = np.flatnonzero(turns == q)
        place[q, : len(at)] = at
    return HalvedRegions(index.prefix, index.level, index.parent, depth, place)


def bounding_boxes(points: FloatArray, block: IntArray, blocks: int) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest coordinates of each block's points: `low[block, q]` and `high[block, q]`."""
    low, high = np.empty((blocks, len(points))), np.empty((blocks, len(points)))
    bounds(points, block, low, high)
    return low, high


def _boxes(index: BangIndex, points: FloatArray, axes: Sequence[Axis]) -> BlockBoxes:
    low, high = bounding_boxes(points, index.block, index.blocks)
    domains = axis_arrays(axes, [axis.width for axis in axes])
    return BlockBoxes(low, high, index.count.astype(np.int64), **domains)


def _block_histograms(
    block: IntArray, blocks: int, sensitive: Sensitive | None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return where the histogram of each block begins, its codes, and how often each occurs."""
    if sensitive is None or sensitive.rules.plain:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    codes = sensitive.codes
    m = int(codes.max(initial=0)) + 1
    pairs, times = np.unique(block.astype(np.int64) * m + codes, return_counts=True)
    owner, code = np.divmod(pairs, m)
    return np.searchsorted(owner, np.arange(blocks + 1)), code, times.astype(np.int64)
