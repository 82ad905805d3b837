"""One group after the other: take the priors of the values it shows, infer, put the posteriors back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int8Array, IntArray
from republish.inference._kernels.bayes import bayes
from republish.inference._kernels.closed_forms import additive, omega, shares
from republish.inference._kernels.product import BP, EXACT, SINKHORN, product
from republish.kernels import kernel

ADDITIVE, OMEGA, BAYES = 0, 1, 4

__all__ = ["ADDITIVE", "BAYES", "BP", "EXACT", "OMEGA", "SINKHORN", "Notes", "infer"]


class Notes(NamedTuple):
    """Of every row: the method used, whether it fell back to shares, and whether scaling stopped early."""

    used: Int8Array
    fell: BoolArray
    unsettled: BoolArray


@kernel
def infer(
    prior: FloatArray,
    member_start: IntArray,
    value_start: IntArray,
    value_code: IntArray,
    value_count: IntArray,
    known_at: IntArray,
    known: FloatArray,
    chosen: IntArray,
    method: int,
    limit: int,
    notes: Notes,
    out: FloatArray,
) -> None:
    """Fill `out`, zero so far, and `notes` for the chosen groups.

    `known[known_at[row]]` says what is known of a row beyond its prior, for `bayes`; `known_at` is empty where
    nothing is, and -1 for the rows of which nothing is.
    """
    buffers = np.empty((2, 256))
    for g in chosen:
        first = member_start[g]
        members = member_start[g + 1] - first
        if members == 0:
            continue
        used = notes.used[first : first + members]
        fell = notes.fell[first : first + members]
        for i in range(members):
            used[i] = method
        code, count = _present(value_code, value_count, value_start[g], value_start[g + 1])
        columns = len(code)
        unknown = int(count.sum()) - members
        if columns == 1:
            for i in range(members):
                out[first + i, code[0]] = 1.0
            continue
        a = np.empty((members + (unknown > 0), columns))
        for i in range(members):
            for s in range(columns):
                a[i, s] = prior[first + i, code[s]]
        if method == ADDITIVE:
            additive(a[:members], count, unknown, 1.0 / prior.shape[1], fell)
        elif method == OMEGA:
            omega(a[:members], count, unknown, 1.0 / prior.shape[1], fell)
        elif method == BAYES:
            c = np.zeros((members, columns))
            for i in range(members):
                if len(known_at) and known_at[first + i] >= 0:
                    for s in range(columns):
                        c[i, s] = known[known_at[first + i], code[s]]
            bayes(a[:members], code, count, c)
        else:
            for i in range(members, len(a)):
                for s in range(columns):
                    a[i, s] = 1.0
            unsettled = notes.unsettled[first : first + members]
            possible, buffers = product(a, members, count, method, limit, buffers, used, unsettled)
            if not possible:
                shares(a[:members], count, fell)
        for i in range(members):
            for s in range(columns):
                out[first + i, code[s]] = a[i, s]


@kernel
def _present(
    value_code: IntArray, value_count: IntArray, start: int, end: int
) -> tuple[IntArray, FloatArray]:
    """Codes and counts of the values that a group shows at least once."""
    code = np.empty(end - start, np.int64)
    count = np.empty(end - start)
    columns = 0
    for j in range(start, end):
        if value_count[j] > 0:
            code[columns] = value_code[j]
            count[columns] = value_count[j]
            columns += 1
    return code[:columns], count[:columns]
