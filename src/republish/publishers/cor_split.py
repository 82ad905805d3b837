"""Cor-Split: weak m-invariance without historical correlations between few people (Riboni and Bettini).

Division, balancing and assignment are those of m-invariance (see `buckets`): everyone whose value persists keeps
the signature of her first group, also when she comes back after an absence; a new value is a new life. Then every
bucket is cut into groups that hold each value of its signature equally often (weak m-uniqueness) and are hc-safe
with degree n (see `republish.inference.hc_safety`) with respect to every earlier release.

What the paper leaves open, or where more can be had, is done as follows.

- Cells. A bucket is first halved again and again, each time along the quasi-identifier that leaves the smallest
  semi-perimeters, down to cells of at most `cell` groups; Cor-Partition (Fig. 5) works in each cell. The lists of
  a whole bucket would be alike in one quasi-identifier and mixed in all others. With 1, the default, nothing is left to
  lists: dealt from those of eight groups, counts are up to a third less precise on large tables.
- Temporary discards. Only a member who was with most of the others in the release that makes the group unsafe
  is worth replacing; among those one is drawn at random, and the next of the same value takes her place.
- Where discards do not help in any list, the group is put aside until its bucket is dealt. Then it swaps members
  of equal value with one of the groups dealt shortly before or after, such that both are safe and small. Only
  where no swap helps are groups merged, up to five of them, the one that adds least first: merging is what
  makes a value occur more than once in a group, and costs precision.
- Newcomers whom balancing leaves join existing buckets, the highest first, one of each value at a time, as long as
  the rest stays m-eligible; only the rest gets new signatures (phase 3). So signatures are fewer, and buckets larger.
  With `assignment` "new" all of them get new ones; so it was in series made before.
- Counterfeits are the last resort. A member replaced by a counterfeit must still be published, in a balanced
  group. So the unsafe group is parted into two, each filled up with a counterfeit for every member that it left to
  the other: as many counterfeits as the signature has values. That is the least possible, because a bucket stays
  balanced only if every value gains the same number. A part of at most |Q| - n people is always safe, so halves
  are where n is at most half of the values. Where a half is not safe, the group stays whole and gains one
  counterfeit of each value: as n is at most m, at most |Q| - n of its rows are people then. So every bucket can
  be published.

With `membership` "nearest", as published, all this goes by quasi-identifiers, and so by which values near people have:
whoever knows the program learns from it. With "random", the default, buckets are those of zones that know no values
(see `_buckets.dealing`), and people are near each other whose pseudonyms are: the same procedure, but chance in place
of space. A pseudonym lasts, so people stay together where they may.

The paper's guarantee, like its analysis, is about values that persist. So what counts are lives: whoever has another
value than before was in no earlier group, also where all others of her group were with her.

With p, L and h the degree n is the least that keeps the probability of a breach below h where everyone is compromised
with probability p (Fig. 3), and nobody is published more than L times in one life: whoever was is retired, left out of
all further releases until her value changes, or the release is refused. Then the series is pvr-safe with threshold h
(Def. 9, Lemma 3), as far as the formula goes: it applies each inference once, and only to compromised people.

With theta (2.1, Def. 8, Fig. 4) people are divided, before anything else, by the values that are possible for them, as
a quasi-identifier or, as in the paper, a table of people says, and each part gets buckets of its own: so every value of
a signature is possible for all who bear it, and an adversary who knows what is possible begins with no fewer
candidates. Balancing and assignment then go on as without it.

The memory gains one number a person and release. The check of a group takes time in proportion to the releases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from republish.arrays import BoolArray, Int32Array, Int64Array, IntArray
from republish.errors import CannotPublish, PolicyError
from republish.grouping import SUPPRESSED, Grouping
from republish.knowledge.possible_people import PEOPLE, PROMISE, PossibleForPeople
from republish.knowledge.possible_values import ALL, PossibleValues
from republish.memory.memory import Memory
from republish.microdata import INTERVAL, Microdata
from republish.publishers._buckets.buckets import Buckets, FillOptions, Past, fill_buckets, recall
from republish.publishers._buckets.dealing import Deal, in_order_of_pseudonyms, joined
from republish.publishers._kernels.cor_partition import NOWHERE, Entries, partition
from republish.publishers._signatures import SignaturePublisher
from republish.publishers.breach import n_choose
from republish.publishers.contract import Division, KeptSignatures
from republish.requirements import Requirement, WeakMUniqueness
from republish.schema import Schema

_DEGREE = 3  # the n of the paper's experiments
_GROUP_IN = "group@"
_LIFE_CODE = "life_code"  # whose life the groups belong to: whoever has another code now began a new one


class _Coming(NamedTuple):
    """A view, all that is remembered, what is remembered of the people in the view, and who keeps a signature."""

    view: Microdata
    memory: Memory
    past: Past
    keeps: BoolArray

    def only(self, rows: Int64Array) -> _Coming:
        return _Coming(self.view.only(rows), self.memory, self.past.only(rows), self.keeps[rows])


@dataclass(frozen=True)
class CorSplit(SignaturePublisher):
    """Groups of at least `m` values, equally often each, constant over a life and hc-safe with degree `n`.

    With `pad`, counterfeits help out where the newcomers are not m-eligible; otherwise that is refused.

    With `p`, `L` and `h`, all three, the probability of a breach is below `h` by the paper's formula, everyone being
    compromised with probability `p`; n is chosen so where it is not given, else it is 3. Nobody is published more than
    `L` times while her value stays: with `retire` people are left out then, otherwise their view is refused.

    Newcomers whom no gap takes join existing sets of values first, with `assignment` "new" never; buckets are halved
    down to `cell` groups, which are dealt from lists.

    With `theta`, the text of `PossibleValues` or "people" where they come person by person with every view, people hide
    only among values that are possible for all of them.

    With `membership` "random" people are dealt by chance inside zones of about `zone` people who need a signature, 100
    times m where not given; without `pad` zones are made larger until newcomers are m-eligible in each.
    """

    m: int = 6
    n: int | None = None
    pad: bool = False
    require: tuple[Requirement, ...] = ()
    membership: str = "random"
    zone: int | None = None
    p: float | None = None
    L: int | None = None
    h: float | None = None
    retire: bool = True
    theta: str = ALL
    assignment: str = "existing"
    cell: int = 1

    name: ClassVar[str] = "cor-split"
    paper: ClassVar[str] = (
        "D. Riboni, C. Bettini: Cor-Split: defending privacy in data re-publication from historical correlations "
        "and compromised tuples"
    )
    groups_of_zone: ClassVar[int] = 100
    unsaid: ClassVar[dict[str, Any]] = {
        "membership": "nearest",
        "assignment": "new",
        "cell": 8,
        "retire": True,
        "theta": ALL,
    }
    cell_parameters: ClassVar[tuple[str, ...]] = ("theta",)
    summary: ClassVar[str] = (
        "Keeps everyone among the same values, and never relates fewer than n people over time."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        least = self._least_degree()
        n = self.n if self.n is not None else least or _DEGREE
        if not _whole(n) or not 1 <= n <= self.m:
            raise PolicyError(
                f"n must be a whole number from 1 to m={self.m}; choose one in that range, or give p, L and h, which "
                "choose it"
            )
        if least is not None and n < least:
            raise PolicyError(
                f"n must be at least {least}, so that the probability of a breach stays below h={self.h:g} with "
                f"p={self.p:g} and L={self.L}, found {n}; leave n out, or raise h"
            )
        object.__setattr__(self, "n", n)
        if self.assignment not in ("existing", "new"):
            raise PolicyError(f"{self.name}: assignment must be existing or new; choose one")
        if not _whole(self.cell) or self.cell < 1:
            raise PolicyError(f"{self.name}: cell must be a whole number of at least 1; choose one")
        if self.theta not in (ALL, PEOPLE):
            object.__setattr__(self, "theta", PossibleValues.of(self.theta).text)
        for name, found in (("pad", self.pad), ("retire", self.retire)):
            if not isinstance(found, bool):
                raise PolicyError(f"{name} must be true or false, found a {type(found).__name__}; choose one")

    def _least_degree(self) -> int | None:
        """The least n that p, L and h allow, `None` where they are not given."""
        named = (("p", self.p), ("L", self.L), ("h", self.h))
        given = [name for name, value in named if value is not None]
        if self.p is None or self.L is None or self.h is None:
            if given:
                raise PolicyError(
                    f"the parameters p, L and h must be given together, found {' and '.join(given)} alone; give "
                    "all three, or none"
                )
            return None
        if isinstance(self.p, bool) or isinstance(self.h, bool) or not _whole(self.L):
            raise PolicyError("the parameters p and h must be numbers and L a whole number; give them so")
        return n_choose(self.p, self.L, self.m, self.h)

    @property
    def degree(self) -> int:
        """The degree n of hc-safety."""
        assert self.n is not None
        return self.n

    @property
    def possible(self) -> PossibleValues | PossibleForPeople | None:
        if self.theta == PEOPLE:
            return PossibleForPeople(self.m)
        return None if self.theta == ALL else PossibleValues.of(self.theta)

    def require_fit(self, schema: Schema) -> None:
        """Refuse possible values that the columns of a schema cannot have."""
        if self.possible is not None:
            self.possible.require_fit(schema, self.m)

    @property
    def undivided(self) -> str | None:
        if self.theta == PEOPLE:
            return f"{self.name} with `theta` by person reads a table of them beside the view"
        if self.possible is not None and not self.pad:
            return (
                f"{self.name} with `theta` and without `pad` needs newcomers who are m-eligible among all those with "
                "the same possible values"
            )
        return super().undivided

    @property
    def division(self) -> Division:
        """Whoever has the value of her last release keeps the signature."""
        return Division(signatures=KeptSignatures(self.m, pads=self.pad))

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return (WeakMUniqueness(self.m), *self.require)

    def in_two_tables(self) -> Self:
        """Refuse: what this publisher adds is how buckets are cut, and two tables publish them whole."""
        raise PolicyError(
            f"{self.name} protects by how it cuts buckets into groups, and two tables publish buckets whole; choose "
            "tau-safety, or publish one table"
        )

    @property
    def series_promises(self) -> tuple[str, ...]:
        possible = (PROMISE,) if self.theta == PEOPLE else ()
        kept = (f"weak-m-invariance={self.m}", f"hc-safety={self.n}", *possible)
        return kept if self.L is None else (*kept, f"pvr-safety={self.h}@{self.p}", f"lifespan={self.L}")

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return groups of all rows but those of people to be retired, with counterfeits where they are needed.

        Raises:
            CannotPublish: the newcomers are not m-eligible and `pad` is not set, or there are fewer than m values; or
                a person was published L times and `retire` is not set.
            LedgerError: the memory contradicts itself or the view.
        """
        if self.L is None:
            return self._published(view, memory, rng)
        spent = np.count_nonzero(_history(view, memory), axis=1) >= self.L
        if spent.any() and not self.retire:
            raise CannotPublish(
                f"nobody may be published more than L={self.L} times while the value stays the same; "
                f"{np.count_nonzero(spent)} people of this view were published so often; leave them out, or start a "
                "new series with a larger L, or with retire=true, which leaves them out"
            )
        made = self._published(view.only(np.flatnonzero(~spent)), memory, rng)
        group = np.full(view.rows, SUPPRESSED, dtype=np.int32)
        group[~spent] = made.group
        return replace(made, group=group)

    def _published(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """The groups of all rows."""
        past = recall(view, memory)
        coming = _Coming(view, memory, past, past.code == view.codes)
        buckets = self._filled(coming, rng) if self.possible is None else self._filled_apart(coming, rng)
        if self.deals:
            view = in_order_of_pseudonyms(view)
        entries = self._entries(view, memory, buckets)
        made = partition(
            entries,
            _sorted(entries, buckets),
            np.diff(buckets.sig_offsets).astype(np.int64),
            buckets.heights.astype(np.int64),
            int(rng.integers(2**63)),
        )
        real = buckets.row >= 0
        group = np.empty(view.rows, dtype=np.int32)
        group[buckets.row[real]] = made.group[real]
        return Grouping(
            group,
            np.concatenate([made.group[~real], made.extra_group]).astype(np.int32),
            np.concatenate([buckets.code[~real], buckets.code[made.extra_like]]).astype(np.int32),
        )

    def _filled(
        self, coming: _Coming, rng: np.random.Generator, possible: BoolArray | None = None
    ) -> Buckets:
        """The buckets of people who may have the same values."""
        view, memory, past, keeps = coming
        # With padding, whoever fills a gap saves a counterfeit; without, the rest must stay m-eligible.
        filling = FillOptions(
            eligible=not self.pad,
            pad=self.pad,
            existing=self.assignment == "existing",
            instead="pad=true",
            possible=possible,
        )
        if not self.deals:
            return fill_buckets(view, past, keeps, self.m, rng, filling)
        deal = (
            Deal.of(view, memory, keeps, self.zone_size)
            if self.pad
            else Deal.eligible(view, memory, keeps, self.zone_size, self.m)
        )
        return deal.filled(past, self.m, rng, filling)

    def _filled_apart(self, coming: _Coming, rng: np.random.Generator) -> Buckets:
        """The buckets of all people, only of those together who may have the same values."""
        assert self.possible is not None
        of_row, allowed = self.possible.of_people(coming.view)
        _require_possible(coming, of_row, allowed)
        made = []
        for number, codes in enumerate(allowed):
            rows = np.flatnonzero(of_row == number)
            made.append(self._filled(coming.only(rows), rng, codes).of_rows(rows))
        return joined(made)

    def _entries(self, view: Microdata, memory: Memory, buckets: Buckets) -> Entries:
        """Return the entries as the kernel reads them; the history of a person begins with the life she lives."""
        real = np.flatnonzero(buckets.row >= 0)
        row = buckets.row[real]
        points = np.full((len(buckets.row), len(view.axes)), NOWHERE)
        points[real] = view.points.T[row]
        step = np.array([0.0 if axis.kind_code == INTERVAL else 1.0 for axis in view.axes], dtype=np.float64)
        of_row = _history(view, memory)
        history = np.zeros((len(buckets.row), of_row.shape[1]), dtype=np.int32)
        history[real] = of_row[row]
        return Entries(points, view.widths, step, history, self.degree, self.cell)

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with everyone's signature and the groups of the life she lives, of all releases."""
        return super().remember(view, grouping, _with_groups(memory))

    def remember_adopted(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the same, with signatures of at least m values; whoever had another one begins anew."""
        return super().remember_adopted(view, grouping, _with_groups(memory))


def _with_groups(memory: Memory) -> Memory:
    """The memory with the groups of the life that everyone lives, of all releases."""
    code = memory.columns["code"]
    changed = memory.columns.get(_LIFE_CODE, code) != code
    columns = {
        name: np.where(changed, 0, column) if name.startswith(_GROUP_IN) else column
        for name, column in memory.columns.items()
    }
    now = np.where(memory.columns["last"] == memory.release, memory.columns["group"], 0)
    columns |= {f"{_GROUP_IN}{memory.release}": now.astype(np.int32), _LIFE_CODE: code.copy()}
    return replace(memory, columns=columns)


def _require_possible(coming: _Coming, of_row: IntArray, allowed: BoolArray) -> None:
    """Refuse that somebody keeps a signature with a value that is not possible for her any more."""
    past, keeps = coming.past, coming.keeps
    offsets, items = past.signatures
    hits = np.pad(np.cumsum(~allowed[:, items], axis=1), ((0, 0), (1, 0)))
    wrong = np.diff(hits[:, offsets], axis=1) > 0
    lost = int(np.count_nonzero(wrong[of_row[keeps], past.signature[keeps]]))
    if lost:
        raise CannotPublish(
            f"a person who keeps her value keeps the set of values it hides in, which must be possible for her; for "
            f"{lost} people it is no longer, since what theta says of them, or the quasi-identifier that it goes by, "
            "has changed; leave them out"
        )


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _history(view: Microdata, memory: Memory) -> Int32Array:
    """Return everyone's group in each earlier release of the life she lives, 0 for none."""
    names = [f"{_GROUP_IN}{release}" for release in range(1, memory.release + 1)]
    history = np.zeros((view.rows, len(names)), dtype=np.int32)
    if memory.size and view.people is not None:
        entry = memory.find(view.people)
        there = np.flatnonzero(entry >= 0)
        there = there[memory.columns["code"][entry[there]] == view.codes[there]]
        for release, name in enumerate(names):
            if name in memory.columns:  # nobody was published in an empty release
                history[there, release] = memory.columns[name][entry[there]]
    return history


def _sorted(entries: Entries, buckets: Buckets) -> Int64Array:
    """Return the entries along every axis, bucket after bucket and code after code; counterfeits come last."""
    heights = np.repeat(buckets.heights, np.diff(buckets.sig_offsets))
    segment = np.repeat(np.arange(len(heights), dtype=np.int32), heights)
    order = np.empty((entries.points.shape[1], len(segment)), dtype=np.int64)
    for axis in range(len(order)):
        along = np.argsort(entries.points[:, axis], kind="stable")
        order[axis] = along[np.argsort(segment[along], kind="stable")]
    return order
