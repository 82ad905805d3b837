"""k-anonymity, alone and with a bound on shares: every group holds at least k rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.errors import PolicyError
from republish.kernels import kernel
from republish.requirements.base import KERNEL_TOLERANCE, Counts, Requirement, Rules, Values, Whole
from republish.requirements.parameters import plain, share, whole_number

# k-anonymity has no kernel: the compiled rules hold the smallest size and ask it before anything else.
OP_K = 0
OP_ALPHA = 10


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """At least `k` rows in every group (Sweeney 2002; Samarati 2001).

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
        return f"k={self.k}"

    @property
    def bound(self) -> float:
        return float(self.k)

    @property
    def fewest_rows(self) -> int:
        return self.k

    def describe(self) -> str:
        return f"Every group holds at least {self.k} rows, so nobody stands out among fewer than {self.k}."

    def rule(self) -> tuple[int, float, float]:
        return OP_K, float(self.k), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        return sizes.astype(np.float64)


@dataclass(frozen=True)
class AlphaKAnonymity(Requirement):
    """At least `k` rows in every group, and no value with more than a share of `alpha` (Wong et al. 2006).

    The general form, which protects every sensitive value alike. Closed under union: sizes grow, and a
    share of the union lies between the two groups' shares.
    """

    alpha: float
    k: int

    name: ClassVar[str] = "(alpha,k)-anonymity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", share("alpha of alpha-k", self.alpha))
        if self.alpha == 0:
            raise PolicyError("alpha of alpha-k must be above 0, found 0; no group could satisfy it")
        object.__setattr__(self, "k", whole_number("k of alpha-k", self.k))

    @property
    def text(self) -> str:
        return f"alpha-k={plain(self.alpha)}/{self.k}"

    @property
    def bound(self) -> float:
        """The alpha asked for; a group reaches its largest share, infinite with fewer than k rows."""
        return self.alpha

    @property
    def fewest_rows(self) -> int:
        return self.k

    def describe(self) -> str:
        return (
            f"Every group holds at least {self.k} rows, and no sensitive value has more than "
            f"{plain(self.alpha)} of them."
        )

    def rule(self) -> tuple[int, float, float]:
        return OP_ALPHA, self.alpha + KERNEL_TOLERANCE, float(self.k)

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        largest = (counts / sizes[:, None]).max(axis=1)
        return np.where(sizes >= self.k, largest, np.inf)


@kernel
def _alpha(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    most = size * rules.a[i]
    for count in counts:  # noqa: SIM110 - numba compiles the loop, not the generator
        if count > most:
            return False
    return True
