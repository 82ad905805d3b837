"""One person's values as a Markov chain: what all other evidence says of each of them.

A state is the context of the knowledge: the last d values, of which the older ones are numbered to the base m + 1, m
being "no value". The chain is filtered forward, then read backward; at each appearance the evidence of its own
group is left out.

Somebody may be known to have kept the last value, or to have changed it: only such steps count then.

Where the evidence rules out what the knowledge expects, a chain is cut: the values after it go on from what was
believed there, and nothing passes to the values before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from republish.arrays import BoolArray, Float32Array, FloatArray, Int8Array, IntArray
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
    """The prior [class, value] and the table [class, older, last, next] of some knowledge."""

    prior: FloatArray
    sequential: FloatArray


@kernel
def look_ahead(
    seats: Seats, tables: Tables, states: FloatArray, notes: Float32Array, rows: IntArray, out: FloatArray
) -> None:
    """Write into `out` what is expected of the chosen rows of a release, but for its own groups.

    Of values to which the own group gives no odds nothing need be known; what is written of them means nothing.

    `states` [person, older, last] are those after the last appearance. `notes` [row, older, last] say how likely
    each state makes what follows, and then hold the states expected here.
    """
    older, m = notes.shape[1:]
    keep = max(older // (m + 1), 1)
    ahead = np.empty((older, m))
    for i in rows:
        if seats.before[i] < 0:
            ahead[:] = 0.0
            ahead[older - 1] = tables.prior[seats.kind[i]]
        else:
            table, prior = tables.sequential[seats.kind[i]], tables.prior[seats.kind[i]]
            _step(states[seats.person[i]], table, prior, keep, seats.changed[i], ahead)
        _combine(ahead, notes[i], out[i])
        notes[i] = ahead


@kernel
def settle_ahead(seats: Seats, states: FloatArray, notes: Float32Array, rows: IntArray) -> None:
    """Fill `states` with those of the chosen rows once the groups are seen; `notes` as `look_ahead` left them."""
    for i in rows:
        _weigh(notes[i], seats.odds[i], seats.cut[i], states[seats.person[i]])


@kernel
def look_back(seats: Seats, states: FloatArray, notes: Float32Array, rows: IntArray, out: FloatArray) -> None:
    """As `look_ahead`, from the last release to the first.

    `states` say how likely each state of a person makes what follows. `notes` hold the states expected here, and
    are left as they are.
    """
    for i in rows:
        _combine(notes[i], states[seats.person[i]], out[i])


@kernel
def settle_back(
    seats: Seats, tables: Tables, states: FloatArray, everything: Float32Array, first: int, rows: IntArray
) -> None:
    """Take `states` of the chosen rows one appearance back; those of this one go to the notes.

    `everything` are the notes of the whole series, of which those of this release start at `first`.
    """
    older, m = everything.shape[1:]
    keep = max(older // (m + 1), 1)
    found = np.empty((older, m))
    for i in rows:
        state = states[seats.person[i]]
        possible = False
        if seats.before[i] >= 0 and not seats.cut[i]:
            table = tables.sequential[seats.kind[i]]
            past, changed = everything[seats.before[i]], seats.changed[i]
            possible = _return(past, state, table, seats.odds[i], keep, changed, found)
        everything[first + i] = state
        if possible:
            state[:] = found
        else:
            state[:] = 1.0


@kernel
def _weigh(ahead: Float32Array, odds: FloatArray, cut: bool, after: FloatArray) -> None:
    """Fill `after` with the states once the evidence is in.

    Where they are ruled out, or cut, the chain goes on from what is believed, each value with the older ones that were
    expected with it, or with the older ones as they were.
    """
    older, m = ahead.shape
    total = 0.0
    if not cut:
        for o in range(older):
            for x in range(m):
                after[o, x] = ahead[o, x] * odds[x]
                total += after[o, x]
    if total == 0.0:
        expected, kept = np.zeros(m), np.zeros(older)
        for o in range(older):
            for x in range(m):
                expected[x] += ahead[o, x]
                kept[o] += ahead[o, x]
        for o in range(older):
            for x in range(m):
                share = ahead[o, x] / expected[x] if expected[x] > 0.0 else kept[o]
                after[o, x] = share * odds[x]
                total += after[o, x]
    if total > 0.0:
        after /= total


@kernel
def _step(
    states: FloatArray, table: FloatArray, prior: FloatArray, keep: int, changed: int, ahead: FloatArray
) -> None:
    """Fill `ahead` with the states of the next appearance; where there is no way, of somebody new with that past."""
    older, m = states.shape
    ahead[:] = 0.0
    total = 0.0
    for o in range(older):
        for last in range(m):
            weight = states[o, last]
            if weight == 0.0:
                continue
            to = (o % keep) * (m + 1) + last if older > 1 else 0
            for x in range(last, last + 1) if changed == STAYED else range(m):
                if changed == CHANGED and x == last:
                    continue
                step = weight * table[o, last, x]
                ahead[to, x] += step
                total += step
    if total > 0.0:
        ahead /= total
        return
    for o in range(older):
        for last in range(m):
            to = (o % keep) * (m + 1) + last if older > 1 else 0
            for x in range(m):
                if changed == UNTOLD or (changed == CHANGED and x != last):
                    ahead[to, x] += states[o, last] * prior[x]
                elif changed == STAYED and x == last:
                    ahead[to, x] += states[o, last]


@kernel
def _return(
    states: Float32Array,
    back: FloatArray,
    table: FloatArray,
    odds: FloatArray,
    keep: int,
    changed: int,
    before: FloatArray,
) -> bool:
    """Fill `before` with how likely the states of an appearance make all that follows, the largest 1.

    `states` are those that can be, `back` is the same of the next appearance. Whether any state makes it possible.
    """
    older, m = states.shape
    open_ = np.empty(m, np.int64)
    there = 0
    for x in range(m):
        if odds[x] > 0.0:
            open_[there] = x
            there += 1
    most = 0.0
    for o in range(older):
        for last in range(m):
            before[o, last] = 0.0
            if states[o, last] == 0.0:
                continue
            to = (o % keep) * (m + 1) + last if older > 1 else 0
            total = 0.0
            if changed == STAYED:
                total = table[o, last, last] * odds[last] * back[to, last]
            else:
                for i in range(there):
                    x = open_[i]
                    if changed == UNTOLD or x != last:
                        total += table[o, last, x] * odds[x] * back[to, x]
            before[o, last] = total
            most = max(most, total)
    if most == 0.0:
        return False
    before /= most
    return True


@kernel
def _combine(ahead: NDArray[Any], back: NDArray[Any], out: FloatArray) -> None:
    """Write what both sides say of a value; where they exclude each other, the side before."""
    older, m = ahead.shape
    total = 0.0
    out[:] = 0.0
    for o in range(older):
        for x in range(m):
            out[x] += ahead[o, x] * back[o, x]
    total = out.sum()
    if total == 0.0:
        for o in range(older):
            for x in range(m):
                out[x] += ahead[o, x]
        total = out.sum()
    if total > 0.0:
        out /= total
