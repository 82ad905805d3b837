"""The command line of a series with a gate."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import LimitBroken, PolicyError, Series
from republish.attacks import Unclear
from republish.attacks.linear import LinearFindings
from republish.cli import app

GATE = "max_determined=0.5,attacks=intersection"


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A schema and three views: the second one breaks the limit."""
    first = pl.DataFrame({"id": list("pqrs"), "age": [1, 2, 8, 9], "dx": list("abcd")})
    first.write_csv(tmp_path / "1.csv")
    first.with_columns(age=pl.Series([1, 8, 2, 9])).write_csv(tmp_path / "2.csv")
    (tmp_path / "schema.toml").write_text(
        '[columns.id]\nrole = "identifier"\n[columns.age]\nrole = "quasi-identifier"\nkind = "number"\n'
        '[columns.dx]\nrole = "sensitive"\nkind = "category"\n'
    )
    return tmp_path


def init(folder: Path, gate: str = GATE) -> Any:
    return run(
        "init", folder / "s", "--schema", folder / "schema.toml", "--publisher", "mondrian", "-p", "k=2",
        "--one-table", "--seed", "1", "--gate", gate,
    )  # fmt: skip


def test_raw_views_for_linkage_come_from_a_folder(folder: Path) -> None:
    assert init(folder, "max_alone=1,max_shown_present=1").exit_code == 0
    truth = folder / "truth"
    truth.mkdir()
    assert run("publish", folder / "s", folder / "1.csv").exit_code == 0
    refused = run("publish", folder / "s", folder / "2.csv")
    assert isinstance(refused.exception, PolicyError)
    assert "--truth DIR" in str(refused.exception)
    (folder / "1.csv").rename(truth / "1.csv")
    done = run("publish", folder / "s", folder / "2.csv", "--truth", truth)
    assert "linkage: max_alone " in done.output
    assert "presence: max_shown_present " in done.output
    (folder / "2.csv").rename(truth / "2.csv")
    again = run("verify", folder / "s", "--gate", "--truth", truth)
    assert "gate: passed" in again.output
    alone = run("verify", folder / "s", "--truth", truth)
    assert "add --gate" in str(alone.exception)


def test_a_gate_from_init_to_show(folder: Path) -> None:
    made = init(folder)
    assert made.exit_code == 0, made.output
    assert "every release must pass the gate: intersection; max_determined=0.5" in made.output
    dry = run("publish", folder / "s", folder / "1.csv", "--dry-run")
    assert dry.exit_code == 0
    assert "gate: passed" in dry.output
    done = run("publish", folder / "s", folder / "1.csv")
    assert done.exit_code == 0
    assert "intersection: max_determined 0.0000 of 0.5" in done.output
    assert "gate: intersection; max_determined=0.5" in run("show", folder / "s").output
    assert "limit of the gate" in run("show", folder / "s", "1").output
    history = json.loads(run("history", folder / "s", "--json").output)
    assert history["releases"][0]["gate"] == "passed"
    assert "passed" in run("history", folder / "s").output


def test_a_release_that_breaks_a_limit_is_refused(folder: Path) -> None:
    init(folder)
    run("publish", folder / "s", folder / "1.csv")
    dry = run("publish", folder / "s", folder / "2.csv", "--dry-run")
    assert dry.exit_code == 1
    assert "NOT passed, this release would be refused" in dry.output
    sentence = "intersection: 4 of 4 people (100.00%) are determined exactly, 50.00 points too many"
    assert sentence in dry.output
    shown = json.loads(run("publish", folder / "s", folder / "2.csv", "--dry-run", "--json").output)
    assert shown["gate"]["breaches"] == [
        {
            "attack": "intersection",
            "limit": "max_determined",
            "allowed": 0.5,
            "found": 1.0,
            "excess": 0.5,
            "people": 4,
        }
    ]
    refused = run("publish", folder / "s", folder / "2.csv")
    assert isinstance(refused.exception, LimitBroken)
    assert sentence in str(refused.exception)
    assert len(Series.open(folder / "s").records) == 1


def test_verify_makes_the_attacks_once_more(folder: Path) -> None:
    init(folder)
    run("publish", folder / "s", folder / "1.csv")
    again = run("verify", folder / "s", "--gate")
    assert again.exit_code == 0
    assert "gate: passed, attacked once more" in again.output
    assert json.loads(run("verify", folder / "s", "--gate", "--json").output)["gate"]["passed"]
    assert "gate" not in json.loads(run("verify", folder / "s", "--json").output)


def test_undecided_people_are_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unclear = Unclear(people=2, undecided=3, unsettled=1, unsolved=0)
    monkeypatch.setattr(LinearFindings, "unclear", lambda *_: unclear)
    init(folder, "max_determined=0.5,max_undecided=0.5,attacks=linear")
    done = run("publish", folder / "s", folder / "1.csv")
    assert done.exit_code == 0, done.output
    assert (
        "linear: max_determined 0.0000 of 0.5 and 2 more people undecided, max_undecided 0.5000 of 0.5"
        in done.output
    )
    notes = [
        "linear: 0 of 4 people are determined, and 2 more are undecided, for the budget ran out before a "
        "second value was found; so up to 50.00% may be determined",
        "linear: the probabilities of 1 episodes had not settled",
    ]
    for shown in (
        done.output,
        run("show", folder / "s", "1").output,
        run("verify", folder / "s", "--gate").output,
    ):
        for note in notes:
            assert f"note: {note}" in shown
    recorded = Series.open(folder / "s").record(1).payload["gate"]
    assert recorded["found"][0]["unclear"] == asdict(unclear)
    assert recorded["notes"] == notes
    assert json.loads(run("verify", folder / "s", "--gate", "--json").output)["gate"]["notes"] == notes


def test_too_many_undecided_people_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LinearFindings, "unclear", lambda *_: Unclear(3, 3, 0, 0))
    init(folder, "max_determined=0.5,max_undecided=0.5,attacks=linear")
    refused = run("publish", folder / "s", folder / "1.csv")
    assert isinstance(refused.exception, LimitBroken)
    assert "max_undecided=0.5, linear: 3 of 4 people (75.00%) are undecided" in str(refused.exception)
    assert not Series.open(folder / "s").records


@pytest.mark.parametrize(
    "gate, message",
    [
        ("max_determined", "written NAME=VALUE"),
        ("compromised=0.1", "at least one limit"),
        ("max_gain=0.1,attacks=beliefs", "beliefs in the gate needs to know"),
        ("max_gain=0.1,attacks=magic", "no attack called magic"),
        ("max_undecided=0.1,attacks=tau", "limits a figure that tau cannot give"),
    ],
)
def test_a_wrong_gate_makes_no_series(folder: Path, gate: str, message: str) -> None:
    made = init(folder, gate)
    assert isinstance(made.exception, PolicyError)
    assert message in str(made.exception)
    assert not (folder / "s").exists()
