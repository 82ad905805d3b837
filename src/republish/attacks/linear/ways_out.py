"""Worlds of lines, drawn at random by ways out.

Whoever is to change from one value to another leaves a gap in all her groups; it is closed by lives of the two values
that change places all along a way from her end back to her beginning: those of the one value lead on, those of the
other back. A life that was interrupted needs such a way for each of its stays, one after the other. All ways of up to
LONGEST lives are counted, by steps from point to point, and one of them is drawn, so that there is a way wherever the
line has one. Each has a weight that depends on its length alone. It is taken with the chance (weight of all ways
before) / (weight of all ways back, after it was taken), so that every world is as likely in the long run.

A way exchanges two values. There are worlds that only an exchange of three or more leads to, which matters most where
lines are short: these are left to chains and blocks (`sampling.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.kernels import kernel

STAYS = 8
"""Most stays of a life that takes another value by ways; one of more only exchanges it with lives of the same stays."""
LONGEST = 24
"""Most lives on a way."""
FAR = 0.125
"""The share of proposals for which ways of up to so many lives are counted; else up to a third, which is faster."""
MATES = 32
"""With how many of those who have the same stays exchanges are tallied."""


class Tracks(NamedTuple):
    """One line at a time, for kernels; points count from the first one of the line.

    `arrows[s, a, b]` are the lives of value s with one stay, from point a to b. `spent[s]` is how long all lives have
    the value s in all, the same in all worlds. `steps[b, a]` are the lives that lead from a to b, and `reach[k, a]` the
    weight of all ways of k lives from there to the goal. `who` changed in what is proposed, and what each had is `old`.
    """

    arrows: IntArray
    spent: IntArray
    steps: FloatArray
    reach: FloatArray
    who: IntArray
    old: IntArray


@kernel
def _line_sweeps(net, code, world, ways, walkers, sweeps, seed, counts):  # type: ignore[no-untyped-def]
    """Move `world` through so many sweeps and add to `counts` one for every unknown and sweep.

    A sweep proposes in every part its number of changes, more of each life of several stays, which succeed less often,
    and everyone to exchange values with somebody of the same stays. What is added are not the cells of the one world
    but of those that the next proposal would lead to, each with its chance, which says the same with less noise.
    """
    np.random.seed(seed)
    value = np.empty(len(world), dtype=np.int64)
    for u in walkers.who:
        value[u] = code[world[u]]
    tracks = _tracks(ways, walkers, code.max() + 1)
    for _ in range(sweeps):
        for p in range(len(walkers.chains)):
            movable = walkers.who[walkers.start[p] : walkers.start[p + 1]]
            line = _lay(value, ways, movable, tracks)
            for _ in range(walkers.chains[p]):
                u = movable[int(np.random.random() * len(movable))]
                _proposed(net, code, world, value, ways, u, line, tracks)
            for u in movable:
                stays = ways.start[u + 1] - ways.start[u]
                if stays > 1:
                    for _ in range(stays**2):
                        was = world[u]
                        cell, chance = _proposed(net, code, world, value, ways, u, line, tracks)
                        counts[cell] += chance / stays**2
                        counts[was] += (1.0 - chance) / stays**2
            for u in movable:
                w = ways.mates[_among(ways, u, np.random.random())]
                cell, other = _exchange(net, code, world, value, u, w)
                world[u], world[w] = cell, other
                value[u], value[w] = code[cell], code[other]
        for u in walkers.who:
            if ways.start[u + 1] - ways.start[u] == 1:
                _tally(net, code, world, value, ways, u, counts)


@kernel
def _proposed(net, code, world, value, ways, u, line, tracks):  # type: ignore[no-untyped-def]
    """Propose another value to u, which is taken or not: its cell, and its chance."""
    size, chance = _ways_out(net, code, world, value, ways, u, line, tracks)
    cell, chance = world[u], min(chance, 1.0)
    if np.random.random() >= chance:
        for i in range(size - 1, -1, -1):
            _turn(code, world, value, ways, line[0], tracks, tracks.who[i], tracks.old[i])
    return cell, chance


@kernel
def _among(ways, u, part):  # type: ignore[no-untyped-def]
    """A place in the list of those who have the same stays as u, so far behind its start."""
    first, last = ways.mate_start[ways.kind[u]], ways.mate_start[ways.kind[u] + 1]
    return first + int(part * (last - first))


@kernel
def _exchange(net, code, world, value, u, w):  # type: ignore[no-untyped-def]
    """The cells of two lives with the same stays after they have exchanged values, as they are where this cannot be."""
    if value[u] != value[w]:
        cell, other = _cell(net, code, u, value[w]), _cell(net, code, w, value[u])
        if cell >= 0 and other >= 0 and _apart(net, world, cell) and _apart(net, world, other):
            return cell, other
    return world[u], world[w]


@kernel
def _tally(net, code, world, value, ways, u, counts):  # type: ignore[no-untyped-def]
    """Add one to the cells of u, shared out over exchanges with MATES of the same stays, or all if there are fewer."""
    first, last = ways.mate_start[ways.kind[u]], ways.mate_start[ways.kind[u] + 1]
    number = min(MATES, last - first)
    at = first if number == last - first else _among(ways, u, np.random.random())
    for _ in range(number):
        cell, _ = _exchange(net, code, world, value, u, ways.mates[at])
        counts[cell] += 1.0 / number
        at = at + 1 if at + 1 < last else first


@kernel
def _tracks(ways, walkers, values):  # type: ignore[no-untyped-def]
    """Room for the longest line."""
    points = 0
    for p in range(len(walkers.chains)):
        base, top = _extent(ways, walkers.who[walkers.start[p] : walkers.start[p + 1]])
        points = max(points, top + 1 - base)
    most = 1 + STAYS * LONGEST
    return Tracks(
        np.zeros((values, points, points), np.int64),
        np.zeros(values, np.int64),
        np.zeros((points, points)),
        np.zeros((LONGEST + 1, points)),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )


@kernel
def _extent(ways, movable):  # type: ignore[no-untyped-def]
    """The first and the last point of a line."""
    base, top = ways.begin[ways.start[movable[0]]], 0
    for u in movable:
        base = min(base, ways.begin[ways.start[u]])
        top = max(top, ways.end[ways.start[u + 1] - 1])
    return base, top


@kernel
def _lay(value, ways, movable, tracks):  # type: ignore[no-untyped-def]
    """Fill in the arrows of a line: its first point, how many there are, and what the weight of a life is made of."""
    tracks.arrows[:] = 0
    tracks.spent[:] = 0
    base, top = _extent(ways, movable)
    stays = 0
    for u in movable:
        for i in range(ways.start[u], ways.start[u + 1]):
            stays += 1
            tracks.spent[value[u]] += ways.end[i] - ways.begin[i]
        if ways.start[u + 1] - ways.start[u] == 1:
            i = ways.start[u]
            tracks.arrows[value[u], ways.begin[i] - base, ways.end[i] - base] += 1
    points = top + 1 - base
    return base, points, points * tracks.spent.sum() / stays


@kernel
def _turn(code, world, value, ways, base, tracks, u, cell):  # type: ignore[no-untyped-def]
    """Give a life another value."""
    if ways.start[u + 1] - ways.start[u] == 1:
        begin, end = ways.begin[ways.start[u]] - base, ways.end[ways.start[u]] - base
        tracks.arrows[value[u], begin, end] -= 1
        tracks.arrows[code[cell], begin, end] += 1
    world[u], value[u] = cell, code[cell]


@kernel
def _ways_out(net, code, world, value, ways, u, line, tracks):  # type: ignore[no-untyped-def]
    """Have u take another value, and whoever must change places: how many changes, and the chance to keep them.

    Somebody may change for two stays. Stays are taken from the first to the last where ways lead to her beginning, and
    the other way round where they lead to her end, so that the way back undoes them one by one.
    """
    base, points, scale = line
    first, last = net.cell_start[u], net.cell_start[u + 1]
    stays = ways.start[u + 1] - ways.start[u]
    if last - first < 2 or stays > STAYS or stays == 0:
        return 0, 0.0
    target, chance = _target(net, first, last, world[u])
    if target < 0:
        return 0, 0.0
    onward = np.random.random() < 0.5
    on, back = (value[u], code[target]) if onward else (code[target], value[u])
    weight = scale / (tracks.spent[on] + tracks.spent[back])
    most = LONGEST if np.random.random() < FAR else LONGEST // 3
    tracks.who[0], tracks.old[0] = u, world[u]
    _steps(value, ways, u, base, points, on, back, tracks)
    _turn(code, world, value, ways, base, tracks, u, target)
    size = 1
    for k in range(stays):
        i = ways.start[u] + k if onward else ways.start[u + 1] - 1 - k
        at, goal = (ways.end[i], ways.begin[i]) if onward else (ways.begin[i], ways.end[i])
        there = _reached(points, at - base, goal - base, weight, most, tracks)
        begins, size = (
            size,
            _way(value, ways, u, line, on, back, at - base, there, weight, most, size, tracks),
        )
        for j in range(begins, size):
            v = tracks.who[j]
            cell = _cell(net, code, v, back if value[v] == on else on)
            if cell < 0:
                return j, 0.0
            tracks.old[j] = world[v]
            _turn(code, world, value, ways, base, tracks, v, cell)
        if size == begins:
            return size, 0.0
        chance *= there / _reached(points, goal - base, at - base, weight, most, tracks)
    for k in range(size):
        if not _apart(net, world, world[tracks.who[k]]):
            return size, 0.0
    return size, chance


@kernel
def _target(net, first, last, now):  # type: ignore[no-untyped-def]
    """Draw another of some cells, a frequent value more often, and how much likelier this is back than there."""
    total = 0.0
    for c in range(first, last):
        total += _frequent(net, c)
    others = total - _frequent(net, now)
    target, rest = -1, np.random.random() * others
    for c in range(first, last):
        if c != now and _frequent(net, c) > 0.0 and rest >= 0.0:
            target = c
            rest -= _frequent(net, c)
    if target < 0:
        return target, 0.0
    there, back = _frequent(net, target) / others, _frequent(net, now) / (total - _frequent(net, target))
    return target, back / there


@kernel
def _frequent(net, cell):  # type: ignore[no-untyped-def]
    """The fewest open rows of a cell's value in a group of its owner."""
    fewest = net.need[net.slot[net.slot_start[cell]]]
    for j in range(net.slot_start[cell], net.slot_start[cell + 1]):
        fewest = min(fewest, net.need[net.slot[j]])
    return float(fewest)


