"""What grouping cost: how much of its domain a published cell leaves open, and how many rows look alike.

Certainty penalty: Xu et al. 2006. Discernibility: Bayardo, Agrawal 2005. Average class size: LeFevre 2006.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray
from republish.errors import PolicyError
from republish.metrics.boxes import real_rows
from republish.release.release import Release


def global_certainty_penalty(release: Release, suppressed: int = 0) -> float:
    """The mean penalty over the rows of the raw view and over quasi-identifiers: 0 is exact, 1 says nothing.

    A suppressed row counts 1, so that leaving rows out never looks like winning; counterfeits are left out
    of the mean. A view without rows has lost nothing: 0.
    """
    return _mean(release, release.penalties(), suppressed)


def column_penalties(release: Release, suppressed: int = 0) -> dict[str, float]:
    """The mean penalty over the rows of the raw view, quasi-identifier by quasi-identifier."""
    return {cells.axis.column.name: _mean(release, cells.penalty(), suppressed) for cells in release.cells}


def lost_to_people(release: Release, by_group: FloatArray) -> float:
    """A penalty of every group, added up over its people."""
    people = real_rows(release)
    held = people > 0  # a group of counterfeits alone has no cell of its own
    return float(np.dot(people[held], by_group[held]))


def discernibility(release: Release, suppressed: int = 0) -> int:
    """The sum of squared group sizes, and for every suppressed row the number of rows of the raw view.

    Counterfeits count as rows of their group: a reader cannot tell them from the others.
    """
    if suppressed < 0:
        raise PolicyError(f"the number of suppressed rows must be 0 or more, found {suppressed}")
    sizes = release.sizes.astype(np.int64)
    view_rows = int(real_rows(release).sum()) + suppressed
    return int(np.dot(sizes, sizes)) + suppressed * view_rows


def average_class_size(release: Release, k: int = 1) -> float:
    """Rows a group over `k`: 1 where every group is as small as k allows; 0 for a release without groups."""
    if k < 1:
        raise PolicyError(f"k must be at least 1, found {k}")
    return release.rows / release.group_count / k if release.group_count else 0.0


def _mean(release: Release, by_group: FloatArray, suppressed: int) -> float:
    if suppressed < 0:
        raise PolicyError(f"the number of suppressed rows must be 0 or more, found {suppressed}")
    rows = int(real_rows(release).sum()) + suppressed
    return (lost_to_people(release, by_group) + suppressed) / rows if rows else 0.0
