"""Worlds of groups that go on from release to release, drawn at random by ways out.

The groups of a line are points one after the other, and a life is a way between them: from the point at which it is
first counted to the one from which on it is not. Whoever is to change from one value to another leaves a gap in all her
groups; it is closed by lives of the two values that change places all along a way from her end back to her beginning:
those of the one value lead on, those of the other back. A life that was interrupted needs such a way for each of its
stays, one after the other. Every world is as likely in the long run: a way and the way back are drawn alike but for the
first and the last point, which the chance to take it makes up for.

A way exchanges two values. There are worlds that only an exchange of three or more leads to, which matters most where
lines are short: these are left to chains and blocks (`sampling.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.linear.board import Board, ranges
from republish.attacks.linear.condensed import lines_of
from republish.kernels import kernel

STAYS = 8
"""Most stays of a life that is moved; lives of more go along in no way."""


class Ways(NamedTuple):
    """Lives of lines as ways between points, numbered through all lines.

    Those of unknown u lead from `begin[i]` to `end[i]` for i from `start[u]` to `start[u + 1]`; there are none where u
    is in no line. `out` lists for every point p, from `out_start[p]`, the unknowns of one stay that begin there, `back`
    those that end there.
    """

    start: IntArray
    begin: IntArray
    end: IntArray
    out_start: IntArray
    out: IntArray
    back_start: IntArray
    back: IntArray


@dataclass(frozen=True)
class LinedUp:
    """The unknowns of a board that are in lines, and the line of each (-1 for none)."""

    ways: Ways
    line: IntArray

    def longer_than(self, lives: int) -> BoolArray:
        """The unknowns of lines of more lives than these."""
        there = self.line >= 0
        size = np.bincount(self.line[there], minlength=len(self.line))
        long: BoolArray = there & (size[self.line] > lives)
        return long


def lined_up(board: Board) -> LinedUp:
    """The lines of a board."""
    net = board.net
    first = net.cell_start[:-1]
    entry = ranges(net.slot_start[first], net.slot_start[first + 1])
    who = np.repeat(np.arange(board.count), np.diff(net.slot_start)[first])
    _, one, at = np.unique(board.group[net.slot[entry]], return_index=True, return_inverse=True)
    line = lines_of(who, at, board.release[net.slot[entry[one]]])
    length = np.bincount(line.line[line.line >= 0], minlength=len(one))
    first_point = np.cumsum(length + 1) - length - 1
    mine = line.line[at] >= 0
    who, at = who[mine], at[mine]
    point = first_point[line.line[at]] + line.place[at]
    order = np.lexsort((point, who))
    who, point, at = who[order], point[order], at[order]
    fresh = np.append(True, (np.diff(who) != 0) | (np.diff(point) != 1))[: len(who)]
    last = np.append(fresh[1:], True)[: len(who)]
    owner, begin, end = who[fresh], point[fresh], point[last] + 1
    stays = np.bincount(owner, minlength=board.count)
    points = int((length + 1).sum())
    single = stays[owner] == 1
    of = np.full(board.count, -1, dtype=np.int64)
    of[who] = line.line[at]
    return LinedUp(
        Ways(
            np.append(0, np.cumsum(stays)),
            begin,
            end,
            *_listed(begin[single], owner[single], points),
            *_listed(end[single], owner[single], points),
        ),
        of,
    )


def _listed(point: IntArray, who: IntArray, points: int) -> tuple[IntArray, IntArray]:
    order = np.argsort(point, kind="stable")
    return np.append(0, np.cumsum(np.bincount(point, minlength=points))), who[order]


@kernel
def _line_sweeps(net, code, world, ways, walkers, sweeps, seed, counts):  # type: ignore[no-untyped-def]
    """Move `world` through so many sweeps and add to `counts` the cells it holds after each.

    A sweep proposes in every part its number of ways, every other one for a life of several stays, which succeed less
    often. How many unknowns changed in each part in all.
    """
    np.random.seed(seed)
    points = len(ways.out_start) - 1
    path, old = np.empty((2, 1 + STAYS * (points + 1)), dtype=np.int64)
    stamp = np.zeros(points, dtype=np.int64)
    most = np.diff(ways.out_start).max() + np.diff(ways.back_start).max()
    near, value = np.empty(most, dtype=np.int64), np.empty(len(world), dtype=np.int64)
    for u in walkers.who:
        value[u] = code[world[u]]
    moved = np.zeros(len(walkers.chains), dtype=np.int64)
    tied = walkers.who[np.diff(ways.start)[walkers.who] > 1]
    number = 0
    for _ in range(sweeps):
        for p in range(len(walkers.chains)):
            movable = walkers.who[walkers.start[p] : walkers.start[p + 1]]
            for k in range(walkers.chains[p]):
                among = tied if k % 2 == 1 and len(tied) > 0 else movable
                u = among[int(np.random.random() * len(among))]
                size, chance = _ways_out(net, code, world, value, ways, u, path, old, stamp, number, near)
                number += STAYS
                if chance < 1.0 and np.random.random() >= chance:
                    for i in range(size - 1, -1, -1):
                        world[path[i]], value[path[i]] = old[i], code[old[i]]
                else:
                    moved[p] += size
        for u in walkers.who:
            counts[world[u]] += 1
    return moved


@kernel
def _ways_out(net, code, world, value, ways, u, path, old, stamp, number, near):  # type: ignore[no-untyped-def]
    """Have u take another value, and whoever must change places: how many changes, and the chance to keep them.

    `path` lists who changed and `old` what each had, in this order; somebody may change for two stays. Stays are taken
    from the first to the last where ways lead to her beginning, and the other way round where they lead to her end, so
    that the way back undoes them one by one.
    """
    first, last = net.cell_start[u], net.cell_start[u + 1]
    stays = ways.start[u + 1] - ways.start[u]
    if last - first < 2 or stays > STAYS or stays == 0:
        return 0, 0.0
    target = first + int(np.random.random() * (last - first - 1))
    target += target >= world[u]
    onward = np.random.random() < 0.5
    on, back = (value[u], code[target]) if onward else (code[target], value[u])
    path[0], old[0] = u, world[u]
    world[u], value[u] = target, code[target]
    size, chance = 1, 1.0
    for k in range(stays):
        i = ways.start[u] + k if onward else ways.start[u + 1] - 1 - k
        at, goal = (ways.end[i], ways.begin[i]) if onward else (ways.begin[i], ways.end[i])
        chance /= _step(net, code, value, ways, u, goal, on, back, near)[0] + 1
        passed, begins = number + k + 1, size
        while at != goal:
            many, v, cell = _step(net, code, value, ways, u, at, on, back, near)
            if many == 0 or stamp[at] == passed:
                return size, 0.0
            stamp[at] = passed
            if size == begins:
                chance *= many
            at = ways.end[ways.start[v]] if at == ways.begin[ways.start[v]] else ways.begin[ways.start[v]]
            path[size], old[size] = v, world[v]
            size += 1
            world[v], value[v] = cell, code[cell]
    for k in range(size):
        if not _apart(net, world, world[path[k]]):
            return size, 0.0
    return size, chance


@kernel
def _apart(net, world, cell):  # type: ignore[no-untyped-def]
    """Whether the lives before and after the owner of a cell have another value."""
    older, newer = net.older[cell], net.newer[cell]
    return (older < 0 or world[net.owner[older]] != older) and (newer < 0 or world[net.owner[newer]] != newer)


@kernel
def _step(net, code, value, ways, u, at, on, back, near):  # type: ignore[no-untyped-def]
    """How many lives, not u's, lead away from a point, one of them drawn at random, and the cell that it goes to."""
    found = 0
    for j in range(ways.out_start[at], ways.out_start[at + 1]):
        v = ways.out[j]
        if value[v] == on and v != u and _cell(net, code, v, back) >= 0:
            near[found] = v
            found += 1
    for j in range(ways.back_start[at], ways.back_start[at + 1]):
        v = ways.back[j]
        if value[v] == back and v != u and _cell(net, code, v, on) >= 0:
            near[found] = v
            found += 1
    if found == 0:
        return 0, -1, -1
    drawn = near[int(np.random.random() * found)]
    return found, drawn, _cell(net, code, drawn, back if value[drawn] == on else on)


@kernel
def _cell(net, code, u, value):  # type: ignore[no-untyped-def]
    """The cell of an unknown with a value, or -1; cells are sorted by value."""
    low, high = net.cell_start[u], net.cell_start[u + 1]
    while low < high:
        middle = (low + high) // 2
        if code[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < net.cell_start[u + 1] and code[low] == value else -1
