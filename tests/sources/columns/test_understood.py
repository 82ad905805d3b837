from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from messy import german_view
from republish.errors import SchemaError
from republish.schema import Dialect
from republish.sources.columns.understood import understand
from republish.sources.propose import propose, schema_from


def test_a_german_file_is_understood(tmp_path: Path) -> None:
    found = understand(german_view(tmp_path / "v.csv"))
    assert found.files == Dialect("windows-1252", None, ",", ".", missing={"Fahrten": ["-9"]})
    assert found.missing == ("k.A.", "NA")
    assert found.forms == {"Geburtstag": "DD.MM.YYYY"} and not found.unclear and not found.maybe
    assert found.sentence == (
        "a CSV file in windows-1252, columns between semicolons; numbers such as 1.234,5; days as DD.MM.YYYY; missing "
        "is k.A., NA; -9 in Fahrten"
    )


def test_what_its_columns_look_like_is_said_without_a_cell(tmp_path: Path) -> None:
    found = propose(german_view(tmp_path / "v.csv"))
    assert {p.name: p.looks for p in found} == {
        "Versicherten-Nr": "text, mostly unique",
        "Größe": "decimals with a comma",
        "Einkommen": "decimals with a comma, 6% missing",
        "Geburtstag": "dates, day.month.year",
        "PLZ": "codes of five digits, leading zeros kept",
        "Straßenbahn": "2 labels, 8% missing",
        "Fahrten": "whole numbers, up to two digits, 9% missing",
        "Diagnose": "6 labels",
    }


def test_a_usual_file_leaves_nothing_to_keep(tmp_path: Path) -> None:
    view = tmp_path / "v.csv"
    view.write_text("id,age,born,size\na,34,2020-01-05,1.5\nb,35,2020-01-06,2.25\n")
    found = understand(view)
    assert (found.files, found.missing, found.sentence) == (
        Dialect(),
        (),
        "a CSV file in UTF-8, columns between commas",
    )
    assert schema_from(propose(found), found).files == Dialect()


@pytest.mark.parametrize(
    ("cells", "style"),
    [
        (["1,5", "2,25"], (",", "")),
        (["1.234,5", "2"], (",", ".")),
        (["1,234.5", "2"], (".", ",")),
        (["1 234,5", "2"], (",", " ")),
        (["1'234.5", "2"], (".", "'")),
        (["1.234", "2.345"], (".", "")),  # as ever
        (["1,234", "2,345"], (".", "")),  # decimals or thousands: a text, until somebody says
        (["1,2,3", "2"], (".", "")),
        (["01067", "1"], (".", "")),
    ],
)
def test_how_numbers_are_written(cells: list[str], style: tuple[str, str]) -> None:
    found = understand(pl.DataFrame({"id": ["a", "b"], "x": cells})).files
    assert (found.decimal, found.thousands) == style


def test_another_column_tells_what_a_comma_means() -> None:
    found = understand(pl.DataFrame({"x": ["1,234", "2,345"], "y": ["1,5", "2,5"]}))
    assert found.files.decimal == "," and found.table["x"].to_list() == ["1.234", "2.345"]


def test_what_a_comma_means_can_be_said() -> None:
    found = understand(pl.DataFrame({"x": ["1,234", "2,345"]}), {"thousands": ","})
    assert found.table["x"].to_list() == ["1234", "2345"]


def test_days_that_can_be_read_in_two_ways_are_not_guessed() -> None:
    found = understand(pl.DataFrame({"id": ["a", "b"], "born": ["03/04/2020", "05/06/2020"]}))
    assert found.unclear == {"born": ("DD/MM/YYYY", "MM/DD/YYYY")}
    proposals = propose(found)
    assert next(p.kind for p in proposals if p.name == "born") == "date"
    message = (
        r"column born: its days can be read as DD/MM/YYYY or MM/DD/YYYY, .* --read dates.born=DD/MM/YYYY"
    )
    with pytest.raises(SchemaError, match=message):
        schema_from(proposals, found)


@pytest.mark.parametrize("form", ["DD/MM/YYYY", "MM/DD/YYYY"])
def test_how_days_are_written_can_be_said(form: str) -> None:
    table = pl.DataFrame({"id": ["a", "b"], "born": ["03/04/2020", "05/06/2020"]})
    for found in (understand(table, {"dates": {"born": form}}), understand(table).with_form("born", form)):
        assert schema_from(propose(found), found).files == Dialect(dates=form)


def test_another_column_of_days_tells_how_they_are_written() -> None:
    table = pl.DataFrame({"born": ["03/04/2020", "05/06/2020"], "seen": ["03/24/2020", "05/06/2020"]})
    assert understand(table).forms == {"born": "MM/DD/YYYY", "seen": "MM/DD/YYYY"}
    assert not understand(table).unclear


def test_days_of_several_forms_are_kept_by_column() -> None:
    table = pl.DataFrame(
        {"a": ["31.12.2020", "1.2.1999"], "b": ["20201231", "19990201"], "c": ["2020-12-31"] * 2}
    )
    found = understand(table)
    files = found.for_columns(["a", "b", "c"], ["a", "b", "c"])
    assert files == Dialect(dates={"a": "DD.MM.YYYY", "b": "YYYYMMDD"})


def test_a_text_that_means_missing_in_one_column_and_not_in_another_is_kept_by_column() -> None:
    table = pl.DataFrame({"age": ["1", "NA", "3"], "land": ["NA", "DE", "FR"]})
    found = understand(table)
    assert found.missing == () and found.files.missing == (("age", ("NA",)),)
    assert found.table["land"].to_list() == ["NA", "DE", "FR"]


def test_nines_are_only_proposed() -> None:
    found = understand(pl.DataFrame({"age": ["34", "71", "999", "999"]}))
    assert found.maybe == {"age": ("999",)} and found.files == Dialect()
    assert found.with_codes("age", ["999"]).table["age"].to_list() == ["34", "71", None, None]


def test_codes_of_columns_that_are_left_out_are_not_kept() -> None:
    found = understand(pl.DataFrame({"a": ["1", "-9", "-9"], "b": ["x", "y", "z"]}))
    assert found.for_columns([], ["a"]).missing == (("a", ("-9",)),)
    assert found.for_columns([], ["b"]).missing == ()
