"""Cells read as the kind of their column: numbers, dates, texts, each checked and counted.

Whatever the source calls its types, a number becomes a float, a date a day and a category a text.
"""

from __future__ import annotations

from datetime import date

import polars as pl

from republish.errors import ViewError
from republish.schema import Column, Date, Number

_EXACT = 2.0**53  # from here on a float no longer holds every whole number
_PLAIN = (pl.String, pl.Boolean, pl.Null, pl.Date, pl.Time)
_A_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_TYPES = {"number": pl.Float64(), "date": pl.Date(), "ordered": pl.String(), "category": pl.String()}


def require_single_values(table: pl.DataFrame) -> None:
    """Refuse columns whose cells are no text, number, day or truth value, or a day of no calendar.

    Lists, records, bytes and durations have no text to publish.
    """
    for column in table.get_columns():
        kind = column.dtype
        if not (kind.is_numeric() or kind in _PLAIN or isinstance(kind, pl.Datetime)):
            raise ViewError(
                f"column {column.name}: a cell must be one text, number, date or truth value; found {type_name(kind)}. "
                "Write it as one of these"
            )
        if kind == pl.Date or isinstance(kind, pl.Datetime):
            odd = len(column) - column.null_count() - _in_calendar(column)
            if odd:
                raise ViewError(
                    f"column {column.name}: dates lie in the years 1 to 9999; {odd} of {len(column)} do not. Correct "
                    "them"
                )


def type_name(kind: pl.DataType) -> str:
    """The name of a type alone: that of an enumeration would list its values."""
    return type(kind).__name__


def _in_calendar(column: pl.Series) -> int:
    """How many days or moments lie in the years 1 to 9999."""
    ticks = 1 if column.dtype == pl.Date else _A_DAY[str(getattr(column.dtype, "time_unit", "us"))]
    first, last = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
    days = column.to_physical() // ticks
    return int(days.is_between(first, last).sum())


def is_of_kind(column: pl.Series, declared: Column) -> bool:
    """Whether every cell can be read as the declared column."""
    try:
        parse(column, declared)
    except ViewError:
        return False
    return True


def parse(column: pl.Series, declared: Column) -> pl.Series:
    """The column in the type of its kind, or an error with the number of cells that do not fit."""
    if column.null_count() == len(column):  # no value, so that its type says nothing
        return pl.Series(column.name, [None], dtype=_TYPES[declared.kind]).new_from_index(0, len(column))
    if isinstance(declared, Date):
        parsed = _dates(column)
    elif isinstance(declared, Number) or column.dtype.is_float():
        parsed = _numbers(column)
    else:
        parsed = column.cast(pl.String)
    if parsed is None:
        raise ViewError(
            f"column {declared.name}: kind {declared.kind} cannot be read from type {type_name(column.dtype)}"
        )
    bad = parsed.null_count() - column.null_count()
    if bad:
        form = "dates as YYYY-MM-DD" if isinstance(declared, Date) else "numbers"
        raise ViewError(
            f"column {declared.name}: cells must be {form} or empty; {bad} of {len(column)} are not. Correct them, "
            "or list the texts that mean missing in the schema: missing = [...]"
        )
    if parsed.dtype.is_float() and float(parsed.abs().max()) >= _EXACT:  # type: ignore[arg-type]
        raise ViewError(
            f"column {declared.name}: numbers from 2^53 on lose digits; write them as text and let the column be "
            "a category"
        )
    return parsed if declared.kind in ("number", "date") else as_text(parsed)


def _dates(column: pl.Series) -> pl.Series | None:
    """Days of the years 1 to 9999, null for what is none; nothing where the type holds no days."""
    if column.dtype == pl.String:
        texts = column.str.strip_chars()
        shaped = texts.set(~texts.str.contains(r"^\d{4}-\d\d-\d\d$"), None)
        days = shaped.str.to_date("%Y-%m-%d", strict=False)
    elif column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        days = column.cast(pl.Date, strict=False)
    else:
        return None
    return days.set(~days.is_between(date.min, date.max), None)


def _numbers(column: pl.Series) -> pl.Series | None:
    """Finite numbers, null for what is none; nothing where the type holds no numbers."""
    if column.dtype == pl.String:
        column = column.str.strip_chars()
    elif not column.dtype.is_numeric():
        return None
    numbers = column.cast(pl.Float64, strict=False)
    numbers = numbers.set(numbers == 0.0, 0.0)  # -0.0 is the same value
    return numbers if numbers.is_finite().all() else numbers.set(~numbers.is_finite(), None)


def whole_numbers(column: pl.Series) -> pl.Series:
    """Decimals as whole numbers where all are: sheets and statistical packages know no others."""
    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    whole = bool((column == column.floor()).all()) and float(column.abs().max() or 0) < _EXACT  # type: ignore[arg-type]
    return column.cast(pl.Int64) if whole else column


def as_text(values: pl.Series) -> pl.Series:
    """The values as the texts that hierarchies, domains and CSV cells use; a whole number has no point."""
    texts = values.cast(pl.String)
    if not values.dtype.is_float():
        return texts
    whole = values.cast(pl.Int64, strict=False).cast(pl.String)
    return (
        pl.select(pl.when(values == values.floor()).then(whole).otherwise(texts))
        .to_series()
        .rename(values.name)
    )
