"""What members of a group can have at all, once the others must have the rest.

Where few can have a value, those must have it, and all else that is expected of them counts for nothing. Estimates of
posteriors find that out slowly; so it is settled first. One way to hand out the values is found; a member can move
from one value to another exactly if moves of others lead back, or to a row that belongs to nobody known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from republish.types import BoolArray, IntArray

THIN = 1e-10
"""A chance below this part of a member's largest counts as none, if the values can be handed out without it."""


@njit(cache=True, nogil=True)
def confine(
    expected: NDArray[np.float64],
    member_start: IntArray,
    value_start: IntArray,
    value_code: IntArray,
    value_count: IntArray,
) -> None:
    """Set to 0 what is expected of members but possible in no way to hand out the values of their group.

    Groups whose values cannot be handed out are left as they are.
    """
    for g in range(len(member_start) - 1):
        code = value_code[value_start[g] : value_start[g + 1]]
        count = value_count[value_start[g] : value_start[g + 1]].copy()
        first, end = member_start[g], member_start[g + 1]
        can = np.zeros((end - first, len(code)), np.bool_)
        whole = True
        for i in range(first, end):
            most = 0.0
            for s in range(len(code)):
                most = max(most, expected[i, code[s]])
            for s in range(len(code)):
                can[i - first, s] = count[s] > 0 and expected[i, code[s]] > THIN * most
                whole &= can[i - first, s]
        if whole or not _possible(can, count):
            continue
        for i in range(first, end):
            for s in range(len(code)):
                if not can[i - first, s]:
                    expected[i, code[s]] = 0.0


@njit(cache=True, nogil=True)
def _possible(can: BoolArray, spare: IntArray) -> bool:
    """Narrow `can` [member, value] to what some assignment holds; whether there is one.

    `spare` are the rows of each value, and in the end those of nobody.
    """
    members, values = can.shape
    holds = np.full(members, -1, np.int64)
    moves = np.zeros((values, values), np.int64)  # members who hold s and could hold t
    for i in range(members):
        if not _place(i, can, holds, spare, moves):
            return False
    reach = moves > 0
    for s in range(values):
        reach[s, s] = True
    for middle in range(values):
        for s in range(values):
            if reach[s, middle]:
                for t in range(values):
                    reach[s, t] |= reach[middle, t]
    for i in range(members):
        for t in range(values):
            if can[i, t] and not reach[t, holds[i]]:
                loose = False
                for u in range(values):
                    loose |= spare[u] > 0 and reach[t, u]
                can[i, t] = loose
    return True


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _hold(i: int, s: int, can: BoolArray, holds: IntArray, moves: IntArray) -> None:
    for t in range(can.shape[1]):
        if can[i, t]:
            if holds[i] >= 0:
                moves[holds[i], t] -= 1
            moves[s, t] += 1
    holds[i] = s
