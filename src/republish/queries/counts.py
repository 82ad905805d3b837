"""Counting queries on a release: an estimate, and bounds that the truth cannot leave.

The estimate spreads the people of a group evenly over its cells, each quasi-identifier by itself, as
`republish.metrics` does for its workloads. The bounds need no such guess. At least those groups count that
lie wholly inside the condition, at most all that meet it; columns that are published as they are count row by
row. Of a group's counterfeits nobody knows which rows they are: the estimate leaves out their share, the
bounds allow for every choice. A cell `*` says that some of its people lack the value and some have it, and counts so.

Where the release has levels its groups are nested regions, and the people of a group lie in none of those inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError
from republish.metrics.boxes import cell_boxes, is_discrete, real_rows, sensitive_ranks
from republish.metrics.queries import Workload, require_axes
from republish.queries._kernel import CompiledQueries, EstimateTable, count_all
from republish.queries._nest import nest_of
from republish.queries._nested import count_nested
from republish.queries.columns import Columns
from republish.queries.language import parse_condition
from republish.queries.missing import missing_shares
from republish.queries.spans import EVERYTHING, Term, none_of
from republish.release.cells import SOME_MISSING
from republish.release.release import Release


@dataclass(frozen=True)
class Count:
    """How many people of a release match a condition.

    `lower` and `upper` hold for certain, `expected` lies between them. All three speak of the `people` in the
    release; rows of the view that it leaves out, `suppressed` of them, may match too.
    """

    expected: float
    lower: int
    upper: int
    people: int
    counterfeits: int
    suppressed: int = 0
    notes: tuple[str, ...] = ()

    @property
    def upper_in_view(self) -> int:
        """The most rows of the raw view that can match: those left out are counted as if all did."""
        return self.upper + self.suppressed

    def as_dict(self) -> dict[str, object]:
        return {
            "expected": self.expected,
            "lower": self.lower,
            "upper": self.upper,
            "upper_in_view": self.upper_in_view,
            "people": self.people,
            "counterfeits": self.counterfeits,
            "suppressed": self.suppressed,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Counts:
    """The answers to many queries, one entry each; `notes` are those of all conditions."""

    expected: FloatArray
    lower: IntArray
    upper: IntArray
    notes: tuple[str, ...] = ()


def count(release: Release, where: str = "", suppressed: int = 0) -> Count:
    """How many people of a release match a condition; a blank one is true of everybody.

    `suppressed` is the number of rows that the release leaves out, as its `about.json` says.
    """
    if suppressed < 0:
        raise PolicyError(f"the number of rows left out must be 0 or more, found {suppressed}")
    found = count_many(release, [where])
    people = real_rows(release)
    return Count(
        float(found.expected[0]),
        int(found.lower[0]),
        int(found.upper[0]),
        int(people.sum()),
        int(release.counterfeits.sum()),
        suppressed,
        found.notes,
    )


def count_many(release: Release, queries: Sequence[str] | Workload) -> Counts:
    """The answers to many conditions, or to a workload, in one pass."""
    if isinstance(queries, str):
        raise PolicyError("many queries are a list of conditions, found a single text; put it into a list")
    if isinstance(queries, Workload):
        return _count_workload(release, queries)
    columns = Columns(release)
    asked = [columns.terms(parse_condition(text)) for text in queries]
    axes = len(release.cells)
    plain = sorted({column for terms in asked for term in terms for column in term if column >= axes})
    number = {column: axes + at for at, column in enumerate(plain)}
    asked = [[{number.get(c, c): span for c, span in term.items()} for term in terms] for terms in asked]
    table = _table(release, [columns.places(column) for column in plain])
    contraries = [none_of(terms) for terms in asked]
    return _answers(release, _packed(asked), _packed(contraries), table, tuple(columns.notes))


def _answers(
    release: Release,
    asked: CompiledQueries,
    against: CompiledQueries,
    table: EstimateTable,
    notes: tuple[str, ...] = (),
) -> Counts:
    if release.level is None:
        expected, lower, upper = count_all(asked, against, table)
    else:
        expected, lower, upper = count_nested(asked, against, table, nest_of(release, table))
    # Shares that add up to a whole may miss it by a rounding.
    return Counts(np.clip(expected, lower, upper), lower, upper, notes)


def _table(release: Release, places: Sequence[IntArray]) -> EstimateTable:
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
    )


def _packed(queries: Sequence[Sequence[Term]]) -> CompiledQueries:
    """The terms of all queries as arrays."""
    terms = [term for query in queries for term in query]
    asked = [(c, span) for term in terms for c, span in sorted(term.items()) if span != EVERYTHING]
    held = [sum(span != EVERYTHING for span in term.values()) for term in terms]
    intervals = [interval for _, span in asked for interval in span.intervals]
    bounds = np.array(intervals, dtype=np.float64).reshape(-1, 2)
    return CompiledQueries(
        _starts([len(query) for query in queries]),
        _starts(held),
        np.array([column for column, _ in asked], dtype=np.int64),
        np.array([span.missing for _, span in asked], dtype=np.bool_),
        _starts([len(span.intervals) for _, span in asked]),
        bounds[:, 0].copy(),
        bounds[:, 1].copy(),
    )


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.array([0, *accumulate(lengths)], dtype=np.int64)


def _count_workload(release: Release, workload: Workload) -> Counts:
    """The ranges of a workload are one term a query; a missing value is in none that is asked."""
    require_axes(tuple(cells.axis for cells in release.cells), workload)
    low, high = workload.low, workload.high
    places = []
    if release.schema.sensitive is not None:
        low = np.column_stack([low, workload.value_low])
        high = np.column_stack([high, workload.value_high])
        places.append(sensitive_ranks(release, workload.values))
    # A range from -inf to inf is not asked about, as everywhere in a workload.
    query, column = np.nonzero(low > -np.inf)
    low, high = low[query, column], high[query, column]
    held = np.bincount(query, minlength=workload.queries)
    one = np.arange(len(query) + 1)
    no, yes = np.zeros(len(query), np.bool_), np.ones(len(query), np.bool_)
    asked = CompiledQueries(np.arange(workload.queries + 1), _ends(held), column, no, one, low, high)
    outside = np.column_stack([np.full(len(low), -np.inf), np.nextafter(high, np.inf)]).ravel()
    inside = np.column_stack([np.nextafter(low, -np.inf), np.full(len(low), np.inf)]).ravel()
    against = CompiledQueries(_ends(held), one, column, yes, 2 * one, outside, inside)
    return _answers(release, asked, against, _table(release, places))


def _ends(lengths: IntArray) -> IntArray:
    return np.append(0, np.cumsum(lengths)).astype(np.int64)
