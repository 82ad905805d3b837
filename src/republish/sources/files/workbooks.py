"""Sheets of workbooks as frames; Excel and OpenDocument, read by fastexcel."""

from __future__ import annotations

import logging
from pathlib import Path

import polars as pl

from republish.errors import ViewError
from republish.schema.column_names import listed
from republish.sources.files.formats import EXCEL, legible_as
from republish.sources.values import whole_numbers


def read_workbook(path: Path, sheet: str | None) -> pl.DataFrame:
    """The sheet of that name, or the first; the first row has the names of the columns.

    Numbers, days and truth values come as such where a whole column holds nothing else, all else as text. `#N/A` is a
    missing cell; any other error that a formula left is refused.
    """
    with legible_as(EXCEL, path):
        import fastexcel

        logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it warns of every empty column
        book = fastexcel.read_excel(path)
        _require_sheet(path, book.sheet_names, sheet)
        loaded = book.load_sheet(0 if sheet is None else sheet, schema_sample_rows=None, eager=False)
        cells, problems = loaded.to_arrow_with_errors()
        frame: pl.DataFrame = pl.DataFrame(cells)
    _require_results(path, [] if problems is None else [one.detail for one in problems.errors])
    twice = [name for name in frame.columns if name.startswith("__UNNAMED__")]
    if twice:
        raise ViewError(
            f"{path.name}: every column of the sheet needs a name in its first row; {len(twice)} of {frame.width} have "
            "none. Remove what stands above the table, and empty columns"
        )
    filled = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # rows that were once formatted
    return filled.with_columns(_plain(filled[name]) for name in filled.columns)


def sheets(path: Path) -> list[str]:
    """The names of the sheets of a workbook."""
    with legible_as(EXCEL, path):
        import fastexcel

        return list(fastexcel.read_excel(path).sheet_names)


def _require_sheet(path: Path, there: list[str], sheet: str | None) -> None:
    if not there:
        raise ViewError(f"{path.name} has no sheet")
    if sheet is not None and sheet not in there:
        raise ViewError(
            f"{path.name} needs the sheet that the schema names, {listed([sheet])}; it has {listed(there)}"
        )


def _require_results(path: Path, problems: list[str]) -> None:
    """A formula that failed says nothing of a person, and is not the same as a cell that was left empty."""
    failed = [one for one in problems if "Error(" in one and "Error(NA)" not in one]
    if failed:
        raise ViewError(
            f"{path.name}: cells must hold values; {len(failed):,} hold an error of a formula, say a division by "
            "zero. Mend the formulas, or leave these cells empty where the value is missing"
        )


def _plain(column: pl.Series) -> pl.Series:
    """Whole numbers and days as such: a sheet has decimals and moments alone, and writes them so among texts."""
    if column.dtype == pl.String:
        return column.str.replace(r"^(\d{4}-\d\d-\d\d) 00:00:00$", "${1}")
    if isinstance(column.dtype, pl.Datetime) and bool((column == column.dt.truncate("1d")).all()):
        return column.cast(pl.Date)
    return whole_numbers(column)
