"""What is seen of a dry run: published rows, margins of the sensitive column, and the change since the last release."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Category, Date, Gate, Mondrian, Number, Schema, Series, TauSafety
from republish.cli import app
from republish.publishing.preview import Change, Margin, Preview, changes, margins_of
from two_tables import make, view

COLUMN = Category("diagnosis")


def test_margins_have_the_largest_difference_first() -> None:
    raw = pl.Series(["a"] * 4 + ["b"] * 2 + ["c"] * 2)
    released = pl.Series(["a"] * 3 + ["b"] * 5)
    expected = (Margin("b", 0.25, 0.625), Margin(None, 0.25, 0.0), Margin("a", 0.5, 0.375))
    assert margins_of(raw, released, COLUMN) == (expected, 0)


def test_a_value_that_is_not_published_is_not_named() -> None:
    margins, _ = margins_of(pl.Series(["a", "secret"]), pl.Series(["a"]), COLUMN)
    assert "secret" not in {one.value for one in margins}


def test_missing_values_are_a_value() -> None:
    margins, _ = margins_of(pl.Series(["a", None]), pl.Series(["a", None]), COLUMN)
    assert {one.value for one in margins} == {"a", "missing"}


def test_many_categories_are_cut_off_and_counted() -> None:
    values = pl.Series([f"v{i:02d}" for i in range(20)])
    margins, unshown = margins_of(values, values, COLUMN)
    assert (len(margins), unshown) == (12, 8)


def test_many_numbers_become_ranges_between_published_values() -> None:
    margins, unshown = margins_of(pl.Series(range(100)), pl.Series(range(10, 90)), Number("income"))
    assert unshown == 0 and len(margins) == 8
    assert margins[0] == Margin("10 to 19", 0.2, 0.125)
    assert sum(one.raw for one in margins) == pytest.approx(1.0)


def test_many_dates_become_ranges_too() -> None:
    days = pl.date_range(date(2026, 1, 1), date(2026, 3, 31), eager=True)
    margins, _ = margins_of(days, days, Date("day"))
    assert "2026-01-01 to 2026-01-11" in {one.value for one in margins}


def test_nothing_changes_before_the_first_release() -> None:
    assert changes(None, {"rows": 5}, keeps_counts=False) == ()


def test_figures_that_an_earlier_version_did_not_record_stay_open() -> None:
    found = changes({"rows": 4}, {"rows": 5, "usefulness": {"count_error": 0.25}}, keeps_counts=False)
    assert found == (Change("rows", 4, 5), Change("error of a count", None, 0.25, share=True))


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return make(tmp_path / "s", releases=2)


def test_a_dry_run_shows_rows_of_both_tables(series: Series) -> None:
    found = series.publish(view(3), dry_run=True).preview
    assert found is not None
    people, values = found.tables
    assert people.columns == ["group", "age", "weight", "ward", "batch"] and people.height == 8
    assert values.columns == ["batch", "diagnosis", "count"]
    assert not [cell for cell in people.rows() if "person" in str(cell)]


def test_a_dry_run_shows_the_change(series: Series) -> None:
    found = series.publish(view(3), dry_run=True).preview
    assert found is not None
    named = {one.figure: (one.before, one.now) for one in found.change}
    assert named["people"] == (60, 60) and named["people who are new"] == (6, 6)
    assert named["error of a count"][0] == series.records[-1].payload["usefulness"]["count_error"]


def test_a_publish_shows_nothing_and_records_errors_alone(series: Series) -> None:
    done = series.publish(view(3))
    assert done.preview is None
    payload = series.records[-1].payload
    assert "usefulness" in payload and not {"sample", "change"} & set(payload)
    assert payload["margins"].startswith("private/margins/")


def test_no_row_of_what_the_gate_refuses_is_shown(tmp_path: Path) -> None:
    gate = Gate(max_confidence=0.1, attacks=("tau",))
    made = Series.create(
        tmp_path / "g", Schema("patient", [Number("age")], COLUMN), Mondrian(k=2), gate=gate, one_table=True
    )
    done = made.publish(view().select("patient", "age", "diagnosis"), dry_run=True)
    assert done.gate is not None and not done.gate.passed
    assert done.preview is not None and done.preview.tables == () and done.preview.margins
    assert "sample" not in done.as_dict()


def test_a_series_without_a_sensitive_column_has_no_margins(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "n", Schema("patient", [Number("age")], None), Mondrian(k=2))
    found = made.publish(view().select("patient", "age"), dry_run=True).preview
    assert found is not None and found.margins == () and len(found.tables) == 1


def test_the_terminal_shows_rows_margins_and_change(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", Schema("patient", [Number("age")], COLUMN), TauSafety(m=3), seed=5)
    weeks = [view(week).select("patient", "age", "diagnosis") for week in (1, 2)]
    made.publish(weeks[0])
    weeks[1].head(50).write_csv(tmp_path / "week.csv")
    done = CliRunner().invoke(app, ["publish", str(made.root), str(tmp_path / "week.csv"), "--dry-run"])
    assert done.exit_code == 0, done.output
    assert "the first rows that would be published:" in done.output
    assert "margins of diagnosis" in done.output
    assert "beside the last release:" in done.output
    assert "person-" not in done.output


def test_json_of_a_dry_run_has_the_same(series: Series, tmp_path: Path) -> None:
    view(3).write_csv(tmp_path / "week.csv")
    done = CliRunner().invoke(
        app, ["publish", str(series.root), str(tmp_path / "week.csv"), "--dry-run", "--json"]
    )
    document = json.loads(done.output)
    assert len(document["sample"]) == 2 and len(document["sample"][0]["rows"]) == 8
    assert {"value", "raw", "released"} == set(document["margins"][0])
    assert document["change"][0]["figure"] == "people"


def test_margins_that_agree_are_said_in_a_line() -> None:
    assert Preview(margins=(Margin("a", 0.5, 0.5002),)).margins_agree
    assert not Preview(margins=(Margin("a", 0.5, 0.501),)).margins_agree
