"""How a file is written as a whole, found by looking at it: its format, encoding, separator or sheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from dataclasses import replace
from itertools import islice
from pathlib import Path

from republish.errors import ViewError
from republish.schema.column_names import is_name, listed
from republish.schema.dialect import USUAL, UTF_8, Dialect
from republish.sources.files.csv_files import SEPARATORS, CsvFile
from republish.sources.files.encodings import as_utf8, detected_encoding, marked_encoding
from republish.sources.files.formats import CSV, EXCEL, format_of

_LINES = 50  # that tell the separator
_HEAD = 1 << 16
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def detected(path: Path, files: Dialect = USUAL, said: Collection[str] = ()) -> tuple[Dialect, str]:
    """How the file is written, where it is not `said`, and that in words.

    What a file shows of itself whenever it is read is not kept: a byte order mark, and the commonest separator.
    """
    what = format_of(path)
    if what == EXCEL:
        return _of_workbook(path, files)
    if what != CSV:
        return files, what
    if "encoding" not in said and marked_encoding(path) is None:
        files = replace(files, encoding=detected_encoding(path))
    separator = files.separator or _separator(path, files)
    usual = CsvFile.opened(path, replace(files, separator=None)).separator
    files = replace(files, separator=None if separator == usual else separator)
    shown = marked_encoding(path) or files.encoding
    name = "UTF-8" if shown == UTF_8 else shown
    return files, f"{what} in {name}, columns between {_NAMES.get(separator, 'signs of its own')}"


def _separator(path: Path, files: Dialect) -> str:
    """What cuts the first lines into equally many cells, most of them; else the commonest of the first line."""
    text = as_utf8(path, files.encoding)
    if text is None:
        with path.open("rb") as file:
            text = file.read(_HEAD)
    lines = text[:_HEAD].decode("utf-8-sig", errors="ignore")
    widths = {}
    for separator in SEPARATORS:
        try:
            rows = list(islice(csv.reader(io.StringIO(lines), delimiter=separator), _LINES))
        except csv.Error:
            continue
        rows = [row for row in (rows[:-1] if len(lines) == _HEAD else rows) if row]
        if len({len(row) for row in rows}) == 1 and len(rows) > 1:
            widths[separator] = len(rows[0])
    best = max(widths, key=lambda one: widths[one], default="")
    if best and widths[best] > 1:
        return best
    return CsvFile.opened(path, files).separator


def _of_workbook(path: Path, files: Dialect) -> tuple[Dialect, str]:
    """The workbook with the sheet that is read, which is kept where there are several."""
    from republish.sources.files.workbooks import sheets

    there = sheets(path)
    sheet = files.sheet or (there[0] if there else None)
    if sheet is None or len(there) == 1:
        return files, EXCEL
    if not is_name(sheet):
        raise ViewError(
            f"{path.name} has {len(there)} sheets, and the first has no name that can be kept; say which is read: "
            f"--read sheet=NAME, one of {listed(there)}"
        )
    return replace(files, sheet=sheet), f"{EXCEL}, sheet {sheet} of {len(there)}"
