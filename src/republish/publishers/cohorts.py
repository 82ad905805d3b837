"""Cohorts: people who are published together stay together, so that releases say little new about them.

Publishers that regroup people with every release give an adversary new equations each time, about who has which value
in which group; solved together they determine many people (see the linear attack). Here a group, once made, goes on
for as long as anyone is in it:

- The first release is cut into cohorts of about `size` rows with the same few values, each at most one row in `m`.
- Whoever stays, stays in her cohort. The place of somebody who left goes to a newcomer of the same value, the nearest
  that can be had; or it is given up; or a counterfeit holds it for the time being. Newcomers without a place get new
  ones where their value occurs, or form cohorts of their own.
- A cohort changes only when places of at least `together` different values are open at once: then nobody can tell
  which of those who left had which value, nor who took over from whom. Until then counterfeits wait in them.
- Before a release leaves, the share of people that could be determined is bounded
  (`republish.inference.determination`): whoever the
  adversary is, if `compromised` of all people are known to her, each independently, she is expected to determine at
  most `max_determined` of the others, from all releases so far. Cohorts that would exceed it do not change this time.

A set of values that a person hides in stays the same while her value does, over absences too. No paper describes this
publisher; docs/cohorts-proof.md has the proof, docs/attacks-measured.md what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping
from republish.inference.determination import escape_risk
from republish.memory.cohort_stays import continued
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers._cohorts.changes import CohortRules, arrange, deal
from republish.publishers._cohorts.past import Remembered, look_back, sighted
from republish.publishers._signatures import SignaturePublisher
from republish.requirements import ProbabilisticLDiversity, Requirement

_ROUNDS = 6


@dataclass(frozen=True)
class Cohorts(SignaturePublisher):
    """Groups of about `size` rows that stay together for life; no value has more than one row in `m`.

    Attributes:
        m: no value of a cohort has more than one row in m.
        size: the most rows of a new cohort.
        values: how many values a new cohort has; as many as there may be where the data has fewer.
        together: places of so many different values must be open at once for a cohort to change.
        max_determined: the share of people who may be expected to be determined.
        compromised: the share of people whose values an adversary is taken to know.
        zone: newcomers are placed inside zones of about so many near people, 600 where not given; with "nearest" new
            cohorts alone are, in zones of at least so many, or everywhere at once where not given.
        newcomers: people are taken in when so many come together, and a value that was never published hides among so
            many; without it newcomers are taken in at once.
        membership: "random" leaves it to chance, inside zones that know no values, who is in which cohort; with
            "nearest" distances decide, and an adversary who knows the program learns from it.
    """

    m: int = 6
    size: int = 90
    values: int = 9
    together: int = 3
    max_determined: float = 0.01
    compromised: float = 0.04
    zone: int | None = None
    newcomers: int | None = None
    membership: str = "random"
    require: tuple[Requirement, ...] = ()

    name: ClassVar[str] = "cohorts"
    paper: ClassVar[str] = "republish's own: docs/cohorts.md"
    unsaid: ClassVar[dict[str, Any]] = {"membership": "nearest"}
    open_list_defaults: ClassVar[dict[str, str]] = {"newcomers": "m"}
    two_table_defaults: ClassVar[dict[str, Any]] = {"zone": 600}
    summary: ClassVar[str] = (
        "Keeps people together for life, so that no adversary determines more of them than a share that you set."
    )

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing, and requirements that the groups do not imply."""
        super().__post_init__()
        counts = (("size", self.m), ("values", self.m), ("together", 1))
        for parameter, least in counts:
            found = getattr(self, parameter)
            if isinstance(found, bool) or not isinstance(found, int) or found < least:
                raise PolicyError(f"{self.name}: {parameter} must be a whole number of at least {least}")
        if self.values > self.size:
            raise PolicyError(f"{self.name}: values must not exceed size, for each needs a row")
        for parameter in ("max_determined", "compromised"):
            found = getattr(self, parameter)
            if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < 1:
                raise PolicyError(f"{self.name}: {parameter} must be a share between 0 and 1, both excluded")

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return (ProbabilisticLDiversity(self.m), *self.require)

    @property
    def series_promises(self) -> tuple[str, ...]:
        bound = f"determined={self.max_determined:g}@{self.compromised:g}"
        return (f"weak-m-invariance={self.m}", bound, *self.of_new_values)

    @property
    def undivided(self) -> str | None:
        """The bound is over everybody."""
        return f"{self.name} bounds what is found out over all people together"

    def waits(self, view: Microdata, memory: Memory) -> BoolArray:
        before = look_back(view, memory, memory.release + 1)
        return self.too_few(~before.goes_on & ~before.returns, memory)

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return the cohorts of all rows, and counterfeits in the places that wait.

        Raises:
            CannotPublish: the sensitive column has fewer than m values, or the bound cannot be kept.
            LedgerError: the memory contradicts itself.
        """
        before = look_back(view, memory, memory.release + 1)
        still: IntArray = np.zeros(0, dtype=np.int64)
        for attempt in range(_ROUNDS + 1):
            changes = CohortRules(
                self.m, self.size, self.values, self.together, still, self.zone, self.newcomers, self.deals
            )
            grouping = (deal if self.deals else arrange)(view, before, changes, rng)
            exceeding = self._exceeding(view, before, grouping, last=attempt >= _ROUNDS - 1)
            if exceeding is None:
                return grouping
            still = np.union1d(still, exceeding)
        raise CannotPublish(
            f"at most {self.max_determined:g} of all people may be expected to be determined, and with the newcomers "
            "of this view more would be, however they are placed; they may be too few, or too many of them have the "
            "same value: publish them with a later view, or start a new series with a larger max_determined"
        )

    def _exceeding(
        self, view: Microdata, before: Remembered, grouping: Grouping, last: bool
    ) -> IntArray | None:
        """The cohorts that should not change this time, `None` where the bound is kept."""
        stays, _ = continued(before.stays, sighted(view, before, grouping))
        risk = escape_risk(stays, self.compromised)
        if risk.share <= self.max_determined:
            return None
        cohort = np.arange(int(stays.cohort.max()) + 1)
        expected = np.bincount(stays.cohort, weights=risk.of_stay, minlength=len(cohort))
        people = np.bincount(stays.cohort[stays.bearer > 0], minlength=len(cohort))
        over = cohort[expected > (0 if last else self.max_determined) * people]
        return np.intersect1d(over, before.living)

    @property
    def needs_kept_past(self) -> bool:
        """The bound counts stays in cohorts, and nobody may leave the people she was published with."""
        return True

    def remember_adopted(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory in which every group of the release is a cohort."""
        return self.remember(view, grouping, memory)

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        before = look_back(view, memory, memory.release)
        stays, entry = continued(before.stays, sighted(view, before, grouping))
        return before.remembered(super().remember(view, grouping, memory), view, stays, entry)
