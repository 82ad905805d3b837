"""How many rows of a bundle can go on into another when all rows of a release must go on: a flow made largest.

Any way to lead all rows on is a flow from bundles to comparable ones, none beyond its rows. Another way differs from it
along paths on which rows change places, so that a flow is made larger at one edge, or smaller into one bundle, until no
path is left (augmenting paths, Ford and Fulkerson 1956).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import IntArray
from republish.attacks.growing.correspondence import Passage
from republish.kernels import kernel

_NOBODY = -1


class _Flow(NamedTuple):
    """Rows on every edge and into every bundle; what a search notes; the edges into bundle v from `into[v]` on."""

    rows: IntArray
    inflow: IntArray
    into: IntArray
    edge_into: IntArray
    queue: IntArray
    stamp: IntArray
    out_of: IntArray
    in_to: IntArray
    wanted: IntArray
    time: IntArray


def most_along(passage: Passage, source: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
    """The most rows that can go from each source to the target beside it, and the fewest that go into each bundle.

    Where not all rows can go on anywhere, cells say nothing of where rows go: then counts alone, and none.
    """
    size = len(passage.room)
    order = np.argsort(passage.to, kind="stable")
    into = np.append(0, np.cumsum(np.bincount(passage.to, minlength=size))).astype(np.int64)
    zeros, none = np.zeros(size, np.int64), np.full(size, -1, np.int64)
    flow = _Flow(
        np.zeros(len(passage.to), np.int64),
        zeros,
        into,
        order.astype(np.int64),
        np.empty(size, np.int64),
        none,
        none.copy(),
        none.copy(),
        none.copy(),
        np.zeros(1, np.int64),
    )
    if not _fill(passage, flow):
        return np.minimum(passage.supply[source], passage.room[target]), np.zeros(size, np.int64)
    return _most(passage, flow, source, target), _fewest(passage, flow)


@kernel
def _fill(passage, flow):  # type: ignore[no-untyped-def]
    """Lead all rows on; whether that can be."""
    for u in range(len(passage.supply)):
        for _ in range(passage.supply[u]):
            done = False
            for edge in range(passage.start[u], passage.start[u + 1]):
                v = passage.to[edge]
                if flow.inflow[v] < passage.room[v] or _make_room(passage, flow, v, _NOBODY) >= 0:
                    done = True
                if done:
                    flow.rows[edge] += 1
                    flow.inflow[v] += 1
                    break
            if not done:
                return False
    return True


@kernel
def _make_room(passage, flow, v, spared):  # type: ignore[no-untyped-def]
    """Lead one row less into v, none of bundle `spared`, and return the bundle that takes one more; -1 for no way.

    Bundles marked `wanted` take one beyond their rows.
    """
    flow.time[0] += 1
    now = flow.time[0]
    flow.queue[0], waiting, taken = v, 1, 0
    flow.stamp[v] = now
    while taken < waiting:
        w = flow.queue[taken]
        taken += 1
        for place in range(flow.into[w], flow.into[w + 1]):
            back = flow.edge_into[place]
            u = passage.source[back]
            if flow.rows[back] == 0 or u == spared:
                continue
            for edge in range(passage.start[u], passage.start[u + 1]):
                t = passage.to[edge]
                if flow.stamp[t] == now:
                    continue
                flow.stamp[t] = now
                flow.out_of[t], flow.in_to[t] = back, edge
                if flow.inflow[t] < passage.room[t] or (flow.wanted[t] == spared and spared >= 0):
                    _shift(passage, flow, v, t)
                    return t
                flow.queue[waiting] = t
                waiting += 1
    return -1


@kernel
def _shift(passage, flow, v, t):  # type: ignore[no-untyped-def]
    """Move a row along the path that was found from v to t."""
    flow.inflow[t] += 1
    flow.inflow[v] -= 1
    while t != v:
        flow.rows[flow.in_to[t]] += 1
        flow.rows[flow.out_of[t]] -= 1
        t = passage.to[flow.out_of[t]]


@kernel
def _most(passage, flow, source, target):  # type: ignore[no-untyped-def]
    """Make the flow as large as it can be at one edge after the other."""
    found = np.zeros(len(source), np.int64)
    for n in range(len(source)):
        u, v = source[n], target[n]
        edge = -1
        for e in range(passage.start[u], passage.start[u + 1]):
            if passage.to[e] == v:
                edge = e
        if edge < 0:
            continue
        while flow.rows[edge] < min(passage.supply[u], passage.room[v]):
            taker = -1
            if flow.inflow[v] >= passage.room[v]:
                for e in range(passage.start[u], passage.start[u + 1]):
                    if e != edge and flow.rows[e] > 0:
                        flow.wanted[passage.to[e]] = u
                taker = _make_room(passage, flow, v, u)
                for e in range(passage.start[u], passage.start[u + 1]):
                    flow.wanted[passage.to[e]] = -1
                if taker < 0:
                    break
            other = -1
            for e in range(passage.start[u], passage.start[u + 1]):
                if e != edge and flow.rows[e] > 0 and (other < 0 or passage.to[e] == taker):
                    other = e
            flow.rows[other] -= 1
            flow.inflow[passage.to[other]] -= 1
            flow.rows[edge] += 1
            flow.inflow[v] += 1
        found[n] = flow.rows[edge]
    return found


@kernel
def _fewest(passage, flow):  # type: ignore[no-untyped-def]
    """Make the flow into one bundle after the other as small as it can be."""
    found = np.zeros(len(passage.room), np.int64)
    for v in range(len(passage.room)):
        while flow.inflow[v] > 0 and _make_room(passage, flow, v, _NOBODY) >= 0:
            pass
        found[v] = flow.inflow[v]
    return found
