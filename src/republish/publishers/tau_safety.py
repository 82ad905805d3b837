"""tau-safety: m-invariance that survives comings and goings (A. Anjum's thesis, chapter 4).

Every group holds at least m rows, all with different sensitive values. Whoever stays with the same value
keeps the signature, the set of values of the group; so does whoever comes back after an absence of any length
with the same value, or with another one of the old signature. An adversary who follows when a person was
inserted, updated, deleted and inserted again still has m candidates. Newcomers, among them everyone
whose value changed, need not be m-eligible: counterfeits fill up what is missing.

Phases: who keeps a signature; classification by signature; balancing with the newcomers nearest to a bucket;
assignment of the others to new signatures; partition.

- Partition: a group grows around a row drawn at random, each time by the row of the next value that is nearest
  to the mean so far. The search takes time quadratic in the rows of a value, so buckets with more than 1,024
  are first halved as in m-invariance, which costs some precision.
- `assignment="optimal"` solves balancing, value by value, as an assignment problem: newcomers to open places,
  with the least sum of squared distances to the means of the buckets. Where newcomers times places exceed one
  million for a value, that value is assigned greedily. It fills as many places as the greedy assignment where
  any newcomer may go to any place, and on census data no gain in certainty penalty was found: buckets hold
  many groups, and their means are much alike.
- `signatures="equal-or-disjoint"`: who knows that a value changed can rule out that it is the same before
  and after. With old signature {a,b} and new {b,c} that leaves (a,b), (a,c) and (b,c), two thirds for a. This
  option gives everyone with a changed value the old signature, where the new value belongs to it, and otherwise
  one that has nothing in common with it. It costs counterfeits and needs m values outside any old signature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from republish.errors import PolicyError
from republish.publishers._bucket_groups import gathered
from republish.publishers._implied import m_and_requirements
from republish.publishers.buckets import Filling, fill_buckets, recall
from republish.requirements import MUniqueness, Requirement
from republish.signatures import remember_signatures

if TYPE_CHECKING:
    import numpy as np

    from republish.grouping import Grouping
    from republish.memory import Memory
    from republish.microdata import Microdata

_ASSIGNMENTS = ("greedy", "optimal")
_SIGNATURES = ("any", "equal-or-disjoint")
_LARGEST_PART = 1024


@dataclass(frozen=True)
class TauSafety:
    """Groups of at least `m` different values, the same for everyone who stays or comes back unchanged."""

    m: int = 4
    require: tuple[Requirement, ...] = ()
    assignment: str = "greedy"
    signatures: str = "any"

    name: ClassVar[str] = "tau-safety"
    paper: ClassVar[str] = (
        "A. Anjum, G. Raschia, M. Gelgon, A. Khan et al.: tau-safety: a privacy model for sequential publication "
        "with arbitrary updates, Computers & Security 66, 2017"
    )
    summary: ClassVar[str] = (
        "Keeps the set of values in a person's group the same for as long as the value lasts, absences included."
    )
    protects_series: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing, and requirements that the groups do not imply."""
        m, require = m_and_requirements(self.name, self.m, self.require)
        object.__setattr__(self, "m", m)
        object.__setattr__(self, "require", require)
        for parameter, choices in (("assignment", _ASSIGNMENTS), ("signatures", _SIGNATURES)):
            if getattr(self, parameter) not in choices:
                raise PolicyError(f"{self.name}: {parameter} must be {' or '.join(choices)}")

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What every group satisfies."""
        return (MUniqueness(self.m), *self.require)

    @property
    def series_promises(self) -> tuple[str, ...]:
        """What holds over all releases together."""
        return (f"tau-safety={self.m}",)

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return groups of all rows and the counterfeits that keep the signatures.

        Raises:
            CannotPublish: the sensitive column has too few values for signatures of m.
        """
        past = recall(view, memory)
        separate = self.signatures == "equal-or-disjoint"
        keeps = past.within if separate else past.within & ((past.code == view.codes) | ~past.present)
        apart = (past.signature >= 0) & ~keeps if separate else None
        filling = Filling(eligible=False, nearest=True, pad=True, optimal=self.assignment == "optimal")
        buckets = fill_buckets(view, memory, keeps, self.m, rng, filling, apart)
        return gathered(view, buckets, _LARGEST_PART, rng)

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with the signature of everyone in the view."""
        return remember_signatures(view, grouping, memory)
