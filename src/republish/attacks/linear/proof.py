"""What was found modulo a prime, proved over the integers.

Columns that seem determined are confirmed in one of two ways.

1. *Closed sets.* Take only the equations all of whose columns seem determined. If they have full column rank modulo the
   prime, they have it over the rationals: a determinant that is not 0 modulo the prime is not 0. So each of
   these columns has one value. The one found modulo the prime is put into the equations, in whole numbers.
2. *Combinations.* A column that needs equations with open columns, which cancel out, is a combination of
   equations. Its factors are found modulo the prime, made whole numbers, and the sum is formed in whole numbers.

What passes neither is left open.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.linear.elimination import Rows, eliminate_rows

_LARGEST = 1 << 15
"""Factors and denominators beyond this are not looked for; sums of products then fit into 64 bits."""


def confirmed(
    rows: Rows, seeming: BoolArray, rng: np.random.Generator, prime: int
) -> tuple[BoolArray, IntArray]:
    """Which of the columns that seem determined are, and their values; `rows` have one right side."""
    value = np.zeros(rows.columns, dtype=np.int64)
    proved = _closed(rows, seeming, rng, prime, value)
    rest = np.flatnonzero(seeming & ~proved)
    if len(rest):
        solved = eliminate_rows(rows.transposed(rest), prime)
        for side, column in enumerate(rest if solved is not None else []):
            assert solved is not None
            found = combination(rows, int(column), solved.solution(side), prime)
            if found is not None:
                proved[column], value[column] = True, found
    return proved, value


def _closed(
    rows: Rows, seeming: BoolArray, rng: np.random.Generator, prime: int, value: IntArray
) -> BoolArray:
    """The largest set found whose own equations have full column rank; writes their values."""
    chosen = seeming.copy()
    while chosen.any():
        own = rows.within(chosen)
        solved = eliminate_rows(own, prime)
        if solved is None:
            return np.zeros_like(chosen)
        if solved.rank == own.columns:
            x = _centred(solved.solution(), prime)
            value[chosen] = x
            return chosen if _holds(own, x) else np.zeros_like(chosen)
        chosen[np.flatnonzero(chosen)[solved.null_vector(rng) != 0]] = False
    return chosen


def _holds(rows: Rows, x: IntArray) -> bool:
    """Whether whole numbers x solve all equations."""
    if np.abs(x).max(initial=0) > _LARGEST:
        return False
    side = rows.column == rows.columns
    each = rows.value * np.where(side, -1, np.append(x, 0)[rows.column])
    total = np.zeros(rows.count, dtype=np.int64)
    np.add.at(total, np.repeat(np.arange(rows.count), np.diff(rows.start)), each)
    return not total.any()


def combination(rows: Rows, column: int, factors: IntArray, prime: int) -> int | None:
    """The value of a column, if these factors modulo the prime stand for whole ones that leave it alone.

    `None` where they do not, where they are too large to tell, or where the value is no whole number.
    """
    scale, whole = 1, _centred(factors, prime)
    while np.abs(whole).max(initial=0) > _LARGEST:
        denominator = _denominator(int(whole[np.abs(whole).argmax()]) % prime, prime)
        scale *= denominator
        if denominator == 1 or scale > _LARGEST:
            return None
        whole = _centred(factors * scale % prime, prime)
    each = np.repeat(whole, np.diff(rows.start)) * rows.value
    total = np.zeros(max(rows.columns, int(rows.column.max(initial=0))) + 1, dtype=np.int64)
    np.add.at(total, rows.column, each)
    side, total[rows.columns] = int(total[rows.columns]), 0
    own = int(total[column])
    total[column] = 0
    if own == 0 or total.any() or side % own:
        return None
    return side // own


def _centred(residues: IntArray, prime: int) -> IntArray:
    return np.where(residues > prime // 2, residues - prime, residues)


def _denominator(residue: int, prime: int) -> int:
    """The denominator of the simplest fraction that a residue stands for (rational reconstruction); 1 for none."""
    old, new, s, t = prime, residue, 0, 1
    while new > _LARGEST:
        q = old // new
        old, new, s, t = new, old - q * new, t, s - q * t
    return abs(t) if 0 < abs(t) <= _LARGEST else 1
