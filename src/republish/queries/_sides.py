"""What a cell `*` makes certain: one of its people lacks the value and another one has it.

Where everybody who lacks it matches a condition, whatever else is unknown, one person at least does; where nobody who
lacks it can, one person at least does not. The same goes for those who have it.
"""

from __future__ import annotations

import numpy as np

from republish.kernels import kernel
from republish.release.cells import SOME_MISSING


@kernel
def count_sides(asked, against, query, table, begin, g, known):  # type: ignore[no-untyped-def]
    """The fewest people of a group with cells `*` that match and that do not, 0 or 1 each.

    `known` are the shares of all terms of the query and of its contrary in group `begin + g`, and whether the latter
    meets it.
    """
    share, contrary, doubtful = known
    some, others = 0, 0
    for axis in range(table.missing.shape[0]):
        if table.missing[axis, begin + g] != SOME_MISSING:
            continue
        for absent in (True, False):
            if not doubtful or not _possible(against, query, table, begin + g, axis, absent, contrary[:, g]):
                some = 1
            if not _possible(asked, query, table, begin + g, axis, absent, share[:, g]):
                others = 1
    return some, others


@kernel
def _possible(asked, query, table, group, axis, absent, share):  # type: ignore[no-untyped-def]
    """Whether somebody in a group may match who lacks the value of an axis, or has one."""
    first = asked.first_term[query]
    for term in range(first, asked.first_term[query + 1]):
        if share[term - first] < 0.0:
            continue
        held, by_rows = True, False
        for span in range(asked.first_span[term], asked.first_span[term + 1]):
            by_rows = by_rows or asked.column[span] >= table.missing.shape[0]
            if asked.column[span] == axis:
                held = asked.missing[span] if absent else _holds_value(asked, span, table, group)
        if held and (not by_rows or _some_unit(asked, term, table, group)):
            return True
    return False


@kernel
def _holds_value(asked, span, table, group):  # type: ignore[no-untyped-def]
    """Whether a span holds a value of the domain, over which a cell `*` reaches."""
    axis = asked.column[span]
    for i in range(asked.first_interval[span], asked.first_interval[span + 1]):
        start, end = max(asked.low[i], table.low[axis, group]), min(asked.high[i], table.high[axis, group])
        if table.discrete[axis]:
            start, end = np.ceil(start), np.floor(end)
        if start <= end:
            return True
    return False


@kernel
def _some_unit(asked, term, table, group):  # type: ignore[no-untyped-def]
    """Whether the columns published as they are satisfy a term in some row of the group."""
    axes = table.missing.shape[0]
    for unit in range(table.first_unit[group], table.first_unit[group + 1]):
        holds = True
        for span in range(asked.first_span[term], asked.first_span[term + 1]):
            if asked.column[span] < axes:
                continue
            place = table.units[unit, asked.column[span] - axes]
            inside = asked.missing[span] if place < 0 else False
            if place >= 0:
                for i in range(asked.first_interval[span], asked.first_interval[span + 1]):
                    inside = inside or asked.low[i] <= place <= asked.high[i]
            holds = holds and inside
        if holds:
            return True
    return False
