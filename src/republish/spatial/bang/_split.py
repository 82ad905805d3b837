"""Splitting blocks of a BANG file whose points are sorted by key.

The own points of a block are a sorted run of the keys, and those inside any nested region a run within it. So a
split takes a run out of the middle: what was left and right of it moves together. Halvings are binary
searches for one bit, and levels at which all points agree are skipped by comparing the first and the last key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from republish.arrays import Int32Array, IntArray, WordArray
from republish.kernels import kernel
from republish.requirements.base import Rules
from republish.requirements.rules import satisfied
from republish.spatial._key_bits import bit_at, first_difference, longer


class Points(NamedTuple):
    """The points in the order of the blocks under construction.

    `mark[begin]` is the level of the region whose block begins there, plus 1. `codes` belong to rows, not places.
    """

    keys: WordArray
    row: Int32Array
    codes: Int32Array
    mark: NDArray[np.int16]
    word: WordArray
    number: Int32Array


class Demand(NamedTuple):
    """What a block must hold: at least `m` points and whatever the rules say; split from `full` points on."""

    m: int
    full: int
    levels: int
    rules: Rules


@kernel
def split_all(points: Points, demand: Demand, runs: IntArray, grain: int) -> IntArray:
    """Split the blocks of the given runs until nothing can be split; mark where the blocks begin.

    A run is a line of begin, end and level. Those of at most `grain` points are not looked at but returned.
    """
    counts = np.zeros((2, demand.rules.overall.size), np.int64)
    path = np.empty((demand.levels + 1, 3), np.int64)
    # The smaller part is handled first, so that the stack never holds more than log2(n) parts of a run.
    depth = len(runs)
    stack = np.empty((depth + 64, 3), np.int64)
    for line in range(depth):
        for part in range(3):
            stack[line, part] = runs[line, part]
    left: IntArray = np.empty((16, 3), np.int64)
    kept = 0
    while depth > 0:
        depth -= 1
        begin, end, level = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if end - begin <= grain:
            if kept == len(left):
                left = longer(left)
            left[kept, 0], left[kept, 1], left[kept, 2] = begin, end, level
            kept += 1
            continue
        low, high, deeper = _split(points, demand, begin, end, path, counts)
        if low == high:
            points.mark[begin] = level + 1
            continue
        size = high - low
        if end - high <= low - begin:
            _move_back(points, low, high, end)
            inner, outer = (end - size, end), (begin, end - size)
        else:
            _move_front(points, begin, low, high)
            inner, outer = (begin, begin + size), (begin + size, end)
        later = 0 if 2 * size >= end - begin else 1
        for turn in range(2):
            run, run_level = (inner, deeper) if turn == later else (outer, level)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = run[0], run[1], run_level
            depth += 1
    return left[:kept]


@kernel
def _split(
    points: Points, demand: Demand, begin: int, end: int, path: IntArray, counts: IntArray
) -> tuple[int, int, int]:
    """Return the run and the level of the best region to take out of a block; an empty run where there is none.

    The fuller half is halved again and again; the region with the most even balance is taken. Where it does not
    satisfy the rules the others on the path are tried, the more even ones first.
    """
    keys, n = points.keys, end - begin
    if n < demand.full:
        return begin, begin, 0
    low, high = begin, end
    steps = 0
    while high - low >= 2:
        level = first_difference(keys, low, keys, high - 1)
        if level >= demand.levels:
            break
        middle = _boundary(keys, low, high, level)
        if middle - low >= high - middle:
            high = middle
        else:
            low = middle
        path[steps, 0], path[steps, 1], path[steps, 2] = low, high, level + 1
        steps += 1
        if high - low < demand.m or (demand.rules.plain and 2 * (high - low) <= n):
            break
    while steps > 0:
        best = 0
        for s in range(1, steps):
            if abs(2 * (path[s, 1] - path[s, 0]) - n) < abs(2 * (path[best, 1] - path[best, 0]) - n):
                best = s
        low, high, level = path[best, 0], path[best, 1], path[best, 2]
        if high - low < demand.m or n - (high - low) < demand.m:
            break
        if demand.rules.plain or _holds(points, demand.rules, begin, end, low, high, counts):
            return low, high, level
        steps -= 1
        for s in range(best, steps):
            for part in range(3):
                path[s, part] = path[s + 1, part]
    return begin, begin, 0


@kernel
def _boundary(keys: WordArray, low: int, high: int, level: int) -> int:
    """Return the first key of a sorted run whose bit at the level is 1; the bits before it must agree."""
    while low < high:
        middle = (low + high) // 2
        if bit_at(keys, middle, level) == 1:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _holds(points: Points, rules: Rules, begin: int, end: int, low: int, high: int, counts: IntArray) -> bool:
    """Return whether both the points of a run and the other points of a block satisfy the rules."""
    for code in range(counts.shape[1]):
        counts[0, code] = counts[1, code] = 0
    for i in range(begin, end):
        inside = 1 if low <= i < high else 0
        counts[inside, points.codes[points.row[i]]] += 1
    inner = high - low
    return bool(satisfied(rules, counts[1], inner) and satisfied(rules, counts[0], end - begin - inner))


@kernel
def _move_back(points: Points, low: int, high: int, end: int) -> None:
    """Exchange the run from `low` to `high` with what follows it up to `end`."""
    size, rest = high - low, end - high
    if rest == 0:
        return
    for w in range(points.keys.shape[0]):
        _exchange(points.keys[w], points.word[low : low + rest], low, high, rest, size)
    _exchange(points.row, points.number[low : low + rest], low, high, rest, size)


@kernel
def _move_front(points: Points, begin: int, low: int, high: int) -> None:
    """Exchange the run from `low` to `high` with what stands before it from `begin` on."""
    size, rest = high - low, low - begin
    if rest == 0:
        return
    for w in range(points.keys.shape[0]):
        _lift(points.keys[w], points.word[begin : begin + rest], begin, low, rest, size)
    _lift(points.row, points.number[begin : begin + rest], begin, low, rest, size)


@kernel
def _exchange(
    values: NDArray[np.generic], spare: NDArray[np.generic], low: int, high: int, rest: int, size: int
) -> None:
    """Move the `rest` values from `high` on to `low`, and the `size` values that stood there behind them."""
    for i in range(rest):
        spare[i] = values[high + i]
    for i in range(size - 1, -1, -1):
        values[low + rest + i] = values[low + i]
    for i in range(rest):
        values[low + i] = spare[i]


@kernel
def _lift(
    values: NDArray[np.generic], spare: NDArray[np.generic], begin: int, low: int, rest: int, size: int
) -> None:
    """Move the `size` values from `low` on to `begin`, and the `rest` values that stood there behind them."""
    for i in range(rest):
        spare[i] = values[begin + i]
    for i in range(size):
        values[begin + i] = values[low + i]
    for i in range(rest):
        values[begin + size + i] = spare[i]
