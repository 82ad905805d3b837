"""k-anonymity: every group holds at least k rows (Sweeney 2002; Samarati 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.requirements.base import Counts, Requirement, Values, Whole
from republish.requirements.parameters import whole_number

# There is no kernel: the compiled rules hold the smallest size and ask it before anything else.
OP_K = 0


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """At least `k` rows in every group.

    Closed under union, and under the addition of any row: sizes only grow.
    """

    k: int

    name: ClassVar[str] = "k-anonymity"
    needs_sensitive: ClassVar[bool] = False
    at_least: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k))

    @property
    def text(self) -> str:
        """`k=5`."""
        return f"k={self.k}"

    @property
    def bound(self) -> float:
        """The size asked for."""
        return float(self.k)

    @property
    def fewest_rows(self) -> int:
        """`k` itself."""
        return self.k

    def describe(self) -> str:
        """Return the promise as one sentence."""
        return f"Every group holds at least {self.k} rows, so nobody stands out among fewer than {self.k}."

    def rule(self) -> tuple[int, float, float]:
        """Return the kernel's number and k."""
        return OP_K, float(self.k), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        return sizes.astype(np.float64)
