"""(B,t)-privacy: a group changes little in what is believed of each member (Li, Li, Zhang, ICDE 2009).

An adversary who knows the shares of the values among people like somebody has a prior of that person: kernel
regression over the quasi-identifiers of the view with bandwidth B (`republish.knowledge.kernel`). Once she
sees the values of the person's group she believes the Omega-estimate. The distance between the two is the
Jensen-Shannon divergence in bits, which lies between 0 and 1, after both were smoothed over the values.

Smoothing gives a value the mean of what is believed of all values, each weighted by 1 - (d/B)^2 for a distance
d below B; the means are then scaled to sum to 1. Distances between values:

- `equal`: every two values are 1 apart. For B up to 1 smoothing changes nothing; above 1 it mixes in equal shares;
- `ordered`: neighbours in the order are 1/(m-1) apart, m being the values that occur in the view;
- `hierarchical`: the height of the lowest common ancestor over the height of the hierarchy.

This is no function of a histogram, for it matters who is in a group. It is not closed under union: what two
groups show may agree with the priors of their members while what both show together does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self, get_args

import numpy as np

from republish.arrays import BoolArray, Int32Array, Int64Array, IntArray
from republish.errors import PolicyError
from republish.kernels import kernel
from republish.requirements.base import KERNEL_TOLERANCE, TOLERANCE, Values, Whole
from republish.requirements.parameters import plain, positive_number, share
from republish.requirements.t_closeness import Distance


@dataclass(frozen=True)
class BTPrivacy:
    """For every row, prior and posterior are at most `t` apart; the prior is that of bandwidth `b`."""

    b: float = 0.5
    t: float = 0.8
    distance: Distance = "equal"

    name: ClassVar[str] = "(B,t)-privacy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", positive_number("b of (B,t)-privacy", self.b))
        object.__setattr__(self, "t", share("t of (B,t)-privacy", self.t))
        if self.distance not in get_args(Distance):
            raise PolicyError(
                f"the distance of (B,t)-privacy must be one of {', '.join(get_args(Distance))}, "
                f"found {self.distance!r}"
            )

    @classmethod
    def of(cls, written: object) -> Self:
        """Return what is written B/t or B/t/distance, such as `0.5/0.8`, or the requirement given."""
        if isinstance(written, cls):
            return written
        b, t, distance = "", "", "equal"
        if isinstance(written, str) and written.count("/") in (1, 2):
            b, t, distance = (*written.split("/"), "equal")[:3]
        try:
            numbers = float(b), float(t)
        except ValueError:
            raise PolicyError(
                "bt must be written B/t or B/t/distance, such as 0.5/0.8 or 0.5/0.8/ordered, or be a BTPrivacy; "
                f"found a {type(written).__name__} that is neither"
            ) from None
        return cls(*numbers, distance.strip())  # type: ignore[arg-type]  # checked when built

    @property
    def parameter(self) -> str:
        return f"{plain(self.b)}/{plain(self.t)}{'' if self.distance == 'equal' else f'/{self.distance}'}"

    @property
    def text(self) -> str:
        return f"bt={self.parameter}"

    def describe(self) -> str:
        return (
            f"Whoever knows how values are spread among people within {plain(self.b)} of a person learns little "
            f"from the person's group: beliefs before and after are at most {plain(self.t)} bits apart."
        )

    def holds(self, reached: Values) -> BoolArray:
        """Return which distances are allowed, with the tolerance of a verifier."""
        return np.asarray(reached <= self.t + TOLERANCE)

    def smoothing(self, whole: Whole) -> Values:
        """Return the share of each value (column) in the mean of each (row); 0 x 0 where nothing is smoothed.

        Values that do not occur are left out, so that it does not matter what else is known.

        Raises:
            PolicyError: the values have no order or hierarchy to measure by.
        """
        apart = self._apart(whole)
        near = np.maximum(0.0, 1.0 - (apart / self.b) ** 2)
        absent = whole.overall <= 0
        near[absent] = near[:, absent] = 0.0
        np.fill_diagonal(near, 1.0)
        if np.count_nonzero(near) == whole.m:
            return np.zeros((0, 0))
        return np.asarray(near / near.sum(axis=1, keepdims=True))

    def _apart(self, whole: Whole) -> Values:
        if self.distance == "equal":
            return 1.0 - np.eye(whole.m)
        if self.distance == "ordered":
            if whole.order is None:
                raise PolicyError(_lacks("ordered", "an order", "an order or kind number"))
            rank = np.empty(whole.m)
            rank[whole.order] = np.cumsum(whole.overall[whole.order] > 0)
            return np.asarray(np.abs(rank[:, None] - rank) / max(1.0, rank.max(initial=0.0) - 1.0))
        if whole.nodes is None:
            raise PolicyError(_lacks("hierarchical", "a hierarchy", "a hierarchy"))
        apart = np.zeros((whole.m, whole.m))
        for level in whole.nodes.T:
            apart += level[:, None] != level
        return np.asarray(apart / max(1, whole.nodes.shape[1] - 1))


def _lacks(distance: str, what: str, remedy: str) -> str:
    return (
        f"(B,t)-privacy with distance {distance} needs {what} of the sensitive values, found none; give the "
        f"sensitive column {remedy} in the schema, or take distance equal"
    )


class Beliefs(NamedTuple):
    """What a kernel needs to know of an adversary.

    Attributes:
        prior: what she believes before, a row for each different tuple of quasi-identifiers.
        smoothed: the same after smoothing.
        place: the row of `prior` for every row of the view.
        smoothing: as `BTPrivacy.smoothing` returns it.
        limit: t, widened by the kernel's tolerance.
        asked: False where nothing is required; the rest is then empty.
    """

    prior: Values
    smoothed: Values
    place: IntArray
    smoothing: Values
    limit: float
    asked: bool


NO_BELIEFS = Beliefs(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros((0, 0)), 1.0, False)


def beliefs_of(required: BTPrivacy, prior: Values, place: IntArray, whole: Whole) -> Beliefs:
    """Return what `rows_within` reads, from the prior of every tuple and the tuple of every row."""
    prior = np.array(prior, np.float64, order="C")
    smoothing = required.smoothing(whole)
    smoothed = prior
    if len(smoothing):
        smoothed = prior @ smoothing.T
        smoothed /= smoothed.sum(axis=1, keepdims=True)
    place = np.array(place, np.int64)
    return Beliefs(prior, smoothed, place, smoothing, required.t + KERNEL_TOLERANCE, True)


@kernel
def rows_within(beliefs: Beliefs, rows: Int32Array, codes: Int32Array) -> bool:
    """Return whether these rows of a view, `codes` being theirs, are a group that satisfies the requirement."""
    m = beliefs.prior.shape[1]
    shares = np.zeros(m)
    for code in codes:
        shares[code] += 1.0 / codes.size
    shown = np.flatnonzero(shares)
    scale = _scale(beliefs, rows, shares, shown)
    posterior, smooth, every = np.zeros(m), np.zeros(m), np.arange(m)
    for row in rows:
        place = beliefs.place[row]
        if not _estimate(beliefs.prior[place], scale, shown, posterior):
            posterior[:] = shares
        if beliefs.smoothing.size > 0:
            _smooth(beliefs.smoothing, posterior, smooth)
            apart = _divergence(beliefs.smoothed[place], smooth, every)
        else:
            apart = _divergence(beliefs.prior[place], posterior, shown)
        if apart > beliefs.limit:
            return False
    return True


@kernel
def _scale(beliefs: Beliefs, rows: Int32Array, shares: Values, shown: Int64Array) -> Values:
    """Return how much more often each value is shown than expected; all 0 where one was not expected at all."""
    scale = np.zeros(shares.size)
    for row in rows:
        prior = beliefs.prior[beliefs.place[row]]
        for s in shown:
            scale[s] += prior[s]
    for s in shown:
        if scale[s] == 0.0:
            scale[:] = 0.0
            return scale
    for s in shown:
        scale[s] = shares[s] / scale[s]
    return scale


@kernel
def _estimate(prior: Values, scale: Values, shown: Int64Array, posterior: Values) -> bool:
    """Overwrite the posterior at the values shown by the Omega-estimate; False where the prior rules all out."""
    total = 0.0
    for s in shown:
        posterior[s] = prior[s] * scale[s]
        total += posterior[s]
    if total == 0.0:
        return False
    for s in shown:
        posterior[s] /= total
    return True


@kernel
def _smooth(smoothing: Values, p: Values, smooth: Values) -> None:
    """Overwrite `smooth` by the smoothed p, which sums to 1."""
    total = 0.0
    for i in range(p.size):
        smooth[i] = 0.0
        for j in range(p.size):
            smooth[i] += smoothing[i, j] * p[j]
        total += smooth[i]
    for i in range(p.size):
        smooth[i] /= total


@kernel
def _divergence(p: Values, q: Values, where: Int64Array) -> float:
    """Return the Jensen-Shannon divergence in bits; q has nothing but at the values `where`."""
    found = 0.0
    rest = 1.0
    for s in where:
        both = p[s] + q[s]
        if p[s] > 0.0:
            found += p[s] * math.log2(2.0 * p[s] / both)
        if q[s] > 0.0:
            found += q[s] * math.log2(2.0 * q[s] / both)
        rest -= p[s]
    # A value of p alone counts with log2(2) = 1.
    return float(0.5 * (found + max(rest, 0.0)))
