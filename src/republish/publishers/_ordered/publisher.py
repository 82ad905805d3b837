"""Groups cut from an order of the rows, and what becomes of the rows that fit in none: JS-reduce and BayFrame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from republish.arrays import FloatArray, Int64Array, IntArray
from republish.errors import PolicyError
from republish.grouping import SUPPRESSED, Grouping
from republish.inference import FULL, Reasoning, Thoughts, last_values
from republish.inference.joint.messages import PRODUCTS
from republish.inference.joint.trail import with_trail
from republish.inference.reasoning import value_order
from republish.knowledge import Extracted, Knowledge
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.orders import ORDERS, row_order
from republish.publishers._ordered.cuts import (
    GroupLimits,
    Line,
    Prices,
    entropies,
    greedy,
    insert,
    optimal,
    partings,
    stand_ins,
)
from republish.publishers._ordered.mending import joined, lasting, without_some
from republish.publishers._ordered.withstand import Mending, withstanding
from republish.publishers.contract import Division, Publisher
from republish.publishers.mondrian import prepare
from republish.requirements import KAnonymity, Requirement, compile_rules, only_requirements
from republish.requirements.parameters import number_at_least, plain, positive_number

CUTS = ("optimal", "greedy")
RESTS = ("insert", "suppress", "relax", "counterfeit")
AGAINST = ("release", "view")
DISTANCES = ("js", "ks")
LEFT_OUT = 50.0
"""What a row left out costs: as much as so many rows of which nothing is said."""
STRAGGLERS = 0.1
"""The share of a former group that may be parted from the others at no price."""
_CLOSED_EARLY = (
    'A group ends as soon as its values allow it (cut = "greedy", as published): an adversary who knows the program '
    "excludes worlds in which a group would have ended earlier or later. The default, which cuts all groups at once, "
    "tells less."
)
_MENDED = (
    "Who is left out and which groups are joined so that withstand holds depends on values, and it can be seen: an "
    "adversary who knows the program excludes worlds in which it would have been otherwise, and withstand does not "
    "count that."
)
_WINDOWS = 12
_SHORTEST = 64
_MOST_STEPS = 10**8
Places = Int64Array


@dataclass(frozen=True)
class CutOptions:
    """How rows are ordered and cut, what becomes of the rest, and what groups are compared with in the end."""

    order: str
    cut: str
    rest: str
    crowd: float
    keep: float
    against: str = "release"
    distance: str = "js"

    def __post_init__(self) -> None:
        for what, found, known in (
            ("order", self.order, ORDERS),
            ("cut", self.cut, CUTS),
            ("rest", self.rest, RESTS),
            ("against", self.against, AGAINST),
            ("distance", self.distance, DISTANCES),
        ):
            if found not in known:
                raise PolicyError(f"{what} must be one of {', '.join(known)}; found {found!r}")
        for what, number in (("crowd", self.crowd), ("keep", self.keep)):
            object.__setattr__(self, what, number_at_least(what, number, 0))


def cut_in_order(
    view: Microdata,
    memory: Memory,
    thoughts: Thoughts,
    how: CutOptions,
    bounds: Sequence[tuple[tuple[Requirement, ...], float]],
) -> Grouping:
    """The groups of a view; `bounds` are the requirements and the divergence asked for, then the relaxed ones."""
    order = row_order(view, how.order) if view.rows else np.empty(0, dtype=np.int64)
    of_row = np.full(view.rows, SUPPRESSED, dtype=np.int32)
    if not len(order):
        return Grouping(of_row)
    line, distance = _line(view, thoughts, order, how.distance), DISTANCES.index(how.distance)
    crowd = min(how.crowd, float(line.weight.sum()))  # a small view is one crowd
    limits = GroupLimits(compile_rules(bounds[0][0], view.whole), bounds[0][1], crowd, distance)
    group = _cut(line, limits, how, _companions(view, memory)[order])
    counterfeit: tuple[IntArray, IntArray] = (np.empty(0, np.int32), np.empty(0, np.int32))
    if how.rest == "insert":
        group = insert(line, limits, group, int(group.max()) + 1)
    elif how.rest == "relax":
        for requirements, divergence in bounds[1:]:
            eased = GroupLimits(compile_rules(requirements, view.whole), divergence, 0.0, distance)
            group = _and_rest(line, eased, how, group)
    elif how.rest == "counterfeit":
        nearest, code = stand_ins(line, limits.rules, group, int(group.max()) + 1)
        there = nearest >= 0
        counterfeit = (nearest[there].astype(np.int32), code[there].astype(np.int32))
    of_row[order] = group
    return lasting(view, Grouping(of_row, *counterfeit), _of_release(bounds[-1][0], how.against))


def _of_release(asked: tuple[Requirement, ...], against: str) -> tuple[Requirement, ...]:
    """What groups satisfy against the table as it is published: all but the closeness to a view."""
    return asked if against == "release" else (asked[0], *asked[2:])


def _line(view: Microdata, thoughts: Thoughts, order: IntArray, distance: str) -> Line:
    """The rows in their order; a person's weight is how uncertain the value still is, against somebody new."""
    prior = thoughts.prior[order]
    entropy = entropies(prior)
    if distance == "ks":
        prior = np.cumsum(prior[:, value_order(thoughts.now.values)], axis=1)
    of_class = entropies(thoughts.revision.knowledge.prior)[thoughts.now.classes[order]]
    space = prepare(view)
    return Line(
        view.codes[order].astype(np.int64),
        prior,
        entropy,
        np.minimum(1.0, 2.0 ** (entropy - of_class)),
        space._replace(points=np.ascontiguousarray(space.points[:, order])),
    )


