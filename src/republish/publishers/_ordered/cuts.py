"""Where an order of rows is cut into groups: as soon as the rows allow it, or at the least cost.

A group must satisfy the rules, its members' priors must not be further apart than a limit, and its members must be a
crowd: the sum of their weights must reach a number. Priors are apart by their Jensen-Shannon divergence, or by the
largest Kolmogorov-Smirnov distance of any two, which is that of the lowest and the highest cumulative chances.
`greedy` closes a group as soon as that holds (JS-reduce, Alg. 4). `optimal` finds, among all cuts into groups of at
most `window` rows and rows left out, one of least cost: the certainty penalty of every row, a price for a row left
out, and a price for each place where a cut parts people who were together before.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.kernels import kernel
from republish.publishers._kernels.mondrian import Space
from republish.requirements.base import Rules
from republish.requirements.rules import satisfied
from republish.spatial.extents import FLAT, extent

_ROUNDING = 1e-12
JS, KS = 0, 1
"""How far priors are apart: Jensen-Shannon divergence in bits, or Kolmogorov-Smirnov distance."""


class Line(NamedTuple):
    """Rows in the order in which they are cut: `codes[i]`, `prior[i]`, `weight[i]` and `points[:, i]` of row i.

    `entropy` is that of each prior, in bits; `space` holds the kinds of the axes, and its points are in this order. For
    the Kolmogorov-Smirnov distance `prior` holds cumulative chances.
    """

    codes: Int64Array
    prior: FloatArray
    entropy: FloatArray
    weight: FloatArray
    space: Space


class GroupLimits(NamedTuple):
    """What a group must satisfy: rules on its values, priors at most so far apart, at least this crowd."""

    rules: Rules
    divergence: float
    crowd: float
    distance: int = JS


class Prices(NamedTuple):
    """What a cut costs beside the certainty penalty: a row left out, and a cut before row i, `parting[i]`."""

    left_out: float
    parting: FloatArray
    window: int


@kernel
def bits(p: float) -> float:
    """Return the part of an entropy, in bits, that a probability contributes."""
    return -p * math.log2(p) if p > 0.0 else 0.0


@kernel
def entropies(prior: FloatArray) -> FloatArray:
    """Return the entropy of every row, in bits."""
    found = np.zeros(len(prior))
    for i in range(len(prior)):
        for s in range(prior.shape[1]):
            found[i] += bits(prior[i, s])
    return found


@kernel
def divergence(total: FloatArray, entropy: float, size: int) -> float:
    """Return the Jensen-Shannon divergence of `size` priors with this sum and this sum of entropies."""
    mean = 0.0
    for s in range(len(total)):
        mean += bits(total[s] / size)
    return mean - entropy / size


@kernel
def _clear(spread: FloatArray, distance: int) -> None:
    """Make a spread that of nobody: sums of priors and of entropies, or low and high of cumulative chances."""
    if distance == JS:
        spread[:] = 0.0
    else:
        spread[0], spread[1] = np.inf, -np.inf


@kernel
def _spread_to(spread: FloatArray, line: Line, i: int, distance: int) -> None:
    """Let a spread be that of one row more."""
    if distance == JS:
        for s in range(spread.shape[1]):
            spread[0, s] += line.prior[i, s]
        spread[1, 0] += line.entropy[i]
    else:
        for s in range(spread.shape[1]):
            spread[0, s] = min(spread[0, s], line.prior[i, s])
            spread[1, s] = max(spread[1, s], line.prior[i, s])


@kernel
def _apart(spread: FloatArray, size: int, distance: int) -> float:
    """Return how far the priors of `size` rows with this spread are apart."""
    if distance == JS:
        return float(divergence(spread[0], spread[1, 0], size))
    most = 0.0
    for s in range(spread.shape[1]):
        most = max(most, spread[1, s] - spread[0, s])
    return most


@kernel
def greedy(line: Line, limits: GroupLimits) -> Int64Array:
    """Return the group of every row of the line, -1 for the rows after the last group."""
    n, m = line.prior.shape
    group = np.full(n, -1, np.int64)
    counts, spread = np.zeros(m, np.int64), np.empty((2, m))
    _clear(spread, limits.distance)
    weight, begin, made = 0.0, 0, 0
    for i in range(n):
        counts[line.codes[i]] += 1
        _spread_to(spread, line, i, limits.distance)
        weight += line.weight[i]
        size = i - begin + 1
        if (
            weight >= limits.crowd - _ROUNDING
            and satisfied(limits.rules, counts, size)
            and _apart(spread, size, limits.distance) <= limits.divergence + _ROUNDING
        ):
            group[begin : i + 1] = made
            made += 1
            begin = i + 1
            counts[:] = 0
            _clear(spread, limits.distance)
            weight = 0.0
    return group


@kernel
def optimal(line: Line, limits: GroupLimits, prices: Prices) -> Int64Array:
    """Return the group of every row of the line in a cut of least cost, -1 for rows left out.

    Of equal costs the one found first: fewer rows in the last group.
    """
    n, m = line.prior.shape
    q = line.space.points.shape[0]
    cost = np.empty(n + 1)
    begin = np.empty(n + 1, np.int64)
    cost[0] = 0.0
    counts, spread = np.zeros(m, np.int64), np.empty((2, m))
    low, high, held = np.empty(q), np.empty(q), np.empty(q, np.int64)
    widest = 1
    for a in range(q):
        if line.space.kind[a] == FLAT:
            widest = max(widest, int(line.space.width[a]))
    stamp = np.zeros((q, widest), np.int64)
    for end in range(1, n + 1):
        cost[end], begin[end] = cost[end - 1] + prices.left_out, end
        counts[:] = 0
        _clear(spread, limits.distance)
        low[:], high[:], held[:] = np.inf, -np.inf, 0
        weight = 0.0
        for i in range(end - 1, max(-1, end - 1 - prices.window), -1):
            counts[line.codes[i]] += 1
            _spread_to(spread, line, i, limits.distance)
            weight += line.weight[i]
            penalty = 0.0
            for a in range(q):
                x = line.space.points[a, i]
                low[a], high[a] = min(low[a], x), max(high[a], x)
                if line.space.kind[a] == FLAT:
                    if x > -np.inf and stamp[a, int(x)] != end:
                        stamp[a, int(x)] = end
                        held[a] += 1
                    if low[a] == -np.inf:
                        penalty += 0.0 if high[a] == -np.inf else line.space.weight[a]
                    elif held[a] > 1:
                        penalty += line.space.weight[a] * (held[a] / line.space.width[a])
                else:
                    penalty += extent(line.space, a, low[a], high[a])
            size = end - i
            if size < limits.rules.min_size or weight < limits.crowd - _ROUNDING:
                continue
            price = cost[i] + prices.parting[end] + size * (penalty / q if q > 0 else 0.0)
            if price >= cost[end] - _ROUNDING:
                continue
            if (
                satisfied(limits.rules, counts, size)
                and _apart(spread, size, limits.distance) <= limits.divergence + _ROUNDING
            ):
                cost[end], begin[end] = price, i
    return _traced(begin)


@kernel
def _traced(begin: Int64Array) -> Int64Array:
    """Return the group of every row, numbered along the line, from where the group that ends at a row begins."""
    n = len(begin) - 1
    group = np.full(n, -1, np.int64)
    end, made = n, 0
    while end > 0:
        if begin[end] == end:
            end -= 1
            continue
        group[begin[end] : end] = made
        made += 1
        end = begin[end]
    for i in range(n):
        if group[i] >= 0:
            group[i] = made - 1 - group[i]
    return group


@kernel
def partings(companions: Int64Array, groups: int, tolerance: float) -> FloatArray:
    """Return how many former groups a cut before each row parts; `companions` is each row's former group or -1.

    A group is parted where more than this share of it lies on either side.
    """
    n = len(companions)
    size, left = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    for i in range(n):
        if companions[i] >= 0:
            size[companions[i]] += 1
    parted = np.zeros(n + 1)
    now = 0
    for i in range(n - 1):
        g = companions[i]
        if g >= 0:
            least = tolerance * size[g]
            now -= 1 if min(left[g], size[g] - left[g]) > least else 0
            left[g] += 1
            now += 1 if min(left[g], size[g] - left[g]) > least else 0
        parted[i + 1] = now
    return parted


@kernel
def insert(line: Line, limits: GroupLimits, group: Int64Array, groups: int) -> Int64Array:
    """Return the groups with every row that is in none put into the one that it widens least, where one admits it.

    Rows go in their order; what a row changes counts for those after it (BayFrame, Alg. 1, lines 16 to 24).
    """
    n, m = line.prior.shape
    q = line.space.points.shape[0]
    counts, size = np.zeros((groups, m), np.int64), np.zeros(groups, np.int64)
    spread, trial = np.empty((groups, 2, m)), np.empty((2, m))
    for g in range(groups):
        _clear(spread[g], limits.distance)
    low, high = np.full((groups, q), np.inf), np.full((groups, q), -np.inf)
    filled = group.copy()
    for i in range(n):
        if group[i] >= 0:
            _take_in(line, i, group[i], limits.distance, counts, spread, size, low, high)
    for i in range(n):
        if group[i] >= 0:
            continue
        best, least = -1, np.inf
        for g in range(groups):
            wider = 0.0
            for a in range(q):
                x = line.space.points[a, i]
                wider += extent(line.space, a, min(low[g, a], x), max(high[g, a], x)) * (size[g] + 1)
                wider -= extent(line.space, a, low[g, a], high[g, a]) * size[g]
            if wider >= least:
                continue
            counts[g, line.codes[i]] += 1
            trial[:] = spread[g]
            _spread_to(trial, line, i, limits.distance)
            admitted = (
                satisfied(limits.rules, counts[g], size[g] + 1)
                and _apart(trial, size[g] + 1, limits.distance) <= limits.divergence + _ROUNDING
            )
            counts[g, line.codes[i]] -= 1
            if admitted:
                best, least = g, wider
        if best >= 0:
            filled[i] = best
            _take_in(line, i, best, limits.distance, counts, spread, size, low, high)
    return filled


@kernel
def unfit(rules: Rules, codes: Int64Array, start: Int64Array) -> BoolArray:
    """Return which groups do not satisfy the rules; `codes[start[g] : start[g + 1]]` are the values of group g."""
    counts = np.zeros(len(rules.overall), np.int64)
    found = np.zeros(len(start) - 1, np.bool_)
    for g in range(len(found)):
        for i in range(start[g], start[g + 1]):
            counts[codes[i]] += 1
        found[g] = not satisfied(rules, counts, start[g + 1] - start[g])
        for i in range(start[g], start[g + 1]):
            counts[codes[i]] = 0
    return found


@kernel
def _take_in(line, i, g, distance, counts, spread, size, low, high):  # type: ignore[no-untyped-def]
    counts[g, line.codes[i]] += 1
    size[g] += 1
    _spread_to(spread[g], line, i, distance)
    for a in range(low.shape[1]):
        low[g, a] = min(low[g, a], line.space.points[a, i])
        high[g, a] = max(high[g, a], line.space.points[a, i])


@kernel
def stand_ins(line: Line, rules: Rules, group: Int64Array, groups: int) -> tuple[Int64Array, Int64Array]:
    """Return group and code of a counterfeit for each row in no group, -1 for rows whose nearest group admits none.

    The group is that of the nearest row along the line that is in one; the code is the one that the group
    lacks most, against the whole.
    """
    n, m = line.prior.shape
    counts, size = np.zeros((groups, m), np.int64), np.zeros(groups, np.int64)
    nearest, steps = np.full(n, -1, np.int64), np.full(n, n + 1, np.int64)
    seen, at = -1, 0
    for i in range(n):
        if group[i] >= 0:
            counts[group[i], line.codes[i]] += 1
            size[group[i]] += 1
            seen, at = group[i], i
        elif seen >= 0:
            nearest[i], steps[i] = seen, i - at
    seen = -1
    for i in range(n - 1, -1, -1):
        if group[i] >= 0:
            seen, at = group[i], i
        elif seen >= 0 and at - i < steps[i]:
            nearest[i] = seen
    code = np.full(n, -1, np.int64)
    for i in range(n):
        g = nearest[i]
        if group[i] >= 0 or g < 0:
            nearest[i] = -1
            continue
        lacking = 0
        for s in range(m):
            if (
                rules.overall[s] * size[g] - counts[g, s]
                > rules.overall[lacking] * size[g] - counts[g, lacking]
            ):
                lacking = s
        counts[g, lacking] += 1
        if satisfied(rules, counts[g], size[g] + 1):
            size[g] += 1
            code[i] = lacking
        else:
            counts[g, lacking] -= 1
            nearest[i] = -1
    return nearest, code
