"""How files are written: encoding, separator, numbers, dates and codes of missing cells; `[files]` of a schema."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from republish.errors import SchemaError

UTF_8: Final = "utf-8"
ISO: Final = "YYYY-MM-DD"
DECIMALS = (".", ",")
THOUSANDS = (".", ",", " ", "'")
_DATE_PARTS = re.compile(r"YYYY|MMM?|DD|hh|mm|ss|[./ :,T-]")
_SHEETS = 31  # characters of the longest name that a workbook has

Days = str | tuple[tuple[str, str], ...] | Mapping[str, str]
Codes = tuple[tuple[str, tuple[str, ...]], ...] | Mapping[str, Iterable[str]]


@dataclass(frozen=True)
class Dialect:
    """How the files of a series are written; what is left out is UTF-8, a point, and days as YYYY-MM-DD.

    `separator` is needed only where it is not the commonest of comma, semicolon, tab and bar in the first line.
    `dates` is the form of all days, such as DD.MM.YYYY, or one for each column by its name; `missing` are further codes
    of missing cells, by column; `sheet` names the sheet of a workbook, the first if left out.
    """

    encoding: str = UTF_8
    separator: str | None = None
    decimal: str = "."
    thousands: str = ""
    dates: Days = ISO
    missing: Codes = ()
    sheet: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no file can be read by."""
        object.__setattr__(self, "encoding", _encoding(self.encoding))
        if self.separator is not None and (
            not isinstance(self.separator, str)
            or len(self.separator) != 1
            or not self.separator.isascii()
            or self.separator in '"\r\n.'
        ):
            raise SchemaError(
                "files: the separator is one character, such as ;, and no quote, point or line break"
            )
        if self.decimal not in DECIMALS:
            raise SchemaError("files: decimal is a point or a comma")
        if self.thousands not in ("", *THOUSANDS) or self.thousands == self.decimal:
            raise SchemaError(
                "files: thousands is a point, a comma, a blank or ', and not the decimal sign; leave it out for none"
            )
        if not isinstance(self.dates, str):
            object.__setattr__(self, "dates", _by_column("dates", self.dates))
        for form in [self.dates] if isinstance(self.dates, str) else dict(self.dates).values():
            _require_date_form(form)
        codes = _by_column("missing", self.missing)
        for _, listed in codes:
            if isinstance(listed, str) or not all(isinstance(code, str) for code in listed):
                raise SchemaError('files: missing has a list of texts for each column, such as age = ["-9"]')
        object.__setattr__(self, "missing", tuple((name, tuple(listed)) for name, listed in codes))
        if self.sheet is not None and not (isinstance(self.sheet, str) and 0 < len(self.sheet) <= _SHEETS):
            raise SchemaError("files: sheet is the name of a sheet of the workbook")

    @property
    def plain_numbers(self) -> bool:
        return (self.decimal, self.thousands) == (".", "")

    def date_form(self, column: str) -> str:
        """How the days of a column are written."""
        return self.dates if isinstance(self.dates, str) else dict(self.dates).get(column, ISO)

    def missing_in(self, column: str) -> tuple[str, ...]:
        """The codes that mean missing in this column alone."""
        return tuple(dict(self.missing).get(column, ()))

    def document(self) -> dict[str, Any]:
        """The table `[files]`: what is not as usual."""
        said = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "missing"}
        document = {name: value for name, value in said.items() if value != getattr(USUAL, name)}
        if not isinstance(self.dates, str):
            document["dates"] = dict(self.dates)
        if self.missing:
            document["missing"] = {name: list(codes) for name, codes in dict(self.missing).items()}
        return document


def dialect_from_mapping(document: Any) -> Dialect:
    """How files are written, as the table `[files]` says it."""
    names = [one.name for one in fields(Dialect)]
    if not isinstance(document, Mapping):
        raise SchemaError(f"files is a table of settings: {', '.join(names)}")
    unknown = sorted(set(document) - set(names))
    if unknown:
        raise SchemaError(f"files has no setting {', '.join(unknown)}; it may have {', '.join(names)}")
    return Dialect(**document)


def _encoding(name: object) -> str:
    """The name of an encoding of texts as it was given, UTF-8 in one spelling."""
    try:
        found = codecs.lookup(str(name))
        "".encode(found.name)
    except LookupError:
        raise SchemaError(
            'files: encoding is one that Python knows, such as "windows-1252", "latin-1" or "utf-16"'
        ) from None
    return UTF_8 if found.name in (UTF_8, "utf-8-sig") else str(name)


def _by_column(what: str, given: Any) -> tuple[tuple[str, Any], ...]:
    if isinstance(given, Mapping):
        given = given.items()
    try:
        if isinstance(given, str) or any(isinstance(pair, str) for pair in given):
            raise ValueError
        return tuple(sorted((str(name), value) for name, value in given))
    except (TypeError, ValueError):
        raise SchemaError(f"files: {what} is a table by column, such as {what}.born = ...") from None


def _require_date_form(form: object) -> None:
    parts = _DATE_PARTS.findall(form) if isinstance(form, str) else []
    month = [part for part in parts if part.startswith("MM")]
    if "".join(parts) != form or len(month) != 1 or (parts.count("YYYY"), parts.count("DD")) != (1, 1):
        raise SchemaError(
            "files: dates are written with YYYY, MM and DD once each, such as DD.MM.YYYY, MM/DD/YYYY, YYYYMMDD, or "
            "DD-MMM-YYYY for names of months; hh, mm and ss may stand for a time, which is left out"
        )


USUAL = Dialect()