def _companions(view: Microdata, memory: Memory) -> Places:
    """The group of everyone in the last release, -1 for whoever was in none."""
    former = np.full(view.rows, -1, dtype=np.int64)
    if view.people is not None and memory.size:
        entries = memory.find(view.people)
        there = entries >= 0
        there[there] = memory.columns["last"][entries[there]] == memory.release
        former[there] = memory.columns["group"][entries[there]].astype(np.int64) - 1
    return former


def _cut(line: Line, limits: GroupLimits, how: CutOptions, companions: Places) -> Places:
    if how.cut == "greedy":
        return np.asarray(greedy(line, limits))
    parted: FloatArray = partings(companions, int(companions.max(initial=-1)) + 1, STRAGGLERS)
    rows = len(line.codes)
    window = max(_SHORTEST, int(_WINDOWS * max(limits.rules.min_size, limits.crowd)))
    while True:
        group = np.asarray(optimal(line, limits, Prices(LEFT_OUT, how.keep * parted, window)))
        # Rows may be left out because the groups that would hold them are longer than the window.
        if window >= rows or rows * window > _MOST_STEPS or not (group == SUPPRESSED).any():
            return group
        window *= 4


def _part(line: Line, rows: IntArray) -> Line:
    """Some of the rows, in their order."""
    return Line(
        line.codes[rows],
        line.prior[rows],
        line.entropy[rows],
        line.weight[rows],
        line.space._replace(points=np.ascontiguousarray(line.space.points[:, rows])),
    )


def _and_rest(line: Line, limits: GroupLimits, how: CutOptions, group: Places) -> Places:
    """The groups, and those cut from the rows that are in none."""
    left = np.flatnonzero(group == SUPPRESSED)
    if not len(left):
        return group
    more = _cut(_part(line, left), limits, how, np.full(len(left), -1))
    joined = group.copy()
    joined[left] = np.where(more >= 0, more + group.max() + 1, SUPPRESSED)
    return joined


