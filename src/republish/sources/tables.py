"""Any table in: files of many formats, PostgreSQL, pandas, polars, Arrow, each read as one polars frame or refused.

CSV cells are read as text and become numbers or dates only where the schema says so; identifiers
are never altered. Blank lines at the end of a file are no records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from republish.errors import ViewError
from republish.schema import Number, Schema
from republish.schema.column_names import listed
from republish.schema.dialect import USUAL, Dialect
from republish.sources.columns.spelling import respelled
from republish.sources.files.csv_files import CsvFile
from republish.sources.files.formats import CSV, EXCEL, PARQUET, STATISTICAL, format_of, legible_as
from republish.sources.panics import contained
from republish.sources.postgres import is_database

_UNREADABLE = (
    "the table cannot be read: a library gave up on it. Write the file anew, or write its cells as text"
)


def read_raw(source: Any, schema: Schema) -> pl.DataFrame:
    """The raw view as its schema says that files are written: numbers, days and missing cells for what they are.

    What is no text already, as in Parquet or in memory, is taken for what it is.
    """
    declared = (*schema.quasi_identifiers, schema.sensitive)
    numbers = [n for c in declared if isinstance(c, Number) for n in schema.amended.names_of(c.name)]
    return respelled(read_table(source, schema.missing, numbers, schema.files), schema)


@contained(ViewError, _UNREADABLE)
def read_table(
    source: Any,
    missing: Sequence[str] = (),
    numbers: Iterable[str] | None = None,
    files: Dialect = USUAL,
) -> pl.DataFrame:
    """The table as a polars frame; CSV columns are text, empty cells and `missing` texts are null.

    CSV columns named in `numbers` come as numbers where every cell is one, and as text where one is not. Of `files`
    what concerns the file as a whole counts: its encoding, separator and sheet.
    """
    if is_database(source):
        from republish.sources.postgres.source import read_database

        frame = read_database(source)
    elif isinstance(source, str | Path):
        frame = _read_file(Path(source), missing, None if numbers is None else set(numbers), files)
    else:
        frame = _from_memory(source)
    mixed = [name for name, dtype in frame.schema.items() if dtype == pl.Object]
    if mixed:
        raise ViewError(_ONE_TYPE.format(listed(mixed)))
    return _blank_to_null(frame, missing)


@contained(ViewError, _UNREADABLE)
def header(source: Path, files: Dialect = USUAL) -> list[str]:
    """The column names of a file."""
    what = format_of(source)
    if what == CSV:
        return CsvFile.opened(source, files).names
    if what == PARQUET:
        with legible_as(what, source):
            return list(pl.read_parquet_schema(source))
    if what in STATISTICAL:
        from republish.sources.files.statistical import names_and_rows

        return names_and_rows(source, what)[0]
    return _read_file(source, (), None, files).columns


def _read_file(path: Path, missing: Sequence[str], numbers: set[str] | None, files: Dialect) -> pl.DataFrame:
    if path.is_dir():
        raise ViewError(f"{path} is a folder; a view is one file, such as CSV or Parquet")
    if not path.exists():
        raise ViewError(f"there is no file {path}; a view is one file, such as CSV or Parquet")
    if not path.is_file():
        raise ViewError(f"{path} must be a regular file, not a pipe or a device; write it to a file first")
    try:
        what = format_of(path)
        if what == CSV:
            plain = numbers if numbers is not None and files.plain_numbers else set[str]()
            return CsvFile.opened(path, files).read(missing, plain)
        if what == PARQUET:
            with legible_as(what, path):
                return pl.read_parquet(path)
        if what == EXCEL:
            from republish.sources.files.workbooks import read_workbook

            return read_workbook(path, files.sheet)
        from republish.sources.files.statistical import read_statistical

        return read_statistical(path, what, numbers)
    except PermissionError:
        raise ViewError(f"{path} may not be read by this user; change its mode or its owner") from None


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
            if isinstance(frame, pl.Series) and frame.dtype == pl.Struct:  # how rows of a stream come
                frame = frame.struct.unnest()
    except ModuleNotFoundError as problem:
        raise ViewError(f"reading this table needs the package {problem.name}; install it") from None
    except (pl.exceptions.DuplicateError, nw.exceptions.DuplicateError):
        raise ViewError("two columns of the table have the same name; rename one") from None
    except Exception:  # whatever a backend raises
        raise ViewError(_ONE_TYPE.format("a column")) from None
    if isinstance(frame, pl.DataFrame):
        return frame
    raise ViewError(
        "a view is a CSV or Parquet path, the address of a PostgreSQL table, or a pandas, polars or Arrow table or a "
        f"DuckDB relation; found {type(source).__name__}"
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
