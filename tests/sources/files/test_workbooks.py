from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from zipfile import ZipFile

import polars as pl
import pytest
import xlsxwriter

from republish.errors import ViewError
from republish.schema import Date, Dialect, Number, Schema
from republish.sources.columns.understood import understand
from republish.sources.tables import header, read_raw, read_table

CELL = '<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
OPENDOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
  xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
  xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>
<table:table table:name="view">{rows}</table:table></office:spreadsheet></office:body></office:document-content>"""
MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>"""
FRAME = pl.DataFrame(
    {
        "id": ["a", "b", "c"],
        "n": [1, 2, None],
        "size": [1.5, 2.0, 3.0],
        "born": [date(2020, 1, 2), None, date(2021, 1, 1)],
        "zip": ["01067", "x", ""],
    }
)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "view.xlsx"
    FRAME.write_excel(path)
    return path


def test_a_sheet_is_a_table(book: Path) -> None:
    assert header(book) == FRAME.columns
    assert read_table(book).rows() == [
        ("a", 1, 1.5, date(2020, 1, 2), "01067"),
        ("b", 2, 2.0, None, "x"),
        ("c", None, 3.0, date(2021, 1, 1), None),
    ]


def test_days_beside_words_are_days(tmp_path: Path) -> None:
    path = tmp_path / "v.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet()
        day = made.add_format({"num_format": "yyyy-mm-dd"})
        sheet.write_row(0, 0, ["born", "n"])
        sheet.write_datetime(1, 0, date(2020, 12, 31), day)
        sheet.write(2, 0, "k.A.")
        sheet.write_column(1, 1, [7, -9])
    files = Dialect(missing={"born": ["k.A."], "n": ["-9"]})
    found = read_raw(path, Schema(None, [Date("born"), Number("n")], files=files))
    assert found.rows() == [("2020-12-31", 7), (None, None)]


def test_of_several_sheets_the_first_is_read_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "v.xlsx"
    with xlsxwriter.Workbook(path) as made:
        for name in ("Jan", "Feb"):
            made.add_worksheet(name).write_column(0, 0, [name, "x", "y"])
    found = understand(path)
    assert found.files == Dialect(sheet="Jan") and found.sentence == "an Excel workbook, sheet Jan of 2"
    assert read_table(path, files=Dialect(sheet="Feb")).columns == ["Feb"]
    with pytest.raises(ViewError, match="needs the sheet that the schema names, Mar; it has Jan, Feb"):
        read_table(path, files=Dialect(sheet="Mar"))


def test_a_column_without_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet()
        sheet.write(0, 0, "Report")
        sheet.write_row(1, 0, ["id", "SECRETCELL"])
    with pytest.raises(ViewError, match=r"1 of 2 have none\. Remove what stands above"):
        read_table(path)


def test_an_old_workbook_is_a_table() -> None:
    assert read_table(Path(__file__).parent / "view.xls").rows() == [
        ("a", 1, date(2020, 1, 2), "01067"),
        ("b", None, None, "x"),
    ]


def test_a_sheet_of_opendocument_is_a_table(tmp_path: Path) -> None:
    rows = "".join(
        f"<table:table-row>{''.join(CELL.format(text=text) for text in row)}</table:table-row>"
        for row in (["id", "zip"], ["a", "01067"], ["b", "x"])
    )
    with ZipFile(tmp_path / "v.ods", "w") as made:
        made.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        made.writestr("META-INF/manifest.xml", MANIFEST)
        made.writestr("content.xml", OPENDOCUMENT.format(rows=rows))
    assert read_table(tmp_path / "v.ods").rows() == [("a", "01067"), ("b", "x")]


@pytest.mark.parametrize(("error", "message"), [("#DIV/0!", "1 hold an error of a formula"), ("#N/A", None)])
def test_errors_of_formulas_are_refused_and_cells_that_are_not_available_are_missing(
    tmp_path: Path, error: str, message: str | None
) -> None:
    path = tmp_path / "v.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet()
        sheet.write_column(0, 0, ["id", "SECRETCELL", "b"])
        sheet.write_column(0, 1, ["age", 41])
        sheet.write_formula(2, 1, "=A1", None, error)
    if message is None:
        assert read_table(path)["age"].to_list() == [41, None]
        return
    with pytest.raises(ViewError, match=message) as refused:
        read_table(path)
    assert "SECRETCELL" not in str(refused.value)


@pytest.mark.parametrize("cut", [30, 400, -200, -1])
def test_a_damaged_workbook_is_refused_without_a_cell(tmp_path: Path, book: Path, cut: int) -> None:
    path = tmp_path / "cut.xlsx"
    path.write_bytes(book.read_bytes()[:cut])
    with pytest.raises(ViewError, match="starts like an Excel workbook and cannot be read as one"):
        read_table(path)


def test_without_its_library_the_extra_is_named(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(ViewError, match=r"is an Excel workbook; to read it install republish\[files\]"):
        read_table(book)
