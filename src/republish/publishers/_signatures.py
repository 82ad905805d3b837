"""What publishers that keep signatures share: m, the requirements that it implies, and what is remembered."""

from __future__ import annotations

from typing import ClassVar

from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.memory.signatures import remember_large_signatures, remember_signatures
from republish.microdata import Microdata
from republish.publishers.contract import Publisher
from republish.requirements import (
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    MUniqueness,
    ProbabilisticLDiversity,
    Requirement,
    WeakMUniqueness,
    only_requirements,
)

_BOUNDED_BY_M = (
    KAnonymity,
    LDiversity,
    ProbabilisticLDiversity,
    EntropyLDiversity,
    MUniqueness,
    WeakMUniqueness,
)


class SignaturePublisher(Publisher):
    """Groups of at least `m` different values, remembered as signatures; `require` is what such groups imply.

    Groups with the same number of rows of each of m values have m rows, m values and no value with more than
    one row in m. More cannot be asked of publishers that keep signatures: they do not choose their groups.
    """

    m: int
    protects_series: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse an m below 2, and requirements that groups of m values do not always satisfy."""
        object.__setattr__(self, "m", MUniqueness(self.m).m)
        object.__setattr__(self, "require", only_requirements(self.require))
        for requirement in self.require:
            if not isinstance(requirement, _BOUNDED_BY_M) or requirement.bound > self.m:
                raise PolicyError(
                    f"{self.name} can only promise what groups of m={self.m} different values imply (k, l, "
                    f"probabilistic-l and entropy-l up to {self.m}), not {requirement.text}; choose a larger m or "
                    "another publisher"
                )

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return (MUniqueness(self.m), *self.require)

    @property
    def undivided(self) -> str | None:
        """Nothing: each part balances its own buckets."""
        return None

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        return remember_signatures(view, grouping, memory)

    def remember_adopted(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with signatures of at least m values; whoever had another one begins anew."""
        return remember_large_signatures(view, grouping, memory, self.m)
