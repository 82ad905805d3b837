"""m-invariance: whoever stays keeps the same m candidate values (Xiao and Tao, SIGMOD 2007).

Every group holds at least m rows, all with different sensitive values, and whoever is in two releases in a
row with the same value is in groups with the same set of values (signature). Whoever intersects releases
learns nothing. A person who comes back after an absence, and one whose value changed, counts as a newcomer:
against adversaries who know of that, see tau-safety.

As published (`membership="nearest"`), phases: division by signature; balancing, where a newcomer fills a gap unless
the other newcomers would then no longer be m-eligible, and otherwise a counterfeit; assignment of the other newcomers
to new signatures; partition of every bucket by halving. Newcomers are chosen at random.

Where buckets are halved depends on values, and tells of them. With "random", the default, all is done in zones that
know no values, and chance makes the groups of a bucket (see `_buckets.dealing`). Newcomers of every zone must be
m-eligible; zones are made larger until they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers._buckets.buckets import FillOptions, Past, fill_buckets, halved, recall
from republish.publishers._buckets.dealing import Deal
from republish.publishers._signatures import SignaturePublisher
from republish.publishers.contract import HALVED, Division, Forming, KeptSignatures
from republish.requirements import Requirement


@dataclass(frozen=True)
class MInvariance(SignaturePublisher):
    """Groups of at least `m` different values, the same values for everyone who stays.

    With `membership` "random" people are dealt by chance inside zones of about `zone` people who need a signature,
    75 times m where not given, or more.
    """

    m: int = 4
    require: tuple[Requirement, ...] = ()
    membership: str = "random"
    zone: int | None = None

    name: ClassVar[str] = "m-invariance"
    paper: ClassVar[str] = (
        "X. Xiao, Y. Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets, "
        "SIGMOD 2007"
    )
    unsaid: ClassVar[dict[str, Any]] = {"membership": "nearest"}
    summary: ClassVar[str] = (
        "Keeps the set of values in a person's group the same for as long as the person stays."
    )

    @property
    def division(self) -> Division:
        """Whoever stays with the same value keeps the signature."""
        return Division(signatures=KeptSignatures(self.m, present=True))

    @property
    def forming(self) -> Forming | None:
        """Groups are dealt, or buckets halved until every part is one."""
        return super().forming or Forming(HALVED)

    def in_two_tables(self) -> Self:
        """Refuse: the promise does not hold against an adversary who knows who came back, and two tables grant that."""
        raise PolicyError(
            f"{self.name} takes a person who comes back for a newcomer, so what it promises does not hold where an "
            "adversary knows comings and goings, as two tables grant her; choose tau-safety, which holds then too"
        )

    @property
    def series_promises(self) -> tuple[str, ...]:
        return (f"m-invariance={self.m}",)

    def zones(self, view: Microdata, memory: Memory) -> IntArray | None:
        if not self.deals:
            return None
        keeps = _keeping(view, recall(view, memory))
        return Deal.eligible(view, memory, keeps, self.zone_size, self.m).zone

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return groups of all rows and the counterfeits that keep the signatures.

        Raises:
            CannotPublish: more than one in m newcomers have the same value.
            LedgerError: the memory contradicts itself or the view.
        """
        past = recall(view, memory)
        keeps = _keeping(view, past)
        if self.deals:
            deal = Deal.eligible(view, memory, keeps, self.zone_size, self.m)
            return deal.grouping(deal.filled(past, self.m, rng, FillOptions()))
        return halved(view, fill_buckets(view, past, keeps, self.m, rng))


def _keeping(view: Microdata, past: Past) -> BoolArray:
    """Who keeps the old signature."""
    kept: BoolArray = past.present & (past.code == view.codes)
    return kept
