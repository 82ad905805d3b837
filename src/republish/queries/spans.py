"""Sets of values of one column, and conditions as disjoint boxes of them.

A span is a set of coordinates and perhaps the missing value. Coordinates are those of a release: numbers, day
numbers, places in a list of values. All intervals are closed; an open end is the next number below or above,
so that nothing lies between a span and its complement.

A term holds where every one of its columns lies in its span; a condition is a list of terms of which at most
one holds. What is not listed in a term is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from republish.errors import PolicyError

MOST_TERMS = 2000


class Span(NamedTuple):
    """Closed intervals, sorted and apart from each other, and whether the missing value belongs too."""

    intervals: tuple[tuple[float, float], ...]
    missing: bool = False


EVERYTHING = Span(((-math.inf, math.inf),), True)
NOTHING = Span(())
PRESENT = Span(((-math.inf, math.inf),))
ABSENT = Span((), True)

Term = dict[int, Span]
"""Spans by the number of their column."""


def below(bound: float, *, included: bool) -> Span:
    """All values under a bound."""
    return Span(((-math.inf, bound if included else math.nextafter(bound, -math.inf)),))


def above(bound: float, *, included: bool) -> Span:
    """All values over a bound."""
    return Span(((bound if included else math.nextafter(bound, math.inf), math.inf),))


def between(low: float, high: float) -> Span:
    """All values from low to high; none where high is below low."""
    return Span(((low, high),)) if low <= high else NOTHING


def runs(places: Iterable[int]) -> Span:
    """The places of a list, given in rising order."""
    intervals: list[tuple[float, float]] = []
    for place in places:
        if intervals and intervals[-1][1] == place - 1:
            intervals[-1] = (intervals[-1][0], float(place))
        else:
            intervals.append((float(place), float(place)))
    return Span(tuple(intervals))


def joined(spans: Iterable[Span]) -> Span:
    """What lies in any of the spans."""
    spans = tuple(spans)
    merged: list[tuple[float, float]] = []
    for low, high in sorted(interval for span in spans for interval in span.intervals):
        if merged and low <= math.nextafter(merged[-1][1], math.inf):
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return Span(tuple(merged), any(span.missing for span in spans))


def common(one: Span, other: Span) -> Span:
    """What lies in both spans."""
    intervals: list[tuple[float, float]] = []
    i = j = 0
    while i < len(one.intervals) and j < len(other.intervals):
        (low, high), (start, end) = one.intervals[i], other.intervals[j]
        if max(low, start) <= min(high, end):
            intervals.append((max(low, start), min(high, end)))
        i, j = (i + 1, j) if high < end else (i, j + 1)
    return Span(tuple(intervals), one.missing and other.missing)


def rest(span: Span) -> Span:
    """What does not lie in the span, the missing value included."""
    return Span(others(span).intervals, not span.missing)


def others(span: Span) -> Span:
    """The values that are there and do not lie in the span: what `not` means where a value is compared."""
    intervals, start = [], -math.inf
    for low, high in span.intervals:
        if start < low:
            intervals.append((start, math.nextafter(low, -math.inf)))
        start = math.nextafter(high, math.inf)
        if high == math.inf:
            return Span(tuple(intervals))
    return Span((*intervals, (start, math.inf)))


def all_of(one: list[Term], other: list[Term]) -> list[Term]:
    """The terms of "both"."""
    terms = []
    for a in one:
        for b in other:
            both = dict(a)
            for column, span in b.items():
                both[column] = common(both[column], span) if column in both else span
            if all(span != NOTHING for span in both.values()):
                terms.append(both)
        if len(terms) > MOST_TERMS:
            raise PolicyError(
                f"the condition unfolds into more than {MOST_TERMS} alternatives; use fewer `or` across columns, "
                "or `in (...)` within one"
            )
    return terms


def any_of(one: list[Term], other: list[Term]) -> list[Term]:
    """The terms of "one or the other"; spans of one and the same column become one span."""
    if len(one) == len(other) == 1 and one[0].keys() == other[0].keys() and len(one[0]) == 1:
        ((column, span),) = one[0].items()
        return [{column: joined((span, other[0][column]))}]
    return [*one, *all_of(other, none_of(one))]


def none_of(terms: list[Term]) -> list[Term]:
    """The terms that hold where none of the given ones does."""
    left: list[Term] = [{}]
    for term in terms:
        outside: list[Term] = []
        inside: Term = {}
        for column, span in term.items():
            if span != EVERYTHING:
                outside.append({**inside, column: rest(span)})
                inside = {**inside, column: span}
        left = all_of(left, outside)
    return left
