"""Values that were never published hide among people: buckets that have one and hold too few are joined.

A counterfeit may bear a value that was published before. One that never was is borne by a person of this view, so
whoever sees it looks for its bearer among the people of the buckets that have it. Each of these gets enough people, all
of whom got its signature in this release: then any of them may be the bearer (docs/new-values.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from republish.arrays import BoolArray, Int64Array
from republish.errors import CannotPublish
from republish.publishers._buckets.kernels import Ragged, UnfilledBuckets, tallest
from republish.publishers._buckets.lists import positions_by
from republish.publishers._buckets.newcomers import Work, counted, extended
from republish.publishers.contract import MustWait

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Joined:
    """Buckets that become one: their numbers, all their codes, people, and codes that some of these must not meet."""

    buckets: tuple[int, ...]
    codes: frozenset[int]
    people: int
    barred: frozenset[int]

    def fits(self, other: _Joined) -> bool:
        return not (self.codes | other.codes) & (self.barred | other.barred)

    def with_(self, other: _Joined) -> _Joined:
        return _Joined(
            self.buckets + other.buckets,
            self.codes | other.codes,
            self.people + other.people,
            self.barred | other.barred,
        )


def hide(work: Work, kept: UnfilledBuckets, filled: UnfilledBuckets) -> UnfilledBuckets | None:
    """Return the buckets with enough people in each that has a new value; `None` where they cannot be joined so.

    The first buckets are those `kept` from earlier releases; nobody may be moved into or out of them.
    """
    fewest, old = work.filling.hidden, len(kept.signatures.offsets) - 1
    offsets, items = filled.signatures
    people = np.bincount(filled.bucket, minlength=len(offsets) - 1)
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    fresh = np.bincount(owner[items >= work.known], minlength=len(offsets) - 1) > 0
    few = fresh & (people > 0) & (people < fewest)
    if not few.any():
        return filled
    made: BoolArray = (np.arange(len(offsets) - 1) >= old) & (people > 0)
    # Low buckets first: a bucket joined to a high one needs counterfeits for each of its values at that height.
    heights = tallest(filled.signatures, filled.held)
    order = np.flatnonzero(made)[np.argsort(heights[made], kind="stable")]
    rows = positions_by(filled.bucket, len(offsets) - 1)
    short, long = ([int(b) for b in order[which]] for which in (few[order], ~few[order]))
    joined: list[_Joined] = []
    while short:
        one = _bucket(work, filled, rows, short.pop(0))
        while one.people < fewest:
            other = _taken(one, (short, long), lambda number: _bucket(work, filled, rows, number))
            other = other or _taken(one, (joined,), lambda earlier: earlier)
            if other is None:
                return None
            one = one.with_(other)
        joined.append(one)
    return _with_joined(work, filled, joined)


def _taken(one: _Joined, lists: tuple[list[_T], ...], made: Callable[[_T], _Joined]) -> _Joined | None:
    """Return the first bucket of these lists that may join one, and take it out of its list."""
    for among in lists:
        for place, item in enumerate(among):
            other = made(item)
            if one.fits(other):
                del among[place]
                return other
    return None


def _bucket(work: Work, draft: UnfilledBuckets, rows_of: Ragged, number: int) -> _Joined:
    offsets, items = draft.signatures
    rows = rows_of.items[rows_of.offsets[number] : rows_of.offsets[number + 1]]
    barred: Int64Array = np.zeros(0, dtype=np.int64)
    if work.bars.of_row.size:
        lists = work.bars.codes
        mine = np.unique(work.bars.of_row[rows])
        parts = [lists.items[lists.offsets[i] : lists.offsets[i + 1]] for i in mine[mine >= 0]]
        barred = np.concatenate([barred, *parts])
    codes = items[offsets[number] : offsets[number + 1]]
    return _Joined((number,), frozenset(codes.tolist()), len(rows), frozenset(barred.tolist()))


def _with_joined(work: Work, draft: UnfilledBuckets, joined: list[_Joined]) -> UnfilledBuckets:
    """Return the draft with these buckets joined; the buckets they are made of stay behind, empty."""
    extended_draft, target = extended(draft, [np.array(sorted(one.codes), dtype=np.int64) for one in joined])
    into = np.arange(len(extended_draft.signatures.offsets) - 1)
    for one, bucket in zip(joined, target, strict=True):
        into[list(one.buckets)] = bucket
    return counted(work, extended_draft._replace(bucket=into[extended_draft.bucket]))


def require_hidden(work: Work, draft: UnfilledBuckets | None) -> UnfilledBuckets:
    """Refuse a view whose new values cannot hide among enough people; after the first release all newcomers wait."""
    if draft is not None:
        return draft
    found = (
        f"a value that was never published must hide among newcomers={work.filling.hidden} people who need a "
        "signature and may share one, and this view has not so many"
    )
    if not work.first:
        raise MustWait(f"{found}; leave all of them out until there are more", ~work.keeps)
    raise CannotPublish(
        f"{found}; choose a smaller number of newcomers, or list the values in the schema (domain)"
    )
