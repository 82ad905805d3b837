"""Codebooks in the form of Table Schema (Frictionless): `datapackage.json`, or the schema of one table alone.

They say what columns hold, not what role they play; a field may say that too, with a property `role` of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from republish.errors import SchemaError
from republish.schema.columns import Category, Column, Date, Number, Ordered
from republish.schema.dialect import ISO, Dialect
from republish.schema.schema import ROLES, Schema

_NUMBERS = ("integer", "number", "year")
_DATES = ("date", "datetime")
_PARTS: Final = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%b": "MMM", "%H": "hh", "%M": "mm", "%S": "ss"}
_FORM = "a Table Schema is a JSON file with `fields`, or a data package with such a `schema` in a resource"


@dataclass(frozen=True)
class TableSchema:
    """What a codebook says: a column for each field, the roles it names, and settings of `[files]` by name."""

    columns: tuple[Column, ...]
    roles: Mapping[str, str]
    settings: Mapping[str, Any]

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(self.settings.get("everywhere", ()))

    def schema(self) -> Schema:
        """The schema, where every field says its role.

        Raises:
            SchemaError: one does not.
        """
        without = sum(column.name not in self.roles for column in self.columns)
        if without:
            raise SchemaError(
                f'every field needs a role; {without} of {len(self.columns)} have none. Add "role" to them, one of '
                f"{', '.join(ROLES)}, or let `republish init --schema FILE --from VIEW` propose roles"
            )
        named = {role: [c for c in self.columns if self.roles[c.name] == role] for role in ROLES}
        for role in ("identifier", "sensitive"):
            if len(named[role]) > 1:
                raise SchemaError(f"a series has at most one {role} column; {len(named[role])} fields say so")
        names = {role: [column.name for column in columns] for role, columns in named.items()}
        files = {key: value for key, value in self.settings.items() if key != "everywhere"}
        return Schema(
            names["identifier"][0] if names["identifier"] else None,
            named["quasi-identifier"],
            named["sensitive"][0] if named["sensitive"] else None,
            names["insensitive"],
            self.missing,
            names["drop"],
            files=Dialect(**files),
        )


def read_table_schema(path: str | Path) -> TableSchema:
    """What a Table Schema, or the first table of a data package, says of its columns.

    Raises:
        SchemaError: the file is none.
    """
    path = Path(path)
    document = _read(path)
    resource: Mapping[str, Any] = {}
    if "fields" not in document:
        resources = document.get("resources")
        tables = (
            [one for one in resources if isinstance(one, Mapping) and "schema" in one]
            if isinstance(resources, list)
            else []
        )
        if len(tables) != 1:
            raise SchemaError(f"{path.name}: {_FORM}; found {len(tables)} resources with a schema")
        resource = tables[0]
        inner = resource["schema"]
        document = _read(_beside(path, inner)) if isinstance(inner, str) else inner
    fields = document.get("fields") if isinstance(document, Mapping) else None
    if not isinstance(fields, list) or not fields or not all(_is_field(field) for field in fields):
        raise SchemaError(f"{path.name}: {_FORM}; every field has a name")
    return TableSchema(
        tuple(_column(field) for field in fields),
        _roles(document, fields),
        _settings(document, fields, resource),
    )


def _read(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise SchemaError(
            f"there is no schema file {path}; `republish init --from VIEW` proposes one"
        ) from None
    except (OSError, ValueError, RecursionError):
        raise SchemaError(f"{path.name} is no JSON file in UTF-8; {_FORM}") from None
    if not isinstance(document, dict):
        raise SchemaError(f"{path.name}: {_FORM}")
    return document


def _beside(path: Path, name: str) -> Path:
    """A file in the folder of a data package, as its standard wants it."""
    if Path(name).is_absolute() or ".." in Path(name).parts or "://" in name:
        raise SchemaError(f"{path.name}: the schema of a resource must lie beside it, or inside")
    return path.parent / name


def _is_field(field: object) -> bool:
    return isinstance(field, dict) and isinstance(field.get("name"), str) and bool(field["name"])


def _column(field: Mapping[str, Any]) -> Column:
    name, kind = field["name"], field.get("type", "string")
    limits = field.get("constraints")
    limits = limits if isinstance(limits, Mapping) else {}
    if kind in _NUMBERS:
        ends = (limits.get("minimum"), limits.get("maximum"))
        numeric = all(type(end) in (int, float) for end in ends)
        return Number(name, domain=(float(ends[0]), float(ends[1])) if numeric else None)  # type: ignore[arg-type]
    if kind in _DATES:
        return Date(name)
    listed = field.get("categories", limits.get("enum"))
    values = (
        [str(one.get("value") if isinstance(one, Mapping) else one) for one in listed]
        if isinstance(listed, list)
        else []
    )
    if values and field.get("categoriesOrdered") is True:
        return Ordered(name, order=tuple(dict.fromkeys(values)))
    return Category(name, domain=tuple(dict.fromkeys(values)) if values else None)


def _roles(document: Mapping[str, Any], fields: list[Mapping[str, Any]]) -> dict[str, str]:
    roles = {field["name"]: field["role"] for field in fields if "role" in field}
    odd = [name for name, role in roles.items() if role not in ROLES]
    if odd:
        raise SchemaError(f"field {odd[0]}: a role is one of {', '.join(ROLES)}")
    key = document.get("primaryKey")
    key = [key] if isinstance(key, str) else key
    if isinstance(key, list) and len(key) == 1 and "identifier" not in roles.values():
        roles.setdefault(str(key[0]), "identifier")
    return roles


def _settings(
    document: Mapping[str, Any], fields: list[Mapping[str, Any]], resource: Mapping[str, Any]
) -> dict[str, Any]:
    """What it says of how files are written, as settings of `[files]`; texts that mean missing under `everywhere`."""
    dialect = resource.get("dialect")
    numbers = [field for field in fields if field.get("type") in _NUMBERS]
    found: dict[str, Any] = {
        "encoding": resource.get("encoding"),
        "separator": dialect.get("delimiter") if isinstance(dialect, Mapping) else None,
        "decimal": next((field["decimalChar"] for field in numbers if "decimalChar" in field), None),
        "thousands": next((field["groupChar"] for field in numbers if "groupChar" in field), None),
        "dates": {
            field["name"]: form
            for field in fields
            if field.get("type") in _DATES and (form := _date_form(field)) != ISO
        },
        "missing": {field["name"]: codes for field in fields if (codes := _codes(field))},
        "everywhere": _codes(document),
    }
    return {name: value for name, value in found.items() if value}


def _date_form(field: Mapping[str, Any]) -> str:
    form = field.get("format", "default")
    if not isinstance(form, str) or "%" not in form:
        return "YYYY-MM-DDThh:mm:ss" if field["type"] == "datetime" else ISO
    for part, ours in _PARTS.items():
        form = form.replace(part, ours)
    if "%" in form:
        raise SchemaError(
            f"field {field['name']}: days are written with %Y, %m or %b, and %d; its format has others"
        )
    return form


def _codes(said: Mapping[str, Any]) -> tuple[str, ...]:
    codes = said.get("missingValues")
    every = (
        [one.get("value") if isinstance(one, Mapping) else one for one in codes]
        if isinstance(codes, list)
        else []
    )
    return tuple(str(one) for one in every if one not in ("", None))
