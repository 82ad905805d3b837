"""What a publisher returns: the group of every row, the rows left out, and the counterfeits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray

SUPPRESSED = -1


def _none() -> IntArray:
    return np.empty(0, dtype=np.int32)


class Regions(NamedTuple):
    """The nested region of every group: `low[group, axis]` to `high[group, axis]`, both ends in, and its level.

    Coordinates are those of a view's points. A range from -inf, the missing value, to a value holds missing values
    and all others; one from -inf to -inf missing values alone. A group's rows lie in its region and in no region
    of a level as high or higher. Without levels a group may have rows anywhere in its region.
    """

    low: FloatArray
    high: FloatArray
    level: IntArray | None = None


@dataclass(frozen=True)
class Grouping:
    """The group of every row of a view: 0, 1, ..., or -1 where the row is left out of the release.

    A counterfeit is a row that belongs to nobody; it carries a group and a sensitive code. With `regions` the
    cells of a group are those of its region, else the smallest that hold its rows.
    """

    group: IntArray
    counterfeit_group: IntArray = field(default_factory=_none)
    counterfeit_code: IntArray = field(default_factory=_none)
    regions: Regions | None = None

    @property
    def groups(self) -> int:
        """How many groups there are."""
        highest = max(
            (int(part.max()) for part in (self.group, self.counterfeit_group) if part.size), default=-1
        )
        return highest + 1

    @property
    def suppressed(self) -> int:
        """How many rows are left out."""
        return int(np.count_nonzero(self.group == SUPPRESSED))

    @property
    def counterfeits(self) -> int:
        """How many counterfeit rows are added."""
        return int(self.counterfeit_group.size)
