"""Two tables at the command line: how they are chosen, what is said of them, how any two are verified."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w
from typer.testing import CliRunner

from republish import Series
from republish.cli import app
from republish.datasets import hospital
from republish.schema import schema_to_mapping
from two_tables import SCHEMA, make, view


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def ok(*words: object) -> str:
    done = run(*words)
    assert done.exit_code == 0, (done.output, done.exception)
    return " ".join(done.output.split())


def refused(*words: object) -> str:
    done = run(*words)
    assert done.exit_code != 0
    return str(done.exception)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A schema, a view, and a series of two releases."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "schema.toml").write_text(tomli_w.dumps(schema_to_mapping(SCHEMA, {})))
    view(3).write_csv(folder / "view.csv")
    make(folder / "s").ledger.close()
    return folder


def test_init_makes_the_form_and_says_what_it_means(folder: Path, tmp_path: Path) -> None:
    words = ["--schema", folder / "schema.toml", "--publisher", "tau-safety", "-p", "m=3"]
    said = ok("init", tmp_path / "s", *words, "--form", "two-tables", "--people-k", 6)
    assert "every group of people satisfies k=6, every batch of values probabilistic-l=3" in said
    assert "form: two tables, people with quasi-identifiers so fine that at least 6 look alike" in said
    document = tomllib.loads((tmp_path / "s" / "series.toml").read_text())
    assert document["form"] == {"name": "two-tables", "k": 6, "presence": "protected"}
    assert "form: one table" in ok("init", tmp_path / "one", *words)


def test_init_hides_batches_where_asked(folder: Path, tmp_path: Path) -> None:
    words = ["--schema", folder / "schema.toml", "--publisher", "tau-safety", "-p", "m=3"]
    said = ok("init", tmp_path / "s", *words, "--form", "two-tables", "--hide-batch")
    assert "so fine that at least 5 of one batch look alike" in said
    assert "kept-cuts" in said and "hidden-batch" in said
    document = tomllib.loads((tmp_path / "s" / "series.toml").read_text())
    assert document["form"] == {"name": "two-tables", "k": 5, "presence": "protected", "hide_batch": True}
    assert "go with --form two-tables" in refused("init", tmp_path / "one", *words, "--hide-batch")
    ok("publish", tmp_path / "s", folder / "view.csv")
    assert "hidden-batch" in ok("verify", tmp_path / "s")


def test_parameters_that_are_not_given_are_those_that_serve_two_tables(folder: Path, tmp_path: Path) -> None:
    words = ["--schema", folder / "schema.toml", "--publisher", "js-reduce", "--form", "two-tables"]
    ok("init", tmp_path / "usual", *words)
    ok("init", tmp_path / "given", *words, "-p", "crowd=20")
    found = [
        tomllib.loads((tmp_path / name / "series.toml").read_text())["publisher"]["crowd"]
        for name in ("usual", "given")
    ]
    assert found == [170.0, 20.0]


def test_what_means_nothing_is_refused(folder: Path, tmp_path: Path) -> None:
    words = ["init", tmp_path / "s", "--schema", folder / "schema.toml", "--publisher", "mondrian"]
    assert "go with --form two-tables" in refused(*words, "--people-k", 5)
    assert 'is "one-table" or "two-tables"' in refused(*words, "--form", "three")
    two = [*words, "--form", "two-tables"]
    assert "k=1 publishes exact quasi-identifiers" in refused(*two, "--people-k", 1)
    assert not (tmp_path / "s").exists()
    assert "exact quasi-identifiers" in ok(*two, "--people-k", 1, "--presence", "public")


def test_a_publisher_that_protects_each_release_alone_still_says_so(folder: Path, tmp_path: Path) -> None:
    words = ["--schema", folder / "schema.toml", "--publisher", "mondrian", "--form", "two-tables"]
    said = ok("init", tmp_path / "s", *words)
    assert "over all releases: kept-cuts" in said
    assert "mondrian protects each release alone and promises nothing over the series" in said


def test_publish_speaks_of_people_and_batches(folder: Path) -> None:
    said = ok("publish", folder / "s", folder / "view.csv", "--dry-run")
    assert "people: 60 in 9 groups that look alike" in said
    assert "values: 2 batches of 30 values, at least 3 different ones in each; 0 counterfeit" in said
    assert "0 people without a batch" in said
    assert "suppressed" not in said


def test_history_show_and_measure_have_words_for_two_tables(folder: Path) -> None:
    assert "# as of people groups batches new back left penalty risk" in ok("history", folder / "s")
    found = json.loads(run("history", folder / "s", "--json").output)
    assert (
        '"ends"'
        not in run("history", folder / "s", "--json").output + run("show", folder / "s", 1, "--json").output
    )
    assert [line["batches"] for line in found["releases"]] == [2, 2]
    said = ok("show", folder / "s", 2)
    assert "Different values in the batch that has fewest." in said and "left out" not in said
    assert json.loads(run("show", folder / "s", 2, "--json").output)["two_tables"]["fewest_values"] == 3
    assert "every batch: probabilistic-l=3" in ok("show", folder / "s")
    assert "l and t are those of the batches" in ok("measure", folder / "s")


def test_verify_names_both_promises(folder: Path) -> None:
    said = ok("verify", folder / "s")
    assert "every group of people satisfies k=5, every batch of values probabilistic-l=3" in said
    assert "over the series: tau-safety=3; kept-cuts" in said


def test_two_tables_of_any_tool_are_verified(folder: Path) -> None:
    release = folder / "s" / "releases" / "0001"
    words = ["verify", release / "people.csv", release / "values.parquet", "--schema", folder / "schema.toml"]
    asked = ["--require", "l=3", "--people-require", "k=5"]
    assert "60 people, 8 groups, 2 batches" in ok(*words, *asked)
    found = json.loads(run(*words, *asked, "--json").output)
    assert found["holds"] and found["batches"] == 2
    assert run(*words, "--require", "l=4").exit_code == 1
    assert run(*words, "--people-require", "k=60").exit_code == 1


def test_a_batch_that_counts_too_few_values_is_found(folder: Path, tmp_path: Path) -> None:
    release = folder / "s" / "releases" / "0001"
    pl.read_csv(release / "values.csv")[1:].write_csv(tmp_path / "values.csv")
    words = [release / "people.csv", tmp_path / "values.csv", "--schema", folder / "schema.toml"]
    done = run("verify", *words, "--require", "l=2", "--json")
    assert done.exit_code == 1
    broken = [check["promise"] for check in json.loads(done.output)["checks"] if not check["holds"]]
    assert broken == ["batches"]


def test_two_tables_are_asked_for_in_one_way(folder: Path) -> None:
    release = folder / "s" / "releases" / "0001"
    people, values = release / "people.csv", release / "values.csv"
    schema = ["--schema", folder / "schema.toml"]
    assert "a series is verified alone" in refused("verify", folder / "s", values)
    assert "--people-require is for two tables" in refused(
        "verify", people, *schema, "--people-require", "k=5"
    )
    assert '--people-require "k=5"' in refused("verify", people, values, *schema)
    assert "the table of people needs a column batch" in refused(
        "verify", folder / "view.csv", values, *schema, "--require", "l=2"
    )


def test_show_draws_cells_and_batches(folder: Path, tmp_path: Path) -> None:
    ok("show", folder / "s", 1, "--plot", tmp_path / "two.png", "--axes", "weight,age")
    assert (tmp_path / "two.png").read_bytes().startswith(b"\x89PNG")


def test_a_release_counts_its_batches_in_the_ledger(folder: Path) -> None:
    series = Series.open(folder / "s")
    assert series.record(1).payload["two_tables"] == {
        "batches": 2,
        "smallest": 30,
        "average": 30.0,
        "largest": 30,
        "fewest_values": 3,
        "without_batch": 0,
        "extended": 0,
    }
    series.ledger.close()


def test_value_blind_batches_say_who_waits_who_is_held_and_the_bound(tmp_path: Path) -> None:
    hospital(views=2, rows=300, seed=5).write(tmp_path / "h")
    words = [
        "--schema",
        tmp_path / "h/schema.toml",
        "--publisher",
        "value-blind",
        "-p",
        "size=60",
        "-p",
        "m=2",
    ]
    ok("init", tmp_path / "s", *words)
    for week in ("001", "002"):
        said = ok("publish", tmp_path / "s", tmp_path / f"h/views/{week}.csv")
        assert " held, " in said and " waiting, " in said and "counterfeit," not in said
        assert "bound: " in said and "for the worst placed of them" in said
    assert "for the worst placed of them" in ok("show", tmp_path / "s", 2)
    ok("report", tmp_path / "s", "-o", tmp_path / "r.md", "--format", "md")
    report = (tmp_path / "r.md").read_text()
    assert "waiting or without batch | held |" in report and "for the worst placed of them" in report
    assert "follow each other may weigh all releases together" in report
