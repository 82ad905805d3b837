"""BangA as a publisher: what its groups hold, and many k from one index."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from republish import Category, LDiversity, Mondrian, Number, PolicyError, Schema, TCloseness, read_view
from republish.errors import CannotPublish
from republish.publishers.banga import BangA

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


@pytest.mark.parametrize("merge", ["penalty", "density"])
@pytest.mark.parametrize("m", [1, 5])
def test_groups_have_k_rows(merge: str, m: int) -> None:
    grouping = BangA(5, m=m, merge=merge).publish(view(), None, np.random.default_rng(0))
    assert grouping.suppressed == 0
    assert np.bincount(grouping.group).min() >= 5


@pytest.mark.parametrize("merge", ["penalty", "density"])
@pytest.mark.parametrize("asked", [LDiversity(3), TCloseness(0.3)])
def test_groups_satisfy_what_is_asked(merge: str, asked) -> None:
    table = view()
    grouping = BangA(5, (asked,), merge=merge).publish(table, None, np.random.default_rng(0))
    counts = np.zeros((grouping.groups, len(table.values)), dtype=np.int64)
    np.add.at(counts, (grouping.group, table.codes), 1)
    assert counts.sum(axis=1).min() >= 5
    assert asked.holds(counts, table.whole).all()


def test_one_index_gives_every_k() -> None:
    table = view()
    clustered = BangA(5).index(table)
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
    clustered = BangA(7).index(table, (7,))
    published = BangA(7).publish(table, None, np.random.default_rng(0))
    assert np.array_equal(clustered.release().group, published.group)


def test_k_below_the_blocks_is_refused() -> None:
    clustered = BangA(10, m=4).index(view())
    assert np.bincount(clustered.release(4).group).min() >= 4
    with pytest.raises(PolicyError, match="smaller m"):
        clustered.release(3)


@pytest.mark.parametrize("k", [5, 20])
def test_groups_are_narrower_and_smaller_than_mondrian_s(k: int) -> None:
    """Narrower always; smaller unless halving the number of rows again and again happens to end just above k."""
    table = view(5000)
    ours = BangA(k).publish(table, None, np.random.default_rng(0)).group
    theirs = Mondrian(k).publish(table, None, np.random.default_rng(0)).group
    assert penalty(table, ours) < penalty(table, theirs)
    assert (np.bincount(ours) ** 2).sum() < (np.bincount(theirs) ** 2).sum()


def test_what_the_whole_view_does_not_reach_is_refused() -> None:
    with pytest.raises(CannotPublish, match="k=50"):
        BangA(50).publish(view(40), None, np.random.default_rng(0))
    with pytest.raises(CannotPublish, match="l=9"):
        BangA(5, (LDiversity(9),)).publish(view(40), None, np.random.default_rng(0))


@pytest.mark.parametrize("wrong", [{"k": 0}, {"m": 0}, {"m": 6}, {"merge": "magic"}, {"m": True}])
def test_parameters_that_mean_nothing_are_refused(wrong) -> None:
    with pytest.raises(PolicyError):
        BangA(**{"k": 5, **wrong})
