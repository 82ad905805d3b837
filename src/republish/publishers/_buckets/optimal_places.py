"""Newcomers to open places with the least sum of squared distances, value by value."""

from __future__ import annotations

import numpy as np

from republish.arrays import Int64Array
from republish.publishers._buckets.kernels import Bars, Ragged, UnfilledBuckets, barred_pairs, place_distances
from republish.publishers._kernels.geometry import Geometry

LARGEST_PROBLEM = 1_000_000
_FAR = 1e6


def place_optimal(
    space: Geometry,
    draft: UnfilledBuckets,
    wanted: Int64Array,
    newcomers: Ragged,
    members: Ragged,
    bars: Bars,
) -> None:
    """Fill as many of the places wanted as there are newcomers for, all distances together the least.

    A value with more than `LARGEST_PROBLEM` pairs of a newcomer and a place is left as it is. The draft and
    `wanted` are changed.
    """
    from scipy.optimize import linear_sum_assignment

    signatures = draft.signatures
    owner = np.repeat(np.arange(len(signatures.offsets) - 1), np.diff(signatures.offsets))
    by_code = np.argsort(signatures.items, kind="stable")
    bounds = np.searchsorted(signatures.items[by_code], np.arange(len(newcomers.offsets)))
    for code in range(len(newcomers.offsets) - 1):
        rows = newcomers.items[newcomers.offsets[code] : newcomers.offsets[code + 1]]
        places = by_code[bounds[code] : bounds[code + 1]]
        places = places[wanted[places] > 0]
        copies = np.minimum(wanted[places], len(rows))
        if not 0 < len(rows) * int(copies.sum()) <= LARGEST_PROBLEM:
            continue
        apart = place_distances(space, members, owner[places], rows)
        # A pair that may not be is so far apart that as few as possible are matched, and then undone.
        apart[barred_pairs(signatures, bars, owner[places], rows)] = _FAR
        columns = np.repeat(np.arange(len(places)), copies)
        chosen, column = linear_sum_assignment(apart[:, columns])
        place = columns[column]
        allowed = apart[chosen, place] < _FAR
        chosen, place = chosen[allowed], places[place[allowed]]
        draft.bucket[rows[chosen]] = owner[place]
        np.add.at(draft.held, place, 1)
        np.add.at(wanted, place, -1)
