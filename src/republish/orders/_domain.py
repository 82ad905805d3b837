"""Coordinates checked against the domain that they are scaled by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray
from republish.errors import ViewError


class Coordinates(NamedTuple):
    """`points[axis, row]` between `low` and `high` of its axis, or -inf where the value is missing."""

    points: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def whole(self) -> BoolArray:
        """Tell which axes hold only values that are whole numbers of steps above the lowest of the domain."""
        rows = zip(self.points, self.low, strict=True)
        return np.array([np.all(row - low == np.floor(row - low)) for row, low in rows], dtype=np.bool_)


def coordinates(points: FloatArray, low: FloatArray | None, high: FloatArray | None) -> Coordinates:
    """Return the coordinates and their domain; a bound that is not given is the lowest or highest found.

    An axis whose width would overflow, or has no finite inverse, is multiplied by a power of two. This
    changes no order and no ratio.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    if points.ndim != 2 or np.isnan(points).any() or np.isposinf(points).any():
        raise ViewError(
            "coordinates must be numbers, or -inf where missing, one line a quasi-identifier; found another "
            "shape, NaN or +inf. Fill them before ordering the rows"
        )
    found_low = np.min(points, axis=1, initial=np.inf, where=points > -np.inf)
    found_high = np.max(points, axis=1, initial=-np.inf)
    empty = found_high == -np.inf
    bounds = []
    for given, found in ((low, found_low), (high, found_high)):
        chosen = np.where(empty, 0.0, found) if given is None else np.asarray(given, dtype=np.float64)
        if chosen.shape != empty.shape or not np.isfinite(chosen).all():
            raise ViewError(
                f"every quasi-identifier must have a finite lowest and highest value; found bounds of shape "
                f"{chosen.shape} for {len(empty)} quasi-identifiers, or a bound that is not finite"
            )
        bounds.append(chosen)
    outside = (found_low < bounds[0]) | (found_high > bounds[1]) | (bounds[0] > bounds[1])
    if outside.any():
        raise ViewError(
            f"values must lie inside the domain they are scaled by; those of {int(outside.sum())} of "
            f"{len(empty)} quasi-identifiers do not. Give a wider domain, or none"
        )
    return _tamed(Coordinates(points, *bounds))


def _tamed(given: Coordinates) -> Coordinates:
    size = np.maximum(np.abs(given.low), np.abs(given.high))
    wild = (size > 1e300) | ((size > 0) & (size < 1e-200))
    if not wild.any():
        return given
    shift = np.where(wild, -np.frexp(size)[1], 0)
    return Coordinates(
        np.ldexp(given.points, shift[:, None]), np.ldexp(given.low, shift), np.ldexp(given.high, shift)
    )
