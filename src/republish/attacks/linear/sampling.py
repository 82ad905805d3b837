"""Worlds drawn at random: every world equally likely in the long run, whatever world a chain starts from.

Two moves, both as likely there as back. *Chains*: an unknown is to go from value s to value t; in each of its groups
the holders of s and t are paired at random, and whoever is paired with somebody who moves, moves too (a Kempe
chain). *Blocks*: a few unknowns of neighbouring groups are drawn without looking at their values, all ways to hand out
again what they hold are counted, and one of them is drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.kernels import kernel, kernel_with

BLOCK = 7
"""Most unknowns in a block."""
LONGEST = 400
"""A chain that grows longer than this is given up."""
WAYS = 2000
"""A block whose ways take more steps to count stays as it is."""


_within = kernel_with(forceinline=True)
"""A call counts references to every array of a board, one lock each; a call that is no call counts none."""


class Walkers(NamedTuple):
    """The unknowns that move, part by part: `who[start[p]:start[p + 1]]`, and how many chains a sweep has there."""

    who: IntArray
    start: IntArray
    chains: IntArray

    def only(self, among: BoolArray) -> Walkers:
        """The parts of which the first unknown is among these."""
        kept = among[self.who[self.start[:-1]]]
        size = np.diff(self.start)
        start = np.append(0, np.cumsum(size[kept]))
        return Walkers(self.who[np.repeat(kept, size)], start, self.chains[kept])


@kernel
def _sweeps(net, code, world, walkers, sweeps, seed, counts):  # type: ignore[no-untyped-def]
    """Move `world` through so many sweeps and add to `counts` the cells it holds after each.

    A sweep proposes in every part its number of chains, and a block for every fourth unknown. How many unknowns the
    chains of each part met in all.
    """
    np.random.seed(seed)
    chain, goal = np.empty(LONGEST, dtype=np.int64), np.full(len(world), -1, dtype=np.int64)
    paired = np.zeros(len(net.slot), dtype=np.bool_)
    spare = np.zeros(len(net.need), dtype=np.int64)
    held = np.zeros(len(net.owner), dtype=np.bool_)  # the cells of `world`: one look instead of two far apart
    for c in world:
        held[c] |= c >= 0
    met = np.zeros(len(walkers.chains), dtype=np.int64)
    for _ in range(sweeps):
        for p in range(len(walkers.chains)):
            movable = walkers.who[walkers.start[p] : walkers.start[p + 1]]
            for _ in range(walkers.chains[p]):
                u = movable[np.random.randint(len(movable))]
                size, fine = _chain(net, code, (world, held), u, chain, goal, paired)
                met[p] += size
                for k in range(size):  # move, and wipe out the traces
                    v = chain[k]
                    paired[net.slot_start[world[v]] : net.slot_start[world[v] + 1]] = False
                for k in range(size if fine else 0):
                    held[world[chain[k]]] = False
                for k in range(size):
                    if fine:
                        world[chain[k]] = goal[chain[k]]
                        held[world[chain[k]]] = True
                    goal[chain[k]] = -1
            for _ in range((len(movable) + 3) // 4):
                u = movable[np.random.randint(len(movable))]
                size = _block(net, u, chain, goal)
                held[world[chain[:size]]] = False
                _redraw(net, world, chain[:size], goal, spare)
                held[world[chain[:size]]] = True
                goal[chain[:size]] = -1
        for u in walkers.who:
            counts[world[u]] += 1
    return met


@_within
def _chain(net, code, state, u, chain, goal, paired):  # type: ignore[no-untyped-def]
    """Draw who has to move along if u takes another value: how many, and whether all of them can.

    `state` is the world, and which cells it holds. `goal` is where each of them goes. Pairs are drawn when they are
    met: the partner of somebody is any of those who have none yet, or nobody, which stops the chain.
    """
    world, held = state
    first, last = net.cell_start[u], net.cell_start[u + 1]
    if last - first < 2:
        return 0, False
    target = first + np.random.randint(last - first - 1)
    target += target >= world[u]
    chain[0], goal[u] = u, target
    size, at = 1, 0
    while at < size:
        v = chain[at]
        at += 1
        old, new = world[v], goal[v]
        for k in range(net.slot_start[old + 1] - net.slot_start[old]):
            entry = net.slot_start[old] + k
            if paired[entry]:
                continue
            here, _ = _without(net, held, paired, net.slot[entry])
            there, partner = _without(net, held, paired, net.slot[net.slot_start[new] + k])
            if there == 0 or (here > there and np.random.randint(here) >= there):
                return size, False
            w = net.owner[net.in_cell[partner]]
            paired[entry] = paired[net.in_entry[partner]] = True
            if goal[w] >= 0:
                continue
            found = -1
            for c in range(net.cell_start[w], net.cell_start[w + 1]):
                if code[c] == code[old]:
                    found = c
            if found < 0 or size == len(chain):
                paired[net.in_entry[partner]] = False
                return size, False
            chain[size], goal[w] = w, found
            size += 1
    for i in range(size):
        if not _differs(net, world, goal, goal[chain[i]]):
            return size, False
    return size, True


@_within
def _without(net, held, paired, slot):  # type: ignore[no-untyped-def]
    """How many holders of a slot have no partner yet, and where one of them, drawn at random, is in the slot."""
    found, drawn = 0, -1
    for i in range(net.in_start[slot], net.in_start[slot + 1]):
        if held[net.in_cell[i]] and not paired[net.in_entry[i]]:
            found += 1
            if np.random.randint(found) == 0:
                drawn = i
    return found, drawn


@_within
def _differs(net, world, goal, cell):  # type: ignore[no-untyped-def]
    """Whether the lives before and after the owner of a cell will have another value."""
    for rival in (net.older[cell], net.newer[cell]):
        if rival >= 0:
            w = net.owner[rival]
            if (goal[w] if goal[w] >= 0 else world[w]) == rival:
                return False
    return True


@_within
def _block(net, u, block, mark):  # type: ignore[no-untyped-def]
    """Draw up to BLOCK unknowns near u, whatever they hold; they are marked 0."""
    block[0], mark[u] = u, 0
    size, goal = 1, 2 + np.random.randint(BLOCK - 1)
    for _ in range(3 * goal):
        v = block[np.random.randint(size)]
        c = net.cell_start[v] + np.random.randint(net.cell_start[v + 1] - net.cell_start[v])
        if net.slot_start[c + 1] > net.slot_start[c]:
            slot = net.slot[net.slot_start[c] + np.random.randint(net.slot_start[c + 1] - net.slot_start[c])]
            i = net.in_start[slot] + np.random.randint(net.in_start[slot + 1] - net.in_start[slot])
            w = net.owner[net.in_cell[i]]
        else:  # never published: the lives beside it
            rival = net.older[c] if np.random.randint(2) else net.newer[c]
            w = net.owner[rival] if rival >= 0 else v
        if mark[w] < 0:
            mark[w] = 0
            block[size] = w
            size += 1
        if size == goal:
            break
    return size


@_within
def _redraw(net, world, block, chosen, spare):  # type: ignore[no-untyped-def]
    """Hand out anew what the members of a block hold, each way as likely.

    Too many ways to count, and it stays: that does not depend on what they hold now.
    """
    for u in block:
        for j in range(net.slot_start[world[u]], net.slot_start[world[u] + 1]):
            spare[net.slot[j]] += 1
    drawn, following = np.empty(len(block), np.int64), np.empty(len(block), np.int64)
    depth, ways, steps = 0, 0, 0
    following[0] = net.cell_start[block[0]]
    chosen[block] = -1
    inside = np.zeros(len(block), np.bool_)
    old = world[block]
    world[block] = -1
    while depth >= 0 and steps < WAYS:
        u = block[depth]
        if inside[depth]:
            for j in range(net.slot_start[chosen[u]], net.slot_start[chosen[u] + 1]):
                spare[net.slot[j]] += 1
            inside[depth], chosen[u] = False, -1
        if following[depth] == net.cell_start[u + 1]:
            depth -= 1
            continue
        c = following[depth]
        following[depth] += 1
        fits = _differs(net, world, chosen, c)
        for j in range(net.slot_start[c], net.slot_start[c + 1]):
            fits &= spare[net.slot[j]] > 0
        if not fits:
            continue
        steps += 1
        for j in range(net.slot_start[c], net.slot_start[c + 1]):
            spare[net.slot[j]] -= 1
        inside[depth], chosen[u] = True, c
        if depth + 1 < len(block):
            depth += 1
            following[depth] = net.cell_start[block[depth]]
            continue
        ways += 1
        if np.random.randint(ways) == 0:
            for i in range(len(block)):
                drawn[i] = chosen[block[i]]
    complete = depth < 0
    chosen[block] = -1
    for c in old:
        for j in range(net.slot_start[c], net.slot_start[c + 1]):
            spare[net.slot[j]] = 0
    for i in range(len(block)):
        world[block[i]] = drawn[i] if complete else old[i]
