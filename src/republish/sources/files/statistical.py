"""Files of SPSS, Stata and SAS as frames, read by pyreadstat; labels stand for the values that have one.

What the file declares missing is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from republish.sources.files.formats import SAS, SPSS, STATA, XPORT, legible_as
from republish.sources.values import as_text, whole_numbers

_READERS = {SPSS: "read_sav", STATA: "read_dta", SAS: "read_sas7bdat", XPORT: "read_xport"}


def read_statistical(path: Path, what: str, numbers: Collection[str] | None) -> pl.DataFrame:
    """The table; cells of columns that are no `numbers` have their labels.

    Where it is not known yet which are (`None`), a column has labels if every value that occurs has one.
    """
    with legible_as(what, path):
        frame, about = _read(path, what)
        labels: Mapping[str, Mapping[Any, str]] = about.variable_value_labels
        columns = []
        for column in frame.get_columns():
            plain, meant = whole_numbers(column), labels.get(column.name, {})
            if meant and (_has_labels(plain, meant) if numbers is None else column.name not in numbers):
                plain = _labelled(plain, meant)
            columns.append(plain)
        return pl.DataFrame(columns)


def names_and_rows(path: Path, what: str) -> tuple[list[str], int]:
    """The names of the columns, and the number of rows, 0 where the file does not say it."""
    with legible_as(what, path):
        _, about = _read(path, what, metadataonly=True)
        return list(about.column_names), about.number_rows or 0


def _read(path: Path, what: str, **options: Any) -> tuple[pl.DataFrame, Any]:
    import pyreadstat

    frame, about = getattr(pyreadstat, _READERS[what])(str(path), output_format="polars", **options)
    return frame, about


def _texts(column: pl.Series) -> pl.Series:
    return as_text(column.cast(pl.Float64)) if column.dtype.is_numeric() else column.cast(pl.String)


def _meanings(column: pl.Series, meant: Mapping[Any, str]) -> dict[str, str]:
    """The labels by the texts of their values."""
    values = pl.Series(
        list(meant), dtype=pl.Float64 if column.dtype.is_numeric() else pl.String, strict=False
    )
    return dict(zip(_texts(values).to_list(), meant.values(), strict=True))


def _has_labels(column: pl.Series, meant: Mapping[Any, str]) -> bool:
    return bool(_texts(column.drop_nulls().unique()).is_in(list(_meanings(column, meant))).all())


def _labelled(column: pl.Series, meant: Mapping[Any, str]) -> pl.Series:
    return _texts(column).replace(_meanings(column, meant))
