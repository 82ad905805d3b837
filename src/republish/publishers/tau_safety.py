"""tau-safety: m-invariance that survives comings and goings (A. Anjum's thesis, chapter 4).

Every group holds at least m rows, all with different sensitive values. Whoever stays with the same value
keeps the signature, the set of values of the group; so does whoever comes back after an absence of any length
with the same value. Newcomers, among them everyone whose value was updated, need not be m-eligible:
counterfeits fill up what is missing.

Whoever comes back with *another* value keeps the signature S too, if the value is one of S (thesis 4.5.1.2). An
adversary who knows this concludes from any other signature that the new value is not in S. So the others
get a signature that has no value of S: then her conclusion excludes nothing. Where fewer than m values are known
outside S there is no such signature. Then S is kept with an unchanged value only, and whoever comes back with
another one is a newcomer, whether or not it is in S. Which of the two rules holds is told by S and by the values
known so far, and those are published; so it says nothing about anybody.

What an adversary can conclude who knows all this, and when everyone came, changed, left and returned:

- While signatures are equal or disjoint from life to life, nothing: exchange two values of a signature in all lives
  that bear it, and all releases, all changes and both rules are as they were. Everyone has m candidates.
- Someone updated *in place* is a newcomer and may get a signature that overlaps the old one, and so may somebody back
  where too few values are known. Taken alone, each value of both signatures remains possible, some likelier than
  others: with old signature {a,b} and new {b,c} there are (a,b), (a,c) and (b,c), two thirds for a. Who follows
  several such people through several groups may exclude a value altogether.
- `signatures="equal-or-disjoint"` treats updates like returns: everyone with a changed value has the old signature,
  where the new value belongs to it, and otherwise one that has nothing in common with it. It costs counterfeits and
  needs m values outside any old signature.

`membership` says who is with whom. With "random", the default, people of one value are dealt to the places of that
value by chance, inside zones that know no values (see `_buckets.dealing`): knowing this program adds nothing to what
groups say. With "nearest", as published, distances decide, and whoever knows the program excludes worlds in which
another row would have been nearer: one release alone puts many people above .9 (docs/attacks-measured.md).

As published, phases: who keeps a signature; classification by signature; balancing with the newcomers nearest to a
bucket; assignment of the others to new signatures; partition.

- Partition: a group grows around a row drawn at random, each time by the row of the next value that is nearest
  to the mean so far. The search takes time quadratic in the rows of a value, so buckets with more than 1,024
  are first halved as in m-invariance, which costs some precision.
- `assignment="optimal"` solves balancing, value by value, as an assignment problem: newcomers to open places,
  with the least sum of squared distances to the means of the buckets. Where newcomers times places exceed one
  million for a value, that value is assigned greedily. It fills as many places as the greedy assignment where
  any newcomer may go to any place, and on census data no gain in certainty penalty was found: buckets hold
  many groups, and their means are much alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.memory.cohort_stays import continued
from republish.memory.memory import Memory
from republish.memory.signatures import group_signatures
from republish.microdata import Microdata
from republish.publishers._buckets.buckets import (
    FillOptions,
    Past,
    fill_buckets,
    gathered,
    in_regions,
    recall,
)
from republish.publishers._buckets.dealing import Deal, without_places
from republish.publishers._cohorts.past import look_back, sighted
from republish.publishers._signatures import SignaturePublisher
from republish.publishers.contract import GATHERED, Division, Forming, KeptSignatures
from republish.requirements import ProbabilisticLDiversity, Requirement
from republish.schema import Schema

_ASSIGNMENTS = ("greedy", "optimal")
_SIGNATURES = ("any", "equal-or-disjoint")
_PARTITIONS = ("gathered", "bang")
_LARGEST_PART = 1024  # groups that are gathered together in parts
_BLOCK = 10  # groups that are gathered together in a block of the BANG partition
_OLD_BLOCK = 1024  # as series have it that were made when blocks were as large as parts


@dataclass(frozen=True)
class TauSafety(SignaturePublisher):
    """Groups of at least `m` different values, the same for everyone who stays or comes back unchanged.

    In two tables buckets are published whole, and a person who stays is with the same people while her value lasts.
    Then the bound of docs/cohorts-proof.md holds: with `compromised`, the share of people whose values an adversary is
    taken to know, it is computed before every release.

    With `membership` "random" people are dealt by chance, in one table inside zones of about `zone` people who need a
    signature, 75 times m where not given.

    With `partition` "bang" and `membership` "nearest" it is tau-safe BangA (thesis 5.3): buckets are split by nested
    regions of a BANG file, each with every value of the signature equally often, down to blocks of at most `block`
    groups, ten where not given, and groups are gathered inside. Places of people who left go to newcomers, else to
    counterfeits, and people with new quasi-identifiers are where these are now.

    With `newcomers`, people are published when so many need a signature at once, and a value that was never published
    hides among so many (docs/new-values.md).
    """

    m: int = 4
    require: tuple[Requirement, ...] = ()
    assignment: str = "greedy"
    signatures: str = "any"
    compromised: float | None = None
    newcomers: int | None = None
    membership: str = "random"
    zone: int | None = None
    partition: str = "gathered"
    block: int | None = None
    whole: bool = False

    name: ClassVar[str] = "tau-safety"
    paper: ClassVar[str] = (
        "A. Anjum, G. Raschia, M. Gelgon, A. Khan et al.: tau-safety: a privacy model for sequential publication "
        "with arbitrary updates, Computers & Security 66, 2017"
    )
    unsaid: ClassVar[dict[str, Any]] = {"membership": "nearest", "partition": "gathered", "block": _OLD_BLOCK}
    open_list_defaults: ClassVar[dict[str, str]] = {"newcomers": "m"}
    two_table_defaults: ClassVar[dict[str, Any]] = {"compromised": 0.04}
    summary: ClassVar[str] = (
        "Keeps the set of values in a person's group the same for as long as the value lasts, absences included."
    )

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing, and requirements that the groups do not imply."""
        super().__post_init__()
        if self.compromised is not None and not 0 < self.compromised < 1:
            raise PolicyError(f"{self.name}: compromised must be a share between 0 and 1, both excluded")
        for parameter, choices in (
            ("assignment", _ASSIGNMENTS),
            ("signatures", _SIGNATURES),
            ("partition", _PARTITIONS),
        ):
            if getattr(self, parameter) not in choices:
                raise PolicyError(f"{self.name}: {parameter} must be {' or '.join(choices)}")
        self._settle_block()
        if self.deals and self.partition == "bang":
            raise PolicyError(
                f'{self.name}: partition = "bang" puts people together by place; leave it out, or choose membership = '
                '"nearest", which tells much of who has which value'
            )
        if self.deals and self.assignment == "optimal":
            raise PolicyError(
                f'{self.name}: assignment = "optimal" chooses the nearest people; leave it out, or choose '
                'membership = "nearest", which tells much of who has which value'
            )

    def _settle_block(self) -> None:
        """Set the size of blocks that was not given; other partitions have none, whatever a stored policy means."""
        given = self.block
        if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
            raise PolicyError(f"{self.name}: block must be a whole number of at least 1")
        if self.partition != "bang" and given not in (None, _OLD_BLOCK):
            raise PolicyError(f'{self.name}: block is for partition = "bang"; leave it out, or choose that')
        size = (_BLOCK if given is None else given) if self.partition == "bang" else None
        object.__setattr__(self, "block", size)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What every group satisfies; a whole bucket holds each of its values equally often."""
        return super().requirements if not self.whole else (ProbabilisticLDiversity(self.m), *self.require)

    def in_two_tables(self) -> TauSafety:
        """tau-safe angelization (thesis 5.3): the batches are whole buckets, all rows of one signature."""
        return replace(self, whole=True)

    @property
    def division(self) -> Division:
        """Whoever has a value of her signature keeps it, absences included."""
        return Division(signatures=KeptSignatures(self.m, within=True, pads=True))

    @property
    def series_promises(self) -> tuple[str, ...]:
        disjoint = ("disjoint-updates",) if self.signatures == "equal-or-disjoint" else ()
        bounded = (f"whole-buckets={self.compromised:g}",) if self._bounded else ()
        return (f"tau-safety={self.m}", *disjoint, *bounded, *self.of_new_values)

    @property
    def _bounded(self) -> bool:
        return self.whole and self.compromised is not None

    @property
    def undivided(self) -> str | None:
        if self._bounded:
            return f"{self.name} with `compromised` bounds what is found out over all people together"
        if self.hides_new_values:
            return f"{self.name} with `newcomers` looks at all newcomers together"
        return super().undivided

    def require_fit(self, schema: Schema) -> None:
        """Refuse a bound for groups that are cut."""
        if self.compromised is not None and not self.whole:
            raise PolicyError(
                f"{self.name}: compromised is for whole buckets, which are published in two tables; leave it out, or "
                'choose the form "two-tables"'
            )

    @property
    def forming(self) -> Forming | None:
        """Groups are dealt or gathered, or cut by regions, which no attack replays; whole buckets are everyone."""
        if self.whole or self.partition == "bang":
            return None
        return super().forming or Forming(GATHERED, _LARGEST_PART)

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with the signature of everyone in the view; with a bound, their stays in buckets too."""
        signed = super().remember(view, grouping, memory)
        if not self._bounded:
            return signed
        before = look_back(view, memory, memory.release)
        stays, entry = continued(before.stays, sighted(view, before, grouping))
        return before.remembered(signed, view, stays, entry)

    def waits(self, view: Microdata, memory: Memory) -> BoolArray:
        return self.too_few(~self._keeping(view, recall(view, memory))[0], memory)

    def _keeping(self, view: Microdata, past: Past) -> tuple[BoolArray, BoolArray]:
        """Who keeps the old signature, and whose old one decides on the new one, also where the value changed."""
        bound = past.known
        if self.signatures == "any":
            bound = bound & ~past.present & (len(view.values) - past.sizes >= self.m)
        return past.within & ((past.code == view.codes) | bound), bound

    @property
    def needs_kept_past(self) -> bool:
        """A bound counts stays in buckets, and nobody may leave the people she was published with."""
        return self._bounded

    def remember_adopted(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with signatures of at least m values; with a bound, every batch must be a whole bucket."""
        if not self._bounded:
            return super().remember_adopted(view, grouping, memory)
        number, _ = group_signatures(
            grouping.group, view.codes, grouping.groups, grouping.counterfeit_group, grouping.counterfeit_code
        )
        if len(np.unique(number)) < len(number):
            raise PolicyError(
                f"{self.name} publishes everyone who hides in the same values in one batch, and so keeps people "
                "together only if no two batches of an adopted release have the same values; some have. Begin a series "
                "in one table, or one with cohorts"
            )
        return self.remember(view, grouping, memory)

    def zones(self, view: Microdata, memory: Memory) -> IntArray | None:
        if self.whole or not self.deals:
            return None
        return Deal.of(view, memory, self._keeping(view, recall(view, memory))[0], self.zone_size).zone

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return groups of all rows and the counterfeits that keep the signatures.

        Raises:
            CannotPublish: the sensitive column has too few values for signatures of m.
            LedgerError: the memory contradicts itself or the view.
        """
        past = recall(view, memory)
        keeps, bound = self._keeping(view, past)
        apart = bound & ~keeps
        filling = FillOptions(
            eligible=False,
            nearest=True,
            pad=True,
            optimal=self.assignment == "optimal",
            hidden=self.newcomers or 0,
        )
        if self.deals and not self.whole:
            deal = Deal.of(view, memory, keeps, self.zone_size)
            return deal.grouping(deal.filled(past, self.m, rng, filling, apart))
        placed = without_places(view) if self.deals else view
        buckets = fill_buckets(placed, past, keeps, self.m, rng, filling, apart)
        if self.whole:
            return buckets.batches(view.rows)
        if self.block is not None:
            return in_regions(view, buckets, self.block, rng)
        return gathered(view, buckets, _LARGEST_PART, rng)
