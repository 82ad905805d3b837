"""Bits of keys that are left-aligned in words, inside compiled code."""

from __future__ import annotations

import numpy as np

from republish.arrays import IntArray, WordArray
from republish.kernels import kernel

_WORD = 64


@kernel
def leading_zeros(word: np.uint64) -> int:
    """Return how many bits of a word stand before its first 1; the word must not be 0."""
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if (word >> np.uint64(_WORD - step)) == np.uint64(0):
            zeros += step
            word = word << np.uint64(step)
    return zeros


@kernel
def first_difference(one: WordArray, i: int, other: WordArray, j: int) -> int:
    """Return the first bit in which two keys differ, or the number of all bits."""
    for w in range(one.shape[0]):
        difference = one[w, i] ^ other[w, j]
        if difference != np.uint64(0):
            zeros: int = leading_zeros(difference)
            return _WORD * w + zeros
    bits: int = _WORD * one.shape[0]
    return bits


@kernel
def bit_at(keys: WordArray, i: int, level: int) -> int:
    """Return one bit of a key."""
    return int((keys[level // _WORD, i] >> np.uint64(_WORD - 1 - level % _WORD)) & np.uint64(1))


@kernel
def truncated(keys: WordArray, at: IntArray, level: IntArray) -> WordArray:
    """Return the first `level[b]` bits of the keys at `at[b]`, zeros after them."""
    words = keys.shape[0]
    prefix = np.zeros((words, at.size), np.uint64)
    for b in range(at.size):
        for w in range(words):
            left = level[b] - _WORD * w
            if left >= _WORD:
                prefix[w, b] = keys[w, at[b]]
            elif left > 0:
                spare = np.uint64(_WORD - left)
                prefix[w, b] = (keys[w, at[b]] >> spare) << spare
    return prefix


@kernel
def parents_of(prefix: WordArray, level: IntArray) -> IntArray:
    """Return the smallest enclosing region of every region, -1 for the outermost.

    Regions must be sorted by prefix, then level: an enclosing region comes before all that it encloses.
    """
    count = level.size
    parent = np.full(count, -1, np.int32)
    for b in range(1, count):
        above = b - 1
        while above >= 0 and first_difference(prefix, above, prefix, b) < level[above]:
            above = parent[above]
        parent[b] = above
    return parent


@kernel
def enclosing(
    prefix: WordArray, level: IntArray, parent: IntArray, key: WordArray, i: int, deepest: int
) -> int:
    """Return the smallest region of at most the given level around key `i`, whose bits after that level are 0."""
    low, high = 0, level.size
    words = prefix.shape[0]
    while low < high:
        middle = (low + high) // 2
        later = level[middle] > deepest
        for w in range(words):
            if prefix[w, middle] != key[w, i]:
                later = prefix[w, middle] > key[w, i]
                break
        if later:
            high = middle
        else:
            low = middle + 1
    found = low - 1
    while found >= 0 and first_difference(prefix, found, key, i) < level[found]:
        found = parent[found]
    return found


@kernel
def locate(prefix: WordArray, level: IntArray, parent: IntArray, keys: WordArray, block: IntArray) -> None:
    """Write the smallest region around every key into `block`."""
    deepest = _WORD * keys.shape[0]
    for i in range(keys.shape[1]):
        block[i] = enclosing(prefix, level, parent, keys, i, deepest)


@kernel
def longer(lines: IntArray) -> IntArray:
    """Return the lines with room for as many again."""
    count, columns = lines.shape
    more = np.empty((2 * count, columns), np.int64)
    for line in range(count):
        for column in range(columns):
            more[line, column] = lines[line, column]
    return more
