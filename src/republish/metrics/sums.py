"""What adds up of the measures of a release: the sums of all of it, or of one of its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from republish.arrays import FloatArray
from republish.metrics.boxes import real_rows
from republish.metrics.levels import weakest
from republish.metrics.penalty import lost_to_people
from republish.metrics.risk import THRESHOLDS
from republish.release.release import Release
from republish.release.two_tables import AnyRelease
from republish.requirements import Whole


@dataclass(frozen=True)
class Sums:
    """What adds up of the measures of a part: see `Measures` for what they are.

    `lost` is the certainty penalty of each column over all people, `lost_in_all` that of their mean.
    """

    rows: int
    groups: int
    counterfeits: int
    people: int
    lost: FloatArray
    lost_in_all: float
    squares: int
    highest: float
    links: float
    above: FloatArray
    smallest: int | None
    levels: tuple[float, ...]
    fewest_people: int | None


def sums_of_values(values: Release, large: tuple[pl.Series, Whole]) -> Sums:
    """What a part of a table of values adds to the sums of the people: counterfeits, and levels of l and t.

    `large` are the sensitive values of the whole.
    """
    counterfeits, levels = int(values.counterfeits.sum()), weakest(values, large)
    nothing, none = np.zeros(len(values.schema.quasi_identifiers)), np.zeros(len(THRESHOLDS))
    fewest = _fewest_people(values)
    return Sums(0, 0, counterfeits, 0, nothing, 0.0, 0, 0.0, 0.0, none, None, levels, fewest)


def sums_of(release: AnyRelease, large: tuple[pl.Series, Whole] | None = None) -> Sums:
    """The sums of a release, or of a part of one whose sensitive values are `large`.

    Of two tables groups are those of people; only the levels of l and t and the fewest people are those of batches.
    """
    table = release.people
    people, sizes = real_rows(table), table.sizes.astype(np.int64)
    held = people > 0
    each = 1.0 / sizes[held]
    return Sums(
        rows=release.rows,
        groups=table.group_count,
        counterfeits=int(release.counterfeits.sum()),
        people=int(people.sum()),
        lost=np.array([lost_to_people(table, cells.penalty()) for cells in table.cells]),
        lost_in_all=lost_to_people(table, table.penalties()),
        squares=int(np.dot(sizes, sizes)),
        highest=float(each.max(initial=0.0)),
        links=float(np.dot(people[held], each)),
        above=np.array([float(people[held][each > limit].sum()) for limit in THRESHOLDS]),
        smallest=int(sizes.min()) if len(sizes) else None,
        levels=weakest(release.values, large),
        fewest_people=_fewest_people(release.values),
    )


def _fewest_people(table: Release) -> int | None:
    """How many rows of the group that has fewest are no counterfeits; nothing of a table that shows no value."""
    people = real_rows(table)
    return int(people.min()) if len(people) and table.schema.sensitive is not None else None
