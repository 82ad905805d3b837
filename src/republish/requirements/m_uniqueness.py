"""m-uniqueness and its weak form: at least m sensitive values in every group, none more frequent than another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.errors import PolicyError
from republish.kernels import kernel
from republish.requirements.base import Counts, Requirement, Rules, Values, Whole
from republish.requirements.parameters import whole_number

OP_M_UNIQUE = 12
OP_WEAK_M_UNIQUE = 13


@dataclass(frozen=True)
class Uniqueness(Requirement):
    """A group reaches its number of values, 0 where one occurs too often; at least `m` are asked for."""

    m: int

    key: ClassVar[str]
    """The requirement's name on the command line."""
    at_least: ClassVar[bool] = True

    def __post_init__(self) -> None:
        found = whole_number("m", self.m)
        if found < 2:
            raise PolicyError(f"m must be at least 2, found {found}; a single value hides nothing")
        object.__setattr__(self, "m", found)

    @property
    def text(self) -> str:
        return f"{self.key}={self.m}"

    @property
    def bound(self) -> float:
        return float(self.m)

    @property
    def fewest_rows(self) -> int:
        return self.m


@dataclass(frozen=True)
class MUniqueness(Uniqueness):
    """At least `m` rows in every group, all with different sensitive values (Xiao and Tao 2007).

    A group reaches its size, 0 where a value occurs twice. Not closed under union: two groups that share a
    value hold it twice together. Publishers that merge groups, or cut them from one another, cannot promise it.
    """

    name: ClassVar[str] = "m-uniqueness"
    key: ClassVar[str] = "m-unique"

    def describe(self) -> str:
        return f"Every group holds at least {self.m} rows, all with different sensitive values."

    def rule(self) -> tuple[int, float, float]:
        return OP_M_UNIQUE, float(self.m), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        return np.where(counts.max(axis=1) == 1, sizes, 0).astype(np.float64)


@dataclass(frozen=True)
class WeakMUniqueness(Uniqueness):
    """At least `m` different sensitive values in every group, each equally often (Riboni and Bettini 2009).

    m-uniqueness with every row repeated. A group reaches its number of values, 0 where they are not equally
    frequent. Closed under the union of groups with the same set of values, but of no others: a value of one
    group alone is then rarer than a shared one.
    """

    name: ClassVar[str] = "weak m-uniqueness"
    key: ClassVar[str] = "weak-m-unique"

    def describe(self) -> str:
        return f"Every group shows at least {self.m} different sensitive values, each of them equally often."

    def rule(self) -> tuple[int, float, float]:
        return OP_WEAK_M_UNIQUE, float(self.m), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        values = np.count_nonzero(counts, axis=1)
        even = counts.max(axis=1) * values == sizes
        return np.where(even, values, 0).astype(np.float64)


@kernel
def _m_unique(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    if size < rules.a[i]:
        return False
    for count in counts:  # noqa: SIM110 - numba compiles the loop, not the generator
        if count > 1:
            return False
    return True


@kernel
def _weak_m_unique(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    values = 0
    most = 0
    for count in counts:
        if count > 0:
            values += 1
            most = max(most, count)
    return values >= rules.a[i] and most * values == size