@kernel
def _steps(value, ways, u, base, points, on, back, tracks):  # type: ignore[no-untyped-def]
    """How many lives, not u's, lead from each point to each other."""
    for b in range(points):
        for a in range(points):
            tracks.steps[b, a] = tracks.arrows[on, a, b] + tracks.arrows[back, b, a]
    if ways.start[u + 1] - ways.start[u] == 1:
        begin, end = ways.begin[ways.start[u]] - base, ways.end[ways.start[u]] - base
        if value[u] == on:
            tracks.steps[end, begin] -= 1.0
        else:
            tracks.steps[begin, end] -= 1.0


@kernel
def _reached(points, at, goal, weight, most, tracks):  # type: ignore[no-untyped-def]
    """The weight of all ways of up to `most` lives from a point to the goal."""
    tracks.reach[0, :points] = 0.0
    tracks.reach[0, goal] = 1.0
    total = 0.0
    for k in range(1, most + 1):
        before, now = tracks.reach[k - 1], tracks.reach[k]
        now[:points] = 0.0
        for b in range(points):
            if before[b] > 0.0:
                row, times = tracks.steps[b], weight * before[b]
                for a in range(points):
                    now[a] += row[a] * times
        total += now[at]
    return total


@kernel
def _way(value, ways, u, line, on, back, at, total, weight, most, size, tracks):  # type: ignore[no-untyped-def]
    """Draw one of all ways to the goal, and enter who is on it behind the first `size`: how many there are then.

    As many as before where there is no way, or somebody is on it twice.
    """
    base, points, _ = line
    steps, reach, begins = tracks.steps, tracks.reach, size
    left, rest = 0, np.random.random() * total
    for k in range(1, most + 1):
        if reach[k, at] > 0.0 and rest >= 0.0:
            left = k
            rest -= reach[k, at]
    while left > 0:
        to, rest = -1, np.random.random() * reach[left, at]
        for b in range(points):
            chance = weight * steps[b, at] * reach[left - 1, b]
            if chance > 0.0 and rest >= 0.0:
                to = b
                rest -= chance
        v = _nth(value, ways, u, base, on, back, at, to, int(np.random.random() * steps[to, at]))
        for i in range(begins, size):
            if tracks.who[i] == v:
                return begins
        tracks.who[size] = v
        size += 1
        at = to
        left -= 1
    for i in range(begins, size):
        begin, end = ways.begin[ways.start[tracks.who[i]]] - base, ways.end[ways.start[tracks.who[i]]] - base
        a, b = (begin, end) if value[tracks.who[i]] == on else (end, begin)
        steps[b, a] -= 1.0
        steps[a, b] += 1.0
    return size


@kernel
def _nth(value, ways, u, base, on, back, at, to, number):  # type: ignore[no-untyped-def]
    """The life of this number among those, not u's, that lead from one point to another."""
    for forward in (True, False):
        begin, end, wanted = (at, to, on) if forward else (to, at, back)
        for j in range(ways.out_start[base + begin], ways.out_start[base + begin + 1]):
            v = ways.out[j]
            if value[v] == wanted and v != u and ways.end[ways.start[v]] == base + end:
                if number == 0:
                    return v
                number -= 1
    return -1


@kernel
def _apart(net, world, cell):  # type: ignore[no-untyped-def]
    """Whether the lives before and after the owner of a cell have another value."""
    older, newer = net.older[cell], net.newer[cell]
    return (older < 0 or world[net.owner[older]] != older) and (newer < 0 or world[net.owner[newer]] != newer)


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
