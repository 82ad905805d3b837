"""delta-disclosure privacy: a group tells little about any value (Brickell and Shmatikov 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import KERNEL_STRICT_MARGIN, Counts, Requirement, Rules, Values, Whole
from republish.requirements.parameters import plain, positive_number

OP_DELTA = 11

# Shares of one table differ by less than its number of rows: a larger power of two asks nothing more.
_LARGEST_POWER = 100.0


@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """For every value, with share p in the table and q in a group, |log2(q / p)| < `delta`.

    A value of the table that a group lacks violates it, and so does one that only the group holds.
    Closed under union: p 2^-delta < q < p 2^delta is linear in q, and q of the union lies between.
    """

    delta: float

    name: ClassVar[str] = "delta-disclosure privacy"
    strict: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", positive_number("delta", self.delta))

    @property
    def text(self) -> str:
        return f"delta={plain(self.delta)}"

    @property
    def bound(self) -> float:
        """The delta asked for; a group reaches its largest |log2(q / p)|."""
        return self.delta

    def describe(self) -> str:
        return (
            "In every group each sensitive value of the table occurs, and its share differs from that in the "
            f"whole table by a factor below 2^{plain(self.delta)}."
        )

    def rule(self) -> tuple[int, float, float]:
        return OP_DELTA, 2.0 ** min(self.delta * (1 - KERNEL_STRICT_MARGIN), _LARGEST_POWER), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        shares = counts / sizes[:, None]
        both = (shares > 0) & (whole.overall > 0)
        neither = (shares == 0) & (whole.overall == 0)
        ratios = np.ones_like(shares)
        np.divide(shares, whole.overall, where=both, out=ratios)
        apart = np.where(both | neither, np.abs(np.log2(ratios)), np.inf)
        return np.asarray(apart.max(axis=1, initial=0.0), dtype=np.float64)


@kernel
def _delta(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    factor = rules.a[i]
    for code in range(len(counts)):
        count = counts[code]
        expected = rules.overall[code] * size
        if expected == 0 and count == 0:
            continue
        if count >= expected * factor or count * factor <= expected:
            return False
    return True
