"""A table of today in the columns of the schema: headings, columns that are not there any more, codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from republish.errors import ViewError
from republish.schema import Schema
from republish.sources.tables import read_table
from republish.sources.values import as_text


def amended(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The table with the headings and codes of the schema, without what is left out; what it lacks is missing."""
    changes = schema.amended
    table = table.drop([name for name, column in changes.headings.items() if column is None], strict=False)
    table = table.rename({name: column for name, column in changes.headings.items() if column}, strict=False)
    lacking = [name for name in changes.optional if name in schema.columns and name not in table.columns]
    table = table.with_columns(pl.lit(None, pl.String).alias(name) for name in lacking)
    return table.with_columns(
        as_text(table[column]).replace(dict(codes)).alias(column)
        for column, codes in changes.recodes.items()
        if column in table.columns
    )


OLD, NEW = "old", "new"


def read_codes(source: Any) -> dict[str, str]:
    """The code of the series that every code of the source stands for: a table with the columns old and new.

    Raises:
        ViewError: a column or a code is missing, or a new code stands for two old ones.
    """
    table = read_table(source)
    if not {OLD, NEW} <= set(table.columns):
        raise ViewError(
            f"a table of codes has the columns {OLD} and {NEW}, with these names in its first line"
        )
    codes = pl.DataFrame([as_text(table[name]).str.strip_chars() for name in (OLD, NEW)]).unique()
    blank = codes.filter(pl.any_horizontal(pl.all().is_null() | (pl.all() == ""))).height
    if blank:
        raise ViewError(
            f"every line of a table of codes has an old and a new one; {blank} lack one. Fill them in"
        )
    twice = codes.height - codes[NEW].n_unique()
    if twice:
        raise ViewError(
            f"a new code stands for one old one; {twice} stand for several. Leave one line a new code"
        )
    return dict(zip(codes[NEW].to_list(), codes[OLD].to_list(), strict=True))


def write_codes(codes: dict[str, str], path: Path) -> None:
    """Write codes as `read_codes` reads them."""
    pl.DataFrame({OLD: list(codes.values()), NEW: list(codes)}).sort(NEW).write_csv(path)
