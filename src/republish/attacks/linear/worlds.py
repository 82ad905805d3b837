"""A world to start from: the true one where it is known, else one that is searched for."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.linear.board import NOBODY, Board
from republish.attacks.linear.search import FOUND, State, _count
from republish.kernels import kernel


def first_world(
    board: Board, truth: IntArray, parts: list[IntArray], state: State, nodes: int
) -> tuple[IntArray, BoolArray]:
    """A world of every part, and for which parts there is one; `truth` are the true codes of the board's unknowns."""
    net = board.net
    world = np.full(board.count, -1, dtype=np.int64)
    _fill(net, board.code, board.unknown == NOBODY, truth, world)
    have = np.zeros(len(parts), dtype=np.bool_)
    for i, who in enumerate(parts):
        have[i] = _is_world(net, world, who)
        if have[i]:
            continue
        found, counts, _ = _count(net, state, who, nodes, 1)
        have[i] = found == FOUND
        if have[i]:
            length = np.diff(net.cell_start)[who]
            chosen = np.flatnonzero(counts > 0)  # one a member, in their order
            world[who] = net.cell_start[who] + chosen - (np.cumsum(length) - length)
    return world, have


@kernel
def _fill(net, code, is_nobody, truth, world):  # type: ignore[no-untyped-def]
    """Everybody's true cell; the rows of nobody take what is left, lives never published what differs."""
    left = net.need.copy()
    for u in range(len(world)):
        for c in range(net.cell_start[u], net.cell_start[u + 1]):
            if truth[u] == code[c]:
                world[u] = c
        if world[u] >= 0:
            for j in range(net.slot_start[world[u]], net.slot_start[world[u] + 1]):
                left[net.slot[j]] -= 1
    for u in range(len(world)):
        if world[u] >= 0:
            continue
        for c in range(net.cell_start[u], net.cell_start[u + 1]):
            fits = is_nobody[u] or net.slot_start[c] == net.slot_start[c + 1]
            for j in range(net.slot_start[c], net.slot_start[c + 1]):
                fits &= left[net.slot[j]] > 0
            for rival in (net.older[c], net.newer[c]):
                fits &= rival < 0 or world[net.owner[rival]] != rival
            if fits:
                world[u] = c
                for j in range(net.slot_start[c], net.slot_start[c + 1]):
                    left[net.slot[j]] -= 1
                break


@kernel
def _is_world(net, world, who):  # type: ignore[no-untyped-def]
    """Whether a component's unknowns all have a cell, every slot what it needs, and rivals are not both chosen."""
    for u in who:
        if world[u] < 0:
            return False
    for u in who:
        c = world[u]
        if net.older[c] >= 0 and world[net.owner[net.older[c]]] == net.older[c]:
            return False
        for d in range(net.cell_start[u], net.cell_start[u + 1]):
            for j in range(net.slot_start[d], net.slot_start[d + 1]):
                held = 0
                for i in range(net.in_start[net.slot[j]], net.in_start[net.slot[j] + 1]):
                    held += world[net.owner[net.in_cell[i]]] == net.in_cell[i]
                if held != net.need[net.slot[j]]:
                    return False
    return True
