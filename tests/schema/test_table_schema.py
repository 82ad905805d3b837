from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from republish.errors import SchemaError
from republish.schema import Category, Date, Dialect, Number, Ordered, read_schema
from republish.schema.table_schema import read_table_schema

FIELDS: list[dict[str, Any]] = [
    {"name": "pid", "type": "string"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
    {"name": "pay", "type": "number", "decimalChar": ",", "groupChar": "."},
    {"name": "born", "type": "date", "format": "%d.%m.%Y"},
    {"name": "educ", "type": "string", "categories": ["none", "school"], "categoriesOrdered": True},
    {"name": "dx", "type": "string", "constraints": {"enum": ["flu", "gout"]}, "missingValues": ["?"]},
]
PACKAGE = {
    "resources": [
        {
            "encoding": "windows-1252",
            "dialect": {"delimiter": ";"},
            "schema": {"fields": FIELDS, "primaryKey": ["pid"], "missingValues": ["", "NA"]},
        }
    ]
}


def written(folder: Path, document: Any, name: str = "datapackage.json") -> Path:
    (folder / name).write_text(json.dumps(document))
    return folder / name


def test_a_data_package_says_kinds_lists_and_how_files_are_written(tmp_path: Path) -> None:
    found = read_table_schema(written(tmp_path, PACKAGE))
    assert found.columns == (
        Category("pid"),
        Number("age", domain=(0, 110)),
        Number("pay"),
        Date("born"),
        Ordered("educ", order=("none", "school")),
        Category("dx", domain=("flu", "gout")),
    )
    assert found.roles == {"pid": "identifier"} and found.missing == ("NA",)
    assert found.settings == {
        "encoding": "windows-1252",
        "separator": ";",
        "decimal": ",",
        "thousands": ".",
        "dates": {"born": "DD.MM.YYYY"},
        "missing": {"dx": ("?",)},
        "everywhere": ("NA",),
    }


def test_the_schema_of_one_table_may_lie_beside_the_package(tmp_path: Path) -> None:
    written(tmp_path, {"fields": FIELDS}, "table.json")
    package = written(tmp_path, {"resources": [{"schema": "table.json"}]})
    assert len(read_table_schema(package).columns) == 6


def test_where_fields_say_their_roles_it_is_a_schema(tmp_path: Path) -> None:
    roles = ("identifier", "quasi-identifier", "drop", "quasi-identifier", "insensitive", "sensitive")
    fields = [field | {"role": role} for field, role in zip(FIELDS, roles, strict=True)]
    schema = read_schema(written(tmp_path, {"fields": fields}))
    assert schema.columns == ("pid", "age", "born", "educ", "dx") and schema.dropped == ("pay",)
    assert schema.files == Dialect(
        decimal=",", thousands=".", dates={"born": "DD.MM.YYYY"}, missing={"dx": ["?"]}
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"fields": FIELDS}, "every field needs a role; 6 of 6 have none"),
        ({"fields": [{"type": "string"}]}, "every field has a name"),
        ({"fields": [{"name": "a", "role": "key"}]}, "field a: a role is one of identifier"),
        (
            {"fields": [{"name": "d", "type": "date", "format": "%d.%m.%y"}]},
            "field d: days are written with %Y",
        ),
        ({"resources": []}, "found 0 resources with a schema"),
        ({"resources": [{"schema": "../x.json"}]}, "must lie beside it"),
        ([1], "a Table Schema is a JSON file"),
    ],
)
def test_what_is_no_table_schema_is_refused(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        read_schema(written(tmp_path, document))


def test_a_file_that_is_not_there_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="there is no schema file"):
        read_schema(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(SchemaError, match=r"x\.json is no JSON file in UTF-8"):
        read_schema(tmp_path / "x.json")
