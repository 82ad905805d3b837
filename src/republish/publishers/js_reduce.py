"""JS-reduce: people of whom an adversary believes much the same share a group (Riboni, Pareschi and Bettini, 2012).

The publisher thinks as the adversary does: from what is known of values and of how they follow each other it computes
the prior of everyone in the view, given all releases so far. The rows are walked along the Hilbert curve and cut
into groups of at least k rows that are t-close and whose members' priors have a Jensen-Shannon divergence of at
most j bits. When a release is out, posteriors and revised beliefs go to the memory.

The paper closes a group as soon as it may (`cut="greedy"`). Once a run of rows violates j it often never recovers, and
the rest of the view is left out, up to all of it. Ours, the default, differs in three named options:

- `cut="optimal"`: of all cuts of the order one of least certainty penalty, with a high price for rows left out.
- `crowd`: a group has at least so many people, where a person counts by the number of values that are still likely,
  2 to the entropy of the prior, against that of somebody new of the same class. So groups grow as beliefs sharpen.
- `keep`: a price, in rows of which nothing is said, for a cut that parts people who were together in the last
  release. Whoever stays together shares a history, and equal histories make equal priors.

`JSReduce.as_published` is the paper's. docs/frontier.md has the measurements behind the defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from republish.inference import Reasoning
from republish.knowledge import Extracted, Knowledge
from republish.publishers._in_order import FULL, Cutting, cut_in_order, last_values, revise
from republish.requirements import KAnonymity, Requirement, TCloseness, only_requirements
from republish.requirements.parameters import number_at_least, plain, positive_number

if TYPE_CHECKING:
    import numpy as np

    from republish.grouping import Grouping
    from republish.memory import Memory
    from republish.microdata import Microdata


@dataclass(frozen=True)
class JSReduce:
    """Groups of at least `k` rows, `t`-close, whose members' priors diverge by at most `j` bits.

    `rest` says what becomes of rows that fit in no group: `insert` puts them into groups that still hold with them,
    `relax` groups them under t and j times `slack`, `counterfeit` leaves them out and puts a counterfeit in the
    nearest group in their place, `suppress` leaves them out, and so do the others with what remains.
    `posterior`, `steps` and `form` say how the adversary is taken to think; see `republish.inference.Reasoning`.
    Without `knowledge` it is counted from the views themselves.
    """

    k: int = 3
    t: float = 0.5
    j: float = 0.6
    crowd: float = 32.0
    keep: float = 2.0
    order: str = "hilbert"
    cut: str = "optimal"
    rest: str = "insert"
    slack: float = 1.5
    posterior: str = "exact"
    steps: int | str = FULL
    form: str = "joint"
    knowledge: Knowledge | Extracted = field(default_factory=Extracted)
    require: tuple[Requirement, ...] = ()

    name: ClassVar[str] = "js-reduce"
    paper: ClassVar[str] = (
        "D. Riboni, L. Pareschi, C. Bettini: JS-reduce: defending your data from sequential background knowledge "
        "attacks, IEEE TDSC 9(3), 2012"
    )
    summary: ClassVar[str] = (
        "Puts people together of whom an adversary who knows how values follow each other believes much the same."
    )
    protects_series: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        object.__setattr__(self, "k", KAnonymity(self.k).k)
        object.__setattr__(self, "t", TCloseness(self.t).t)
        object.__setattr__(self, "j", positive_number("j", self.j))
        object.__setattr__(self, "slack", number_at_least("slack", self.slack, 1))
        object.__setattr__(self, "require", only_requirements(self.require))
        _ = self._cutting, self.reasoning

    @classmethod
    def as_published(
        cls,
        k: int = 3,
        t: float = 0.5,
        j: float = 0.6,
        knowledge: Knowledge | Extracted | None = None,
        steps: int | str = FULL,
    ) -> JSReduce:
        """The algorithm of the paper: a group is closed as soon as it may, and what is left at the end is left out."""
        return cls(
            k,
            t,
            j,
            crowd=0.0,
            keep=0.0,
            cut="greedy",
            rest="suppress",
            posterior="omega",
            steps=steps,
            form="product",
            knowledge=Extracted() if knowledge is None else knowledge,
        )

    @property
    def _cutting(self) -> Cutting:
        return Cutting(self.order, self.cut, self.rest, self.crowd, self.keep)

    @cached_property
    def reasoning(self) -> Reasoning:
        """How the adversary is taken to think."""
        return Reasoning(self.knowledge, self.posterior, last_values(self.steps), self.form)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What every group satisfies."""
        return self._bounds[-1][0]

    @property
    def series_promises(self) -> tuple[str, ...]:
        """What holds over all releases together."""
        return (f"similarity={plain(self._bounds[-1][1])}",)

    @property
    def _bounds(self) -> tuple[tuple[tuple[Requirement, ...], float], ...]:
        """The requirements and the divergence asked for, then, with `relax`, those that the rest must satisfy."""
        asked = ((KAnonymity(self.k), TCloseness(self.t), *self.require), self.j)
        if self.rest != "relax":
            return (asked,)
        eased = TCloseness(min(1.0, round(self.t * self.slack, 9)))
        return (asked, ((KAnonymity(self.k), eased, *self.require), round(self.j * self.slack, 9)))

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return groups of nearly all rows; chance plays no part."""
        thoughts = self.reasoning.thoughts(self.reasoning.respondents(view), memory)
        return cut_in_order(view, memory, thoughts, self._cutting, self._bounds)

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with what is believed of everyone in the view once this is published."""
        return revise(self.reasoning, view, grouping, memory)
