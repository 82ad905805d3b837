"""Which groups give a historical correlation between too few people away (Cor-Split, section 4.2, Fig. 6).

When all but d members of a group Q were together in one group of an earlier release, and values persist, the d
others have the values of those whose places they took. So Q is unsafe with degree n where 0 < d < n: its
largest number l of members with one earlier group in common lies strictly between |Q| - n and |Q|.

Nobody in common (l = 0) is no correlation.

A counterfeit was never in an earlier group. It counts in |Q| and never in l, like a newcomer of whom nothing is
known. That is careful enough: a person in Q who was not with the l others has a value of one of the |Q| - l whose
places were taken, whether or not the other newcomers exist; and while the adversary knows how many counterfeits a group
has, nobody can tell her the value of one, so it helps to exclude no value of the people it is related to. It is
more careful than needed where all people of Q come from one earlier group: with fewer than n counterfeits
Q counts as unsafe, although it tells nothing that the earlier group did not.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, Int32Array, Int64Array, IntArray
from republish.kernels import kernel


def hc_unsafe(offsets: IntArray, members: IntArray, history: IntArray, sizes: IntArray, n: int) -> BoolArray:
    """Return for each group whether it is not hc-safe with degree n.

    Args:
        offsets: the people of group g are `members[offsets[g] : offsets[g + 1]]`.
        members: numbers of people, lines of `history`.
        history: `history[p, r]` is the group of person p in earlier release r, 0 where she was in none.
        sizes: rows of each group, counterfeits included.
        n: the degree; nothing is unsafe with 1.
    """
    unsafe: BoolArray = _unsafe_groups(
        np.ascontiguousarray(offsets, dtype=np.int64),
        np.ascontiguousarray(members, dtype=np.int64),
        np.ascontiguousarray(history, dtype=np.int32),
        np.ascontiguousarray(sizes, dtype=np.int64),
        n,
    )
    return unsafe


@kernel
def _unsafe_groups(
    offsets: Int64Array, members: Int64Array, history: Int32Array, sizes: Int64Array, n: int
) -> BoolArray:
    unsafe = np.zeros(sizes.size, np.bool_)
    for g in range(sizes.size):
        unsafe[g] = correlated(history, members[offsets[g] : offsets[g + 1]], sizes[g], n) >= 0
    return unsafe


@kernel
def correlated(history: Int32Array, people: Int64Array, size: int, n: int) -> int:
    """Return the first earlier release that makes a group of this size unsafe, -1 where it is safe."""
    limit = size - n
    for release in range(history.shape[1]):
        group, count = most_common(history, people, release, limit)
        if group > 0 and limit < count < size:
            return release
    return -1


@kernel
def most_common(history: Int32Array, people: Int64Array, release: int, limit: int) -> tuple[int, int]:
    """Return the group that most members had in a release, and how many; (0, 0) if none has more than `limit`."""
    best, most = 0, 0
    if 2 * limit >= people.size:
        # Only a majority matters: one pass finds the only candidate, a second one counts it.
        lead = 0
        for person in people:
            group = history[person, release]
            if group == 0:
                continue
            if lead == 0:
                best = group
            lead += 1 if group == best else -1
        if lead > 0:
            most = _count(history, people, release, best)
    else:
        for person in people:
            group = history[person, release]
            if group in (0, best):
                continue
            count = _count(history, people, release, group)
            if count > most:
                best, most = group, count
    return (best, most) if most > limit else (0, 0)


@kernel
def _count(history: Int32Array, people: Int64Array, release: int, group: int) -> int:
    count = 0
    for person in people:
        count += history[person, release] == group
    return count
