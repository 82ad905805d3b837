"""Membership by chance: zones know no values, and every way to deal is as likely."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from publishers.dynamic import Driver, view_of
from republish.attacks.replaying.replay import Replay
from republish.attacks.replaying.swap import swap_test
from republish.memory.memory import Memory
from republish.publishers import Cohorts, CorSplit, MInvariance, TauSafety
from republish.publishers._buckets.dealing import Deal
from republish.secret import Secret

SECRET = Secret.from_text("the same for all of these tests")


def people_of(rng: np.random.Generator, numbers: range, values: int = 9) -> list:
    return [
        (
            f"p{i}",
            int(rng.integers(20, 80)),
            f"{rng.integers(10, 99)}",
            "nsew"[rng.integers(4)],
            f"v{rng.integers(values)}",
        )
        for i in numbers
    ]


def with_fewer_values(person: tuple) -> tuple:
    """In the north there are four values only."""
    name, age, code, town, value = person
    return name, age, code, town, f"v{int(value[1:]) % 4}" if town == "n" else value


def weeks() -> list:
    """Three views of 150 people: every week 25 others."""
    rng = np.random.default_rng(3)
    everyone = [with_fewer_values(person) for person in people_of(rng, range(200))]
    # The first knows all values, so that codes are the same in all.
    known = view_of([*everyone, *((f"z{i}", 20, "10", "s", f"v{i}") for i in range(9))])[0].values
    return [view_of(everyone[25 * week : 25 * week + 150], known)[0] for week in range(3)]


PUBLISHERS = [
    TauSafety(3, zone=20),
    TauSafety(3, zone=60),
    TauSafety(3, whole=True),
    MInvariance(2, zone=30),
    CorSplit(3, 2, pad=True, zone=30),
    CorSplit(2, 1, zone=30),
    CorSplit(3, 2, pad=True, zone=30, theta='{"town": {"n": ["v0", "v1", "v2", "v3"]}}'),
    Cohorts(3, size=30, values=4, max_determined=0.3, zone=40),
]


@pytest.mark.parametrize("publisher", PUBLISHERS, ids=str)
def test_nobody_tells_two_people_of_a_group_apart(publisher) -> None:
    found = swap_test(Replay(publisher, SECRET), weeks(), pairs=30)
    assert [one.told_apart for one in found] == [0, 0, 0]
    assert min(one.pairs for one in found) >= 20


def test_who_is_retired_tells_nothing_of_values() -> None:
    """In the third week everyone but the fifty others is retired."""
    publisher = CorSplit(3, 2, pad=True, zone=30, p=0.04, L=2, h=0.1)
    found = swap_test(Replay(publisher, SECRET), weeks(), pairs=30)
    assert [one.told_apart for one in found] == [0, 0, 0]
    assert [(one.pairs, one.new_pairs) for one in found][:2] == [(30, 30), (38, 8)]
    assert found[2].pairs >= 10


def test_every_way_to_deal_is_as_likely() -> None:
    """Of four people with two values there are two ways; the same two where the first two exchange theirs."""
    for values in ("aabb", "baab"):
        found = Counter()
        view, _ = view_of([(f"p{i}", 20 + i, "10", "n", value) for i, value in enumerate(values)])
        for seed in range(400):
            order = np.random.default_rng(seed).permutation(4)  # that of their pseudonyms
            dealt = replace(view, points=view.points[:, order], codes=view.codes[order])
            group = TauSafety(2).publish(dealt, Memory.empty(), np.random.default_rng(seed)).group
            who = dealt.points[0].astype(int) - 20
            found[frozenset(frozenset(who[group == g].tolist()) for g in range(2))] += 1
        assert len(found) == 2
        assert min(found.values()) >= 160


def test_zones_know_no_values() -> None:
    first = weeks()[0]
    keeps = np.zeros(first.rows, dtype=np.bool_)
    shuffled = replace(first, codes=np.random.default_rng(1).permutation(first.codes))
    zones = [Deal.of(view, Memory.empty(), keeps, 20).zone for view in (first, shuffled)]
    assert np.array_equal(*zones)
    assert np.bincount(zones[0]).min() >= 10
    assert len(np.bincount(zones[0])) >= 5


def test_people_with_equal_quasi_identifiers_are_in_one_zone() -> None:
    view, _ = view_of([(f"p{i}", 20 + i % 3, "10", "n", f"v{i % 4}") for i in range(90)])
    zone = Deal.of(view, Memory.empty(), np.zeros(90, dtype=np.bool_), 10).zone
    assert all(len(set(zone[view.points[0] == age])) == 1 for age in (20, 21, 22))


def test_whoever_stays_is_with_the_same_people_while_all_of_them_stay() -> None:
    rng = np.random.default_rng(5)
    people = people_of(rng, range(120))
    driver = Driver(TauSafety(3, zone=30))
    together = []
    for view in (people, [*people[10:], *people_of(rng, range(200, 215))]):
        driver.publish(view)
        group, person = driver.tables[-1].group, driver.tables[-1].person
        together.append({frozenset(person[group == g].tolist()) for g in range(group.max() + 1)})
    left = {driver.numbers[f"p{i}"] for i in range(10)}
    intact = [some for some in together[0] if not some & left]
    assert len(intact) > 20
    assert all(any(some <= now for now in together[1]) for some in intact)
