"""The raw views of a search: read once, checked before the first trial, and made smaller where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import WordArray
from republish.errors import PolicyError, RepublishError
from republish.microdata import read_view
from republish.schema import Schema
from republish.secret import Secret
from republish.sources.tables import read_raw


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
