from __future__ import annotations

import re
from pathlib import Path

import pytest

from republish.errors import SchemaError
from republish.hierarchies import Calendar, Hierarchy, Intervals, Neighbours, Redaction
from republish.schema.schema import (
    Category,
    Column,
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


def test_a_schema_becomes_a_document_and_comes_back(tmp_path: Path) -> None:
    schema = read_schema(write(tmp_path))
    assert schema_from_mapping(schema_to_mapping(schema, {"zip": "zip.csv"}), tmp_path) == schema


def test_columns_are_published_in_the_order_of_a_release() -> None:
    schema = Schema("id", [Number("age")], "dx", ["note"])
    assert schema.columns == ("id", "age", "note", "dx")
    assert schema.published_columns == ("age", "note", "dx")


def test_a_hierarchy_may_be_given_as_a_path(tmp_path: Path) -> None:
    write(tmp_path)
    assert Category("zip", hierarchy=tmp_path / "zip.csv").hierarchy == ZIPS  # type: ignore[arg-type]


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
        (lambda: Number("x", domain=(2, 1)), "low <= high"),
        (lambda: Number("x", domain=(0, float("nan"))), "low <= high"),
        (lambda: Number("x", domain=(0, float("inf"))), "low <= high"),
        (lambda: Ordered("x"), "needs `order`"),
        (lambda: Ordered("x", order=("a", "a")), "each once"),
        (lambda: Ordered("x", order=("a", "*")), "* stands for any value"),
        (lambda: Category("x", domain=("a", "a")), "each value once"),
        (lambda: Category("x", domain=("12030", "9"), hierarchy=ZIPS), "1 values of its list are not in"),
        (lambda: Ordered("x", order=("8", "9"), hierarchy=ZIPS), "2 values of its list are not in"),
        (lambda: Category("x", distance="near"), "distance must be one of"),
        (lambda: Category("x", distance="ordered"), "needs kind ordered"),
        (lambda: Category("x", distance="hierarchical"), "needs a hierarchy"),
        (lambda: Category("x", hierarchy=Intervals((5,))), "Intervals is for kind number; found category"),
        (lambda: Number("x", hierarchy=Calendar()), "Calendar is for kind date"),
        (lambda: Category("x", hierarchy=Neighbours((2,))), "Neighbours is for kind ordered"),
    ],
)
def test_what_contradicts_itself_is_refused(build: object, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        build()  # type: ignore[operator]


def test_an_identifier_may_be_called_group() -> None:
    assert Schema("group", [Number("age")]).identifier == "group"


@pytest.mark.parametrize("column", [Number("x"), Date("x"), Category("x"), Ordered("x", order=("1",))])
def test_redaction_suits_every_kind(column: Column) -> None:
    given = {"order": ("1",)} if isinstance(column, Ordered) else {}
    assert type(column)("x", hierarchy=Redaction(), **given).hierarchy == Redaction()


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


@pytest.mark.parametrize("name", ['say "a"', "two\nlines", "*", "^q.*$"])
def test_names_that_tables_and_queries_read_otherwise_are_refused(name: str) -> None:
    with pytest.raises(SchemaError, match="1 do: rename them"):
        Schema("id", [Number("age")], "dx", [name])
