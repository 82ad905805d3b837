"""Every command that speaks JSON: one line, in the form that the shipped schema describes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from json_documents import DOCUMENTS, SCHEMA, valid
from republish.cli import app, output
from typed import typed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Views, a series of two releases, and one in two tables."""
    folder = tmp_path_factory.mktemp("json")
    typed("generate", "hospital", folder / "data", "--views", "3", "--rows", "150")
    schema = ("--schema", folder / "data/schema.toml", "--seed", "1")
    tau = ("--publisher", "tau-safety", "-p", "m=3")
    gate = ("--gate", "attacks=intersection,max_determined=0.9")
    valid(typed("init", folder / "s", *schema, *tau, *gate, "--json").stdout, "init")
    valid(typed("init", folder / "two", *schema, *tau, "--form", "two-tables", "--json").stdout, "init")
    typed("init", folder / "later", *schema, *tau)
    views = folder / "data/views"
    valid(typed("publish", folder / "s", views / "001.csv", "--json", "--quiet").stdout, "publish")
    done = valid(
        typed("publish", folder / "s", views / "002.csv", "--corrects", "1", "--json").stdout, "publish"
    )
    assert done["corrects"]["release"] == 1
    assert "two_tables" in valid(
        typed("publish", folder / "two", views / "001.csv", "--json").stdout, "publish"
    )
    return folder


@pytest.mark.parametrize(
    "words, name",
    [
        ("publish s data/views/003.csv --dry-run", "publish"),
        ("adopt later s/releases/0001/table.csv --view data/views/001.csv --dry-run", "adopt"),
        ("status s --max-age 8d", "status"),
        ("status later", "status"),
        ("history s", "history"),
        ("history two", "history"),
        ("show s", "show-series"),
        ("show two", "show-series"),
        ("show s 2", "show-release"),
        ("show two 1", "show-release"),
        ("verify s", "verify-series"),
        ("verify s --gate", "verify-series"),
        ("verify two", "verify-series"),
        ("verify s/releases/0001/table.csv --schema data/schema.toml --require k=2", "verify-tables"),
        ("measure s", "measure"),
        ("measure two", "measure"),
        ("query s 1 age<40", "query-count"),
        ("query s 1 --crosstab age --bins 40,60", "query-crosstab"),
        ("attack s --attack intersection", "attack"),
        ("report s -o r.md", "report"),
        ("read s/releases/0001", "read-release"),
        ("read two/releases/0001 -o people.csv --midpoints", "read-table"),
        ("backup s s.tar", "backup"),
        ("publish s data/views/002.csv", "error"),
        ("publish s", "error"),
        ("history nowhere", "error"),
        ("status s --max-age soon", "error"),
    ],
)
def test_a_document_has_the_form_of_its_command(folder: Path, words: str, name: str) -> None:
    done = typed(*words.split(), "--json", folder=folder)
    found = valid(done.stdout, name)
    assert done.stderr == ""
    assert ("error" in found) == (name == "error")
    if name == "error":
        assert found["error"]["exit_code"] == done.returncode


def test_a_regression_has_its_form(folder: Path) -> None:
    value = (folder / "data/views/001.csv").read_text().splitlines()[1].split(",")[-1]
    done = typed("query", folder / "s", "1", "--regress", f"diagnosis = '{value}' ~ age", "--json")
    assert valid(done.stdout, "query-regression")["release"] == 1


@pytest.mark.parametrize("command", ["withdraw", "amend", "forget"])
def test_what_changes_a_series_says_so_in_json(folder: Path, tmp_path: Path, command: str) -> None:
    root = folder / "two"
    patient = (folder / "data/views/001.csv").read_text().splitlines()[1].split(",")[0]
    (tmp_path / "ids.csv").write_text(f"patient\n{patient}\n")
    words = {
        "withdraw": ("1", "--reason", "trial"),
        "forget": ("--ids", tmp_path / "ids.csv", "--yes"),
        "amend": ("--hierarchy", "age=nothing.csv"),
    }
    done = typed(command, root, *words[command], "--json")
    found = valid(done.stdout, "error" if command == "amend" else command)
    assert command == "amend" or found["command"] == command


def test_amend_counts_the_leaves_of_every_column(tmp_path: Path) -> None:
    from republish import Category, Mondrian, Number, Schema, Series
    from republish.hierarchies import Hierarchy

    zips = Hierarchy((("101", "10*", "*"), ("102", "10*", "*")))
    schema = Schema("id", [Number("age"), Category("zip", hierarchy=zips)], "dx")
    Series.create(tmp_path / "s", schema, Mondrian(2), one_table=True, seed=1).ledger.close()
    (tmp_path / "more.csv").write_text("103;10*;*\n")
    done = typed("amend", tmp_path / "s", "--hierarchy", f"zip={tmp_path / 'more.csv'}", "--json")
    assert valid(done.stdout, "amend")["added"] == {"zip": 1}


def test_every_command_with_json_has_a_form() -> None:
    speaking = {
        name for c in app.registered_commands if (name := c.name) and "--json" in typed(name, "-h").stdout
    }
    assert {one.partition("-")[0] for one in DOCUMENTS} == speaking | {"error"}


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_form_is_on_the_page() -> None:
    page = (ROOT / "docs/json.md").read_text(encoding="utf-8")
    for name in DOCUMENTS - {"error"}:
        required = SCHEMA["$defs"][name]["required"]
        assert all(f"`{field}`" in page for field in required), name
        assert f"| `{name.partition('-')[0]}`" in page


def test_what_is_no_number_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    output.begin("status")
    output.say_json({"age": float("nan"), "words": "zwölf", "most": float("inf")})
    said = capsys.readouterr().out
    assert json.loads(said) == {
        "schema_version": 1, "command": "status", "age": None, "words": "zwölf", "most": None,
    }  # fmt: skip
    assert said.isascii()


def test_an_error_before_any_command_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["republish"])
    assert valid(typed("nothing", "--json").stdout, "error")["command"] is None
