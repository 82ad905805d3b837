"""Systems of equations modulo a prime: eliminated once, then solved for one right side or for a random null vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.linear._sparse import PRIME, _eliminate, _inverse
from republish.attacks.linear.board import ranges
from republish.kernels import kernel

_DENSE = 0.1
_GROWTH, _CELLS, _WORK = 4, 10**8, 10**11
"""What may fill in: so many times the entries there were; cells of the dense rest, and steps it may take."""


@dataclass(frozen=True)
class Rows:
    """Sparse rows, sorted by column: those of row i start at `start[i]`. Columns from `columns` on are right sides."""

    start: IntArray
    column: IntArray
    value: IntArray
    columns: int

    @property
    def count(self) -> int:
        return len(self.start) - 1

    def within(self, chosen: BoolArray) -> Rows:
        """The rows whose columns are all chosen, those columns numbered afresh, with their right sides."""
        inside = np.append(chosen, np.ones(self._sides, dtype=np.bool_))
        row = np.repeat(np.arange(self.count), np.diff(self.start))
        outside = np.bincount(row[~inside[self.column]], minlength=self.count) > 0
        kept = np.flatnonzero(~outside)
        entry = ranges(self.start[kept], self.start[kept + 1])
        number = np.cumsum(inside) - 1
        start = np.append(0, np.cumsum(np.diff(self.start)[kept]))
        return Rows(start, number[self.column[entry]], self.value[entry], int(np.count_nonzero(chosen)))

    def transposed(self, sides: IntArray) -> Rows:
        """One row a column, and as right side i the unit vector of column `sides[i]`."""
        plain = np.flatnonzero(self.column < self.columns)
        row = np.repeat(np.arange(self.count), np.diff(self.start))[plain]
        names = np.concatenate([self.column[plain], sides])
        columns = np.concatenate([row, self.count + np.arange(len(sides))])
        values = np.concatenate([self.value[plain], np.ones(len(sides), dtype=np.int64)])
        order = np.lexsort((columns, names))
        start = np.append(0, np.cumsum(np.bincount(names, minlength=self.columns)))
        return Rows(start, columns[order], values[order], self.count)

    @property
    def _sides(self) -> int:
        highest = int(self.column.max()) + 1 if len(self.column) else 0
        return max(0, highest - self.columns)


@dataclass(frozen=True)
class Eliminated:
    """Rows in an order in which each, seen from the last, holds one more column: its pivot."""

    rows: Rows
    prime: int
    start: IntArray
    length: IntArray
    column: IntArray
    value: IntArray
    pivot_row: IntArray
    pivot_column: IntArray

    @property
    def rank(self) -> int:
        """Rank modulo the prime; that over the rationals is never smaller."""
        return len(self.pivot_row)

    def null_vector(self, rng: np.random.Generator) -> IntArray:
        """A random solution with right sides 0: where it is 0, every solution is, but for one in a `prime` cases."""
        x = rng.integers(1, self.prime, self.rows.columns)
        return self._solved(x, -1)

    def solution(self, side: int = 0) -> IntArray:
        """A solution of the equations with one of the right sides; free columns are 0."""
        return self._solved(np.zeros(self.rows.columns, dtype=np.int64), self.rows.columns + side)

    def _solved(self, x: IntArray, side: int) -> IntArray:
        _substitute(
            self.start,
            self.length,
            self.column,
            self.value,
            self.pivot_row,
            self.pivot_column,
            x,
            side,
            self.prime,
        )
        return x


def eliminate_rows(rows: Rows, prime: int = PRIME) -> Eliminated | None:
    """Eliminate all columns, sparsely while that is cheap; `None` where the dense rest is too large."""
    most = _GROWTH * len(rows.column) + 1_000_000
    start, length, column, value, pivot_row, pivot_column, rest = _eliminate(
        rows.start, rows.column, rows.value, rows.columns, prime, _DENSE, most
    )
    if len(rest):
        entry = ranges(start[rest], start[rest] + length[rest])
        names, place = np.unique(column[entry], return_inverse=True)
        cells = len(rest) * len(names)
        if cells > _CELLS or cells * min(len(rest), len(names)) > _WORK:
            return None
        dense = np.zeros((len(rest), len(names)), dtype=np.int64)
        dense[np.repeat(np.arange(len(rest)), length[rest]), place] = value[entry]
        pivots = _echelon(dense, int(np.searchsorted(names, rows.columns)), prime)
        at, where = np.nonzero(dense[: len(pivots)])
        counts = np.bincount(at, minlength=len(pivots))
        pivot_row = np.append(pivot_row, len(start) + np.arange(len(pivots)))
        pivot_column = np.append(pivot_column, names[pivots])
        start = np.append(start, len(column) + np.cumsum(counts) - counts)
        length = np.append(length, counts)
        column = np.append(column, names[where])
        value = np.append(value, dense[at, where])
    return Eliminated(rows, prime, start, length, column, value, pivot_row, pivot_column)


@kernel
def _substitute(start, length, column, value, pivot_row, pivot_column, x, side, p):  # type: ignore[no-untyped-def]
    """Fill in the pivot columns of x from the last pivot to the first."""
    for i in range(len(pivot_row) - 1, -1, -1):
        r, c = pivot_row[i], pivot_column[i]
        total, own = 0, 1
        for j in range(start[r], start[r] + length[r]):
            d = column[j]
            if d == c:
                own = value[j]
            elif d < len(x):
                total = (total + (p - value[j]) * x[d]) % p
            elif d == side:
                total = (total + value[j]) % p
        x[c] = total * _inverse(own, p) % p


@kernel
def _echelon(matrix, columns, p):  # type: ignore[no-untyped-def]
    """Bring a matrix of residues to row echelon form in place; the pivot column of each row that has one."""
    rows, width = matrix.shape
    pivots = np.empty(min(rows, columns), dtype=np.int64)
    rank = 0
    for c in range(columns):
        r = rank
        while r < rows and matrix[r, c] == 0:
            r += 1
        if r == rows:
            continue
        if r != rank:
            for j in range(c, width):
                matrix[r, j], matrix[rank, j] = matrix[rank, j], matrix[r, j]
        inverse = _inverse(matrix[rank, c], p)
        for j in range(c, width):
            matrix[rank, j] = matrix[rank, j] * inverse % p
        _clear_below(matrix, rank, c, p)
        pivots[rank] = c
        rank += 1
        if rank == rows:
            break
    return pivots[:rank]


@kernel
def _clear_below(matrix, top, c, p):  # type: ignore[no-untyped-def]
    pivot = matrix[top]
    for r in range(top + 1, len(matrix)):
        if matrix[r, c] != 0:
            factor = p - matrix[r, c]
            row = matrix[r]
            for j in range(c, len(row)):
                row[j] = (row[j] + factor * pivot[j]) % p
