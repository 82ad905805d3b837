"""`republish query`: what it prints, what it returns, how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from republish import (
    Category,
    MInvariance,
    Mondrian,
    Number,
    Schema,
    Series,
    TauSafety,
    TwoTables,
    read_schema,
)
from republish.cli import app
from republish.errors import LedgerError, PolicyError, RepublishError, SchemaError
from republish.publishing.maintenance import withdraw


def ask(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["query", *map(str, arguments)])


@pytest.fixture
def published(series: Series, views: list[Path]) -> Path:
    series.publish(views[0], as_of="2026-01-05")
    return series.root


def test_it_says_estimate_and_bounds(published: Path, views: list[Path]) -> None:
    raw = pl.read_csv(views[0])
    true = int(raw["age"].is_between(40, 60).sum())
    done = ask(published, "1", "age between 40 and 60", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["lower"] <= true <= found["upper"]
    assert found["lower"] <= found["expected"] <= found["upper"]
    assert (found["release"], found["condition"], found["withdrawn"]) == (1, "age between 40 and 60", False)
    assert (found["people"], found["suppressed"], found["notes"]) == (raw.height, 0, [])

    text = ask(published, "1", "age between 40 and 60").output
    assert f"of {raw.height} people in release 1" in text
    assert f"at least {found['lower']}, at most {found['upper']}" in text


def test_everybody_is_a_blank_condition(published: Path) -> None:
    assert "about 400 of 400 people" in ask(published, "1", "").output


def test_slips_are_noted_and_withdrawal_is_said(tmp_path: Path) -> None:
    schema = Schema("id", [Number("age"), Category("town")])
    made = Series.create(tmp_path / "own", schema, Mondrian(2), seed=3)
    made.publish(
        pl.DataFrame({"id": ["a", "b"], "age": [1, 2], "town": ["north", "south"]}), as_of="2026-01-05"
    )
    withdraw(made, 1, "a test")
    text = ask(made.root, "1", "town = 'nroth'").output
    made.ledger.close()
    assert "note: no cell of town holds nroth; check its spelling" in text
    assert "release 1 was withdrawn" in text


def test_counterfeits_are_said(tmp_path: Path, hospital_folder: Path, views: list[Path]) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(tmp_path / "own", schema, MInvariance(3), seed=3)
    for week, view in enumerate(views, start=5):
        made.publish(view, as_of=f"2026-01-{week:02d}")
    numbers = [json.loads(ask(made.root, str(i), "", "--json").output) for i in range(1, len(views) + 1)]
    made.ledger.close()
    last = max(numbers, key=lambda found: found["counterfeits"])
    text = ask(made.root, str(last["release"]), "").output
    assert last["counterfeits"] > 0
    assert f"{last['counterfeits']} counterfeit rows are not counted as people" in text
    assert last["lower"] == last["people"] == last["upper"]


@pytest.mark.parametrize(
    "release, condition, error, said",
    [
        ("1", "age between 40", PolicyError, "expected `and`; it ends there"),
        ("1", "wage > 3", SchemaError, "no column wage; a condition may name"),
        ("1", "gender = 'f'", PolicyError, "f is not among the values that the schema lists"),
        ("1", "age > 'x'", PolicyError, "age holds numbers"),
        ("9", "age > 3", LedgerError, "there is no release 9"),
    ],
)
def test_wrong_use_is_exit_2_and_a_sentence(
    published: Path, release: str, condition: str, error: type[RepublishError], said: str
) -> None:
    done = ask(published, release, condition)
    assert isinstance(done.exception, error)
    assert done.exception.exit_code == 2
    assert said in str(done.exception)


@pytest.fixture
def in_two_tables(tmp_path: Path, hospital_folder: Path, views: list[Path]) -> Path:
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(tmp_path / "two", schema, TauSafety(m=3), seed=3, form=TwoTables(k=5))
    made.publish(views[0], as_of="2026-01-05")
    made.ledger.close()
    return tmp_path / "two"


def test_two_tables_are_asked_as_one(in_two_tables: Path, views: list[Path]) -> None:
    where = "age between 40 and 60 and diagnosis = 'HIV'"
    raw = pl.read_csv(views[0])
    true = raw.filter(pl.col("age").is_between(40, 60) & pl.col("diagnosis").str.starts_with("HIV")).height
    found = json.loads(ask(in_two_tables, "1", where, "--json").output)
    assert found["lower"] <= true <= found["upper"]
    assert found["standard_error"] > 0
    assert "standard error" in ask(in_two_tables, "1", where).output


@pytest.mark.parametrize("form", ["published", "in_two_tables"])
def test_tables_and_regressions(form: str, request: pytest.FixtureRequest) -> None:
    root = request.getfixturevalue(form)
    found = json.loads(ask(root, "1", "--crosstab", "age", "--bins", "40,60", "--json").output)
    assert found["bins"][:3] == ["below 40", "40 to below 60", "60 and more"]
    assert sum(map(sum, found["expected"])) == pytest.approx(400, rel=0.02)
    assert "Cramer's V" in ask(root, "1", "--crosstab", "gender").output
    formula = "diagnosis = 'HIV' ~ age + gender"
    fitted = json.loads(ask(root, "1", "--regress", formula, "--method", "spread", "--json").output)
    assert [line["name"] for line in fitted["coefficients"]][:2] == ["(intercept)", "age"]
    assert "scatter as those do" in ask(root, "1", "--regress", formula).output.replace("\n", " ")


def test_one_question_at_a_time(published: Path) -> None:
    for arguments in (["age > 3", "--crosstab", "age"], ["--bins", "3"], ["age > 3", "--method", "em"]):
        done = ask(published, "1", *arguments)
        assert isinstance(done.exception, PolicyError)
