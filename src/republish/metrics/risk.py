"""Prosecutor, journalist and marketer risk of one table (El Emam, Guide to the De-Identification, 2013).

Whom an adversary seeks lies in one group, and her candidates are all of its published rows, counterfeits
too, since she cannot tell them apart. Shares and means are over the people in the release: who was left out
runs no risk from this table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from republish.arrays import IntArray
from republish.metrics.boxes import aligned, cell_boxes, real_rows
from republish.metrics.tuples import Tuples
from republish.microdata import Microdata
from republish.release.release import Release

THRESHOLDS = (0.2, 0.09, 0.05)
"""Limits in use; at 5, 12 and 20 rows a group is no longer above them (0.09 is 1/11, rounded down)."""


@dataclass(frozen=True)
class Risk:
    """Chance that a link to a person is right: highest, mean, and the share of people above each limit."""

    highest: float
    average: float
    above: dict[float, float]


def prosecutor_risk(release: Release, thresholds: tuple[float, ...] = THRESHOLDS) -> Risk:
    """Risk to somebody known to be in the release: 1 over the rows of her group."""
    return _risk(real_rows(release), release.sizes, thresholds)


def journalist_risk(
    release: Release, population: Microdata | None = None, thresholds: tuple[float, ...] = THRESHOLDS
) -> Risk:
    """Risk to somebody of the population, who may not be in the release: 1 over the people her cells fit.

    Without a population table the release is taken for the whole population, which is the worst case: the
    risk is then the prosecutor's. A population smaller than a group, so not a population of it, counts as the
    group. The average is the larger of both directions, population to release and release to population.
    """
    if population is None:
        return prosecutor_risk(release, thresholds)
    people, fitting = real_rows(release), _fitting(release, population)
    found = _risk(people, fitting, thresholds)
    held = people > 0
    towards = np.count_nonzero(held) / fitting[held].sum() if held.any() else 0.0
    return Risk(found.highest, max(found.average, float(towards)), found.above)


def marketer_risk(release: Release, population: Microdata | None = None) -> float:
    """Expected share of people re-identified when everybody is linked: groups over rows, if all are real."""
    candidates = release.sizes if population is None else _fitting(release, population)
    return _risk(real_rows(release), candidates, ()).average


def _fitting(release: Release, population: Microdata) -> IntArray:
    """How many people of the population the cells of every group fit."""
    tuples = Tuples.of(aligned(population, release).points)
    return np.maximum(tuples.inside(cell_boxes(release)), release.sizes)


def _risk(people: IntArray, candidates: IntArray, thresholds: tuple[float, ...]) -> Risk:
    """The risk where each of `people[g]` hides among `candidates[g]`."""
    held = people > 0
    people, each = people[held], 1.0 / candidates[held]
    everyone = int(people.sum())
    if everyone == 0:
        return Risk(0.0, 0.0, dict.fromkeys(thresholds, 0.0))
    above = {limit: float(people[each > limit].sum() / everyone) for limit in thresholds}
    return Risk(float(each.max()), float(np.dot(people, each) / everyone), above)
