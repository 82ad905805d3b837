"""CSV files as frames of text; a record with too few or too many cells is an error, not a row of blanks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from republish.errors import ViewError
from republish.kernels import kernel
from republish.schema.dialect import USUAL, Dialect
from republish.sources.files.encodings import as_utf8, detected_encoding

SEPARATORS = ",;\t|"
_QUOTED = re.compile(r'"[^"]*("|$)')
_QUOTE, _NEWLINE, _CARRIAGE = 34, 10, 13
_SMALL = 4_000_000  # bytes


@dataclass(frozen=True)
class CsvFile:
    """A CSV file: its text where it is not in UTF-8 on disk, the names of its columns, and what separates them."""

    path: Path
    text: bytes | None
    names: list[str]
    separator: str

    @classmethod
    def opened(cls, path: Path, files: Dialect = USUAL) -> CsvFile:
        """The file with its first line read.

        A separator that the schema says and the line does not have is another one's: what then are the names of the
        columns must be those of the schema.
        """
        text = as_utf8(path, files.encoding)
        try:
            with _lines(path, text) as file:
                first = file.readline()
                plain = _QUOTED.sub("", first)
                said = files.separator if files.separator and files.separator in plain else None
                separator = said or max(SEPARATORS, key=plain.count)
                file.seek(0)
                names = next(csv.reader(file, delimiter=separator), [])
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
        except csv.Error:
            raise _not_csv(path) from None
        if not names:
            raise ViewError(f"{path.name} is empty; a CSV view starts with a line of column names")
        if first.endswith("\r"):
            raise ViewError(f"{path.name}: lines must end in LF or CRLF; they end in CR, convert them")
        if len(set(names)) < len(names):
            raise ViewError(f"{path.name}: two columns have the same name; rename one")
        return cls(path, text, names, separator)

    def read(self, missing: Sequence[str], numbers: set[str]) -> pl.DataFrame:
        """All cells as text; columns of `numbers` as numbers where every cell is one."""
        path, names = self.path, self.names
        data = (
            np.memmap(path, dtype=np.uint8, mode="r")
            if self.text is None
            else np.frombuffer(self.text, dtype=np.uint8)
        )
        small = data.size <= _SMALL and not (data == _QUOTE).any()
        count = _count_unquoted if small else _count_cells
        records, ragged, first, blank = count(data, ord(self.separator), len(names))
        if ragged:
            raise ViewError(
                f"{path.name}: every record must have {len(names)} cells, as the header; {ragged} of {records} records "
                f"do not, the first at record {first}; quote cells that hold the separator or a line break"
            )
        numeric = dict.fromkeys(numbers.intersection(names), pl.Float64())
        attempts = (
            (numeric, {}) if numeric else ({},)
        )  # one cell that is no number: read all as text, to judge each
        for types in attempts:
            try:
                frame = pl.read_csv(
                    path if self.text is None else self.text,
                    separator=self.separator,
                    infer_schema=False,
                    schema_overrides=types,
                    null_values=list(missing) or None,
                )
                break
            except pl.exceptions.PolarsError as problem:
                failure = _not_utf8(path) if "utf-8" in str(problem) else _not_csv(path)
        else:
            raise failure from None
        if frame.height != records + blank:
            raise _not_csv(path)
        return frame.head(records)


def _lines(path: Path, text: bytes | None) -> io.TextIOBase:
    if text is None:
        return path.open(encoding="utf-8-sig", newline="")
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")


def _not_utf8(path: Path) -> ViewError:
    remedy = "convert it, for example with iconv, or let encoding in [files] of the schema say what it is"
    with suppress(ViewError):
        remedy = (
            f"it looks like {detected_encoding(path)}: write encoding = "
            f'"{detected_encoding(path)}" into [files] of the schema ([schema.files] in series.toml), or convert the '
            "file, for example with iconv"
        )
    return ViewError(f"{path.name} must be in UTF-8 and holds other bytes; {remedy}")


def _not_csv(path: Path) -> ViewError:
    return ViewError(f"{path.name} cannot be read as CSV; check quotes and line breaks")


def _count_unquoted(data: np.ndarray, separator: int, expected: int) -> tuple[int, int, int, int]:
    """As `_count_cells` of a file without quotes, whole columns of numbers at a time."""
    end = np.append(np.flatnonzero(data == _NEWLINE), data.size)
    begin = np.append(0, end[:-1] + 1)
    cells = 1 + np.diff(np.searchsorted(np.flatnonzero(data == separator), end), prepend=0)
    empty = (end == begin) | ((end == begin + 1) & (np.append(data, 0)[begin] == _CARRIAGE))
    cells, empty = (column[1 : len(end) - int(empty[-1])] for column in (cells, empty))
    blank = int(np.argmin(np.append(empty[::-1], False))) if expected > 1 else 0
    wrong = np.flatnonzero(cells[: len(cells) - blank] != expected)
    return len(cells) - blank, len(wrong), int(wrong[0]) + 1 if len(wrong) else 0, blank


@kernel
def _count_cells(data, separator, expected):  # type: ignore[no-untyped-def]
    """Records after the header, ragged ones, the first of those, and blank lines at the end."""
    quote, newline, carriage = _QUOTE, _NEWLINE, _CARRIAGE
    records, ragged, first, blank = -1, 0, 0, 0  # the header is record 0
    cells, record, cell, closing, quoted = 1, 0, 0, -1, False  # where they start, quotes as in RFC 4180
    total = data.size
    for i in range(total + 1):
        byte = data[i] if i < total else newline
        if byte not in (newline, separator, quote):
            continue
        if byte == quote:
            if quoted:
                quoted, closing = False, i
            elif i == cell or closing == i - 1 >= cell:
                quoted = True
        elif quoted and i < total:
            continue
        elif byte == separator:
            cells, cell = cells + 1, i + 1
        else:
            empty = i == record or (i == record + 1 and data[record] == carriage)
            if empty and records >= 0 and expected > 1:
                blank += i < total
            elif i < total or not empty:
                records += blank + 1
                ragged += blank
                if blank > 0 and first == 0:
                    first = records - blank
                if records > 0 and (cells != expected or quoted):
                    ragged += 1
                    if first == 0:
                        first = records
                blank = 0
            cells, record, cell, quoted = 1, i + 1, i + 1, False
    return max(records, 0), ragged, first, blank
