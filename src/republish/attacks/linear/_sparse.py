"""Sparse elimination modulo a prime: few rows and columns are touched at a time, the dense rest comes last.

A pivot is the cheapest of those in the shortest row and in the rarest column (Markowitz). Rows are kept sorted by
column in one pool of entries; the columns' lists of rows may name rows that no longer hold the column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import IntArray
from republish.kernels import kernel

PRIME = 2_147_483_647
"""2^31 - 1: products of two residues fit into 62 bits."""


@kernel
def _inverse(a, p):  # type: ignore[no-untyped-def]
    """The inverse of a modulo p (Euclid)."""
    old, new, s, t = a % p, p, 1, 0
    while new:
        q = old // new
        old, new = new, old - q * new
        s, t = t, s - q * t
    return s % p


class Queue(NamedTuple):
    """Items by key: `head[key]` is the first of a doubly linked list."""

    head: IntArray
    after: IntArray
    before: IntArray
    key: IntArray


class Lists(NamedTuple):
    """Where the list of each column lies among the names of rows, how long it is, and for how many it has room."""

    start: IntArray
    length: IntArray
    room: IntArray
    end: IntArray


@kernel
def _queue(keys, most):  # type: ignore[no-untyped-def]
    queue = Queue(np.full(most + 1, -1), np.full(len(keys), -1), np.full(len(keys), -1), keys.copy())
    for item in range(len(keys) - 1, -1, -1):
        _enter(queue, item)
    return queue


@kernel
def _enter(queue, item):  # type: ignore[no-untyped-def]
    """Put an item first in the list of its key."""
    follower = queue.head[queue.key[item]]
    queue.after[item], queue.before[item] = follower, -1
    if follower >= 0:
        queue.before[follower] = item
    queue.head[queue.key[item]] = item


@kernel
def _move(queue, item, key):  # type: ignore[no-untyped-def]
    """Give an item another key."""
    after, before = queue.after[item], queue.before[item]
    if before >= 0:
        queue.after[before] = after
    else:
        queue.head[queue.key[item]] = after
    if after >= 0:
        queue.before[after] = before
    queue.key[item] = key
    _enter(queue, item)


@kernel
def _entry(column, start, length, c):  # type: ignore[no-untyped-def]
    """Where a sorted row holds column c, or -1."""
    low, high = start, start + length
    while low < high:
        middle = (low + high) >> 1
        if column[middle] < c:
            low = middle + 1
        else:
            high = middle
    return low if low < start + length and column[low] == c else -1


@kernel
def _name(names, lists, c, row):  # type: ignore[no-untyped-def]
    """Add a row to the list of a column; the names, which may have had to move."""
    if lists.length[c] == lists.room[c]:
        wanted = 2 * lists.room[c]
        if lists.end[0] + wanted > len(names):
            more = np.empty(2 * len(names) + wanted, dtype=np.int64)
            more[: lists.end[0]] = names[: lists.end[0]]
            names = more
        for i in range(lists.length[c]):
            names[lists.end[0] + i] = names[lists.start[c] + i]
        lists.start[c], lists.room[c] = lists.end[0], wanted
        lists.end[0] += wanted
    names[lists.start[c] + lists.length[c]] = row
    lists.length[c] += 1
    return names


@kernel
def _listed(start, column, columns):  # type: ignore[no-untyped-def]
    """The rows of every column, and how many columns each row has that may be pivots."""
    width, count = np.zeros(len(start) - 1, dtype=np.int64), np.zeros(columns, dtype=np.int64)
    for r in range(len(width)):
        for j in range(start[r], start[r + 1]):
            if column[j] < columns:
                width[r] += 1
                count[column[j]] += 1
    room = count + 4
    end = np.array([room.sum()])
    lists = Lists(np.cumsum(room) - room, np.zeros(columns, dtype=np.int64), room, end)
    names = np.empty(2 * end[0] + 8, dtype=np.int64)
    for r in range(len(width)):
        for j in range(start[r], start[r + 1]):
            if column[j] < columns:
                names = _name(names, lists, column[j], r)
    return width, count, lists, names


@kernel
def _holders(names, lists, start, length, column, used, c):  # type: ignore[no-untyped-def]
    """The unused rows that hold a column."""
    found = np.empty(lists.length[c], dtype=np.int64)
    number = 0
    for i in range(lists.start[c], lists.start[c] + lists.length[c]):
        r = names[i]
        if not used[r] and _entry(column, start[r], length[r], c) >= 0:
            twice = False  # a row that lost a column and got it back is named twice
            for k in range(number):
                twice |= found[k] == r
            if not twice:
                found[number] = r
                number += 1
    return found[:number]


@kernel
def _pivot(by_width, by_count, start, length, column, shortest, holders, c):  # type: ignore[no-untyped-def]
    """The cheaper of the shortest row with its rarest column and a rare column c with its shortest row."""
    r, rare = by_width.head[shortest], -1
    for j in range(start[r], start[r] + length[r]):
        d = column[j]
        if d < len(by_count.key) and (rare < 0 or by_count.key[d] < by_count.key[rare]):
            rare = d
    cost = (shortest - 1) * (by_count.key[rare] - 1)
    for other in holders:
        if (by_width.key[other] - 1) * (len(holders) - 1) < cost:
            r, rare, cost = other, c, (by_width.key[other] - 1) * (len(holders) - 1)
    return r, rare


@kernel
def _merged(column, value, start, length, r, other, factor, p, fresh_column, fresh_value):  # type: ignore[no-untyped-def]
    """Add a multiple of row r to another row, into `fresh`; its length."""
    a, a_end, b, b_end = start[other], start[other] + length[other], start[r], start[r] + length[r]
    size = 0
    while a < a_end or b < b_end:
        if b >= b_end or (a < a_end and column[a] < column[b]):
            d, v = column[a], value[a]
            a += 1
        elif a >= a_end or column[b] < column[a]:
            d, v = column[b], factor * value[b] % p
            b += 1
        else:
            d, v = column[a], (value[a] + factor * value[b]) % p
            a += 1
            b += 1
        if v != 0:
            fresh_column[size], fresh_value[size] = d, v
            size += 1
    return size


@kernel
def _recount(old, new, row, by_count, lists, names):  # type: ignore[no-untyped-def]
    """Enter in the columns' counts and lists what a row gained and lost; the names, its width, the rarest it lost."""
    columns = len(by_count.key)
    a, b, width, rarest = 0, 0, 0, columns + len(by_count.head)
    while True:
        gained = b < len(new) and new[b] < columns and (a >= len(old) or new[b] < old[a])
        lost = a < len(old) and old[a] < columns and (b >= len(new) or old[a] < new[b])
        if gained:
            _move(by_count, new[b], by_count.key[new[b]] + 1)
            names = _name(names, lists, new[b], row)
            b += 1
            width += 1
        elif lost:
            _move(by_count, old[a], by_count.key[old[a]] - 1)
            rarest = min(rarest, max(1, by_count.key[old[a]]))
            a += 1
        elif a < len(old) and b < len(new) and old[a] < columns:
            a += 1
            b += 1
            width += 1
        else:
            return names, width, rarest


