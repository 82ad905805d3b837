"""Which worlds cuts allow, against the same spelled out."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.attacks.retracing.cut_walk import (
    BucketCuts,
    all_misplaced,
    count_cut_worlds,
    cut_walk,
    exchange,
    misplaced,
    standing,
)


def tree(groups: int, values: int, seed: int, nobodys: int = 0, known: float = 0.0) -> BucketCuts:
    """One cut of a bucket of some groups, by numbers with ties, and another one of its left side."""
    rng = np.random.default_rng(seed)
    count, half = groups * values, groups // 2
    real = np.ones(count, dtype=np.bool_)
    real[rng.choice(count, nobodys, replace=False)] = False
    entry, x, right, start = [], [], [], [0]
    for middle, last in ((half, groups), (half // 2, half)):
        those = np.flatnonzero(real & (np.arange(count) // values < last))
        at = rng.integers(0, 4, len(those)) + 2.0 * (those // values >= middle)
        order = np.argsort(at, kind="stable")
        entry.append(those[order])
        x.append(at[order])
        right.append((those // values >= middle)[order])
        start.append(start[-1] + len(those))
    path = np.array([[0, 1, -1] if g < half else [0, -1, -1] for g in range(groups)])
    lower, levels = np.array([half, half // 2]), np.array([groups, half])
    joined = np.concatenate(entry), np.concatenate(x), np.concatenate(right)
    return BucketCuts(np.array(start), *joined, lower, levels, path, real, rng.random(count) < known)


def wrong(found: BucketCuts, value: np.ndarray, cut: int, v: int) -> int:
    """The fewest on the wrong side of any threshold, and by how many the left side differs from its share."""
    here = range(found.start[cut], found.start[cut + 1])
    mine = [(found.x[i], found.right[i]) for i in here if value[found.entry[i]] == v]
    left = sum(not right for _, right in mine)
    fair = max(
        len(mine) * found.lower[cut] // found.levels[cut], len(mine) - found.levels[cut] + found.lower[cut]
    )
    thresholds = set(found.x) or {0.0}
    return min(sum(x < t if right else x > t for x, right in mine) for t in thresholds) + abs(left - fair)


def weights(found: BucketCuts, world: np.ndarray) -> np.ndarray:
    """In how many worlds every entry has every value."""
    n, w = world.shape
    weight, value = np.zeros((n * w, w)), np.empty(n * w, dtype=int)
    for ways in product(*(permutations(group) for group in world.tolist())):
        tried = np.array(ways)
        value[tried] = np.arange(w)
        known = (tried != world) & found.fixed[world]
        if not known.any() and not any(wrong(found, value, c, v) for c in range(2) for v in range(w)):
            weight[tried, np.arange(w)] += 1
    return weight


@given(seed=st.integers(0, 10_000), nobodys=st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_who_is_misplaced_is_what_the_twin_says(seed: int, nobodys: int) -> None:
    found = tree(4, 3, seed, nobodys)
    value = np.random.default_rng(seed).integers(0, 3, 12)
    for cut, v in product(range(2), range(3)):
        assert misplaced(found, value, cut, v) == wrong(found, value, cut, v)


@given(seed=st.integers(0, 10_000), nobodys=st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_exchanges_leave_as_many_misplaced_as_a_fresh_count_finds(seed: int, nobodys: int) -> None:
    found, world = tree(6, 3, seed, nobodys), np.arange(18).reshape(6, 3)
    now, rng = standing(found, world), np.random.default_rng(seed)
    for _ in range(12):
        g, (a, b) = int(rng.integers(6)), rng.choice(3, 2, replace=False)
        before = now.wrong.sum()
        change = exchange(found, now, world[g, a], world[g, b], g)
        world[g, [a, b]] = world[g, [b, a]]
        assert now.wrong.tolist() == all_misplaced(found, world).tolist()
        assert change == now.wrong.sum() - before


@pytest.mark.parametrize(("seed", "nobodys", "known"), [(1, 0, 0.0), (14, 2, 0.0), (3, 0, 0.2)])
def test_worlds_are_counted_and_drawn_alike(seed: int, nobodys: int, known: float) -> None:
    found, world = tree(4, 3, seed, nobodys, known), np.arange(12).reshape(4, 3)
    exact = count_cut_worlds(found, world.copy())
    assert exact.tolist() == weights(found, world).tolist()
    assert exact.any()
    drawn = np.zeros((2, 12, 3), dtype=np.int64)
    cut_walk(found, world.copy(), np.append(0.5, np.full(20_000, 1.5)), 1, drawn)
    assert drawn[0, 0].sum() == 20_000
    exact /= exact.sum(axis=1, keepdims=True)
    assert np.abs(drawn[1] / drawn[1].sum(axis=1, keepdims=True) - exact).max() < 0.04
