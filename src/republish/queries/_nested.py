"""Conditions put to a release of nested regions: the people of a group lie in its region, but in none inside it.

What a term shares with a block is what it shares with the region less what it shares with the regions next inside.
Volumes are products of counts of values, of lengths where these are decimals, and give the estimate. That a term
meets a block is decided by cutting the inner regions away, never by volumes, whose rounding could break a bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from republish.cells import ALL_MISSING, NONE_MISSING
from republish.metrics.boxes import is_discrete
from republish.queries._kernel import Table, _add_up, _shares, still_met
from republish.release import Release
from republish.spatial.nested import _uncovered, parents
from republish.types import BoolArray, FloatArray, IntArray

_MOST_PLACES = 1 << 62
_CLEAR = 1e-6  # a share of volume that no rounding makes up


class Nest(NamedTuple):
    """Regions as boxes `boxes[group, axis]` with the high end out; the missing value has a place below all values.

    Attributes:
        boxes: low and high end of every region.
        child: the regions next inside region g are `child[first[g] : first[g + 1]]`.
        first: see `child`.
        values: the measure of the values in a cell: their number, or the length of a range of decimals.
        absent: whether missing values belong to the cell.
        weight: the measure of the missing value where a group's cell is looked at.
        bottom: the lowest value of every axis.
    """

    boxes: FloatArray
    child: IntArray
    first: IntArray
    values: FloatArray
    absent: BoolArray
    weight: FloatArray
    bottom: FloatArray


def nest_of(release: Release, table: Table) -> Nest:
    """The regions of a release that has levels."""
    assert release.level is not None
    groups, axes = release.group_count, len(release.cells)
    boxes, values = np.empty((groups, axes, 2)), np.empty((groups, axes))
    absent, weight = np.empty((groups, axes), np.bool_), np.ones((groups, axes))
    bottom = np.empty(axes)
    others = np.maximum(table.people - 1, 1)
    for a, cells in enumerate(release.cells):
        low, high = table.low[a], table.high[a]
        blank, bottom[a] = cells.missing == ALL_MISSING, cells.axis.low
        step = 1.0 if is_discrete(cells.axis) else 0.0
        values[:, a] = np.where(blank, 0.0, high - low + step)
        absent[:, a] = cells.missing != NONE_MISSING
        beyond = high + 1.0 if step else np.nextafter(high, np.inf)
        below = min(bottom[a] - 1.0, np.nextafter(bottom[a], -np.inf))
        boxes[:, a, 0] = np.where(absent[:, a], below, low)
        boxes[:, a, 1] = np.where(blank, bottom[a], beyond)
        # Of the values of a cell `*` one is taken to be missing.
        weight[:, a] = np.where(blank | (values[:, a] <= 0.0), 1.0, values[:, a] / others)
    parent = smallest_around(release.level, boxes)
    child = np.argsort(parent, kind="stable")
    first = np.searchsorted(parent[child], np.arange(groups + 1))
    return Nest(boxes, child, first, values, absent, weight, bottom)


def smallest_around(levels: IntArray, boxes: FloatArray) -> IntArray:
    """What `parents` returns, without comparing all pairs: regions of one level lie on a grid.

    Where regions are on no grid some may be found further out, which makes estimates coarser and breaks no bound.
    """
    corner = boxes[:, :, 0]
    found = np.full(len(levels), -1, dtype=np.int64)
    for level in np.unique(levels)[-2::-1].tolist():
        outer, inner = np.flatnonzero(levels == level), np.flatnonzero((levels > level) & (found < 0))
        place, sought = np.zeros(len(outer), np.int64), np.zeros(len(inner), np.int64)
        places = 1
        for a in range(boxes.shape[1]):
            starts, own = np.unique(corner[outer, a], return_inverse=True)
            places *= len(starts)
            if places > _MOST_PLACES:
                return parents(levels, boxes)
            place = place * len(starts) + own
            at = np.searchsorted(starts, corner[inner, a], side="right") - 1
            sought = sought * len(starts) + np.maximum(at, 0)
        order = np.argsort(place, kind="stable")
        at = np.minimum(np.searchsorted(place[order], sought), len(outer) - 1)
        around = boxes[outer[order[at]]]
        holds = ((around[:, :, 0] <= corner[inner]) & (corner[inner] < around[:, :, 1])).all(axis=1)
        found[inner[holds]] = outer[order[at[holds]]]
    return found


@njit(cache=True, nogil=True)
def count_nested(asked, against, table, nest):  # type: ignore[no-untyped-def]
    """Expected, fewest and most people that every query matches; `against` holds its contrary."""
    queries, groups = len(asked.first_term) - 1, len(table.people)
    expected = np.zeros(queries)
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
        total, few, many = _add_up(asked, against, query, table, 0, among[:met], known)
        doubtful[against_them[:contested]] = False
        expected[query], fewest[query], most[query] = total, few, many
    return expected, fewest, most


@njit(cache=True, nogil=True)
def _without_inner(asked, query, table, nest, lists, count):  # type: ignore[no-untyped-def]
    """Turn the shares of regions into those of blocks, -1 where a term meets inner regions alone.

    The groups that still meet a term are moved to the front; returns how many there are.
    """
    among, share = lists
    first = asked.first_term[query]
    terms = asked.first_term[query + 1] - first
    child, begins = nest.child, nest.first
    span_of = np.empty(table.missing.shape[0], np.int64)
    for term in range(terms):
        span_of[:] = -1
        for span in range(asked.first_span[first + term], asked.first_span[first + term + 1]):
            if asked.column[span] < len(span_of):
                span_of[asked.column[span]] = span
        if span_of.max() < 0:
            continue
        for i in range(count):
            g = among[i]
            inner = child[begins[g] : begins[g + 1]]
            if 0.0 <= share[term, g] < 1.0 and len(inner):
                share[term, g] = _share(asked, span_of, table, nest, g, inner)
    return still_met(share[:terms], among, count)


@njit(cache=True, nogil=True)
def _share(asked, span_of, table, nest, g, inner):  # type: ignore[no-untyped-def]
    """The share of a block in a term that its region meets, -1 where the block does not.

    Volumes are as the cell of g measures them, and all in one loop: numba counts references to every array of a tuple
    that it passes on.
    """
    first_interval, lows, highs, absent_too = asked.first_interval, asked.low, asked.high, asked.missing
    bottoms, tops, states, discrete = table.low, table.high, table.missing, table.discrete
    values, absent, weight = nest.values, nest.absent, nest.weight
    region_part = block = taken = region_whole = 0.0
    for at in range(-1, len(inner)):
        region = g if at < 0 else inner[at]
        whole, part = 1.0, 1.0
        for a in range(len(span_of)):
            # Where the cell of g is a single decimal, that is all there is to measure.
            single = values[g, a] == 0.0 and states[a, g] != ALL_MISSING
            own = 1.0 if single else values[region, a]
            gap = weight[g, a] if absent[region, a] else 0.0
            whole *= own + gap
            span = span_of[a]
            if span < 0:
                part *= own + gap
                continue
            held = 0.0
            for i in range(first_interval[span], first_interval[span + 1]):
                start, end = max(lows[i], bottoms[a, region]), min(highs[i], tops[a, region])
                if start > end:
                    continue
                if single:
                    held += 1.0
                elif discrete[a]:
                    held += np.floor(end) - np.ceil(start) + 1.0
                else:
                    held += end - start
            part *= min(held, own) + (gap if absent_too[span] else 0.0)
        if at < 0:
            region_whole, region_part, block, taken = whole, part, whole, part
        else:
            block -= whole
            taken -= part
    if taken <= _CLEAR * region_part and not _left(asked, span_of, table, nest, g, inner):
        return -1.0
    if block <= _CLEAR * region_whole:  # what is left of the region has no volume
        block, taken = region_whole, region_part
    return min(max(taken / block, 0.0), 1.0)


@njit(cache=True, nogil=True)
def _left(asked, span_of, table, nest, g, inner):  # type: ignore[no-untyped-def]
    """Whether a term has a place in the region of g outside all regions inside, whose boxes are cut away."""
    axes = len(span_of)
    most = 1
    for span in span_of:
        if span >= 0:
            most = max(most, asked.first_interval[span + 1] - asked.first_interval[span] + 1)
    pieces = np.empty((axes, most, 2))
    count = np.zeros(axes, np.int64)
    for a in range(axes):
        span = span_of[a]
        if span < 0:
            pieces[a, 0], count[a] = nest.boxes[g, a], 1
            continue
        if nest.absent[g, a] and asked.missing[span]:
            pieces[a, 0, 0], pieces[a, 0, 1] = nest.boxes[g, a, 0], nest.bottom[a]
            count[a] = 1
        for i in range(asked.first_interval[span], asked.first_interval[span + 1]):
            start, end = max(asked.low[i], table.low[a, g]), min(asked.high[i], table.high[a, g])
            if table.discrete[a]:
                start, end = np.ceil(start), np.floor(end)
            if start <= end:
                pieces[a, count[a], 0] = start
                pieces[a, count[a], 1] = end + 1.0 if table.discrete[a] else np.nextafter(end, np.inf)
                count[a] += 1
    turn = np.zeros(axes, np.int64)
    box = np.empty((axes, 2))
    while True:
        for a in range(axes):
            box[a] = pieces[a, turn[a]]
        if _uncovered(box, nest.boxes, inner):
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
