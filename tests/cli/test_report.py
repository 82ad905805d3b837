"""`republish report`: files, formats, attacks, and what is refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from report.marked import MARK, make, view
from republish import PolicyError, Series, TauSafety, read_schema
from republish.attacks.assessments import kept
from republish.cli import app


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["report", *(str(argument) for argument in arguments)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "weekly"
    make(folder, 2).ledger.close()
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "weekly")


def test_a_page_is_written_and_says_that_no_attack_was_made(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    done = run(folder, "-o", out)
    assert done.exit_code == 0, done.output
    assert "2 releases" in done.output
    assert "--attack all --compromised 0.04" in done.output.replace("\n", " ")
    assert out.read_text().startswith("<!doctype html>")
    assert "No attack was made" in out.read_text()
    assert not list(tmp_path.glob(".report*"))


def test_attacks_are_made_kept_and_used_again(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.md"
    done = run(
        folder, "-o", out, "--attack", "tau, linear", "--compromised", "0.1", "--seed", "4", "--no-events"
    )
    assert done.exit_code == 0, done.output
    assert "no attack" not in done.output
    (made,) = kept(Series.open(folder))
    assert list(made.found) == ["tau", "linear"]
    assert (made.adversary["compromised"], made.adversary["seed"], made.adversary["event_lists"]) == (
        0.1,
        4,
        False,
    )
    assert "| linear |" in out.read_text()
    again = run(folder, "--format", "json")
    assert list(json.loads(again.output)["serial"][0]["after_release"]) != []
    assert len(kept(Series.open(folder))) == 1


def test_all_attacks(folder: Path) -> None:
    done = run(folder, "--format", "json", "--attack", "all")
    document = json.loads(done.output)
    assert len(document["serial"][0]["after_release"]) == 6
    assert MARK not in done.output


def test_somebody_who_does_not_know_the_groups(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    for week in range(2):
        view(week).write_csv(tmp_path / "raw" / f"{week}.csv")
    done = run(folder, "--format", "md", "--attack", "matched", "--truth", tmp_path / "raw")
    assert done.exit_code == 0, done.exception
    assert "She knows when people came" in done.output
    assert "She knows who is in which group" not in done.output


def test_knowledge_is_granted(tmp_path: Path, hospital_folder: Path) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    series = Series.create(tmp_path / "s", schema, TauSafety(m=3), seed=1)
    (tmp_path / "raw").mkdir()
    for raw in sorted((hospital_folder / "views").iterdir())[:2]:
        shutil.copy(raw, tmp_path / "raw")
        series.publish(raw)
    series.ledger.close()
    granted = ("--format", "md", "--attack", "beliefs,tau", "--knowledge", hospital_folder / "knowledge")
    made = run(tmp_path / "s", *granted, "--truth", tmp_path / "raw")
    assert made.exit_code == 0, made.output
    assert "knowledge given for the attack" in made.output
    assert "| beliefs |" in made.output
    assert "raw views" in str(run(tmp_path / "s", *granted).exception)
    assert "2 releases, 5 files" in str(
        run(tmp_path / "s", *granted, "--truth", hospital_folder / "views").exception
    )
    without = run(tmp_path / "s", "--format", "md", "--attack", "all", *granted[4:])
    assert "joint was not made: the classes of this knowledge" in without.output


@pytest.mark.parametrize(
    "name, start",
    [("r.html", "<!doctype"), ("r.json", "{"), ("r.md", "# Disclosure"), ("r.MD", "#"), ("r", "<!")],
)
def test_the_ending_chooses_the_format(folder: Path, tmp_path: Path, name: str, start: str) -> None:
    assert run(folder, "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / name).read_text().startswith(start)


def test_a_format_that_is_named_wins(folder: Path, tmp_path: Path) -> None:
    assert run(folder, "-o", tmp_path / "r.html", "--format", "md").exit_code == 0
    assert (tmp_path / "r.html").read_text().startswith("# Disclosure")


def test_json_says_what_was_written(folder: Path, tmp_path: Path) -> None:
    done = run(folder, "-o", tmp_path / "r.md", "--json")
    assert json.loads(done.output) == {
        "schema_version": 1, "command": "report",
        "report": str(tmp_path / "r.md"), "format": "md", "releases": 2, "attacked": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--format", "pdf"), "--format must be"),
        (("--json",), "name a file with -o"),
        (("--compromised", "0.04"), "--compromised is for an attack"),
        (("--compromised", "0.04", "--seed", "1"), "--compromised, --seed are for an attack"),
        (("--attack", "unheard-of"), "unheard-of"),
        (("--attack", "matched"), "raw views"),
        (("--attack", "minimality"), "republish attack"),
        (("--attack", "all", "--compromised", "2"), "share from 0 to 1"),
        (("-o", "FOLDER/releases/0001/report.html"), "not for recipients"),
        (("-o", "FOLDER"), "is a folder"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run(folder, *(argument.replace("FOLDER", str(folder)) for argument in arguments))
    assert isinstance(done.exception, PolicyError)
    assert message in str(done.exception)
    assert kept(Series.open(folder)) == []


def test_a_failure_leaves_the_old_report(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert isinstance(run(folder, "-o", out).exception, PolicyError)
    assert out.read_text() == "old"


def test_a_folder_that_is_no_series_is_refused(tmp_path: Path) -> None:
    assert "republish init" in str(run(tmp_path / "none").exception)
