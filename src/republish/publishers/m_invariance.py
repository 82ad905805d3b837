"""m-invariance: whoever stays keeps the same m candidate values (Xiao and Tao, SIGMOD 2007).

Every group holds at least m rows, all with different sensitive values, and whoever is in two releases in a
row with the same value is in groups with the same set of values (signature). Whoever intersects releases
learns nothing. A person who comes back after an absence, and one whose value changed, counts as a newcomer:
against adversaries who know of that, see tau-safety.

Phases: division by signature; balancing, where a newcomer fills a gap unless the other newcomers would then
no longer be m-eligible, and otherwise a counterfeit; assignment of the other newcomers to new signatures;
partition of every bucket by halving. Newcomers are chosen at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers._buckets.buckets import fill_buckets, halved, recall
from republish.publishers._signatures import SignaturePublisher
from republish.publishers.contract import HALVED, Division, Forming, KeptSignatures
from republish.requirements import Requirement


@dataclass(frozen=True)
class MInvariance(SignaturePublisher):
    """Groups of at least `m` different values, the same values for everyone who stays."""

    m: int = 4
    require: tuple[Requirement, ...] = ()

    name: ClassVar[str] = "m-invariance"
    paper: ClassVar[str] = (
        "X. Xiao, Y. Tao: m-invariance: towards privacy preserving re-publication of dynamic datasets, "
        "SIGMOD 2007"
    )
    summary: ClassVar[str] = (
        "Keeps the set of values in a person's group the same for as long as the person stays."
    )

    @property
    def division(self) -> Division:
        """Whoever stays with the same value keeps the signature."""
        return Division(signatures=KeptSignatures(self.m, present=True))

    @property
    def forming(self) -> Forming | None:
        """Buckets are halved until every part is a group."""
        return Forming(HALVED)

    def in_two_tables(self) -> Self:
        """Refuse: the promise does not hold against an adversary who knows who came back, and two tables grant that."""
        raise PolicyError(
            f"{self.name} takes whoever comes back for a newcomer, so what it promises does not hold where an "
            "adversary knows comings and goings, as two tables grant her; choose tau-safety, which holds then too"
        )

    @property
    def series_promises(self) -> tuple[str, ...]:
        return (f"m-invariance={self.m}",)

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return groups of all rows and the counterfeits that keep the signatures.

        Raises:
            CannotPublish: more than one in m newcomers have the same value.
            LedgerError: the memory contradicts itself or the view.
        """
        past = recall(view, memory)
        keeps = past.present & (past.code == view.codes)
        return halved(view, fill_buckets(view, past, keeps, self.m, rng))
