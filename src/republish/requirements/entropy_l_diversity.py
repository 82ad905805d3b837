"""Entropy l-diversity: the values of a group are as uncertain as l equal ones (Machanavajjhala 2007)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import KERNEL_TOLERANCE, Counts, Values, Whole
from republish.requirements.families import RealDiversity
from republish.requirements.parameters import plain

if TYPE_CHECKING:
    from republish.requirements.rules import Rules

OP_ENTROPY = 3


@dataclass(frozen=True)
class EntropyLDiversity(RealDiversity):
    """The entropy of the values of every group is at least log(`l`); `l` need not be whole.

    A group reaches the exponential of its entropy. Closed under union: entropy is concave, so the union's is at
    least the smaller of the two.
    """

    name: ClassVar[str] = "entropy l-diversity"
    key: ClassVar[str] = "entropy-l"

    def describe(self) -> str:
        """Return the promise as one sentence."""
        return (
            "In every group the sensitive values are at least as hard to guess as "
            f"{plain(self.l)} equally frequent ones (by entropy)."
        )

    def rule(self) -> tuple[int, float, float]:
        """Return the kernel's number and the entropy asked for, less the kernel's tolerance."""
        return OP_ENTROPY, math.log(self.l) - KERNEL_TOLERANCE, 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        shares = counts / sizes[:, None]
        logs = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
        return np.asarray(np.exp(-(shares * logs).sum(axis=1)), dtype=np.float64)


@kernel
def _entropy(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    # Entropy = log(size) - sum(count log count) / size: one logarithm a value and no shares.
    weighted = 0.0
    for count in counts:
        if count > 1:
            weighted += count * np.log(count)
    return bool(np.log(size) - weighted / size >= rules.a[i])
