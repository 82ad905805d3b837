"""What a publisher returns: the group of every row, the rows left out, and the counterfeits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from republish.types import IntArray

SUPPRESSED = -1


def _none() -> IntArray:
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Grouping:
    """The group of every row of a view: 0, 1, ..., or -1 where the row is left out of the release.

    A counterfeit is a row that belongs to nobody; it carries a group and a sensitive code.
    """

    group: IntArray
    counterfeit_group: IntArray = field(default_factory=_none)
    counterfeit_code: IntArray = field(default_factory=_none)

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
