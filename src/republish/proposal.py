"""Roles and kinds proposed from a first view, for a person to confirm."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from republish.errors import SchemaError, ViewError
from republish.kinds import is_of_kind, require_single_values
from republish.schema import Category, Column, Date, Number, Schema
from republish.tables import read_table

_IDENTIFIER = re.compile(
    r"(^|[_\W])(id|ids|identifier|patient|person|member|client|customer|user|ssn|mrn|nr)($|[_\W])", re.I
)
_ENDS_WITH_ID = re.compile(r"[a-z](ID|Id|_id|_no|_nr)$|^(id|ssn|mrn|uuid)$")
_SENSITIVE = re.compile(
    r"diagnos|disease|illness|condition|symptom|treatment|drug|medic|salary|income|wage|result|exam|hiv|status_health|"
    r"religion|crime|offen[cs]e|score|debt|icd",
    re.I,
)
_DATA = re.compile(r"[-+]?\d[\d.,:/ -]*|")  # a number, a date or nothing: no name for a column
_FREE_TEXT = 40  # mean characters above which a text column is prose, not a category


@dataclass(frozen=True)
class Proposal:
    """One column with the role and kind proposed for it, and why."""

    name: str
    role: str
    kind: str | None
    why: str


def propose(source: Any) -> list[Proposal]:
    """A role and a kind for every column; cautious: what may identify a person is a quasi-identifier."""
    table = read_table(source)
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
    """The first identifier, one with the name of one before others; the last sensitive column."""
    found = [p for p in proposals if p.role == role]
    if role == "identifier":
        found = [p for p in found if _is_named(p.name)] or found
        return found[0] if found else None
    return found[-1] if found else None


def _is_named(name: str) -> bool:
    return bool(_IDENTIFIER.search(name) or _ENDS_WITH_ID.search(name))


def _about(column: pl.Series) -> Proposal:
    name, rows, filled = column.name, len(column), column.drop_nulls()
    distinct = filled.n_unique()
    kind = _kind(filled)
    if _is_named(name) and distinct > rows / 2:
        repeated = f"its name, though {rows - distinct} of {rows} rows have no value of their own"
        return Proposal(
            name, "identifier", None, repeated if distinct < rows else "every row has its own value"
        )
    if _SENSITIVE.search(name) and distinct > 1:
        return Proposal(name, "sensitive", kind, "its name speaks of something private")
    if kind == "category" and distinct == rows > 1:
        return Proposal(name, "identifier", None, "every row has its own value")
    if kind == "category" and filled.cast(pl.String).str.len_chars().sum() > _FREE_TEXT * len(filled):
        return Proposal(name, "drop", None, "long texts say more of a person than can be generalized")
    return Proposal(
        name, "quasi-identifier", kind, f"{distinct} different values, may be known from elsewhere"
    )


def _kind(filled: pl.Series) -> str:
    if not len(filled):
        return "category"
    if is_of_kind(filled, Date(filled.name)):
        return "date"
    zip_like = filled.dtype == pl.String and filled.str.contains(r"^\s*0\d").any()  # a code, not a quantity
    return "number" if not zip_like and is_of_kind(filled, Number(filled.name)) else "category"


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
