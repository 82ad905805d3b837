"""beta-likeness: no value becomes much more likely in a group than in the table (Cao and Karras 2012)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import KERNEL_TOLERANCE, TOLERANCE, Counts, Requirement, Rules, Values, Whole
from republish.requirements.parameters import plain, positive_number

OP_BETA = 8
OP_BETA_ENHANCED = 9


@dataclass(frozen=True)
class BetaLikeness(Requirement):
    """For every value with share p in the table and q > p in a group, (q - p) / p is at most `beta`.

    The enhanced form asks q <= p (1 + min(`beta`, -ln p)), which also bounds the gain of frequent values. A
    value that a group holds and the table does not has an infinite gain. Closed under union: each bound is
    linear in q, and q of the union lies between the two groups'.
    """

    beta: float
    enhanced: bool = False

    name: ClassVar[str] = "beta-likeness"

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive_number("beta", self.beta))
        object.__setattr__(self, "enhanced", bool(self.enhanced))

    @property
    def text(self) -> str:
        return f"beta{'-enhanced' if self.enhanced else ''}={plain(self.beta)}"

    @property
    def bound(self) -> float:
        """The beta asked for; a group reaches its largest gain; enhanced, infinite above -ln p."""
        return self.beta

    def describe(self) -> str:
        less = ", and less for values that are frequent anyway" if self.enhanced else ""
        return (
            "In every group the share of each sensitive value exceeds its share in the whole table by at "
            f"most {plain(self.beta)} times the latter{less}."
        )

    def rule(self) -> tuple[int, float, float]:
        op = OP_BETA_ENHANCED if self.enhanced else OP_BETA
        return op, self.beta + KERNEL_TOLERANCE * max(1.0, self.beta), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        shares = counts / sizes[:, None]
        known = whole.overall > 0
        gains = np.where(shares > 0, np.inf, 0.0)
        gains[:, known] = shares[:, known] / whole.overall[known] - 1
        if self.enhanced:
            most = np.zeros(whole.m)
            most[known] = -np.log(whole.overall[known])
            gains = np.where(gains <= most + TOLERANCE, gains, np.inf)
        return np.asarray(gains.max(axis=1, initial=0.0), dtype=np.float64)


@kernel
def _beta(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    most = (1 + rules.a[i]) * size
    for code in range(len(counts)):  # noqa: SIM110 - numba compiles the loop, not the generator
        if counts[code] > most * rules.overall[code]:
            return False
    return True


@kernel
def _beta_enhanced(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    for code in range(len(counts)):
        p = rules.overall[code]
        if counts[code] <= p * size:
            continue
        if p == 0:
            return False
        gain = counts[code] / size / p - 1
        if gain > rules.a[i] or gain > -math.log(p) + KERNEL_TOLERANCE:
            return False
    return True
