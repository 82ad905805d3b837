"""The swap test as an attack: of any series with raw views, over time, by the command and the gate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from attack_command import document, said
from attacks.retracing.gathered import SCHEMA, SECRET, people
from republish import Mondrian, PolicyError, Series, TauSafety
from republish.attacks import (
    Adversary,
    IdentityResult,
    ToldApart,
    attack,
    results_over_time,
    target_with_views,
)
from republish.attacks.replaying.replay import Replay
from republish.attacks.replaying.swap import swap_newcomers, swap_test
from republish.errors import LimitBroken
from republish.gate.limits import Gate
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata, read_view
from republish.publishers import Publisher

VIEWS = [people(36, 3, 1), people(42, 3, 1)]


def published(folder: Path, publisher: Publisher, gate: Gate | None = None) -> Series:
    series = Series.create(folder / "series", SCHEMA, publisher, seed=1, one_table=True, gate=gate)
    for view in VIEWS:
        series.publish(view, truth=VIEWS[: len(series.records)])
    return series


def test_groups_made_without_a_look_at_values_tell_no_pair_apart(tmp_path: Path) -> None:
    (found,) = attack(published(tmp_path, Mondrian(k=5)), Adversary(), ["swap"], views=VIEWS)
    assert isinstance(found, IdentityResult)
    assert isinstance(found.overall, ToldApart)
    assert found.overall.pairs >= 40
    assert found.overall.told_apart == 0.0
    assert found.summary.mean_confidence == 0.5


def test_groups_that_grow_by_the_nearest_row_tell_many_apart_in_every_release(tmp_path: Path) -> None:
    series = published(tmp_path, TauSafety(m=3, membership="nearest"))
    target = target_with_views(series, Adversary(), ["swap"], VIEWS)
    after = list(results_over_time(target, Adversary(), "swap"))
    first, last = (one.overall for one in after if isinstance(one, IdentityResult))
    assert isinstance(first, ToldApart)
    assert isinstance(last, ToldApart)
    assert first.told_apart > 0.2
    assert last.told_apart > 0.2
    assert first.pairs < last.pairs
    assert after[1].summary.people == last.pairs
    assert after[1].summary.determined == round(last.told_apart * last.pairs)


def test_the_command_says_it_where_it_is_named(tmp_path: Path) -> None:
    series = published(tmp_path, Mondrian(k=5))
    (tmp_path / "views").mkdir()
    for number, view in enumerate(VIEWS):
        view.write_csv(tmp_path / "views" / f"{number}.csv")
    found = document(series.root, "--truth", tmp_path / "views", "--attack", "swap")
    (one,) = found["identities"]
    assert [part["told_apart"] for part in one["releases"]] == [0.0, 0.0]
    assert "distinguished: the share of pairs" in said(
        series.root, "--truth", tmp_path / "views", "--attack", "swap"
    )
    left_out = document(series.root, "--truth", tmp_path / "views", "--attack", "all")["left_out"]
    assert "name it to have it made" in left_out["swap"]


def test_the_gate_limits_how_many_pairs_are_told_apart(tmp_path: Path) -> None:
    gate = Gate(max_told_apart=0.05)
    assert len(published(tmp_path / "blind", Mondrian(k=5), gate).records) == 2
    with pytest.raises(
        LimitBroken,
        match=r"swap: \d+ of \d+ pairs .* are distinguished by an adversary who knows the program",
    ):
        published(tmp_path / "near", TauSafety(m=3, membership="nearest"), gate)
    series = Series.create(tmp_path / "again", SCHEMA, Mondrian(k=5), seed=1, one_table=True, gate=gate)
    series.publish(VIEWS[0])
    with pytest.raises(PolicyError, match="swap in the gate"):
        series.publish(VIEWS[1])


def test_newcomers_who_are_dealt_by_chance_are_told_apart_by_no_coupling_of_it() -> None:
    view = read_view(VIEWS[0], SCHEMA).pseudonymous(SECRET)
    found = {
        way: swap_newcomers(
            Replay(TauSafety(m=3, membership=way), SECRET), view, Memory.empty(), np.random.default_rng
        ).overall
        for way in ("random", "nearest")
    }
    assert found["random"] == ToldApart(36, 0.0)
    assert isinstance(found["nearest"], ToldApart)
    assert found["nearest"].told_apart > 0.2


@dataclass(frozen=True)
class OneGroup(Publisher):
    """Everyone in one group, with a counterfeit of the youngest one's value."""

    name = "one group"
    requirements = ()

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        youngest = view.codes[[int(np.argmin(view.points[0]))]]
        return Grouping(np.zeros(view.rows, np.int32), np.zeros(1, np.int32), youngest.astype(np.int32))


def test_values_of_counterfeits_tell_pairs_apart() -> None:
    view = read_view(VIEWS[0], SCHEMA).pseudonymous(SECRET)
    replay = Replay(OneGroup(), SECRET)
    found = swap_newcomers(replay, view, Memory.empty(), np.random.default_rng)
    assert isinstance(found.overall, ToldApart)
    assert found.overall.told_apart > 0.0


def test_newcomers_are_drawn_apart_from_others() -> None:
    first = read_view(VIEWS[0], SCHEMA)
    views = [one.pseudonymous(SECRET) for one in (first, read_view(VIEWS[1], SCHEMA, first.values))]
    one, two = swap_test(Replay(TauSafety(m=3), SECRET), views, pairs=4)
    assert (one.pairs, one.new_pairs) == (4, 4)
    assert (two.pairs, two.new_pairs) == (8, 4)  # six people are new


def test_no_more_pairs_are_tried_than_decide() -> None:
    view = read_view(VIEWS[0], SCHEMA).pseudonymous(SECRET)
    replay = Replay(TauSafety(m=3, membership="nearest"), SECRET)
    found = swap_newcomers(replay, view, Memory.empty(), np.random.default_rng, allowed=0.0)
    assert found.overall.pairs < 36  # type: ignore[union-attr]
    assert found.summary.determined == 1


def test_tables_without_views_are_refused(tmp_path: Path) -> None:
    series = published(tmp_path, Mondrian(k=5))
    with pytest.raises(PolicyError, match="swap cannot be made: it exchanges values"):
        attack(series, Adversary(), ["swap"])
