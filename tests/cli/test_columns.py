"""How `init` reads the files that people have, and how many columns are labelled at once."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from messy import german_view
from republish.cli import app
from republish.series import Series

MONDRIAN = ("--publisher", "mondrian", "-p", "k=5", "--one-table")


def run(*words: object, answers: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], input=answers)


def said(done: Any) -> str:
    return str(done.output if done.exception is None else f"{done.output} {done.exception}")


def settings(series: Path) -> dict[str, Any]:
    return tomllib.loads((series / "series.toml").read_text())["schema"]


class TestMessyFiles:
    def test_weeks_of_a_german_export_are_published(self, tmp_path: Path) -> None:
        series = tmp_path / "s"
        weeks = [german_view(tmp_path / f"w{week}.csv", week) for week in (1, 2, 3)]
        made = run("init", series, "--from", weeks[0], "--yes", "--sensitive", "Diagnose", *MONDRIAN)
        assert made.exit_code == 0, said(made)
        assert (
            "read a CSV file in windows-1252, columns between semicolons; numbers such as 1.234,5"
            in made.output
        )
        assert settings(series)["files"] == {
            "encoding": "windows-1252",
            "decimal": ",",
            "thousands": ".",
            "dates": "DD.MM.YYYY",
            "missing": {"Fahrten": ["-9"]},
        }
        for week in weeks:
            done = run("publish", series, week)
            assert done.exit_code == 0, said(done)
        release = Series.open(series).release(3)
        assert release.rows == 240
        shown = (series / "releases" / "0003" / "table.csv").read_text()
        assert "Größe" in shown and "Röteln" in shown and "01067" in shown and "k.A." not in shown

    def test_nobody_is_shown_by_init(self, tmp_path: Path) -> None:
        view = german_view(tmp_path / "v.csv")
        made = run("init", tmp_path / "s", "--from", view, "--yes", "--sensitive", "Diagnose", *MONDRIAN)
        assert not any(cell in made.output for cell in ("V00024", "01067", "Röteln", "nein"))

    def test_a_later_file_in_utf8_is_read_too(self, tmp_path: Path) -> None:
        series = tmp_path / "s"
        first, later = german_view(tmp_path / "1.csv"), german_view(tmp_path / "2.csv", 2, encoding="utf-8")
        run("init", series, "--from", first, "--yes", "--sensitive", "Diagnose", *MONDRIAN)
        assert run("publish", series, first).exit_code == run("publish", series, later).exit_code == 0

    def test_a_later_file_with_decimal_points_is_refused_and_nothing_written(self, tmp_path: Path) -> None:
        series, first = tmp_path / "s", german_view(tmp_path / "1.csv")
        run("init", series, "--from", first, "--yes", "--sensitive", "Diagnose", *MONDRIAN)
        text = first.read_bytes().decode("cp1252")
        other = tmp_path / "2.csv"
        other.write_text(text.replace(".", "/").replace(",", "."))
        done = run("publish", series, other)
        assert "column Größe: cells must be numbers such as 1.234,5, as [files] of the schema says" in said(
            done
        )
        assert not Series.open(series).records

    def test_how_files_are_written_may_change_after_a_release(self, tmp_path: Path) -> None:
        series, first = tmp_path / "s", german_view(tmp_path / "1.csv")
        run("init", series, "--from", first, "--yes", "--sensitive", "Diagnose", *MONDRIAN)
        assert run("publish", series, first).exit_code == 0
        toml = series / "series.toml"
        toml.write_text(toml.read_text().replace('"windows-1252"', '"cp850"'))
        later = german_view(tmp_path / "2.csv", 2, encoding="cp850")
        done = run("publish", series, later)
        assert done.exit_code == 0, said(done)

    def test_a_usual_file_writes_nothing_of_files(self, tmp_path: Path) -> None:
        rows = "".join(f"p{i},{20 + i % 50},flu{i % 3}\n" for i in range(60))
        (tmp_path / "v.csv").write_text(f"patient,age,diagnosis\n{rows}")
        run(
            "init",
            tmp_path / "s",
            "--from",
            tmp_path / "v.csv",
            "--yes",
            "--sensitive",
            "diagnosis",
            *MONDRIAN,
        )
        assert set(settings(tmp_path / "s")) == {"columns"}

    @pytest.mark.parametrize("ending", ["xlsx", "parquet"])
    def test_a_series_begins_with_a_file_of_another_format(self, tmp_path: Path, ending: str) -> None:
        frame = pl.DataFrame(
            {
                "patient": [f"p{i}" for i in range(60)],
                "age": [20 + i % 40 for i in range(60)],
                "diagnosis": [f"x{i % 5}" for i in range(60)],
            }
        )
        view = tmp_path / f"v.{ending}"
        frame.write_excel(view) if ending == "xlsx" else frame.write_parquet(view)
        words = ("init", tmp_path / "s", "--from", view, "--yes", "--sensitive", "diagnosis", *MONDRIAN)
        assert run(*words).exit_code == 0
        done = run("publish", tmp_path / "s", view)
        assert done.exit_code == 0, said(done)


@pytest.fixture
def unclear(tmp_path: Path) -> Path:
    """Days that can be read in two ways, and ages of 999."""
    rows = "".join(
        f"p{i},{999 if i % 20 == 0 else 20 + i % 50},0{1 + i % 9}/0{1 + i % 7}/2020,x{i % 5}\n"
        for i in range(60)
    )
    (tmp_path / "v.csv").write_text(f"patient,age,born,diagnosis\n{rows}")
    return tmp_path


class TestWhatIsNotGuessed:
    def test_without_anyone_to_ask_days_must_be_said(self, unclear: Path) -> None:
        words = ("init", unclear / "s", "--from", unclear / "v.csv", "--yes", *MONDRIAN)
        refused = run(*words)
        assert "column born: its days can be read as DD/MM/YYYY or MM/DD/YYYY" in said(refused)
        assert "--read dates.born=DD/MM/YYYY" in said(refused) and not (unclear / "s").exists()
        made = run(*words, "--read", "dates.born=MM/DD/YYYY")
        assert made.exit_code == 0, said(made)
        assert settings(unclear / "s")["files"] == {"dates": "MM/DD/YYYY"}

    def test_nines_are_numbers_until_somebody_says_otherwise(self, unclear: Path) -> None:
        words = ("--from", unclear / "v.csv", "--yes", "--read", "dates=DD/MM/YYYY", *MONDRIAN)
        made = run("init", unclear / "s", *words)
        assert (
            "note: 999 in age is read as a number; if it means missing, say --read missing.age=999"
            in made.output
        )
        assert run("init", unclear / "t", *words, "--read", "missing.age=999").exit_code == 0
        assert settings(unclear / "t")["files"]["missing"] == {"age": ["999"]}

    def test_a_person_is_asked(self, unclear: Path) -> None:
        answers = "\n" * 7 + "MM\ny\n"
        done = run("init", unclear / "s", "--from", unclear / "v.csv", *MONDRIAN, answers=answers)
        assert done.exit_code == 0, said(done)
        assert "born: days are written (DD/MM/YYYY, MM/DD/YYYY)" in done.output
        assert "age: does 999 mean missing?" in done.output
        assert settings(unclear / "s")["files"] == {"dates": "MM/DD/YYYY", "missing": {"age": ["999"]}}


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A table of 150 columns."""
    columns: dict[str, Any] = {
        "patient": [f"p{i}" for i in range(60)],
        "age": [20 + i % 40 for i in range(60)],
    }
    columns |= {f"lab_{c}": [(i * c) % 7 for i in range(60)] for c in range(73)}
    columns |= {f"note_{c}": [f"w{(i + c) % 3}" for i in range(60)] for c in range(74)}
    columns["diagnosis"] = [f"x{i % 5}" for i in range(60)]
    assert len(columns) == 150
    pl.DataFrame(columns).write_csv(tmp_path / "v.csv")
    return tmp_path


