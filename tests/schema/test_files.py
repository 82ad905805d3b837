from __future__ import annotations

import re
from pathlib import Path

import pytest

from republish import Mondrian, Series
from republish.errors import SchemaError
from republish.hierarchies import Calendar, Hierarchy, Neighbours
from republish.schema import (
    Category,
    Date,
    Number,
    Ordered,
    Schema,
    read_schema,
    schema_from_mapping,
    schema_to_mapping,
)

ZIPS = Hierarchy((("12030", "1203*", "*"), ("12031", "1203*", "*")))

DOCUMENT = """
missing = ["NA", "?"]
[columns.patient]
role = "identifier"
[columns.age]
role = "quasi-identifier"
kind = "number"
domain = [0, 120]
[columns.zip]
role = "quasi-identifier"
hierarchy = "zip.csv"
[columns.degree]
role = "quasi-identifier"
kind = "ordered"
order = ["school", "college"]
hierarchy = { neighbours = [2] }
[columns.born]
role = "quasi-identifier"
kind = "date"
hierarchy = { calendar = ["month", "year"] }
[columns.diagnosis]
role = "sensitive"
domain = ["flu", "cold"]
[columns.note]
role = "insensitive"
"""


def write(folder: Path, text: str = DOCUMENT) -> Path:
    ZIPS.write(folder / "zip.csv")
    (folder / "schema.toml").write_text(text, encoding="utf-8")
    return folder / "schema.toml"


def test_a_toml_file_gives_every_column_its_role_and_kind(tmp_path: Path) -> None:
    schema = read_schema(write(tmp_path))
    assert schema == Schema(
        identifier="patient",
        quasi_identifiers=[
            Number("age", domain=(0, 120)),
            Category("zip", hierarchy=ZIPS),
            Ordered("degree", order=("school", "college"), hierarchy=Neighbours((2,))),
            Date("born", hierarchy=Calendar(("month", "year"))),
        ],
        sensitive=Category("diagnosis", domain=("flu", "cold")),
        insensitive=["note"],
        missing=["NA", "?"],
    )


@pytest.mark.parametrize("name", ["s", "s/series.toml"])
def test_a_series_is_a_schema_too(tmp_path: Path, name: str) -> None:
    schema = read_schema(write(tmp_path))
    Series.create(tmp_path / "s", schema, Mondrian(2), seed=1)
    assert read_schema(tmp_path / name) == schema


def test_a_folder_that_is_no_series_is_no_schema(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="must be a TOML file in UTF-8, or the folder of a series"):
        read_schema(tmp_path)


def test_a_schema_becomes_a_document_and_comes_back(tmp_path: Path) -> None:
    schema = read_schema(write(tmp_path))
    assert schema_from_mapping(schema_to_mapping(schema, {"zip": "zip.csv"}), tmp_path) == schema


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one table a column"),
        ("columns = 3", "one table a column"),
        ("[columns.a]", "column a needs a role"),
        ("[columns]\na = 1", "column a needs a role"),
        ('[columns.a]\nrole = "secret"', "column a needs a role"),
        ('[columns.a]\nrole = "sensitive"\nkind = "text"', "kind must be one of"),
        ('[columns.a]\nrole = "sensitive"\norder = ["x"]', "kind category has no setting order"),
        ('[columns.a]\nrole = "identifier"\ndomain = ["x"]', "an identifier has no setting but its role"),
        ('[columns.a]\nrole = "sensitive"\ndomain = "x"', "domain is a list"),
        ('[columns.a]\nrole = "sensitive"\nkind = "number"\ndomain = ["x", "y"]', "is [low, high]"),
        ('[columns.a]\nrole = "sensitive"\nkind = "number"\ndomain = [true, false]', "is [low, high]"),
        ('[columns.a]\nrole = "sensitive"\nkind = "number"\ndomain = [1]', "low <= high"),
        ('[columns.a]\nrole = "sensitive"\nhierarchy = 3', "path of a file or a rule"),
        (
            '[columns.a]\nrole = "sensitive"\nhierarchy = { shuffle = true }',
            "a hierarchy is the path of a file or",
        ),
        ('[columns.a]\nrole = "sensitive"\nhierarchy = "no.csv"', "does not exist"),
        ('[columns.a]\nrole = "identifier"\n[columns.b]\nrole = "identifier"', "at most one identifier"),
        ('[columns.a]\nrole = "sensitive"\n[columns.b]\nrole = "sensitive"', "at most one sensitive"),
        ('missing = "NA"\n[columns.a]\nrole = "quasi-identifier"', "missing is a list of texts"),
        ("missing = [", "not valid TOML"),
    ],
)
def test_a_wrong_document_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        read_schema(write(tmp_path, text))


def test_a_weight_is_read_and_written(tmp_path: Path) -> None:
    text = '[columns.a]\nrole = "quasi-identifier"\nweight = 2\n[columns.b]\nrole = "quasi-identifier"'
    schema = read_schema(write(tmp_path, text))
    assert [column.weight for column in schema.quasi_identifiers] == [2.0, 1.0]
    written = schema_to_mapping(schema, {})
    assert written["columns"]["a"]["weight"] == 2.0
    assert "weight" not in written["columns"]["b"]


def test_a_sensitive_column_has_no_weight(tmp_path: Path) -> None:
    text = '[columns.a]\nrole = "quasi-identifier"\n[columns.b]\nrole = "sensitive"\nweight = 2'
    with pytest.raises(SchemaError, match="the sensitive column has none"):
        read_schema(write(tmp_path, text))


def test_two_sensitive_columns_are_offered_ways_out(tmp_path: Path) -> None:
    text = '[columns.a]\nrole = "sensitive"\n[columns.b]\nrole = "sensitive"'
    with pytest.raises(SchemaError, match=r"found a, b: .*insensitive.*quasi-identifier.*combine"):
        read_schema(write(tmp_path, text))


def test_an_absent_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="init --from VIEW"):
        read_schema(tmp_path / "schema.toml")


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_bytes(b"# \xe9")
    with pytest.raises(SchemaError, match="UTF-8"):
        read_schema(tmp_path / "schema.toml")


def test_a_folder_is_no_schema(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="TOML file"):
        read_schema(tmp_path)


TOLD = """
[columns.age]
role = "quasi-identifier"
kind = "number"
label = "Age in years"
[columns.ward]
role = "insensitive"
description = "The ward of the first night."
"""


def test_labels_and_descriptions_are_read_and_written(tmp_path: Path) -> None:
    schema = read_schema(write(tmp_path, TOLD))
    assert schema.labels == (("age", "Age in years"),)
    assert schema.descriptions == (("ward", "The ward of the first night."),)
    assert schema_from_mapping(schema_to_mapping(schema, {}), tmp_path) == schema


def test_nobody_is_told_of_a_column_that_is_not_published(tmp_path: Path) -> None:
    text = TOLD + '[columns.name]\nrole = "drop"\nlabel = "Name"\n'
    with pytest.raises(SchemaError, match="has no setting but its role"):
        read_schema(write(tmp_path, text))


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('[columns.age]\nrole = "quasi-identifier"\nkind = "number"\n')
    assert read_schema(str(tmp_path / "x.toml")).columns == ("age",)
    with pytest.raises(SchemaError, match="there is no schema file"):
        read_schema(str(tmp_path / "y.toml"))
