"""The penalty tree as a publisher: what its groups hold, and many k from one index."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from republish import Category, LDiversity, Mondrian, Number, PolicyError, Schema, TCloseness, read_view
from republish.errors import CannotPublish
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.publishers import make_publisher
from republish.publishers.penalty_tree import PenaltyTree

SCHEMA = Schema(None, [Number("a"), Number("b"), Category("c")], "dx")


def view(rows: int = 2000, seed: int = 0):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "a": rng.normal(50, 15, rows).round(1),
            "b": rng.integers(0, 1000, rows),
            "c": rng.choice(["x", "y", "z"], rows),
            "dx": rng.choice(["flu", "cold", "hiv", "none"], rows),
        }
    ).with_columns(a=pl.when(pl.col("b") < 20).then(None).otherwise("a"))
    return read_view(frame, SCHEMA)


def penalty(table, group) -> float:
    """The certainty penalty of the numbers alone, missing values left out."""
    total = 0.0
    for q in (0, 1):
        there = table.points[q] > -np.inf
        low, high = np.full(group.max() + 1, np.inf), np.full(group.max() + 1, -np.inf)
        np.minimum.at(low, group[there], table.points[q][there])
        np.maximum.at(high, group[there], table.points[q][there])
        total += float(((high - low)[group[there]]).mean() / table.axes[q].width)
    return total


@pytest.mark.parametrize("m", [1, 5])
def test_groups_have_k_rows(m: int) -> None:
    grouping = PenaltyTree(5, m=m).publish(view(), None, np.random.default_rng(0))
    assert grouping.suppressed == 0
    assert np.bincount(grouping.group).min() >= 5


@pytest.mark.parametrize("asked", [LDiversity(3), TCloseness(0.3)])
def test_groups_satisfy_what_is_asked(asked) -> None:
    table = view()
    grouping = PenaltyTree(5, (asked,)).publish(table, None, np.random.default_rng(0))
    counts = np.zeros((grouping.groups, len(table.values)), dtype=np.int64)
    np.add.at(counts, (grouping.group, table.codes), 1)
    assert counts.sum(axis=1).min() >= 5
    assert asked.holds(counts, table.whole).all()


def test_one_index_gives_every_k() -> None:
    table = view()
    clustered = PenaltyTree(5).index(table)
    before = None
    for k in (5, 10, 50, 100, 1000):
        group = clustered.release(k).group
        assert np.bincount(group).min() >= k
        if before is not None:
            assert len(np.unique(np.stack([before, group]), axis=1).T) == before.max() + 1
        before = group
    assert len(set(clustered.release(1000).group.tolist())) == 2


def test_without_k_the_publisher_s_own_is_released() -> None:
    table = view()
    clustered = PenaltyTree(7).index(table, (7,))
    published = PenaltyTree(7).publish(table, None, np.random.default_rng(0))
    assert np.array_equal(clustered.release().group, published.group)


@pytest.mark.parametrize("publisher", [PenaltyTree(5), PenaltyTree(10, m=4)])
def test_k_below_that_of_the_publisher_is_refused(publisher: PenaltyTree) -> None:
    clustered = publisher.index(view())
    assert np.bincount(clustered.release(publisher.k).group).min() >= publisher.k
    for k in (1, publisher.m, publisher.k - 1):
        with pytest.raises(
            PolicyError, match=f"at least {publisher.k}, which this publisher promises; found {k}"
        ):
            clustered.release(k)
    with pytest.raises(PolicyError, match="found 3"):
        publisher.index(view(), (20, 3))


@pytest.mark.parametrize("k", [5, 20])
def test_groups_are_narrower_and_smaller_than_mondrian_s(k: int) -> None:
    """Narrower always; smaller unless halving the number of rows again and again happens to end just above k."""
    table = view(5000)
    ours = PenaltyTree(k).publish(table, None, np.random.default_rng(0)).group
    theirs = Mondrian(k).publish(table, None, np.random.default_rng(0)).group
    assert penalty(table, ours) < penalty(table, theirs)
    assert (np.bincount(ours) ** 2).sum() < (np.bincount(theirs) ** 2).sum()


def test_what_the_whole_view_does_not_reach_is_refused() -> None:
    with pytest.raises(CannotPublish, match="k=50"):
        PenaltyTree(50).publish(view(40), None, np.random.default_rng(0))
    with pytest.raises(CannotPublish, match="l=9"):
        PenaltyTree(5, (LDiversity(9),)).publish(view(40), None, np.random.default_rng(0))


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"m": 0},
        {"m": 6},
        {"m": True},
        {"bits": -1},
        {"bits": 0},
        {"bits": "0"},
        {"scales": 3},
        {"incremental": 1},
    ],
)
def test_parameters_that_mean_nothing_are_refused(wrong) -> None:
    with pytest.raises(PolicyError):
        PenaltyTree(**{"k": 5, **wrong})


def test_rows_between_break_points_stay_together() -> None:
    table = view()
    index = PenaltyTree(5, scales={"b": [500], "c": ["y"]}, bits={"a": 0}).index(table, (5,)).index
    # Two halves of b, the first value of c apart from the others, and rows without a.
    assert index.blocks == len(np.unique(index.keys, axis=1).T) <= 8
    for b in range(index.blocks):
        inside = table.points[1][index.block == b] >= 500
        assert inside.all() or not inside.any()


def test_a_lower_resolution_has_fewer_blocks() -> None:
    table = view()
    blocks = [PenaltyTree(5, bits=bits).index(table, (5,)).index.blocks for bits in (2, 4, "enough")]
    assert blocks[0] < blocks[1] < blocks[2]


def test_tables_and_texts_of_scales_are_the_same() -> None:
    assert PenaltyTree(5, bits={"a": 5}, scales={"b": [10, 20]}) == PenaltyTree(
        5, bits="a=5", scales="b=10:20"
    )
    assert make_publisher(
        "penalty-tree", {"bits": "8", "scales": "b=10", "incremental": "true"}
    ) == PenaltyTree(5, bits=8, scales={"b": [10]}, incremental=True)


def test_scales_of_columns_that_are_not_there_are_refused() -> None:
    with pytest.raises(PolicyError, match="none"):
        PenaltyTree(5, scales="nobody=1").publish(view(), None, np.random.default_rng(0))


def test_every_column_but_not_all_may_be_without_bits() -> None:
    PenaltyTree(5, bits={"a": 0, "b": 0}).require_fit(SCHEMA)
    with pytest.raises(PolicyError, match="at least one quasi-identifier"):
        PenaltyTree(5, bits={"a": 0, "b": 0, "c": 0}).require_fit(SCHEMA)


def test_an_index_is_kept_and_grown_on_demand_only() -> None:
    table, rng = view(), np.random.default_rng(0)
    plain, growing = PenaltyTree(5, m=3), PenaltyTree(5, m=3, incremental=True)
    memory = Memory.empty()
    assert plain.remember(table, plain.publish(table, memory, rng), memory) is memory
    first = growing.publish(table, memory, rng)
    after = growing.remember(table, first, memory)
    assert np.array_equal(first.group, plain.publish(table, memory, rng).group)
    again = growing.remember(table, Grouping(first.group), memory)
    assert after.counts is not None
    assert again.counts is not None
    assert again.counts.equals(after.counts)
    # The same rows in the regions they already have.
    assert np.array_equal(growing.publish(table, after, rng).group, first.group)
    later = view(1500, seed=1)
    grown = growing.publish(later, after, rng).group
    assert np.bincount(grown).min() >= 5
    assert not np.array_equal(grown, plain.publish(later, after, rng).group)
    assert penalty(later, grown) < 1.1 * penalty(later, plain.publish(later, after, rng).group)
