"""l-diversity: every group holds several sensitive values, counted in one of four ways.

Distinct, entropy and recursive: Machanavajjhala et al. 2007. Probabilistic: Xiao and Tao 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import (
    KERNEL_STRICT_MARGIN,
    KERNEL_TOLERANCE,
    TOLERANCE,
    Counts,
    Requirement,
    Rules,
    Values,
    Whole,
)
from republish.requirements.parameters import number_at_least, plain, positive_number, whole_number

OP_DISTINCT = 1
OP_PROBABILISTIC = 2
OP_ENTROPY = 3
OP_RECURSIVE = 4


@dataclass(frozen=True)
class LDiversity(Requirement):
    """Distinct l-diversity: at least `l` different sensitive values in every group.

    Closed under union, and under the addition of any row: values only join.
    """

    l: int  # noqa: E741 - the literature's name

    name: ClassVar[str] = "distinct l-diversity"
    at_least: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole_number("l", self.l))

    @property
    def text(self) -> str:
        return f"l={self.l}"

    @property
    def bound(self) -> float:
        return float(self.l)

    @property
    def fewest_rows(self) -> int:
        return self.l

    def describe(self) -> str:
        return f"Every group shows at least {self.l} different sensitive values."

    def rule(self) -> tuple[int, float, float]:
        return OP_DISTINCT, float(self.l), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        return np.asarray(np.count_nonzero(counts, axis=1), dtype=np.float64)


@dataclass(frozen=True)
class RealDiversity(Requirement):
    """A group reaches as many values as it is worth, with n rows n at most; at least `l` are asked for."""

    l: float  # noqa: E741 - the literature's name

    key: ClassVar[str]
    """The requirement's name on the command line."""
    at_least: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", number_at_least(self.key, self.l, 1))

    @property
    def text(self) -> str:
        return f"{self.key}={plain(self.l)}"

    @property
    def bound(self) -> float:
        return self.l

    @property
    def fewest_rows(self) -> int:
        """A group of n rows reaches n at most."""
        return math.ceil(self.l * (1 - TOLERANCE))


@dataclass(frozen=True)
class ProbabilisticLDiversity(RealDiversity):
    """The most frequent value of every group has at most a share of 1/`l`.

    A group reaches 1 / its largest share. Closed under union: a share of the union lies between the two groups'
    shares.
    """

    name: ClassVar[str] = "probabilistic l-diversity"
    key: ClassVar[str] = "probabilistic-l"

    def describe(self) -> str:
        return f"In every group no sensitive value has more than one row in {plain(self.l)}."

    def rule(self) -> tuple[int, float, float]:
        return OP_PROBABILISTIC, self.l * (1 - KERNEL_TOLERANCE), 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        return np.asarray(1.0 / (counts / sizes[:, None]).max(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class EntropyLDiversity(RealDiversity):
    """The entropy of the values of every group is at least log(`l`); `l` need not be whole.

    A group reaches the exponential of its entropy. Closed under union: entropy is concave, so the union's is at
    least the smaller of the two.
    """

    name: ClassVar[str] = "entropy l-diversity"
    key: ClassVar[str] = "entropy-l"

    def describe(self) -> str:
        return (
            "In every group the sensitive values are at least as hard to guess as "
            f"{plain(self.l)} equally frequent ones (by entropy)."
        )

    def rule(self) -> tuple[int, float, float]:
        return OP_ENTROPY, math.log(self.l) - KERNEL_TOLERANCE, 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        shares = counts / sizes[:, None]
        logs = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
        return np.asarray(np.exp(-(shares * logs).sum(axis=1)), dtype=np.float64)


@dataclass(frozen=True)
class RecursiveDiversity(Requirement):
    """In every group r1 < `c` (r_l + r_(l+1) + ...), where r1 >= r2 >= ... are the frequencies of its values.

    Closed under union: r1 of the union is at most the sum of both, and so are its l-1 largest together, so
    that what remains is at least the sum of both remainders.
    """

    c: float
    l: int  # noqa: E741 - the literature's name

    name: ClassVar[str] = "recursive (c,l)-diversity"
    strict: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", positive_number("c of recursive", self.c))
        object.__setattr__(self, "l", whole_number("l of recursive", self.l))

    @property
    def text(self) -> str:
        return f"recursive={plain(self.c)}/{self.l}"

    @property
    def bound(self) -> float:
        """The c asked for; a group reaches r1 / (r_l + ...), infinite with fewer than l values."""
        return self.c

    @property
    def fewest_rows(self) -> int:
        return self.l

    def describe(self) -> str:
        return (
            f"In every group the most frequent sensitive value has fewer rows than {plain(self.c)} times "
            f"those of the values from the {_ordinal(self.l)} most frequent on."
        )

    def rule(self) -> tuple[int, float, float]:
        return OP_RECURSIVE, self.c * (1 - KERNEL_STRICT_MARGIN), float(self.l)

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        falling = -np.sort(-counts, axis=1)
        rest = falling[:, self.l - 1 :].sum(axis=1)
        reached = np.full(len(counts), np.inf)
        np.divide(falling[:, 0], rest, where=rest > 0, out=reached)
        return reached


@kernel
def _distinct(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    missing = rules.a[i]
    for count in counts:
        if count > 0:
            missing -= 1
            if missing <= 0:
                return True
    return False


@kernel
def _probabilistic(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    most = size / rules.a[i]
    for count in counts:  # noqa: SIM110 - numba compiles the loop, not the generator
        if count > most:
            return False
    return True


@kernel
def _entropy(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    # Entropy = log(size) - sum(count log count) / size: one logarithm a value and no shares.
    weighted = 0.0
    for count in counts:
        if count > 1:
            weighted += count * math.log(count)
    return bool(math.log(size) - weighted / size >= rules.a[i])


@kernel
def _recursive(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    # The l-1 largest are taken off one level of frequency at a time: no buffer and no sorting, for small l.
    largest = 0
    for count in counts:
        largest = max(largest, count)
    rest = size
    left = int(rules.b[i]) - 1
    level = largest
    while left > 0 and level > 0:
        bearers = 0
        below = 0
        for count in counts:
            if count == level:
                bearers += 1
            elif count < level and count > below:
                below = count
        rest -= min(left, bearers) * level
        left -= bearers
        level = below
    return bool(largest < rules.a[i] * rest)


def _ordinal(n: int) -> str:
    if n % 100 in (11, 12, 13):
        return f"{n}th"
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th') }"
