"""Counting queries on a release in two tables.

A condition on people alone is put to the table of people. One that speaks of the sensitive value is taken apart by
classes of values: whoever has a value of class c matches where her quasi-identifiers satisfy the condition A_c that is
left of the query. Classes are few: the values that satisfy the same alternatives are one.

**Estimate.** People lie in a cell as `density` says. A person of cell C and batch B matches with the sum over c of
P(C in A_c) times the share of the batch's values that are of class c. Somebody without a batch has each value with its
share of the whole release.

**Bounds.** Let batch B count N values, n_c of class c, and have P people, P <= N: each of them has one of the values,
no value belongs to two, and N - P belong to nobody (counterfeits). Pair a person with a value that is hers. Those who
match are pairs (i, v) with v in a class c such that i's cell meets A_c. So the number of matches is at most that of the
largest set of such pairs that share no person and no value. By Koenig's theorem that is the least number of
people and values that together touch every possible pair: over all sets Y of classes the least of

    sum of n_c over c in Y  +  people whose cell meets A_c for some c outside Y.

For `A and value in V` this is min(people whose cell meets A, values in V). The contrary of a query is a query: at most
that many people do not match, so at least P less that many do; for `A and value in V` these are
max(0, people whose cell lies in A + values in V - N). Where P > N, P - N people have values that the batch does not
count, and where it was counted in an earlier release, those who wait; they are added to the upper bound, as far as
their cells fit. Somebody without a batch may have any value, also
one that is published nowhere: she counts in the upper bound where some value would make her match, in the lower one
where every value would. Bounds of people in different batches add up.

**Stale counts.** Whoever waits may have a value that is asked for or not, and so it is with the values of those who are
held. By so many people a count may be off, as far as the bounds allow, and in all batches to the same side: what keeps
batches from being counted, such as an epidemic, is often one thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.queries._batch_kernel import BatchTable, ValueClasses, count_batches
from republish.queries._kernel import CompiledQueries, EstimateTable, count_all, doubt
from republish.queries._range_kernel import count_ranges
from republish.queries.compiled import estimate_table, packed, people_table, starts
from republish.queries.spans import Span, Term, none_of, runs
from republish.release.two_tables import BATCH, WAITING, TwoTableRelease

Found = tuple[FloatArray, IntArray, IntArray, FloatArray, FloatArray]
"""Expected, fewest and most people that every query matches, a variance, and by how many stale counts may be off."""


class Asked(NamedTuple):
    """The terms of a query, and what it asks of people without a batch: who may match, and who surely does."""

    terms: list[Term]
    perhaps: list[Term]
    surely: list[Term]

    def renumbered(self, number: Mapping[int, int]) -> Asked:
        """The same where columns have other numbers."""
        return Asked(
            *([{number.get(c, c): span for c, span in term.items()} for term in part] for part in self)
        )

    def speaks_of(self, column: int) -> bool:
        """Whether the query asks about the sensitive column; a value that nobody has leaves no term that does."""
        return self.perhaps != self.surely or any(column in term for term in self.terms)


def count_values(
    release: TwoTableRelease,
    asked: Sequence[Asked],
    plain: Sequence[IntArray],
    places: IntArray,
) -> Found:
    """What every query matches.

    Args:
        release: the release.
        asked: the queries; the sensitive value is the column after all those of people.
        plain: of every column of people that is published as it is, the places of their values.
        places: of every row of the table of values, the place of its value.
    """
    column = len(release.people.cells) + len(plain)
    known = int(places.max(initial=-1)) + 1
    table = people_table(release, [*plain, release.batch.astype(np.int64)])
    batches = _batch_table(release, places)
    with_values, without = (
        _classes(queries, column, known)
        for queries in ([one.terms for one in asked], [none_of(one.terms) for one in asked])
    )
    expected, fewest, most, variance, stale, outside = count_batches(with_values, without, table, batches)
    if batches.people[0]:
        few, many = _without_batch(release, asked, plain)
        outside = np.clip(outside, few, many)
        expected, fewest, most = expected + outside, fewest + few, most + many
        variance += [doubt(*each) for each in zip(outside, few, many, strict=True)]
    return expected, fewest, most, variance, stale


def count_value_ranges(
    release: TwoTableRelease,
    asked: tuple[CompiledQueries, CompiledQueries],
    low: FloatArray,
    high: FloatArray,
    places: IntArray,
) -> Found:
    """The same for ranges of places of values, each with one term that asks for ranges of quasi-identifiers.

    Args:
        release: the release.
        asked: what is asked of people, and its contrary.
        low: the first place of a value that every query asks for.
        high: the last.
        places: of every row of the table of values, the place of its value.
    """
    table = people_table(release, [release.batch.astype(np.int64)])
    found: Found = count_ranges(*asked, low, high, table, _batch_table(release, places))
    return found


def _batch_table(release: TwoTableRelease, places: IntArray) -> BatchTable:
    """The values of every batch, and as batch 0 those of all."""
    count = max(release.values.group_count, int(release.batch.max(initial=0)))
    batch = np.concatenate([np.zeros(len(places), np.int64), release.values.group.astype(np.int64)])
    twice = np.concatenate([places, places])
    order = np.lexsort((twice, batch))
    first = np.searchsorted(batch[order], np.arange(count + 2)).astype(np.int64)
    people = np.bincount(release.batch, minlength=count + 1).astype(np.int64)
    uncounted = np.maximum(people - np.diff(first), 0)
    stale = np.zeros_like(uncounted)
    if release.clock is not None:
        uncounted[release.clock[BATCH].to_numpy()] = release.clock[WAITING].to_numpy()
        stale[1 : release.values.group_count + 1] = release.counterfeits
        stale += uncounted
        stale[0] = 0
    return BatchTable(twice[order], first, people, uncounted, stale)


def _without_batch(
    release: TwoTableRelease, asked: Sequence[Asked], plain: Sequence[IntArray]
) -> tuple[IntArray, IntArray]:
    """Fewest and most of the people without a batch that every query matches."""
    alone = release.batch == 0
    people = release.people
    rest = people.rest.filter(alone) if people.rest.width else people.rest  # no columns, no rows
    some = replace(people, group=people.group[alone], rest=rest)
    table: EstimateTable = estimate_table(some, [places[alone] for places in plain])
    # That one of a cell `*` lacks the value says nothing of a part of its people.
    table = table._replace(mixed=np.zeros_like(table.mixed))
    perhaps = packed([one.perhaps for one in asked])
    surely = packed([one.surely for one in asked])
    not_perhaps = packed([none_of(one.perhaps) for one in asked])
    not_surely = packed([none_of(one.surely) for one in asked])
    _, _, many, _ = count_all(perhaps, not_perhaps, table)
    _, few, _, _ = count_all(surely, not_surely, table)
    return few, many


def _classes(queries: Sequence[list[Term]], column: int, known: int) -> ValueClasses:
    """The terms of every query by class of values; values that satisfy none are left out."""
    held, people, values = [], [], []
    for terms in queries:
        alike: dict[bytes, list[int]] = {}
        fits = np.array([_satisfied(term.get(column), known) for term in terms], dtype=np.bool_)
        fits = fits.reshape(len(terms), known + 1)
        for place in np.flatnonzero(fits.any(axis=0)).tolist():
            alike.setdefault(fits[:, place].tobytes(), []).append(place - 1)
        held.append(len(alike))
        for places in alike.values():
            satisfied = np.flatnonzero(fits[:, places[0] + 1])
            people.append([_without(terms[t], column) for t in satisfied.tolist()])
            values.append(runs(places).intervals)
    bounds = np.array([pair for intervals in values for pair in intervals], dtype=np.float64).reshape(-1, 2)
    return ValueClasses(
        starts(held),
        starts([len(intervals) for intervals in values]),
        bounds[:, 0].copy(),
        bounds[:, 1].copy(),
        packed(people),
    )


def _without(term: Term, column: int) -> Term:
    return {c: span for c, span in term.items() if c != column}


def _satisfied(span: Span | None, known: int) -> BoolArray:
    """Which places satisfy a span: first the missing value, then those of all values."""
    found = np.full(known + 1, span is None, dtype=np.bool_)
    if span is not None:
        at = np.arange(known)
        found[0] = span.missing
        for low, high in span.intervals:
            found[1:] |= (low <= at) & (at <= high)
    return found
