"""Where people are, as a publisher measures it: see `republish.publishers` for what is near to what."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.retracing.precedence import Crowd
from republish.microdata import FLAT, INTERVAL, MISSING, Axis, Microdata


def crowd_of(view: Microdata, row: IntArray, fixed: BoolArray) -> Crowd:
    """The entries of some rows of a view, -1 for nobody; the value of those that are `fixed` is known."""
    real = row >= 0
    numbers = [scaled(axis, view.points[a]) for a, axis in enumerate(view.axes) if axis.kind_code == INTERVAL]
    number = np.array([np.where(real, column[row], 0.0) for column in numbers]).reshape(
        len(numbers), len(row)
    )
    leaves: list[IntArray] = []
    tables: list[FloatArray] = []
    for a, axis in enumerate(view.axes):
        if axis.kind_code != INTERVAL:
            found, place = np.unique(view.points[a][row[real]], return_inverse=True)
            leaf = np.zeros(len(row), dtype=np.int64)
            leaf[real] = place + sum(map(len, tables))
            leaves.append(leaf)
            tables.append(_between_leaves(axis, found))
    apart, first = np.zeros((sum(map(len, tables)),) * 2), 0
    for table in tables:
        apart[first : first + len(table), first : first + len(table)] = table
        first += len(table)
    leaf_of = np.array(leaves, dtype=np.int64).reshape(len(leaves), len(row))
    return Crowd(np.ascontiguousarray(number.T), np.ascontiguousarray(leaf_of.T), apart, real, fixed)


def scaled(axis: Axis, column: FloatArray) -> FloatArray:
    """Numbers as shares of the width of their domain; a domain of one value has none."""
    return column / axis.width if axis.width > 0 else np.minimum(column, 0.0)


def _between_leaves(axis: Axis, leaves: FloatArray) -> FloatArray:
    """How far leaves are from each other: the share of leaves below their lowest common ancestor, 1 of a flat category.

    A missing value is 1 from any other.
    """
    apart = 1.0 - np.eye(len(leaves))
    there = np.flatnonzero(leaves != MISSING)
    if axis.kind_code == FLAT or axis.hierarchy is None or not len(there):
        return apart
    line = leaves[there].astype(np.int64)
    start, end = axis.hierarchy.start[line], axis.hierarchy.end[line]
    tree = apart[np.ix_(there, there)]
    for level in range(start.shape[1] - 1, 0, -1):
        together = (start[:, None, level] == start[None, :, level]) & (
            end[:, None, level] == end[None, :, level]
        )
        share = (end[:, level] - start[:, level]) / len(axis.labels)
        tree = np.where(together, share[:, None], tree)
    np.fill_diagonal(tree, 0.0)
    apart[np.ix_(there, there)] = tree
    return apart
