"""Recursive (c,l)-diversity: the most frequent value is not too frequent (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from republish.kernels import kernel
from republish.requirements.base import KERNEL_STRICT_MARGIN, Counts, Requirement, Values, Whole
from republish.requirements.parameters import plain, positive_number, whole_number

if TYPE_CHECKING:
    from republish.requirements.rules import Rules

OP_RECURSIVE = 4


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
        """`recursive=2/3`, which is c/l."""
        return f"recursive={plain(self.c)}/{self.l}"

    @property
    def bound(self) -> float:
        """The c asked for; a group reaches r1 / (r_l + ...), infinite with fewer than l values."""
        return self.c

    @property
    def fewest_rows(self) -> int:
        """One row for each of l values."""
        return self.l

    def describe(self) -> str:
        """Return the promise as one sentence."""
        return (
            f"In every group the most frequent sensitive value has fewer rows than {plain(self.c)} times "
            f"those of the values from the {_ordinal(self.l)} most frequent on."
        )

    def rule(self) -> tuple[int, float, float]:
        """Return the kernel's number, c less the margin that keeps ties out, and l."""
        return OP_RECURSIVE, self.c * (1 - KERNEL_STRICT_MARGIN), float(self.l)

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        falling = -np.sort(-counts, axis=1)
        rest = falling[:, self.l - 1 :].sum(axis=1)
        reached = np.full(len(counts), np.inf)
        np.divide(falling[:, 0], rest, where=rest > 0, out=reached)
        return reached


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
