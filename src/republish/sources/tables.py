"""Any table in: CSV, Parquet, PostgreSQL, pandas, polars, Arrow, each read as one polars frame or refused.

CSV cells are read as text and become numbers or dates only where the schema says so; identifiers
are never altered. A record with too few or too many cells is an error, not a row of blanks; blank
lines at the end of a file are no records.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.errors import ViewError
from republish.kernels import kernel
from republish.schema.column_names import listed
from republish.sources.panics import contained
from republish.sources.postgres import is_database

_SEPARATORS = ",;\t|"
_QUOTED = re.compile(r'"[^"]*("|$)')
_QUOTE, _NEWLINE, _CARRIAGE = 34, 10, 13
_SMALL = 4_000_000  # bytes

_UNREADABLE = (
    "the table cannot be read: a library gave up on it. Write the file anew, or write its cells as text"
)


@contained(ViewError, _UNREADABLE)
def read_table(source: Any, missing: Sequence[str] = (), numbers: Iterable[str] = ()) -> pl.DataFrame:
    """The table as a polars frame; CSV columns are text, empty cells and `missing` texts are null.

    CSV columns named in `numbers` come as numbers where every cell is one, and as text where one is not.
    """
    if is_database(source):
        from republish.sources.postgres.source import read_database

        frame = read_database(source)
    elif isinstance(source, str | Path):
        frame = _read_file(Path(source), missing, set(numbers))
    else:
        frame = _from_memory(source)
    mixed = [name for name, dtype in frame.schema.items() if dtype == pl.Object]
    if mixed:
        raise ViewError(_ONE_TYPE.format(listed(mixed)))
    return _blank_to_null(frame, missing)


@contained(ViewError, _UNREADABLE)
def header(source: Path) -> list[str]:
    """The column names of a CSV or Parquet file."""
    if not _is_parquet(source):
        return _header_of(source)[0]
    with _parquet(source):
        return list(pl.read_parquet_schema(source))


def _read_file(path: Path, missing: Sequence[str], numbers: set[str]) -> pl.DataFrame:
    if path.is_dir():
        raise ViewError(f"{path} is a folder; a view is one CSV or Parquet file")
    if not path.exists():
        raise ViewError(f"there is no file {path}; a view is one CSV or Parquet file")
    if not path.is_file():
        raise ViewError(f"{path} must be a regular file, not a pipe or a device; write it to a file first")
    try:
        if not _is_parquet(path):
            return _read_csv(path, missing, numbers)
        with _parquet(path):
            return pl.read_parquet(path)
    except PermissionError:
        raise ViewError(f"{path} may not be read by this user; change its mode or its owner") from None


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


@contextmanager
def _parquet(path: Path) -> Iterator[None]:
    """Words for a file that is damaged; those of its reader may quote cells."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError):
        raise ViewError(
            f"{path.name} starts like a Parquet file and cannot be read as one; write it anew"
        ) from None


def _header_of(path: Path) -> tuple[list[str], str]:
    """The column names and the separator, the commonest of `,` `;` tab and `|` outside quotes."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            separator = max(_SEPARATORS, key=_QUOTED.sub("", first).count)
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
    return names, separator


def _not_utf8(path: Path) -> ViewError:
    return ViewError(
        f"{path.name} must be in UTF-8 and holds other bytes; convert it, for example with iconv"
    )


def _not_csv(path: Path) -> ViewError:
    return ViewError(f"{path.name} cannot be read as CSV; check quotes and line breaks")


def _read_csv(path: Path, missing: Sequence[str], numbers: set[str]) -> pl.DataFrame:
    names, separator = _header_of(path)
    data = np.memmap(path, dtype=np.uint8, mode="r")
    small = data.size <= _SMALL and not (data == _QUOTE).any()
    count = _count_unquoted if small else _count_cells
    records, ragged, first, blank = count(data, ord(separator), len(names))
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
                path,
                separator=separator,
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


_ONE_TYPE = (
    "the table in memory must have one type a column, a text, a number, a date or a truth value; "
    "found other things in {}: convert them to text first"
)


def _from_memory(source: Any) -> pl.DataFrame:
    """The frame of a table in memory; the backends' own errors quote cells, so none is passed on."""
    if isinstance(source, pl.DataFrame):
        return source
    import narwhals.stable.v1 as nw

    try:
        if isinstance(source, pl.LazyFrame):
            return source.collect()
        try:
            frame: object = nw.from_native(source, eager_only=True).to_polars()
        except TypeError:
            frame = pl.from_arrow(source) if hasattr(source, "__arrow_c_stream__") else None
    except ModuleNotFoundError as problem:
        raise ViewError(f"reading this table needs the package {problem.name}; install it") from None
    except (pl.exceptions.DuplicateError, nw.exceptions.DuplicateError):
        raise ViewError("two columns of the table have the same name; rename one") from None
    except Exception:  # whatever a backend raises
        raise ViewError(_ONE_TYPE.format("a column")) from None
    if isinstance(frame, pl.DataFrame):
        return frame
    raise ViewError(
        "a view is a CSV or Parquet path, the address of a PostgreSQL table, or a pandas, polars or Arrow table; "
        f"found {type(source).__name__}"
    )


def _blank_to_null(frame: pl.DataFrame, missing: Sequence[str]) -> pl.DataFrame:
    """Text `""` and the schema's own marks become null, categorical text and columns of nothing plain text."""
    steps = []
    for name, dtype in frame.schema.items():
        column = pl.col(name)
        if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null):
            column = column.cast(pl.String)
        if isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Null):
            steps.append(pl.when(column.is_in(["", *missing])).then(None).otherwise(column).alias(name))
    return frame.with_columns(steps) if steps else frame
