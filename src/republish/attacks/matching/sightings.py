"""What somebody sees of a release who knows people's quasi-identifiers: where each fits, and what its lines say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray, WordArray
from republish.attacks.history import History
from republish.attacks.source import Source
from republish.errors import PolicyError
from republish.metrics.boxes import aligned
from republish.microdata import Microdata, read_view
from republish.release.two_tables import AnyRelease, TwoTableRelease
from republish.secret import pseudonym_texts


@dataclass(frozen=True)
class MatchedView:
    """One release and everyone in its view: number in the history (-1 where there is none), and coordinates.

    `points[axis, i]` are those of `person[i]`, as the cells of the release have them. `cell[i]` is the group (1, 2,
    ...) in which the table of people shows them, 0 where it does not. `tag` stands for all insensitive cells of a row,
    equal where they are. `offset` is how far the frame of every quasi-identifier has moved since the first release:
    ages grow.
    """

    release: AnyRelease
    person: IntArray
    points: FloatArray
    cell: IntArray
    tag: WordArray
    offset: FloatArray

    @classmethod
    def of(
        cls, release: AnyRelease, view: Microdata, person: IntArray, cell: IntArray | None = None
    ) -> MatchedView:
        """The sighting of a view whose rows are these people; without `cell` nobody is known to be published."""
        points = aligned(view, release.people).points
        cell = np.zeros(view.rows, dtype=np.int64) if cell is None else cell
        return cls(release, person, points, cell, _tags(view), np.zeros(len(points)))


class NamedBatches(NamedTuple):
    """What lines of the table of people may say: group g names `batch[u]` in `lines[u]` of its lines.

    u runs from `start[g]` to `start[g + 1]`; groups and batches are numbered from 0. In one table every group names
    itself.
    """

    start: IntArray
    batch: IntArray
    lines: IntArray


def units_of(release: AnyRelease, rows: IntArray) -> NamedBatches:
    """The units of a release whose batches hold so many `rows`; lines without a batch belong to none."""
    if not isinstance(release, TwoTableRelease):
        groups = np.arange(release.group_count + 1)
        return NamedBatches(groups, groups[:-1], rows.astype(np.int64))
    named = release.batch > 0
    batches = max(release.values.group_count, 1)
    key = (release.people.group[named].astype(np.int64) - 1) * batches + release.batch[named] - 1
    distinct, lines = np.unique(key, return_counts=True)
    each = np.bincount(distinct // batches, minlength=release.people.group_count)
    return NamedBatches(np.append(0, np.cumsum(each)), distinct % batches, lines.astype(np.int64))


def sightings_of(series: Source, history: History, views: Sequence[Any] | None) -> tuple[MatchedView, ...]:
    """What a published series and its raw views, one a release, let her match.

    Raises:
        PolicyError: there are no raw views, or not one for each release.
    """
    require_views(views, history.releases)
    assert views is not None
    assert history.names is not None
    index = history.names.to_frame("person").with_row_index("index")
    secret, schema = series.secret(), series.schema
    found, offset = [], np.zeros(len(schema.quasi_identifiers))
    for number, (view, record) in enumerate(zip(views, series.records, strict=True), start=1):
        raw = view if isinstance(view, Microdata) else read_view(view, schema, series.values_at(number))
        raw = raw if raw.people is not None else raw.pseudonymous(secret)
        assert raw.people is not None
        members = series.members(number)
        group = members.group if members.cell is None else members.cell
        shown = pl.DataFrame([pseudonym_texts(members.people), pl.Series("cell", group)]).unique("person")
        names = pseudonym_texts(raw.people).to_frame("person")
        place = names.join(index, on="person", how="left", maintain_order="left")["index"]
        cell = names.join(shown, on="person", how="left", maintain_order="left")["cell"]
        person = place.cast(pl.Int64).fill_null(-1).to_numpy()  # -1 for whom the series has forgotten
        moved = record.payload.get("moved", {})
        offset = offset + [moved.get(column.name, 0.0) for column in schema.quasi_identifiers]
        sighting = MatchedView.of(
            series.release(number), raw, person, cell.cast(pl.Int64).fill_null(0).to_numpy()
        )
        found.append(replace(sighting, offset=offset))
    return tuple(found)


def require_views(views: Sequence[Any] | None, releases: int) -> None:
    """Refuse to go on without one raw view a release."""
    if views is None:
        raise PolicyError(
            "matching needs everybody's quasi-identifiers, and a series keeps none; give the raw views (--truth DIR)"
        )
    if len(views) != releases:
        raise PolicyError(
            f"matching needs one raw view a release; there are {len(views)} for {releases} releases"
        )


def require_everyone(history: History, sightings: Sequence[MatchedView]) -> None:
    """Refuse views in which somebody is missing whom their release shows."""
    require_views(sightings, history.releases)
    for i, sighting in enumerate(sightings):
        first, last = np.searchsorted(history.release, [i, i + 1]).tolist()
        missing = int(
            np.count_nonzero(~np.isin(history.person[first:last], sighting.person[sighting.cell > 0]))
        )
        if missing:
            raise PolicyError(
                f"release {i + 1}: the raw view it was made from is needed; {missing} of {last - first} published "
                "people are not in the view given"
            )


def _tags(view: Microdata) -> WordArray:
    """A word for the insensitive cells of every row; 0 where the view has no such columns."""
    if not view.insensitive.width:
        return np.zeros(view.rows, dtype=np.uint64)
    return view.insensitive.cast(pl.String).hash_rows(seed=0).to_numpy()
