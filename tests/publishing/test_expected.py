"""What is not expected of a view is warned of or refused, and passes with a reason that is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Category, Number, PolicyError, Schema, Series, TauSafety
from republish.cli import app
from republish.errors import Implausible
from republish.parts import Engine, Here
from republish.publishing.maintenance import withdraw

SCHEMA = Schema("id", [Number("weight"), Category("town")], "dx", insensitive=["ward"])
ENGINES = pytest.mark.parametrize("engine", [None, Here(parts=2)], ids=["whole", "in parts"])
REASON = "the scale was replaced"


def view(factor: float = 1, gone: int = 0, rows: int = 120) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "weight": [None if i < gone else (50 + i % 40) * factor for i in range(rows)],
            "town": [f"t{i % 3}" for i in range(rows)],
            "dx": [f"d{i % 5}" for i in range(rows)],
            "ward": [f"w{i % 3}" for i in range(rows)],
        },
        strict=False,
    )


@pytest.fixture
def series(tmp_path: Path) -> Series:
    made = Series.create(tmp_path / "s", SCHEMA, TauSafety(2), seed=3)
    made.publish(view(), as_of="2026-01-05")
    return made


@ENGINES
def test_another_unit_is_refused(series: Series, engine: Engine | None) -> None:
    with pytest.raises(
        Implausible, match=r"column weight: its quartiles are 0\.01 times.*--expect-anyway REASON"
    ):
        series.publish(view(0.01), engine=engine)
    assert len(series.records) == 1


@ENGINES
def test_it_passes_with_a_reason_that_the_chain_records(series: Series, engine: Engine | None) -> None:
    done = series.publish(view(0.01), engine=engine, expect_anyway=REASON)
    assert done.expect_anyway == REASON
    payload = series.record(2).payload
    assert payload["expect_anyway"] == REASON
    assert [one["check"] for one in payload["findings"]] == ["units"]
    assert series.verify().holds


@ENGINES
def test_a_warning_refuses_nothing_and_is_told(series: Series, engine: Engine | None) -> None:
    done = series.publish(view(gone=30), engine=engine)
    assert [(one.check, one.column, one.figure, one.limit) for one in done.findings] == [
        ("missing", "weight", 0.25, 0.1)
    ]
    assert done.as_dict()["findings"][0]["says"] == (
        "column weight: 25.0% of the cells are missing, 0.0% in the last view (missing 0.25, expected at most 0.1)"
    )


@ENGINES
def test_two_files_in_one_are_warned_of(series: Series, engine: Engine | None) -> None:
    done = series.publish(view(rows=241), engine=engine, meant=["new-people"])
    assert [(one.check, one.severity, one.limit) for one in done.findings if one.check == "more_rows"] == [
        ("more_rows", "warn", 2.0)
    ]
    twice = series.publish(view(rows=482), engine=engine, meant=["new-people"], dry_run=True)
    assert "more_rows" not in [one.check for one in twice.findings]


def people(begin: int, end: int) -> pl.DataFrame:
    return view(rows=end).tail(end - begin)


@ENGINES
def test_an_earlier_view_is_refused_unless_it_is_meant(series: Series, engine: Engine | None) -> None:
    series.publish(people(10, 130))
    with pytest.raises(Implausible, match=r"release 1 was made of this very view, 120 rows.*--same-view"):
        series.publish(view(), engine=engine)
    assert len(series.records) == 2
    done = series.publish(view(), engine=engine, meant=["same-view"])
    assert (done.number, done.meant) == (3, ("same-view",))
    assert series.publish(people(10, 130), engine=engine, expect_anyway=REASON).expect_anyway == REASON


def test_the_view_of_a_withdrawn_release_is_no_earlier_one(series: Series) -> None:
    withdraw(series, 1, "a slip")
    series.publish(people(10, 130))
    assert series.publish(view()).number == 3


@ENGINES
def test_more_newcomers_than_ever_are_refused_unless_they_are_meant(
    series: Series, engine: Engine | None
) -> None:
    series.publish(people(10, 130))
    with pytest.raises(
        Implausible, match=r"15 are recognised, 105 would be new \(at most 8% so far\).*--new-people"
    ):
        series.publish(people(115, 235), engine=engine)
    warned = series.publish(people(50, 170), engine=engine, dry_run=True)
    assert [(one.check, one.figure) for one in warned.findings] == [("newcomers", 0.25)]
    assert series.publish(people(115, 235), engine=engine, meant=["new-people"]).meant == ("new-people",)
    later = series.publish(people(220, 340), engine=engine)  # as many as then
    assert [one.check for one in later.findings] == ["overlap"]


def test_a_reason_that_was_not_needed_is_not_recorded(series: Series) -> None:
    assert series.publish(view(), meant=["same-view"], expect_anyway=REASON).expect_anyway is None
    assert "expect_anyway" not in series.record(2).payload


def test_a_reason_is_no_blank(series: Series) -> None:
    with pytest.raises(PolicyError, match="needs a reason"):
        series.publish(view(0.01), expect_anyway=" ")


def test_it_passes_what_else_must_be_meant(series: Series) -> None:
    done = series.publish(view(rows=40), expect_anyway="the other wards moved out")
    assert (done.meant, done.expect_anyway) == ((), "the other wards moved out")


def test_only_the_margins_of_the_last_view_are_kept(series: Series) -> None:
    series.publish(view(1.5))
    assert [file.name[:4] for file in (series.root / "private" / "margins").iterdir()] == ["0002"]
    assert series.verify().holds


def test_altered_margins_are_found(series: Series) -> None:
    file = next((series.root / "private" / "margins").iterdir())
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(file.read_text().replace("120", "121"))
    assert not series.verify().holds


def test_commands_tell_what_was_found_and_why_it_was_published(series: Series, tmp_path: Path) -> None:
    view(0.01).write_csv(tmp_path / "v.csv")
    run = CliRunner()
    refused = run.invoke(app, ["publish", str(series.root), str(tmp_path / "v.csv")])
    assert refused.exit_code == 1
    done = run.invoke(app, ["publish", str(series.root), str(tmp_path / "v.csv"), "--expect-anyway", REASON])
    shown = run.invoke(app, ["show", str(series.root), "2"])
    history = run.invoke(app, ["history", str(series.root)])
    for told in (done, shown):
        assert "warning: column weight: its quartiles are 0.01 times" in told.stdout.replace("\n", " ")
    for told in (done, shown, history):
        assert f"was published although it was not expected: {REASON}" in told.stdout.replace("\n", " ")
    document = json.loads(run.invoke(app, ["history", str(series.root), "--json"]).stdout)
    assert document["releases"][1]["expect_anyway"] == REASON
