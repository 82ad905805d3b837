"""What is left of everyone's rows and values after some are cracked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.identity import mean, middle
from republish.attacks.summary import highest


class Left(NamedTuple):
    """Of appearances, or people: how many rows of the group may be theirs, and how many values these have."""

    rows: IntArray
    values: IntArray

    def least(self, other: Left) -> Left:
        """The fewer of both."""
        return Left(np.minimum(self.rows, other.rows), np.minimum(self.values, other.values))

    def of_people(self, who: IntArray, here: BoolArray) -> Left:
        """The fewest of everyone who has one of these appearances."""
        people = int(who.max(initial=-1)) + 1
        found = [-highest(people, who[here], -part[here].astype(np.float64)) for part in self]
        return Left(*(part[np.isfinite(part)].astype(np.int64) for part in found))

    def figures(self, k: int) -> tuple[int, int, int | None, float, float, float]:
        """People, k, fewest rows left, shares with fewer than k and with one value, median of rows."""
        fewest = int(self.rows.min()) if len(self.rows) else None
        return len(self.rows), k, fewest, mean(self.rows < k), mean(self.values <= 1), middle(self.rows)
