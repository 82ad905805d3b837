"""What the published values of one group leave to each of its members, found exactly.

Every member of a group holds one of its rows; the rows nobody holds are counterfeits. A value remains a
candidate of a member exactly if some assignment of members to rows, each within their candidates, gives it to
them. So the values pinned to others go, values that only few can hold are theirs, and so do all larger versions of
both. Instead of enumerating assignments: one assignment is found, and a member can move from value s to value t
exactly if t has a row to spare, or the members on the way from t can move on to such a row or back to s.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from republish.attacks.candidates import _has


@njit(cache=True)
def _possible(sets, member, code, count):  # type: ignore[no-untyped-def]
    """What members may hold, bit by bit over `code`; all 0 where no assignment exists."""
    people, values = len(member), len(code)
    can = np.zeros((people, values), dtype=np.bool_)
    for i in range(people):
        for s in range(values):
            can[i, s] = _has(sets[member[i]], code[s])
    holds = np.full(people, -1, dtype=np.int64)
    spare = count.astype(np.int64)
    moves = np.zeros((values, values), dtype=np.int64)  # members who hold s and could hold t
    for i in range(people):
        if not _place(i, can, holds, spare, moves):
            return np.zeros((people, values), dtype=np.bool_)
    reach = _reach(moves)
    loose = np.zeros(values, dtype=np.bool_)
    for t in range(values):
        for u in range(values):
            if spare[u] > 0 and _has(reach[t], u):
                loose[t] = True
    for i in range(people):
        for t in range(values):
            can[i, t] = can[i, t] and (loose[t] or _has(reach[t], holds[i]))
    return can


@njit(cache=True)
def _place(i, can, holds, spare, moves):  # type: ignore[no-untyped-def]
    """Give member i a row, moving others along where need be; whether it was possible."""
    values = len(spare)
    origin = np.full(
        values, -2, dtype=np.int64
    )  # -2 not reached, -1 open to i, else the value it is reached from
    queue = np.empty(values, dtype=np.int64)
    end = 0
    for s in range(values):
        if can[i, s]:
            origin[s] = -1
            queue[end] = s
            end += 1
    goal, at = -1, 0
    while at < end:
        s = queue[at]
        at += 1
        if spare[s] > 0:
            goal = s
            break
        for t in range(values):
            if origin[t] == -2 and moves[s, t] > 0:
                origin[t] = s
                queue[end] = t
                end += 1
    if goal < 0:
        return False
    spare[goal] -= 1
    while origin[goal] >= 0:
        source = origin[goal]
        for j in range(len(holds)):
            if holds[j] == source and can[j, goal]:
                _hold(j, goal, can, holds, moves)
                break
        goal = source
    _hold(i, goal, can, holds, moves)
    return True


@njit(cache=True)
def _hold(i, s, can, holds, moves):  # type: ignore[no-untyped-def]
    for t in range(can.shape[1]):
        if can[i, t]:
            if holds[i] >= 0:
                moves[holds[i], t] -= 1
            moves[s, t] += 1
    holds[i] = s


@njit(cache=True)
def _reach(moves):  # type: ignore[no-untyped-def]
    """For each value the values that moves lead to, itself included, as bits (Warshall's closure)."""
    values = len(moves)
    reach = np.zeros((values, (values + 63) // 64), dtype=np.uint64)
    for s in range(values):
        for t in range(values):
            if s == t or moves[s, t] > 0:
                reach[s, t >> 6] |= np.uint64(1) << np.uint64(t & 63)
    for middle in range(values):
        for s in range(values):
            if _has(reach[s], middle):
                for w in range(reach.shape[1]):
                    reach[s, w] |= reach[middle, w]
    return reach
