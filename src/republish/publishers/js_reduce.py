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

from dataclasses import dataclass
from typing import ClassVar, Self

from republish.inference import FULL
from republish.knowledge import Extracted, Knowledge
from republish.publishers._ordered.publisher import OrderedPublisher
from republish.requirements import Requirement, TCloseness


@dataclass(frozen=True)
class _Closeness:
    """The parameters before those that both publishers have."""

    k: int = 3
    t: float = 0.5


@dataclass(frozen=True)
class JSReduce(OrderedPublisher, _Closeness):
    """Groups of at least `k` rows, `t`-close, whose members' priors diverge by at most `j` bits.

    `rest` says what becomes of rows that fit in no group: `insert` puts them into groups that still hold with them,
    `relax` groups them under t and j times `slack`, by `least_k` rows or more where that is given, `counterfeit`
    leaves them out and puts a counterfeit in the nearest group in their place, `suppress` leaves them out, and so do
    the others with what remains.
    With `withstand` above 0 an adversary who weighs all releases together may stray by that many bits from what a
    group shows of its members, unless she would with everybody left out of the release: see
    `republish.inference.joint.withstand`. It is measured before every release, which takes time. With `event_lists`
    she also knows whose value changed since the last view, which only crowds of hundreds withstand for long.
    `posterior`, `steps` and `form` say how the adversary is taken to think; see `republish.inference.Reasoning`.
    `distance="ks"` limits to `j`, in the place of the divergence, the largest Kolmogorov-Smirnov distance of any two
    members' priors: that of their chances, added up along the order of the values (of a category: as they are listed).
    `against` says what t is measured by: the shares of values in the `release`, or in the `view` with those who are
    left out of it, as the paper has it; the promise says which.
    Without `knowledge` it is counted from the views themselves.
    """

    name: ClassVar[str] = "js-reduce"
    paper: ClassVar[str] = (
        "D. Riboni, L. Pareschi, C. Bettini: JS-reduce: defending your data from sequential background knowledge "
        "attacks, IEEE TDSC 9(3), 2012"
    )
    summary: ClassVar[str] = (
        "Puts people together of whom an adversary who knows how values follow each other believes much the same."
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", TCloseness(self.t).t)
        super().__post_init__()

    @classmethod
    def as_published(
        cls,
        k: int = 3,
        t: float = 0.5,
        j: float = 0.6,
        knowledge: Knowledge | Extracted | None = None,
        steps: int | str = FULL,
    ) -> Self:
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
            against="view",
            knowledge=Extracted() if knowledge is None else knowledge,
        )

    def _closeness(self, slack: float) -> Requirement:
        return TCloseness(self.t if slack == 1 else min(1.0, round(self.t * slack, 9)))
