"""Schemas as TOML documents: one `[columns.NAME]` table a column."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from republish.errors import SchemaError
from republish.hierarchies import Hierarchy, read_hierarchy, rule_from_spec
from republish.schema.column_names import listed
from republish.schema.columns import KINDS, PUBLISH, Category, Column, Date, Number, Ordered
from republish.schema.dialect import USUAL, dialect_from_mapping
from republish.schema.schema import ROLES, Schema
from republish.schema.table_schema import read_table_schema

_CLASSES: dict[str, type[Column]] = {"number": Number, "ordered": Ordered, "category": Category, "date": Date}
_SERIES = "series.toml"
_WORDS = ("label", "description")  # told to recipients, of any published column
_FIELDS = {
    "number": {"hierarchy", "distance", "direct", "domain", "weight"},
    "ordered": {"hierarchy", "distance", "direct", "order", "weight"},
    "category": {"hierarchy", "distance", "direct", "domain", "weight"},
    "date": {"hierarchy", "distance", "direct", "weight"},
}


def read_schema(path: str | Path) -> Schema:
    """Read `schema.toml`, or a Table Schema (`.json`) whose fields say their roles; or the schema of a series.

    A series is named by its folder or its `series.toml`, and has the schema that it was made with. Paths of hierarchies
    are relative to the file.
    """
    path = Path(path)
    if (path / _SERIES).is_file():
        path = path / _SERIES
    if path.suffix == ".json":
        return read_table_schema(path).schema()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemaError(
            f"there is no schema file {path}; `republish init --from VIEW` proposes one"
        ) from None
    except (UnicodeDecodeError, OSError):
        raise SchemaError(
            f"the schema {path} must be a TOML file in UTF-8, or the folder of a series"
        ) from None
    try:
        document = tomllib.loads(text)
        of_series = document.get("schema")
        return schema_from_mapping(of_series if isinstance(of_series, Mapping) else document, path.parent)
    except tomllib.TOMLDecodeError as problem:
        raise SchemaError(f"{path} is not valid TOML: {problem}") from None


def schema_of(given: Any) -> Schema:
    """The schema itself, or the one that a file or series of this name or path holds."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, str | Path):
        return read_schema(given)
    raise SchemaError(
        f"a schema is needed: a Schema, or the path of a schema.toml or series; not a {type(given).__name__}"
    )


def schema_from_mapping(document: Mapping[str, Any], folder: Path) -> Schema:
    """The schema that a TOML document describes, one `[columns.NAME]` table a column."""
    columns = document.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise SchemaError(
            'a schema has one table a column, for example [columns.age] with role = "quasi-identifier"'
        )
    by_role: dict[str, list[Any]] = {role: [] for role in ROLES}
    for name, settings in columns.items():
        role = settings.get("role") if isinstance(settings, Mapping) else None
        if role not in ROLES:
            raise SchemaError(f"column {name} needs a role: one of {', '.join(ROLES)}")
        plain = role in ("identifier", "insensitive", "drop")
        own = {"identifier": {"normal"}, "insensitive": {"direct", *_WORDS}}.get(role, set())
        if plain and settings.keys() - {"role", "kind", *own}:
            but = "".join(f" and `{setting}`" for setting in sorted(own))
            raise SchemaError(f"column {name}: an {role} has no setting but its role{but}; remove the others")
        if settings.get("direct", PUBLISH) != PUBLISH:
            raise SchemaError(f'column {name}: direct may be "{PUBLISH}" only, or left out')
        by_role[role].append(name if plain else _column(name, settings, folder))
    for role in ("identifier", "sensitive"):
        if len(by_role[role]) > 1:
            names = listed(c if isinstance(c, str) else c.name for c in by_role[role])
            remedy = (
                "label the others insensitive or quasi-identifier, or combine them into one column first"
                if role == "sensitive"
                else "keep the one that names a person in every view, and drop the others"
            )
            raise SchemaError(f"a series has at most one {role} column; found {names}: {remedy}")
    return Schema(
        identifier=by_role["identifier"][0] if by_role["identifier"] else None,
        quasi_identifiers=by_role["quasi-identifier"],
        sensitive=by_role["sensitive"][0] if by_role["sensitive"] else None,
        insensitive=by_role["insensitive"],
        dropped=by_role["drop"],
        direct=[name for name in by_role["insensitive"] if "direct" in columns[name]],
        missing=_missing(document),
        normal=columns[by_role["identifier"][0]].get("normal", ()) if by_role["identifier"] else (),
        labels=_words(columns, "label"),
        descriptions=_words(columns, "description"),
        files=dialect_from_mapping(document.get("files", {})),
    )