class TestManyColumns:
    def test_patterns_leave_few_questions(self, wide: Path) -> None:
        rules = (
            "--label",
            "lab_*=insensitive",
            "--label",
            "note_*=drop",
            "--label",
            "lab_1=quasi-identifier:number",
        )
        done = run("init", wide / "s", "--from", wide / "v.csv", *rules, *MONDRIAN, answers="\n" * 5)
        assert done.exit_code == 0, said(done)
        assert done.output.count(": role (") == 3  # patient, age, diagnosis
        columns = settings(wide / "s")["columns"]
        roles = [column["role"] for column in columns.values()]
        assert (roles.count("insensitive"), roles.count("drop")) == (72, 74)
        assert columns["lab_1"] == {"role": "quasi-identifier", "kind": "number"}

    def test_a_table_is_written_and_read_when_it_was_edited(self, wide: Path) -> None:
        table = wide / "columns.csv"
        words = ("init", wide / "s", "--from", wide / "v.csv", "--columns", table, *MONDRIAN)
        first = run(*words)
        assert first.exit_code == 0 and "edit role, kind, dates and missing" in first.output
        assert not (wide / "s").exists() and len(table.read_text().splitlines()) == 151
        edited = pl.read_csv(table).with_columns(
            pl.when(pl.col("column").str.starts_with("note"))
            .then(pl.lit("drop"))
            .otherwise("role")
            .alias("role")
        )
        edited.write_csv(table)
        done = run(*words)
        assert done.exit_code == 0 and ": role (" not in done.output, said(done)
        assert [c["role"] for c in settings(wide / "s")["columns"].values()].count("drop") >= 74

    def test_a_codebook_says_kinds_and_leaves_roles_to_be_proposed(self, wide: Path) -> None:
        fields = [{"name": "patient", "type": "string"}, {"name": "age", "type": "integer"}]
        fields += [
            {"name": "degree", "type": "string", "categories": ["low", "high"], "categoriesOrdered": True}
        ]  # type: ignore[dict-item]
        fields += [{"name": "diagnosis", "type": "string"}]
        book = wide / "datapackage.json"
        book.write_text(json.dumps({"resources": [{"schema": {"fields": fields, "primaryKey": "patient"}}]}))
        done = run("init", wide / "s", "--schema", book, "--yes", *MONDRIAN)
        assert done.exit_code == 0, said(done)
        assert settings(wide / "s")["columns"] == {
            "patient": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "kind": "number"},
            "degree": {"role": "quasi-identifier", "kind": "ordered", "order": ["low", "high"]},
            "diagnosis": {"role": "sensitive", "kind": "category"},
        }

    def test_a_codebook_and_a_view_go_together(self, wide: Path) -> None:
        book = wide / "table.json"
        fields = [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}}]
        book.write_text(json.dumps({"fields": fields, "missingValues": ["", "NA"]}))
        words = ("--schema", book, "--from", wide / "v.csv", "--yes", "--sensitive", "diagnosis", *MONDRIAN)
        done = run("init", wide / "s", *words)
        assert done.exit_code == 0, said(done)
        assert settings(wide / "s")["columns"]["age"]["domain"] == [0.0, 120.0]
        assert settings(wide / "s")["missing"] == ["NA"]

    def test_labels_go_with_from(self, wide: Path) -> None:
        done = run("init", wide / "s", "--schema", wide / "x.toml", "--label", "a=drop")
        assert "so do --label, --columns and --read" in said(done)
