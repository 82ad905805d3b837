"""BangA as a publisher: what its groups hold, many k from one dendrogram, and the regions it publishes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from publishers.test_penalty_tree import penalty, view
from republish import LDiversity, PenaltyTree, PolicyError, TCloseness
from republish.errors import CannotPublish
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.publishers import make_publisher
from republish.publishers.banga import BangA


def made(publisher, table):
    return publisher.publish(table, Memory.empty(), np.random.default_rng(0))


@pytest.mark.parametrize("k", [3, 5, 12, 100])
def test_groups_have_k_rows_and_blocks_five_or_k(k: int) -> None:
    table = view()
    clustered = BangA(k).index(table)
    assert np.bincount(clustered.release().group).min() >= k
    assert clustered.index.count.min() >= min(5, k)
    assert clustered.index.full == 2 * min(5, k) + 1


@pytest.mark.parametrize("asked", [LDiversity(3), TCloseness(0.3)])
def test_groups_satisfy_what_is_asked(asked) -> None:
    table = view()
    grouping = made(BangA(20, (asked,)), table)
    counts = np.zeros((grouping.groups, len(table.values)), dtype=np.int64)
    np.add.at(counts, (grouping.group, table.codes), 1)
    assert counts.sum(axis=1).min() >= 20
    assert asked.holds(counts, table.whole).all()
    assert grouping.groups > 10


def test_one_dendrogram_gives_every_k() -> None:
    table = view()
    clustered, before = BangA(5).index(table), None
    for k in (5, 7, 10, 50, 100, 1000):
        group = clustered.release(k).group
        assert np.bincount(group).min() >= k
        if before is not None:
            assert len(np.unique(np.stack([before, group]), axis=1).T) == before.max() + 1
        assert np.array_equal(group, made(BangA(k), table).group)
        before = group


def test_groups_at_m_are_the_blocks() -> None:
    clustered = BangA(5).index(view())
    assert np.array_equal(clustered.release().group, clustered.index.block)


def test_groups_are_hardly_larger_than_k() -> None:
    """By density, pair by pair: most groups have between one and two k rows, where a chain would end in one group."""
    sizes = np.bincount(BangA(5).index(view(5000)).release(100).group)
    assert np.median(sizes) < 150
    assert sizes.max() < 400


def test_the_penalty_tree_is_tighter() -> None:
    table = view(5000)
    ours, theirs = (made(publisher, table).group for publisher in (BangA(20), PenaltyTree(20)))
    assert penalty(table, theirs) < penalty(table, ours)


@pytest.mark.parametrize("k", [5, 40])
def test_compact_regions_are_the_boxes_of_their_rows(k: int) -> None:
    table = view()
    grouping = made(BangA(k), table)
    assert grouping.regions is not None
    for group in range(grouping.groups):
        inside = table.points[:, grouping.group == group]
        assert np.array_equal(grouping.regions.low[group], inside.min(axis=1))
        assert np.array_equal(grouping.regions.high[group], inside.max(axis=1))


@pytest.mark.parametrize("k", [5, 40])
def test_whole_regions_lie_around_compact_ones(k: int) -> None:
    table = view()
    tight, wide = (made(BangA(k, compact=compact), table) for compact in (True, False))
    assert np.array_equal(tight.group, wide.group)
    assert tight.regions is not None
    assert wide.regions is not None
    assert (wide.regions.low <= tight.regions.low).all()
    assert (wide.regions.high >= tight.regions.high).all()
    assert (wide.regions.high > tight.regions.high).any()


def test_levels_are_those_of_regions_at_every_k() -> None:
    clustered = BangA(5).index(view())
    regions = [clustered.release(k).regions for k in (5, 10, 50)]
    assert [len(np.unique(found.level)) > 3 for found in regions if found is not None] == [True] * 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"m": 0},
        {"m": True},
        {"split": 9},
        {"split": -1},
        {"split": True},
        {"compact": 1},
        {"insert_only": "yes"},
        {"bits": -1},
        {"scales": 3},
    ],
)
def test_parameters_that_mean_nothing_are_refused(wrong) -> None:
    with pytest.raises(PolicyError):
        BangA(**{"k": 5, **wrong})


def test_blocks_have_at_most_k_rows_to_fill() -> None:
    assert BangA(3) == BangA(3, m=3)
    assert make_publisher("banga", {"k": "3", "compact": "false"}) == BangA(3, m=3, compact=False)


def test_k_below_that_of_the_publisher_is_refused() -> None:
    clustered = BangA(10).index(view())
    with pytest.raises(PolicyError, match="at least 10, which this publisher promises; found 5"):
        clustered.release(5)


def test_what_the_whole_view_does_not_reach_is_refused() -> None:
    with pytest.raises(CannotPublish, match="k=50"):
        made(BangA(50), view(40))
    with pytest.raises(CannotPublish, match="l=9"):
        made(BangA(5, (LDiversity(9),)), view(40))


def test_an_empty_view_follows_none_but_an_empty_one() -> None:
    growing, nobody = BangA(5, insert_only=True), view(0)
    assert made(growing, nobody).groups == 0
    memory = Memory.empty()
    people = np.array([[1, 2]], dtype=np.uint64)
    columns = {name: np.ones(1, dtype=column.dtype) for name, column in memory.columns.items()}
    with pytest.raises(CannotPublish, match="1 people left"):
        growing.publish(
            replace(nobody, people=people[:0]), Memory(people, columns, release=1), np.random.default_rng(0)
        )


def test_nothing_is_kept_unless_rows_are_only_added() -> None:
    table, memory = view(), Memory.empty()
    plain, growing = BangA(5), BangA(5, insert_only=True)
    assert plain.series_promises == ()
    assert plain.remember(table, made(plain, table), memory) is memory
    assert growing.series_promises == ("growing-groups",)
    assert growing.remember(table, made(growing, table), memory).counts is not None
    with pytest.raises(PolicyError, match="a release that BangA made"):
        growing.remember(table, Grouping(made(growing, table).group), memory)
