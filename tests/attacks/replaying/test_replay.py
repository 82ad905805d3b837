"""The publisher run again on every input that could lie behind a stored series."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Mondrian, Series
from republish.attacks.replaying.input_enumeration import try_inputs
from republish.attacks.replaying.replay import replay_of
from republish.cli import app
from republish.requirements import LDiversity
from republish.schema import Category, Number, Schema

SCHEMA = Schema(identifier="id", quasi_identifiers=[Number("age")], sensitive=Category("ill"))
WEEKS = [
    {
        "a": (20, "flu"),
        "b": (21, "flu"),
        "c": (30, "hiv"),
        "d": (31, "flu"),
        "e": (50, "cold"),
        "f": (51, "flu"),
    },
    {
        "a": (20, "flu"),
        "b": (21, "flu"),
        "c": (30, "hiv"),
        "d": (31, "flu"),
        "e": (50, "hiv"),
        "f": (51, "flu"),
    },
]


def frame(week: dict[str, tuple[int, str]]) -> pl.DataFrame:
    return pl.DataFrame([{"id": who, "age": age, "ill": ill} for who, (age, ill) in week.items()])


@pytest.fixture
def published(tmp_path: Path) -> tuple[Series, list[pl.DataFrame]]:
    publisher = Mondrian(k=2, require=(LDiversity(2),))
    series = Series.create(tmp_path / "s", SCHEMA, publisher, seed=1, one_table=True)
    views = [frame(week) for week in WEEKS]
    for view in views:
        series.publish(view)
    return series, views


def test_the_true_input_makes_what_was_published(published: tuple[Series, list[pl.DataFrame]]) -> None:
    series, views = published
    replay, read, groupings = replay_of(series, views)
    for number, grouping in enumerate(groupings, start=1):
        again = replay(read[:number], groupings[: number - 1], np.random.default_rng(0))
        pairs = {(int(a), int(b)) for a, b in zip(grouping.group, again.group, strict=True)}
        assert len(pairs) == grouping.groups == again.groups


def test_some_inputs_fit_the_groups_and_would_have_made_others(
    published: tuple[Series, list[pl.DataFrame]],
) -> None:
    tried = try_inputs(*replay_of(*published))
    found = tried.minimality()
    assert 1 <= found.kept <= found.inputs
    assert found.after.mean_confidence >= found.before.mean_confidence - 1e-12
    assert found.lives == 7  # six people, one of whom has a second value


def test_the_command_makes_both_attacks(published: tuple[Series, list[pl.DataFrame]], tmp_path: Path) -> None:
    series, views = published
    (tmp_path / "views").mkdir()
    for number, view in enumerate(views):
        view.write_csv(tmp_path / "views" / f"{number}.csv")
    asked = [
        "attack", str(series.root), "--truth", str(tmp_path / "views"), "--attack", "minimality,suppression", "--json",
    ]  # fmt: skip
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    replays = json.loads(done.output)["replays"]
    assert [one["attack"] for one in replays] == ["minimality", "suppression"]
    assert replays[1]["lives"] == 0  # nobody was left out


def test_without_raw_views_it_says_what_is_missing(published: tuple[Series, list[pl.DataFrame]]) -> None:
    done = CliRunner().invoke(app, ["attack", str(published[0].root), "--attack", "minimality"])
    assert done.exit_code != 0
