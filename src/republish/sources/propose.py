"""Roles and kinds proposed from a first view, for a person to confirm."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from republish.errors import SchemaError, ViewError
from republish.schema.column_names import listed, require_names
from republish.schema.schema import Category, Column, Date, Number, Schema
from republish.sources.direct_identifiers import (
    Sampled,
    directly_identifying,
    is_about_one_a_person,
    is_direct_number,
    is_prose,
)
from republish.sources.headings import is_occupation, is_private, names_an_identifier, names_people
from republish.sources.private_values import are_private
from republish.sources.tables import read_table
from republish.sources.values import is_of_kind, require_single_values

_DATA = re.compile(r"[-+]?\d[\d.,:/ -]*|")  # a number, a date or nothing: no name for a column
_FREE_TEXT = 40  # mean characters above which a text column is prose, not a category
_MOST_COLUMNS = 1000  # that a person can be asked of
NONE = "none"
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


def propose(source: Any) -> list[Proposal]:
    """A role and a kind for every column; cautious: what may identify a person is a quasi-identifier.

    What names a person by itself is never proposed for publication.
    """
    table = read_table(source)
    require_names(table.columns)
    if table.width > _MOST_COLUMNS:
        raise ViewError(
            f"roles are proposed for at most {_MOST_COLUMNS:,} columns; the table has {table.width:,}. Keep those that "
            "matter, or write a schema.toml"
        )
    require_single_values(table)
    if sum(_is_data(table[name]) for name in table.columns) > table.width / 3:
        raise ViewError(
            "the first line must hold the names of the columns; it looks like a row of data: add a header"
        )
    proposals = [_about(table[name]) for name in table.columns]
    identifier = _best(proposals, "identifier")
    sensitive = _best(proposals, "sensitive")
    return [p if p in (identifier, sensitive) else _second(p) for p in proposals]


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
    """A column whose proposed role another column has: what names people is dropped, the rest may identify them."""
    if proposal.role == "identifier":
        return replace(proposal, role="drop", why="nearly every row has its own value: it would name people")
    if proposal.role == "sensitive":
        return replace(proposal, role="quasi-identifier", why="another column is the sensitive one")
    return proposal


def _best(proposals: list[Proposal], role: str) -> Proposal | None:
    """The first identifier, one with the name of one before others; the last sensitive column, no occupation first."""
    found = [p for p in proposals if p.role == role]
    if role == "identifier":
        found = [p for p in found if names_an_identifier(p.name)] or found
        return found[0] if found else None
    found = [p for p in found if p.why != _OF_OCCUPATION] or found
    return found[-1] if found else None


def _about(column: pl.Series) -> Proposal:
    name, rows, filled = column.name, len(column), column.drop_nulls()
    different = filled.unique()
    distinct = len(different)
    kind = _kind(filled)
    if names_an_identifier(name) and distinct > rows / 2:
        repeated = f"its name, though {rows - distinct} of {rows} rows have no value of their own"
        return Proposal(
            name, "identifier", None, repeated if distinct < rows else "every row has its own value"
        )
    seen = Sampled.of(different, len(filled))
    private = _private(name, kind, seen) if distinct > 1 else None
    direct = _direct(filled, kind, seen, private is not None)
    if kind == "category" and distinct == rows > 1 and (private is None or direct is not None):
        return Proposal(name, "identifier", None, "every row has its own value")
    if direct is not None:
        return Proposal(name, "drop", None, direct)
    if private is not None:
        return Proposal(name, "sensitive", kind, private)
    if kind == "category" and filled.cast(pl.String).str.len_chars().sum() > _FREE_TEXT * len(filled):
        return Proposal(name, "drop", None, "long texts say more of a person than can be generalized")
    return Proposal(
        name, "quasi-identifier", kind, f"{distinct} different values, may be known from elsewhere"
    )


_OF_OCCUPATION = "its name speaks of an occupation"


def _private(name: str, kind: str, seen: Sampled) -> str | None:
    """Why a column is one that nobody may learn of a person, by its heading or its values."""
    if is_private(name):
        return "its name speaks of something private"
    found = are_private(seen.texts) if kind == "category" else None
    return found or (_OF_OCCUPATION if is_occupation(name) else None)


def _direct(filled: pl.Series, kind: str, seen: Sampled, private: bool) -> str | None:
    """Why a column names people by itself, by its values, or by its heading where values do not speak against it."""
    if kind == "category":
        found = directly_identifying(seen)
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
        return [_second(p) if p.role == "sensitive" else p for p in proposals]
    said = "said to be the sensitive one"
    return [
        replace(p, role="sensitive", why=said)
        if p.name == name
        else (_second(p) if p.role == "sensitive" else p)
        for p in proposals
    ]


def schema_from(proposals: list[Proposal]) -> Schema:
    """The schema that confirmed proposals describe."""
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
    )


def _column(proposal: Proposal) -> Column:
    kinds: dict[str, type[Column]] = {"number": Number, "date": Date}
    return kinds.get(proposal.kind or "", Category)(proposal.name)
