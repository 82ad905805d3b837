"""Value-blind batches: who is in which batch with whom has to do with values only where diversity is hard to reach.

For two tables. A batch is a number of people, and how often each value occurred among them when it was last counted.

- Zones are cut through the quasi-identifiers of the first release; people of a zone are a batch. Quasi-identifiers,
  numbers of people and chance decide on it, values do not.
- A batch has its own clock. Its counts are taken anew only when at least `n` of the lives it counts have ended, because
  people left or changed, or at least `n` wait to begin, each for itself. Until then who left is counted on, and
  who came is not yet.
- *Open* batches take in newcomers of their zone, and whoever comes back or changes stays in hers. *Closed* ones are
  made of lives that begin together and only lose lives, so that all releases together say what one table of lives
  says: whoever ends together could have exchanged values. They suit values that last and people who do not return.
- Values decide on one thing: no value of a batch may have more than one life in `m`. Zones are joined where that fails,
  and counts not taken anew, or only with lives that begin, or only with lives that end.
- Before a release leaves, the share of people that could be determined is bounded, as for cohorts; batches that would
  exceed it are not counted anew.
- Now and then zones are joined, and counts not taken anew, by chance alone. So neither says for certain that a value
  was too frequent.

No paper describes this publisher; see docs/value-blind.md, docs/value-blind-proof.md and docs/value-blind-measured.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping
from republish.inference.determination import batch_risk
from republish.memory.batch_record import BatchTerms
from republish.memory.cohort_stays import continued
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers._batches.chance import drawn_holds
from republish.publishers._batches.past import BatchPast, recall_batches, remember_batches, sight_batches
from republish.publishers._batches.places import closed_places, open_places
from republish.publishers._batches.renewal import BatchRules, renewed
from republish.publishers.contract import Division, Publisher
from republish.requirements import (
    EntropyLDiversity,
    LDiversity,
    ProbabilisticLDiversity,
    Requirement,
    only_requirements,
)
from republish.schema import Schema

_ROUNDS = 6
_KINDS = ("open", "closed")
_IMPLIED = (LDiversity, ProbabilisticLDiversity, EntropyLDiversity)  # by no value above one in m
_IDLE = 0.01  # of the zones are joined, and of the batches not counted anew, for no reason
_LIKELY = 0.5  # where somebody's own bound is above this, her batch is not counted anew if that helps


@dataclass(frozen=True)
class ValueBlind(Publisher):
    """Batches of about `size` people whose counts change when `n` episodes end, or begin, together.

    Attributes:
        batches: "open" to newcomers of their zone, or "closed" once they are made.
        size: about how many people a new batch has.
        n: so many episodes must end, or begin, together for the counts of a batch to be taken anew.
        m: no value of a batch has more than one episode in m; with 1 that is no promise.
        max_determined: the share of people who may be expected to be determined.
        compromised: the share of people whose values an adversary is taken to know.
        weights: how much the axes count where zones are cut, as "age=1, education=4"; 1 where an axis is not named.
    """

    batches: str = "open"
    size: int = 60
    n: int = 5
    m: int = 3
    max_determined: float = 0.002
    compromised: float = 0.04
    weights: str = ""
    require: tuple[Requirement, ...] = ()
    whole: bool = False

    name: ClassVar[str] = "value-blind"
    paper: ClassVar[str] = "republish's own: docs/value-blind.md"
    protects_series: ClassVar[bool] = True
    keeps_counts: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "Puts people together without looking at values and counts a batch anew when several people come or go, so "
        "that who is in which batch with whom tells nothing, even to an adversary who has read the program."
    )

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing, and requirements that diversity does not imply."""
        object.__setattr__(self, "require", only_requirements(self.require))
        if self.batches not in _KINDS:
            raise PolicyError(f"{self.name}: batches must be {' or '.join(_KINDS)}")
        for parameter, least in (("m", 1), ("n", 2), ("size", max(2 * self.n, self.m))):
            found = getattr(self, parameter)
            if isinstance(found, bool) or not isinstance(found, int) or found < least:
                raise PolicyError(f"{self.name}: {parameter} must be a whole number of at least {least}")
        for parameter in ("max_determined", "compromised"):
            found = getattr(self, parameter)
            if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < 1:
                raise PolicyError(f"{self.name}: {parameter} must be a share between 0 and 1, both excluded")
        for requirement in self.require:
            if not isinstance(requirement, _IMPLIED) or requirement.bound > self.m:
                raise PolicyError(
                    f"{self.name} can only promise what its batches imply (distinct-l, probabilistic-l and entropy-l "
                    f"up to m={self.m}), not {requirement.text}; choose a larger m or another publisher"
                )
        _weights_in(self.weights)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return (ProbabilisticLDiversity(self.m), *self.require)

    @property
    def series_promises(self) -> tuple[str, ...]:
        renewal = f"{self.batches}-batches={self.n}"
        return ("value-blind", renewal, f"determined={self.max_determined:g}@{self.compromised:g}")

    @property
    def undivided(self) -> str | None:
        """One task decides on the batches of everybody; the rest is divided."""
        return None

    @property
    def division(self) -> Division:
        """The bound is over everybody, and so are zones."""
        return Division(together=True)

    def in_two_tables(self) -> ValueBlind:
        return replace(self, whole=True)

    def require_fit(self, schema: Schema) -> None:
        """Refuse one table, and weights of columns that are no quasi-identifiers."""
        if not self.whole:
            raise PolicyError(
                f"{self.name} publishes people and batches of values in two tables; choose the form two-tables, or "
                "another publisher"
            )
        names = {column.name for column in schema.quasi_identifiers}
        unknown = sorted(set(_weights_in(self.weights)) - names)
        if unknown:
            raise PolicyError(
                f"{self.name}: weights are for quasi-identifiers, and {len(unknown)} of those given are none"
            )

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return the batches with the counts that they keep or take anew.

        Raises:
            CannotPublish: a value is too frequent, or the bound cannot be kept.
            LedgerError: the memory contradicts itself.
        """
        past = recall_batches(view, memory, memory.release + 1)
        places = open_places if self.batches == "open" else closed_places
        least = max(self.n, self.size // 3) if self.batches == "open" else self.n
        holds = drawn_holds(past, rng, _IDLE)
        idle = rng.random(len(past.record.cuts) + view.rows // self.size + 2) < _IDLE
        rules = BatchRules(self.m, self.size, self.n, least, holds, idle)
        self._require_diverse(view, past)
        for attempt in range(_ROUNDS + 1):
            coming = places(view, past, rules, self._axis_weights(view))
            grouping = renewed(view, past, coming, rules, memory)
            exceeding = self._exceeding(view, past, grouping, last=attempt >= _ROUNDS - 1)
            if exceeding is None:
                return grouping
            fresh = exceeding > past.batches
            idle = rules.idle | bool(fresh.any() and past.batches)  # then nobody begins a batch this time
            holds = rules.holds | np.isin(np.arange(past.batches + 1), exceeding[~fresh])
            rules = replace(rules, holds=holds, idle=idle)
        raise CannotPublish(
            f"at most {self.max_determined:g} of all people may be expected to be determined, and with this view more "
            "would be, although no batch is counted anew or made; start a series with a larger size or n"
        )

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with everyone's stay and batch, and the record of both."""
        past = recall_batches(view, memory, memory.release)
        return remember_batches(view, past, grouping, memory, self.n)

    def batch_terms(self, view: Microdata) -> BatchTerms:
        return BatchTerms(self.batches == "closed", self.size, self._axis_weights(view))

    def _axis_weights(self, view: Microdata) -> FloatArray:
        """How much every axis of a view counts where zones are cut."""
        given = _weights_in(self.weights)
        return np.array([given.get(axis.column.name, 1.0) for axis in view.axes])

    def remember_adopted(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Refuse: nothing tells how another tool put people together."""
        raise PolicyError(
            f"{self.name} promises that no value decides who is in which batch with whom, and cannot say so of "
            "releases that another tool made; begin a series without them, or one with tau-safety"
        )

    def _require_diverse(self, view: Microdata, past: BatchPast) -> None:
        """Refuse a first view in which one value is too frequent for any batch; fewer than n people are in none."""
        often = int(np.bincount(view.codes).max(initial=0))
        if not past.batches and often * self.m > view.rows >= self.n:
            raise CannotPublish(
                f"no value of a batch may have more than one person in m={self.m}, and the most frequent one of this "
                f"view has {often} of {view.rows}; start a series with a smaller m"
            )

    def _exceeding(self, view: Microdata, past: BatchPast, grouping: Grouping, last: bool) -> IntArray | None:
        """The batches that should not be counted anew this time, `None` where the bound is kept."""
        sighting, _ = sight_batches(view, past, grouping)
        stays, _ = continued(past.record.stays, sighting)
        risk = batch_risk(stays, self.compromised)
        batch = np.arange(int(stays.cohort.max(initial=0)) + 1)
        surely = np.bincount(stays.cohort, weights=risk.of_stay > _LIKELY, minlength=len(batch)) > 0
        expected = np.bincount(stays.cohort, weights=risk.of_stay, minlength=len(batch))
        people = np.bincount(stays.cohort, minlength=len(batch))
        over = expected > (0 if last else self.max_determined) * people
        living = np.isin(batch, past.record.stays.cohort[past.counted])
        if risk.share <= self.max_determined:
            return batch[surely & living] if not last and (surely & living).any() else None
        return batch[over & (living | (batch > past.batches))]


def _weights_in(text: str) -> dict[str, float]:
    """The weight of every axis that a text names."""
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, weight = (piece.strip() for piece in part.rpartition("="))
        try:
            found[name] = float(weight)
        except ValueError:
            found[name] = -1.0
        if not name or not 0 < found[name] < np.inf:
            raise PolicyError('value-blind: weights must read like "age=1, education=4", each above 0')
    return found
