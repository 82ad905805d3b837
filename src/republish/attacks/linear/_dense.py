"""Dense elimination modulo a prime, for what sparse elimination leaves."""

from __future__ import annotations

import numpy as np

from republish.attacks.linear._sparse import _inverse
from republish.kernels import kernel


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
