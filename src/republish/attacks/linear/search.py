"""Exact search on a board: count all worlds of a component, or find one in which a cell is 1.

Whoever has a cell taken away may be settled by that, and every slot knows how many of its cells are settled and how
many are left: as many settled as it needs, and the others lose it; as many left as it needs, and all have it. What was
taken is on a trail and is given back on the way up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.linear.board import Board, ranges
from republish.kernels import kernel

GAVE_UP, NONE, FOUND = -1, 0, 1


class State(NamedTuple):
    """What is left of every unknown and slot; `trail[:height[0]]` are the cells taken, `todo` slots to look at."""

    alive: BoolArray
    left: IntArray
    settled: IntArray
    possible: IntArray
    trail: IntArray
    height: IntArray
    todo: IntArray
    waits: BoolArray
    length: IntArray


def new_state(board: Board) -> State:
    """Everything open, nothing taken."""
    net = board.net
    left = np.diff(net.cell_start)
    settled = np.zeros(board.slots, dtype=np.int64)
    sole = net.cell_start[:-1][left == 1]
    np.add.at(settled, net.slot[ranges(net.slot_start[sole], net.slot_start[sole + 1])], 1)
    return State(
        alive=np.ones(board.cells, dtype=np.bool_),
        left=left,
        settled=settled,
        possible=np.diff(net.in_start),
        trail=np.empty(board.cells, dtype=np.int64),
        height=np.zeros(1, dtype=np.int64),
        todo=np.empty(board.slots, dtype=np.int64),
        waits=np.zeros(board.slots, dtype=np.bool_),
        length=np.zeros(1, dtype=np.int64),
    )


@kernel
def _settle(net, state, u):  # type: ignore[no-untyped-def]
    """Enter an unknown with one cell left in its slots; whether none has too many. The cell."""
    last = -1
    for c in range(net.cell_start[u], net.cell_start[u + 1]):
        if state.alive[c]:
            last = c
    fine = True
    for j in range(net.slot_start[last], net.slot_start[last + 1]):
        slot = net.slot[j]
        state.settled[slot] += 1
        fine &= state.settled[slot] <= net.need[slot]
        _look(state, slot)
    return fine, last


@kernel
def _look(state, slot):  # type: ignore[no-untyped-def]
    if not state.waits[slot]:
        state.waits[slot] = True
        state.todo[state.length[0]] = slot
        state.length[0] += 1


@kernel
def _take(net, state, cell):  # type: ignore[no-untyped-def]
    """Take a cell away, with the rivals of whom this settles; whether no unknown or slot is left short."""
    if not state.alive[cell]:
        return True
    u = net.owner[cell]
    state.alive[cell] = False
    state.left[u] -= 1
    state.trail[state.height[0]] = cell
    state.height[0] += 1
    fine = state.left[u] > 0
    for j in range(net.slot_start[cell], net.slot_start[cell + 1]):
        slot = net.slot[j]
        state.possible[slot] -= 1
        fine &= state.possible[slot] >= net.need[slot]
        _look(state, slot)
    if state.left[u] == 1:
        well, last = _settle(net, state, u)
        fine &= well
        if fine and net.older[last] >= 0:
            fine &= _take(net, state, net.older[last])
        if fine and net.newer[last] >= 0:
            fine &= _take(net, state, net.newer[last])
    return fine


@kernel
def _choose(net, state, cell):  # type: ignore[no-untyped-def]
    """Settle the owner of a cell on it."""
    u = net.owner[cell]
    for c in range(net.cell_start[u], net.cell_start[u + 1]):  # noqa: SIM110 - numba compiles the loop
        if c != cell and not _take(net, state, c):
            return False
    return True


@kernel
def _propagate(net, state, fine):  # type: ignore[no-untyped-def]
    """Draw conclusions from slots until there are none, unless something is wrong already; whether all is well."""
    while state.length[0] > 0:
        state.length[0] -= 1
        slot = state.todo[state.length[0]]
        state.waits[slot] = False
        if not fine:
            continue  # only empty the list
        fine = net.need[slot] <= state.possible[slot] and state.settled[slot] <= net.need[slot]
        if not fine or state.settled[slot] == state.possible[slot]:
            continue
        full, tight = state.settled[slot] == net.need[slot], state.possible[slot] == net.need[slot]
        if not full and not tight:
            continue
        for i in range(net.in_start[slot], net.in_start[slot + 1]):
            c = net.in_cell[i]
            if fine and state.alive[c] and state.left[net.owner[c]] > 1:
                fine = _take(net, state, c) if full else _choose(net, state, c)
    return fine


@kernel
def _undo(net, state, height):  # type: ignore[no-untyped-def]
    """Give back what was taken since the trail had this height."""
    while state.height[0] > height:
        state.height[0] -= 1
        cell = state.trail[state.height[0]]
        u = net.owner[cell]
        if state.left[u] == 1:
            for c in range(net.cell_start[u], net.cell_start[u + 1]):
                if state.alive[c]:
                    for j in range(net.slot_start[c], net.slot_start[c + 1]):
                        state.settled[net.slot[j]] -= 1
        state.alive[cell] = True
        state.left[u] += 1
        for j in range(net.slot_start[cell], net.slot_start[cell + 1]):
            state.possible[net.slot[j]] += 1


@kernel
def _start(net, state, who):  # type: ignore[no-untyped-def]
    """Have all slots of a component looked at, and propagate."""
    for u in who:
        for c in range(net.cell_start[u], net.cell_start[u + 1]):
            for j in range(net.slot_start[c], net.slot_start[c + 1]):
                _look(state, net.slot[j])
    return _propagate(net, state, True)


@kernel
def _fewest(net, state, who):  # type: ignore[no-untyped-def]
    """Whoever has the fewest cells left but more than one, or -1."""
    best = -1
    for u in who:
        if state.left[u] > 1 and (best < 0 or state.left[u] < state.left[best]):
            best = u
    return best


@kernel
def _count(net, state, who, nodes, most):  # type: ignore[no-untyped-def]
    """The worlds of a component, depth first, and how many of them hold each cell of `who`, one after the other.

    FOUND if these are all or `most` of them, NONE where there is no world, GAVE_UP after so many nodes.
    """
    offset = np.zeros(len(who) + 1, dtype=np.int64)
    for i in range(len(who)):
        offset[i + 1] = offset[i] + net.cell_start[who[i] + 1] - net.cell_start[who[i]]
    counts = np.zeros(offset[-1])
    worlds = 0
    bottom = state.height[0]
    height, at, following = np.empty((3, len(who) + 1), dtype=np.int64)
    depth, steps = -1, 0
    fine = _start(net, state, who)
    while True:
        u = _fewest(net, state, who) if fine else -1
        if u >= 0:
            depth += 1
            height[depth], at[depth], following[depth] = state.height[0], u, net.cell_start[u]
        elif fine:
            worlds += 1
            for i in range(len(who)):
                first = net.cell_start[who[i]]
                for c in range(first, net.cell_start[who[i] + 1]):
                    counts[offset[i] + c - first] += state.alive[c]
            if worlds == most:
                depth = -1
                break
        chosen = -1
        while depth >= 0 and chosen < 0:  # the next cell to try, here or further up
            _undo(net, state, height[depth])
            last = net.cell_start[at[depth] + 1]
            while following[depth] < last and not state.alive[following[depth]]:
                following[depth] += 1
            if following[depth] < last:
                chosen = following[depth]
                following[depth] += 1
            else:
                depth -= 1
        steps += 1
        if chosen < 0 or steps > nodes:
            break
        fine = _propagate(net, state, _choose(net, state, chosen))
    _undo(net, state, bottom)
    if depth >= 0:
        return GAVE_UP, counts, worlds
    return (FOUND if worlds > 0 else NONE), counts, worlds


@kernel
def _support(net, state, world, seen, cell, nodes):  # type: ignore[no-untyped-def]
    """Change `world` into one that holds `cell`, FOUND; NONE if there is none, GAVE_UP after so many nodes; how many.

    Whoever need not change keeps her cell: search stays where the world is in disorder. New cells of it are `seen`.
    """
    bottom = state.height[0]
    height, at = np.empty((2, nodes + 2), dtype=np.int64)
    choose, tried = np.empty(nodes + 2, dtype=np.bool_), np.empty(nodes + 2, dtype=np.int64)
    depth, steps = -1, 0
    fine = _propagate(net, state, _choose(net, state, cell))
    while True:
        if fine:
            c, first = _disorder(net, state, world, bottom)
            if c < 0:
                for i in range(bottom, state.height[0]):
                    u = net.owner[state.trail[i]]
                    if state.left[u] == 1:
                        world[u] = _sole_cell(net, state, u)
                        seen[world[u]] = True
                _undo(net, state, bottom)
                return FOUND, steps
            depth += 1
            height[depth], at[depth], choose[depth], tried[depth] = state.height[0], c, first, 0
        while depth >= 0:
            _undo(net, state, height[depth])
            if tried[depth] < 2:
                break
            depth -= 1
        if depth < 0 or steps >= nodes:
            break
        steps += 1
        tried[depth] += 1
        if choose[depth] == (tried[depth] == 1):
            fine = _propagate(net, state, _choose(net, state, at[depth]))
        else:
            fine = _propagate(net, state, _take(net, state, at[depth]))
    _undo(net, state, bottom)
    return (NONE if depth < 0 else GAVE_UP), steps


@kernel
def _sole_cell(net, state, u):  # type: ignore[no-untyped-def]
    for c in range(net.cell_start[u], net.cell_start[u + 1]):
        if state.alive[c]:
            return c
    return -1


@kernel
def _meant(net, state, world, u):  # type: ignore[no-untyped-def]
    """The cell an unknown would have: the settled one, else that of the world, -1 if this was taken."""
    if state.left[u] == 1:
        return _sole_cell(net, state, u)
    return world[u] if state.alive[world[u]] else -1


@kernel
def _disorder(net, state, world, bottom):  # type: ignore[no-untyped-def]
    """A cell to decide on, and whether to choose or to take it first; -1 where all slots have what they need."""
    for i in range(bottom, state.height[0]):
        u = net.owner[state.trail[i]]
        if state.left[u] > 1 and not state.alive[world[u]]:
            return _sole_cell(net, state, u), True
    for i in range(bottom, state.height[0]):
        u = net.owner[state.trail[i]]
        now = _meant(net, state, world, u)
        if now == world[u]:
            continue
        for cell in (world[u], now):
            for j in range(net.slot_start[cell], net.slot_start[cell + 1]):
                slot = net.slot[j]
                held, spare, wish = 0, -1, -1
                for k in range(net.in_start[slot], net.in_start[slot + 1]):
                    c = net.in_cell[k]
                    v = net.owner[c]
                    held += _meant(net, state, world, v) == c
                    if state.alive[c] and state.left[v] > 1:
                        if world[v] == c:
                            spare = c
                        elif wish < 0 or state.left[v] < state.left[net.owner[wish]]:
                            wish = c
                if held > net.need[slot] and spare >= 0:
                    return spare, False
                if held < net.need[slot] and wish >= 0:
                    return wish, True
    return -1, False


@kernel
def _search(net, state, world, who, seen, limits, thorough):  # type: ignore[no-untyped-def]
    """Seek another world for everyone of `who` who was seen with one value only; if `thorough`, one for every cell.

    `world` becomes the last one found, and cells of worlds are `seen`. Cells proved impossible are taken for good, and
    what follows from that. `limits` are the most nodes for one cell, how much oftener than it succeeded search may give
    up, and the most nodes of all. How many were used.
    """
    nodes, patience, most = limits
    used = 0
    for everyone in (False, True):  # whoever was seen with one value only comes first
        luck = patience if thorough or not everyone else 0
        for u in who:
            first, last = net.cell_start[u], net.cell_start[u + 1]
            for c in range(first, last):
                if luck == 0 or used >= most:
                    break
                if seen[c] or not state.alive[c] or not (everyone or seen[first:last].sum() == 1):
                    continue
                found, steps = _support(net, state, world, seen, c, nodes)
                used += steps + 1
                luck += 1 if found != GAVE_UP else -1
                if found == NONE:
                    _propagate(net, state, _take(net, state, c))
    return used


@kernel
def _conclude(net, state, cells):  # type: ignore[no-untyped-def]
    """Take cells for good, and what follows from that as long as it contradicts nothing."""
    for c in cells:
        if state.alive[c] and state.left[net.owner[c]] > 1:
            height = state.height[0]
            if not _propagate(net, state, _take(net, state, c)):
                _undo(net, state, height)
