"""Lists of numbers laid end to end, as the kernels read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from republish.arrays import Int64Array, IntArray
from republish.publishers._buckets.kernels import Ragged


def offsets_of(sizes: IntArray) -> Int64Array:
    """Return where lists of these sizes begin, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])


def lists_of(parts: Sequence[Sequence[int] | Int64Array]) -> Ragged:
    """Return lists with these numbers."""
    sizes = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    numbers: Iterable[int] = chain.from_iterable(parts)
    return Ragged(offsets_of(sizes), np.fromiter(numbers, dtype=np.int64, count=int(sizes.sum())))


def positions_by(key: IntArray, count: int) -> Ragged:
    """Return the positions of each key below `count`, in order; negative keys are left out."""
    there = np.flatnonzero(key >= 0)
    order = np.argsort(key[there], kind="stable")
    return Ragged(offsets_of(np.bincount(key[there], minlength=count)), there[order])
