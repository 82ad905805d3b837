"""What a release reaches, model by model: the strictest bounds that all of its groups would satisfy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.metrics.boxes import sensitive_ranks
from republish.microdata import whole_of
from republish.release.release import Release
from republish.requirements import EntropyLDiversity, KAnonymity, LDiversity, Requirement, TCloseness, Whole
from republish.requirements.histograms import histograms
from republish.schema.schema import Category, Column, Ordered


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
    if release.group_count == 0:
        return Levels(None)
    smallest = int(release.sizes.min())
    column = release.schema.sensitive
    if column is None:
        return Levels(smallest)
    values = _domain(column, release.rest[column.name])
    codes = sensitive_ranks(release, values)
    whole = whole_of(column, codes, values)
    distance = column.distance or "equal"
    asked: tuple[Requirement, ...] = (
        KAnonymity(1),
        LDiversity(1),
        EntropyLDiversity(1),
        TCloseness(1.0, distance),  # type: ignore[arg-type]
    )
    k, distinct, entropy, t = _weakest(asked, release, codes, whole)
    return Levels(int(k), int(distinct), entropy, t, distance)


def _weakest(
    asked: tuple[Requirement, ...], release: Release, codes: IntArray, whole: Whole
) -> tuple[float, ...]:
    """What the weakest group reaches in every model, some groups at a time."""
    found: list[list[FloatArray]] = [[] for _ in asked]
    for _, counts in histograms(release.group - 1, codes, release.group_count, whole.m):
        for reached, requirement in zip(found, asked, strict=True):
            reached.append(requirement.achieved(counts, whole))
    return tuple(r.worst(np.concatenate(reached)) for r, reached in zip(asked, found, strict=True))


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