def revise(reasoning: Reasoning, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
    """The memory with what is believed of everyone once these groups are published."""
    thoughts = reasoning.thoughts(reasoning.respondents(view), memory)
    shown = grouping.group != SUPPRESSED
    found = reasoning.inferred(
        thoughts,
        grouping.group,
        np.concatenate([grouping.group[shown], grouping.counterfeit_group]),
        np.concatenate([view.codes[shown], grouping.counterfeit_code]),
    )
    return reasoning.remembered(thoughts, found.p, memory)


@dataclass(frozen=True)
class OrderedPublisher(Publisher):
    """What JS-reduce and BayFrame share.

    A subclass says by `_closeness` what a group must satisfy beside k, eased by a factor.
    """

    k: int = 3
    j: float = 0.6
    crowd: float = 32.0
    keep: float = 2.0
    order: str = "hilbert"
    cut: str = "optimal"
    rest: str = "insert"
    slack: float = 1.5
    least_k: int = 0
    posterior: str = "exact"
    steps: int | str = FULL
    form: str = "joint"
    against: str = "release"
    distance: str = "js"
    withstand: float = 0.0
    event_lists: bool | None = None
    knowledge: Knowledge | Extracted = field(default_factory=Extracted)
    require: tuple[Requirement, ...] = ()

    protects_series: ClassVar[bool] = True
    uses_knowledge: ClassVar[bool] = True
    two_table_defaults: ClassVar[dict[str, Any]] = {"crowd": 170.0}
    unsaid: ClassVar[dict[str, Any]] = {"least_k": 0, "against": "release", "distance": "js"}

    @abstractmethod
    def _closeness(self, slack: float) -> Requirement:
        """What a group must satisfy beside k."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", KAnonymity(self.k).k)
        object.__setattr__(self, "j", positive_number("j", self.j))
        object.__setattr__(self, "slack", number_at_least("slack", self.slack, 1))
        if self.least_k and not 2 <= KAnonymity(self.least_k).k <= self.k:
            raise PolicyError(
                "least_k, the k of groups of the rest with relax, must lie between 2 and k, or be 0 for k itself; "
                f"found {self.least_k}"
            )
        object.__setattr__(self, "withstand", number_at_least("withstand", self.withstand, 0))
        object.__setattr__(self, "require", only_requirements(self.require))
        if self.event_lists is not None and not isinstance(self.event_lists, bool):
            raise PolicyError("event_lists must be true or false")
        self._require_measurable()
        _ = self._cutting, self._bounds, self.reasoning

    def _require_measurable(self) -> None:
        if not self.withstand:
            return
        if self.rest == "counterfeit":
            raise PolicyError(
                "withstand is measured without counterfeits; let rest be insert, relax or suppress"
            )
        if self.posterior not in PRODUCTS or self.form != "joint":
            raise PolicyError(
                f"withstand needs a posterior that multiplies: it must be one of {', '.join(PRODUCTS)}, form joint; "
                f"found {self.posterior} and {self.form}"
            )
        if self.knowledge.gaps == "count":
            raise PolicyError(
                "withstand goes from appearance to appearance; let the knowledge skip gaps, or set withstand = 0"
            )
        if (self.distance, self.against) != ("js", "release"):
            raise PolicyError(
                "withstand mends groups by the Jensen-Shannon divergence and by the table as it is published; let "
                "distance be js and against be release"
            )

    @property
    def _cutting(self) -> CutOptions:
        return CutOptions(self.order, self.cut, self.rest, self.crowd, self.keep, self.against, self.distance)

    @cached_property
    def reasoning(self) -> Reasoning:
        return Reasoning(self.knowledge, self.posterior, last_values(self.steps), self.form)

    @property
    def undivided(self) -> str | None:
        """An adversary who weighs all releases keeps a release in one piece, and so does a view to compare with."""
        if self.against == "view":
            return "groups are compared with the whole view"
        if self.knowledge.gaps == "count":
            return "its knowledge counts the releases that people are absent from"
        return "withstand weighs all people of a release together" if self.withstand else None

    @property
    def division(self) -> Division:
        """Ranges of the curve, whatever the order inside a part."""
        return Division("hilbert")

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What every group satisfies against the table as it is published."""
        return _of_release(self._bounds[-1][0], self.against)

    @property
    def series_promises(self) -> tuple[str, ...]:
        asked, j = self._bounds[-1]
        promises = [f"{'' if self.distance == 'js' else 'ks-'}similarity={plain(j)}"]
        if self.withstand:
            name = "withstand-events" if self.event_lists else "withstand"
            promises.append(f"{name}={plain(self.withstand)}")
        if self.against == "view":
            promises.append(f"view-{asked[1].text}")
        return tuple(promises)

    @property
    def told_by_choices(self) -> str | None:
        told = (_CLOSED_EARLY if self.cut == "greedy" else "", _MENDED if self.withstand else "")
        return " ".join(filter(None, told)) or None

    @property
    def _bounds(self) -> tuple[tuple[tuple[Requirement, ...], float], ...]:
        """The requirements and the divergence asked for, then, with `relax`, those that the rest must satisfy."""
        asked = (KAnonymity(self.k), self._closeness(1.0), *self.require)
        if self.rest != "relax":
            return ((asked, self.j),)
        eased = (KAnonymity(self.least_k or self.k), self._closeness(self.slack), *self.require)
        return (asked, self.j), (eased, self.j if self.slack == 1 else round(self.j * self.slack, 9))

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return groups of nearly all rows; chance plays no part."""
        thoughts = self.reasoning.thoughts(self.reasoning.respondents(view), memory)
        if not self.withstand:
            return cut_in_order(view, memory, thoughts, self._cutting, self._bounds)
        if view.compromised is not None:
            raise PolicyError(
                "withstand is measured against an adversary who is told of nobody; give no compromised records, or set "
                "withstand = 0"
            )
        return withstanding(
            view,
            memory,
            thoughts,
            self.withstand,
            self.posterior,
            Mending(
                partial(cut_in_order, view, memory, thoughts, self._cutting, self._bounds),
                partial(joined, view, thoughts, self._bounds[-1]),
                partial(without_some, view, thoughts, self._bounds[-1]),
            ),
            bool(self.event_lists),
        )

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with what is believed of everyone in the view once this is published."""
        revised = revise(self.reasoning, view, grouping, memory)
        if not self.withstand or view.people is None:
            return revised
        classes = self.reasoning.knowledge.classes.of(view)
        return with_trail(view.people, grouping.group, view.codes, classes, revised)
