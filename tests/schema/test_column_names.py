from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from republish.errors import RepublishError, SchemaError, ViewError
from republish.microdata import read_view
from republish.schema import Category, Number, Schema
from republish.schema.column_names import is_name, listed, require_names
from republish.sources.propose import propose

STRAY = 'patient,"age,zip,diagnosis\n' + "".join(
    f"P{i},4{i % 10},0213{i % 10},CANARY{i}\n" for i in range(430)
)
SCHEMA = Schema("patient", [Number("age"), Category("zip")], Category("diagnosis"))


@pytest.mark.parametrize(
    "text",
    [
        "age",
        "Alter in Jahren",
        "hours-per-week",
        "income (EUR/yr)",
        "größe",
        "年齢",
        "V101",
        "visit_20240105",
        "",
    ],
)
def test_a_short_line_with_a_letter_is_a_name(text: str) -> None:
    assert is_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 65,
        "a\nb",
        "a\rb",
        "a\u2028b",
        "41",
        "2020-01-05",
        "a@b.de",
        "P0000123",
        "DE89370400440532013000",
    ],
)
def test_what_looks_like_a_cell_is_no_name(text: str) -> None:
    assert not is_name(text)


def test_strange_names_are_counted_and_not_shown() -> None:
    with pytest.raises(ViewError, match=r"2 of 3 are not such names, the first is column 2\.") as refused:
        require_names(["age", "anna@mail.de", "CANARY\n"])
    assert "anna" not in str(refused.value) and "CANARY" not in str(refused.value)


def test_a_name_that_the_schema_knows_is_one() -> None:
    require_names(["2019", "age"], known=["2019"])


def test_a_few_names_are_listed_and_the_others_counted() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(f"c{i}" for i in range(40_000)) == "c0, c1, c2, c3, c4, c5 and 39,994 others"
    assert listed(["x" * 500]) == "1 that is not shown"


@pytest.mark.parametrize("labelled", [True, False])
def test_a_stray_quote_in_the_header_shows_nobody(tmp_path: Path, labelled: bool) -> None:
    path = tmp_path / "view.csv"
    path.write_text(STRAY)
    with pytest.raises(ViewError, match="Check the quotes of that line") as refused:
        read_view(path, SCHEMA) if labelled else propose(path)
    assert "CANARY" not in str(refused.value) and len(str(refused.value)) < 400


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow", "parquet"])
def test_names_of_tables_in_memory_are_not_shown_either(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"patient": ["p"], "age": [1], "CANARY\nCANARY": ["x"]})
    frame.write_parquet(tmp_path / "view.parquet")
    source = {
        "polars": lambda: frame,
        "pandas": frame.to_pandas,
        "arrow": frame.to_arrow,
        "parquet": lambda: tmp_path / "view.parquet",
    }[kind]()
    for read in (propose, lambda table: read_view(table, SCHEMA)):
        with pytest.raises(ViewError, match=r"1 of 3 are not such names, the first is column 3\.") as refused:
            read(source)
        assert "CANARY" not in str(refused.value)


def test_very_many_columns_give_a_short_message() -> None:
    table = pl.DataFrame({"patient": ["p"], **{f"column{i}": [1] for i in range(40_000)}})
    for read in (propose, lambda source: read_view(source, SCHEMA)):
        with pytest.raises(RepublishError) as refused:
            read(table)
        assert len(str(refused.value)) < 400


def test_a_schema_of_very_many_columns_says_which_are_missing_in_short() -> None:
    schema = Schema("id", [Number(f"column{i}") for i in range(2_000)])
    with pytest.raises(SchemaError, match=r"column0, .* and 1,994 others\. Give a table"):
        schema.require_labels(["id"])
