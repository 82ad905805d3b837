"""`bp`: damped belief propagation between people and the rows that show a value.

Every person takes one published row, every row goes to one person. Messages are odds; rows with the same value
send the same ones, so that they are kept per person and value. Sums that leave out one term are added anew
where the term is more than half of the sum, so that near-certainty costs no digits.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray
from republish.kernels import kernel

TOLERANCE = 1e-9
ROUNDS = 500
_TINY = 1e-40  # odds beyond this are certainty; keeps forced choices finite


@kernel
def propagate(a: FloatArray, weight: FloatArray, count: FloatArray, out: FloatArray) -> bool:
    """Write the beliefs into `out`; whether they settled.

    `a` comes from `scale`; row i stands for `weight[i]` equal people. Messages to a person are the geometric
    mean of the old and the new ones. Settled: no belief moved by more than the tolerance in a round.
    """
    rows, columns = a.shape
    up = np.empty((rows, columns))  # how strongly a person asks for one row of a value
    down = np.ones((rows, columns))  # how much the others leave of it
    term = np.empty(columns)
    for turn in range(ROUNDS):
        moved = 0.0 if turn else np.inf
        for i in range(rows):
            total = 0.0
            for s in range(columns):
                term[s] = a[i, s] * down[i, s]
                total += count[s] * term[s]
            if not 0.0 < total < np.inf:
                return False
            for s in range(columns):
                belief = count[s] * term[s] / total
                moved = max(moved, abs(belief - out[i, s]))
                out[i, s] = belief
                rest = total - term[s]
                if 2.0 * term[s] > total:
                    rest = (count[s] - 1.0) * term[s]
                    for z in range(columns):
                        if z != s:
                            rest += count[z] * term[z]
                up[i, s] = a[i, s] / max(rest, _TINY)
        if moved <= TOLERANCE:
            return True
        for s in range(columns):
            total = 0.0
            for i in range(rows):
                total += weight[i] * up[i, s]
            for i in range(rows):
                rest = total - up[i, s]
                if 2.0 * up[i, s] > total:
                    rest = (weight[i] - 1.0) * up[i, s]
                    for j in range(rows):
                        if j != i:
                            rest += weight[j] * up[j, s]
                down[i, s] = np.sqrt(down[i, s] / max(rest, _TINY))
    return False
