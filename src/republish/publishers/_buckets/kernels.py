"""Kernels of the buckets: counting places, filling them, and the plan of new buckets."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int32Array, Int64Array
from republish.kernels import kernel
from republish.publishers._kernels.geometry import Centre, Geometry, clear, include, measure, new_centre


class Ragged(NamedTuple):
    """Lists of numbers, one after the other: list i is `items[offsets[i] : offsets[i + 1]]`."""

    offsets: Int64Array
    items: Int64Array


class Bars(NamedTuple):
    """Codes that must not share a bucket with a row: list `of_row[row]`, none where that is -1."""

    of_row: Int64Array
    codes: Ragged


class UnfilledBuckets(NamedTuple):
    """Buckets being filled: sorted signatures, rows at each place of them, the bucket of each row or -1."""

    signatures: Ragged
    held: Int64Array
    bucket: Int64Array


@kernel
def find_place(signatures: Ragged, bucket: int, code: int) -> int:
    """Return where a code stands in the signature of a bucket, -1 where it does not."""
    left, right = signatures.offsets[bucket], signatures.offsets[bucket + 1]
    end = right
    while left < right:
        middle = (left + right) // 2
        if signatures.items[middle] < code:
            left = middle + 1
        else:
            right = middle
    return left if left < end and signatures.items[left] == code else -1


@kernel
def find_places(signatures: Ragged, bucket: Int64Array, codes: Int64Array) -> Int64Array:
    """Return the place of every row in the signature of its bucket, -1 where it has none."""
    places = np.full(bucket.size, -1, np.int64)
    for row in range(bucket.size):
        if bucket[row] >= 0:
            places[row] = find_place(signatures, bucket[row], codes[row])
    return places


@kernel
def tallest(signatures: Ragged, held: Int64Array) -> Int64Array:
    """Return how many rows the most frequent code of each bucket has."""
    heights = np.zeros(signatures.offsets.size - 1, np.int64)
    for b in range(heights.size):
        for p in range(signatures.offsets[b], signatures.offsets[b + 1]):
            heights[b] = max(heights[b], held[p])
    return heights


@kernel
def place_random(
    draft: UnfilledBuckets, wanted: Int64Array, newcomers: Ragged, left: Int64Array, least: int
) -> None:
    """Fill the places wanted with the next newcomers of their code while those left stay `least`-eligible.

    `left` counts the newcomers of each code that are not placed, which are the last of their lists. The
    draft, `wanted` and `left` are changed. With `least` 0 every newcomer may be taken.
    """
    signatures = draft.signatures
    total, largest = 0, 0
    for count in left:
        total += count
        largest = max(largest, count)
    ranks = np.zeros(largest + 1, np.int64)  # how many codes have so many newcomers left
    for count in left:
        ranks[count] += 1
    for b in range(signatures.offsets.size - 1):
        for p in range(signatures.offsets[b], signatures.offsets[b + 1]):
            code = signatures.items[p]
            while wanted[p] > 0 and left[code] > 0:
                alone = left[code] == largest and ranks[largest] == 1
                if least * (largest - alone) > total - 1:
                    break
                draft.bucket[newcomers.items[newcomers.offsets[code + 1] - left[code]]] = b
                draft.held[p] += 1
                wanted[p] -= 1
                ranks[left[code]] -= 1
                left[code] -= 1
                ranks[left[code]] += 1
                total -= 1
                largest -= ranks[largest] == 0


@kernel
def place_nearest(
    space: Geometry,
    draft: UnfilledBuckets,
    wanted: Int64Array,
    newcomers: Ragged,
    members: Ragged,
    bars: Bars,
) -> None:
    """Fill the places wanted of each bucket in turn with the newcomers nearest to the mean of its rows.

    Ties are broken by the order of the newcomers. A bucket that has no rows yet grows around the first newcomer of
    its first code. The draft and `wanted` are changed; `members` lists the rows that the buckets had before.
    """
    signatures = draft.signatures
    centre = new_centre(space)
    joined = np.empty(newcomers.items.size, np.int64)
    for b in range(signatures.offsets.size - 1):
        ready, count = False, 0  # a centre is made when there is a choice
        for p in range(signatures.offsets[b], signatures.offsets[b + 1]):
            if wanted[p] <= 0:
                continue
            rows = _open_to(draft, newcomers, bars, b, signatures.items[p])
            if rows.size > wanted[p]:
                if not ready:
                    _gather(space, centre, members, b, joined[:count])
                    ready = True
                seeded = centre.size[0] == 0
                if seeded:
                    include(space, centre, rows[0])
                rows = _lowest(rows, measure(space, centre, rows), wanted[p])
                if seeded:
                    clear(space, centre)
            for row in rows:
                draft.bucket[row] = b
                joined[count] = row
                count += 1
                if ready:
                    include(space, centre, row)
            draft.held[p] += rows.size
            wanted[p] -= rows.size


@kernel
def _gather(space: Geometry, centre: Centre, members: Ragged, bucket: int, joined: Int64Array) -> None:
    """Let the centre be that of the members of a bucket and of those who joined."""
    clear(space, centre)
    if bucket + 1 < members.offsets.size:
        for i in range(members.offsets[bucket], members.offsets[bucket + 1]):
            include(space, centre, members.items[i])
    for row in joined:
        include(space, centre, row)


@kernel
def _open_to(draft: UnfilledBuckets, newcomers: Ragged, bars: Bars, bucket: int, code: int) -> Int64Array:
    """Return the newcomers of a code who are in no bucket yet and may join this one."""
    begin, end = newcomers.offsets[code], newcomers.offsets[code + 1]
    rows = np.empty(end - begin, np.int64)
    found = 0
    for i in range(begin, end):
        row = newcomers.items[i]
        if draft.bucket[row] < 0 and not is_barred(draft.signatures, bars, bucket, row):
            rows[found] = row
            found += 1
    return rows[:found]


@kernel
def is_barred(signatures: Ragged, bars: Bars, bucket: int, row: int) -> bool:
    """Return whether the signature of the bucket meets the codes barred from the row (both sorted)."""
    if bars.of_row.size == 0 or bars.of_row[row] < 0:
        return False
    mine = bars.of_row[row]
    i, j = signatures.offsets[bucket], bars.codes.offsets[mine]
    i_end, j_end = signatures.offsets[bucket + 1], bars.codes.offsets[mine + 1]
    while i < i_end and j < j_end:
        if signatures.items[i] == bars.codes.items[j]:
            return True
        if signatures.items[i] < bars.codes.items[j]:
            i += 1
        else:
            j += 1
    return False


@kernel
def barred_pairs(signatures: Ragged, bars: Bars, buckets: Int64Array, rows: Int64Array) -> BoolArray:
    """Return which rows may not join which buckets, `[row, bucket]`."""
    barred = np.zeros((rows.size, buckets.size), np.bool_)
    if bars.of_row.size > 0:
        for i in range(rows.size):
            for j in range(buckets.size):
                barred[i, j] = is_barred(signatures, bars, buckets[j], rows[i])
    return barred


@kernel
def _lowest(rows: Int64Array, apart: FloatArray, wanted: int) -> Int64Array:
    """Return the rows of the `wanted` smallest distances, of equal ones the first."""
    chosen = np.empty(wanted, np.int64)
    if wanted == 1:
        chosen[0] = rows[np.argmin(apart)]
        return chosen
    bound = np.partition(apart, wanted - 1)[wanted - 1]
    spare = wanted
    for value in apart:
        spare -= value < bound
    found = 0
    for i in range(rows.size):
        if apart[i] < bound or (apart[i] == bound and spare > 0):
            spare -= apart[i] == bound
            chosen[found] = rows[i]
            found += 1
    return chosen


@kernel
def place_distances(space: Geometry, members: Ragged, buckets: Int64Array, rows: Int64Array) -> FloatArray:
    """Return the squared distance of each row to each of the buckets, `[row, bucket]`."""
    apart = np.empty((rows.size, buckets.size), np.float64)
    centre = new_centre(space)
    nobody = np.empty(0, np.int64)
    for j in range(buckets.size):
        _gather(space, centre, members, buckets[j], nobody)
        apart[:, j] = measure(space, centre, rows)
    return apart


@kernel
def plan(counts: Int64Array, m: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return new buckets for an m-eligible multiset: heights, ends of the signatures, codes of them all.

    The next bucket takes alpha rows of each of the beta most frequent codes: the smallest beta from m on for
    which some alpha leaves the rest m-eligible, and the largest such alpha. `counts` is used up.

    The codes lie in a heap, the most frequent first, of equally frequent ones the lowest. A bucket takes out
    one code more than it uses, so the time is that of the signatures made, whatever the number of codes.
    """
    heights = np.empty(64, np.int64)
    ends = np.empty(64, np.int64)
    codes = np.empty(1024, np.int64)
    made = used = 0
    most = counts.max() if counts.size else 0
    heap = [(most - counts[code]) * counts.size + code for code in range(counts.size) if counts[code] > 0]
    heapify(heap)
    front = np.empty(counts.size, np.int64)
    gamma = counts.sum()
    while gamma > 0:
        out, alpha, beta = 0, 0, m - 1
        while alpha < 1:
            beta += 1
            while out <= beta and len(heap) > 0:
                front[out] = heappop(heap) % counts.size
                out += 1
            following = counts[front[beta]] if beta < out else 0
            alpha = min(counts[front[beta - 1]], (gamma - m * following) // beta)
            if beta > m:
                alpha = min(alpha, (gamma - m * counts[front[0]]) // (beta - m))
        if made == heights.size:
            heights = np.append(heights, np.empty(made, np.int64))
            ends = np.append(ends, np.empty(made, np.int64))
        while used + beta > codes.size:
            codes = np.append(codes, np.empty(codes.size, np.int64))
        for i in range(beta):
            codes[used + i] = front[i]
            counts[front[i]] -= alpha
        for code in front[:out]:
            if counts[code] > 0:
                heappush(heap, (most - counts[code]) * counts.size + code)
        gamma -= alpha * beta
        used += beta
        heights[made], ends[made] = alpha, used
        made += 1
    return heights[:made], ends[:made], codes[:used]


@kernel
def plan_rises(signatures: Ragged, order: Int64Array, counts: Int64Array, m: int) -> Int64Array:
    """Return how much higher each bucket becomes by newcomers of all its values, so many of each code as `counts`.

    Bucket after bucket in this order becomes as high as it can, until none can: those left stay m-eligible, or lack no
    more people than before. `counts` is what is left then.
    """
    rises = np.zeros(signatures.offsets.size - 1, np.int64)
    gamma = counts.sum()
    lacking = max(0, m * counts.max() - gamma) if counts.size else 0
    among = np.zeros(counts.size, np.bool_)
    higher = True
    while higher:
        higher = False
        for b in order:
            codes = signatures.items[signatures.offsets[b] : signatures.offsets[b + 1]]
            among[:] = False
            among[codes] = True
            within, outside, rise = 0, 0, counts[codes].min()
            for code in range(counts.size):
                if among[code]:
                    within = max(within, counts[code])
                else:
                    outside = max(outside, counts[code])
            if codes.size > m:
                rise = min(rise, (gamma + lacking - m * within) // (codes.size - m))
            rise = min(rise, (gamma + lacking - m * outside) // codes.size)
            if rise > 0:
                counts[codes] -= rise
                gamma -= rise * codes.size
                rises[b] += rise
                higher = True
    return rises


@kernel
def lay_out(
    draft: UnfilledBuckets, places: Int64Array, heights: Int64Array, starts: Int64Array
) -> tuple[Int64Array, Int32Array, Int32Array]:
    """Return row, code and bucket of every entry; entries without a row are counterfeits."""
    offsets, items = draft.signatures.offsets, draft.signatures.items
    row = np.full(starts[-1], -1, np.int64)
    code = np.empty(starts[-1], np.int32)
    bucket = np.empty(starts[-1], np.int32)
    following = np.empty(items.size, np.int64)
    for b in range(heights.size):
        bucket[starts[b] : starts[b + 1]] = b
        for p in range(offsets[b], offsets[b + 1]):
            following[p] = starts[b] + (p - offsets[b]) * heights[b]
            code[following[p] : following[p] + heights[b]] = items[p]
    for i in range(places.size):
        row[following[places[i]]] = i
        following[places[i]] += 1
    return row, code, bucket
