"""Roles and kinds of many columns at once: by patterns of names, or in a table that a person edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import polars as pl

from republish.errors import PolicyError, SchemaError
from republish.schema import ROLES
from republish.schema.column_names import listed
from republish.schema.dialect import ISO
from republish.sources.columns.understood import Understood
from republish.sources.propose import Proposal
from republish.sources.tables import read_table

KINDS_TO_SAY = ("number", "category", "date")
_TABLE = ("column", "role", "kind", "dates", "missing", "looks like", "because")
_BETWEEN = " | "  # codes of missing cells in one cell of the table
_SIGNS = {"tab": "\t", "space": " ", "blank": " ", "comma": ",", "semicolon": ";", "point": ".", "bar": "|"}


def with_labels(proposals: Sequence[Proposal], rules: Sequence[str]) -> list[Proposal]:
    """The proposals with the roles of rules such as `lab_*=quasi-identifier:number`; a later rule counts more."""
    found = list(proposals)
    for rule in rules:
        pattern, _, said = rule.rpartition("=")
        role, _, kind = said.partition(":")
        if not pattern or role not in ROLES or (kind and kind not in KINDS_TO_SAY):
            raise PolicyError(
                "--label is written PATTERN=role or PATTERN=role:kind, such as 'lab_*=quasi-identifier:number'; a role "
                f"is one of {', '.join(ROLES)}, a kind one of {', '.join(KINDS_TO_SAY)}"
            )
        hit = [p.name for p in found if fnmatchcase(p.name, pattern)]
        if not hit:
            raise PolicyError(
                f"--label: no column is called {pattern}; the table has {listed(p.name for p in found)}"
            )
        found = [_labelled(p, role, kind or None, LABELLED) if p.name in hit else p for p in found]
    return found


LABELLED = "said by --label"
LISTED = "said in the table of columns"


def _labelled(proposal: Proposal, role: str, kind: str | None, why: str) -> Proposal:
    valued = role in ("quasi-identifier", "sensitive")
    kept = kind or proposal.kind or _kind_of(proposal)
    return replace(proposal, role=role, kind=kept if valued else proposal.kind, why=why)


def _kind_of(proposal: Proposal) -> str:
    """The kind of a column that was proposed for none, by what it looks like."""
    starts = {"whole numbers": "number", "decimals": "number", "dates": "date"}
    return next((kind for start, kind in starts.items() if proposal.looks.startswith(start)), "category")


def write_columns(path: Path, proposals: Sequence[Proposal], understood: Understood) -> None:
    """Write the table of columns, to be edited; it holds no cell of the view."""
    rows = [
        (
            p.name,
            p.role,
            p.kind,
            _forms(understood, p.name),
            _BETWEEN.join(understood.files.missing_in(p.name)) or None,
            p.looks,
            p.why,
        )
        for p in proposals
    ]
    pl.DataFrame(rows, schema=dict.fromkeys(_TABLE, pl.String), orient="row").write_csv(path)


def _forms(understood: Understood, name: str) -> str | None:
    form = understood.form_of(name)
    return None if form == ISO else form


def read_columns(
    path: Path, proposals: Sequence[Proposal], understood: Understood
) -> tuple[list[Proposal], Understood]:
    """The proposals as an edited table of columns has them, and what is understood with its dates and codes.

    Raises:
        SchemaError: it has not the columns of the view, or a role or kind that there is not.
    """
    table = read_table(path)
    if not {"column", "role"} <= set(table.columns):
        raise SchemaError(
            f"{path.name} must be a table of columns, with a column `column` and a column `role`"
        )
    said = {str(row["column"]): row for row in table.to_dicts()}
    names = [p.name for p in proposals]
    if table.height != len(said) or set(said) != set(names):
        absent, others = [name for name in names if name not in said], len(said.keys() - set(names))
        raise SchemaError(
            f"{path.name} must name every column of the view once; without a line: {listed(absent) or 'none'}, "
            f"unknown or repeated: {others + table.height - len(said)}. Remove the file to have it written anew"
        )
    found = []
    for proposal in proposals:
        row = said[proposal.name]
        role, kind = row["role"], row.get("kind")
        if role not in ROLES or (kind and kind not in (*KINDS_TO_SAY, proposal.kind)):
            raise SchemaError(
                f"{path.name}, column {proposal.name}: a role is one of {', '.join(ROLES)}, a kind one of "
                f"{', '.join(KINDS_TO_SAY)} or empty"
            )
        found.append(_labelled(proposal, role, kind, LISTED))
        understood = _read_so(understood, proposal.name, row)
    return found, understood


def _read_so(understood: Understood, name: str, row: Mapping[str, Any]) -> Understood:
    """What is understood, with the form of days and the codes of one line."""
    form, codes = row.get("dates"), str(row.get("missing") or "")
    if form and " or " not in str(form):
        understood = understood.with_form(name, str(form))
    fresh = [code.strip() for code in codes.split(_BETWEEN.strip()) if code.strip()]
    return understood.with_only_codes(name, fresh)


def settings_said(given: Mapping[str, str]) -> dict[str, Any]:
    """Settings of `[files]` as people type them: `decimal=,`, `dates.born=DD/MM/YYYY`, `missing=NA,k.A.`."""
    said: dict[str, Any] = {}
    for key, value in given.items():
        name, _, column = key.partition(".")
        if name == "missing":
            codes = tuple(code.strip() for code in value.split(",") if code.strip())
            if column:
                said.setdefault("missing", {})[column] = codes
            else:
                said["everywhere"] = codes
        elif name == "dates" and column:
            said.setdefault("dates", {})[column] = value
        elif name in ("encoding", "separator", "decimal", "thousands", "dates", "sheet") and not column:
            said[name] = _SIGNS.get(value, value) if name != "sheet" else value
        else:
            raise PolicyError(
                "--read is written NAME=VALUE with encoding, separator, decimal, thousands, dates, missing or sheet; "
                "dates.COLUMN and missing.COLUMN are for one column"
            )
    return said
