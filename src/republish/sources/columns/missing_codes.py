"""Texts and numbers that people write for a cell they do not know."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

TEXTS = (
    *(
        "NA",
        "N/A",
        "n/a",
        "na",
        "#N/A",
        "#NV",
        "<NA>",
        "NaN",
        "nan",
        "NULL",
        "null",
        "Null",
        "k.A.",
        "k. A.",
        "k.A",
    ),
    *("keine Angabe", "."),
)
"""What means missing in any column."""
AMONG_VALUES = (
    "?",
    "-",
    "--",
    "---",
    "*",
    "x",
    "X",
    "missing",
    "Missing",
    "unknown",
    "Unknown",
    "unbekannt",
    "None",
)
"""What means missing among numbers and days, and may be a value among others."""
BELOW_ZERO = tuple(f"-{digit * length}" for length in range(1, 6) for digit in "789")
"""Codes of surveys: nothing else in the column is below zero."""
NINES = tuple("9" * length for length in range(2, 7))
"""What stands far above all other numbers of the column; only a person can say whether it is one of them."""
_CODE = r"^\p{Lu}{2,3}$"  # NA is a country among these
_FAR = 3
_REPEATED = 2


def text_codes(different: pl.Series, among_values: bool) -> list[str]:
    """Those texts of a column that mean missing; `among_values` where all others are numbers or days."""
    known = (*TEXTS, *AMONG_VALUES) if among_values else TEXTS
    texts = different.str.strip_chars()
    found = [code for code in known if bool((texts == code).any())]
    if "NA" in found and not among_values:
        others = texts.filter(texts != "NA")
        if len(others) and float(others.str.contains(_CODE).mean() or 0.0) > 0.5:  # type: ignore[arg-type]
            found.remove("NA")
    return found


def number_codes(numbers: pl.Series) -> tuple[list[str], list[str]]:
    """Codes among numbers that mean missing, and those that may: both repeat, and lie where no other number does."""
    sure = _repeated(numbers, BELOW_ZERO)
    others = numbers.filter(~numbers.is_in([float(code) for code in sure]))
    if not len(others) or float(others.min()) < 0:  # type: ignore[arg-type]
        sure, others = [], numbers
    open_codes = []
    for code in reversed(_repeated(others, NINES)):
        below = others.filter(others != float(code))
        if len(below) and float(below.max()) * _FAR < float(code):  # type: ignore[arg-type]
            open_codes.append(code)
            others = below
    return sure, open_codes


def _repeated(numbers: pl.Series, codes: Sequence[str]) -> list[str]:
    return [code for code in codes if int((numbers == float(code)).sum()) >= _REPEATED]
