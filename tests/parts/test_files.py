"""Files that are written in their own way, read by parts as by one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from messy import german_view
from republish.errors import ViewError
from republish.parts.in_process import Here
from republish.parts.spark import _require_readable
from republish.publishers import Mondrian
from republish.schema import Category, Date, Dialect, Number, Schema
from republish.series import Series

SCHEMA = Schema(
    "Versicherten-Nr",
    [Number("Größe"), Date("Geburtstag"), Category("PLZ"), Number("Fahrten")],
    "Diagnose",
    missing=["k.A.", "NA"],
    dropped=["Einkommen", "Straßenbahn"],
    files=Dialect("windows-1252", None, ",", ".", "DD.MM.YYYY", {"Fahrten": ["-9"]}),
)


def test_a_german_export_is_published_in_parts(tmp_path: Path) -> None:
    view = german_view(tmp_path / "v.csv")
    series = Series.create(tmp_path / "s", SCHEMA, Mondrian(k=5), seed=1)
    assert series.publish(view, engine=Here(part_rows=100)).rows == 240
    assert Here(part_rows=100).measure(series, [view])[1].query_error is not None


@pytest.mark.parametrize(
    ("path", "files", "message"),
    [
        ("v.XLSX", Dialect(), "a view is a DataFrame, a CSV or a Parquet file; write the workbook"),
        ("v.sav", Dialect(), "a view is a DataFrame, a CSV or a Parquet file; write the workbook"),
        ("v.csv", Dialect(encoding="cp1252"), "a CSV file must be in UTF-8; .* says cp1252"),
    ],
)
def test_what_spark_cannot_read_is_said(path: str, files: Dialect, message: str) -> None:
    with pytest.raises(ViewError, match=message):
        _require_readable(path, files)


def test_spark_reads_whatever_is_in_utf8(tmp_path: Path) -> None:
    _require_readable("v.csv", Dialect(decimal=","))
    _require_readable("folder/of/parts", Dialect(encoding="cp1252"))
