from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from republish.errors import SchemaError
from republish.hierarchies import Hierarchy
from republish.schema import Category, Number, Schema

ZIPS = Hierarchy((("12030", "1203*", "*"), ("12031", "1203*", "*")))


def test_columns_are_published_in_the_order_of_a_release() -> None:
    schema = Schema("id", [Number("age")], "dx", ["note"])
    assert schema.columns == ("id", "age", "note", "dx")
    assert schema.published_columns == ("age", "note", "dx")


def test_a_column_is_found_by_its_name() -> None:
    schema = Schema("id", [Number("age")], "dx")
    assert schema.column("dx") == Category("dx")
    with pytest.raises(SchemaError, match="no quasi-identifier or sensitive column called id"):
        schema.column("id")


def test_hierarchies_can_be_replaced() -> None:
    schema = Schema("id", [Category("zip"), Number("age")], "dx").with_hierarchies({"zip": ZIPS})
    assert schema.column("zip").hierarchy == ZIPS
    assert schema.column("age").hierarchy is None


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Schema("a", [Number("a")]), "two: a"),
        (lambda: Schema("a", []), "at least one quasi-identifier"),
        (lambda: Schema("a", [Number("group")]), "rename group"),
        (lambda: Schema("a", [Number("x")], "level"), "rename level"),
        (lambda: Schema("a", [Number("x")], "dx", ["x_lo"]), "rename x_lo"),
        (lambda: Schema("a", [Category("x")], "dx", ["x_missing"]), "rename x_missing"),
    ],
)
def test_what_contradicts_itself_is_refused(build: object, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        build()  # type: ignore[operator]


def test_an_identifier_may_be_called_group() -> None:
    assert Schema("group", [Number("age")]).identifier == "group"


@pytest.mark.parametrize("name", ['say "a"', "two\nlines", "*", "^q.*$"])
def test_names_that_tables_and_queries_read_otherwise_are_refused(name: str) -> None:
    with pytest.raises(SchemaError, match="1 do: rename them"):
        Schema("id", [Number("age")], "dx", [name])


class TestLabels:
    schema = Schema("id", [Number("age")], "dx")

    def test_the_columns_of_the_schema_in_any_order_are_accepted(self) -> None:
        self.schema.require_labels(["dx", "id", "age"])

    def test_an_unlabelled_column_is_told_how_to_be_labelled(self) -> None:
        with pytest.raises(SchemaError) as caught:
            self.schema.require_labels(["id", "age", "dx", "zip"])
        assert str(caught.value) == (
            "every column needs a role; without one: zip. Add to the schema, for example, [columns.zip] with role = "
            '"drop" to leave it out, or one of identifier, quasi-identifier, sensitive, insensitive'
        )

    def test_a_name_that_toml_must_quote_is_quoted(self) -> None:
        with pytest.raises(SchemaError, match=re.escape('[columns."zip code"]')):
            self.schema.require_labels(["id", "age", "dx", "zip code"])

    def test_an_absent_column_is_named(self) -> None:
        with pytest.raises(SchemaError, match="does not have: dx"):
            self.schema.require_labels(["id", "age"])

    def test_equal_names_are_refused(self) -> None:
        with pytest.raises(SchemaError, match="the same name"):
            self.schema.require_labels(["id", "age", "age", "dx"])

    def test_the_cells_of_a_file_without_a_header_stay_unsaid(self) -> None:
        with pytest.raises(SchemaError, match="starts with a line of column names") as caught:
            self.schema.require_labels(["SECRETCELL", "41", "flu"])
        assert "SECRETCELL" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"age": 3}, ["age"], 7])
def test_labels_are_texts_by_column(wrong: Any) -> None:
    with pytest.raises(SchemaError, match="labels of a schema are texts by the name of a column"):
        Schema("id", [Number("age")], "dx", labels=wrong)


def test_a_part_of_a_schema_keeps_what_is_told_of_its_columns() -> None:
    schema = Schema("id", [Number("age")], "dx", labels={"dx": "Diagnosis", "age": "Age"})
    assert schema.labels == (("age", "Age"), ("dx", "Diagnosis"))
    assert replace(schema, sensitive=None).labels == (("age", "Age"),)


def test_a_mere_name_is_a_category() -> None:
    assert Schema(quasi_identifiers=["educ"]).quasi_identifiers == (Category("educ"),)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Schema("id", "educ"), "put [ ] around the one"),
        (lambda: Schema("id", Number("age")), "put [ ] around the one"),
        (lambda: Schema("id", [3]), "which means a category; found int"),
        (lambda: Schema("id", ["age"], {"a": 1}), "which means a category; found dict"),
        (lambda: Schema(["id"], ["age"]), "identifier of a schema is made of texts: the name of one column"),
        (
            lambda: Schema("id", ["age"], insensitive="ward"),
            "insensitive of a schema is made of texts: a list",
        ),
        (lambda: Schema("id", ["age"], missing="NA"), 'a list such as ["NA", "?"]'),
        (lambda: Schema("id", ["age"], missing=[-9]), 'a list such as ["NA", "?"]'),
    ],
)
def test_what_is_no_name_and_no_column_is_refused(build: object, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        build()  # type: ignore[operator]
