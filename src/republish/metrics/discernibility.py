"""How many rows look alike: discernibility (Bayardo, Agrawal 2005) and average class size (LeFevre 2006)."""

from __future__ import annotations

import numpy as np

from republish.errors import PolicyError
from republish.metrics.boxes import real_rows
from republish.release.release import Release


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
