"""One person's values as a Markov chain: what all other evidence says of each of them.

A state is the context of the knowledge: the last d values, of which the older ones are numbered to the base m + 1, m
being "no value". The chain is filtered forward, then read backward; at each appearance the evidence of its own
group is left out.

Somebody may be known to have kept the last value, or to have changed it: only such steps count then.

Of all states few can be at one appearance. Only those are kept: `Chains`.

Where the evidence rules out what the knowledge expects, a chain is cut: the values after it go on from what was
believed there, and nothing passes to the values before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, Float32Array, FloatArray, Int8Array, Int32Array, IntArray
from republish.kernels import kernel

UNTOLD, STAYED, CHANGED = -1, 0, 1
"""Whether a value differs from that of the appearance before: nothing is known of it, it does not, it does."""


class Seats(NamedTuple):
    """Everyone in one release: the number of the person, the class, and what the groups said.

    `odds` [person, value] is that relative to what was expected; where `cut`, it is what is believed in the end.
    `before` is the number of the person's appearance before this one among all of the series, -1 where there is none;
    `changed` whether the value is known to differ from the one there.
    """

    person: IntArray
    kind: IntArray
    odds: FloatArray
    cut: BoolArray
    before: IntArray
    changed: Int8Array


class Tables(NamedTuple):
    """The prior [class, value] of some knowledge, and what may follow each state, after most of which few values do.

    What follows state s in class c, numbered c * states + s, is `following[k]` with the chance `chance[k]`, for k from
    its `start` to the next one's. `last` is the last value of each state, `to` + x the state after it when x follows.
    """

    prior: FloatArray
    start: IntArray
    following: IntArray
    chance: FloatArray
    last: IntArray
    to: IntArray

    @classmethod
    def of(cls, prior: FloatArray, sequential: FloatArray | None, older: int) -> Tables:
        """The tables of a knowledge; `sequential` [class, older, last, next]."""
        m = prior.shape[1]
        table = np.zeros((0, m)) if sequential is None else sequential.reshape(-1, m)
        context, following = np.nonzero(table)
        start = np.searchsorted(context, np.arange(len(table) + 1))
        before, last = np.divmod(np.arange(older * m), m)
        to = (before % max(older // (m + 1), 1)) * (m + 1) + last if older > 1 else 0 * last
        return cls(prior, start.astype(np.int64), following, table[context, following], last, to * m)


class Chains(NamedTuple):
    """The states that can be at every appearance of a series: those of appearance a are k from `start[a]` on.

    `ahead` is what is expected of state `state[k]` from the appearances before, `after` that once its group is seen,
    `back` how likely the state makes what follows.
    """

    start: IntArray
    state: Int32Array
    ahead: Float32Array
    after: FloatArray
    back: Float32Array

    def copied(self) -> Chains:
        return Chains(
            self.start.copy(), self.state.copy(), self.ahead.copy(), self.after.copy(), self.back.copy()
        )


@kernel
def look_ahead(
    seats: Seats, tables: Tables, chains: Chains, first: int, rows: IntArray, out: FloatArray
) -> None:
    """Write into `out` what is expected of the chosen rows of a release, but for its own groups.

    The appearances of the release are numbered from `first`. Of values to which the own group gives no odds nothing
    need be known; what is written of them means nothing.
    """
    states, m = len(tables.last), tables.prior.shape[1]
    ahead = np.zeros(states)
    for i in rows:
        ahead[:], scale = 0.0, 1.0
        if seats.before[i] < 0:
            ahead[states - m :] = tables.prior[seats.kind[i]]
        else:
            scale = _step(chains, seats.before[i], tables, seats.kind[i], seats.changed[i], ahead)
        for k in range(chains.start[first + i], chains.start[first + i + 1]):
            chains.ahead[k] = ahead[chains.state[k]] * scale
        _combine(chains, first + i, tables, out[i])


@kernel
def settle_ahead(seats: Seats, tables: Tables, chains: Chains, first: int, rows: IntArray) -> None:
    """Fill the states of the chosen rows once the groups are seen.

    Where they are ruled out, or cut, the chain goes on from what is believed, each value with the older ones that were
    expected with it, or with the older ones as they were.
    """
    m = tables.prior.shape[1]
    for i in rows:
        begin, end = chains.start[first + i], chains.start[first + i + 1]
        odds, total = seats.odds[i], 0.0
        if not seats.cut[i]:
            for k in range(begin, end):
                chains.after[k] = chains.ahead[k] * odds[tables.last[chains.state[k]]]
                total += chains.after[k]
        if total == 0.0:
            expected, kept = np.zeros(m), np.zeros(len(tables.last) // m)
            for k in range(begin, end):
                expected[tables.last[chains.state[k]]] += chains.ahead[k]
                kept[chains.state[k] // m] += chains.ahead[k]
            for k in range(begin, end):
                x = tables.last[chains.state[k]]
                share = chains.ahead[k] / expected[x] if expected[x] > 0.0 else kept[chains.state[k] // m]
                chains.after[k] = share * odds[x]
                total += chains.after[k]
        scale = 1.0 / total if total > 0.0 else 0.0
        for k in range(begin, end):
            chains.after[k] *= scale


@kernel
def look_back(
    seats: Seats, tables: Tables, chains: Chains, first: int, rows: IntArray, out: FloatArray
) -> None:
    """As `look_ahead`, from the last release to the first."""
    for i in rows:
        _combine(chains, first + i, tables, out[i])


@kernel
def settle_back(seats: Seats, tables: Tables, chains: Chains, first: int, rows: IntArray) -> None:
    """Tell the appearances before the chosen rows how likely their states make what follows."""
    weight = np.zeros(len(tables.last))
    for i in rows:
        before = seats.before[i]
        if before < 0:
            continue
        most = 0.0
        if not seats.cut[i]:
            weight[:] = 0.0
            for k in range(chains.start[first + i], chains.start[first + i + 1]):
                weight[chains.state[k]] = seats.odds[i, tables.last[chains.state[k]]] * chains.back[k]
            most = _return(chains, before, tables, seats.kind[i], seats.changed[i], weight)
        scale = 1.0 / most if most > 0.0 else 0.0
        for k in range(chains.start[before], chains.start[before + 1]):
            chains.back[k] = chains.back[k] * scale if most > 0.0 else 1.0


@kernel
def _step(chains: Chains, before: int, tables: Tables, kind: int, changed: int, ahead: FloatArray) -> float:
    """Fill `ahead` with the states of the next appearance; where there is no way, of somebody new with that past.

    It sums to 1 times the number returned.
    """
    states, m = len(tables.last), tables.prior.shape[1]
    total = 0.0
    for k in range(chains.start[before], chains.start[before + 1]):
        s, weight = chains.state[k], chains.after[k]
        if weight == 0.0:
            continue
        for way in range(tables.start[kind * states + s], tables.start[kind * states + s + 1]):
            x = tables.following[way]
            if changed == UNTOLD or (x != tables.last[s]) == (changed == CHANGED):
                step = weight * tables.chance[way]
                ahead[tables.to[s] + x] += step
                total += step
    if total > 0.0:
        return 1.0 / total
    for k in range(chains.start[before], chains.start[before + 1]):
        s = chains.state[k]
        for x in range(m):
            if changed == UNTOLD or (changed == CHANGED and x != tables.last[s]):
                ahead[tables.to[s] + x] += chains.after[k] * tables.prior[kind, x]
            elif changed == STAYED and x == tables.last[s]:
                ahead[tables.to[s] + x] += chains.after[k]
    return 1.0


@kernel
def _return(
    chains: Chains, before: int, tables: Tables, kind: int, changed: int, weight: FloatArray
) -> float:
    """Fill `back` of an appearance, `weight` the same of the next one with its odds; the largest, 0 for impossible."""
    states = len(tables.last)
    most = 0.0
    for k in range(chains.start[before], chains.start[before + 1]):
        s, total = chains.state[k], 0.0
        if chains.ahead[k] > 0.0:
            for way in range(tables.start[kind * states + s], tables.start[kind * states + s + 1]):
                x = tables.following[way]
                if changed == UNTOLD or (x != tables.last[s]) == (changed == CHANGED):
                    total += tables.chance[way] * weight[tables.to[s] + x]
        chains.back[k] = total
        most = max(most, total)
    return most


@kernel
def _combine(chains: Chains, appearance: int, tables: Tables, out: FloatArray) -> None:
    """Write what both sides say of a value; where they exclude each other, the side before."""
    total = 0.0
    out[:] = 0.0
    begin, end = chains.start[appearance], chains.start[appearance + 1]
    for k in range(begin, end):
        out[tables.last[chains.state[k]]] += chains.ahead[k] * chains.back[k]
    for p in out:
        total += p
    if total == 0.0:
        for k in range(begin, end):
            out[tables.last[chains.state[k]]] += chains.ahead[k]
        for p in out:
            total += p
    if total > 0.0:
        out /= total
