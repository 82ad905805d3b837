"""Distinct l-diversity: every group holds at least l different sensitive values (Machanavajjhala 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import Counts, Requirement, Values, Whole
from republish.requirements.parameters import whole_number

if TYPE_CHECKING:
    from republish.requirements.rules import Rules

OP_DISTINCT = 1


@dataclass(frozen=True)
class LDiversity(Requirement):
    """At least `l` different sensitive values in every group.

    Closed under union, and under the addition of any row: values only join.
    """

    l: int  # noqa: E741 - the literature's name

    name: ClassVar[str] = "distinct l-diversity"
    at_least: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole_number("l", self.l))

    @property
    def text(self) -> str:
        """`l=3`."""
        return f"l={self.l}"

    @property
    def bound(self) -> float:
        """The number of values asked for."""
        return float(self.l)

    @property
    def fewest_rows(self) -> int:
        """One row for each value."""
        return self.l

    def describe(self) -> str:
        """Return the promise as one sentence."""
        return f"Every group shows at least {self.l} different sensitive values."

    def rule(self) -> tuple[int, float, float]:
        """Return the kernel's number and l."""
        return OP_DISTINCT, float(self.l), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        return np.asarray(np.count_nonzero(counts, axis=1), dtype=np.float64)


@kernel
def _distinct(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    missing = rules.a[i]
    for count in counts:
        if count > 0:
            missing -= 1
            if missing <= 0:
                return True
    return False
