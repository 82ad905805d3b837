"""Probabilistic l-diversity: no sensitive value has more than 1/l of a group (Xiao and Tao 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import KERNEL_TOLERANCE, Counts, Values, Whole
from republish.requirements.families import RealDiversity
from republish.requirements.parameters import plain

if TYPE_CHECKING:
    from republish.requirements.rules import Rules

OP_PROBABILISTIC = 2


@dataclass(frozen=True)
class ProbabilisticLDiversity(RealDiversity):
    """The most frequent value of every group has at most a share of 1/`l`.

    A group reaches 1 / its largest share. Closed under union: a share of the union lies between the two groups'
    shares.
    """

    name: ClassVar[str] = "probabilistic l-diversity"
    key: ClassVar[str] = "probabilistic-l"

    def describe(self) -> str:
        """Return the promise as one sentence."""
        return f"In every group no sensitive value has more than one row in {plain(self.l)}."

    def rule(self) -> tuple[int, float, float]:
        """Return the kernel's number and l, less the kernel's tolerance."""
        return OP_PROBABILISTIC, self.l * (1 - KERNEL_TOLERANCE), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        return np.asarray(1.0 / (counts / sizes[:, None]).max(axis=1), dtype=np.float64)


@kernel
def _probabilistic(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    most = size / rules.a[i]
    for count in counts:  # noqa: SIM110 - numba compiles the loop, not the generator
        if count > most:
            return False
    return True
