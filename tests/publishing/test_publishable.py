from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w

from republish import Mondrian, Redaction, Series, anonymize
from republish.errors import SchemaError
from republish.parts import Engine
from republish.parts.in_process import Here
from republish.policy import Policy
from republish.schema import Category, Column, Number, Schema, schema_from_mapping, schema_to_mapping

PEOPLE = 200
CELLS: dict[str, list[str]] = {
    "names": [f"{('Ben', 'Dora', 'Anna')[i % 3]} Quandt{'abcdefg'[i % 7]}" for i in range(PEOPLE)],
    "mails": [f"u{i % 167}@mail.de" for i in range(PEOPLE)],
    "keys": [f"x{i % 167}" for i in range(PEOPLE)],
    "prose": [f"came in on foot, number {i % 40}, and complained of much pain" for i in range(PEOPLE)],
}
WHY = {
    "names": "21 of 21 different values look like names of people",
    "mails": "167 of 167 different values look like e-mail addresses",
    "keys": "it has 167 different values in 200 cells, about one a person",
    "prose": "it has 40 different long texts in 200 cells",
}


def view(cells: list[Any]) -> pl.DataFrame:
    illness = [("flu", "cold", "hiv")[i % 3] for i in range(PEOPLE)]
    return pl.DataFrame(
        {"id": range(PEOPLE), "age": [i % 70 for i in range(PEOPLE)], "x": cells, "dx": illness}
    )


def schema(column: Column | None = None, **settings: Any) -> Schema:
    quasi = [Number("age"), *([column] if column else [])]
    return Schema("id", quasi, "dx", [] if column else ["x"], **settings)


@pytest.mark.parametrize("engine", [None, Here(part_rows=50)], ids=["one process", "in parts"])
@pytest.mark.parametrize("role", ["quasi-identifier", "insensitive"])
@pytest.mark.parametrize("what", CELLS)
def test_publish_refuses_what_names_people_with_the_figures(
    tmp_path: Path, what: str, role: str, engine: Engine | None
) -> None:
    roles = schema(Category("x") if role == "quasi-identifier" else None)
    made = Series.create(tmp_path / "s", roles, Mondrian(5))
    with pytest.raises(SchemaError) as refused:
        made.publish(view(CELLS[what]), engine=engine)
    assert str(refused.value).startswith(f"column x: what names people must not be published; {WHY[what]}. ")
    assert 'direct = "publish"' in str(refused.value)
    assert made.records == ()


@pytest.mark.parametrize("engine", [None, Here(part_rows=50)], ids=["one process", "in parts"])
@pytest.mark.parametrize(
    "roles",
    [
        schema(Category("x", direct="publish")),
        schema(direct=["x"]),
        schema(Category("x", domain=tuple(sorted(set(CELLS["names"]))))),
    ],
    ids=["quasi-identifier", "insensitive", "a closed list"],
)
def test_what_the_schema_says_may_be_published_is(
    tmp_path: Path, roles: Schema, engine: Engine | None
) -> None:
    made = Series.create(tmp_path / "s", roles, Mondrian(5))
    assert made.publish(view(CELLS["names"]), engine=engine).rows == PEOPLE


def test_a_sensitive_column_of_names_is_refused_and_one_of_many_diagnoses_is_not() -> None:
    names = Schema("id", [Number("age")], "x", dropped=["dx"])
    with pytest.raises(SchemaError, match="column x: what names people"):
        anonymize(view(CELLS["names"]), names, Mondrian(5))
    codes = [f"{'ABCDEFGHIJ'[i % 10]}{i % 13:02d}.{i % 7}" for i in range(PEOPLE)]
    assert anonymize(view(codes[:150] + codes[:50]), names, Mondrian(5)).rows == PEOPLE


def test_a_hierarchy_generalizes_many_values_and_hides_no_names() -> None:
    codes = view([f"{i * 499:05d}" for i in range(PEOPLE)])
    assert anonymize(codes, schema(Category("x", Redaction())), Mondrian(5)).rows == PEOPLE
    with pytest.raises(SchemaError, match="about one a person"):
        anonymize(codes, schema(Category("x")), Mondrian(5))
    with pytest.raises(SchemaError, match="look like e-mail addresses"):
        anonymize(view(CELLS["mails"]), schema(Category("x", Redaction())), Mondrian(5))


def test_few_people_may_all_differ() -> None:
    few = view(CELLS["keys"]).head(50)
    assert anonymize(few, schema(Category("x")), Mondrian(5)).rows == 50


def test_a_running_series_can_be_told_and_the_ledger_remembers(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", schema(Category("x")), Mondrian(5), one_table=True)
    made.publish(view([f"t{i % 9}" for i in range(PEOPLE)]))
    with pytest.raises(SchemaError, match="look like names of people"):
        made.publish(view(CELLS["names"]))
    file = tmp_path / "s" / "series.toml"
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    document["schema"]["columns"]["x"]["direct"] = "publish"
    file.write_text(tomli_w.dumps(document), encoding="utf-8")
    again = Series.open(tmp_path / "s")
    assert again.publish(view(CELLS["names"]), expect_anyway="names are meant").number == 2
    assert again.verify().problems == ()
    assert [record.payload.get("direct") for record in again.records] == [None, ["x"]]


def test_direct_goes_through_a_file_and_changes_no_digest(tmp_path: Path) -> None:
    plain = Schema("id", [Category("x")], "dx", ["note"])
    direct = Schema("id", [Category("x", direct="publish")], "dx", ["note"], direct=["note"])
    document = schema_to_mapping(direct, {})
    assert document["columns"]["x"] == {"role": "quasi-identifier", "kind": "category", "direct": "publish"}
    assert document["columns"]["note"] == {"role": "insensitive", "direct": "publish"}
    assert schema_from_mapping(document, tmp_path) == direct
    assert Policy(direct, Mondrian(5), 1).digest() == Policy(plain, Mondrian(5), 1).digest()
    assert direct.published_directly == ("x", "note")


@pytest.mark.parametrize("role", ["quasi-identifier", "insensitive"])
def test_direct_says_publish_or_nothing(tmp_path: Path, role: str) -> None:
    columns = {"age": {"role": "quasi-identifier", "kind": "number"}, "x": {"role": role, "direct": "yes"}}
    with pytest.raises(SchemaError, match='column x: direct may be "publish" only'):
        schema_from_mapping({"columns": columns}, tmp_path)


def test_direct_of_a_schema_names_insensitive_columns() -> None:
    with pytest.raises(SchemaError, match="direct of a schema names insensitive columns; age is none"):
        Schema("id", [Number("age")], direct=["age"])
