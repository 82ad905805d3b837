"""A release as a Frictionless Data Package: `datapackage.json`, with a Table Schema for each table."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

from republish.release.codebook.study import DescribedTable, Study, Variable

_MEDIA = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}


def data_package(study: Study) -> str:
    """The document; a table in CSV has its columns and what every cell must be, so that it can be validated."""
    document: dict[str, Any] = {
        "profile": "data-package",
        "name": f"release-{study.number:04d}",
        "title": study.own_title,
        "description": study.abstract,
        "version": str(study.number),
        "created": study.moment,
    }
    if study.contact:
        document["contributors"] = [{"title": study.contact, "role": "contact"}]
    document["resources"] = [resource for table in study.tables for resource in _resources(table)]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _resources(table: DescribedTable) -> list[dict[str, Any]]:
    """One resource a CSV file, one for all parts in Parquet, and one for the twin in Parquet."""
    schema = {"fields": [_field(variable) for variable in table.variables], "missingValues": [""]}
    if not table.is_text:
        paths = list(table.files)
        return [
            _file(table.name, paths if len(paths) > 1 else paths[0], table.description) | {"schema": schema}
        ]
    several = len(table.files) > 1
    found = [
        {
            "name": f"{table.name}-{number}" if several else table.name,
            "path": file,
            "description": table.description,
            "format": "csv",
            "mediatype": _MEDIA[".csv"],
            "encoding": "utf-8",
            "profile": "tabular-data-resource",
            "schema": schema,
        }
        for number, file in enumerate(table.files, start=1)
    ]
    if table.twin is not None:
        says = f"The same as {table.files[0]} in types: ranges in columns that end in _lo and _hi, sets as lists."
        found.append(_file(f"{table.name}-parquet", table.twin, says))
    return found


def _file(name: str, path: str | list[str], says: str) -> dict[str, Any]:
    """A file that is no text, which a validator need not open."""
    ending = PurePosixPath(path if isinstance(path, str) else path[0]).suffix
    return {
        "name": name,
        "type": "file",
        "path": path,
        "description": says,
        "format": ending[1:],
        "mediatype": _MEDIA[ending],
    }


def _field(variable: Variable) -> dict[str, Any]:
    constraints: dict[str, Any] = {"required": True, "minimum": 0} if variable.required else {}
    if variable.pattern:
        constraints["pattern"] = variable.pattern
    if variable.values:
        constraints["enum"] = list(variable.values)
    found: dict[str, Any] = {
        "name": variable.name,
        "type": variable.kind,
        "title": variable.label,
        "description": variable.description,
    }
    return found | ({"constraints": constraints} if constraints else {})
