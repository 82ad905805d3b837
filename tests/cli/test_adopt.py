"""`republish adopt`, and where adopted releases are marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from republish import Mondrian, Series, read_schema
from republish.cli import app
from republish.errors import PolicyError

RUN = CliRunner()


def say(*arguments: object) -> str:
    done = RUN.invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def table(tmp_path: Path, hospital_folder: Path, views: list[Path]) -> Path:
    """A table that was published elsewhere."""
    schema = read_schema(hospital_folder / "schema.toml")
    with Series.create(tmp_path / "other", schema, Mondrian(6), seed=3).ledger as ledger:
        made = Series.open(tmp_path / "other")
        made.publish(views[0])
        made.ledger.close()
        return ledger.folder(1) / "table.csv"


def test_an_adopted_release_is_marked_wherever_releases_are_listed(
    table: Path, hospital_folder: Path, views: list[Path], tmp_path: Path
) -> None:
    series = tmp_path / "visits"
    say("init", series, "--schema", hospital_folder / "schema.toml", "--publisher", "tau-safety", "-p", "m=3")
    output = say("adopt", series, table, "--view", views[0], "--as-of", "2026-01-05")
    assert "release 1 as of 2026-01-05, adopted" in output
    assert "everyone fits one group alone" in output
    assert "attack on all releases so far" in output
    say("publish", series, views[1], "--as-of", "2026-01-12")
    lines = json.loads(say("history", series, "--json"))["releases"]
    assert [line["status"] for line in lines] == ["adopted", ""]
    assert "(adopted)" in say("show", series, 1)
    assert "the first 1 adopted from elsewhere" in say("show", series)
    assert "made by another tool, nothing is promised" in say("verify", series)
    say("report", series, "-o", tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "**adopted**" in text
    assert "Release 1 was made by another tool before the series began" in text
    say("report", series, "-o", tmp_path / "report.html")
    assert "adopted</strong>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_dry_run_says_the_same_and_writes_nothing(
    table: Path, hospital_folder: Path, views: list[Path], tmp_path: Path
) -> None:
    series = tmp_path / "visits"
    say("init", series, "--schema", hospital_folder / "schema.toml", "--publisher", "tau-safety", "-p", "m=3")
    found = json.loads(say("adopt", series, table, "--view", views[0], "--dry-run", "--json"))
    assert found["adopted"]["elsewhere"] == 0
    assert json.loads(say("history", series, "--json"))["releases"] == []


def test_a_second_table_of_another_form_is_refused_in_words(
    table: Path, hospital_folder: Path, views: list[Path], tmp_path: Path
) -> None:
    series = tmp_path / "visits"
    say("init", series, "--schema", hospital_folder / "schema.toml", "--publisher", "tau-safety", "-p", "m=3")
    done = RUN.invoke(app, ["adopt", str(series), str(table), str(table), "--view", str(views[0])])
    assert "needs a column batch" in str(done.exception)
    done = RUN.invoke(app, ["adopt", str(series), str(table), "--view", str(views[0]), "--groups", "age"])
    assert isinstance(done.exception, PolicyError)
    assert "has a role of its own" in str(done.exception)
