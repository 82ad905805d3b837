"""The gamma distribution and Student's t, for an interval and a test of fit: to import scipy takes longer than both.

Series and continued fractions of W. H. Press et al., Numerical Recipes, 3rd edition, 6.2 and 6.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from math import exp, inf, lgamma, log

_EXACT = 1e-15
_TINY = 1e-300
_HALVINGS = 200


def gamma_share(shape: float, x: float) -> float:
    """The probability that a gamma variable of this shape, and scale 1, is at most x."""
    if not 0 < x < inf:
        return float(x == inf)
    front = exp(shape * log(x) - x - lgamma(shape))
    if x >= shape + 1:
        terms = ((-i * (i - shape), x + 2 * i + 1 - shape) for i in count(1))
        return 1.0 - front / _fraction(x + 1 - shape, terms)
    term = total = 1.0 / shape
    for i in count(1):
        term *= x / (shape + i)
        total += term
        if term < total * _EXACT:
            break
    return total * front


def t_quantile(freedom: float, share: float) -> float:
    """What a variable of Student's t with so many degrees of freedom is at most, with a probability above one half."""
    low, high = 0.0, 1.0
    while _t_above(freedom, high) > 1 - share:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if _t_above(freedom, middle) > 1 - share else (low, middle)
    return high


def _t_above(freedom: float, t: float) -> float:
    return _beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def _beta_share(a: float, b: float, x: float) -> float:
    """The probability that a beta variable is at most x, which lies between 0 and 1."""
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_share(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    return front / _fraction(1.0, ((term, 1.0) for term in _beta_terms(a, b, x)))


def _beta_terms(a: float, b: float, x: float) -> Iterator[float]:
    for i in count():
        yield -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1))
        yield (i + 1) * (b - i - 1) * x / ((a + 2 * i + 1) * (a + 2 * i + 2))


def _fraction(first: float, terms: Iterator[tuple[float, float]]) -> float:
    """The continued fraction first + a1 / (b1 + a2 / (b2 + ...)), by the algorithm of Lentz."""
    value, above, below = first, first, 0.0
    for a, b in islice(terms, 100_000):
        below = b + a * below or _TINY
        above = b + a / above or _TINY
        below = 1 / below
        change = above * below
        value *= change
        if abs(change - 1) < _EXACT:
            break
    return value
