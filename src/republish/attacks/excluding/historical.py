"""Historical correlations between groups that share members (Cor-Split Def. 3 and 4, hc-pvr).

Two groups of different releases with the same values, row by row, and some members in common: the other members
of the one have, taken together, the same values as those of the other. A value that nobody on one side can have
is nobody's on the other. Combined with compromised people to a fixpoint. Where either group holds rows that
belong to none of its members nothing is concluded: the difference of the two is then unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.excluding.candidates import Unknowns, _size, lives
from republish.attacks.excluding.compromised import compromised, starting_sets
from republish.attacks.excluding.value_restriction import UNUSABLE, _neighbours, restrict
from republish.attacks.history import History
from republish.attacks.results import Findings
from republish.kernels import kernel


@dataclass(frozen=True)
class Correlation:
    """People of one release and people of a later one who have, taken together, the same values."""

    releases: tuple[int, int]
    first: frozenset[int]
    second: frozenset[int]


def historical(history: History, known: BoolArray, cascade: bool = True) -> Findings:
    """What remains of every life after compromised people and historical correlations, to a fixpoint."""
    unknowns = lives(history)
    sets = starting_sets(unknowns, known)
    restrict(unknowns, sets, known, cascade, _usable(history))
    return Findings.even(unknowns, sets)


def historical_once(history: History, known: BoolArray) -> Findings:
    """What remains after ct-pvr and then hc-pvr, each applied a single time: what Cor-Split's Theorem 2 speaks of.

    Applied again and again, as `historical` does, they reach far more people than that bound says.
    """
    before = compromised(history, known, cascade=False)
    unknowns, sets = before.unknowns, before.sets.copy()
    pairs = correlated_groups(unknowns)
    exclude_once(pairs, unknowns.of_appearance, history.member_start, before.sets, sets)
    return Findings.even(unknowns, sets)


@kernel
def exclude_once(pairs, member, member_start, before, sets):  # type: ignore[no-untyped-def]
    """From everyone on one side of a correlation, exclude what nobody on the other side could have before."""
    words = before.shape[1]
    side = np.zeros(len(before), dtype=np.int64)
    held = np.empty((2, words), dtype=np.uint64)
    for i in range(len(pairs)):
        g, h = pairs[i]
        for j in range(member_start[g], member_start[g + 1]):
            side[member[j]] = 1
        for j in range(member_start[h], member_start[h + 1]):
            side[member[j]] = 3 if side[member[j]] == 1 else 2  # 3: on both, in common
        held[:] = np.uint64(0)
        for group in (g, h):
            for j in range(member_start[group], member_start[group + 1]):
                v = member[j]
                if side[v] != 3:
                    held[side[v] - 1] |= before[v]
        for group in (g, h):
            for j in range(member_start[group], member_start[group + 1]):
                v = member[j]
                if side[v] != 3:
                    sets[v] &= held[2 - side[v]]
        for group in (g, h):
            for j in range(member_start[group], member_start[group + 1]):
                side[member[j]] = 0


def correlations(history: History, largest: int | None = None) -> tuple[Correlation, ...]:
    """All historical correlations between sets of at most `largest` people, those of earlier groups first.

    Releases and people are numbered from 0. Long series have millions of large ones: set a limit.
    """
    unknowns = lives(history)
    pairs = correlated_groups(unknowns, largest)
    release = np.repeat(np.arange(history.releases), np.diff(history.group_start))
    return tuple(_correlation(unknowns, int(g), int(h), release) for g, h in pairs)


def correlated_groups(unknowns: Unknowns, largest: int | None = None) -> IntArray:
    """Pairs of an earlier and a later group that correlate sets of at most `largest` people."""
    history = unknowns.history
    pairs: IntArray = _pairs(
        unknowns.of_appearance,
        unknowns.place_start,
        unknowns.place,
        history.member_start,
        _usable(history),
        np.iinfo(np.int64).max if largest is None else largest,
    )
    return pairs


def same_values(history: History, counted: bool = True) -> IntArray:
    """A number for every group, equal for groups with equal values (as often as each other, if `counted`)."""
    count = history.value_count if counted else np.ones_like(history.value_count)
    numbers: IntArray = _same(history.value_start, history.value_code, count)
    return numbers


def _usable(history: History) -> IntArray:
    """Groups with equal values get equal numbers; those with rows that belong to no member get -1."""
    numbers = same_values(history)
    numbers[history.nobodys > 0] = UNUSABLE
    return numbers


def _correlation(unknowns: Unknowns, g: int, h: int, release: IntArray) -> Correlation:
    start = unknowns.history.member_start
    one, other = (set(unknowns.of_appearance[start[i] : start[i + 1]].tolist()) for i in (g, h))
    first, second = (frozenset(int(unknowns.person[v]) for v in side) for side in (one - other, other - one))
    return Correlation((int(release[g]), int(release[h])), first, second)


@kernel
def _same(value_start, value_code, value_count):  # type: ignore[no-untyped-def]
    """Number the groups by their values: a hash table whose entries are compared value by value."""
    groups = len(value_start) - 1
    room = 16
    while room < 2 * groups:
        room *= 2
    table = np.full(room, -1, dtype=np.int64)
    number = np.empty(groups, dtype=np.int64)
    found = 0
    for g in range(groups):
        mixed = np.uint64(14695981039346656037)
        for j in range(value_start[g], value_start[g + 1]):
            mixed = _mix(mixed ^ np.uint64(value_code[j]))
            mixed = _mix(mixed ^ np.uint64(value_count[j]))
        slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(room - 1))
        while table[slot] >= 0 and not _equal(table[slot], g, value_start, value_code, value_count):
            slot = (slot + 1) & (room - 1)
        if table[slot] < 0:
            table[slot] = g
            number[g] = found
            found += 1
        else:
            number[g] = number[table[slot]]
    return number


@kernel
def _mix(word):  # type: ignore[no-untyped-def]
    """Marsaglia's xorshift."""
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    return word ^ (word << np.uint64(17))


@kernel
def _equal(g, h, value_start, value_code, value_count):  # type: ignore[no-untyped-def]
    length = value_start[g + 1] - value_start[g]
    if value_start[h + 1] - value_start[h] != length:
        return False
    for i in range(length):
        a, b = value_start[g] + i, value_start[h] + i
        if value_code[a] != value_code[b] or value_count[a] != value_count[b]:
            return False
    return True


@kernel
def _pairs(member, place_start, place, member_start, same, largest):  # type: ignore[no-untyped-def]
    """All pairs of an earlier and a later group in a historical correlation of at most so many people a side."""
    slot = np.full(len(same), -1, dtype=np.int64)
    pairs = [(0, 0)][:0]
    for g in range(len(same)):
        if same[g] < 0:
            continue
        here = member[member_start[g] : member_start[g + 1]]
        found, shared = _neighbours(g, here, place_start, place, same, slot)
        for i in range(len(found)):
            if found[i] > g and len(here) - _size(shared[i]) <= largest:
                pairs.append((g, found[i]))
    flat = np.empty((len(pairs), 2), dtype=np.int64)
    for i in range(len(pairs)):
        flat[i, 0], flat[i, 1] = pairs[i]
    return flat
