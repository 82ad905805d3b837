"""What publishers that keep signatures share: m, the requirements that it implies, and what is remembered."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from republish.arrays import BoolArray
from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.memory.signatures import remember_large_signatures, remember_signatures
from republish.microdata import Microdata
from republish.publishers.contract import DEALT, Forming, Publisher
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


_MEMBERSHIPS = ("random", "nearest")

_TOLD = (
    'Who is put with whom depends on values (membership = "nearest", as published): an adversary who knows the program '
    "excludes worlds in which another person had been nearer, and may be sure of many values from one release alone."
)


class SignaturePublisher(Publisher):
    """Groups of at least `m` different values, remembered as signatures; `require` is what such groups imply.

    Groups with the same number of rows of each of m values have m rows, m values and no value with more than
    one row in m. More cannot be asked of publishers that keep signatures: they do not choose their groups.
    """

    m: int
    newcomers: int | None = None
    membership: str = "nearest"
    zone: int | None = None
    protects_series: ClassVar[bool] = True
    groups_of_zone: ClassVar[int] = 75
    """A zone of so many groups needs few counterfeits, and blurs no more than nearest rows do (docs/frontier.md)."""

    def __post_init__(self) -> None:
        """Refuse an m below 2, and requirements that groups of m values do not always satisfy."""
        object.__setattr__(self, "m", MUniqueness(self.m).m)
        object.__setattr__(self, "require", only_requirements(self.require))
        few = self.newcomers
        if few is not None and (isinstance(few, bool) or not isinstance(few, int) or few < 1):
            raise PolicyError(
                f"{self.name}: newcomers must be a whole number of at least 1, which lets nobody wait"
            )
        if self.membership not in _MEMBERSHIPS:
            raise PolicyError(f"{self.name}: membership must be {' or '.join(_MEMBERSHIPS)}")
        size = self.zone
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < self.m):
            raise PolicyError(f"{self.name}: zone must be a whole number of at least {self.m}")
        for requirement in self.require:
            if not isinstance(requirement, _BOUNDED_BY_M) or requirement.bound > self.m:
                raise PolicyError(
                    f"{self.name} can only promise what groups of m={self.m} different values imply (k, l, "
                    f"probabilistic-l and entropy-l up to {self.m}), not {requirement.text}; choose a larger m or "
                    "another publisher"
                )

    @property
    def deals(self) -> bool:
        """Whether chance, inside zones that know no values, decides who is with whom, and distances do not."""
        return self.membership == "random"

    @property
    def told_by_choices(self) -> str | None:
        return None if self.deals else _TOLD

    @property
    def forming(self) -> Forming | None:
        """People are dealt by chance; where distances decide, `None` unless an attack retraces just how."""
        return Forming(DEALT) if self.deals else None

    @property
    def zone_size(self) -> int:
        """About how many people who need a signature a zone has that they are dealt in."""
        return self.groups_of_zone * self.m if self.zone is None else self.zone

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return (MUniqueness(self.m), *self.require)

    @property
    def undivided(self) -> str | None:
        """Nothing: each part balances its own buckets."""
        return None

    @property
    def hides_new_values(self) -> bool:
        """Whether a value that was never published hides among people who came together."""
        return self.newcomers is not None and self.newcomers > 1

    @property
    def of_new_values(self) -> tuple[str, ...]:
        """What is promised of values that were never published before."""
        return (f"new-values={self.newcomers}",) if self.hides_new_values else ()

    def too_few(self, coming: BoolArray, memory: Memory) -> BoolArray:
        """Who of those who need a signature waits: all of them, where they are fewer than `newcomers`, or nobody.

        That is decided by their number alone, so that it tells nothing of anybody's value. Nobody waits for the first
        release.
        """
        few = self.newcomers is not None and memory.release > 0 and int(coming.sum()) < self.newcomers
        return coming if few else np.zeros_like(coming)

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        return remember_signatures(view, grouping, memory)

    def remember_adopted(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with signatures of at least m values; whoever had another one begins anew."""
        return remember_large_signatures(view, grouping, memory, self.m)
