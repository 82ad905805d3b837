"""What publishers that keep signatures tell of how people are put together, against all that chance may do."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from publishers.dynamic import view_of
from republish import Cohorts, CorSplit, MInvariance, TauSafety
from republish.attacks import Adversary, Means
from republish.errors import CannotPublish
from republish.memory.memory import Memory
from republish.publishers.contract import DEALT, GATHERED, HALVED, Forming

PEOPLE = 4
VIEW = view_of([(f"p{i}", 20 + 7 * i, "10", "n", "ab"[i % 2]) for i in range(PEOPLE)])[0]
COHORTS = Cohorts(m=2, size=4, values=2)
DEALING = [TauSafety(m=2), MInvariance(m=2), CorSplit(m=2, n=1, pad=True), COHORTS]
World = tuple[int, ...]
Shown = frozenset[tuple[frozenset[int], tuple[int, ...]]]
"""Of every group the people, and the values of all its rows."""


def shown(publisher: Any, world: World, drawn: tuple[int, ...]) -> Shown | None:
    """What is published of people with these values whose pseudonyms have this order; `None` where it is refused."""
    rows = np.argsort(drawn)
    words = np.zeros((PEOPLE, 2), dtype=np.uint64)
    words[:, 0] = (2 * np.arange(PEOPLE, dtype=np.uint64) + 1) << np.uint64(60)
    codes = np.array(world, dtype=VIEW.codes.dtype)[rows]
    view = replace(VIEW.only(rows), people=words, codes=codes)
    try:
        made = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    except CannotPublish:
        return None
    groups = []
    for g in range(made.groups):
        members = made.group == g
        values = [*codes[members], *made.counterfeit_code[made.counterfeit_group == g]]
        groups.append((frozenset(rows[members].tolist()), tuple(sorted(map(int, values)))))
    return frozenset(groups)


def releases(publisher: Any) -> dict[Shown, Counter[World]]:
    """How often every release is made of every world, over all orders of pseudonyms."""
    found: dict[Shown, Counter[World]] = defaultdict(Counter)
    for world, drawn in product(product((0, 1), repeat=PEOPLE), permutations(range(PEOPLE))):
        release = shown(publisher, world, drawn)
        if release is not None:
            found[release][world] += 1
    return found


def alike(release: Shown, world: World) -> list[World]:
    """The worlds in which the people of every group have the same values as in this one, whoever has which."""
    return [
        other
        for other in product((0, 1), repeat=PEOPLE)
        if all(sorted(other[i] for i in who) == sorted(world[i] for i in who) for who, _ in release)
    ]


@pytest.mark.parametrize("publisher", DEALING, ids=lambda one: one.name)
def test_whoever_of_a_group_has_which_value_it_is_dealt_as_often(publisher: Any) -> None:
    assert publisher.forming == Forming(DEALT)
    compared = 0
    for release, often in releases(publisher).items():
        for world in often:
            counts = {often[other] for other in alike(release, world)}
            assert len(counts) == 1
            compared += len(alike(release, world)) > 1
    assert compared >= 6


@pytest.mark.parametrize(
    "publisher", [TauSafety(m=2, membership="nearest"), CorSplit(m=2, n=1, pad=True, membership="nearest")]
)
def test_where_distances_decide_it_is_not(publisher: Any) -> None:
    uneven = [
        release
        for release, often in releases(publisher).items()
        if any(len({often[other] for other in alike(release, world)}) > 1 for world in often)
    ]
    assert uneven


def test_which_values_counterfeits_have_is_not_dealt() -> None:
    """Four people of one value need four counterfeits; other values of the same groups would have needed fewer."""
    alone = frozenset((frozenset([i]), (0, 1)) for i in range(PEOPLE))
    often = releases(TauSafety(m=2))[alone]
    assert set(often) == {(0, 0, 0, 0), (1, 1, 1, 1)}


def test_where_distances_decide_only_what_an_attack_retraces_is_told() -> None:
    assert MInvariance(membership="nearest").forming == Forming(HALVED)
    assert TauSafety(membership="nearest").forming == Forming(GATHERED, 1024)
    for publisher in (Cohorts(membership="nearest"), CorSplit(membership="nearest")):
        assert publisher.forming is None
        means = Means(Adversary(), views=True, forming=publisher.forming)
        assert "the swap test (--attack swap) says whether values decide" in str(means.obstacle("halving"))
