"""Conditions on people and values that lie in two tables, all queries in one compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.kernels import kernel
from republish.metrics.tuples import members_between
from republish.queries._kernel import _BLOCK, CompiledQueries, _asks_rows, _chances, _shares, doubt

MOST_CLASSES = 6
"""Classes of values that bounds keep apart; any more are taken together, which can only widen a bound."""


class ValueClasses(NamedTuple):
    """Queries taken apart by the sensitive value.

    Query i has the classes `first_class[i]` to `first_class[i + 1]`. Class c holds the values whose places lie in
    `low` to `high` of the intervals `first_interval[c]` to `first_interval[c + 1]`, a missing one at -1; somebody with
    such a value matches where she satisfies query c of `people`.
    """

    first_class: IntArray
    first_interval: IntArray
    low: FloatArray
    high: FloatArray
    people: CompiledQueries


class BatchTable(NamedTuple):
    """The places of all values, sorted batch by batch, how many people are in each, and how many it does not count.

    The values of batch b are `places[first[b]:first[b + 1]]`. Batch 0 is that of people without one: their values may
    be any, and are taken to be spread as all are. `stale` are those whom a batch that was counted earlier does not
    count, and those whom it counts as they were.
    """

    places: IntArray
    first: IntArray
    people: IntArray
    uncounted: IntArray
    stale: IntArray


@kernel
def count_batches(asked, against, table, batches):  # type: ignore[no-untyped-def]
    """Expected, fewest and most people of all batches that every query matches, a variance, who is stale, who without.

    The last but one is how many more or fewer may match because batches were counted earlier, the last those expected
    without a batch. `against` holds the contrary of every query. The last column of the units of `table` is the batch.
    """
    queries, count = len(asked.first_class) - 1, len(batches.people)
    expected, variance, outside = np.zeros(queries), np.zeros(queries), np.zeros(queries)
    unknown = np.zeros(queries)
    fewest, most = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
    likely, ignored, meets = np.empty(count), np.empty(count), np.empty(count)
    many, others = np.empty(count, np.int64), np.empty(count, np.int64)
    for query in range(queries):
        _match(against, query, table, batches, (ignored, others, meets))
        _match(asked, query, table, batches, (likely, many, meets))
        outside[query] = likely[0]
        for b in range(1, count):
            few = batches.people[b] - others[b]
            held = min(max(likely[b], few), many[b])
            expected[query] += held
            fewest[query] += few
            most[query] += many[b]
            variance[query] += doubt(held, few, many[b])
            unknown[query] += moved(batches, b, meets[b], many[b] - few)
    return expected, fewest, most, variance, unknown, outside


@kernel
def moved(batches, batch, meets, width):  # type: ignore[no-untyped-def]
    """By how many people the count of a batch may be off because it was counted earlier.

    Of `meets` people of the batch who would match with some value as many are stale as of all of it; `width` is what
    the bounds leave.
    """
    if batches.stale[batch] == 0 or batches.people[batch] == 0:
        return 0.0
    return min(meets * batches.stale[batch] / batches.people[batch], float(width))


@kernel
def _match(asked, query, table, batches, found):  # type: ignore[no-untyped-def]
    """Write how many people of every batch match one query: expected, at most, and expected if all values fitted."""
    likely, many, meets = found
    first, last = asked.first_class[query], asked.first_class[query + 1]
    count, units = len(batches.people), table.unit_rows.size
    bits = min(last - first, MOST_CLASSES)
    fitting = np.zeros(
        units, np.int64
    )  # a bit for every class whose values would make the people of a unit match
    values = np.zeros((count, max(bits, 1)), np.int64)
    held, chance, best = np.empty(count, np.int64), np.empty(units), np.zeros(units)
    likely[:] = 0.0
    meets[:] = 0.0
    for c in range(first, last):
        bit = min(c - first, MOST_CLASSES - 1)
        for b in range(count):
            held[b] = 0
            for i in range(asked.first_interval[c], asked.first_interval[c + 1]):
                held[b] += members_between(
                    batches.places, batches.first[b], batches.first[b + 1], asked.low[i], asked.high[i]
                )
            values[b, bit] += held[b]
        _unit_chances(asked.people, c, table, chance)
        for unit in range(units):
            if chance[unit] >= 0.0:
                b = table.units[unit, -1]
                size = batches.first[b + 1] - batches.first[b]
                fitting[unit] |= 1 << bit
                best[unit] = max(best[unit], min(chance[unit], 1.0))
                if size > 0:
                    likely[b] += min(chance[unit], 1.0) * table.unit_rows[unit] * held[b] / size
    people = np.zeros((count, 1 << bits), np.int64)
    for unit in range(units):
        people[table.units[unit, -1], fitting[unit]] += table.unit_rows[unit]
        meets[table.units[unit, -1]] += best[unit] * table.unit_rows[unit]
    for b in range(count):
        many[b] = _most_pairs(people[b], values[b], bits)
        # People whom the batch does not count may have any value.
        many[b] = min(many[b] + batches.uncounted[b], batches.people[b] - people[b, 0])


@kernel
def _unit_chances(asked, query, table, chance):  # type: ignore[no-untyped-def]
    """Write the chance of the people of every unit to satisfy one query, -1 where they cannot."""
    groups = len(table.people)
    chance[:] = -1.0
    terms = asked.first_term[query + 1] - asked.first_term[query]
    block = max(1, min(groups, _BLOCK // max(terms, 1)))
    share = np.empty((max(terms, 1), block))
    among, work = np.empty(block, np.int64), np.empty(block, np.int64)
    by_rows = _asks_rows(asked, query, table)
    for begin in range(0, groups, block):
        peopled = np.flatnonzero(table.people[begin : begin + block])
        among[: peopled.size] = peopled
        met = _shares(asked, query, table, begin, (among, work, share), peopled.size)
        if by_rows:
            _chances(asked, query, table, begin, among[:met], share, chance)
            continue
        for g in among[:met]:
            total = 0.0
            for term in range(terms):
                total += max(share[term, g], 0.0)
            chance[table.first_unit[begin + g] : table.first_unit[begin + g + 1]] = total


@kernel
def _most_pairs(people, values, bits):  # type: ignore[no-untyped-def]
    """The most pairs of a person and a value of a class that fits her: Koenig's theorem, over all sets of classes.

    `people[fit]` is the number of those whom the classes in the bits of `fit` fit.
    """
    fewest = np.int64(0)
    for chosen in range(1 << bits):
        cover = np.int64(0)
        for bit in range(bits):
            if chosen >> bit & 1:
                cover += values[bit]
        for fit in range(1 << bits):
            if fit & ~chosen:
                cover += people[fit]
        fewest = cover if chosen == 0 else min(fewest, cover)
    return fewest
