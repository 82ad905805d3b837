"""Tables and queries as the arrays that compiled code reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from republish.arrays import IntArray
from republish.metrics.boxes import cell_boxes, is_discrete, real_rows
from republish.queries._kernel import CompiledQueries, EstimateTable
from republish.queries.density import place_weights, spread_evenly
from republish.queries.missing import missing_shares
from republish.queries.spans import EVERYTHING, Term
from republish.release.cells import SOME_MISSING
from republish.release.release import Release
from republish.release.two_tables import TwoTableRelease


def people_table(release: TwoTableRelease, places: Sequence[IntArray]) -> EstimateTable:
    """The table of people of a release in two tables, who lie in a cell as all cells of a column together say."""
    table = estimate_table(release.people, places)
    return table._replace(weights=place_weights(release.people, table.boxes))


def estimate_table(release: Release, places: Sequence[IntArray]) -> EstimateTable:
    """What the estimate reads of a table; `places` are those of columns published as they are."""
    group = release.group.astype(np.int64) - 1
    order = np.lexsort((*reversed(places), group))
    values = np.column_stack([group, *places])[order].astype(np.int64)
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (values[1:] != values[:-1]).any(axis=1)
    first = np.flatnonzero(starts)
    boxes = cell_boxes(release, star_is_domain=True)
    missing = np.vstack([cells.missing for cells in release.cells]).astype(np.int8)
    people = real_rows(release).astype(np.int64)
    return EstimateTable(
        boxes,
        np.ascontiguousarray(boxes.low.T),
        np.ascontiguousarray(boxes.high.T),
        missing,
        np.array([is_discrete(cells.axis) for cells in release.cells]),
        release.sizes.astype(np.int64),
        people,
        np.searchsorted(values[first, 0], np.arange(release.group_count + 1)).astype(np.int64),
        np.diff(first, append=len(order)).astype(np.int64),
        np.ascontiguousarray(values[first, 1:]),
        missing_shares(missing, people),
        (missing == SOME_MISSING).any(axis=0) & (people > 1),
        spread_evenly(len(release.cells)),
    )


def packed(queries: Sequence[Sequence[Term]]) -> CompiledQueries:
    """The terms of all queries as arrays."""
    terms = [term for query in queries for term in query]
    asked = [(c, span) for term in terms for c, span in sorted(term.items()) if span != EVERYTHING]
    held = [sum(span != EVERYTHING for span in term.values()) for term in terms]
    intervals = [interval for _, span in asked for interval in span.intervals]
    bounds = np.array(intervals, dtype=np.float64).reshape(-1, 2)
    return CompiledQueries(
        starts([len(query) for query in queries]),
        starts(held),
        np.array([column for column, _ in asked], dtype=np.int64),
        np.array([span.missing for _, span in asked], dtype=np.bool_),
        starts([len(span.intervals) for _, span in asked]),
        bounds[:, 0].copy(),
        bounds[:, 1].copy(),
    )


def starts(lengths: Sequence[int]) -> IntArray:
    """Where lists of these lengths begin, and where the last ends."""
    return np.array([0, *accumulate(lengths)], dtype=np.int64)
