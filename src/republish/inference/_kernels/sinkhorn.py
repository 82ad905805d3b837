"""Scale rows and columns in turn until every row sums to 1 and every column to its count (Sinkhorn).

The product of the entries of any bijection changes by the same factor under both, so that the same matrix
serves `exact` and `bp` as one without entries of wildly different size.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray
from republish.kernels import kernel

TOLERANCE = 1e-9
ROUNDS = 2000


@kernel
def scale(a: FloatArray, weight: FloatArray, count: FloatArray, tolerance: float, rounds: int) -> float:
    """Scale `a` in place and return how far the worst column is from its count, inf where nothing fits.

    Row i stands for `weight[i]` equal people. Rows sum to 1 in the end. A row or a column of zeros
    fits no bijection; then `a` is of no use.
    """
    rows, columns = a.shape
    total = np.zeros(columns)
    for i in range(rows):
        most = 0.0
        for s in range(columns):
            most = max(most, a[i, s])
        if most == 0.0:
            return np.inf
        for s in range(columns):
            a[i, s] /= most
            total[s] += weight[i] * a[i, s]
    factor = np.empty(columns)
    worst = np.inf
    for _ in range(rounds):
        for s in range(columns):
            if total[s] == 0.0:
                return np.inf
            factor[s] = count[s] / total[s]
            total[s] = 0.0
        for i in range(rows):
            row = 0.0
            for s in range(columns):
                a[i, s] *= factor[s]
                row += a[i, s]
            for s in range(columns):
                a[i, s] /= row
                total[s] += weight[i] * a[i, s]
        worst = 0.0
        for s in range(columns):
            worst = max(worst, abs(total[s] - count[s]))
        if worst <= tolerance:
            break
    return worst
