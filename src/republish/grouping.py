"""What a publisher returns: the group of every row, the rows left out, and the counterfeits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray, WordArray

if TYPE_CHECKING:
    from republish.spatial.zones import Zones

SUPPRESSED = -1


def _none() -> IntArray:
    return np.empty(0, dtype=np.int32)


class Regions(NamedTuple):
    """The nested region of every group: `low[group, axis]` to `high[group, axis]`, both ends in, and its level.

    Coordinates are those of a view's points. A range from -inf, the missing value, to a value holds missing values
    and all others; one from -inf to -inf missing values alone. A group's rows lie in its region and in no region
    of a higher level inside it. Without levels a group may have rows anywhere in its region.
    """

    low: FloatArray
    high: FloatArray
    level: IntArray | None = None


class Snapshots(NamedTuple):
    """What counts that were taken earlier are about.

    `listed` is the batch of every row of the view, also where its value is not counted yet, -1 for none. `held` are the
    pseudonyms of those whom the rows of counterfeits stand for: people who left or changed since. `as_of` is the
    release in which each batch was counted, `zones` what led people to new batches.
    """

    listed: IntArray
    held: WordArray
    as_of: IntArray
    zones: Zones


@dataclass(frozen=True)
class Grouping:
    """The group of every row of a view: 0, 1, ..., or -1 where the row is left out of the release.

    A counterfeit is a row that belongs to nobody; it carries a group and a sensitive code. With `regions` the
    cells of a group are those of its region, else the smallest that hold its rows. With `snapshots` groups are batches
    whose counts were taken earlier.
    """

    group: IntArray
    counterfeit_group: IntArray = field(default_factory=_none)
    counterfeit_code: IntArray = field(default_factory=_none)
    regions: Regions | None = None
    snapshots: Snapshots | None = None

    @property
    def groups(self) -> int:
        """How many groups there are."""
        highest = max(
            (int(part.max()) for part in (self.group, self.counterfeit_group) if part.size), default=-1
        )
        return highest + 1

    @property
    def listed(self) -> IntArray:
        """The group that every row is listed in, which may not count it yet; -1 for none."""
        return self.group if self.snapshots is None else self.snapshots.listed

    @property
    def suppressed(self) -> int:
        """How many rows are left out."""
        return int(np.count_nonzero(self.group == SUPPRESSED))

    @property
    def counterfeits(self) -> int:
        """How many counterfeit rows are added."""
        return int(self.counterfeit_group.size)
