"""Walks through worlds too many to count, against worlds that are counted."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from attacks.retracing import gathered
from republish.attacks.retracing.gathering_walk import Handful, block_costs, demands, walk
from republish.attacks.retracing.precedence import count_worlds, ordered_world


@pytest.mark.parametrize("nobodys", [0, 2])
def test_costs_of_a_block_add_up_to_the_precedences_broken(nobodys: int) -> None:
    crowd = gathered.crowd(6, 4, 3, nobodys)
    rng = np.random.default_rng(1)
    world, order = np.arange(24).reshape(6, 4), rng.permutation(6)
    g, value = int(order[2]), np.array([1, 3])
    state = ordered_world(crowd, world.copy(), order)
    block = Handful(g, value, world[g, value])
    costs, between = block_costs(crowd, state, block, demands(crowd, state, block), np.inf)
    broken = []
    for way in ((0, 1), (1, 0)):
        tried = world.copy()
        tried[g, value] = world[g, value][list(way)]
        found = gathered.comes_before(crowd, tried)
        broken.append(sum(found[order[i], order[j]] for i in range(6) for j in range(i + 1, 6)))
    cost = [
        costs[0, first] + costs[1 << first, 1 - first] + between[0] + between[1 << first] for first in (0, 1)
    ]
    assert cost[1] - cost[0] == broken[1] - broken[0]


@pytest.mark.parametrize(("seed", "nobodys", "known"), [(9, 0, 0.0), (1, 2, 0.0), (2, 0, 0.2)])
def test_a_walk_finds_the_shares_of_worlds_that_are_counted(seed: int, nobodys: int, known: float) -> None:
    crowd = gathered.crowd(4, 3, seed, nobodys, known)
    world = np.arange(12).reshape(4, 3)
    exact = count_worlds(crowd, world.copy())
    exact /= exact.sum(axis=1, keepdims=True)
    drawn = np.zeros((2, 12, 3), dtype=np.int64)
    walk(crowd, world.copy(), np.arange(4), np.append(0.5, np.full(20_000, 2.5)), 1, drawn)
    assert drawn[0, 0].sum() == 20_000
    assert np.abs(drawn[1] / drawn[1].sum(axis=1, keepdims=True) - exact).max() < 0.04


def test_a_broken_precedence_costs_what_it_should() -> None:
    crowd, world = gathered.crowd(3, 3, 1, nobodys=2), np.arange(9).reshape(3, 3)
    exact = np.zeros((9, 3))
    for ways in product(*(permutations(group) for group in world.tolist())):
        tried = np.array(ways)
        if crowd.real[tried[:, 0]].all():
            found = gathered.comes_before(crowd, tried)
            broken = [found[a, b] + found[a, c] + found[b, c] for a, b, c in permutations(range(3))]
            exact[tried, np.arange(3)] += np.exp(-1.0 * np.array(broken)).sum()
    drawn = np.zeros((2, 9, 3), dtype=np.int64)
    walk(crowd, world.copy(), np.arange(3), np.full(20_000, 1.0), 1, drawn)
    assert np.abs(drawn[0] / 20_000 - exact / exact.sum(axis=1, keepdims=True)).max() < 0.03
