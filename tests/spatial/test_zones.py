"""Zones: cuts and where they lead, against plain code; the same person is led the same way again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.spatial.zones import LedRow, Zones, chances, cut_zones

WORD = 2**64


def rows_of(seed: int, rows: int, axes: int = 2, distinct: int = 12) -> LedRow:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, distinct, (axes, rows)).astype(np.float64)
    points[rng.random((axes, rows)) < 0.05] = -np.inf
    return LedRow(points, rng.integers(0, WORD, (rows, 2), dtype=np.uint64))


def naive_chance(word: int, node: int, salt: int) -> float:
    """SplitMix64, in Python's own numbers."""
    z = word ^ ((node + 1) * 0x9E3779B97F4A7C15 % WORD) ^ (salt * 0x94D049BB133111EB % WORD)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return ((z ^ (z >> 31)) >> 11) / 2**53


def naive_zone(zones: Zones, point: list[float], word: int) -> int:
    if not len(zones.axis):
        return 0
    node = 0
    while node >= 0:
        value, cut = point[int(zones.axis[node])], float(zones.cut[node])
        below = value < cut or (value == cut and naive_chance(word, node, zones.salt) < zones.share[node])
        node = int(zones.below[node] if below else zones.above[node])
    return -1 - node


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), rows=st.integers(0, 120), size=st.integers(1, 40), salt=st.integers(0, 9))
def test_everyone_is_led_to_the_zone_that_she_was_cut_into(
    seed: int, rows: int, size: int, salt: int
) -> None:
    led = rows_of(seed, rows)
    zones, zone = cut_zones(led, size, np.ones(2), salt)
    assert zones.lead(led).tolist() == zone.tolist()
    twin = [naive_zone(zones, led.points[:, i].tolist(), int(led.people[i, 1])) for i in range(rows)]
    assert twin == zone.tolist()
    assert zones.count == max(1, round(rows / size))
    stored = Zones.of_frame(zones.frame(), salt)
    assert stored.lead(led).tolist() == zone.tolist()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), node=st.integers(0, 5000), salt=st.integers(0, 5000))
def test_chances_are_those_of_splitmix(seed: int, node: int, salt: int) -> None:
    people = rows_of(seed, 20).people
    twin = [naive_chance(int(word), node, salt) for word in people[:, 1]]
    assert chances(people, np.full(20, node), salt).tolist() == twin


def test_zones_have_about_the_size_although_many_share_a_value() -> None:
    led = rows_of(3, 6_000, axes=3, distinct=4)
    _, zone = cut_zones(led, 60, np.ones(3))
    sizes = np.bincount(zone)
    assert len(sizes) == 100
    assert 25 < sizes.min() <= sizes.max() < 110


def test_a_weighted_axis_is_cut_more() -> None:
    led = rows_of(4, 2_000, distinct=500)
    even, _ = cut_zones(led, 50, np.ones(2))
    leaning, _ = cut_zones(led, 50, np.array([1.0, 6.0]))
    assert np.mean(leaning.axis == 1) > np.mean(even.axis == 1)
    assert (leaning.axis[:3] == 1).all()


def test_an_axis_on_which_nobody_differs_is_not_cut_while_others_are() -> None:
    led = rows_of(5, 200)
    led.points[0] = 7.0
    zones, _ = cut_zones(led, 20, np.ones(2))
    assert (zones.axis == 1).all()


def test_people_who_are_all_alike_are_parted_by_chance() -> None:
    led = rows_of(6, 400)
    led.points[:] = 1.0
    _, zone = cut_zones(led, 100, np.ones(2))
    assert np.bincount(zone).min() > 60


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_few_people_are_one_zone(rows: int) -> None:
    zones, zone = cut_zones(rows_of(1, rows), 60, np.ones(2))
    assert (zones.count, zone.tolist()) == (1, [0] * rows)
    assert Zones.one().lead(rows_of(1, rows)).tolist() == [0] * rows
