"""m-uniqueness: every group has at least m rows, all with different sensitive values (Xiao and Tao 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import Counts, Values, Whole
from republish.requirements.families import Uniqueness

if TYPE_CHECKING:
    from republish.requirements.rules import Rules

OP_M_UNIQUE = 12


@dataclass(frozen=True)
class MUniqueness(Uniqueness):
    """At least `m` rows in every group, all with different sensitive values.

    A group reaches its size, 0 where a value occurs twice. Not closed under union: two groups that share a
    value hold it twice together. Publishers that merge groups, or cut them from one another, cannot promise it.
    """

    name: ClassVar[str] = "m-uniqueness"
    key: ClassVar[str] = "m-unique"

    def describe(self) -> str:
        """Return the promise as one sentence."""
        return f"Every group holds at least {self.m} rows, all with different sensitive values."

    def rule(self) -> tuple[int, float, float]:
        """Return the kernel's number; the size is asked by the compiled rules."""
        return OP_M_UNIQUE, float(self.m), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        return np.where(counts.max(axis=1) == 1, sizes, 0).astype(np.float64)


@kernel
def _m_unique(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    if size < rules.a[i]:
        return False
    for count in counts:  # noqa: SIM110 - numba compiles the loop, not the generator
        if count > 1:
            return False
    return True
