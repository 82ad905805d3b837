"""What a release reaches, model by model: the strictest bounds that all of its groups would satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from republish.arrays import FloatArray
from republish.metrics.boxes import sensitive_ranks
from republish.microdata import whole_of
from republish.release.release import Release
from republish.requirements import EntropyLDiversity, LDiversity, Requirement, TCloseness, Whole
from republish.requirements.histograms import histograms
from republish.schema import Category, Column, Ordered, Schema


@dataclass(frozen=True)
class Levels:
    """The level that the weakest group reaches; None where there are no groups or no sensitive column.

    `distance` is the one that `t` was measured by: equal, ordered or hierarchical.
    """

    k: int | None
    distinct_l: int | None = None
    entropy_l: float | None = None
    t: float | None = None
    distance: str | None = None


def achieved_levels(release: Release) -> Levels:
    """The levels of a release as its reader computes them: counterfeits count, rows left out do not."""
    smallest = int(release.sizes.min()) if release.group_count else None
    return levels_together(smallest, [weakest(release)], distance_of(release.schema))


def distance_of(schema: Schema) -> str:
    """The distance of sensitive values that t-closeness is measured by."""
    return (schema.sensitive.distance if schema.sensitive else None) or "equal"


def weakest(release: Release, large: tuple[pl.Series, Whole] | None = None) -> tuple[float, ...]:
    """What the weakest group reaches in every model, some groups at a time; nothing without groups or values.

    Of a part of a release `large` are the sensitive values of the whole, and what it says of them.
    """
    column = release.schema.sensitive
    if column is None or not release.group_count:
        return ()
    values = large[0] if large else _domain(column, release.rest[column.name])
    codes = sensitive_ranks(release, values)
    whole = large[1] if large else whole_of(column, codes, values)
    asked = _asked(distance_of(release.schema))
    found: list[list[FloatArray]] = [[] for _ in asked]
    for _, counts in histograms(release.group - 1, codes, release.group_count, whole.m):
        for reached, requirement in zip(found, asked, strict=True):
            reached.append(requirement.achieved(counts, whole))
    return tuple(r.worst(np.concatenate(reached)) for r, reached in zip(asked, found, strict=True))


def levels_together(smallest: int | None, parts: Sequence[tuple[float, ...]], distance: str) -> Levels:
    """The levels of a release from the `weakest` of its parts and its smallest group."""
    found = [levels for levels in parts if levels]
    if smallest is None or not found:
        return Levels(smallest)
    distinct, entropy, t = (
        requirement.worst(np.array([levels[i] for levels in found]))
        for i, requirement in enumerate(_asked(distance))
    )
    return Levels(smallest, int(distinct), entropy, t, distance)


def _asked(distance: str) -> tuple[Requirement, ...]:
    return LDiversity(1), EntropyLDiversity(1), TCloseness(1.0, distance)  # type: ignore[arg-type]


def _domain(column: Column, found: pl.Series) -> pl.Series:
    """The values that the schema closes, else those of the release; the missing one where it occurs."""
    present = found.unique().sort().rename("")
    closed = (
        column.order
        if isinstance(column, Ordered)
        else column.domain
        if isinstance(column, Category)
        else None
    )
    if closed is None:
        return present
    declared = pl.Series("", closed, dtype=pl.String)
    return pl.concat([declared, present.filter(~present.is_in(declared.implode()) | present.is_null())])
