"""The measures of a release as sums over its parts: what adds up of each, and the whole put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from republish.arrays import FloatArray
from republish.metrics.boxes import real_rows
from republish.metrics.levels import Levels
from republish.metrics.risk import THRESHOLDS, Risk
from republish.metrics.summary import Measures
from republish.microdata import sensitive_codes
from republish.release.release import Release
from republish.requirements import (
    EntropyLDiversity,
    LDiversity,
    Requirement,
    TCloseness,
    Whole,
)
from republish.requirements.histograms import histograms


@dataclass(frozen=True)
class Sums:
    """What adds up of the measures of a part: see `Measures` for what they are."""

    rows: int
    groups: int
    counterfeits: int
    people: int
    lost: FloatArray
    squares: int
    highest: float
    links: float
    above: FloatArray
    smallest: int | None
    levels: tuple[float, ...]


def sums_of(release: Release, values: pl.Series, whole: Whole) -> Sums:
    """The sums of a part of a release; `values` and `whole` are those of all parts."""
    people, sizes = real_rows(release), release.sizes.astype(np.int64)
    held = people > 0
    each = 1.0 / sizes[held]
    return Sums(
        rows=release.rows,
        groups=release.group_count,
        counterfeits=int(release.counterfeits.sum()),
        people=int(people.sum()),
        lost=np.array([float(np.dot(people[held], cells.penalty()[held])) for cells in release.cells]),
        squares=int(np.dot(sizes, sizes)),
        highest=float(each.max(initial=0.0)),
        links=float(np.dot(people[held], each)),
        above=np.array([float(people[held][each > limit].sum()) for limit in THRESHOLDS]),
        smallest=int(sizes.min()) if len(sizes) else None,
        levels=_levels(release, values, whole),
    )


def _asked(distance: str) -> tuple[Requirement, ...]:
    return LDiversity(1), EntropyLDiversity(1), TCloseness(1.0, distance)  # type: ignore[arg-type]


def _levels(release: Release, values: pl.Series, whole: Whole) -> tuple[float, ...]:
    column = release.schema.sensitive
    if column is None or not release.group_count:
        return ()
    asked = _asked(column.distance or "equal")
    codes, _ = sensitive_codes(release.rest[column.name], column, values)
    found: list[list[FloatArray]] = [[] for _ in asked]
    for _, counts in histograms(release.group.astype(np.int64) - 1, codes, release.group_count, whole.m):
        for reached, requirement in zip(found, asked, strict=True):
            reached.append(requirement.achieved(counts, whole))
    return tuple(r.worst(np.concatenate(reached)) for r, reached in zip(asked, found, strict=True))


def measures_of(sums: Sequence[Sums], columns: Sequence[str], suppressed: int, distance: str) -> Measures:
    """The measures of a release from those of its parts; those that need the raw view are none."""
    groups, rows = sum(s.groups for s in sums), sum(s.rows for s in sums)
    everyone = sum(s.people for s in sums)
    in_view = everyone + suppressed
    lost = np.sum([s.lost for s in sums], axis=0) if sums else np.zeros(len(columns))
    by_column = {
        name: float((x + suppressed) / in_view) if in_view else 0.0
        for name, x in zip(columns, lost, strict=True)
    }
    above = np.sum([s.above for s in sums], axis=0) if sums else np.zeros(len(THRESHOLDS))
    risk = Risk(
        max((s.highest for s in sums), default=0.0),
        sum(s.links for s in sums) / everyone if everyone else 0.0,
        {limit: float(x / everyone) if everyone else 0.0 for limit, x in zip(THRESHOLDS, above, strict=True)},
    )
    return Measures(
        rows=rows,
        groups=groups,
        suppressed=suppressed,
        counterfeits=sum(s.counterfeits for s in sums),
        penalty=float(np.mean(list(by_column.values()))),
        penalty_by_column=by_column,
        discernibility=sum(s.squares for s in sums) + suppressed * in_view,
        average_class_size=rows / groups if groups else 0.0,
        kl_divergence=None,
        query_error=None,
        prosecutor_risk=risk,
        journalist_risk=risk,
        marketer_risk=risk.average,
        record_linkage=None,
        levels=_together(sums, distance),
    )


def _together(sums: Sequence[Sums], distance: str) -> Levels:
    smallest = min((s.smallest for s in sums if s.smallest is not None), default=None)
    found = [s.levels for s in sums if s.levels]
    if smallest is None or not found:
        return Levels(smallest)
    asked = _asked(distance)
    distinct, entropy, t = (
        requirement.worst(np.array([levels[i] for levels in found])) for i, requirement in enumerate(asked)
    )
    return Levels(smallest, int(distinct), entropy, t, distance)
