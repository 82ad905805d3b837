from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from republish.errors import SchemaError
from republish.schema import Dialect, schema_from_mapping, schema_to_mapping
from republish.schema.dialect import dialect_from_mapping

SAID = {
    "encoding": "windows-1252",
    "separator": ":",
    "decimal": ",",
    "thousands": ".",
    "dates": {"born": "DD.MM.YYYY"},
    "missing": {"age": ["-9"]},
    "sheet": "2024",
}


def test_what_is_said_of_files_is_written_and_read_again() -> None:
    assert dialect_from_mapping(SAID).document() == SAID
    assert Dialect().document() == {}


def test_a_schema_keeps_it_and_says_nothing_where_files_are_usual() -> None:
    document: dict[str, Any] = {"columns": {"age": {"role": "quasi-identifier", "kind": "number"}}}
    usual = schema_from_mapping(document, Path())
    assert usual.files == Dialect() and "files" not in schema_to_mapping(usual, {})
    said = schema_from_mapping(document | {"files": SAID}, Path())
    assert schema_to_mapping(said, {})["files"] == SAID


def test_utf_8_has_one_spelling() -> None:
    assert Dialect(encoding="UTF8") == Dialect(encoding="utf-8-sig") == Dialect()


def test_days_are_said_for_all_columns_or_by_column() -> None:
    assert Dialect(dates="DD.MM.YYYY").date_form("any") == "DD.MM.YYYY"
    by_column = Dialect(dates={"born": "MM/DD/YYYY"})
    assert (by_column.date_form("born"), by_column.date_form("seen")) == ("MM/DD/YYYY", "YYYY-MM-DD")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"encoding": "klingon"}, "encoding is one that Python knows"),
        ({"encoding": "base64"}, "encoding is one that Python knows"),
        ({"separator": ";;"}, "the separator is one character"),
        ({"separator": '"'}, "the separator is one character"),
        ({"decimal": "'"}, "decimal is a point or a comma"),
        ({"decimal": ",", "thousands": ","}, "and not the decimal sign"),
        ({"dates": "DD.MM.YY"}, "dates are written with YYYY, MM and DD once each"),
        ({"dates": "%d.%m.%Y"}, "dates are written with YYYY, MM and DD once each"),
        ({"dates": {"born": "YYYY"}}, "dates are written with YYYY, MM and DD once each"),
        ({"dates": 3}, "dates is a table by column"),
        ({"missing": {"age": "-9"}}, "missing has a list of texts for each column"),
        ({"missing": {"age": [-9]}}, "missing has a list of texts for each column"),
        ({"missing": ["-9"]}, "missing is a table by column"),
        ({"sheet": 1}, "sheet is the name of a sheet"),
        ({"quote": "'"}, "files has no setting quote; it may have encoding"),
        ("utf-8", "files is a table of settings"),
    ],
)
def test_what_no_file_can_be_read_by_is_refused(said: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        dialect_from_mapping(said)
