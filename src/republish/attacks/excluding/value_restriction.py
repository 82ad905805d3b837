"""The private value restriction functions of Cor-Split, ct-pvr and hc-pvr, applied to a fixpoint."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, IntArray, WordArray
from republish.attacks.excluding.candidates import Unknowns, _has, _keep, _narrowed, _push, _sole
from republish.kernels import kernel

UNUSABLE = -1


def restrict(unknowns: Unknowns, sets: WordArray, known: BoolArray, cascade: bool, same: IntArray) -> None:
    """Shrink candidate sets, in place, until neither function excludes any more.

    Groups with equal numbers in `same` have equal values row by row and may be correlated; -1 is for those that may
    not. With `cascade` whoever has one candidate left counts as known.
    """
    history = unknowns.history
    counts = np.ones(unknowns.count, dtype=np.bool_) if cascade else known[unknowns.person]
    _restrict(
        sets,
        counts,
        unknowns.of_appearance,
        unknowns.place_start,
        unknowns.place,
        history.member_start,
        history.value_start,
        history.value_code,
        history.value_count,
        same,
    )


@kernel
def _restrict(  # type: ignore[no-untyped-def]
    sets, counts, member, place_start, place, member_start, value_start, value_code, value_count, same
):
    """Cheap exclusions first: correlations of a group are looked at when compromised people teach nothing more."""
    groups = len(member_start) - 1
    changed, is_changed, height = _narrowed(sets, member_start, member, value_start)
    taken, is_taken, depth = np.empty(groups, dtype=np.int64), np.zeros(groups, dtype=np.bool_), 0
    linked, is_linked = np.empty(groups, dtype=np.int64), np.zeros(groups, dtype=np.bool_)
    first, length = 0, 0  # a queue, not a stack: changes gather while a group waits
    slot = np.full(groups, -1, dtype=np.int64)
    mask = np.empty(sets.shape[1], dtype=np.uint64)
    while height + depth + length > 0:
        if height > 0:
            height -= 1
            v = changed[height]
            is_changed[v] = False
            pinned = counts[v] and _sole(sets[v]) >= 0
            for j in range(place_start[v], place_start[v + 1]):
                g = place[j]
                if pinned:
                    depth = _push(taken, depth, is_taken, g)
                if same[g] >= 0 and not is_linked[g]:
                    is_linked[g] = True
                    linked[(first + length) % groups] = g
                    length += 1
        elif depth > 0:
            depth -= 1
            g = taken[depth]
            is_taken[g] = False
            here = member[member_start[g] : member_start[g + 1]]
            values = slice(value_start[g], value_start[g + 1])
            _not_taken(sets, counts, here, value_code[values], value_count[values], mask)
            for v in here:
                if not (counts[v] and _sole(sets[v]) >= 0) and _keep(sets[v], mask):
                    height = _push(changed, height, is_changed, v)
        else:
            g = linked[first]
            first, length = (first + 1) % groups, length - 1
            is_linked[g] = False
            here = member[member_start[g] : member_start[g + 1]]
            if not _teaches(sets, counts, here):
                continue
            found, shared = _neighbours(g, here, place_start, place, same, slot)
            values = value_code[value_start[g] : value_start[g + 1]]
            for i in range(len(found)):
                if not _union_without(sets, here, shared[i], values, mask):
                    continue
                for a in range(member_start[found[i]], member_start[found[i] + 1]):
                    if not _is_in(member[a], here) and _keep(sets[member[a]], mask):
                        height = _push(changed, height, is_changed, member[a])


@kernel
def _teaches(sets, counts, here):  # type: ignore[no-untyped-def]
    """Whether correlations of a group can say more than known people do: not where all its members are known."""
    unknown = 0
    for v in here:
        unknown += not counts[v] or _sole(sets[v]) < 0
    return unknown > 0


@kernel
def _not_taken(sets, counts, here, code, count, mask):  # type: ignore[no-untyped-def]
    """Clear in `mask` the values of a group whose every row is held by a known member (ct-pvr)."""
    mask[:] = ~np.uint64(0)
    held = np.zeros(len(code), dtype=np.int64)
    for v in here:
        sole = _sole(sets[v]) if counts[v] else -1
        if sole >= 0:
            s = np.searchsorted(code, sole)
            if s < len(code) and code[s] == sole:
                held[s] += 1
    for s in range(len(code)):
        if held[s] >= count[s]:
            mask[code[s] >> 6] &= ~(np.uint64(1) << np.uint64(code[s] & 63))


@kernel
def _neighbours(g, here, place_start, place, same, slot):  # type: ignore[no-untyped-def]
    """The groups with the values of g and some of its members, not all, and which those are, as bits.

    `slot` is -1 everywhere before and after.
    """
    room = 0
    for v in here:
        room += place_start[v + 1] - place_start[v]
    found = np.empty(room, dtype=np.int64)
    shared = np.zeros((room, (len(here) + 63) // 64), dtype=np.uint64)
    count = np.zeros(room, dtype=np.int64)
    touched = 0
    for i in range(len(here)):
        for j in range(place_start[here[i]], place_start[here[i] + 1]):
            h = place[j]
            if h == g or same[h] != same[g]:
                continue
            if slot[h] < 0:
                slot[h] = touched
                found[touched] = h
                touched += 1
            shared[slot[h], i >> 6] |= np.uint64(1) << np.uint64(i & 63)
            count[slot[h]] += 1
    kept = 0
    for i in range(touched):
        slot[found[i]] = -1
        if count[i] < len(here):
            found[kept] = found[i]
            shared[kept] = shared[i]
            kept += 1
    return found[:kept], shared[:kept]


@kernel
def _union_without(sets, here, shared, values, mask):  # type: ignore[no-untyped-def]
    """Write what the members outside `shared` may have to `mask`; whether a value of the group is missing (hc-pvr)."""
    mask[:] = 0
    for i in range(len(here)):
        if not _has(shared, i):
            for w in range(len(mask)):
                mask[w] |= sets[here[i], w]
    missing = 0
    for code in values:
        missing += not _has(mask, code)
    return missing > 0


@kernel
def _is_in(v, here):  # type: ignore[no-untyped-def]
    found = False
    for other in here:
        found |= other == v
    return found
