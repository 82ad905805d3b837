"""Rows by nearest point next, as BayFrame (section 5.2) lists them: each is followed by the nearest one left.

Distances are Euclidean, every axis divided by the width of its domain. A missing value is 1 away from any
value along its axis, and 0 from another missing one.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.orders._domain import Coordinates, coordinates
from republish.orders._nearest_kernel import DistanceScale, walk

_EXACT = 2.0**53


def nearest_point_next(
    points: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None
) -> IntArray:
    """Return the rows of `points[axis, row]`, each followed by the nearest of those left.

    The first is the row farthest from the centroid, the mean of the values that are not missing. Rows of the
    same point follow each other. Of equal distances the lowest row number comes first; distances are
    compared exactly where the points are whole numbers on domains of moderate widths, else as rounded.

    Args:
        points: One coordinate an axis and row, -inf where it is missing.
        low: Lowest value of the domain of every axis, else the lowest found.
        high: Highest value of the domain of every axis, else the highest found.
    """
    space = coordinates(points, low, high)
    axes, rows = space.points.shape
    if axes == 0 or rows == 0:
        return np.arange(rows)
    scale = _scale(space)
    # Missing values lie so far below the domain that they are more than a unit away from it however rounded.
    far = space.low - 2 * np.where(space.high > space.low, space.high - space.low, 1)
    placed = np.maximum(space.points, far[:, None]) + 0.0  # there is but one zero
    same = _same(placed)
    distinct = np.ascontiguousarray(placed[:, same["first"].to_numpy()].T)
    order = walk(distinct, _farthest(distinct, space, scale), scale)
    return same["rows"].gather(order).explode().to_numpy()


def _scale(space: Coordinates) -> DistanceScale:
    """Return the weights of the axes: whole ones where all sums of squares are then exact, else 1 / width."""
    width = space.high - space.low
    width[width == 0] = 1.0
    unit = 1.0
    if space.whole.all() and (width == np.floor(width)).all() and (width < _EXACT).all():
        common = math.lcm(*(int(w) for w in width))
        if common**2 * len(width) <= _EXACT:
            unit = float(common)
    return DistanceScale(unit / width, space.low, unit)


def _same(placed: FloatArray) -> pl.DataFrame:
    """Return the `rows` of each distinct point and the `first` of them, by which the points are sorted."""
    frame = pl.DataFrame({str(axis): row for axis, row in enumerate(placed)})
    return (
        frame.with_row_index("row")
        .group_by(frame.columns, maintain_order=True)
        .agg(pl.col("row").cast(pl.Int64).alias("rows"), pl.col("row").first().alias("first"))
    )


def _farthest(distinct: FloatArray, space: Coordinates, scale: DistanceScale) -> int:
    """Return the point farthest from the centroid of all rows, of equal ones the first."""
    total = np.zeros(len(distinct))
    for axis, row in enumerate(space.points):
        there = row > -np.inf
        if there.any():
            centre = float(np.mean(row[there]))
            gap = np.minimum(np.abs(distinct[:, axis] - centre) * scale.weight[axis], scale.unit)
            total += gap * gap
    return int(np.argmax(total))
