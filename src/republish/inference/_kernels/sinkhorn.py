"""Scale rows and columns in turn until every row sums to 1 and every column to its count (Sinkhorn).

The product of the entries of any bijection changes by the same factor under both, so that the same matrix
serves `exact` and `bp` as one without entries of wildly different size.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
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


@kernel
def scale_groups(
    p: FloatArray,
    member_start: IntArray,
    value_start: IntArray,
    value_code: IntArray,
    value_count: IntArray,
    chosen: IntArray,
    factor: FloatArray,
    tolerance: float,
    rounds: int,
    fell: BoolArray,
) -> None:
    """Scale the rows of `p` in the chosen groups in place until as many are expected of every value as a group shows.

    `factor` of every value that a group shows is by how much it was scaled; scaling goes on from there. Values that
    outnumber the members belong to unknown people, to whom every value is as likely. Where nothing fits, rows become
    the shares of the values, and `fell` says so.
    """
    total = np.empty(p.shape[1])
    for g in chosen:
        first, end = member_start[g], member_start[g + 1]
        begin, stop = value_start[g], value_start[g + 1]
        if first == end:
            continue
        shown = 0.0
        for j in range(begin, stop):
            shown += value_count[j]
        possible = True
        for _ in range(rounds):
            possible = _expect(p, first, end, begin, stop, value_code, factor, shown - (end - first), total)
            if not possible:
                break
            worst, most = 0.0, 0.0
            for j in range(begin, stop):
                if value_count[j] == 0:
                    factor[j] = 0.0
                    continue
                if total[j - begin] == 0.0:
                    possible = False
                    break
                worst = max(worst, abs(total[j - begin] - value_count[j]))
                factor[j] *= value_count[j] / total[j - begin]
                most = max(most, factor[j])
            if not possible or worst <= tolerance:
                break
            for j in range(begin, stop):
                factor[j] /= most
        for i in range(first, end):
            fell[i] = not possible
            row = 0.0
            for j in range(begin, stop):
                part = p[i, value_code[j]] * factor[j] if possible else float(value_count[j])
                total[j - begin] = part
                row += part
            p[i, :] = 0.0
            for j in range(begin, stop):
                p[i, value_code[j]] = total[j - begin] / row if row > 0.0 else value_count[j] / shown
        if not possible:
            factor[begin:stop] = 1.0


@kernel
def _expect(
    p: FloatArray,
    first: int,
    end: int,
    begin: int,
    stop: int,
    value_code: IntArray,
    factor: FloatArray,
    unknown: float,
    total: FloatArray,
) -> bool:
    """Fill `total` with how many are expected of every value of a group; whether everybody can have some value."""
    every = 0.0
    for j in range(begin, stop):
        every += factor[j]
    for j in range(begin, stop):
        total[j - begin] = unknown * factor[j] / every if unknown > 0.0 else 0.0
    for i in range(first, end):
        row = 0.0
        for j in range(begin, stop):
            row += p[i, value_code[j]] * factor[j]
        if row <= 0.0:
            return False
        for j in range(begin, stop):
            total[j - begin] += p[i, value_code[j]] * factor[j] / row
    return True
