"""Conditions put to the groups of a release, all queries in one compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.kernels import kernel
from republish.metrics.boxes import Boxes
from republish.metrics.tuples import run_between
from republish.queries._sides import count_sides
from republish.queries.density import PlaceWeights
from republish.release.cells import ALL_MISSING, NONE_MISSING

_BLOCK = 1 << 16  # shares held at a time


class CompiledQueries(NamedTuple):
    """All queries: each is a list of terms, a term a list of spans, a span a list of intervals.

    The terms of query i are `first_term[i]` to `first_term[i + 1]`, and so on down. The spans of columns from
    the number of quasi-identifiers on speak of columns that are published as they are.
    """

    first_term: IntArray
    first_span: IntArray
    column: IntArray
    missing: BoolArray
    first_interval: IntArray
    low: FloatArray
    high: FloatArray


class EstimateTable(NamedTuple):
    """What the estimate reads of a release: of every quasi-identifier the cells of all groups side by side.

    The rows of a group that agree in all columns asked about are one unit: `unit_rows` of them, with the
    places `units[unit, column]`, -1 where missing. The units of group g are `first_unit[g]` to
    `first_unit[g + 1]`. Of a cell `*` the share `absent` of the people is taken to lack the value; `mixed` groups have
    such cells. People lie in a cell as `weights` say.
    """

    boxes: Boxes
    low: FloatArray
    high: FloatArray
    missing: IntArray
    discrete: BoolArray
    rows: IntArray
    people: IntArray
    first_unit: IntArray
    unit_rows: IntArray
    units: IntArray
    absent: FloatArray
    mixed: BoolArray
    weights: PlaceWeights


@kernel
def count_all(asked, against, table):  # type: ignore[no-untyped-def]
    """Expected, fewest and most people that every query matches, and a variance; `against` holds its contrary.

    A row matches perhaps where a term meets its cells, and surely where no term of the contrary does.
    """
    queries, groups = len(asked.first_term) - 1, len(table.people)
    expected, variance = np.zeros(queries), np.zeros(queries)
    fewest, most = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
    widest = 1
    for query in range(queries):
        widest = max(widest, asked.first_term[query + 1] - asked.first_term[query])
        widest = max(widest, against.first_term[query + 1] - against.first_term[query])
    block = max(1, min(groups, _BLOCK // widest))
    share, contrary = np.empty((widest, block)), np.empty((widest, block))
    among, against_them, work = (
        np.empty(block, np.int64),
        np.empty(block, np.int64),
        np.empty(block, np.int64),
    )
    doubtful = np.zeros(block, np.bool_)
    likely, unlikely = np.empty(table.unit_rows.size), np.empty(table.unit_rows.size)
    # Blocks of groups, so that the shares of all terms stay close at hand.
    for begin in range(0, groups, block):
        peopled = np.flatnonzero(table.people[begin : begin + block])
        for query in range(queries):
            among[: peopled.size] = peopled
            met = _shares(asked, query, table, begin, (among, work, share), peopled.size)
            against_them[:met] = among[:met]
            contested = _shares(against, query, table, begin, (against_them, work, contrary), met)
            for i in range(contested):
                doubtful[against_them[i]] = True
            total, few, many, chance = _add_up(
                asked,
                against,
                query,
                table,
                begin,
                among[:met],
                (share, contrary, doubtful, likely, unlikely),
            )
            for i in range(contested):
                doubtful[against_them[i]] = False
            expected[query] += total
            fewest[query] += few
            most[query] += many
            variance[query] += chance
    return expected, fewest, most, variance


@kernel
def _shares(asked, query, table, begin, lists, count):  # type: ignore[no-untyped-def]
    """Write the share of the first `count` groups' cells in every term, -1 where they do not meet.

    The groups that meet a term are moved to the front; returns how many there are.
    """
    among, work, share = lists
    first, axes = asked.first_term[query], table.missing.shape[0]
    terms = asked.first_term[query + 1] - first
    for term in range(terms):
        for i in range(count):
            work[i] = among[i]
            share[term, among[i]] = 1.0
        left = count
        for span in range(asked.first_span[first + term], asked.first_span[first + term + 1]):
            if asked.column[span] < axes:
                left = _narrow(asked, span, table, begin, work, left, share[term])
    return still_met(share[:terms], among, count)


@kernel
def still_met(share, among, count):  # type: ignore[no-untyped-def]
    """Move the groups that some term still meets to the front of `among`; return how many there are."""
    kept = 0
    for i in range(count):
        g = among[i]
        for term in range(len(share)):
            if share[term, g] >= 0.0:
                among[kept] = g
                kept += 1
                break
    return kept


@kernel
def _narrow(asked, span, table, begin, work, count, share):  # type: ignore[no-untyped-def]
    """Multiply by the chance of a value in the group's cell to lie in the span; -1 where none can.

    One call a span: numba counts references to every array of a tuple that it passes on. The groups left are
    moved to the front of `work`; returns how many there are.
    """
    axis, absent_too = asked.column[span], asked.missing[span]
    lows = asked.low[asked.first_interval[span] : asked.first_interval[span + 1]]
    highs = asked.high[asked.first_interval[span] : asked.first_interval[span + 1]]
    bottoms, tops = table.low[axis, begin:], table.high[axis, begin:]
    states, chances = table.missing[axis, begin:], table.absent[axis, begin:]
    members, discrete, s = table.boxes.members, table.discrete[axis], table.boxes.set_of_axis[axis]
    offsets = table.boxes.offsets[max(s, 0), begin:] if s >= 0 else np.zeros(0, np.int64)
    weights = table.weights
    weighted, lowest, of_members = weights.first[axis] >= 0, weights.lowest[axis], weights.of_members
    summed, kept = weights.summed[max(weights.first[axis], 0) :], 0
    for i in range(count):
        g = work[i]
        state = states[g]
        if state == ALL_MISSING:
            if absent_too:
                work[kept] = g
                kept += 1
            else:
                share[g] = -1.0
            continue
        bottom, top = bottoms[g], tops[g]
        first, last = (offsets[g], offsets[g + 1]) if s >= 0 else (0, 0)
        held, meets = 0.0, False
        for j in range(lows.size):
            start, end = max(lows[j], bottom), min(highs[j], top)
            if start > end:
                continue
            if last > first:
                one, other = run_between(members, first, last, start, end)
                own = of_members[other] - of_members[one] if weighted else float(other - one)
            elif discrete:
                own = np.floor(end) - np.ceil(start) + 1.0
                if weighted and own > 0.0:
                    own = _between(summed, lowest, np.ceil(start), np.floor(end))
            else:
                meets = True
                own = 1.0 if top == bottom else (end - start) / (top - bottom)
            meets = meets or own > 0.0
            held += own
        if not meets and (state == NONE_MISSING or not absent_too):
            share[g] = -1.0
            continue
        if last > first:
            held /= of_members[last] - of_members[first] if weighted else float(last - first)
        elif discrete:
            held /= _between(summed, lowest, bottom, top) if weighted else top - bottom + 1.0
        if state != NONE_MISSING:
            # `*` says that some values are missing; the others are spread over the domain.
            held = (chances[g] if absent_too else 0.0) + (1.0 - chances[g]) * held
        share[g] *= min(held, 1.0)
        work[kept] = g
        kept += 1
    return kept


@kernel
def _between(summed, lowest, start, end):  # type: ignore[no-untyped-def]
    """The weight of the places from start to end."""
    return summed[int(end) - lowest + 1] - summed[int(start) - lowest]


@kernel
def _add_up(asked, against, query, table, begin, among, known):  # type: ignore[no-untyped-def]
    """Expected, fewest and most people of the groups that a query meets, and the variance of the first."""
    share, contrary, doubtful, likely, unlikely = known
    by_rows = _asks_rows(asked, query, table) or _asks_rows(against, query, table)
    if by_rows:
        _chances(asked, query, table, begin, among, share, likely)
        _chances(against, query, table, begin, among[doubtful[among]], contrary, unlikely)
    everybody, sizes, mixed = table.people, table.rows, table.mixed
    first_unit, unit_rows = table.first_unit, table.unit_rows
    terms = asked.first_term[query + 1] - asked.first_term[query]
    expected, fewest, most, variance = 0.0, 0, 0, 0.0
    for g in among:
        people, rows = everybody[begin + g], sizes[begin + g]
        total, perhaps, surely = 0.0, 0, 0
        if not by_rows:
            for term in range(terms):
                total += max(share[term, g], 0.0) * rows
            perhaps, surely = rows, 0 if doubtful[g] else rows
        else:
            for unit in range(first_unit[begin + g], first_unit[begin + g + 1]):
                if likely[unit] >= 0.0:
                    total += likely[unit] * unit_rows[unit]
                    perhaps += unit_rows[unit]
                    if not doubtful[g] or unlikely[unit] < 0.0:
                        surely += unit_rows[unit]
        # Which rows are counterfeits nobody can tell: they may be all those that match, or none.
        many, few = min(perhaps, people), max(surely - (rows - people), 0)
        if mixed[begin + g]:
            known_here = (share, contrary, doubtful[g])
            some, others = count_sides(asked, against, query, table, begin, g, known_here)
            many, few = min(many, people - others), max(few, some)
        held = min(max(total * people / rows, few), many)
        expected += held
        variance += doubt(held, few, many)
        most += many
        fewest += few
    return expected, fewest, most, variance


@kernel
def doubt(expected, few, many):  # type: ignore[no-untyped-def]
    """The variance of a count where `few` people match for certain and each of the others up to `many` by chance."""
    return (expected - few) * (many - expected) / (many - few) if many > few else 0.0


@kernel
def _asks_rows(asked, query, table):  # type: ignore[no-untyped-def]
    """Whether a query speaks of columns that are published as they are."""
    first = asked.first_span[asked.first_term[query]]
    last = asked.first_span[asked.first_term[query + 1]]
    for span in range(first, last):  # noqa: SIM110 - numba compiles the loop, not the generator
        if asked.column[span] >= table.missing.shape[0]:
            return True
    return False


@kernel
def _chances(asked, query, table, begin, among, share, likely):  # type: ignore[no-untyped-def]
    """Write the chance of the rows of every unit to match, -1 where they cannot."""
    axes = table.missing.shape[0]
    first, last = asked.first_term[query], asked.first_term[query + 1]
    first_span, columns, absent_too = asked.first_span, asked.column, asked.missing
    first_interval, lows, highs = asked.first_interval, asked.low, asked.high
    units, first_unit = table.units, table.first_unit
    for g in among:
        for unit in range(first_unit[begin + g], first_unit[begin + g + 1]):
            chance, some = 0.0, False
            for term in range(first, last):
                if share[term - first, g] < 0.0:
                    continue
                holds = True
                for span in range(first_span[term], first_span[term + 1]):
                    if columns[span] < axes:
                        continue
                    place = units[unit, columns[span] - axes]
                    inside = absent_too[span]
                    if place >= 0:
                        inside = False
                        for i in range(first_interval[span], first_interval[span + 1]):
                            if lows[i] <= place <= highs[i]:
                                inside = True
                                break
                    if not inside:
                        holds = False
                        break
                if holds:
                    chance += share[term - first, g]
                    some = True
            likely[unit] = chance if some else -1.0
