"""What heights of buckets say where people are dealt: one value of every bucket has no counterfeit.

A bucket, all groups of a zone with the same values, is as high as its most frequent value has people. So a world is
possible if some value is *full*: of every group one member has it. Worlds in which a given set X of values is full are
ways to hand out values in each group alone, and their number is a product over groups. By inclusion and exclusion over
all X the worlds are counted in which some value is full, and those of them in which somebody has some value.

A group whose u members are not known, and of which `free` values are nobody's whom she knows, y of them in X, has
(u)_y (free - y)_(u - y) such ways, where (a)_b = a (a - 1) ... (a - b + 1).
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.attacks.retracing.traces import AlikeGroups

MOST_VALUES = 12
"""Buckets of more values are not weighed: their sets are too many."""


def full_value_odds(
    groups: AlikeGroups, fixed: BoolArray, world: Int64Array
) -> tuple[FloatArray, BoolArray] | None:
    """What every value weighs for every member of a bucket, and whether it is possible; `None` for too many values.

    `fixed` are the entries whose value is known, and `world` is the entry of each value in every group as it is.
    """
    n, w = world.shape
    if w > MOST_VALUES:
        return None
    known = fixed.ravel()[world]
    unknown = (groups.entry >= 0).sum(axis=1) - known.sum(axis=1)
    weight, possible = _of_unknown(known, unknown)
    group, place = np.nonzero(groups.entry >= 0)
    value = np.empty(n * w, dtype=np.int64)
    value[world] = np.arange(w)
    mine = np.arange(w) == value[group * w + place][:, None]
    told = fixed[group, place][:, None]
    return np.where(told, mine, weight[group]), np.where(told, mine, possible[group])


def _of_unknown(known: BoolArray, unknown: Int64Array) -> tuple[FloatArray, BoolArray]:
    """What every value weighs for those of a group who are not known, and whether it is possible: `[group, value]`."""
    w = known.shape[1]
    sets = (np.arange(1, 2**w)[:, None] >> np.arange(w)) & 1 == 1
    left = sets.astype(np.int64) @ (~known).T.astype(
        np.int64
    )  # of each set, how many values nobody known has
    free = w - known.sum(axis=1)
    ways = _logarithms(w)
    log = (ways[unknown, left] + ways[free - left, np.maximum(unknown - left, 0)]).sum(axis=1)
    fits = (left <= unknown).all(axis=1)
    sign = np.where(sets.sum(axis=1) % 2 == 1, 1.0, -1.0)
    share = np.where(fits, sign * np.exp(log - log[fits].max(initial=0.0)), 0.0)
    everyone = np.maximum(unknown, 1)
    of_full = np.where(left <= unknown, 1.0 / everyone, 0.0)
    of_other = np.maximum(unknown - left, 0) / (everyone * np.maximum(free - left, 1))
    weight = (share[:, None] * of_full).T @ sets + (share[:, None] * of_other).T @ ~sets
    single = fits & (sets.sum(axis=1) == 1)
    other = (left < unknown)[single]
    possible = ((unknown > 0)[:, None] & sets[single].any(axis=0)) | (other.T @ ~sets[single])
    possible &= ~known
    return np.where(possible, np.maximum(weight, 0.0), 0.0), possible


def _logarithms(most: int) -> FloatArray:
    """The logarithms of a (a - 1) ... (a - b + 1), `[a, b]` up to some number; those of 0 are 0."""
    factors = np.arange(most + 1)[:, None] - np.arange(most)
    of_product = np.cumsum(np.log(np.maximum(factors, 1)), axis=1)
    return np.column_stack([np.zeros(most + 1), of_product])
