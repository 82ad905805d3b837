"""What an adversary has of each release who knows the program: where everybody is, and how people are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.attacks.history import History
from republish.attacks.matching.sightings import require_views
from republish.attacks.retracing.shares import Shares
from republish.attacks.retracing.zones import zones_of_releases
from republish.attacks.source import Source
from republish.errors import PolicyError
from republish.microdata import Microdata, read_view
from republish.publishers.contract import DEALT, Forming
from republish.secret import pseudonym_texts


@dataclass(frozen=True)
class Trace:
    """One release: its raw view, whose every row is, and how people were put together, `None` where nobody knows.

    `zone` is that of every row where people were dealt in zones in which one value of each bucket has no counterfeit.
    `found` keeps what was found for whom she knows: a release is looked at alone, so later ones change nothing.
    """

    view: Microdata
    person: IntArray
    forming: Forming | None
    zone: IntArray | None = None
    found: dict[bytes, Shares] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class AlikeGroups:
    """All groups of a release with the same values, each as often in all of them.

    `entry[g, i]` are the appearances of group g, then -1 for rows that nobody has; `row` those rows of the view, -1 for
    nobody's. `code` are the values of a group, one for each of its rows.
    """

    entry: IntArray
    row: IntArray
    code: IntArray

    def by_zone(self, zone: IntArray) -> Iterator[AlikeGroups]:
        """The buckets of every zone, where `zone` is that of the rows of the view."""
        of_group = np.where(self.row >= 0, zone[self.row], -1).max(axis=1)
        for number in np.unique(of_group):
            here = of_group == number
            yield AlikeGroups(self.entry[here], self.row[here], self.code)

    @property
    def single(self) -> bool:
        """Whether every value has one row in a group."""
        return len(np.unique(self.code)) == len(self.code)


def traces_of(series: Source, history: History, views: Sequence[Any] | None) -> tuple[Trace, ...]:
    """What a published series and its raw views, one a release, let her retrace.

    Raises:
        PolicyError: there are no raw views, or not one for each release.
    """
    require_views(views, history.releases)
    assert views is not None
    assert history.names is not None
    index = history.names.to_frame("person").with_row_index("index")
    read = []
    for number, raw in enumerate(views, start=1):
        view = raw if isinstance(raw, Microdata) else read_view(raw, series.schema, series.values_at(number))
        view = view if view.people is not None else view.pseudonymous(series.secret())
        assert view.people is not None
        names = pseudonym_texts(view.people).to_frame("person")
        place = names.join(index, on="person", how="left", maintain_order="left")["index"]
        read.append((view, place.cast(pl.Int64).fill_null(-1).to_numpy()))
    forming = [None if record.adopted else series.publisher.forming for record in series.records]
    zones: Iterable[IntArray | None] = repeat(None)
    if history.truth is not None and all(one is not None and one.rule == DEALT for one in forming):
        zones = zones_of_releases(series.publisher, series.secret(), history, read)
    return tuple(Trace(*one, rule, zone) for one, rule, zone in zip(read, forming, zones, strict=False))


def buckets(history: History, number: int, trace: Trace) -> Iterator[AlikeGroups]:
    """The buckets of a release (0, 1, ...); not those in which somebody was who is forgotten, and stood somewhere."""
    first, last = history.group_start[number], history.group_start[number + 1]
    row = _rows(history, number, trace)
    start, members = history.value_start, history.member_start
    forgotten = () if history.forgotten is None else history.forgotten
    alike: dict[bytes, list[int]] = {}
    for g in range(first, last):
        held = slice(start[g], start[g + 1])
        key = history.value_code[held].tobytes() + history.value_count[held].tobytes()
        alike.setdefault(key, []).append(g)
    for groups in alike.values():
        some = slice(start[groups[0]], start[groups[0] + 1])
        if np.isin(groups, forgotten).any():
            continue
        code = np.repeat(history.value_code[some], history.value_count[some]).astype(np.int64)
        entry = np.full((len(groups), len(code)), -1, dtype=np.int64)
        for i, g in enumerate(groups):
            entry[i, : members[g + 1] - members[g]] = np.arange(members[g], members[g + 1])
        place = np.where(
            entry >= 0, entry - members[first], len(row) - 1
        )  # the one more, where it is nobody's
        yield AlikeGroups(entry, row[place], code)


def known_entries(history: History, bucket: AlikeGroups, known: BoolArray) -> BoolArray:
    """Whose value she knows, of all entries of a bucket."""
    return (bucket.entry >= 0) & known[history.person[bucket.entry]]


def _rows(history: History, number: int, trace: Trace) -> IntArray:
    """The row of the view of every appearance in a release, and one more."""
    first, last = history.member_start[history.group_start[[number, number + 1]]]
    place = np.full(history.people, -1, dtype=np.int64)
    seen = np.flatnonzero(trace.person >= 0)
    place[trace.person[seen]] = seen
    row = place[history.person[first:last]]
    if (row < 0).any():
        raise PolicyError(
            f"release {number + 1}: the raw view it was made from is needed; {np.count_nonzero(row < 0)} of "
            f"{last - first} published people are not in the view given"
        )
    return np.append(row, -1)
