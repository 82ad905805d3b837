"""`republish reproduce`: arguments, and what is written and said; the studies have their own tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from json_documents import valid
from republish import papers
from republish.cli import app
from republish.papers import Cell, Claim, Figure, Paper, Scale
from republish.papers.checks import at_most
from republish.papers.study import Row


def doubled(scale: Scale, *, x: int) -> list[Row]:
    return [{"y": 2 * x, "line": "a"}]


TINY = Paper(
    "js-reduce",
    "A tiny paper",
    "Nobody (2000).",
    "No data.",
    lambda _: [Cell("s", doubled, {"x": x}) for x in (1, 2)],
    (
        Figure(
            "Fig. 1",
            "doubled",
            "s",
            "x",
            "y",
            "line",
            ("x", "y"),
            (Claim("It is 4 at most.", "4", at_most("a", 4)), Claim("It is 1.", "1", at_most("a", 1))),
        ),
    ),
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "paper_named", lambda name: TINY)
    monkeypatch.delenv("REPUBLISH_ADULT", raising=False)


def test_a_page_is_written_and_what_fails_is_said(tiny: None, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["reproduce", "js-reduce", "--quick", "--out", str(tmp_path), "--workers", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "js-reduce: 1 holds, 1 does not hold" in done.output
    assert "Fig. 1 does not hold: It is 1. (a at most 4; limit 1)" in done.output
    assert (tmp_path / "index.html").exists() and (tmp_path / "js-reduce" / "fig-1.csv").exists()


def test_json_holds_every_claim(tiny: None, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["reproduce", "js-reduce", "--out", str(tmp_path), "--workers", "1", "--json"]
    )
    (paper,) = valid(done.stdout, "reproduce")["papers"]
    assert [claim["verdict"] for claim in paper["claims"]] == ["holds", "does not hold"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nothing"], "there are studies of js-reduce"),
        (["banga", "--adult", "/nowhere/at/all"], "UCI Adult must be a folder"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path)])
    assert done.exit_code != 0
    assert said in str(done.exception or done.output)


def test_there_is_at_least_one_process(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "banga", "--workers", "0", "--out", str(tmp_path)])
    assert done.exit_code == 2
