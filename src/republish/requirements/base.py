"""What every requirement on a group of rows is: a bound on something its histogram reaches.

A group is known by its histogram over the m sensitive codes; the whole table by the share of each code.
A table without a sensitive column has one code, which every row bears. A missing sensitive value is a
code like any other.

Every requirement but m-uniqueness and its weak form is closed under union: if two disjoint groups satisfy
it, so do their rows taken together (each model says why). Only k-anonymity and distinct l-diversity
also survive the addition of any single row; none survives every removal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from republish.arrays import BoolArray, FloatArray, Int32Array, Int64Array
from republish.errors import PolicyError, SchemaError

Counts = Int64Array
Values = FloatArray
Flags = BoolArray

# The verifier's tolerance is wider than the kernels', so that it never refuses what a publisher admits.
# A bound that may be reached is widened; one that must not be reached (strict) is narrowed, and there the
# kernels narrow more: a tie must never pass because of rounding.
TOLERANCE = 1e-9
KERNEL_TOLERANCE = 1e-12
STRICT_MARGIN = 1e-12
KERNEL_STRICT_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Whole:
    """What a group is compared with: the whole table's shares, and how its sensitive values are related.

    Attributes:
        overall: share of each of the m sensitive codes in the table; sums to 1, all zero for an empty table.
        order: the codes from the smallest value to the largest; None where values have no order.
        nodes: `nodes[c, j]` is the node above code c at level j of the values' hierarchy. Column 0 is the
            value itself, the last column the root; numbers need to be unique within a column only. None
            where there is no hierarchy.
    """

    overall: Values
    order: Int64Array | None = None
    nodes: Int32Array | None = None

    def __post_init__(self) -> None:
        if self.order is not None and not np.array_equal(np.sort(self.order), np.arange(self.m)):
            raise SchemaError(
                f"the order of the sensitive values must name each of the {self.m} codes once, "
                f"found {np.size(self.order)} entries; give the column's order again"
            )
        if self.nodes is not None:
            _check_hierarchy(self.nodes, self.m)

    @property
    def m(self) -> int:
        return len(self.overall)

    @classmethod
    def of(
        cls,
        codes: NDArray[np.integer],
        m: int,
        order: Int64Array | None = None,
        nodes: Int32Array | None = None,
    ) -> Whole:
        """Return the whole of a table whose rows bear these sensitive codes, each in 0..m-1."""
        codes = np.asarray(codes, dtype=np.int64)
        outside = int(np.count_nonzero((codes < 0) | (codes >= m)))
        if outside:
            raise SchemaError(f"sensitive codes must lie in 0..{m - 1}, found {outside} rows outside")
        counts = np.bincount(codes, minlength=m)
        return cls(counts / max(1, len(codes)), order, nodes)


class Rules(NamedTuple):
    """All requirements of a policy as arrays that compiled code can read.

    Attributes:
        op: the kernel of each rule, beyond the size.
        a: its first parameter, tolerance included.
        b: its second parameter.
        overall: share of each sensitive code in the whole table.
        order: the codes from the smallest value to the largest; empty where there is no order.
        nodes: the hierarchy of the values, a row a code; shape (0, 0) where there is none.
        leaves: the codes, those below any one node side by side; empty where there is no hierarchy.
        min_size: the fewest rows that a satisfying group can have: the largest k asked, or what a
            diversity implies, and at least 1.
        plain: True where nothing but the size matters.
    """

    op: Int64Array
    a: Values
    b: Values
    overall: Values
    order: Int64Array
    nodes: Int32Array
    leaves: Int64Array
    min_size: int
    plain: bool


class Requirement(ABC):
    """A promise about every group of a release; subclasses are frozen dataclasses, valid once built."""

    name: ClassVar[str]
    needs_sensitive: ClassVar[bool] = True
    at_least: ClassVar[bool] = False
    """True where more is better (size, diversity), False where less is (distance, gain)."""
    strict: ClassVar[bool] = False
    """True where the bound itself is already a violation."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The requirement as written on the command line, such as `k=5`."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """The parameter that `achieved` is compared with."""

    @property
    def fewest_rows(self) -> int:
        """The number of rows below which no group can satisfy this."""
        return 1

    @abstractmethod
    def describe(self) -> str:
        """Return the promise as one sentence for a data officer."""

    @abstractmethod
    def rule(self) -> tuple[int, float, float]:
        """Return what the kernels read: the number of the model's kernel and its two parameters."""

    @abstractmethod
    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        """Return what each group reaches; `sizes` is never 0."""

    def check(self, whole: Whole) -> None:  # noqa: B027 - most models need nothing more
        """Raise PolicyError where the table lacks what this requirement compares by."""

    def achieved(self, counts: Counts, whole: Whole) -> Values:
        """Return, for each group, the strictest bound that it would satisfy, other parameters as given.

        Where no bound would do, and for an empty group, that is 0 or infinity, whichever is worst.

        Args:
            counts: one histogram over the sensitive codes a row.
            whole: the table that the groups are part of.
        """
        self.check(whole)
        counts = np.asarray(counts, dtype=np.int64)
        if counts.ndim != 2 or counts.shape[1] != whole.m:
            raise SchemaError(
                f"histograms must have one column for each of the {whole.m} sensitive codes, "
                f"found shape {counts.shape}"
            )
        sizes = counts.sum(axis=1)
        reached = np.full(len(counts), 0.0 if self.at_least else np.inf)
        filled = sizes > 0
        if filled.any():
            reached[filled] = self._reached(counts[filled], sizes[filled], whole)
        return reached

    def holds(self, counts: Counts, whole: Whole) -> Flags:
        """Return which groups satisfy the requirement; an empty group satisfies none.

        A bound that may be reached is compared with a tolerance of 1e-9 (relative for bounds above 1) in
        the group's favour. A strict bound refuses a tie, where anything nearer than a relative 1e-12 is one.
        """
        reached = self.achieved(counts, whole)
        slack = TOLERANCE * max(1.0, self.bound)
        if self.at_least:
            return np.asarray(reached >= self.bound - slack)
        if self.strict:
            return np.asarray(reached < self.bound * (1 - STRICT_MARGIN))
        return np.asarray(reached <= self.bound + slack)

    def worst(self, achieved: Values) -> float:
        """Return what the weakest group reaches; without groups nothing is weak: infinity or 0."""
        if self.at_least:
            return float(np.min(achieved, initial=np.inf))
        return float(np.max(achieved, initial=0.0))


