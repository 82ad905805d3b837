"""Interleaved bit keys: the bit string of all halvings of the cube, one after the other (thesis 3.5.2).

A key is left-aligned in words of 64 bits, the most significant word first: the region of level l around a point is
the first l bits of its key.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import IntArray, WordArray
from republish.kernels import kernel
from republish.spatial._key_bits import bit_at
from republish.spatial.threads import in_chunks

__all__ = ["bit_at", "cyclic_turns", "interleave", "key_order"]

_WORD = 64
_BLOCK = 1024
_SHORT = 64


def cyclic_turns(bits: IntArray) -> IntArray:
    """Return the dimension that each level halves: all in turn, those whose bits are used up left out."""
    rounds = np.repeat(np.arange(max(bits, default=0)), len(bits))
    turns = np.tile(np.arange(len(bits), dtype=np.int64), int(max(bits, default=0)))
    chosen: IntArray = turns[np.asarray(bits)[turns] > rounds]
    return chosen


def interleave(cells: IntArray, bits: IntArray, turns: IntArray | None = None) -> WordArray:
    """Return the keys of `cells[q, row]`: `keys[word, row]`, the bits in the order of `turns`."""
    turns = cyclic_turns(bits) if turns is None else turns
    keys = np.zeros((max(1, -(-len(turns) // _WORD)), cells.shape[1]), dtype=np.uint64)
    shift = _shifts(bits, turns)
    in_chunks(
        cells.shape[1], lambda begin, end: _interleave(cells[:, begin:end], turns, shift, keys[:, begin:end])
    )
    return keys


def key_order(keys: WordArray) -> IntArray:
    """Return the rows in ascending order of their keys."""
    order = np.argsort(keys[0])
    if len(keys) > 1 and _settle(keys, order, _SHORT):
        return np.lexsort(keys[::-1])
    return order


def _shifts(bits: IntArray, turns: IntArray) -> IntArray:
    """Return the place of the bit that each level takes from its dimension."""
    left = np.array(bits, dtype=np.int64)
    shift = np.empty(len(turns), dtype=np.int64)
    for level, q in enumerate(turns.tolist()):
        left[q] -= 1
        shift[level] = left[q]
    return shift


@kernel
def _interleave(cells: IntArray, turns: IntArray, shift: IntArray, keys: WordArray) -> None:
    """Write the bits of every row, a block of rows at a time so that they stay in the cache."""
    rows = cells.shape[1]
    one = np.uint64(1)
    for begin in range(0, rows, _BLOCK):
        end = min(begin + _BLOCK, rows)
        for level in range(turns.size):
            x = cells[turns[level], begin:end]
            word = keys[level // _WORD, begin:end]
            right, left = np.uint64(shift[level]), np.uint64(_WORD - 1 - level % _WORD)
            for i in range(end - begin):
                word[i] |= ((np.uint64(x[i]) >> right) & one) << left


@kernel
def _settle(keys: WordArray, order: IntArray, short: int) -> bool:
    """Sort runs of equal first words by the other words; return whether a run was too long for that."""
    words, n = keys.shape
    begin = 0
    while begin < n:
        first = keys[0, order[begin]]
        end = begin + 1
        mixed = False
        while end < n and keys[0, order[end]] == first:
            for w in range(1, words):
                mixed |= keys[w, order[end]] != keys[w, order[begin]]
            end += 1
        if mixed:
            if end - begin > short:
                return True
            for i in range(begin + 1, end):
                row = order[i]
                j = i - 1
                while j >= begin and _less(keys, row, order[j]):
                    order[j + 1] = order[j]
                    j -= 1
                order[j + 1] = row
        begin = end
    return False


@kernel
def _less(keys: WordArray, one: int, other: int) -> bool:
    """Return whether one key is below the other."""
    for w in range(keys.shape[0]):
        if keys[w, one] != keys[w, other]:
            return bool(keys[w, one] < keys[w, other])
    return False
