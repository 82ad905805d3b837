"""Roles and kinds proposed from a first view, for a person to confirm."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from republish.errors import SchemaError, ViewError
from republish.schema import Category, Column, Date, Number, Schema
from republish.schema.column_names import listed
from republish.schema.dialect import USUAL, Dialect
from republish.schema.table_schema import TableSchema
from republish.sources.columns.looks import looks
from republish.sources.columns.understood import Understood, understand
from republish.sources.direct_identifiers import (
    FEW_PEOPLE,
    Sampled,
    directly_identifying,
    is_about_one_a_person,
    is_direct_number,
    is_prose,
    is_remarks,
)
from republish.sources.headings import (
    is_known,
    is_occupation,
    is_private,
    names_an_identifier,
    names_people,
)
from republish.sources.private_values import are_private
from republish.sources.values import is_of_kind

_DATA = re.compile(r"[-+]?\d[\d.,:/ -]*|")  # a number, a date or nothing: no name for a column
_FREE_TEXT = 40  # mean characters above which a text column is prose, not a category
NONE = "none"
AMBIGUOUS = "several columns look sensitive, and a series protects one"
NO_SENSITIVE = (
    "no column looks sensitive: without one a series hides who is who, and nothing of what is said of them"
)


@dataclass(frozen=True)
class Proposal:
    """One column with the role and kind proposed for it, and why."""

    name: str
    role: str
    kind: str | None
    why: str
    looks: str = field(default="", compare=False)
    declared: Column | None = None


def propose(source: Any) -> list[Proposal]:
    """A role and a kind for every column; cautious: what may identify a person is a quasi-identifier.

    What names a person by itself is never proposed for publication. The source is any table, or what was understood
    of one.
    """
    understood = source if isinstance(source, Understood) else understand(source)
    table = understood.table
    if _has_no_header(table):
        raise ViewError(
            "the first line must hold the names of the columns; it looks like a row of data: add a header"
        )
    proposals = [_about(table[name]) for name in table.columns]
    chosen = (_identifier(proposals), _sensitive(proposals))
    comma = understood.files.decimal == ","
    return [
        replace(
            p if p in chosen else _second(p),
            looks=looks(table[p.name], understood.form_of(p.name), comma),
        )
        for p in proposals
    ]


def with_codebook(proposals: list[Proposal], codebook: TableSchema) -> list[Proposal]:
    """The proposals with the kinds, lists and roles that a codebook says."""
    said = {column.name: column for column in codebook.columns}
    found = []
    for p in proposals:
        declared, role = said.get(p.name), codebook.roles.get(p.name, p.role)
        why = "said by the codebook" if p.name in codebook.roles else p.why
        kind = p.kind if declared is None else declared.kind
        found.append(replace(p, role=role, kind=kind, why=why, declared=declared))
    return found


def propose_by_names(codebook: TableSchema) -> list[Proposal]:
    """A role for every field of a codebook by its name, where there is no view to look at."""
    proposals = []
    for column in codebook.columns:
        name, kind = column.name, column.kind
        if names_an_identifier(name):
            proposals.append(Proposal(name, "identifier", None, "its name"))
        elif is_private(name) or is_occupation(name):
            why = _OF_HEADING if is_private(name) else _OF_OCCUPATION
            proposals.append(Proposal(name, "sensitive", kind, why))
        elif names_people(name):
            proposals.append(Proposal(name, "drop", None, "its name speaks of what names people"))
        else:
            proposals.append(Proposal(name, "quasi-identifier", kind, "may be known from elsewhere"))
    said = set(codebook.roles.values())
    chosen = (
        None if "identifier" in said else _identifier(proposals),
        None if "sensitive" in said else _sensitive(proposals),
    )
    looked = [replace(p if p in chosen else _second(p), looks="not looked at") for p in proposals]
    return with_codebook(looked, codebook)


def rivals(proposals: list[Proposal]) -> list[str]:
    """The columns that look sensitive beside the one that is proposed: which of them is, only a person can say."""
    proposed = [p for p in proposals if p.role == "sensitive"]
    return [p.name for p in proposals if p.why == _RIVAL and proposed]


def _has_no_header(table: pl.DataFrame) -> bool:
    """Whether the names look like a row: many are like their values, or all are words that nobody knows as headings."""
    if sum(_is_data(table[name]) for name in table.columns) > table.width / 3:
        return True
    return table.width > 1 and all(
        not is_known(name) and _is_word_among_words(table[name]) for name in table.columns
    )


def _is_word_among_words(column: pl.Series) -> bool:
    """Whether name and nearly all values are words that begin with a capital."""
    capital = r"^\p{Lu}\p{Ll}+"
    texts = column.drop_nulls()
    if column.dtype != pl.String or not len(texts):
        return False
    like = float(texts.str.contains(capital).mean() or 0.0)  # type: ignore[arg-type]
    return bool(pl.Series([column.name]).str.contains(capital).item()) and like > 0.9


def _is_data(column: pl.Series) -> bool:
    """Whether a column is named like its values: a number or date, one that occurs, or one of their form."""
    name = column.name.strip()
    if _DATA.fullmatch(name):
        return True
    texts = column.drop_nulls().cast(pl.String)
    form = texts.str.replace_all(r"\d+", "0")
    alike = (form == re.sub(r"\d+", "0", name)).mean() if re.search(r"\d", name) and len(texts) else 0.0
    return bool((texts == name).any()) or float(alike or 0.0) > 0.5  # type: ignore[arg-type]


def _second(proposal: Proposal) -> Proposal:
    """A column whose role another has: it is left out, for it would name people or show what is private.

    An occupation may be known from elsewhere.
    """
    if proposal.role == "identifier":
        return replace(proposal, role="drop", why="nearly every row has its own value: it would name people")
    if proposal.why == _OF_OCCUPATION:
        return replace(proposal, role="quasi-identifier", why="may be known from elsewhere")
    if proposal.role == "sensitive":
        return replace(proposal, role="drop", why=_RIVAL)
    return proposal


def _identifier(proposals: list[Proposal]) -> Proposal | None:
    """The first identifier, one with the name of one before others."""
    found = [p for p in proposals if p.role == "identifier"]
    return next((p for p in found if names_an_identifier(p.name)), found[0] if found else None)


def _sensitive(proposals: list[Proposal]) -> Proposal | None:
    """The last column whose values are private, else whose heading is, else an occupation."""
    found = [p for p in proposals if p.role == "sensitive"]
    return max(found, key=lambda p: (-_WEAK.get(p.why, 0), found.index(p)), default=None)


def _about(column: pl.Series) -> Proposal:
    name, rows, filled = column.name, len(column), column.drop_nulls()
    different = filled.unique()
    distinct = len(different)
    if distinct <= 1 and rows > FEW_PEOPLE and len(filled) in (0, rows):
        return Proposal(name, "drop", None, "the same in every row: it tells nobody apart")
    kind = _kind(filled)
    if names_an_identifier(name) and distinct > rows / 2:
        repeated = f"its name, though {rows - distinct} of {rows} rows have no value of their own"
        return Proposal(
            name, "identifier", None, repeated if distinct < rows else "every row has its own value"
        )
    seen = Sampled.of(different, len(filled))
    private = _private(name, kind, seen) if distinct > 1 else None
    direct = _direct(filled, kind, seen, private is not None)
    counted = kind == "number" and private is None and _are_numbers_of_people(filled, distinct)
    if (kind == "category" or counted) and distinct == rows > 1 and (private is None or direct is not None):
        return Proposal(name, "identifier", None, "every row has its own value")
    if counted:
        return Proposal(name, "drop", None, "nearly every row has its own whole number: it would name people")
    if direct is not None:
        return Proposal(name, "drop", None, direct)
    if private is not None:
        return Proposal(name, "sensitive", kind, private)
    if kind == "category" and filled.cast(pl.String).str.len_chars().sum() > _FREE_TEXT * len(filled):
        return Proposal(name, "drop", None, "long texts say more of a person than can be generalized")
    if kind == "category" and is_remarks(seen):
        return Proposal(name, "drop", None, "texts of several words, seldom the same, cannot be generalized")
    return Proposal(name, "quasi-identifier", kind, "may be known from elsewhere")


_OF_HEADING = "its name speaks of something private"
_OF_OCCUPATION = "its name speaks of an occupation"
_WEAK = {_OF_HEADING: 1, _OF_OCCUPATION: 2}
_RIVAL = "it looks sensitive too, and a series protects one column: published as it is it would be shown"


def _private(name: str, kind: str, seen: Sampled) -> str | None:
    """Why a column is one that nobody may learn of a person, by its heading or its values."""
    found = are_private(seen.texts) if kind == "category" else None
    if found is not None:
        return found
    if is_private(name):
        return _OF_HEADING
    return _OF_OCCUPATION if is_occupation(name) else None


def _are_numbers_of_people(filled: pl.Series, distinct: int) -> bool:
    """Whether whole numbers tell people apart: nearly everybody has one of their own."""
    if len(filled) <= FEW_PEOPLE or distinct <= 0.9 * len(filled):
        return False
    return bool(filled.cast(pl.String).str.contains(r"^\s*\d+\s*$").all())


def _direct(filled: pl.Series, kind: str, seen: Sampled, private: bool) -> str | None:
    """Why a column names people by itself, by its values, or by its heading where values do not speak against it."""
    if kind == "category":
        found = directly_identifying(seen, private)
        if found is not None:
            return found
        if is_prose(seen, 0.5):
            return "long texts say more of a person than can be generalized"
        if is_about_one_a_person(seen, sensitive=private):
            return f"{seen.different:,} different values in {seen.cells:,} rows: they would name people"
    elif kind == "number":
        found = is_direct_number(filled)
        if found is not None:
            return found
    headed = kind != "date" and seen.different > 2 and not private and names_people(filled.name)
    return "its name speaks of what names people" if headed else None


def _kind(filled: pl.Series) -> str:
    if not len(filled):
        return "category"
    if is_of_kind(filled, Date(filled.name)):
        return "date"
    zip_like = filled.dtype == pl.String and filled.str.contains(r"^\s*0\d").any()  # a code, not a quantity
    return "number" if not zip_like and is_of_kind(filled, Number(filled.name)) else "category"


def with_sensitive(proposals: list[Proposal], name: str) -> list[Proposal]:
    """The proposals with that column as the sensitive one, or with none where the name is `none`."""
    if name not in (p.name for p in proposals):
        if name != NONE:
            raise SchemaError(
                f"the sensitive column must be one of the table, or {NONE}; it has {listed(p.name for p in proposals)}"
            )
        return [
            replace(p, role="quasi-identifier") if p.role == "sensitive" or p.why == _RIVAL else p
            for p in proposals
        ]
    said = "said to be the sensitive one"
    return [
        replace(p, role="sensitive", why=said)
        if p.name == name
        else (_second(p) if p.role == "sensitive" else p)
        for p in proposals
    ]


def with_identifier(proposals: list[Proposal], name: str) -> list[Proposal]:
    """The proposals with that column as the identifier."""
    if name not in (p.name for p in proposals):
        raise SchemaError(
            f"the identifier must be a column of the table; it has {listed(p.name for p in proposals)}"
        )
    said = Proposal(name, "identifier", None, "said to be the identifier")
    return [said if p.name == name else (_second(p) if p.role == "identifier" else p) for p in proposals]


def schema_from(proposals: list[Proposal], understood: Understood | None = None) -> Schema:
    """The schema that confirmed proposals describe, for files that are written as was understood."""
    identifiers = [p.name for p in proposals if p.role == "identifier"]
    sensitive = [p for p in proposals if p.role == "sensitive"]
    if len(identifiers) > 1 or len(sensitive) > 1:
        raise SchemaError(
            "a series has one identifier and at most one sensitive column; give the others another role"
        )
    return Schema(
        identifiers[0] if identifiers else None,
        [_column(p) for p in proposals if p.role == "quasi-identifier"],
        _column(sensitive[0]) if sensitive else None,
        [p.name for p in proposals if p.role == "insensitive"],
        dropped=[p.name for p in proposals if p.role == "drop"],
        missing=understood.missing if understood else (),
        files=_files(proposals, understood) if understood else USUAL,
    )


def _files(proposals: list[Proposal], understood: Understood) -> Dialect:
    valued = ("quasi-identifier", "sensitive")
    return understood.for_columns(
        [p.name for p in proposals if p.role in valued and p.kind == "date"],
        [p.name for p in proposals if p.role != "drop"],
    )


def _column(proposal: Proposal) -> Column:
    if proposal.declared is not None and proposal.declared.kind == proposal.kind:
        return proposal.declared
    kinds: dict[str, type[Column]] = {"number": Number, "date": Date}
    return kinds.get(proposal.kind or "", Category)(proposal.name)
