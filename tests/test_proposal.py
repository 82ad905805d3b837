from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from republish.errors import SchemaError, ViewError
from republish.microdata import read_view
from republish.proposal import Proposal, propose, schema_from
from republish.schema import Category, Date, Number, Schema

CSV = """patient_id,name,age,zip,born,gender,diagnosis
P1,Ada,41,02139,1979-01-05,F,flu
P2,Bob,41,02140,1979-01-05,M,cold
P3,Bob,37,12030,1984-12-31,F,flu
P4,Cy,,02139,1984-12-31,F,
"""


def roles(**columns: list[Any]) -> dict[str, tuple[str, str | None]]:
    return {p.name: (p.role, p.kind) for p in propose(pl.DataFrame(columns))}


def test_a_hospital_table_is_understood(tmp_path: Path) -> None:
    (tmp_path / "view.csv").write_text(CSV)
    proposals = propose(tmp_path / "view.csv")
    assert schema_from(proposals) == Schema(
        "patient_id",
        [Category("name"), Number("age"), Category("zip"), Date("born"), Category("gender")],
        Category("diagnosis"),
    )
    assert read_view(tmp_path / "view.csv", schema_from(proposals)).rows == 4


def test_typed_columns_are_understood() -> None:
    found = roles(
        id=[7, 8, 9], born=[date(2020, 1, 1)] * 3, smoker=[True, False, None], weight=[50.5, 60, None]
    )
    assert found == {
        "id": ("identifier", None),
        "born": ("quasi-identifier", "date"),
        "smoker": ("quasi-identifier", "category"),
        "weight": ("quasi-identifier", "number"),
    }


def test_a_name_of_an_identifier_comes_before_other_unique_texts() -> None:
    found = roles(name=["Ada", "Bob"], patient_id=["P1", "P2"], age=[1, 1])
    assert found["name"] == ("drop", None)
    assert found["patient_id"] == ("identifier", None)


def test_a_unique_text_is_an_identifier_without_such_a_name() -> None:
    assert roles(code=["a", "b", "c"], age=[1, 1, 1])["code"] == ("identifier", None)


def test_a_unique_number_is_none_without_such_a_name() -> None:
    assert roles(height=[1, 2, 3])["height"] == ("quasi-identifier", "number")


def test_repeated_identifiers_are_counted_and_not_shown() -> None:
    (proposal,) = propose(pl.DataFrame({"patient": ["SECRETCELL", "SECRETCELL", "b", "c"]}))
    assert proposal == Proposal(
        "patient", "identifier", None, "its name, though 1 of 4 rows have no value of their own"
    )


def test_the_last_private_column_is_the_sensitive_one() -> None:
    found = roles(drug=["a", "b", "a"], diagnosis=["x", "y", "x"])
    assert found["drug"] == ("quasi-identifier", "category")
    assert found["diagnosis"] == ("sensitive", "category")


def test_a_private_name_counts_more_than_different_values() -> None:
    assert roles(name=["Ada", "Bob"], disease=["flu", "cold"]) == {
        "name": ("identifier", None),
        "disease": ("sensitive", "category"),
    }


def test_long_texts_are_better_dropped() -> None:
    (proposal,) = propose(pl.DataFrame({"remark": ["long text " * 10] * 2}))
    assert proposal.role == "drop"


@pytest.mark.parametrize("text", ["20-01-05", "2020-1-5"])
def test_a_kind_is_proposed_only_where_the_view_can_be_read(text: str) -> None:
    assert roles(when=[text, text])["when"] == ("quasi-identifier", "category")


def test_a_nan_is_no_number() -> None:
    assert roles(x=["nan", "1", "1"])["x"] == ("quasi-identifier", "category")


def test_a_view_without_rows_has_categories_only() -> None:
    assert roles(id=[], age=[]) == {
        "id": ("quasi-identifier", "category"),
        "age": ("quasi-identifier", "category"),
    }


def test_one_row_names_its_identifier() -> None:
    assert roles(id=["a"], city=["x"]) == {
        "id": ("identifier", None),
        "city": ("quasi-identifier", "category"),
    }


def test_lists_are_refused() -> None:
    with pytest.raises(ViewError, match="column x: a cell must be one text"):
        propose(pl.DataFrame({"x": [[1], [2]]}))


def test_two_identifiers_or_sensitive_columns_are_refused() -> None:
    rest = [Proposal("q", "quasi-identifier", "number", "")]
    for role in ("identifier", "sensitive"):
        with pytest.raises(SchemaError, match="give the others another role"):
            schema_from([*rest, Proposal("a", role, None, ""), Proposal("b", role, None, "")])


def test_insensitive_columns_are_kept() -> None:
    proposals = [Proposal("q", "quasi-identifier", "date", ""), Proposal("n", "insensitive", None, "")]
    assert schema_from(proposals) == Schema(None, [Date("q")], None, ["n"])


def test_a_first_row_of_texts_is_no_header_either(tmp_path: Path) -> None:
    """An identifier, a place, a grade, a gender: none is a number, and all are cells."""
    rows = [f"P{i:07d},{('Ohio', 'Maine')[i % 2]},grade 12,{'MF'[i % 2]}" for i in range(10)]
    path = tmp_path / "view.csv"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(ViewError, match="add a header") as refused:
        propose(path)
    assert not any(cell in str(refused.value) for cell in ("Ohio", "P0000000", "grade"))
