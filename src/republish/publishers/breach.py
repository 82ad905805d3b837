"""How likely Cor-Split's two inferences lay a person's value open, and the degree n that keeps it unlikely.

The model of Riboni and Bettini (section 3): every tuple is compromised with probability p, alone; a person is
released at most L times, each time in a group of m different values. One false value of a person is excluded

- by compromised tuples, if in one of her L groups the tuple with that value is compromised;
- by historical correlations, if all n people of one of the at most L * floor(m/n) sets that she is correlated
  with are compromised and have another value.

Her value is laid open when all m - 1 false values are excluded. The overall probability follows the
function that n-Choose minimises over (Fig. 3); Theorem 2 as printed carries floor(m/n) also in the exponent of
1 - p, against Lemma 1 and against the figure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from republish.arrays import BoolArray, FloatArray
from republish.errors import PolicyError


@dataclass(frozen=True)
class BreachProbability:
    """Probabilities of the shape that the parameters broadcast to.

    Attributes:
        probability: that all m - 1 false values of a person are excluded (p_pb).
        compromised_part: that one false value is excluded by compromised tuples (p_ct, Lemma 1).
        historical_part: that one false value is excluded by historical correlations (p_hc, Lemma 2).
    """

    probability: FloatArray
    compromised_part: FloatArray
    historical_part: FloatArray


def breach_probability(p: ArrayLike, L: ArrayLike, m: ArrayLike, n: ArrayLike) -> BreachProbability:
    """Return how likely a person's value is laid open, with its two parts; arrays are broadcast.

    Args:
        p: probability that a tuple is compromised.
        L: how many releases a person is in, at most.
        m: number of values in a group.
        n: least number of people that a historical correlation relates, 1 to m.

    Raises:
        PolicyError: a parameter is out of range.
    """
    p_, releases, m_, n_ = (_numbers(name, x) for name, x in (("p", p), ("L", L), ("m", m), ("n", n)))
    _require("p must be a probability from 0 to 1", (p_ >= 0) & (p_ <= 1))
    _require("L must be a whole number of at least 1", (releases >= 1) & (releases == np.floor(releases)))
    _require("m must be a whole number of at least 2", (m_ >= 2) & (m_ == np.floor(m_)))
    _require("n must be a whole number from 1 to m", (n_ >= 1) & (n_ <= m_) & (n_ == np.floor(n_)))
    not_compromised = (1.0 - p_) ** releases
    not_correlated = (1.0 - (p_ - p_ / m_) ** n_) ** (releases * np.floor(m_ / n_))
    probability = (1.0 - not_compromised * not_correlated) ** (m_ - 1.0)
    parts = np.broadcast_arrays(probability, 1.0 - not_compromised, 1.0 - not_correlated)
    return BreachProbability(*(np.array(part) for part in parts))


def n_choose(p: float, L: int, m: int, h: float) -> int:
    """Return the least degree n of hc-safety that keeps the probability of a breach below h (Fig. 3).

    With p = .04, m = 6 and h = .1 that is 3 for L = 24 (.0956). For L = 21 it is 2 (.0806), where section 5
    of the paper says 3.

    Raises:
        PolicyError: no n from 1 to m suffices, or a parameter is out of range.
    """
    limit, values = _numbers("h", h), _numbers("m", m)
    if limit.ndim or not 0.0 < limit <= 1.0:
        raise PolicyError(
            "h must lie above 0 and not above 1, found another number; give the limit of a probability"
        )
    _require("m must be one whole number of at least 2", np.asarray(not values.ndim and values >= 2))
    reached = breach_probability(p, L, m, np.arange(1, int(values) + 1)).probability
    enough = np.flatnonzero(reached < h)
    if not enough.size:
        raise PolicyError(
            f"the probability of a breach must stay below h={h:g}; with p={p:g}, L={L} and m={m} it is at least "
            f"{reached.min():.3g} whatever n is; raise m, publish everyone less often (a smaller L), or raise h"
        )
    return int(enough[0]) + 1


def _numbers(name: str, given: ArrayLike) -> FloatArray:
    array = np.asarray(given)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise PolicyError(f"{name} must be a finite number, found {type(given).__name__}; give a number")
    return array.astype(np.float64)


def _require(rule: str, holds: BoolArray) -> None:
    if not holds.all():
        raise PolicyError(f"{rule}; found {holds.size - np.count_nonzero(holds)} that are not; correct them")
