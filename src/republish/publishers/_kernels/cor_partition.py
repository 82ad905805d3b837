"""Cor-Partition: a balanced bucket becomes hc-safe groups; see `cor_split` for what is chosen and why.

The entries of a bucket lie sorted along every axis, value after value. A node of the halving is a
contiguous range with the same number of entries for each of its `s` values, in every axis alike; halving it
is one stable pass. Inside a cell the entries of a value form a doubly linked list per axis, so that the first
one left and the next one after any are found at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, Int32Array, Int64Array
from republish.inference.hc_safety import correlated, most_common
from republish.kernels import kernel

NOWHERE = np.inf
_NEIGHBOURS = 4
_MERGED = 5  # at least 4: the scratch that merging needs must hold the four hands of an exchange
_DEALS = 63
_NONE = -1
_PRIME = 2**31 - 1
_SAFE, _STUCK, _JOINED = 0, 1, 2


class Entries(NamedTuple):
    """What groups are made of; a counterfeit lies at `NOWHERE` in every axis and has no history.

    Attributes:
        points: `points[e, a]`, missing is -inf.
        width: width of each axis.
        step: 0 for numbers, 1 for categories: what a value counts beyond the difference of two.
        history: `history[e, r]`, the person's group in earlier release r, 0 for none.
        n: the degree of hc-safety.
        cell: the most groups that are dealt from one set of lists.
    """

    points: FloatArray
    width: FloatArray
    step: FloatArray
    history: Int32Array
    n: int
    cell: int


class CorPartition(NamedTuple):
    """The group of each entry; for each counterfeit added its group and an entry with the same value."""

    group: Int32Array
    extra_group: Int32Array
    extra_like: Int64Array


class _Bench(NamedTuple):
    """What one bucket at a time is worked on with; the s entries of its g-th group begin at `hands[g * s]`.

    A group is safe, stuck (not yet safe) or joined with others under one `label`. Row a of `links` leads to
    the entry before along axis a, row `axes + a` to the entry after.
    """

    order: Int64Array
    links: Int64Array
    head: Int64Array
    hands: Int64Array
    fate: Int64Array
    label: Int64Array
    scratch: Int64Array
    state: Int64Array


@kernel
def partition(
    entries: Entries, order: Int64Array, sizes: Int64Array, heights: Int64Array, seed: int
) -> CorPartition:
    """Return hc-safe groups in which every value of the bucket's signature occurs equally often.

    Bucket b has `sizes[b]` values and `heights[b]` entries of each; `order[a]` holds the entries bucket after
    bucket, value after value, sorted along axis a, and is permuted.
    """
    axes, count = order.shape
    widest, largest = 1, 1
    for b in range(sizes.size):
        widest = max(widest, sizes[b])
        largest = max(largest, sizes[b] * heights[b])
    bench = _Bench(
        order,
        np.empty((2 * axes, count), np.int64),
        np.empty((axes, widest), np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(max(largest, _MERGED * widest), np.int64),
        np.array([1 + seed % (_PRIME - 1)], np.int64),
    )
    out = CorPartition(np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int64))
    begin, tally = 0, np.zeros(2, np.int64)
    for b in range(sizes.size):
        s, groups = sizes[b], heights[b]
        _deal_bucket(entries, bench, begin, s, groups)
        for g in range(groups):
            if bench.fate[g] == _STUCK and not _exchange(entries, bench, s, groups, g):
                _join(entries, bench, s, groups, g)
        _number(entries, bench, s, groups, out, tally)
        begin += s * groups
    return CorPartition(out.group, out.extra_group[: tally[1]].copy(), out.extra_like[: tally[1]].copy())


@kernel
def _deal_bucket(entries: Entries, bench: _Bench, begin: int, s: int, groups: int) -> None:
    """Halve the bucket down to cells, from left to right, and deal each cell into groups."""
    stack = np.empty((64, 2), np.int64)
    stack[0, 0], stack[0, 1] = begin, groups
    depth = 1
    while depth > 0:
        depth -= 1
        first, layers = stack[depth, 0], stack[depth, 1]
        if layers <= entries.cell:
            _link(bench, first, s, layers)
            _deal(entries, bench, s, (first - begin) // s, layers)
            continue
        left = layers // 2
        _halve(entries, bench, first, s, layers)
        stack[depth, 0], stack[depth, 1] = first + s * left, layers - left
        stack[depth + 1, 0], stack[depth + 1, 1] = first, left
        depth += 2


@kernel
def _halve(entries: Entries, bench: _Bench, first: int, s: int, layers: int) -> None:
    """Move the lower half of every value to the left node, along the axis that leaves the smallest halves."""
    left = layers // 2
    axes = bench.order.shape[0]
    axis, least = 0, np.inf
    for a in range(axes):
        node = bench.order[a, first : first + s * layers]
        size = _extent(entries, node, layers, left) + _extent(entries, node[left:], layers, layers - left)
        if size < least:
            axis, least = a, size
    right = bench.links[0]
    for v in range(s):
        for i in range(layers):
            right[bench.order[axis, first + v * layers + i]] = i >= left
    for a in range(axes):
        to_left, to_right = 0, s * left
        for i in range(first, first + s * layers):
            entry = bench.order[a, i]
            if right[entry]:
                bench.scratch[to_right] = entry
                to_right += 1
            else:
                bench.scratch[to_left] = entry
                to_left += 1
        _copy(bench.scratch[: s * layers], bench.order[a, first : first + s * layers])


@kernel
def _link(bench: _Bench, first: int, s: int, layers: int) -> None:
    """Link the entries of each value of a cell along every axis."""
    axes = bench.order.shape[0]
    for a in range(axes):
        for v in range(s):
            last = _NONE
            for i in range(first + v * layers, first + (v + 1) * layers):
                entry = bench.order[a, i]
                bench.links[a, entry] = last
                bench.links[axes + a, entry] = _NONE
                if last == _NONE:
                    bench.head[a, v] = entry
                else:
                    bench.links[axes + a, last] = entry
                last = entry


@kernel
def _deal(entries: Entries, bench: _Bench, s: int, dealt: int, layers: int) -> None:
    """Make one group a layer: of the safe ones that the axes offer, the one with the smallest semi-perimeter."""
    axes = bench.order.shape[0]
    hand = bench.scratch[:s]
    for g in range(dealt, dealt + layers):
        chosen = bench.hands[g * s : (g + 1) * s]
        least, fate = np.inf, _STUCK
        for a in range(axes):
            _copy(bench.head[a, :s], hand)
            found = _SAFE if _make_safe(entries, bench.links[axes + a], hand, bench.state) else _STUCK
            if found == _STUCK:
                _copy(bench.head[a, :s], hand)
            size = _extent(entries, hand, s, s)
            if found < fate or (found == fate and size < least):
                least, fate = size, found
                _copy(hand, chosen)
            if g == dealt + layers - 1:
                break  # what is left is the same along every axis
        bench.fate[g], bench.label[g] = fate, g
        for a in range(axes):
            for v in range(s):
                before, after = bench.links[a, chosen[v]], bench.links[axes + a, chosen[v]]
                if before == _NONE:
                    bench.head[a, v] = after
                else:
                    bench.links[axes + a, before] = after
                if after != _NONE:
                    bench.links[a, after] = before


@kernel
def _make_safe(entries: Entries, after: Int64Array, hand: Int64Array, state: Int64Array) -> bool:
    """Replace members that were together before by the next of their value until the hand is safe.

    Every step goes forward in a list, so it ends; false where no such member has a next one.
    """
    history, s = entries.history, hand.size
    while True:
        release = correlated(history, hand, s, entries.n)
        if release < 0:
            return True
        group, _ = most_common(history, hand, release, s - entries.n)
        choices = 0
        for v in range(s):
            choices += history[hand[v], release] == group and after[hand[v]] != _NONE
        if choices == 0:
            return False
        pick = _random(state, choices)
        for v in range(s):
            if history[hand[v], release] == group and after[hand[v]] != _NONE:
                if pick == 0:
                    hand[v] = after[hand[v]]
                    break
                pick -= 1


@kernel
def _exchange(entries: Entries, bench: _Bench, s: int, groups: int, g: int) -> bool:
    """Swap members of equal value with one neighbour so that both are safe, as small as possible."""
    mine, yours = bench.scratch[:s], bench.scratch[s : 2 * s]
    best = bench.scratch[2 * s : 4 * s]
    least, partner = np.inf, _NONE
    deals = 1 << min(s - 1, 62)
    for p in range(max(0, g - _NEIGHBOURS), min(groups, g + _NEIGHBOURS + 1)):
        if p == g or bench.fate[p] == _JOINED:
            continue
        # All ways to deal the 2s members, the first of each staying; where there are many, some at random.
        for i in range(1, min(deals, _DEALS + 1)):
            deal = i if deals <= _DEALS + 1 else _random(bench.state, deals)
            for v in range(s):
                swap = 0 < v <= 62 and (deal >> (v - 1)) & 1 == 1
                mine[v] = bench.hands[(p if swap else g) * s + v]
                yours[v] = bench.hands[(g if swap else p) * s + v]
            size = _extent(entries, mine, s, s) + _extent(entries, yours, s, s)
            if (
                size < least
                and correlated(entries.history, mine, s, entries.n) < 0
                and correlated(entries.history, yours, s, entries.n) < 0
            ):
                least, partner = size, p
                _copy(bench.scratch[: 2 * s], best)
    if partner == _NONE:
        return False
    _copy(best[:s], bench.hands[g * s : (g + 1) * s])
    _copy(best[s:], bench.hands[partner * s : (partner + 1) * s])
    bench.fate[g] = bench.fate[partner] = _SAFE
    return True


@kernel
def _join(entries: Entries, bench: _Bench, s: int, groups: int, g: int) -> None:
    """Join a group with ever more neighbours, the one that adds least first, until they are safe together."""
    trial = bench.scratch
    _copy(bench.hands[g * s : (g + 1) * s], trial[:s])
    parts = np.full(_MERGED, g, np.int64)
    for i in range(1, _MERGED):
        least, partner = np.inf, _NONE
        for p in range(max(0, g - _NEIGHBOURS), min(groups, g + _NEIGHBOURS + 1)):
            if bench.fate[p] == _JOINED or (parts[:i] == p).any():
                continue
            _copy(bench.hands[p * s : (p + 1) * s], trial[i * s : (i + 1) * s])
            size = _extent(entries, trial[: (i + 1) * s], s, s)
            if size < least:
                least, partner = size, p
        if partner == _NONE:
            return
        _copy(bench.hands[partner * s : (partner + 1) * s], trial[i * s : (i + 1) * s])
        parts[i] = partner
        if correlated(entries.history, trial[: (i + 1) * s], (i + 1) * s, entries.n) < 0:
            for p in parts[: i + 1]:
                bench.label[p], bench.fate[p] = g, _JOINED
            return


@kernel
def _number(
    entries: Entries, bench: _Bench, s: int, groups: int, out: CorPartition, tally: Int64Array
) -> None:
    """Number the groups of a bucket after those tallied; counterfeits make safe what still is not."""
    number = bench.scratch
    for g in range(groups):
        if bench.label[g] == g:
            number[g] = tally[0]
            tally[0] += 1
    for g in range(groups):
        hand = bench.hands[g * s : (g + 1) * s]
        for v in range(s):
            out.group[hand[v]] = number[bench.label[g]]
        if bench.fate[g] != _STUCK:
            continue
        apart = _part(entries, hand)
        for v in range(s):
            # Each part gets a counterfeit for whom it left to the other; a group left whole, one of each value.
            stays = v >= apart
            if not stays:
                out.group[hand[v]] = tally[0]
            out.extra_group[tally[1]] = tally[0] if apart > 0 and stays else number[g]
            out.extra_like[tally[1]] = hand[v]
            tally[1] += 1
        tally[0] += apart > 0


@kernel
def _part(entries: Entries, hand: Int64Array) -> int:
    """Bring half of the people to the front and return how many, so that both parts are safe among counterfeits.

    The parts lie apart along the widest axis. 0 where they would not be safe.
    """
    s = hand.size
    axis, widest = 0, -1.0
    for a in range(entries.width.size):
        size = _axis_extent(entries, a, hand, s, s)
        if size > widest:
            axis, widest = a, size
    people = 0
    for i in range(s):
        people += entries.points[hand[i], axis] != NOWHERE
        j = i
        while j > 0 and entries.points[hand[j - 1], axis] > entries.points[hand[j], axis]:
            hand[j - 1], hand[j] = hand[j], hand[j - 1]
            j -= 1
    apart = people // 2
    if (
        correlated(entries.history, hand[:apart], s, entries.n) < 0
        and correlated(entries.history, hand[apart:], s, entries.n) < 0
    ):
        return apart
    return 0


@kernel
def _extent(entries: Entries, members: Int64Array, stride: int, length: int) -> float:
    """Return the semi-perimeter of the first `length` of every `stride` members: their extents, summed."""
    total = 0.0
    for a in range(entries.width.size):
        total += _axis_extent(entries, a, members, stride, length)
    return total


@kernel
def _axis_extent(entries: Entries, a: int, members: Int64Array, stride: int, length: int) -> float:
    """Return the share of an axis that such members are published with: all of it where some are missing."""
    low, high, missing = np.inf, -np.inf, False
    for start in range(0, members.size, stride):
        for i in range(start, start + length):
            value = entries.points[members[i], a]
            if value == NOWHERE:
                continue
            if value == -np.inf:
                missing = True
                continue
            low = min(low, value)
            high = max(high, value)
    if low > high or entries.width[a] <= 0.0:
        return 0.0
    if missing:
        return 1.0
    return (high - low + entries.step[a]) / entries.width[a] if high > low else 0.0


@kernel
def _copy(source: Int64Array, target: Int64Array) -> None:
    """Copy in a loop: to compile the assignment of a slice takes a second each."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def _random(state: Int64Array, below: int) -> int:
    """Return a number from 0 to below - 1 made of the next two of Park and Miller's generator, 31 bits each."""
    high = state[0] * 48271 % _PRIME
    state[0] = high * 48271 % _PRIME
    return (high * 2**31 + state[0]) % below  # type: ignore[no-any-return]
