"""Slow, obvious twins of the requirements: plain Python, exact fractions wherever the definition allows.

Everything is asked of plain lists: `group` and `table` are histograms over the same sensitive codes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np


def shares(histogram):
    total = sum(histogram)
    return [Fraction(count, total) if total else Fraction(0) for count in histogram]


def exact(number):
    """The decimal that was written, not the nearest binary fraction."""
    return Fraction(repr(number))


def k_holds(k, group):
    return sum(group) >= k


def distinct_l(group):
    return len([count for count in group if count > 0])


def probabilistic_l(group):
    return 1 / max(shares(group))


def entropy_l(group):
    return math.exp(-math.fsum(float(q) * math.log(q) for q in shares(group) if q > 0))


def entropy_holds(l, group):  # noqa: E741
    # exp(entropy) >= l, taken to the power n: n^n >= l^n * product of count^count, all exact.
    n = sum(group)
    return n**n >= exact(l) ** n * math.prod(count**count for count in group)


def recursive_c(l, group):  # noqa: E741
    falling = sorted(group, reverse=True)
    rest = sum(falling[l - 1 :])
    return Fraction(falling[0], rest) if rest else math.inf


def gains(group, table):
    found = []
    for q, p in zip(shares(group), shares(table), strict=True):
        if q > p:
            found.append(((q - p) / p if p else math.inf, p))
    return found


def beta(group, table):
    return max((gain for gain, _ in gains(group, table)), default=Fraction(0))


def beta_enhanced(group, table):
    found = gains(group, table)
    if any(p == 0 or gain > -math.log(p) for gain, p in found):
        return math.inf
    return max((gain for gain, _ in found), default=Fraction(0))


def delta(group, table):
    worst = 0.0
    for q, p in zip(shares(group), shares(table), strict=True):
        if (q == 0) != (p == 0):
            return math.inf
        if q:
            worst = max(worst, abs(math.log2(q / p)))
    return worst


def delta_holds(halves, group, table):
    """Whether |log2(q / p)| < halves / 2 for every value: (q / p)^2 between 2^-halves and 2^halves."""
    for q, p in zip(shares(group), shares(table), strict=True):
        if q == p == 0:
            continue
        if q == 0 or p == 0 or not Fraction(1, 2**halves) < (q / p) ** 2 < 2**halves:
            return False
    return True


def equal_distances(m):
    return [[0.0 if i == j else 1.0 for j in range(m)] for i in range(m)]


def ordered_distances(order, table):
    """A value that does not occur in the table stands where the one before it stands."""
    steps = [sum(table[code] > 0 for code in order[: place + 1]) for place in range(len(order))]
    rank = {code: max(0, step - 1) for code, step in zip(order, steps, strict=True)}
    longest = max(1, sum(count > 0 for count in table) - 1)
    return [[abs(rank[i] - rank[j]) / longest for j in range(len(order))] for i in range(len(order))]


def hierarchical_distances(nodes):
    height = len(nodes[0]) - 1

    def apart(one, other):
        lowest = next(level for level in range(height + 1) if one[level] == other[level])
        return lowest / height if height else 0.0

    return [[apart(one, other) for other in nodes] for one in nodes]


def transport(group, table, distances):
    """The least work that turns one distribution into the other, as a transport problem."""
    import ot  # it loads much, and few tests come here

    supply = np.array([float(q) for q in shares(group)])
    demand = np.array([float(p) for p in shares(table)])
    return float(ot.emd2(supply / supply.sum(), demand / demand.sum(), np.array(distances)))


def equal_distance(group, table):
    return sum(abs(q - p) for q, p in zip(shares(group), shares(table), strict=True)) / 2


def ordered_distance(group, table, order):
    q, p = shares(group), shares(table)
    places = [place for place, code in enumerate(order) if table[code] > 0]
    carried = [sum(q[code] - p[code] for code in order[:place]) for place in places[1:]]
    return sum(abs(work) for work in carried) / max(1, len(places) - 1)


def hierarchical_distance(group, table, nodes):
    """As the paper has it: each node pays its height for what its children exchange among themselves."""
    q, p = shares(group), shares(table)
    height = len(nodes[0]) - 1
    total = Fraction(0)
    for level, below in [(above, under) for under, above in pairwise(range(height + 1))]:
        for node in {row[level] for row in nodes}:
            children = {row[below] for row in nodes if row[level] == node}
            extra = [
                sum(q[c] - p[c] for c, row in enumerate(nodes) if row[below] == child) for child in children
            ]
            given = sum(part for part in extra if part > 0)
            taken = -sum(part for part in extra if part < 0)
            total += Fraction(level, height) * min(given, taken)
    return total
