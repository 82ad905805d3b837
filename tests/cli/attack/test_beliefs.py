"""The command line with knowledge and with what outsiders know of single people."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import PolicyError, ViewError
from republish.cli import app
from republish.datasets import hospital


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    hospital(views=2, rows=200, seed=3).write(folder)
    return folder


def init(data: Path, series: Path, publisher: str, *more: str | Path) -> str:
    return run(
        "init", series, "--schema", data / "schema.toml", "--publisher", publisher, "--seed", "1", *more
    )


def test_a_series_with_knowledge_and_compromised_people(data: Path, tmp_path: Path) -> None:
    series = tmp_path / "s"
    init(data, series, "bayframe", "--knowledge", data / "knowledge", "-p", "beta=20", "-p", "crowd=6")
    assert (series / "knowledge" / "knowledge.toml").read_text().count("liver") == 0
    assert (series / "knowledge" / "prior.csv").exists()
    first, second = sorted((data / "views").iterdir())
    view = pl.read_csv(first, infer_schema=False)
    schema = (data / "schema.toml").read_text()
    identifier = view.columns[0]
    assert identifier in schema
    known = view.select(identifier, "diagnosis").head(5).with_columns(p=pl.lit(0.6))
    known.write_csv(tmp_path / "known.csv")
    run("publish", series, first, "--as-of", "2026-01-05", "--compromised", tmp_path / "known.csv")
    run("publish", series, second, "--as-of", "2026-01-12")
    found = json.loads(run("verify", series, "--json"))
    assert found["holds"]
    promises = [check["promise"] for check in found["releases"]["1"]["checks"]]
    assert "similarity=0.6: divergence of beliefs" in promises
    shown = json.loads(run("show", series, "1", "--json"))
    assert "compromised" not in shown and "counts" not in shown
    about = (series / "releases" / "0001" / "about.json").read_text()
    assert "similarity=0.6" in about


def test_without_knowledge_it_is_counted(data: Path, tmp_path: Path) -> None:
    init(data, tmp_path / "s", "js-reduce", "-p", "crowd=6")
    assert 'prior = "views"' in (tmp_path / "s" / "knowledge" / "knowledge.toml").read_text()


@pytest.mark.parametrize(
    "publisher, folder, message",
    [
        ("mondrian", "knowledge", "mondrian makes no use of knowledge"),
        ("js-reduce", "nowhere", "nowhere"),
    ],
)
def test_knowledge_that_is_not_there_or_not_used_is_refused(
    data: Path, tmp_path: Path, publisher: str, folder: str, message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        init(data, tmp_path / "s", publisher, "--knowledge", data / folder)
    assert not (tmp_path / "s").exists()


def test_bad_compromised_tables_commit_nothing(data: Path, tmp_path: Path) -> None:
    series = tmp_path / "s"
    init(data, series, "js-reduce")
    first = min((data / "views").iterdir())
    view = pl.read_csv(first, infer_schema=False)
    strange = view.select(view.columns[0], "diagnosis").head(1).with_columns(p=pl.lit(2.0))
    strange.write_csv(tmp_path / "known.csv")
    with pytest.raises(PolicyError, match="between 0 and 1"):
        run("publish", series, first, "--compromised", tmp_path / "known.csv")
    with pytest.raises(ViewError):
        run("publish", series, first, "--compromised", tmp_path / "none.csv")
    assert not any((series / "releases").iterdir())
