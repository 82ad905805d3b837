"""The tau-attack: event lists link releases over updates and absences (thesis 4.1.1 and 4.3.2).

Beyond intersecting, she links who comes back with an unchanged value, uses that an updated value differs from
the old one and what the publisher is known to do with changed values (see `rule`), and eliminates inside each
group, all to a fixpoint. Knowing *that* a value changed also weighs the
candidates: of (old, new) only unequal pairs are possible.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray, WordArray
from republish.attacks.excluding.candidates import (
    Unknowns,
    _drop,
    _has,
    _narrowed,
    _push,
    _size,
    _sole,
    intersected,
    lives,
)
from republish.attacks.excluding.signature_rule import exclude_kept
from republish.attacks.history import History
from republish.attacks.results import Findings
from republish.inference.assignment import narrow
from republish.kernels import kernel


def tau(history: History) -> Findings:
    """What remains of every life, and the posterior of its true and its likeliest value."""
    unknowns = lives(history)
    sets = intersected(unknowns)
    exclude_kept(unknowns, sets)
    eliminate(unknowns, sets)
    return Findings(unknowns, sets, *posterior(unknowns, sets))


def eliminate(unknowns: Unknowns, sets: WordArray) -> None:
    """Shrink candidate sets, in place, until neither a group nor an update excludes any more."""
    history = unknowns.history
    _eliminate(
        sets,
        unknowns.previous,
        unknowns.of_appearance,
        unknowns.place_start,
        unknowns.place,
        history.member_start,
        history.value_start,
        history.value_code,
        history.value_count,
    )


def posterior(unknowns: Unknowns, sets: WordArray) -> tuple[FloatArray, FloatArray]:
    """Probability of every life's true value, and of its likeliest; the latter twice where truth is not given.

    Uniform over the sequences of values in which successive lives differ; for one update these are the pairs
    (old, new) with old != new.
    """
    values = unknowns.history.values
    true, likeliest = _posterior(sets, unknowns.previous, unknowns.truth, values)
    return np.where(unknowns.truth >= 0, true, likeliest), likeliest


@kernel
def _eliminate(  # type: ignore[no-untyped-def]
    sets, previous, member, place_start, place, member_start, value_start, value_code, value_count
):
    groups = len(member_start) - 1
    changed, is_changed, height = _narrowed(sets, member_start, member, value_start)
    open_groups = np.empty(groups, dtype=np.int64)
    is_open = np.zeros(groups, dtype=np.bool_)
    depth = 0
    while height > 0 or depth > 0:
        if height > 0:
            height -= 1
            v = changed[height]
            is_changed[v] = False
            for j in range(place_start[v], place_start[v + 1]):
                depth = _push(open_groups, depth, is_open, place[j])
            code = _sole(sets[v])
            if code >= 0:
                for w in (v - 1, v + 1):  # the lives before and after cannot have had it
                    linked = 0 <= w < len(sets) and previous[max(v, w)] == min(v, w)
                    if linked and _has(sets[w], code):
                        _drop(sets[w], code)
                        height = _push(changed, height, is_changed, w)
            continue
        depth -= 1
        g = open_groups[depth]
        is_open[g] = False
        here = member[member_start[g] : member_start[g + 1]]
        code = value_code[value_start[g] : value_start[g + 1]]
        can = _possible(sets, here, code, value_count[value_start[g] : value_start[g + 1]])
        for i in range(len(here)):
            if not can[i].any():  # knowledge that contradicts itself teaches nothing
                continue
            shrank = False
            for s in range(len(code)):
                if not can[i, s] and _has(sets[here[i]], code[s]):
                    _drop(sets[here[i]], code[s])
                    shrank = True
            if shrank:
                height = _push(changed, height, is_changed, here[i])


@kernel
def _posterior(sets, previous, truth, values):  # type: ignore[no-untyped-def]
    """Forward and backward over each chain of lives: weight(s) = sum of the neighbour's weights but that of s."""
    count = len(sets)
    true, likeliest = np.zeros(count), np.zeros(count)
    first = 0
    while first < count:
        last = first + 1
        while last < count and previous[last] == last - 1:
            last += 1
        length = last - first
        if length == 1:  # most people: nothing to weigh
            likeliest[first] = 1.0 / max(1, _size(sets[first]))
            if truth[first] >= 0 and _has(sets[first], truth[first]):
                true[first] = likeliest[first]
            first = last
            continue
        forward = _weights(sets[first:last], values)
        backward = _weights(sets[first:last][::-1], values)[::-1]
        for i in range(length):
            total, top = 0.0, 0.0
            for s in range(values):
                if forward[i, s] > 0:  # both hold the factor of the life itself, 0 or 1
                    weight = _others(forward, i - 1, s) * _others(backward, i + 1, s)
                    total += weight
                    top = max(top, weight)
                    if s == truth[first + i]:
                        true[first + i] = weight
            if total > 0:
                true[first + i] /= total
                likeliest[first + i] = top / total
        first = last
    return true, likeliest


@kernel
def _weights(sets, values):  # type: ignore[no-untyped-def]
    """Share of the sequences up to each life that end in each value."""
    weight = np.zeros((len(sets), values))
    for i in range(len(sets)):
        total = 0.0
        for s in range(values):
            if _has(sets[i], s):
                weight[i, s] = _others(weight, i - 1, s)
                total += weight[i, s]
        if total > 0:
            weight[i] /= total
    return weight


@kernel
def _others(weight, i, s):  # type: ignore[no-untyped-def]
    """The share of all values but s in life i; 1 beyond the ends."""
    return 1.0 - weight[i, s] if 0 <= i < len(weight) else 1.0


@kernel
def _possible(sets, member, code, count):  # type: ignore[no-untyped-def]
    """What members may hold, bit by bit over `code`; all 0 where no assignment exists."""
    can = np.zeros((len(member), len(code)), dtype=np.bool_)
    for i in range(len(member)):
        for s in range(len(code)):
            can[i, s] = _has(sets[member[i]], code[s])
    if not narrow(can, count.astype(np.int64)):
        can[:] = False
    return can
