"""`additive` and `omega`: posteriors with a closed form, O(members x values)."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray
from republish.kernels import kernel


@kernel
def additive(a: FloatArray, count: FloatArray, unknown: int, uniform: float, fell: BoolArray) -> None:
    """Overwrite the priors `a` by the posteriors where a bijection weighs the sum of its priors.

    The sum over all k! bijections of JS-reduce, Alg. 2, in closed form. `unknown` people hold every value with
    probability `uniform`. Where nobody can have any value, all fall back to the shares of the values.
    """
    rows, columns = a.shape
    people = rows + unknown
    of_value = np.full(columns, unknown * uniform)
    of_row = np.zeros(rows)
    total = unknown * uniform * people
    for i in range(rows):
        for s in range(columns):
            of_row[i] += count[s] * a[i, s]
            of_value[s] += a[i, s]
        total += of_row[i]
    if total == 0.0:
        shares(a, count, fell)
        return
    for i in range(rows):
        for s in range(columns):
            weight = total - of_row[i] - of_value[s] + people * a[i, s]
            a[i, s] = count[s] * weight / ((people - 1) * total)


@kernel
def omega(a: FloatArray, count: FloatArray, unknown: int, uniform: float, fell: BoolArray) -> None:
    """Overwrite the priors `a` by the Omega-estimate: one step of scaling columns, then rows.

    A value that nobody can have makes the whole group fall back to the shares of its values, a member who can
    have none of the values only that member.
    """
    rows, columns = a.shape
    of_value = np.full(columns, unknown * uniform)
    for i in range(rows):
        for s in range(columns):
            of_value[s] += a[i, s]
    for s in range(columns):
        if of_value[s] == 0.0:
            shares(a, count, fell)
            return
    for i in range(rows):
        total = 0.0
        for s in range(columns):
            a[i, s] *= count[s] / of_value[s]
            total += a[i, s]
        if total == 0.0:
            shares(a[i : i + 1], count, fell[i : i + 1])
        else:
            for s in range(columns):
                a[i, s] /= total


@kernel
def shares(a: FloatArray, count: FloatArray, fell: BoolArray) -> None:
    """Overwrite every row by the shares of the values in the group, and note it."""
    total = count.sum()
    for i in range(len(a)):
        fell[i] = True
        for s in range(len(count)):
            a[i, s] = count[s] / total
