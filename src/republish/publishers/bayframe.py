"""BayFrame: J-similarity against correlated values and compromised records (Amiri, Yazdani, Shakery and Ho, 2019).

The publisher recreates the adversary's reasoning as JS-reduce does, with a Bayesian estimator of her posteriors and
with compromised records: what she knows of single people enters her priors (`cascade="prior"`, known before the
release) or her posteriors (`cascade="posterior"`, known after it). Its algorithm, BKAA, walks the rows by nearest point
next, each followed by the nearest one left, and closes a group as soon as it has k rows, beta-likeness, and priors
that diverge by at most J bits. Rows left at the end are tried in the groups there are and else left out.

`BayFrame.as_published` is the paper's. By default the Hilbert curve, which changes less from release to release, is cut
at the least cost into crowds that stay together, and the adversary is taken to infer better: see
`republish.publishers.js_reduce` for these options.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from republish.inference import Reasoning, last_values
from republish.knowledge import Extracted, Knowledge
from republish.publishers._ordered.publisher import OrderedPublisher
from republish.requirements import BetaLikeness, Requirement

LARGEST = 9
"""The largest group whose bijections the paper's estimator is taken to look at, 362,880 of them."""


@dataclass(frozen=True)
class _Likeness:
    """The parameters before those that both publishers have."""

    k: int = 3
    beta: float = 5.0


@dataclass(frozen=True)
class BayFrame(OrderedPublisher, _Likeness):
    """Groups of at least `k` rows with beta-likeness, whose members' priors diverge by at most `j` bits.

    The other parameters are those of `JSReduce`; `cascade` says where what is known of single people enters. In groups
    of more than `omega_above` rows, where that is not 0, the Omega-estimate stands in for the posterior.
    """

    cascade: str = "prior"
    omega_above: int = 0

    unsaid: ClassVar[dict[str, Any]] = {**OrderedPublisher.unsaid, "omega_above": 0}
    name: ClassVar[str] = "bayframe"
    paper: ClassVar[str] = (
        "F. Amiri, N. Yazdani, A. Shakery, S.-S. Ho: Bayesian-based anonymization framework against background "
        "knowledge attack in continuous data publishing, Transactions on Data Privacy 12(3), 2019"
    )
    summary: ClassVar[str] = (
        "Like js-reduce, also against an adversary who knows the values of some people more or less surely."
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", BetaLikeness(self.beta).beta)
        super().__post_init__()

    @classmethod
    def as_published(
        cls,
        k: int = 3,
        beta: float = 5.0,
        j: float = 0.6,
        knowledge: Knowledge | Extracted | None = None,
        steps: int | str = 1,
        cascade: str = "prior",
    ) -> BayFrame:
        """The algorithm and the estimator of the paper, and for large groups the Omega-estimate.

        The paper does not say what is large. Its estimator goes through all bijections: here of up to 9 rows.
        """
        return cls(
            k,
            beta,
            j,
            crowd=0.0,
            keep=0.0,
            order="nearest",
            cut="greedy",
            posterior="bayes",
            steps=steps,
            form="chained",
            against="view",
            cascade=cascade,
            omega_above=LARGEST,
            knowledge=Extracted() if knowledge is None else knowledge,
        )

    @cached_property
    def reasoning(self) -> Reasoning:
        steps = last_values(self.steps)
        return Reasoning(self.knowledge, self.posterior, steps, self.form, self.cascade, self.omega_above)

    def _closeness(self, slack: float) -> Requirement:
        return BetaLikeness(self.beta if slack == 1 else round(self.beta * slack, 9))
