"""How the people of a release lie over one column, as its cells together say it.

Cells of kept cuts overlap in every single column: one ends at 40, another reaches from 30 to 60. Where all people are
spread evenly over their own cells and added up, a density comes out that is finer than any one cell; the people of a
cell are then taken to lie in it as that density does. It is the first step of the self-consistent estimate from
grouped data (B. W. Turnbull, JRSS B 1976); further steps fit chance. Where the cells of a column do not overlap it is
the even spread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.metrics.boxes import Boxes, is_discrete, real_rows
from republish.release.cells import Cells
from republish.release.release import Release

_MOST_PLACES = 1 << 20  # of a column; one with more is spread evenly


class PlaceWeights(NamedTuple):
    """Weights of the places of all columns, added up from the lowest on.

    Those of column a are `summed[first[a]:]`, the lowest place at `lowest[a]`; -1 in `first` where it is spread evenly.
    `of_members` has the sums over the members of sets, in their order.
    """

    first: IntArray
    lowest: IntArray
    summed: FloatArray
    of_members: FloatArray


def spread_evenly(axes: int) -> PlaceWeights:
    """No column has weights."""
    return PlaceWeights(np.full(axes, -1), np.zeros(axes, np.int64), np.zeros(1), np.zeros(1))


def place_weights(release: Release, boxes: Boxes) -> PlaceWeights:
    """The weights of all columns whose values can be counted."""
    first, lowest = np.full(len(release.cells), -1), np.zeros(len(release.cells), np.int64)
    parts, of_members, taken = [np.zeros(1)], np.ones(len(boxes.members)), 1
    for a, cells in enumerate(release.cells):
        found = density(cells, real_rows(release))
        if found is None:
            continue
        lowest[a], weight = found
        first[a] = taken
        parts.append(np.append(0.0, np.cumsum(weight)))
        taken += len(parts[-1])
        s = boxes.set_of_axis[a]
        if s >= 0:
            own = slice(boxes.offsets[s, 0], boxes.offsets[s, -1])
            of_members[own] = weight[boxes.members[own] - lowest[a]]
    return PlaceWeights(
        first, lowest, np.concatenate(parts), np.append(0.0, np.cumsum(of_members)).astype(np.float64)
    )


def density(cells: Cells, people: IntArray) -> tuple[int, FloatArray] | None:
    """The lowest place of a column and the weight of it and every further one; None where it is spread evenly."""
    if not is_discrete(cells.axis) or not np.isfinite([cells.axis.low, cells.axis.high]).all():
        return None
    held = np.flatnonzero(cells.said & (people > 0))
    low = np.append(cells.low[held], cells.axis.low).astype(np.int64)
    high = np.append(cells.high[held], cells.axis.high).astype(np.int64)
    lowest, places = int(low.min()), int(high.max() - low.min()) + 1
    if places > _MOST_PLACES:
        return None
    low, high, count = low[:-1] - lowest, high[:-1] - lowest, people[held].astype(np.float64)
    listed = np.diff(cells.offsets)[held] if len(cells.offsets) > 1 else np.zeros(len(held), np.int64)
    each = count / np.where(listed > 0, listed, high - low + 1)
    steps, runs = np.zeros(places + 1), listed == 0
    np.add.at(steps, low[runs], each[runs])
    np.add.at(steps, high[runs] + 1, -each[runs])
    weight = np.maximum(np.cumsum(steps)[:-1], 0.0)
    if listed.any():
        owner = np.repeat(np.arange(len(cells.offsets) - 1), np.diff(cells.offsets))
        share = np.zeros(len(cells.offsets) - 1)
        share[held] = each
        np.add.at(weight, cells.members.astype(np.int64) - lowest, share[owner])
    # A place in which nobody is said to be has next to no weight, so that every cell has some.
    return lowest, np.maximum(weight, 1e-9 * max(float(weight.max(initial=0.0)), 1.0))
