"""Whom value-blind batches count: names of lives that overlap, and every attack on open and closed batches."""

from __future__ import annotations

from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.excluding.test_against_twins import truthful
from republish import Series, TauSafety, read_schema
from republish.attacks import (
    BELIEVES,
    EXCLUDES,
    Adversary,
    AttackResult,
    BeliefResult,
    Cracked,
    IdentityResult,
    attack,
    granted_view,
    history_of,
    names,
)
from republish.attacks.replaying.replay import Replay, replay_of
from republish.attacks.replaying.swap import swap_test
from republish.attacks.snapshots import CountedRows, counted_anew, lives_apart
from republish.datasets import hospital
from republish.errors import PolicyError
from republish.gate.run import Coming, WithDraft
from republish.knowledge import read_knowledge
from republish.memory.memory import Memory
from republish.microdata import Microdata, read_view
from republish.publishers.value_blind import ValueBlind
from republish.publishing.maintenance import forget
from republish.release.forms import TwoTables
from republish.secret import Secret

MEANT = ("fewer-rows", "new-people")


# Names --------------------------------------------------------------------------------------------


def apart(*counted: tuple[int, int, int]) -> tuple[list[int], list[int]]:
    """The names of (person, release, code), and who bears each."""
    person, release, code = (np.array(part) for part in zip(*counted, strict=True))
    name, bearer = lives_apart(2, person, release, code)
    return name.tolist(), bearer.tolist()


def test_whoever_is_counted_once_a_release_keeps_her_name() -> None:
    assert apart((0, 0, 5), (0, 1, 6), (0, 3, 5), (1, 0, 5)) == ([0, 0, 0, 1], [0, 1])


def test_a_life_that_is_held_goes_by_another_name_from_its_beginning() -> None:
    assert apart((1, 0, 5), (1, 1, 5), (1, 1, 6), (1, 2, 6)) == ([2, 2, 1, 1], [0, 1, 1])


def test_a_value_that_comes_back_after_a_life_that_is_held_is_not_said_to_be_the_old_one() -> None:
    names_, bearer = apart((0, 0, 5), (0, 1, 6), (0, 2, 6), (0, 2, 5))
    assert names_ == [2, 2, 2, 0]
    assert bearer == [0, 1, 0]


@pytest.mark.parametrize("seed", range(200))
def test_no_name_is_in_a_release_twice_and_lives_are_cut_where_they_overlap_alone(seed: int) -> None:
    """Against a naive twin that walks through the runs of every person."""
    rng = np.random.default_rng(seed)
    counted = [
        (p, t, int(c))
        for p in range(3)
        for t in range(6)
        for c in rng.choice(3, rng.integers(0, 3), replace=False)
    ]
    if not counted:
        return
    person, release, code = (np.array(part) for part in zip(*counted, strict=True))
    name, bearer = lives_apart(3, person, release, code)
    assert len(set(zip(name, release, strict=True))) == len(counted)
    assert (bearer[name] == person).all()
    for p in range(3):
        runs = sorted(_runs({(t, c) for q, t, c in counted if q == p}))
        cuts = [one[1] >= other[0] for one, other in pairwise(runs)]
        called = [
            {
                int(n)
                for n, q, t, c in zip(name, person, release, code, strict=True)
                if q == p and c == run[2] and run[0] <= t <= run[1]
            }
            for run in runs
        ]
        assert all(len(one) == 1 for one in called)
        assert [one != other for one, other in pairwise(called)] == cuts
        assert not called or called[-1] == {p}


