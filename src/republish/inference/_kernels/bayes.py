"""`bayes`: BayFrame's estimator, in closed form and by linear assignment (section 4.3.1).

All bijections start with the same Dirichlet parameter 1 and the one of largest total prior is observed once.
In a group of `SEEN` or more rows that observation is below the precision of the numbers and not looked for.

Of several best bijections one is taken by rule: the members in their order take, each, the value for which
their own prior is largest, and of those the smallest code, as far as some best bijection still allows.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array, IntArray
from republish.kernels import kernel

SEEN = 20
_TIE = 1e-12


@kernel
def bayes(a: FloatArray, code: IntArray, count: FloatArray, c: FloatArray) -> None:
    """Overwrite the priors `a` by the posteriors.

    `c` holds what is known of single members beyond their prior (posterior-based cascading, section 4.4.2): each
    entry adds itself to the Dirichlet parameters of the bijections that agree with it.
    """
    rows, columns = a.shape
    people = int(count.sum())
    best = np.full(rows, -1, np.int64)
    once = 0.0
    if people < SEEN:
        best = best_bijection(a, code, count)
        once = 1.0
        for j in range(2, people):
            once /= j
    of_row = np.zeros(rows)
    of_value = np.zeros(columns)
    total = 0.0
    for i in range(rows):
        for s in range(columns):
            of_row[i] += count[s] * c[i, s]
            of_value[s] += c[i, s]
        total += of_row[i]
    whole = people + total + once
    for i in range(rows):
        for s in range(columns):
            others = (total - of_row[i] - of_value[s] + c[i, s]) / (people - 1)
            seen = once if best[i] == s else 0.0
            a[i, s] = (count[s] * (1.0 + c[i, s] + others) + seen) / whole


@kernel
def best_bijection(a: FloatArray, code: IntArray, count: FloatArray) -> Int64Array:
    """The column of each member in the bijection of largest total prior, ties by the rule above."""
    rows, columns = a.shape
    people = int(count.sum())
    value = np.empty(people, np.int64)
    slot = 0
    for s in range(columns):
        for _ in range(int(count[s])):
            value[slot] = s
            slot += 1
    cost = np.zeros((people, people))
    for i in range(rows):
        for j in range(people):
            cost[i, j] = -a[i, value[j]]
    slack, owner, slot_of = _assign(cost)
    free = np.ones(people, np.bool_)
    chosen = np.empty(rows, np.int64)
    for i in range(rows):
        refused = np.zeros(columns, np.bool_)
        while True:
            pick = -1
            for j in range(people):
                if free[j] and not refused[value[j]] and slack[i, j] <= _TIE:
                    s = value[j]
                    p = value[pick]
                    if pick < 0 or a[i, s] > a[i, p] or (a[i, s] == a[i, p] and code[s] < code[p]):
                        pick = j
            if (
                pick < 0
                or value[slot_of[i]] == value[pick]
                or _exchange(i, pick, slack, free, owner, slot_of)
            ):
                break
            refused[value[pick]] = True
        free[slot_of[i]] = False
        chosen[i] = value[slot_of[i]]
    return chosen


@kernel
def _exchange(
    i: int, wanted: int, slack: FloatArray, free: BoolArray, owner: Int64Array, slot_of: Int64Array
) -> bool:
    """Give person i the slot `wanted` where the others can move along slots without slack; whether they can.

    Breadth first from the owner of that slot to the slot that person i leaves.
    """
    people = len(owner)
    came = np.full(people, -1, np.int64)  # the person from whom a slot was reached
    queue = np.empty(people, np.int64)
    queue[0] = owner[wanted]
    head, tail = 0, 1
    goal = slot_of[i]
    while head < tail:
        person = queue[head]
        head += 1
        for j in range(people):
            if j == wanted or not free[j] or came[j] >= 0 or slack[person, j] > _TIE:
                continue
            came[j] = person
            if j == goal:
                into = j
                while into != wanted:
                    mover = came[into]
                    left = slot_of[mover]
                    slot_of[mover] = into
                    owner[into] = mover
                    into = left
                slot_of[i] = wanted
                owner[wanted] = i
                return True
            queue[tail] = owner[j]
            tail += 1
    return False


@kernel
def _assign(cost: FloatArray) -> tuple[FloatArray, Int64Array, Int64Array]:
    """A cheapest bijection by shortest augmenting paths: reduced costs, owner of each slot, slot of each row."""
    n = len(cost)
    u = np.zeros(n + 1)
    v = np.zeros(n + 1)
    owner = np.full(n + 1, n, np.int64)  # slot n is where a path starts
    way = np.empty(n + 1, np.int64)
    for i in range(n):
        owner[n] = i
        at = n
        nearest = np.full(n, np.inf)
        done = np.zeros(n + 1, np.bool_)
        while owner[at] != n:
            done[at] = True
            row = owner[at]
            least = np.inf
            to = n
            for j in range(n):
                if done[j]:
                    continue
                reduced = cost[row, j] - u[row] - v[j]
                if reduced < nearest[j]:
                    nearest[j] = reduced
                    way[j] = at
                if nearest[j] < least:
                    least = nearest[j]
                    to = j
            for j in range(n + 1):
                if done[j]:
                    u[owner[j]] += least
                    v[j] -= least
                elif j < n:
                    nearest[j] -= least
            at = to
        while at != n:
            owner[at] = owner[way[at]]
            at = way[at]
    slack = np.empty((n, n))
    slot_of = np.empty(n, np.int64)
    for j in range(n):
        slot_of[owner[j]] = j
        for i in range(n):
            slack[i, j] = cost[i, j] - u[i] - v[j]
    return slack, owner[:n].copy(), slot_of
