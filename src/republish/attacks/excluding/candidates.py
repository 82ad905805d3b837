"""The unknowns an adversary seeks and the set of values each may still have.

An unknown is one sensitive value: that of a person's life, of a lifespan, or of a single appearance, whatever
the adversary can link. Its candidates are a row of bits, one a value, in words of 64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from republish.arrays import IntArray, WordArray
from republish.attacks.history import History
from republish.kernels import kernel

NONE = -1


@dataclass(frozen=True)
class Unknowns:
    """The unknown behind every appearance of a history; those of one person stand side by side, oldest first.

    `person` is whose each is. `previous` is the unknown of the life before, which is known to differ, or -1.
    """

    history: History
    of_appearance: IntArray
    person: IntArray
    previous: IntArray

    @property
    def count(self) -> int:
        return len(self.person)

    @cached_property
    def place_start(self) -> IntArray:
        return np.append(0, np.cumsum(np.bincount(self.of_appearance, minlength=self.count))).astype(np.int64)

    @cached_property
    def place(self) -> IntArray:
        return self.history.group[np.argsort(self.of_appearance, kind="stable")]

    @cached_property
    def truth(self) -> IntArray:
        """The true code of every unknown, -1 where it was never published or truth is not given."""
        codes = np.full(self.count, NONE, dtype=np.int32)
        if self.history.truth is not None:
            codes[self.of_appearance] = self.history.truth
        return codes


def lives(history: History) -> Unknowns:
    """One unknown a person and life: re-insertions are linked, and successive lives known to differ."""
    if history.events is None:
        return _apart(history)
    unknowns = _numbered(history, history.events.life)
    previous = np.arange(-1, unknowns.count - 1)
    previous[np.flatnonzero(np.diff(unknowns.person, prepend=NONE))] = NONE
    return Unknowns(history, unknowns.of_appearance, unknowns.person, previous)


def lifespans(history: History) -> Unknowns:
    """One unknown a person and lifespan of consecutive appearances with one value; nothing else is linked."""
    if history.events is None:
        return _apart(history)
    return _numbered(history, history.events.run)


def intersected(unknowns: Unknowns) -> WordArray:
    """For every unknown the values that occur in each of its groups."""
    history = unknowns.history
    sets = np.zeros((unknowns.count, max(1, -(-history.values // 64))), dtype=np.uint64)
    for word in range(sets.shape[1]):
        bits = min(64, history.values - 64 * word)
        sets[:, word] = np.uint64(2**bits - 1) if bits > 0 else np.uint64(0)
    _intersect(sets, history.member_start, unknowns.of_appearance, history.value_start, history.value_code)
    return sets


def sizes(sets: WordArray) -> IntArray:
    """How many values each set holds."""
    counted: IntArray = _sizes(sets)
    return counted


def members(words: WordArray) -> frozenset[int]:
    """The codes in one set."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(bits).tolist())


def only(sets: WordArray, which: IntArray, codes: IntArray) -> None:
    """Set the candidates of some unknowns to one code each, in place."""
    sets[which] = 0
    sets[which, codes >> 6] = np.uint64(1) << (codes & 63).astype(np.uint64)


def _apart(history: History) -> Unknowns:
    """Without event lists nobody knows whose value changed: each appearance stands alone (thesis 4.1.1)."""
    order = np.lexsort((history.release, history.person))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Unknowns(history, place, history.person[order], np.full(len(order), NONE, dtype=np.int64))


def _numbered(history: History, number: IntArray) -> Unknowns:
    """Unknowns numbered through all people, from numbers 0, 1, ... within each person."""
    each = number.max(axis=1, initial=NONE) + 1
    start = np.cumsum(each) - each
    person = np.repeat(np.arange(history.people), each)
    of_appearance = start[history.person] + number[history.person, history.release]
    return Unknowns(history, of_appearance, person, np.full(len(person), NONE, dtype=np.int64))


@kernel
def _intersect(sets, member_start, member, value_start, value_code):  # type: ignore[no-untyped-def]
    words = sets.shape[1]
    held = np.zeros(words, dtype=np.uint64)
    for g in range(len(member_start) - 1):
        held[:] = 0
        for j in range(value_start[g], value_start[g + 1]):
            held[value_code[j] >> 6] |= np.uint64(1) << np.uint64(value_code[j] & 63)
        for a in range(member_start[g], member_start[g + 1]):
            for w in range(words):
                sets[member[a], w] &= held[w]


@kernel
def _sizes(sets):  # type: ignore[no-untyped-def]
    counts = np.empty(len(sets), dtype=np.int64)
    for i in range(len(sets)):
        counts[i] = _size(sets[i])
    return counts


@kernel
def _size(words):  # type: ignore[no-untyped-def]
    """Number of bits set."""
    count = 0
    for w in range(len(words)):
        word = words[w]
        while word:
            word &= word - np.uint64(1)
            count += 1
    return count


@kernel
def _sole(words):  # type: ignore[no-untyped-def]
    """The one code in a set, or -1 where it holds none or several."""
    found = -1
    for w in range(len(words)):
        word = words[w]
        if word == 0:
            continue
        if found >= 0 or word & (word - np.uint64(1)):
            return -1
        bit = 0
        while word > np.uint64(1):
            word >>= np.uint64(1)
            bit += 1
        found = 64 * w + bit
    return found


@kernel
def _has(words, code):  # type: ignore[no-untyped-def]
    return (words[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0


@kernel
def _drop(words, code):  # type: ignore[no-untyped-def]
    words[code >> 6] &= ~(np.uint64(1) << np.uint64(code & 63))


@kernel
def _keep(words, mask):  # type: ignore[no-untyped-def]
    """Intersect a set with a mask in place; whether it shrank."""
    shrank = False
    for w in range(len(words)):
        less = words[w] & mask[w]
        if less != words[w]:
            words[w] = less
            shrank = True
    return shrank


@kernel
def _push(stack, height, waiting, item):  # type: ignore[no-untyped-def]
    """Put an item on a stack unless it waits there already; the new height."""
    if waiting[item]:
        return height
    waiting[item] = True
    stack[height] = item
    return height + 1


@kernel
def _narrowed(sets, member_start, member, value_start):  # type: ignore[no-untyped-def]
    """The unknowns that have fewer candidates than one of their groups has values, or one only.

    A group in which nobody is narrowed teaches nothing: any member may have any of its values.
    """
    stack = np.empty(len(sets), dtype=np.int64)
    waiting = np.zeros(len(sets), dtype=np.bool_)
    height = 0
    for g in range(len(member_start) - 1):
        values = value_start[g + 1] - value_start[g]
        for a in range(member_start[g], member_start[g + 1]):
            v = member[a]
            if not waiting[v]:
                left = _size(sets[v])
                if left < values or left == 1:
                    height = _push(stack, height, waiting, v)
    return stack, waiting, height
