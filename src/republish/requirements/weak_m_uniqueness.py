"""Weak m-uniqueness: at least m different values in every group, each equally often (Riboni and Bettini 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import Counts, Values, Whole
from republish.requirements.families import Uniqueness

if TYPE_CHECKING:
    from republish.requirements.rules import Rules

OP_WEAK_M_UNIQUE = 13


@dataclass(frozen=True)
class WeakMUniqueness(Uniqueness):
    """At least `m` different sensitive values in every group, each of them equally often.

    m-uniqueness with every row repeated. A group reaches its number of values, 0 where they are not equally
    frequent. Closed under the union of groups with the same set of values, but of no others: a value of one
    group alone is then rarer than a shared one.
    """

    name: ClassVar[str] = "weak m-uniqueness"
    key: ClassVar[str] = "weak-m-unique"

    def describe(self) -> str:
        """Return the promise as one sentence."""
        return f"Every group shows at least {self.m} different sensitive values, each of them equally often."

    def rule(self) -> tuple[int, float, float]:
        """Return the kernel's number and m."""
        return OP_WEAK_M_UNIQUE, float(self.m), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        values = np.count_nonzero(counts, axis=1)
        even = counts.max(axis=1) * values == sizes
        return np.where(even, values, 0).astype(np.float64)


@kernel
def _weak_m_unique(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    values = 0
    most = 0
    for count in counts:
        if count > 0:
            values += 1
            most = max(most, count)
    return values >= rules.a[i] and most * values == size
