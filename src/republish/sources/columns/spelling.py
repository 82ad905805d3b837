"""Numbers, days and codes of missing cells as files spell them, read as what they mean; texts stay as they are."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date
from typing import Final

import polars as pl

from republish.errors import ViewError
from republish.schema import Column, Date, Number, Schema
from republish.schema.dialect import ISO, USUAL, Dialect

_SIGNS: Final = {".": r"\.", ",": ",", " ": "[ \u00a0\u202f]", "'": "['\u2019]"}
_PARTS: Final = {
    "YYYY": r"(?P<y>\d{4})",
    "MMM": r"(?P<m>\p{L}{3})",
    "hh": r"\d\d?",
    "mm": r"\d\d",
    "ss": r"\d\d",
}
_MONTHS: Final = {  # in English and German
    name: f"{number:02d}"
    for number, names in enumerate(
        (
            "jan",
            "feb",
            "mar mär mrz",
            "apr",
            "may mai",
            "jun",
            "jul",
            "aug",
            "sep",
            "oct okt",
            "nov",
            "dec dez",
        ),
        1,
    )
    for name in names.split()
}


def respelled(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The frame with texts of numbers and days as such, and with codes of missing cells as null.

    Raises:
        ViewError: a cell is spelled otherwise; the message has the column and the number of such cells.
    """
    files = schema.files
    if files == USUAL:
        return frame
    declared = {column.name: column for column in (*schema.quasi_identifiers, schema.sensitive) if column}
    meant = {name: schema.amended.column_of(name) or name for name in frame.columns}
    return frame.with_columns(
        _read_as(frame[name], column, declared.get(column), files) for name, column in meant.items()
    )


def _read_as(column: pl.Series, name: str, declared: Column | None, files: Dialect) -> pl.Series:
    codes, form = files.missing_in(name), files.date_form(name)
    column = without_codes(column, codes)
    if column.dtype != pl.String:
        return column
    if isinstance(declared, Number) and not files.plain_numbers:
        what = f"numbers such as 1{files.thousands}234{files.decimal}5"
        return without_codes(_required(column, number_texts(column, files), what).cast(pl.Float64), codes)
    if isinstance(declared, Date) and form != ISO:
        return _required(column, day_texts(column, form), f"dates as {form}").str.to_date("%Y-%m-%d")
    return column


def without_codes(column: pl.Series, codes: Collection[str]) -> pl.Series:
    """The column with cells that are one of these codes as null; numbers are compared as numbers."""
    if not codes:
        return column
    if column.dtype == pl.String:
        return column.set(column.str.strip_chars().is_in(list(codes)).fill_null(value=False), None)
    if not column.dtype.is_numeric():
        return column
    values = pl.Series(list(codes)).cast(pl.Float64, strict=False).drop_nulls()
    found = column.cast(pl.Float64).is_in(values.to_list()).fill_null(value=False)
    return pl.select(pl.when(~found).then(column)).to_series().rename(column.name)


def number_texts(column: pl.Series, files: Dialect) -> pl.Series:
    """Numbers as they are spelled in these files, with a point and without signs between thousands; else null."""
    texts = column.str.strip_chars()
    decimal = _SIGNS[files.decimal]
    whole = r"\d+"
    if files.thousands:
        whole += rf"|\d{{1,3}}(?:{_SIGNS[files.thousands]}\d{{3}})+"
    spelled = texts.str.contains(
        rf"^[+-]?(?:{whole}|(?:{whole})?{decimal}\d+|(?:{whole}){decimal})(?:[eE][+-]?\d+)?$"
    )
    texts = texts.set(~spelled.fill_null(value=False), None)
    if files.thousands:
        texts = texts.str.replace_all(_SIGNS[files.thousands], "")
    return texts.str.replace(decimal, ".")


def day_texts(column: pl.Series, form: str) -> pl.Series:
    """Days that are written in this form as YYYY-MM-DD, else null."""
    texts, pattern = column.str.strip_chars(), _pattern(form)
    found = texts.set(~texts.str.contains(pattern).fill_null(value=False), None)
    iso = found.str.replace(pattern, "${y}-${m}-${d}")
    if "MMM" in form:
        iso = iso.str.to_lowercase().str.replace_many(_MONTHS)
    days = iso.str.to_date("%Y-%m-%d", strict=False)
    return days.set(~days.is_between(date.min, date.max), None).dt.to_string("%Y-%m-%d")


def _pattern(form: str) -> str:
    """A regular expression for a form of days; without signs between them parts have two digits."""
    parts = re.findall(r"YYYY|MMM|MM|DD|hh|mm|ss|.", form)
    two = r"\d{1,2}" if re.search(r"DD\W|MM\W", form) else r"\d\d"
    known = _PARTS | {"MM": f"(?P<m>{two})", "DD": f"(?P<d>{two})"}
    return "^" + "".join(known.get(part, re.escape(part)) for part in parts) + "$"


def _required(before: pl.Series, after: pl.Series, form: str) -> pl.Series:
    bad = after.null_count() - before.null_count()
    if bad:
        raise ViewError(
            f"column {before.name}: cells must be {form}, as [files] of the schema says, or empty; {bad} of "
            f"{len(before)} are not. Correct them or the schema, or list the texts that mean missing: missing = [...]"
        )
    return after
