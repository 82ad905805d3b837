"""The methods under which a bijection weighs the product of its priors: `exact`, `bp` and `sinkhorn`.

The matrix of priors is scaled first, which changes no posterior. Where members and values fall into parts between
which every prior is 0, each part is a group of its own. A part is left by `exact` to `bp` where it has too many
states, by `bp` to `sinkhorn` where it does not settle.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int8Array, Int64Array
from republish.inference._kernels.belief_propagation import propagate
from republish.inference._kernels.exact import marginals, states
from republish.inference._kernels.sinkhorn import ROUNDS, TOLERANCE, scale
from republish.kernels import kernel

SINKHORN, BP, EXACT = 2, 3, 5
_TYPES = 24
_ROUGH, _FEW = 0.1, 50  # how well a matrix is scaled before `exact` and `bp`


@kernel
def product(
    a: FloatArray,
    members: int,
    count: FloatArray,
    method: int,
    limit: int,
    buffers: FloatArray,
    used: Int8Array,
    unsettled: BoolArray,
) -> tuple[bool, FloatArray]:
    """Overwrite the priors `a` by the posteriors, unless no bijection is possible; returns the buffers, too.

    A last row beyond the members stands for all unknown people.
    """
    weight = np.ones(len(a))
    if len(a) > members:
        weight[members] = count.sum() - members
    if scale(a, weight, count, _ROUGH, _FEW) == np.inf:
        return False, buffers
    of_row, of_column, parts = _parts(a)
    if parts == 1:
        return _connected(a, members, weight, count, method, limit, buffers, used, unsettled)
    for part in range(parts):
        rows = np.nonzero(of_row == part)[0]
        columns = np.nonzero(of_column == part)[0]
        size = len(rows)
        inner = np.empty((size, len(columns)))
        counts = np.empty(len(columns))
        for s in range(len(columns)):
            counts[s] = count[columns[s]]
            for i in range(size):
                inner[i, s] = a[rows[i], columns[s]]
        if counts.sum() != size:
            return False, buffers
        how, late = np.full(size, method, np.int8), np.zeros(size, np.bool_)
        possible, buffers = _connected(inner, size, np.ones(size), counts, method, limit, buffers, how, late)
        if not possible:
            return False, buffers
        for i in range(size):
            used[rows[i]], unsettled[rows[i]] = how[i], late[i]
            for s in range(len(columns)):
                a[rows[i], columns[s]] = inner[i, s]
    return True, buffers


@kernel
def _parts(a: FloatArray) -> tuple[Int64Array, Int64Array, int]:
    """The part of each row, the part of each column, and the number of parts of the positive entries."""
    rows, columns = a.shape
    of_row = np.full(rows, -1, np.int64)
    of_column = np.full(columns, -1, np.int64)
    queue = np.empty(columns, np.int64)
    parts = 0
    for start in range(columns):
        if of_column[start] >= 0:
            continue
        of_column[start] = parts
        queue[0] = start
        head, tail = 0, 1
        while head < tail:
            s = queue[head]
            head += 1
            for i in range(rows):
                if of_row[i] < 0 and a[i, s] > 0.0:
                    of_row[i] = parts
                    for z in range(columns):
                        if of_column[z] < 0 and a[i, z] > 0.0:
                            of_column[z] = parts
                            queue[tail] = z
                            tail += 1
        parts += 1
    return of_row, of_column, parts


@kernel
def _connected(
    a: FloatArray,
    members: int,
    weight: FloatArray,
    count: FloatArray,
    method: int,
    limit: int,
    buffers: FloatArray,
    used: Int8Array,
    unsettled: BoolArray,
) -> tuple[bool, FloatArray]:
    """`product` of one part, by `exact`, `bp` or `sinkhorn`."""
    if len(count) == 1:
        for i in range(members):
            a[i, 0] = 1.0
        return True, buffers
    if method == EXACT:
        of, types = _types(a, weight)
        by_type = states(types, limit)
        by_value = states(count, limit)
        cheaper = by_type * len(types) < by_value * len(count)
        typed = by_type <= limit and (by_value > limit or cheaper)  # beyond the limit a number says nothing
        size = by_type if typed else by_value
        if size <= limit:
            if size > buffers.shape[1]:
                buffers = np.empty((2, size))
            if typed:
                return _by_types(a, of, types, count, buffers), buffers
            return marginals(a, members, count, buffers[0], buffers[1], a), buffers
    beliefs = np.empty(a.shape)
    if method != SINKHORN and propagate(a, weight, count, beliefs):
        for i in range(members):
            used[i] = BP
            for s in range(len(count)):
                a[i, s] = beliefs[i, s]
        return True, buffers
    off = scale(a, weight, count, TOLERANCE, ROUNDS)
    for i in range(members):
        used[i] = SINKHORN
        unsettled[i] = off > TOLERANCE
    return True, buffers


@kernel
def _types(a: FloatArray, weight: FloatArray) -> tuple[Int64Array, FloatArray]:
    """Number the distinct rows: the type of each row and how many people are of each type.

    Stops at so many types that counting by them cannot pay.
    """
    of = np.empty(len(a), np.int64)
    example = np.empty(_TYPES, np.int64)
    people = np.zeros(_TYPES)
    found = 0
    for i in range(len(a)):
        of[i] = found
        for t in range(found):
            same = True
            for s in range(a.shape[1]):
                if a[i, s] != a[example[t], s]:
                    same = False
                    break
            if same:
                of[i] = t
                break
        if of[i] == found:
            if found == _TYPES:
                return of, np.full(_TYPES, np.inf)
            example[found] = i
            found += 1
        people[of[i]] += weight[i]
    return of, people[:found]


@kernel
def _by_types(
    a: FloatArray, of: Int64Array, types: FloatArray, count: FloatArray, buffers: FloatArray
) -> bool:
    """`marginals` with the roles exchanged: published rows in turn take one of the people of each type."""
    total = int(count.sum())
    b = np.empty((total, len(types)))
    start = np.zeros(len(count) + 1, np.int64)
    for s in range(len(count)):
        start[s + 1] = start[s] + int(count[s])
        for j in range(start[s], start[s + 1]):
            for i in range(len(a)):
                b[j, of[i]] = a[i, s]
    if not marginals(b, total, types, buffers[0], buffers[1], b):
        return False
    for i in range(len(a)):
        for s in range(len(count)):
            a[i, s] = count[s] * b[start[s], of[i]] / types[of[i]]
    return True
