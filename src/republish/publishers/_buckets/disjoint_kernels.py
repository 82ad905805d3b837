"""Kernels for newcomers whose signature must have nothing in common with the one they had."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import Int64Array
from republish.kernels import kernel
from republish.publishers._buckets.kernels import Bars, Ragged, UnfilledBuckets, is_barred, tallest


class Sites(NamedTuple):
    """Where rows of a code can go: its places in signatures and their buckets; and who may still be moved."""

    places: Ragged
    owner: Int64Array
    movable: Ragged


@kernel
def place_apart(
    draft: UnfilledBuckets, rows: Int64Array, codes: Int64Array, sites: Sites, bars: Bars, higher: bool
) -> None:
    """Put rows into buckets that do not meet what is barred from them.

    An open place comes first, then one that a movable row of the same code leaves for an open place. If buckets
    may become higher, the one with the shortest signature is next, for it needs a counterfeit for each of its other
    codes. `codes` holds the code of every row of the view. A row that fits nowhere stays out.
    """
    signatures = draft.signatures
    heights = tallest(signatures, draft.held)
    for row in rows:
        best, cost = -1, np.int64(2**62)
        for k in range(sites.places.offsets[codes[row]], sites.places.offsets[codes[row] + 1]):
            place = sites.places.items[k]
            b = sites.owner[place]
            price = signatures.offsets[b + 1] - signatures.offsets[b]
            if draft.held[place] < heights[b]:
                price = 0
            if price < cost and not is_barred(signatures, bars, b, row):
                best, cost = place, price
        if cost > 0 and _change_places(draft, heights, row, codes[row], sites, bars):
            continue
        if best >= 0 and (higher or cost == 0):
            draft.bucket[row] = sites.owner[best]
            draft.held[best] += 1
            heights[sites.owner[best]] = max(heights[sites.owner[best]], draft.held[best])


@kernel
def _change_places(
    draft: UnfilledBuckets, heights: Int64Array, row: int, code: int, sites: Sites, bars: Bars
) -> bool:
    """Send a movable row of the code to an open place and put this row where it was; whether that was possible."""
    for k in range(sites.places.offsets[code], sites.places.offsets[code + 1]):
        place = sites.places.items[k]
        b = sites.owner[place]
        if draft.held[place] >= heights[b]:
            continue
        for i in range(sites.movable.offsets[code], sites.movable.offsets[code + 1]):
            other = sites.movable.items[i]
            left = draft.bucket[other]
            if (
                left >= 0
                and left != b
                and not is_barred(draft.signatures, bars, left, row)
                and not is_barred(draft.signatures, bars, b, other)
            ):
                draft.bucket[other], draft.bucket[row] = b, left
                draft.held[place] += 1
                return True
    return False


@kernel
def accompany(
    draft: UnfilledBuckets,
    rows: Int64Array,
    codes: Int64Array,
    sites: Sites,
    bars: Bars,
    left: Int64Array,
    m: int,
) -> None:
    """Put rows into buckets that do not meet what is barred from them, each with newcomers for the other codes.

    Of the buckets for which there are such newcomers, those who are left staying m-eligible, the first with the
    shortest signature becomes higher by one. `sites.movable` lists the newcomers who may join any bucket, and
    `left` counts all of each code. The draft and `left` are changed.
    """
    signatures, free = draft.signatures, sites.movable
    spare = np.diff(free.offsets)
    for row in rows:
        best, shortest = -1, np.int64(2**62)
        for k in range(sites.places.offsets[codes[row]], sites.places.offsets[codes[row] + 1]):
            b = sites.owner[sites.places.items[k]]
            size = signatures.offsets[b + 1] - signatures.offsets[b]
            if size < shortest and not is_barred(signatures, bars, b, row):
                inside = signatures.items[signatures.offsets[b] : signatures.offsets[b + 1]]
                if _can_spare(inside, codes[row], spare, left, m):
                    best, shortest = b, size
        if best < 0:
            continue
        for p in range(signatures.offsets[best], signatures.offsets[best + 1]):
            code = signatures.items[p]
            joins = row
            if code != codes[row]:
                spare[code] -= 1
                joins = free.items[free.offsets[code] + spare[code]]
            draft.bucket[joins] = best
            draft.held[p] += 1
            left[code] -= 1


@kernel
def _can_spare(inside: Int64Array, own: int, spare: Int64Array, left: Int64Array, m: int) -> bool:
    """Return whether a newcomer of each code but one's own is to be had, and the rest stays m-eligible."""
    for code in inside:
        if code != own and spare[code] == 0:
            return False
    for code in inside:
        left[code] -= 1
    eligible = m * left.max() <= left.sum()
    for code in inside:
        left[code] += 1
    return eligible  # type: ignore[no-any-return]
