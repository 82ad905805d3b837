"""`republish read`: a release from its folder alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Series
from republish.cli import app
from republish.errors import PolicyError, ViewError


@pytest.fixture
def received(two_tables: Series, views: list[Path], tmp_path: Path) -> Path:
    """The folder of a release in two tables, somewhere else than its series."""
    two_tables.publish(views[0], as_of="2026-01-05")
    return Path(shutil.copytree(two_tables.ledger.folder(1), tmp_path / "mail" / "got"))


def run(*arguments: object) -> str:
    found = CliRunner().invoke(app, ["read", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def test_it_says_what_is_in_a_release(received: Path) -> None:
    text = run(received)
    assert text.startswith("release 1 as of 2026-01-05: 400 people in two tables\n")
    assert "age: quasi-identifier, number" in text and "sepsis shock" in text


def test_as_json_the_values_add_up_to_the_people(received: Path) -> None:
    found = json.loads(run(received, "--json"))
    assert (found["release"], found["form"], found["people"]) == (1, "two tables", 400)
    assert sum(one["people"] for one in found["values"]) == pytest.approx(400)


def test_it_writes_people_with_midpoints(received: Path, tmp_path: Path) -> None:
    out = tmp_path / "people.csv"
    assert run(received, "-o", out, "--midpoints").startswith(
        f"{out}: 400 lines, columns person, group, age_lo"
    )
    table = pl.read_csv(out)
    assert {"age_mid", "age_width", "batch"} <= set(table.columns) and "diagnosis" not in table.columns


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_it_writes_values_with_weights(received: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"joined.{ending}"
    told = json.loads(run(received, "-o", out, "--weights", "--json"))
    table = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    assert (told["file"], told["rows"], told["columns"]) == (str(out), table.height, table.columns)
    assert table["weight"].sum() == pytest.approx(400)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--weights"], "name a file with -o"),
        (["-o", "x.sav"], "ends in .csv or .parquet"),
        (["-o", "got/x.csv"], "write elsewhere"),
    ],
)
def test_wrong_use_is_refused(
    received: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(received.parent)
    with pytest.raises(PolicyError, match=message):
        run("got", *arguments)


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ViewError, match="must be the folder of a release"):
        run(tmp_path)
