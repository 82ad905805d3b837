"""Checks and measures of the parts of a release, put together to those of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from republish.arrays import FloatArray
from republish.errors import LedgerError
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
)
from republish.requirements.histograms import histograms
from republish.verify.table import AtLarge, Check, Verification


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


def sums_of(release: Release, large: AtLarge) -> Sums:
    """The sums of a part of a release."""
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
        levels=_levels(release, large),
    )


def _asked(distance: str) -> tuple[Requirement, ...]:
    return LDiversity(1), EntropyLDiversity(1), TCloseness(1.0, distance)  # type: ignore[arg-type]


def _levels(release: Release, large: AtLarge) -> tuple[float, ...]:
    column = release.schema.sensitive
    if column is None or not release.group_count:
        return ()
    asked = _asked(column.distance or "equal")
    codes, _ = sensitive_codes(release.rest[column.name], column, large.values)
    found: list[list[FloatArray]] = [[] for _ in asked]
    for _, counts in histograms(
        release.group.astype(np.int64) - 1, codes, release.group_count, large.whole.m
    ):
        for reached, requirement in zip(found, asked, strict=True):
            reached.append(requirement.achieved(counts, large.whole))
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


def verified(parts: Sequence[Verification], requirements: Sequence[Requirement]) -> Verification:
    """The checks of all parts as those of one release: a promise holds where it holds in every part."""
    if not parts:
        raise LedgerError("a release has at least one part, and none was verified; nothing was committed")
    if len({len(part.checks) for part in parts}) > 1:
        raise LedgerError("the parts of a release were not checked alike; nothing was committed")
    by_text = {requirement.text: requirement for requirement in requirements}
    checks = [_merged([part.checks[i] for part in parts], by_text) for i in range(len(parts[0].checks))]
    return Verification(
        sum(part.rows for part in parts),
        sum(part.groups for part in parts),
        sum(part.suppressed for part in parts),
        tuple(checks),
    )


def _merged(checks: Sequence[Check], requirements: dict[str, Requirement]) -> Check:
    first = checks[0]
    if any(check.promise != first.promise for check in checks):
        raise LedgerError("the parts of a release were not checked alike; nothing was committed")
    reached = np.array([check.reached for check in checks if check.reached is not None])
    worst: float | None = None
    if len(reached):
        # Beside the requirements of a table only divergences of beliefs reach something: the larger, the worse.
        requirement = requirements.get(first.promise)
        worst = requirement.worst(reached) if requirement else float(reached.max())
    return replace(
        first,
        holds=all(check.holds for check in checks),
        reached=worst,
        groups=sum(check.groups for check in checks),
        rows=sum(check.rows for check in checks),
        unchecked=sum(check.unchecked for check in checks),
    )