@kernel
def _eliminate(row_start, row_column, row_value, columns, p, dense_share, most):  # type: ignore[no-untyped-def]
    """Eliminate columns 0 .. `columns` - 1; entries in later columns (right sides) go along and are never pivots.

    Returns the rows after elimination (start, length, column, value), the pivots in order (row, column), and the
    rows not yet used when the rest had become dense, or had more than `most` entries.
    """
    start, length = row_start[:-1].copy(), np.diff(row_start)
    rows, end = len(start), len(row_column)
    column, value = np.empty(3 * end + 64, dtype=np.int64), np.empty(3 * end + 64, dtype=np.int64)
    column[:end], value[:end] = row_column, row_value % p
    width, count, lists, names = _listed(row_start, row_column, columns)
    by_width, by_count = _queue(width, columns), _queue(count, rows)
    used = width == 0
    pivots = np.empty((min(rows, columns), 2), dtype=np.int64)
    longest = max(columns, row_column.max()) + 1 if end else 1
    fresh_column, fresh_value = np.empty(longest, np.int64), np.empty(longest, np.int64)
    shortest, rarest, live, entries, rank = 1, 1, np.count_nonzero(width), width.sum(), 0
    while live > 0:
        if rank % 32 == 0 and entries > min(most, dense_share * live * np.count_nonzero(by_count.key)):
            break
        while by_width.head[shortest] < 0:
            shortest += 1
        while by_count.head[rarest] < 0:
            rarest += 1
        rare = by_count.head[rarest]
        holders = _holders(names, lists, start, length, column, used, rare)
        r, c = _pivot(by_width, by_count, start, length, column, shortest, holders, rare)
        if c != rare:
            holders = _holders(names, lists, start, length, column, used, c)
        pivots[rank] = r, c
        rank += 1
        used[r], live, entries = True, live - 1, entries - by_width.key[r]
        _move(by_width, r, 0)
        pivot = column[start[r] : start[r] + length[r]]
        names, _, lowest = _recount(pivot, pivot[:0], r, by_count, lists, names)
        rarest = min(rarest, lowest)
        inverse = _inverse(value[_entry(column, start[r], length[r], c)], p)
        for other in holders:
            if other == r:
                continue
            factor = p - value[_entry(column, start[other], length[other], c)] * inverse % p
            size = _merged(column, value, start, length, r, other, factor, p, fresh_column, fresh_value)
            old = column[start[other] : start[other] + length[other]]
            names, wide, lowest = _recount(old, fresh_column[:size], other, by_count, lists, names)
            rarest = min(rarest, lowest)
            entries += wide - by_width.key[other]
            _move(by_width, other, wide)
            used[other], live = wide == 0, live - (wide == 0)
            shortest = min(shortest, max(1, wide))
            if size > length[other]:
                if end + size > len(column):
                    column, value, end = _packed(start, length, column, value, size)
                start[other], end = end, end + size
            length[other] = size
            column[start[other] : start[other] + size] = fresh_column[:size]
            value[start[other] : start[other] + size] = fresh_value[:size]
    return start, length, column[:end], value[:end], pivots[:rank, 0], pivots[:rank, 1], np.flatnonzero(~used)


@kernel
def _packed(start, length, column, value, more):  # type: ignore[no-untyped-def]
    """Move all rows together, to where there is room for as much again and `more`; the new end."""
    room = max(2 * (length.sum() + more), len(column))
    new_column, new_value = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    end = 0
    for r in range(len(start)):
        new_column[end : end + length[r]] = column[start[r] : start[r] + length[r]]
        new_value[end : end + length[r]] = value[start[r] : start[r] + length[r]]
        start[r] = end
        end += length[r]
    return new_column, new_value, end
