"""What is understood of a first file: how it is written, what is missing in it, what its columns look like.

Nothing is guessed where two readings are possible: then a person says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from republish.errors import SchemaError, ViewError
from republish.schema import Number
from republish.schema.column_names import listed, require_names
from republish.schema.dialect import ISO, USUAL, Dialect
from republish.sources.columns.missing_codes import AMONG_VALUES, number_codes, text_codes
from republish.sources.columns.spelling import day_texts, number_texts, without_codes
from republish.sources.files.detected import detected
from republish.sources.postgres import is_database
from republish.sources.tables import read_table
from republish.sources.values import is_of_kind, require_single_values

_MOST_COLUMNS = 1000  # that a person can be asked of
_YEAR = r"\d{4}"  # every form of days has one, and most columns are refused by it alone
_YEARS = (1900, 2100)  # of days that are written as one number
_FEW = 6  # columns in a sentence
_STYLES: Final = (
    *((".", ""), (",", ""), (",", "."), (".", ","), (",", " "), (".", " "), (".", "'"), (",", "'")),
)
_NUMBER_LIKE = "^[+-]?[\\d.,][\\d.,' \u00a0\u202f\u2019]*$"
_DAYS = (
    *(
        "DD.MM.YYYY",
        "DD/MM/YYYY",
        "MM/DD/YYYY",
        "DD-MM-YYYY",
        "MM-DD-YYYY",
        "YYYY/MM/DD",
        "YYYY.MM.DD",
        "YYYYMMDD",
    ),
    *("DD-MMM-YYYY", "DD MMM YYYY", "DDMMMYYYY", "DD.MMM.YYYY", "DD/MMM/YYYY"),
)
_TIMES = ("", " hh:mm:ss", " hh:mm", "Thh:mm:ss", "Thh:mm")
_FORMS = tuple(f"{day}{time}" for day in (ISO, *_DAYS) for time in _TIMES)


@dataclass(frozen=True)
class Understood:
    """A table with its cells in one spelling, and how its file spells them.

    `unclear` are columns of days with the forms that fit all of them; `maybe` codes that may mean missing, by column.
    """

    table: pl.DataFrame
    files: Dialect = USUAL
    missing: tuple[str, ...] = ()
    forms: Mapping[str, str] = field(default_factory=dict)
    unclear: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    maybe: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sentence: str = ""

    @classmethod
    def of_codebook(cls, said: Mapping[str, Any]) -> Understood:
        """What is understood where there is no table: what is said."""
        given = dict(said)
        everywhere, files = tuple(given.pop("everywhere", ())), Dialect(**given)
        forms = {} if isinstance(files.dates, str) else dict(files.dates)
        return cls(pl.DataFrame(), files, everywhere, forms)

    def form_of(self, name: str) -> str:
        """The form of a column of days, or all that fit it."""
        return " or ".join(self.unclear.get(name, (self.forms.get(name, ISO),)))

    def for_columns(self, days: Iterable[str], kept: Iterable[str]) -> Dialect:
        """How files are written as far as it concerns these columns of days, and columns that are kept.

        Raises:
            SchemaError: it is not clear how a column of days is written.
        """
        named = list(days)
        unclear = [name for name in named if name in self.unclear]
        if unclear:
            possible = self.unclear[unclear[0]]
            raise SchemaError(
                f"column {unclear[0]}: its days can be read as {' or '.join(possible)}, and a file must be read in one "
                f"way. Say which, --read dates.{unclear[0]}={possible[0]}, or write them as {ISO}"
                + (f"; so for {listed(unclear[1:])}" if unclear[1:] else "")
            )
        forms = {name: self.forms[name] for name in named if name in self.forms}
        others = {name: form for name, form in forms.items() if form != ISO}
        one = len(set(forms.values())) == 1
        dates = next(iter(forms.values())) if one else others or ISO
        missing = {name: codes for name, codes in dict(self.files.missing).items() if name in set(kept)}
        return replace(self.files, dates=dates, missing=missing)

    def with_codes(self, name: str, codes: Iterable[str]) -> Understood:
        """The same where these codes mean missing in a column too."""
        here = (*self.files.missing_in(name), *codes)
        every = {**dict(self.files.missing), name: here}
        table = self.table.with_columns(without_codes(self.table[name], here))
        maybe = {other: found for other, found in self.maybe.items() if other != name}
        return replace(self, table=table, files=replace(self.files, missing=every), maybe=maybe)

    def with_only_codes(self, name: str, codes: Iterable[str]) -> Understood:
        """The same where these codes, and no others beside those of all columns, mean missing in a column."""
        others = {other: found for other, found in dict(self.files.missing).items() if other != name}
        plain = replace(self, files=replace(self.files, missing=others))
        given = tuple(codes)
        return plain.with_codes(name, given) if given else plain

    def with_form(self, name: str, form: str) -> Understood:
        """The same where a column of days is written so."""
        unclear = {other: forms for other, forms in self.unclear.items() if other != name}
        return replace(self, forms={**self.forms, name: form}, unclear=unclear)


def understand(source: Any, said: Mapping[str, Any] | None = None) -> Understood:
    """What is understood of a table; `said` are settings of `[files]`, and texts that mean missing, that are given.

    Raises:
        ViewError: it cannot be read, or its first line has no names.
    """
    given = dict(said or {})
    everywhere = tuple(given.pop("everywhere", ()))
    files = Dialect(**given)
    path = Path(source) if isinstance(source, str | Path) and not is_database(source) else None
    files, sentence = detected(path, files, given) if path is not None and path.is_file() else (files, "")
    table = read_table(source, everywhere, files=files)
    require_names(table.columns)
    if table.width > _MOST_COLUMNS:
        raise ViewError(
            f"roles are proposed for at most {_MOST_COLUMNS:,} columns; the table has {table.width:,}. Keep those that "
            "matter, or write a schema.toml"
        )
    require_single_values(table)
    for name, codes in dict(files.missing).items():
        if name in table.columns:
            table = table.with_columns(without_codes(table[name], tuple(codes)))
    texts = _Texts(table, files, given)
    found = replace(texts.understood(), missing=(*everywhere, *texts.missing))
    for name in found.table.columns:
        found = found if name in dict(files.missing) else _with_number_codes(found, name)
    return replace(found, sentence=_sentence(sentence, found))


class _Texts:
    """The texts of a table, read step by step: what is missing, how days are written, how numbers are."""

    def __init__(self, table: pl.DataFrame, files: Dialect, given: Mapping[str, Any]) -> None:
        self.table, self.files, self.given = table, files, given
        self.different = {
            name: table[name].drop_nulls().unique().str.strip_chars()
            for name, dtype in table.schema.items()
            if dtype == pl.String
        }
        self.missing: list[str] = []
        self._own: dict[str, tuple[str, ...]] = dict(files.missing)  # type: ignore[arg-type]

    def understood(self) -> Understood:
        self._find_missing()
        forms, unclear = self._days()
        style = self._style([name for name in self.different if name not in forms])
        steps = []
        for name, form in forms.items():
            steps += [day_texts(self.table[name], form)] if form != ISO else []
        if not style.plain_numbers:
            for name in self.different.keys() - forms.keys():
                spelled = number_texts(self.table[name], style)
                if spelled.null_count() == self.table[name].null_count() and self._is_no_code(name):
                    steps.append(spelled)
        files = replace(self.files, decimal=style.decimal, thousands=style.thousands, missing=self._own)
        return Understood(self.table.with_columns(steps), files, (), forms, unclear)

    def _is_no_code(self, name: str) -> bool:
        return not bool(self.different[name].str.contains(r"^0\d").any())

    def _find_missing(self) -> None:
        """Take texts that mean missing out of the cells: of all columns, unless one holds them as a value."""
        found: dict[str, list[str]] = {}
        for name, texts in self.different.items():
            wide = text_codes(texts, among_values=True)
            others = texts.filter(~texts.is_in(wide))
            among = bool(len(others)) and (
                bool(others.str.contains(_NUMBER_LIKE).all()) or bool(_possible(others))
            )
            found[name] = wide if among else text_codes(texts, among_values=False)
        every = list(dict.fromkeys(code for codes in found.values() for code in codes))
        for code in every:
            held = [name for name, texts in self.different.items() if bool((texts == code).any())]
            if code not in AMONG_VALUES and all(code in found[name] for name in held):
                self.missing.append(code)
            else:
                for name in held:
                    if code in found[name]:
                        self._own[name] = (*self._own.get(name, ()), code)
        for name, codes in found.items():
            if codes:
                self.table = self.table.with_columns(without_codes(self.table[name], codes))
                self.different[name] = self.different[name].filter(~self.different[name].is_in(codes))

    def _days(self) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        """The form of every column of days, and those that several fit."""
        said = self.given.get("dates", {})
        forms: dict[str, str] = {}
        several: dict[str, tuple[str, ...]] = {}
        for name, texts in self.different.items():
            form = said if isinstance(said, str) else said.get(name)
            possible = [form] if form and _fits(texts, form) else _possible(texts)
            if len(possible) == 1:
                forms[name] = possible[0]
            elif possible:
                several[name] = tuple(possible)
        unclear = {}
        clear = set(forms.values())
        for name, fitting in several.items():  # another column of the same signs may tell
            known = [form for form in fitting if form in clear]
            forms[name] = known[0] if known else fitting[0]
            if len(known) != 1:
                unclear[name] = fitting
        return forms, unclear

    def _style(self, names: Sequence[str]) -> Dialect:
        """How numbers are written: as most columns of them can be read, with no other reading as good."""
        like = [
            self.different[name]
            for name in names
            if len(self.different[name]) and bool(self.different[name].str.contains(_NUMBER_LIKE).all())
        ]
        fixed = {key: self.given[key] for key in ("decimal", "thousands") if key in self.given}
        styles = [replace(self.files, decimal=decimal, thousands=thousands) for decimal, thousands in _STYLES]
        fitting = [style for style in styles if all(getattr(style, key) == fixed[key] for key in fixed)]
        counts = [sum(not number_texts(texts, style).null_count() for texts in like) for style in fitting]
        best = [style for style, count in zip(fitting, counts, strict=True) if count == max(counts)]
        if not best or best[0].plain_numbers or len({style.decimal for style in best}) == 1:
            return best[0] if best else self.files
        return replace(self.files, **{"decimal": ".", "thousands": ""} | fixed)


def _possible(different: pl.Series) -> list[str]:
    """The forms of days that fit all these texts; days with points begin with the day wherever they are written."""
    first = different.head(1)
    if not first.str.contains(_YEAR).any():
        return []
    return [form for form in _FORMS if _fits(first, form) and _fits(different, form)]


def _fits(different: pl.Series, form: str) -> bool:
    days = day_texts(different, form)
    if days.null_count():
        return False
    years = days.str.head(4).cast(pl.Int32)
    return "YYYYMM" not in form or bool(years.is_between(*_YEARS).all())


def _with_number_codes(found: Understood, name: str) -> Understood:
    """What is understood, with the codes among the numbers of a column that mean missing, and those that may."""
    column = found.table[name].drop_nulls()
    code_like = column.dtype == pl.String and bool(column.str.contains(r"^\s*0\d").any())
    if not len(column) or code_like or name in found.forms or not is_of_kind(column, Number(name)):
        return found
    numbers = (
        column.str.strip_chars().cast(pl.Float64) if column.dtype == pl.String else column.cast(pl.Float64)
    )
    sure, perhaps = number_codes(numbers)
    found = found.with_codes(name, sure) if sure else found
    return replace(found, maybe={**found.maybe, name: tuple(perhaps)}) if perhaps else found


def _sentence(file: str, found: Understood) -> str:
    """How the file is written, in one line."""
    parts = [file] if file else []
    files = found.files
    if not files.plain_numbers:
        parts.append(f"numbers such as 1{files.thousands}234{files.decimal}5")
    forms = list(dict.fromkeys(form for name, form in found.forms.items() if name not in found.unclear))
    if any(form != ISO for form in forms):
        parts.append(f"days as {' or '.join(forms)}")
    own = [f"{', '.join(codes)} in {name}" for name, codes in dict(files.missing).items()]
    codes = [*([", ".join(found.missing)] if found.missing else []), *own[:_FEW]]
    if codes:
        more = f" and codes in {len(own) - _FEW} others" if len(own) > _FEW else ""
        parts.append(f"missing is {'; '.join(codes)}{more}")
    return "; ".join(parts)