def _check_hierarchy(nodes: Int32Array, m: int) -> None:
    if nodes.ndim != 2 or len(nodes) != m or nodes.shape[1] == 0:
        raise SchemaError(
            f"the hierarchy of the sensitive values must have one row for each of the {m} codes and at "
            f"least one level, found shape {nodes.shape}"
        )
    if len(np.unique(nodes[:, 0])) != m:
        raise SchemaError("level 0 of the sensitive hierarchy must tell all values apart; do not merge there")
    if m and len(np.unique(nodes[:, -1])) != 1:
        raise SchemaError("the last level of the sensitive hierarchy must be one root; add a level `*`")
    for level in range(1, nodes.shape[1]):
        below = len(np.unique(nodes[:, level - 1]))
        if len(np.unique(nodes[:, level - 1 : level + 1], axis=0)) != below:
            raise SchemaError(
                f"level {level} of the sensitive hierarchy splits a node of level {level - 1}; "
                "a node must have one parent"
            )


def only_requirements(require: Iterable[object]) -> tuple[Requirement, ...]:
    """Return what a publisher is asked to satisfy beside its own, or raise where something else is among it."""
    asked = tuple(require)
    strangers = sum(not isinstance(requirement, Requirement) for requirement in asked)
    if strangers:
        raise PolicyError(
            f"require must list requirements such as LDiversity(3), found {strangers} of another type; "
            "parse_requirements reads them from text"
        )
    return tuple(requirement for requirement in asked if isinstance(requirement, Requirement))
