"""Conditions put to a release of nested regions: the people of a group lie in its region, but in none inside it.

What a term shares with a block is what it shares with the region less what it shares with the regions next inside.
Volumes are products of counts of values, of lengths where these are decimals, and give the estimate. That a term
meets a block is decided by cutting the inner regions away, never by volumes, whose rounding could break a bound.
"""

from __future__ import annotations

import numpy as np

from republish.kernels import kernel
from republish.queries._kernel import _add_up, _shares, still_met
from republish.queries._nest import CLEAR
from republish.spatial.nested import uncovered


@kernel
def count_nested(asked, against, table, nest):  # type: ignore[no-untyped-def]
    """Expected, fewest and most people that every query matches, and a variance; `against` holds its contrary."""
    queries, groups = len(asked.first_term) - 1, len(table.people)
    expected, variance = np.zeros(queries), np.zeros(queries)
    fewest, most = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
    widest = 1
    for query in range(queries):
        widest = max(widest, asked.first_term[query + 1] - asked.first_term[query])
        widest = max(widest, against.first_term[query + 1] - against.first_term[query])
    share, contrary = np.empty((widest, groups)), np.empty((widest, groups))
    among, against_them, work = (
        np.empty(groups, np.int64),
        np.empty(groups, np.int64),
        np.empty(groups, np.int64),
    )
    doubtful = np.zeros(groups, np.bool_)
    likely, unlikely = np.empty(table.unit_rows.size), np.empty(table.unit_rows.size)
    peopled = np.flatnonzero(table.people)
    for query in range(queries):
        among[: peopled.size] = peopled
        met = _shares(asked, query, table, 0, (among, work, share), peopled.size)
        met = _without_inner(asked, query, table, nest, (among, share), met)
        against_them[:met] = among[:met]
        contested = _shares(against, query, table, 0, (against_them, work, contrary), met)
        contested = _without_inner(against, query, table, nest, (against_them, contrary), contested)
        doubtful[against_them[:contested]] = True
        known = (share, contrary, doubtful, likely, unlikely)
        total, few, many, chance = _add_up(asked, against, query, table, 0, among[:met], known)
        doubtful[against_them[:contested]] = False
        expected[query], fewest[query], most[query], variance[query] = total, few, many, chance
    return expected, fewest, most, variance


@kernel
def _without_inner(asked, query, table, nest, lists, count):  # type: ignore[no-untyped-def]
    """Turn the shares of regions into those of blocks, -1 where a term meets inner regions alone.

    The groups that still meet a term are moved to the front; returns how many there are.
    """
    among, share = lists
    first = asked.first_term[query]
    terms = asked.first_term[query + 1] - first
    span_of = np.empty(table.missing.shape[0], np.int64)
    for term in range(terms):
        span_of[:] = -1
        for span in range(asked.first_span[first + term], asked.first_span[first + term + 1]):
            if asked.column[span] < len(span_of):
                span_of[asked.column[span]] = span
        if span_of.max() < 0:
            continue
        _block_shares(asked, span_of, table, nest, among[:count], share[term])
    return still_met(share[:terms], among, count)


@kernel
def _block_shares(asked, span_of, table, nest, among, share):  # type: ignore[no-untyped-def]
    """Turn the shares of some regions in one term into those of their blocks, -1 where these do not meet it.

    Volumes are as each piece measures them, and all in one loop: numba counts references to every array of a tuple
    that it passes on.
    """
    first_interval, lows, highs, absent_too = asked.first_interval, asked.low, asked.high, asked.missing
    inside, first_piece, prior, child, first = (
        nest.inside,
        nest.first_piece,
        nest.prior,
        nest.child,
        nest.first,
    )
    bottoms, tops, discrete, wholes, blocks = nest.low, nest.high, table.discrete, nest.whole, nest.block
    values, single, absent, weight = nest.values, nest.single, nest.absent, nest.weight
    for g in among:
        if not (inside[g] and 0.0 <= share[g] < 1.0):
            continue
        total, met = 0.0, False
        for p in range(first_piece[g], first_piece[g + 1]):
            if prior[p] == 0.0:
                continue
            part, taken, apart = 0.0, 0.0, False
            for at in range(first[p] - 1, first[p + 1]):
                piece = p if at < first[p] else child[at]
                volume = 1.0
                for a in range(len(span_of)):
                    # Where the cell is a single decimal, that is all there is to measure.
                    alone = single[p, a]
                    own = 1.0 if alone else values[piece, a]
                    gap = weight[p, a] if absent[piece, a] else 0.0
                    span = span_of[a]
                    if span < 0:
                        volume *= own + gap
                        continue
                    held, meets = 0.0, absent[piece, a] and absent_too[span]
                    for i in range(first_interval[span], first_interval[span + 1]):
                        start, end = max(lows[i], bottoms[piece, a]), min(highs[i], tops[piece, a])
                        if start > end:
                            continue
                        if discrete[a]:
                            number = np.floor(end) - np.ceil(start) + 1.0
                            held += number
                            meets = meets or number > 0.0
                        else:
                            held += 1.0 if alone else end - start
                            meets = True
                    if not meets:
                        volume, apart = 0.0, apart or piece == p
                        break
                    volume *= min(held, own) + (gap if absent_too[span] else 0.0)
                if apart:
                    break
                if piece == p:
                    part = taken = volume
                else:
                    taken -= volume
            inner = child[first[p] : first[p + 1]]
            if apart or (
                len(inner) > 0 and taken <= CLEAR * part and not _left(asked, span_of, table, nest, p, inner)
            ):
                continue
            met = True
            # Where what is left has no volume it is measured as if nothing were cut away.
            held = taken / blocks[p] if blocks[p] > 0.0 else part / wholes[p]
            total += prior[p] * min(max(held, 0.0), 1.0)
        share[g] = min(total, 1.0) if met else -1.0


@kernel
def _left(asked, span_of, table, nest, p, inner):  # type: ignore[no-untyped-def]
    """Whether a term that meets a piece has a place in it outside all pieces inside, whose boxes are cut away."""
    axes = len(span_of)
    most = 1
    for span in span_of:
        if span >= 0:
            most = max(most, asked.first_interval[span + 1] - asked.first_interval[span] + 1)
    parts = np.empty((axes, most, 2))
    count = np.zeros(axes, np.int64)
    for a in range(axes):
        span = span_of[a]
        if span < 0:
            parts[a, 0], count[a] = nest.boxes[p, a], 1
            continue
        if nest.absent[p, a] and asked.missing[span]:
            parts[a, 0, 0], parts[a, 0, 1] = nest.boxes[p, a, 0], nest.bottom[a]
            count[a] = 1
        for i in range(asked.first_interval[span], asked.first_interval[span + 1]):
            start, end = max(asked.low[i], nest.low[p, a]), min(asked.high[i], nest.high[p, a])
            if table.discrete[a]:
                start, end = np.ceil(start), np.floor(end)
            if start <= end:
                parts[a, count[a], 0] = start
                parts[a, count[a], 1] = end + 1.0 if table.discrete[a] else np.nextafter(end, np.inf)
                count[a] += 1
    turn = np.zeros(axes, np.int64)
    box = np.empty((axes, 2))
    while True:
        for a in range(axes):
            box[a] = parts[a, turn[a]]
        if uncovered(box, nest.boxes, inner):
            return True
        a = 0
        while a < axes:
            turn[a] += 1
            if turn[a] < count[a]:
                break
            turn[a] = 0
            a += 1
        if a == axes:
            return False
