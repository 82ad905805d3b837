"""Kernels that add places to cohorts and give them up."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.kernels import kernel


@kernel
def join_nearest(
    apart: FloatArray,
    items: Int64Array,
    owner: Int64Array,
    shown: Int64Array,
    held: Int64Array,
    sizes: Int64Array,
    m: int,
    most: int,
) -> Int64Array:
    """Return for each row the place it is added to, -1 for none; `shown`, `held` and `sizes` are changed.

    A row goes to the nearest cohort in which its value stays at most one row in m and which has fewer than `most` rows.
    """
    taken = np.full(apart.shape[0], -1, np.int64)
    for i in range(apart.shape[0]):
        best, least = -1, np.inf
        for j in range(items.size):
            c = owner[items[j]]
            if (
                apart[i, j] < least
                and sizes[c] < most
                and m * (max(shown[items[j]], held[items[j]]) + 1) <= sizes[c] + 1
            ):
                best, least = items[j], apart[i, j]
        if best >= 0:
            taken[i] = best
            held[best] += 1
            shown[best] += 1
            sizes[owner[best]] += 1
    return taken


@kernel
def give_up(offsets: Int64Array, shown: Int64Array, held: Int64Array, may_change: BoolArray, m: int) -> None:
    """Give up places that nobody took, the values with most rows first, in cohorts that change.

    Every value keeps a row, and none gets more than one row in m. `shown` is changed.
    """
    for c in range(offsets.size - 1):
        if not may_change[c]:
            continue
        total = 0
        for i in range(offsets[c], offsets[c + 1]):
            total += shown[i]
        while True:
            best = -1
            for i in range(offsets[c], offsets[c + 1]):
                if shown[i] > held[i] and shown[i] > 1 and (best < 0 or shown[i] > shown[best]):
                    best = i
            if best < 0:
                break
            shown[best] -= 1
            tallest = 0
            for i in range(offsets[c], offsets[c + 1]):
                tallest = max(tallest, shown[i])
            if m * tallest > total - 1:
                shown[best] += 1
                break
            total -= 1
