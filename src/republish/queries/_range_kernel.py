"""Ranges of quasi-identifiers and of values put to two tables: only the people whose cells a range meets are looked at.

What `_batch_kernel` finds for any condition, where there is one class of values that may match and one that cannot.
"""

from __future__ import annotations

import numpy as np

from republish.kernels import kernel
from republish.metrics.tuples import members_between
from republish.queries._batch_kernel import moved
from republish.queries._kernel import _shares, doubt


@kernel
def count_ranges(asked, against, low, high, table, batches):  # type: ignore[no-untyped-def]
    """Expected, fewest and most people that every query matches, a variance, and how many stale counts may move it.

    Query i asks for the people of query i of `asked`, one term each, whose value lies at the places `low[i]` to
    `high[i]`; `against` holds the contrary of what is asked of people. The last column of the units of `table` is the
    batch, 0 for people without one.
    """
    queries, groups, count = len(low), len(table.people), len(batches.people)
    expected, variance, unknown = np.zeros(queries), np.zeros(queries), np.zeros(queries)
    fewest, most = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
    terms = 1
    for query in range(queries):
        terms = max(terms, against.first_term[query + 1] - against.first_term[query])
    share, contrary = np.empty((1, groups)), np.empty((terms, groups))
    among, contested, work = (
        np.empty(groups, np.int64),
        np.empty(groups, np.int64),
        np.empty(groups, np.int64),
    )
    peopled = np.flatnonzero(table.people)
    doubtful = np.zeros(groups, np.bool_)
    likely, meets, inside = np.zeros(count), np.zeros(count, np.int64), np.zeros(count, np.int64)
    touched = np.empty(count, np.int64)
    for query in range(queries):
        among[: peopled.size] = peopled
        met = _shares(asked, query, table, 0, (among, work, share), peopled.size)
        contested[:met] = among[:met]
        left = _shares(against, query, table, 0, (contested, work, contrary), met)
        doubtful[contested[:left]] = True
        reached = _gather(table, among[:met], share[0], doubtful, (likely, meets, inside, touched))
        doubtful[contested[:left]] = False
        for b in touched[:reached]:
            first, last = batches.first[b], batches.first[b + 1]
            held = members_between(batches.places, first, last, low[query], high[query])
            few, many = _bounds(
                batches.people[b], last - first, held, inside[b], meets[b], batches.uncounted[b]
            )
            if b == 0:
                few, many = 0, meets[0]
            guess = likely[b] * held / (last - first) if last > first else 0.0
            guess = min(max(guess, few), many)
            expected[query] += guess
            fewest[query] += few
            most[query] += many
            variance[query] += doubt(guess, few, many)
            unknown[query] += moved(batches, b, likely[b], many - few)
            likely[b], meets[b], inside[b] = 0.0, 0, 0
    return expected, fewest, most, variance, unknown


@kernel
def _gather(table, among, share, doubtful, sums):  # type: ignore[no-untyped-def]
    """Add up by batch the people of groups that a query meets: expected, all, and those surely inside.

    The batches that they are in are listed; returns how many there are.
    """
    likely, meets, inside, touched = sums
    reached = 0
    for g in among:
        chance, surely = min(share[g], 1.0), not doubtful[g]
        for unit in range(table.first_unit[g], table.first_unit[g + 1]):
            b, rows = table.units[unit, -1], table.unit_rows[unit]
            if meets[b] == 0:
                touched[reached] = b
                reached += 1
            likely[b] += chance * rows
            meets[b] += rows
            if surely:
                inside[b] += rows
    return reached


@kernel
def _bounds(people, values, held, inside, meets, uncounted):  # type: ignore[no-untyped-def]
    """Fewest and most of a batch's people who match: `held` of its `values` and `meets` people fit, `inside` surely.

    `uncounted` people may have any value.
    """
    many = min(min(meets, held) + uncounted, meets)
    others = min(people, values, values - held + people - inside) + uncounted
    return people - min(others, people), many
