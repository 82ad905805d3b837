"""How the values of a group can be handed out to its members, found exactly.

Every member holds one row; the rows nobody holds are counterfeits. A value is possible for a member exactly if some
way to hand out the rows, each within what the member may hold, gives it to her. Instead of enumerating: one way is
found, and a member can move from value s to value t exactly if t has a row to spare, or the members on the way from t
can move on to such a row or back to s.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, IntArray, WordArray
from republish.kernels import kernel


@kernel
def narrow(can: BoolArray, spare: IntArray) -> bool:
    """Narrow `can` [member, value] to what some assignment holds; whether there is one.

    `spare` are the rows of each value, and in the end those of nobody.
    """
    members, values = can.shape
    holds = np.full(members, -1, np.int64)
    moves = np.zeros((values, values), np.int64)  # members who hold s and could hold t
    for i in range(members):
        if not _place(i, can, holds, spare, moves):
            return False
    reach = _reach(moves)
    loose = np.zeros(values, np.bool_)
    for t in range(values):
        for u in range(values):
            loose[t] |= spare[u] > 0 and _leads(reach, t, u)
    for i in range(members):
        for t in range(values):
            can[i, t] = can[i, t] and (loose[t] or _leads(reach, t, holds[i]))
    return True


@kernel
def _place(i: int, can: BoolArray, holds: IntArray, spare: IntArray, moves: IntArray) -> bool:
    """Give member i a row, moving others along where need be; whether it was possible."""
    values = len(spare)
    origin = np.full(values, -2, np.int64)  # -2 not reached, -1 open to i, else the value it is reached from
    queue = np.empty(values, np.int64)
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


@kernel
def _hold(i: int, s: int, can: BoolArray, holds: IntArray, moves: IntArray) -> None:
    for t in range(can.shape[1]):
        if can[i, t]:
            if holds[i] >= 0:
                moves[holds[i], t] -= 1
            moves[s, t] += 1
    holds[i] = s


@kernel
def _reach(moves: IntArray) -> WordArray:
    """For each value the values that moves lead to, itself included, as bits (Warshall's closure)."""
    values = len(moves)
    reach = np.zeros((values, (values + 63) // 64), np.uint64)
    for s in range(values):
        for t in range(values):
            if s == t or moves[s, t] > 0:
                reach[s, t >> 6] |= np.uint64(1) << np.uint64(t & 63)
    for middle in range(values):
        for s in range(values):
            if _leads(reach, s, middle):
                for w in range(reach.shape[1]):
                    reach[s, w] |= reach[middle, w]
    return reach


@kernel
def _leads(reach: WordArray, s: int, t: int) -> bool:
    """Whether moves lead from one value to another."""
    found: bool = (reach[s, t >> 6] >> np.uint64(t & 63)) & np.uint64(1) != 0
    return found
