"""Blocks in a binary tree of clusters, and any k as a cut of that tree (thesis 3.6.1 and 3.6.2).

Two rules make the tree. `penalty`, from above: sets of blocks are cut in two where the certainty penalty of their
bounding boxes falls most, at sizes that are wanted as groups. `density`, the rule of the source, from below: blocks
in falling density, each joined with its denser neighbours. Such a tree is often a chain, into which blocks come one
at a time, and then its cuts above M are few large groups or a single one.

A cut descends from the root wherever both parts satisfy what is asked. It reads counts and histograms of
blocks, never the points, and the groups of a larger k are unions of those of a smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.errors import CannotPublish, PolicyError
from republish.microdata import Axis
from republish.requirements.base import Rules
from republish.spatial.bang.bang_file import BangIndex, Sensitive, size_rules
from republish.spatial.dendrogram._boxes import BlockBoxes, bounds
from republish.spatial.dendrogram._cut import cut_by_rules, cut_by_size, node_sizes
from republish.spatial.dendrogram._density import merge_dense
from republish.spatial.dendrogram._divide import DivisionTree, Task, divide
from republish.spatial.dendrogram._faces import HalvedRegions, both_ways, faces
from republish.spatial.extents import axis_arrays
from republish.spatial.threads import in_chunks, side_by_side, threads

MERGES = ("penalty", "density")
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
        if self.size.size == 0 or self.size[-1] < k:
            total = int(self.size[-1]) if self.size.size else 0
            raise CannotPublish(
                f"all points together must be at least k={k}; there are {total}; lower k or wait for more rows"
            )
        if rules is None or rules.plain:
            return cut_by_size(self.child, self.size, max(k, 1 if rules is None else rules.min_size))
        if self.start.size == 0:
            raise PolicyError(
                "a cut under requirements needs the sensitive codes; give them to the dendrogram"
            )
        rules = rules._replace(min_size=max(k, rules.min_size))
        return cut_by_rules(self.child, self.size, rules, self.start, self.code, self.times)


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
    """Return the points of each block over its volume: that of its region without the regions nested in it."""
    volume = np.ldexp(1.0, -index.level)
    inner = index.parent >= 0
    nested = np.bincount(index.parent[inner], weights=volume[inner], minlength=index.blocks)
    return np.asarray(index.count / (volume - nested), dtype=np.float64)


def dendrogram_of(
    index: BangIndex,
    points: FloatArray,
    axes: Sequence[Axis],
    sensitive: Sensitive | None = None,
    merge: str = "penalty",
    wanted: Sequence[int] = (),
) -> Dendrogram:
    """Return the tree over an index's blocks.

    Args:
        index: the index of these points.
        points: `points[q, row]`, read once for the bounding box of each block.
        axes: how they are measured.
        sensitive: the codes of the rows, for cuts under requirements, and what every group shall satisfy.
        merge: `penalty` or `density`.
        wanted: the sizes of groups that cuts will be asked for; `penalty` does best at these.
    """
    if merge not in MERGES:
        raise PolicyError(f"merge must be one of {', '.join(MERGES)}; found {merge!r}")
    if any(size < 1 for size in wanted):
        raise PolicyError("the sizes of groups that are wanted must be at least 1")
    histograms = _block_histograms(index, sensitive)
    if merge == "density":
        # Equal densities in the order of the regions.
        child = merge_dense(np.argsort(-densities(index), kind="stable"), *neighbours(index))
    else:
        rules = size_rules(index.m) if sensitive is None else sensitive.rules
        sizes = np.array(sorted(set(wanted), reverse=True) or [index.m], dtype=np.int64)
        order = np.arange(index.blocks)
        tree = DivisionTree(order, order.copy(), np.empty((max(index.blocks - 1, 0), 2), dtype=np.int32))
        _divide(Task(_boxes(index, points, axes), tree, rules, *histograms), sizes)
        child = tree.child
    return Dendrogram(child, node_sizes(child, index.count), *histograms)


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


def _boxes(index: BangIndex, points: FloatArray, axes: Sequence[Axis]) -> BlockBoxes:
    low = np.empty((index.blocks, len(points)))
    high = np.empty((index.blocks, len(points)))
    bounds(points, index.block, low, high)
    domains = axis_arrays(axes, [axis.width for axis in axes])
    return BlockBoxes(low, high, index.count.astype(np.int64), **domains)


def _block_histograms(index: BangIndex, sensitive: Sensitive | None) -> tuple[IntArray, IntArray, IntArray]:
    """Return where the histogram of each block begins, its codes, and how often each occurs."""
    if sensitive is None or sensitive.rules.plain:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    codes = sensitive.codes
    m = int(codes.max(initial=0)) + 1
    pairs, times = np.unique(index.block.astype(np.int64) * m + codes, return_counts=True)
    owner, code = np.divmod(pairs, m)
    return np.searchsorted(owner, np.arange(index.blocks + 1)), code, times.astype(np.int64)
