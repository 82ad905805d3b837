"""What the cells of a column look like, as a class in a few words: never a cell."""

from __future__ import annotations

import re

import polars as pl

from republish.schema import Date, Number
from republish.schema.dialect import ISO
from republish.sources.values import is_of_kind

_FEW_LABELS = 50
_MOSTLY, _SOME = 0.5, 10
_WORDS = {"YYYY": "year", "MMM": "month's name", "MM": "month", "DD": "day"}
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def looks(column: pl.Series, form: str = ISO, comma: bool = False) -> str:
    """The cells of a column in a few words: days in their form, numbers with their digits, codes, labels, texts."""
    filled = column.drop_nulls()
    share = column.null_count() / len(column) if len(column) else 0.0
    said = _of_filled(filled, form, comma) if len(filled) else "empty"
    if not share or not len(filled):
        return said
    return f"{said}, {'under 1%' if share < 0.01 else f'{share:.0%}'} missing"


def _of_filled(filled: pl.Series, form: str, comma: bool) -> str:
    if filled.dtype == pl.Boolean:
        return "true or false"
    if filled.dtype != pl.String and not filled.dtype.is_numeric():
        return "dates"
    texts = filled.cast(pl.String).str.strip_chars()
    if is_of_kind(filled, Date(filled.name)):
        return f"dates, {_in_words(form)}"
    if bool(texts.str.contains(r"^\d+$").all()) and bool(texts.str.contains(r"^0\d").any()):
        return f"codes of {_digits(texts)}, leading zeros kept"
    if is_of_kind(filled, Number(filled.name)):
        return _of_numbers(filled.cast(pl.String).str.strip_chars().cast(pl.Float64), comma)
    different = texts.n_unique()
    if len(texts) > 1 and (different == len(texts) or different > max(_MOSTLY * len(texts), _SOME)):
        return "text, mostly unique"
    if different > _FEW_LABELS:
        return f"text, {different:,} different"
    return f"{different} label{'' if different == 1 else 's'}"


def _of_numbers(numbers: pl.Series, comma: bool) -> str:
    whole = bool((numbers == numbers.floor()).all())
    below = ", some below zero" if float(numbers.min()) < 0 else ""  # type: ignore[arg-type]
    if not whole:
        return f"decimals{' with a comma' if comma else ''}{below}"
    return f"whole numbers, {_digits(numbers.abs().cast(pl.Int64).cast(pl.String))}{below}"


def _digits(texts: pl.Series) -> str:
    lengths = texts.str.len_chars()
    least, most = int(lengths.min()), int(lengths.max())  # type: ignore[arg-type]
    many = _COUNTS[most] if most < len(_COUNTS) else str(most)
    return f"{'' if least == most else 'up to '}{many} digit{'' if most == 1 else 's'}"


def _in_words(form: str) -> str:
    """A form of days in words: day.month.year."""
    return re.sub("|".join(_WORDS), lambda part: _WORDS[part.group()], form)
