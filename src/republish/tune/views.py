"""The raw views of a search: read once, checked before the first trial, and made smaller where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import WordArray
from republish.errors import PolicyError, RepublishError
from republish.microdata import Microdata, read_view
from republish.schema import Schema
from republish.secret import Secret
from republish.sources.tables import read_raw
from republish.tune.rehearsal import REHEARSED

MOST_ROWS = 6_000
"""Larger views are sampled for a recommendation."""
_MOST_VIEWS = 12


@dataclass(frozen=True)
class SampledViews:
    """The views as frames, how many different sensitive values they hold."""

    frames: tuple[pl.DataFrame, ...]
    values: int

    @property
    def rows(self) -> int:
        """Rows of the smallest view."""
        return min(frame.height for frame in self.frames)


def read_views(sources: Sequence[Any], schema: Schema, secret: Secret, sample: int | None) -> SampledViews:
    """All views, checked against the schema.

    With `sample` the same people are kept in all of them, so many that the largest view has about that many rows.

    Raises:
        PolicyError: there is no view, or the sample is no number from 1 on.
        RepublishError: a view cannot be read; the message says which.
    """
    if not len(sources):
        raise PolicyError("a search needs at least one raw view; give them oldest first")
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, int) or sample < 1):
        raise PolicyError("the sample is a number of rows from 1 on")
    frames, people = [], []
    known: pl.Series | None = None
    for number, source in enumerate(sources, start=1):
        try:
            frame = read_raw(source, schema)
            view = read_view(frame, schema, known)
        except RepublishError as problem:
            raise type(problem)(f"view {number}: {problem}") from None
        known = view.values
        frames.append(frame.select(schema.columns))
        assert view.identifiers is not None  # a series has an identifier
        people.append(view.identifiers)
    largest = max(frame.height for frame in frames)
    if sample is not None and sample < largest:
        frames = [
            frame.filter(_drawn(secret.pseudonyms(those), sample / largest))
            for frame, those in zip(frames, people, strict=True)
        ]
        known = pl.concat([_values(frame, schema) for frame in frames])
    return SampledViews(tuple(frames), 0 if known is None else known.n_unique())


def _values(frame: pl.DataFrame, schema: Schema) -> pl.Series:
    assert schema.sensitive is not None
    return frame[schema.sensitive.name].alias("")


def _drawn(people: WordArray, share: float) -> pl.Series:
    """Whose pseudonym is low: the same people in every view."""
    return pl.Series(people[:, 0] < np.uint64(share * 2.0**63) * np.uint64(2))


class PastViews(NamedTuple):
    """The last views, large ones sampled; their frames in full; and the rows that the smallest has in truth."""

    past: list[Microdata]
    frames: tuple[pl.DataFrame, ...]
    rows: int

    def only(self, rows: int, schema: Schema) -> list[Microdata]:
        """The same people in all views, so many that the largest has about so many rows."""
        return _sampled(self.frames, schema, rows)


def past_views(views: Sequence[Any], schema: Schema) -> PastViews:
    """What a recommendation is made on, people under pseudonyms that mean nothing elsewhere."""
    whole = read_views(list(views)[-_MOST_VIEWS:], schema, REHEARSED, None)
    return PastViews(_sampled(whole.frames, schema, MOST_ROWS), whole.frames, whole.rows)


def _sampled(frames: Sequence[pl.DataFrame], schema: Schema, rows: int) -> list[Microdata]:
    past: list[Microdata] = []
    for frame in read_views(frames, schema, REHEARSED, rows).frames:
        past.append(read_view(frame, schema, past[-1].values if past else None))
    return [view.pseudonymous(REHEARSED) for view in past]
