from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from republish.errors import PolicyError, SchemaError
from republish.sources.columns.labels import read_columns, settings_said, with_labels, write_columns
from republish.sources.columns.understood import understand
from republish.sources.propose import Proposal, propose

TABLE = pl.DataFrame(
    {
        "id": ["a", "b", "c"],
        "lab_1": ["1.5", "2", "-9"],
        "lab_2": ["x", "y", "x"],
        "born": ["03/04/2020", "01/02/2020", "03/04/2020"],
    }
)


def labelled(*rules: str) -> dict[str, tuple[str, str | None]]:
    return {p.name: (p.role, p.kind) for p in with_labels(propose(TABLE), rules)}


def test_columns_are_labelled_by_patterns_and_later_rules_count_more() -> None:
    found = labelled("lab_*=insensitive", "lab_1=quasi-identifier:number", "born=drop")
    assert found["lab_1"] == ("quasi-identifier", "number")
    assert found["lab_2"][0] == "insensitive" and found["born"][0] == "drop"


def test_without_a_kind_a_column_has_that_of_its_cells() -> None:
    found = with_labels([Proposal("n", "drop", None, "", "whole numbers, one digit")], ["n=sensitive"])
    assert (found[0].role, found[0].kind) == ("sensitive", "number")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("lab_*", "--label is written PATTERN=role"),
        ("lab_*=secret", "a role is one of identifier"),
        ("lab_*=drop:text", "a kind one of number, category, date"),
        ("labor*=drop", "no column is called labor*; the table has id, lab_1, lab_2, born"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(rule: str, message: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(message)):
        labelled(rule)


def edited(folder: Path, edit: Any) -> Any:
    found = understand(TABLE)
    path = folder / "columns.csv"
    write_columns(path, propose(found), found)
    path.write_text(edit(path.read_text()))
    return read_columns(path, propose(found), found)


def test_the_table_of_columns_holds_no_cell(tmp_path: Path) -> None:
    found = understand(TABLE)
    write_columns(tmp_path / "c.csv", propose(found), found)
    text = (tmp_path / "c.csv").read_text()
    assert text.splitlines()[0] == "column,role,kind,dates,missing,looks like,because"
    assert (
        "DD/MM/YYYY or MM/DD/YYYY" in text and "03/04" not in text and "x" not in text.split("lab_2")[1][:9]
    )


def test_an_edited_table_has_the_last_word(tmp_path: Path) -> None:
    proposals, understood = edited(
        tmp_path,
        lambda text: text.replace("DD/MM/YYYY or MM/DD/YYYY", "MM/DD/YYYY").replace(
            "lab_1,quasi-identifier,number,,", "lab_1,sensitive,number,,-9 | -8"
        ),
    )
    assert {p.name: p.role for p in proposals}["lab_1"] == "sensitive"
    assert understood.files.missing == (("lab_1", ("-9", "-8")),) and not understood.unclear
    assert understood.forms["born"] == "MM/DD/YYYY"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text.replace("column,role", "name,role"), "with a column `column` and a column `role`"),
        (lambda text: text.replace("lab_2,", "lab_3,"), "without a line: lab_2, unknown or repeated: 1"),
        (lambda text: text.replace("id,identifier", "id,name"), "column id: a role is one of"),
        (
            lambda text: text.replace("identifier,number", "identifier,digits"),
            "column lab_1: a role is one of",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path: Path, edit: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        edited(tmp_path, edit)


def test_settings_are_said_as_people_type_them() -> None:
    said = {
        "decimal": ",",
        "separator": "tab",
        "dates.born": "DD/MM/YYYY",
        "missing": "NA,k.A.",
        "missing.age": "-9, 999",
    }
    assert settings_said(said) == {
        "decimal": ",",
        "separator": "\t",
        "dates": {"born": "DD/MM/YYYY"},
        "everywhere": ("NA", "k.A."),
        "missing": {"age": ("-9", "999")},
    }
    with pytest.raises(PolicyError, match="--read is written NAME=VALUE with encoding"):
        settings_said({"delimiter": ";"})
