"""What checks of promises find: numbers, and sentences made of them where they are shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from republish.errors import BrokenPromise

MEMBERSHIP, STATISTICS = "membership", "counterfeit statistics"
"""The checks that do not come from a promise and are looked for by name."""


@dataclass(frozen=True)
class Spread:
    """Beliefs about some people, as sums: of priors value by value, and of their entropies in bits.

    The divergence of ever more people in a row of a view tends to that of all, I. So a walk that closes groups as soon
    as they may be closed recovers from a run of unlike people where I is about the limit or less, and else stalls.
    """

    people: int
    priors: tuple[float, ...]
    entropy: float

    def __add__(self, other: Spread) -> Spread:
        priors = tuple(a + b for a, b in zip(self.priors, other.priors, strict=True))
        return Spread(self.people + other.people, priors, self.entropy + other.entropy)

    @property
    def bits(self) -> float:
        """The entropy of the mean prior less the mean entropy of priors."""
        if not self.people:
            return 0.0
        mean = np.array(self.priors) / self.people
        logs = np.log2(mean, out=np.zeros_like(mean), where=mean > 0)
        return float(-(mean * logs).sum() - self.entropy / self.people)


@dataclass(frozen=True)
class Check:
    """One promise: whether it holds, what the weakest group reaches, how many groups and rows break it.

    `unchecked` groups could not be checked, since people in them were forgotten. `says` is the promise as a sentence,
    `note` another one with a place for the number `noted`, which is said where that is not 0. `spread` is that
    of beliefs about everyone in the view, where they were looked at.
    """

    promise: str
    holds: bool
    says: str
    reached: float | None = None
    groups: int = 0
    rows: int = 0
    unchecked: int = 0
    note: str = ""
    noted: int = 0
    spread: Spread | None = None

    @property
    def of_view(self) -> float | None:
        """I: by how many bits beliefs about everyone in the view diverge, where they were looked at."""
        return None if self.spread is None else self.spread.bits

    @property
    def meaning(self) -> str:
        """The promise as a sentence, and what is to be noted."""
        return f"{self.says} {self.note.format(self.noted)}" if self.noted else self.says

    def as_dict(self) -> dict[str, Any]:
        """A JSON document; an infinite level becomes null."""
        reached = self.reached if self.reached is None or np.isfinite(self.reached) else None
        document = {
            "promise": self.promise,
            "holds": self.holds,
            "meaning": self.meaning,
            "reached": reached,
            "groups": self.groups,
            "rows": self.rows,
            "unchecked": self.unchecked,
        }
        return document if self.of_view is None else {**document, "of_view": self.of_view}

    def sentence(self) -> str:
        if self.holds:
            return f"{self.promise}: holds"
        where = f" in {self.groups} groups with {self.rows} rows" if self.groups else ""
        return f"{self.promise}: does not hold{where}"


@dataclass(frozen=True)
class Verification:
    """All checks of one release or table; of two tables rows and groups are those of people, beside the batches."""

    rows: int
    groups: int
    suppressed: int
    checks: tuple[Check, ...]
    batches: int | None = None

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)

    def with_checks(self, *more: Check) -> Verification:
        return replace(self, checks=(*self.checks, *more))

    def as_dict(self) -> dict[str, Any]:
        """A JSON document; infinite levels become null."""
        checks = tuple(check.as_dict() for check in self.checks)
        counts = {"rows": self.rows, "groups": self.groups, "suppressed": self.suppressed}
        counts |= {} if self.batches is None else {"batches": self.batches}
        return {**counts, "checks": checks, "holds": self.holds}

    def require(self) -> None:
        """Refuse to go on where a promise is broken."""
        if not self.holds:
            broken = "; ".join(check.sentence() for check in self.checks if not check.holds)
            raise BrokenPromise(
                f"the release does not keep what the policy promises: {broken}. Nothing was committed; "
                "this is a defect of the publisher, please report it"
            )