def _words(columns: Mapping[str, Mapping[str, Any]], what: str) -> dict[str, str]:
    return {name: settings[what] for name, settings in columns.items() if what in settings}


def _missing(document: Mapping[str, Any]) -> list[str]:
    marks = document.get("missing", [])
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise SchemaError('missing is a list of texts, such as missing = ["NA", "?"]')
    return marks


def _column(name: str, settings: Mapping[str, Any], folder: Path) -> Column:
    kind = settings.get("kind", "category")
    if kind not in KINDS:
        raise SchemaError(f"column {name}: kind must be one of {', '.join(KINDS)}")
    given = {key: value for key, value in settings.items() if key not in ("role", "kind", *_WORDS)}
    unknown = sorted(set(given) - _FIELDS[kind])
    if unknown:
        raise SchemaError(
            f"column {name}: a column of kind {kind} has no setting {listed(unknown)}; "
            f"it may have {', '.join(sorted({*_FIELDS[kind], *_WORDS}))}"
        )
    source = given.get("hierarchy")
    if isinstance(source, str):
        given["hierarchy"] = read_hierarchy(folder / source)
    elif isinstance(source, Mapping):
        given["hierarchy"] = rule_from_spec(dict(source))
    elif source is not None:
        raise SchemaError(
            f"column {name}: hierarchy is the path of a file or a rule such as {{ redaction = true }}"
        )
    for key in ("domain", "order"):
        if key in given and not isinstance(given[key], list):
            raise SchemaError(f"column {name}: {key} is a list")
        if key in given and kind != "number":
            given[key] = tuple(str(value) for value in given[key])
    if kind == "number" and "domain" in given:
        if not all(type(bound) in (int, float) for bound in given["domain"]):
            raise SchemaError(f"column {name}: the domain of a number is [low, high]")
        given["domain"] = tuple(given["domain"])
    return _CLASSES[kind](name, **given)


def schema_to_mapping(schema: Schema, hierarchy_paths: Mapping[str, str]) -> dict[str, Any]:
    """The TOML document of a schema; table hierarchies are named by the given paths."""
    columns: dict[str, Any] = {}
    if schema.identifier:
        columns[schema.identifier] = {"role": "identifier"}
        if schema.normal:
            columns[schema.identifier]["normal"] = list(schema.normal)
    roles = [("quasi-identifier", column) for column in schema.quasi_identifiers]
    if schema.sensitive:
        roles.append(("sensitive", schema.sensitive))
    for role, column in roles:
        settings: dict[str, Any] = {"role": role, "kind": column.kind}
        if isinstance(column.hierarchy, Hierarchy):
            settings["hierarchy"] = hierarchy_paths[column.name]
        elif column.hierarchy is not None:
            settings["hierarchy"] = column.hierarchy.spec()
        if column.distance:
            settings["distance"] = column.distance
        if column.direct:
            settings["direct"] = column.direct
        if column.weight != 1:
            settings["weight"] = column.weight
        if isinstance(column, Ordered):
            settings["order"] = list(column.order)
        elif isinstance(column, Number | Category) and column.domain is not None:
            settings["domain"] = list(column.domain)
        columns[column.name] = settings
    for name in schema.insensitive:
        columns[name] = {"role": "insensitive"} | ({"direct": PUBLISH} if name in schema.direct else {})
    for name in schema.dropped:
        columns[name] = {"role": "drop"}
    for what, words in zip(_WORDS, (schema.labels, schema.descriptions), strict=True):
        for name, text in words:
            columns[name][what] = text
    document: dict[str, Any] = {"columns": columns}
    if schema.missing:
        document["missing"] = list(schema.missing)
    if schema.files != USUAL:
        document["files"] = schema.files.document()
    return document
