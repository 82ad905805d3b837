"""The columns of an uploaded view beside those of a series; a name that the series does not know is never said.

A file without a header line has cells where names should be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from republish.errors import RepublishError, SchemaError, ViewError
from republish.schema.column_names import listed
from republish.sources.panics import is_panic
from republish.sources.tables import header, read_table

if TYPE_CHECKING:
    from republish.schema import Dialect, Schema

_NONE_THERE = "none of the expected columns is there; does the file have a header line?"


@contextmanager
def legible() -> Iterator[None]:
    """Words for whatever a reader says of a damaged file: its own may quote cells."""
    try:
        yield
    except RepublishError:
        raise
    except (pl.exceptions.PolarsError, OSError, ValueError):
        raise _damaged() from None
    except BaseException as problem:
        if is_panic(problem):
            raise _damaged() from None
        raise


def names_in(view: Path, files: Dialect) -> list[str]:
    """The column names of a view."""
    with legible():
        return header(view, files)


def require_known(schema: Schema, view: Path) -> None:
    """Refuse a view with columns that the schema does not know, without naming those."""
    words = _unknown(schema, names_in(view, schema.files))
    if words is not None:
        raise SchemaError(words)


def compare(schema: Schema, view: Path, known: pl.Series | None) -> dict[str, Any]:
    """Columns expected, found and missing, the number of others, rows, and what is wrong in words."""
    from republish.microdata import read_view

    problems: list[str] = []
    rows, found = 0, list[str]()
    try:
        found = names_in(view, schema.files)
        words = _unknown(schema, found)
        with legible():
            rows = read_table(view, files=schema.files).height
            if words is None:
                read_view(view, schema, known)
    except RepublishError as problem:
        problems.append(str(problem))
    else:
        problems += [] if words is None else [words]
    expected = list(schema.columns)
    labelled = schema.headings
    others = sum(column not in labelled for column in found)
    return {
        "rows": rows,
        "expected": expected,
        "found": [column for column in found if column in labelled],
        "missing": schema.lacking(found),
        "others": others,
        "extra": [_count(others)] if others else [],
        "problems": problems,
        "fits": not problems,
    }


def _unknown(schema: Schema, found: list[str]) -> str | None:
    """What is wrong with the names, as far as the schema does not know them."""
    others = sum(column not in schema.headings for column in found)
    if not {schema.amended.column_of(name) for name in found} & set(schema.columns):
        return f"{_NONE_THERE} It has {_count(others)}"
    if not others:
        return None
    absent = schema.lacking(found)
    return (
        f"the file has {_count(others)} that this series does not know; remove or rename "
        f"{'it' if others == 1 else 'them'}"
        + (f". The series needs {listed(absent)} too, and the file lacks that" if absent else "")
    )


def _count(others: int) -> str:
    return f"{others} other column{'' if others == 1 else 's'}"


def _damaged() -> ViewError:
    return ViewError(
        "the file starts like a table and cannot be read as one; write it anew and upload it again"
    )
