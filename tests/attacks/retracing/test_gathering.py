"""The gathering attack: against the publisher itself run on every input, and where people are dealt by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from attack_command import document
from attacks.retracing.gathered import SCHEMA, SECRET, people, read, two_views
from republish import Mondrian, PolicyError, Series, TauSafety
from republish.attacks import Adversary, AttackResult, Means, attack, over_time, run, target_with_views
from republish.attacks.replaying.input_enumeration import Options, try_inputs
from republish.attacks.replaying.replay import Replay
from republish.attacks.retracing.gathering import gathering
from republish.attacks.retracing.traces import Trace
from republish.attacks.retracing.weighing import Effort
from republish.errors import LimitBroken
from republish.gate.limits import Gate
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers.contract import DEALT, Forming

ADVERSARY = Adversary()


def published(folder: Path, views: list[pl.DataFrame], m: int, gate: Gate | None = None) -> Series:
    series = Series.create(folder / "series", SCHEMA, TauSafety(m=m, membership="nearest"), seed=1, gate=gate)
    for view in views:
        series.publish(view, truth=views[: len(series.records)])
    return series


@pytest.mark.parametrize(("m", "seed", "draws"), [(3, 1, 200), (2, 2, 500), (2, 4, 500)])
def test_probabilities_are_those_of_the_publisher_run_on_every_input(m: int, seed: int, draws: int) -> None:
    view, publisher = read(people(6, m, seed)), TauSafety(m=m, membership="nearest")
    grouping = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    tried = try_inputs(Replay(publisher, SECRET), [view], [grouping], Options(draws=draws))
    truth = tried.case.truth
    exact = tried.posterior()[np.arange(6), truth]
    trace = Trace(view, np.arange(6), publisher.forming)
    found = gathering(tried.case.history, [trace], np.zeros(6, dtype=np.bool_))
    assert found.confidence == pytest.approx(exact, abs=0.05)
    assert found.likeliest.max() > 1 / m + 0.05  # more than counting says
    assert not found.unsettled.any()


def test_in_a_second_release_they_are_those_of_the_publisher_too() -> None:
    publisher = TauSafety(m=2, membership="nearest")
    before, view = two_views(read(people(12, 2, 2)), 3)
    replay = Replay(publisher, SECRET)
    first = publisher.publish(before, Memory.empty(), np.random.default_rng(0))
    second = replay([before, view], [first], np.random.default_rng(1))

    def rerun(views: Sequence[Microdata], earlier: object, rng: np.random.Generator) -> Grouping:
        return replay([before, views[0]], [first], rng)

    tried = try_inputs(rerun, [view], [second], Options(draws=200))
    exact = tried.posterior()[np.arange(6), tried.case.truth]
    trace = Trace(view, tried.case.life[0], publisher.forming)
    found = gathering(tried.case.history, [trace], np.zeros(6, dtype=np.bool_))
    assert found.confidence == pytest.approx(exact, abs=0.08)
    assert found.likeliest.max() > 0.6


def test_where_people_are_dealt_by_chance_she_learns_nothing_but_shares(tmp_path: Path) -> None:
    view = people(30, 3, 3)
    series = published(tmp_path, [view], 3)
    target = target_with_views(series, ADVERSARY, ["gathering"], [view])
    assert target.traces is not None
    (trace,) = target.traces
    blind = replace(target, traces=(replace(trace, forming=Forming(DEALT), found={}),))
    found = run(blind, ADVERSARY, "gathering")
    assert found.summary.worst_confidence == pytest.approx(1 / 3)
    assert found.summary.gain == pytest.approx(0.0)
    told = run(blind, Adversary([0]), "gathering")
    assert told.summary.worst_confidence == pytest.approx(1 / 2)


def test_many_groups_give_more_away_than_shares_and_the_walks_agree(tmp_path: Path) -> None:
    view = people(120, 4, 5)
    series = published(tmp_path, [view], 4)
    target = target_with_views(series, ADVERSARY, ["gathering"], [view])
    known = np.random.default_rng(0).random(120) < 0.3
    effort = Effort(walks=2, sweeps=120, moves=0)
    found = gathering(target.history, target.traces or (), known, effort)
    others = ~known[found.unknowns.person]
    even = np.mean([1 / len(found.candidates_of(p, 0)) for p in np.flatnonzero(~known)])
    assert found.confidence[others].mean() > even + 0.05
    sure = others & (found.likeliest > 0.9)
    assert sure.sum() >= 5
    assert found.confidence[sure].mean() > 0.7  # she is seldom wrong where she is sure


def test_a_release_is_looked_at_alone_and_once(tmp_path: Path) -> None:
    first, second = people(12, 3, 6), people(15, 3, 6)
    series = published(tmp_path, [first, second], 3)
    target = target_with_views(series, ADVERSARY, ["gathering"], [first, second])
    both = run(target, ADVERSARY, "gathering")
    after = over_time(target, ADVERSARY, "gathering", last=both)
    assert after[0].mean_confidence == pytest.approx(both.by_release[0].mean_confidence)
    assert after[0].people == 12
    assert [len(trace.found) for trace in target.traces or ()] == [1, 1]
    assert isinstance(both, AttackResult)
    assert both.unclear is not None
    assert both.unclear.people == 0


def test_rows_of_nobody_in_a_later_release_belong_to_nobody(tmp_path: Path) -> None:
    views = [people(12, 3, 1), people(12, 3, 1), people(12, 3, 1).filter(~pl.col("id").is_in(["p0", "p4"]))]
    series = Series.create(tmp_path / "series", SCHEMA, TauSafety(m=3, membership="nearest"), seed=1)
    made = [series.publish(view, meant=["same-view"]) for view in views]
    assert made[-1].counterfeits > 0
    (found,) = attack(series, Adversary(), ["gathering"], views=views)
    assert [part.people for part in found.by_release] == [12, 12, 10]


def test_publishers_that_do_not_say_how_people_are_put_together_are_left_out(tmp_path: Path) -> None:
    view = people(12, 3, 1)
    series = Series.create(tmp_path / "s", SCHEMA, Mondrian(k=4), seed=1, one_table=True)
    series.publish(view)
    with pytest.raises(PolicyError, match="gathering cannot be made: nothing is told of how this publisher"):
        attack(series, ADVERSARY, ["gathering"], views=[view])
    assert "raw views" in str(Means(ADVERSARY).obstacle("gathering"))


def test_the_command_and_the_gate_make_it(tmp_path: Path) -> None:
    view = people(18, 3, 7)
    series = published(tmp_path, [view], 3)
    (tmp_path / "views").mkdir()
    view.write_csv(tmp_path / "views" / "1.csv")
    found = document(series.root, "--truth", tmp_path / "views", "--attack", "gathering")
    assert [one["attack"] for one in found["summaries"]] == ["gathering"]
    assert found["summaries"][0]["overall"]["mean_confidence"] > 0.1
    gate = Gate(attacks=("gathering",), max_mean_confidence=0.1)  # a third of what counting says
    with pytest.raises(LimitBroken, match="gathering: the mean confidence"):
        published(tmp_path / "gated", [view], 3, gate)
    with pytest.raises(PolicyError, match="gathering in the gate could never be made"):
        Series.create(tmp_path / "m", SCHEMA, Mondrian(k=4), seed=1, one_table=True, gate=gate)


@pytest.mark.parametrize("known", [(), (0,)])
def test_she_is_not_told_which_value_has_no_rows_of_nobody(known: tuple[int, ...]) -> None:
    # Four of one value and two of another: two people are alone with a row of nobody, both with the frequent value.
    frame = people(6, 2, 3).with_columns(ill=pl.Series(["cold"] * 4 + ["flu"] * 2))
    view, publisher = read(frame), TauSafety(m=2, membership="nearest")
    grouping = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    alone = np.flatnonzero(np.bincount(grouping.group)[grouping.group] == 1)
    assert len(alone) == 2
    told = np.isin(np.arange(6), alone[list(known)])
    tried = try_inputs(Replay(publisher, SECRET), [view], [grouping], Options(draws=300), lambda _: told)
    exact = tried.posterior()[np.arange(6), tried.case.truth]
    found = gathering(tried.case.history, [Trace(view, np.arange(6), publisher.forming)], told)
    assert found.confidence == pytest.approx(exact, abs=0.07)
    assert found.confidence[alone] == pytest.approx([0.5, 0.5] if not known else [1.0, 1.0])
