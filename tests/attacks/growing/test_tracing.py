"""Tracing: rows that may be somebody's all the time, by hand and against all ways that rows can go."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.growing.releases import Release, bundles, cells_of, comparable, drawn, group_in, published
from republish.attacks import Traced
from republish.attacks.growing.bcf import bcf
from republish.attacks.growing.correspondence import Passage
from republish.attacks.growing.flows import most_along
from republish.attacks.growing.tracing import tracing


def figures(releases: list[Release], k: int | None = None) -> Traced:
    found = tracing(*published(releases), k).overall
    assert isinstance(found, Traced)
    return found


FIRST: Release = [
    (("ann", 20, "n", "flu"), 0),
    (("bea", 22, "n", "hiv"), 0),
    (("cat", 24, "n", "cold"), 0),
    (("dan", 40, "n", "flu"), 1),
    (("eve", 42, "n", "hiv"), 1),
]


def test_a_row_that_others_must_have_taken_is_not_hers() -> None:
    """Dan's flu and eve's hiv fit only cat's second group, which has one of each: neither is cat's."""
    second: Release = [
        (("ann", 20, "n", "flu"), 0),
        (("bea", 22, "n", "hiv"), 0),
        (("cat", 24, "n", "cold"), 1),
        (("dan", 40, "n", "flu"), 1),
        (("eve", 42, "n", "hiv"), 1),
    ]
    # By counts alone cat may have flu, hiv or cold: one row of each is in both of her groups.
    counted = bcf(*published([FIRST, second])).overall
    assert counted.one_value == 0
    found = figures([FIRST, second])
    assert found.one_value == pytest.approx(1 / 5)
    assert (found.fewest_left, found.k) == (1, 2)


def test_the_difference_of_two_releases_is_somebody_new() -> None:
    second: Release = [*FIRST, (("gus", 41, "n", "cold"), 1)]
    found = figures([FIRST, second])
    assert found.difference == 1.0
    assert found.intersection == 0.0
    assert found.fewest_left == 1
    assert tracing(*published([FIRST, second])).summary.determined == 1


def test_counts_of_all_releases_are_intersected() -> None:
    """Ann's groups hold {flu, hiv, cold}, {flu, hiv} and {flu, cold}: flu is left."""
    ages = {"ann": 20, "bea": 22, "cat": 24, "dan": 40, "eve": 42}
    ill = {one[0]: one[3] for one, _ in FIRST}

    def release(*groups: str) -> Release:
        return [
            ((name, ages[name], "n", ill[name]), place)
            for place, names in enumerate(groups)
            for name in names.split()
        ]

    found = figures(
        [
            release("ann bea cat", "dan eve"),
            release("ann bea", "cat dan eve"),
            release("ann cat", "bea dan eve"),
        ],
        k=2,
    )
    assert found.fewest_left == 1
    assert found.intersection > 0


def test_where_people_leave_counts_alone_are_used() -> None:
    second: Release = [*FIRST[1:], (("gus", 41, "n", "cold"), 1)]
    found = figures([FIRST, second])
    assert found.difference is None
    assert found.below_k == found.intersection


def ways(before: Release, release: Release, value: str) -> list[dict[tuple[int, int], int]]:
    """Every way in which all rows of a value can go on: rows from group to group."""
    was, now = cells_of(before), cells_of(release)
    new = {g: rows for (g, v), rows in bundles(release).items() if v == value}
    rows = [g for (g, v), count in bundles(before).items() if v == value for _ in range(count)]
    found = []
    for places in product(*([h for h in new if comparable(was[g], now[h])] for g in rows)):
        if all(places.count(h) <= new[h] for h in set(places)):
            way: dict[tuple[int, int], int] = {}
            for g, h in zip(rows, places, strict=True):
                way[g, h] = way.get((g, h), 0) + 1
            found.append(way)
    return found


def naive(releases: list[Release]) -> dict[str, tuple[int, int]]:
    """Rows and values left of everyone: of each value the least over the steps, over all ways to go."""
    found = {}
    values = {one[3] for release in releases for one, _ in release}
    for name in {one[0] for release in releases for one, _ in release}:
        left = {}
        first = next(i for i, release in enumerate(releases) if group_in(release, name) is not None)
        for value in values:
            here = group_in(releases[first], name)
            rows = bundles(releases[first]).get((here, value), 0)
            if first:
                taken = [
                    sum(count for (_, h), count in way.items() if h == here)
                    for way in ways(releases[first - 1], releases[first], value)
                ]
                rows -= min(taken, default=0)
            for i in range(first, len(releases) - 1):
                step = group_in(releases[i], name), group_in(releases[i + 1], name)
                rows = min(
                    rows,
                    max((way.get(step, 0) for way in ways(releases[i], releases[i + 1], value)), default=0),
                )
            left[value] = rows
        found[name] = (sum(left.values()), sum(rows > 0 for rows in left.values()))
    return found


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_what_is_left_is_what_all_ways_leave(seed: int) -> None:
    releases = drawn(seed)
    expected, found = naive(releases), tracing(*published(releases), k=3)
    rows = np.array([left for left, _ in expected.values()])
    kinds = np.array([left for _, left in expected.values()])
    assert isinstance(found.overall, Traced)
    assert (found.overall.people, found.overall.fewest_left) == (len(rows), rows.min())
    assert found.overall.median_left == np.median(rows)
    assert found.overall.below_k == pytest.approx(np.mean(rows < 3))
    assert found.overall.one_value == pytest.approx(np.mean(kinds <= 1))
    assert rows.min() >= 1  # her own row is never cracked


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_tracing_leaves_nobody_more_than_bcf(seed: int) -> None:
    history, sightings = published(drawn(seed))
    one, other = tracing(history, sightings), bcf(history, sightings)
    assert (one.risk >= other.risk - 1e-12).all()


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_flows_are_the_largest_and_the_smallest_of_all(data: st.DataObject) -> None:
    left, right = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    edges = [e for e in product(range(left), range(right)) if data.draw(st.booleans())]
    supply = [data.draw(st.integers(1, 2)) for _ in range(left)]
    room = [data.draw(st.integers(1, 4)) for _ in range(right)]
    source, to = (np.array([e[side] for e in edges], dtype=np.int64) for side in (0, 1))
    start = np.append(0, np.cumsum(np.bincount(source, minlength=left))).astype(np.int64)
    passage = Passage(0, 0, start, source, to, np.array(supply), np.array(room))
    asked = [e for e in edges if data.draw(st.booleans())]
    most, fewest = most_along(
        passage,
        np.array([u for u, _ in asked], dtype=np.int64),
        np.array([v for _, v in asked], dtype=np.int64),
    )
    rows = [u for u in range(left) for _ in range(supply[u])]
    every = [
        list(zip(rows, places, strict=True))
        for places in product(*([v for w, v in edges if w == u] for u in rows))
        if all(places.count(v) <= room[v] for v in range(right))
    ]
    if not every:
        assert most.tolist() == [min(supply[u], room[v]) for u, v in asked]
        assert not fewest.any()
        return
    assert most.tolist() == [max(way.count(e) for way in every) for e in asked]
    assert fewest.tolist() == [min(sum(w == v for _, w in way) for way in every) for v in range(right)]
