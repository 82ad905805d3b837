"""Cells that hide the batch: of every batch at least k rows in a cell, and the cells of a batch the whole space.

All batches follow one tree of kept cuts, made from quasi-identifiers and k alone: for a batch a cut is open where both
sides hold k rows of it. So cells of all batches and releases are nested or apart, and nothing is cut for a batch alone.
Whoever looks for a person finds one cell of every batch that she fits. A batch of fewer than k rows cannot hide in a
cell of its own; all such batches share one cell that is the whole space, and where they are too few together the
smallest of the others joins them.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.microdata import Microdata
from republish.spatial._kept_cuts_kernel import ALL_MISSING, SOME_MISSING, CutCells, resolve
from republish.spatial.kept_cuts import Divided, _ranges, _space


def hiding_batches(view: Microdata, divided: Divided, batch: IntArray, k: int) -> Divided:
    """The cells of a view whose cuts were made, every batch for itself.

    `batch` is that of every row; rows of none, which have a negative number, hide among each other like a batch.
    """
    if view.rows == 0:
        return divided
    tree = divided.cuts._tree(view.axes, 0)
    q, space = len(view.axes), _space(view, divided.domain)
    _, number, sizes = np.unique(batch, return_inverse=True, return_counts=True)
    shared = _sharing(sizes, k)
    part = np.where(shared[number], len(sizes), number)  # those that share come last
    order = np.argsort(part, kind="stable")
    parts, start = np.unique(part[order], return_index=True)
    end = np.append(start[1:], view.rows)
    everywhere = np.repeat([[-np.inf], [np.inf]], q, axis=1)
    cells, cell = CutCells.room(view.rows // k, q), np.empty(view.rows, np.int32)
    found = crossing = 0
    for one, begin, upto in zip(parts.tolist(), start.tolist(), end.tolist(), strict=True):
        rows = order[begin:upto]
        columns = np.array(view.points[:, rows], dtype=np.float64, order="C")
        own = CutCells._make(array[found:] for array in cells)
        least = len(rows) if one == len(sizes) else k  # fewer than two times that are not cut
        cell[rows], count, _, passed = resolve(
            columns, space, tree, divided.cuts.cuts, least, own, everywhere
        )
        cell[rows] += found
        found, crossing = found + count, crossing + passed
    _admit_all(cells, found)
    low, high = _ranges(view.axes, cells, found, divided.domain)
    extended = cells.extended[:found].copy()
    return divided._replace(cell=cell, low=low, high=high, crossing=int(crossing), extended=extended)


def _sharing(sizes: IntArray, k: int) -> BoolArray:
    """The batches that share one cell: those of fewer than k rows, and others as long as these are fewer than k."""
    order = np.argsort(sizes, kind="stable")
    small = int(np.count_nonzero(sizes < k))
    shared = np.zeros(len(sizes), dtype=np.bool_)
    if small:
        enough = int(np.searchsorted(np.cumsum(sizes[order]), k)) + 1
        shared[order[: max(small, enough)]] = True
    return shared


def _admit_all(cells: CutCells, found: int) -> None:
    """Let cells in which all values happen to miss, though no cut says so, admit others too."""
    whole = (cells.missing[:found] == ALL_MISSING) & (cells.high[:found] > -np.inf)
    cells.missing[:found][whole] = SOME_MISSING