def _runs(seen: set[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """First and last release, and code, of every run."""
    found = []
    for code in {c for _, c in seen}:
        times = sorted(t for t, c in seen if c == code)
        for _, part in groupby(enumerate(times), lambda item: item[1] - item[0]):
            run = [t for _, t in part]
            found.append((run[0], run[-1], code))
    return found


# Renewals -----------------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
def test_batches_counted_anew_are_as_if_nobody_were_held(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batches = int(rng.integers(1, 5))
    fresh = rng.random(batches) < 0.5
    group = rng.integers(-1, batches, 12)
    code = rng.integers(0, 3, 12)
    held = CountedRows(rng.integers(0, batches, 4), rng.integers(0, 3, 4))
    there = group >= 0
    order = rng.permutation(int(there.sum()) + 4)
    rows = CountedRows(np.append(group[there], held.group)[order], np.append(code[there], held.code)[order])
    found, shown = counted_anew(fresh, group, rows, held)
    number = {old: new for new, old in enumerate(np.flatnonzero(fresh).tolist())}
    expected = [number.get(one, -1) for one in group.tolist()]
    assert found.tolist() == expected
    pairs = [(g, c) for g, c in zip(expected, code.tolist(), strict=True) if g >= 0]
    assert sorted(zip(shown.group.tolist(), shown.code.tolist(), strict=True)) == sorted(pairs)


# Series -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("value-blind")
    hospital(views=5, rows=240, seed=5).write(made)
    return made


@pytest.fixture(scope="module", params=["open", "closed"])
def published(request: pytest.FixtureRequest, folder: Path) -> tuple[Series, list[Any]]:
    """Five weeks and somebody who was forgotten since."""
    schema = read_schema(folder / "schema.toml")
    publisher = ValueBlind(batches=request.param, size=40, n=4, m=2, max_determined=0.2)
    series = Series.create(folder / request.param, schema, publisher, seed=3, form=TwoTables(k=5))
    views: list[Any] = [pl.read_csv(path) for path in sorted((folder / "views").iterdir())]
    for week, view in enumerate(views, start=1):
        series.publish(view, as_of=f"2026-03-{week:02d}", meant=MEANT)
    assert schema.identifier is not None
    forget(series, views[0].select(schema.identifier).head(1))
    return series, views


def test_snapshots_have_no_rows_of_nobody_but_those_of_people_who_were_forgotten(published: Any) -> None:
    series, _ = published
    history = history_of(series)
    snapshots = history.snapshots
    assert snapshots is not None
    assert snapshots.forgotten is not None
    assert set(np.flatnonzero(snapshots.nobodys)) <= set(snapshots.forgotten)
    held = sum(len(series.members(number).held.people) for number in range(1, 6))
    assert held > 0
    assert len(snapshots.person) > len(history.person) - sum(
        int((series.members(number).group == 0).sum()) for number in range(1, 6)
    )
    assert snapshots.real == history.people


def test_who_weighs_values_hears_a_batch_when_it_is_counted(published: Any) -> None:
    series, _ = published
    history = history_of(series)
    renewed, forgotten = history.renewed, history.forgotten
    assert renewed is not None
    assert forgotten is not None
    clocks = [series.release(number).clock["as_of"].to_numpy() == number for number in range(1, 6)]
    assert np.diff(renewed.group_start).tolist() == [int(one.sum()) for one in clocks]
    assert 0 < renewed.groups < history.groups
    fresh = np.flatnonzero(np.concatenate(clocks))
    assert renewed.nobodys.sum() == np.isin(fresh, history.snapshots.forgotten).sum()
    assert renewed.nobodys.sum() < history.nobodys.sum()
    assert renewed.until(2).groups == history.until(2).renewed.groups


@pytest.mark.parametrize("name", names(EXCLUDES))
def test_those_that_exclude_never_exclude_a_true_value(name: str, published: Any) -> None:
    (found,) = attack(published[0], Adversary(0.05), [name])
    assert isinstance(found, AttackResult)
    assert truthful(found.findings)
    assert found.summary.people <= history_of(published[0]).people
    assert len(found.risk) == history_of(published[0]).people


def test_the_linear_attack_leaves_nobody_undecided(published: Any) -> None:
    (found,) = attack(published[0], Adversary(), ["linear"])
    assert isinstance(found, AttackResult)
    assert found.unclear is not None
    assert (found.unclear.people, found.unclear.unsolved) == (0, 0)


@pytest.mark.parametrize("name", names(BELIEVES))
def test_those_that_believe_look_at_who_is_there(name: str, published: Any, folder: Path) -> None:
    series, views = published
    adversary = Adversary(0.05, knowledge=read_knowledge(folder / "knowledge", series.schema))
    assert adversary.knowledge is not None
    truth = [
        granted_view(series, i, view, adversary.knowledge.classes) for i, view in enumerate(views, start=1)
    ]
    (found,) = attack(series, adversary, [name], truth)
    assert isinstance(found, BeliefResult)
    assert len(found.confidence) == len(history_of(series).person)


def test_those_that_match_look_at_who_is_there(published: Any) -> None:
    series, views = published
    adversary = Adversary(0.05, membership="matched")
    made = ["matched", "linkage", "presence", "bcf", "tracing"]
    matched, linkage, presence, bcf, tracing = attack(series, adversary, made, views=views)
    assert isinstance(matched, AttackResult)
    assert truthful(matched.findings)
    assert linkage.summary.people == presence.summary.people == history_of(series).people
    for found in (bcf, tracing):
        assert isinstance(found, IdentityResult) and isinstance(found.overall, Cracked)
        assert 0 < found.summary.people <= history_of(series).people
        assert found.overall.fewest_left is not None and found.overall.fewest_left >= 1


def test_inputs_are_not_tried_where_values_play_no_part(published: Any) -> None:
    with pytest.raises(PolicyError, match="value-blind batches are made without them"):
        replay_of(*published)


# The swap test ------------------------------------------------------------------------------------


def micro(folder: Path, weeks: int) -> list[Microdata]:
    schema, secret, known, read = read_schema(folder / "schema.toml"), Secret.from_text("ab" * 32), None, []
    for path in sorted((folder / "views").iterdir())[:weeks]:
        view = read_view(path, schema, known)
        known = view.values
        read.append(view.pseudonymous(secret))
    return read


@pytest.mark.parametrize("batches", ["open", "closed"])
def test_nobody_tells_two_people_of_a_value_blind_batch_apart(batches: str, folder: Path) -> None:
    publisher = ValueBlind(batches=batches, size=40, n=4, m=2, max_determined=0.2, whole=True)
    found = swap_test(Replay(publisher, Secret.from_text("ab" * 32)), micro(folder, 3), pairs=40)
    assert [one.told_apart for one in found] == [0, 0, 0]
    assert min(one.pairs for one in found) >= 20


def test_where_values_decide_who_is_with_whom_most_pairs_are_told_apart(folder: Path) -> None:
    replay = Replay(TauSafety(m=3, membership="nearest"), Secret.from_text("ab" * 32))
    (found,) = swap_test(replay, micro(folder, 1), pairs=20)
    assert found.told_apart > found.pairs / 4


# In parts, and before a release is out ------------------------------------------------------------


def test_the_gate_sees_whom_a_draft_holds(folder: Path, tmp_path: Path) -> None:
    schema = read_schema(folder / "schema.toml")
    publisher = ValueBlind(size=40, n=4, m=2, max_determined=0.2)
    series = Series.create(tmp_path / "series", schema, publisher, seed=3, form=TwoTables(k=5))
    for path in sorted((folder / "views").iterdir())[:3]:
        series.publish(path, meant=MEANT)
    members = series.members(3)
    (view,) = micro(folder, 3)[2:]
    columns = {"group": members.group, "code": members.code, "row": members.row}
    coming = Coming(series.release(3), view, Memory(members.people, columns), held=members.held)
    draft = WithDraft(series, coming)
    assert draft.members(4).held is members.held
    assert draft.members(4).counted().people.shape == members.counted().people.shape
