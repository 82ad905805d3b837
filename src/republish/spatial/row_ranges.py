"""Kernels over a range of rows in one column, for partitions that keep their rows permuted in place.

Every node of such a partition is a contiguous range of every column: bounds and counts run over plain slices.
None of them depends on the order of the rows inside a range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from republish.kernels import kernel, kernel_with
from republish.spatial.quickselect import quickselect

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SAMPLED = 1024


@kernel_with(fastmath={"nnan", "nsz"})
def bounds(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least and the greatest value."""
    lowest = highest = values[0]
    for value in values:
        lowest = min(value, lowest)
        highest = max(value, highest)
    return lowest, highest


@kernel
def present_bounds(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least and the greatest value that is not missing."""
    lowest, highest = np.inf, -np.inf
    for value in values:
        if value > -np.inf:
            lowest = min(value, lowest)
            highest = max(value, highest)
    return lowest, highest


@kernel
def counts_upto(values: NDArray[np.float64], first: float, second: float) -> tuple[int, int]:
    """Return how many values are at most each of two bounds."""
    few = many = 0
    for value in values:
        few += value <= first
        many += value <= second
    return few, many


@kernel
def select(values: NDArray[np.float64], buffer: NDArray[np.float64], rank: int) -> tuple[float, int, int]:
    """Return the value of the given rank (0 is the least), how many values are below and at most it.

    Two values of a sample enclose the one looked for with high probability (Floyd and Rivest, 1975), so
    that one pass leaves a few candidates; otherwise all values are candidates. The values stay where they are;
    `buffer`, which has room for all, is written over.
    """
    less, kept = 0, 0
    if values.size >= _SAMPLED:
        lower, upper = _enclose(values, buffer, rank)
        for value in values:
            less += value < lower
            buffer[kept] = value
            kept += (value >= lower) & (value <= upper)
    if not less <= rank < less + kept:
        less, kept = 0, values.size
        for i in range(kept):  # assigning the slice would double the time to compile
            buffer[i] = values[i]
    found = quickselect(buffer[:kept], rank - less)
    below, upto = counts_upto(buffer[:kept], np.nextafter(found, -np.inf), found)
    if found == -np.inf:
        below = 0
    return found, less + below, less + upto


@kernel
def _enclose(values: NDArray[np.float64], buffer: NDArray[np.float64], rank: int) -> tuple[float, float]:
    """Return two values of a sample of n^(2/3), most likely one below and one above the given rank."""
    step = int(values.size ** (1.0 / 3.0))
    sample = buffer[: values.size // step]
    for i in range(sample.size):
        sample[i] = values[i * step]
    margin = int(2.0 * np.sqrt(sample.size))
    place = rank * sample.size // values.size
    upper = quickselect(sample, min(place + margin, sample.size - 1))
    return quickselect(sample, max(place - margin, 0)), upper


@kernel
def swap(values: NDArray[np.generic], here: NDArray[np.int64], there: NDArray[np.int64]) -> None:
    """Exchange the values at two lists of places."""
    for p in range(here.size):
        values[here[p]], values[there[p]] = values[there[p]], values[here[p]]
