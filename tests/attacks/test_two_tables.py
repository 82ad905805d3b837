"""Every attack on a series in two tables: with counterfeits, an empty week, people forgotten or without a batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from attacks.excluding.test_against_twins import truthful
from republish import Mondrian, Series, TauSafety, read_schema
from republish.attacks import (
    BELIEVES,
    EXCLUDES,
    KINDS,
    REPLAYS,
    RETRACES,
    Adversary,
    AttackResult,
    BeliefResult,
    Corresponding,
    IdentityResult,
    Linked,
    Presence,
    Traced,
    attack,
    granted_view,
    history_of,
    names,
)
from republish.attacks.replaying.input_enumeration import Options, try_inputs
from republish.attacks.replaying.replay import replay_of
from republish.datasets import hospital
from republish.datasets.census import census
from republish.knowledge import read_knowledge
from republish.publishing.maintenance import forget
from republish.release.forms import TwoTables
from republish.release.two_tables import TwoTableRelease
from republish.requirements import LDiversity
from republish.schema import Category, Number, Schema

Published = tuple[Series, list[Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("two-tables")
    hospital(views=4, rows=150, seed=5).write(made)
    return made


@pytest.fixture(scope="module")
def published(folder: Path) -> Published:
    """Four weeks with counterfeits, an empty week between them, and three people who were forgotten since."""
    schema = read_schema(folder / "schema.toml")
    series = Series.create(folder / "series", schema, TauSafety(m=3), seed=3, form=TwoTables(k=5))
    views: list[Any] = [pl.read_csv(path) for path in sorted((folder / "views").iterdir())]
    views.insert(2, views[0].clear())
    for week, view in enumerate(views, start=1):
        series.publish(view, as_of=f"2026-03-{week:02d}", meant=("fewer-rows", "new-people"))
    assert schema.identifier is not None
    forget(series, views[0].select(schema.identifier).head(3))
    return series, views


def knowing(folder: Path, series: Series) -> Adversary:
    return Adversary(0.1, knowledge=read_knowledge(folder / "knowledge", series.schema))


def test_the_series_has_what_attacks_may_stumble_over(published: Published) -> None:
    series, _ = published
    releases = [series.release(number) for number in range(1, 6)]
    assert all(isinstance(release, TwoTableRelease) for release in releases)
    assert releases[2].rows == 0
    assert sum(int(release.counterfeits.sum()) for release in releases) > 0
    forgotten = history_of(series).forgotten
    assert forgotten is not None
    assert len(forgotten)


@pytest.mark.parametrize("name", names(EXCLUDES))
def test_those_that_exclude_never_exclude_a_true_value(name: str, published: Published) -> None:
    series, views = published
    (found,) = attack(series, Adversary(0.1), [name])
    assert isinstance(found, AttackResult)
    assert truthful(found.findings)
    assert found.summary.people > 0
    assert len(found.releases) == len(views)
    assert found.releases[2].people == 0


@pytest.mark.parametrize("name", names(BELIEVES))
def test_those_that_believe_weigh_the_values_of_batches(
    name: str, published: Published, folder: Path
) -> None:
    series, views = published
    adversary = knowing(folder, series)
    assert adversary.knowledge is not None
    truth = [
        granted_view(series, number, view, adversary.knowledge.classes)
        for number, view in enumerate(views, start=1)
    ]
    (found,) = attack(series, adversary, [name], truth)
    assert isinstance(found, BeliefResult)
    assert 0 < found.summary.mean_confidence <= 1


def test_who_matches_excludes_no_true_value_and_is_less_sure(published: Published) -> None:
    series, views = published
    (matched,) = attack(series, Adversary(0.1, membership="matched"), views=views)
    (known,) = attack(series, Adversary(0.1), ["tau"])
    assert isinstance(matched, AttackResult)
    assert truthful(matched.findings)
    assert matched.summary.mean_confidence < known.summary.mean_confidence


@pytest.mark.parametrize(
    ("name", "figures"),
    [("linkage", Linked), ("presence", Presence), ("bcf", Corresponding), ("tracing", Traced)],
)
def test_those_that_seek_no_value_count_people(name: str, figures: type, published: Published) -> None:
    series, views = published
    (found,) = attack(series, Adversary(), [name], views=views)
    assert isinstance(found, IdentityResult)
    assert isinstance(found.overall, figures)
    assert [len(found.releases), len(found.by_release)] == [5, 5]
    assert found.as_dict()["overall"]
    everyone = history_of(series).people
    assert found.summary.people == everyone


def test_every_attack_is_tried_on_two_tables() -> None:
    tried = {*names(EXCLUDES, BELIEVES, REPLAYS), "matched", "linkage", "presence", "bcf", "tracing"}
    assert tried == set(KINDS) - {*names(RETRACES), "swap"}  # for groups that are cut; see test_snapshots


# The publisher that is run again ------------------------------------------------------------------

SMALL = Schema("id", [Number("age")], Category("ill"), ["ward"])
PEOPLE = {
    "a": (20, "flu"), "b": (21, "hiv"), "c": (30, "hiv"), "d": (31, "flu"), "e": (50, "cold"), "f": (51, "flu"),
    "g": (60, "cold"), "h": (61, "hiv"),
}  # fmt: skip


def frame(*who: str, **changed: str) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"id": one, "age": PEOPLE[one][0], "ill": changed.get(one, PEOPLE[one][1]), "ward": int(one in "abc")}
            for one in who
        ]
    )  # fmt: skip


def small(tmp_path: Path, publisher: Any, views: list[pl.DataFrame], **settings: Any) -> Series:
    series = Series.create(tmp_path / "small", SMALL, publisher, seed=1, form=TwoTables(k=2), **settings)
    for week, view in enumerate(views, start=1):
        series.publish(view, as_of=f"2026-03-{week:02d}", meant=("fewer-rows", "new-people"))
    return series


def test_the_publisher_is_run_again_with_whole_buckets(tmp_path: Path) -> None:
    views = [frame(*"abcdef"), frame(*"bcdefgh")]
    series = small(tmp_path, TauSafety(m=2, membership="nearest"), views)
    replay, read, groupings = replay_of(series, views)
    assert replay.publisher == series.policy.publisher
    for number, grouping in enumerate(groupings, start=1):
        again = replay(read[:number], groupings[: number - 1], np.random.default_rng(0))
        assert again.groups == grouping.groups
    tried = try_inputs(replay, read, groupings, Options(draws=3))
    for found in (tried.minimality(), tried.suppression()):
        assert 1 <= found.kept <= found.inputs
        assert 0 <= found.gain <= 1 + 1e-9


# People without a batch ---------------------------------------------------------------------------


def test_people_without_a_batch_are_shown_and_not_attacked_for_their_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Mondrian.publish

    def without_the_first(self: Mondrian, view: Any, memory: Any, rng: Any) -> Any:
        made = whole(self, view, memory, rng)
        group = made.group.copy()
        group[np.flatnonzero(np.bincount(group)[group] > 2)[:1]] = -1
        return replace(made, group=group)

    monkeypatch.setattr(Mondrian, "publish", without_the_first)
    views = [frame(*"abcdefgh"), frame(*"abcdefgh", a="cold")]
    series = small(tmp_path, Mondrian(3, (LDiversity(2),)), views, one_table=True)
    release = series.release(1)
    assert isinstance(release, TwoTableRelease)
    assert np.count_nonzero(release.batch == 0) == 1
    assert release.rows == 8
    history = history_of(series)
    assert len(history.person) == 14
    for result in attack(series, Adversary(), [*names(EXCLUDES)]):
        assert isinstance(result, AttackResult)
        assert truthful(result.findings)
    adversary = Adversary(membership="matched")
    matched, linkage, presence = attack(series, adversary, ["matched", "linkage", "presence"], views=views)
    assert isinstance(matched, AttackResult)
    assert truthful(matched.findings)
    assert [part.people for part in matched.by_release] == [7, 7]
    assert [part.people for part in linkage.by_release] == [8, 8]
    assert isinstance(presence, IdentityResult)
    assert isinstance(presence.overall, Presence)
    assert (presence.overall.present, presence.overall.shown_present) == (16, 1.0)


# Rule R4: a batch is a whole bucket ---------------------------------------------------------------


def test_whole_buckets_withstand_the_linear_attack_that_groups_of_m_fall_to(tmp_path: Path) -> None:
    """One tau-safe series, 4 % compromised: in published groups of m most are determined, in buckets next to nobody."""
    census(rows=1_200, views=7, insert=0.1, delete=0.1, update=0, reinsert=0, seed=2).write(tmp_path)
    schema = read_schema(tmp_path / "schema.toml")
    most = {}
    for form in (None, TwoTables(k=5)):
        publisher = TauSafety(m=6, membership="nearest" if form is None else "random")
        series = Series.create(tmp_path / str(form), schema, publisher, seed=4, form=form)
        for view in sorted((tmp_path / "views").iterdir()):
            series.publish(view)
        (found,) = attack(series, Adversary(0.04), ["linear"])
        assert isinstance(found, AttackResult)
        assert found.unclear is not None
        most[form] = found.summary.determined, found.unclear.people, found.summary.people
        series.ledger.close()
    determined, _, people = most[None]
    assert determined > people / 2  # 995 of 1,834
    determined, undecided, people = most[TwoTables(k=5)]
    assert determined + undecided <= 0.005 * people  # 1 and 3
