from __future__ import annotations

from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish.errors import ViewError
from republish.schema import Category, Date, Dialect, Number, Schema
from republish.sources.columns.spelling import day_texts, number_texts, respelled, without_codes
from republish.sources.tables import read_raw


@pytest.mark.parametrize(
    ("decimal", "thousands", "text", "number"),
    [
        (",", ".", "1.234,50", "1234.50"),
        (",", ".", "1.234.567", "1234567"),
        (",", ".", "1234,5", "1234.5"),
        (",", ".", " 7 ", "7"),
        (",", ".", "-9", "-9"),
        (",", ".", "12.5", None),
        (",", ".", "1.23", None),
        (",", ".", "1,2,3", None),
        (",", "", "1.234", None),
        (",", "", "+1,5e3", "+1.5e3"),
        (".", ",", "1,234.5", "1234.5"),
        (".", "'", "1\u2019234.5", "1234.5"),
        (",", " ", "1\u202f234,5", "1234.5"),
        (",", ".", "x", None),
        (",", ".", ",", None),
    ],
)
def test_numbers_are_read_as_they_are_written(
    decimal: str, thousands: str, text: str, number: str | None
) -> None:
    files = Dialect(decimal=decimal, thousands=thousands)
    assert number_texts(pl.Series([text]), files).item() == number


@given(st.floats(-1e9, 1e9).map(lambda number: round(number, 2)), st.sampled_from([".", " ", "'", ""]))
def test_a_number_that_was_written_so_is_read_again(number: float, thousands: str) -> None:
    text = f"{number:,.2f}".replace(",", "t").replace(".", ",").replace("t", thousands)
    found = number_texts(pl.Series([text]), Dialect(decimal=",", thousands=thousands))
    assert float(found.item()) == number


@pytest.mark.parametrize(
    ("form", "text", "day"),
    [
        ("DD.MM.YYYY", "31.12.2020", "2020-12-31"),
        ("DD.MM.YYYY", "1.2.2020", "2020-02-01"),
        ("DD.MM.YYYY", "31.02.2020", None),
        ("DD.MM.YYYY", "31.12.20", None),
        ("MM/DD/YYYY", "03/04/2020", "2020-03-04"),
        ("DD/MM/YYYY", "03/04/2020", "2020-04-03"),
        ("YYYYMMDD", "20201231", "2020-12-31"),
        ("YYYYMMDD", "2020123", None),
        ("DD-MMM-YYYY", "31-Dec-2020", "2020-12-31"),
        ("DD.MMM.YYYY", "31.Mrz.2020", "2020-03-31"),
        ("DDMMMYYYY", "31DEC2020", "2020-12-31"),
        ("DDMMMYYYY", "31XXX2020", None),
        ("YYYY-MM-DD hh:mm:ss", "2020-12-31 14:05:00", "2020-12-31"),
        ("YYYY-MM-DDThh:mm", "2020-12-31T14:05", "2020-12-31"),
    ],
)
def test_days_are_read_in_their_form(form: str, text: str, day: str | None) -> None:
    assert day_texts(pl.Series([text]), form).item() == day


def test_codes_mean_missing_in_texts_and_numbers() -> None:
    assert without_codes(pl.Series(["-9", " -9", "9", None]), ["-9"]).to_list() == [None, None, "9", None]
    assert without_codes(pl.Series([-9, 9]), ["-9", "k.A."]).to_list() == [None, 9]
    assert without_codes(pl.Series([-9.0, 0.5]), ["-9"]).to_list() == [None, 0.5]


SCHEMA = Schema(
    "id",
    [Number("size"), Date("born"), Category("zip")],
    files=Dialect(decimal=",", thousands=".", dates="DD.MM.YYYY", missing={"size": ["-9"], "zip": ["NA"]}),
)
FRAME = pl.DataFrame(
    {
        "id": ["01", "02", "NA"],
        "size": ["1.234,5", "-9,0", "2"],
        "born": ["31.12.2020", None, "1.1.1999"],
        "zip": ["01067", "NA", "1,5"],
    }
)


def test_columns_are_read_by_their_kind_and_texts_stay() -> None:
    assert respelled(FRAME, SCHEMA).rows() == [
        ("01", 1234.5, date(2020, 12, 31), "01067"),
        ("02", None, None, None),
        ("NA", 2.0, date(1999, 1, 1), "1,5"),
    ]


def test_what_was_read_once_is_read_again_the_same() -> None:
    once = read_raw(FRAME, SCHEMA)
    assert read_raw(once, SCHEMA).equals(once)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            "size",
            r"column size: cells must be numbers such as 1\.234,5, as \[files\] of the schema says, or empty; 1 of 3",
        ),
        ("born", r"column born: cells must be dates as DD\.MM\.YYYY, as \[files\]"),
    ],
)
def test_cells_that_are_written_otherwise_are_counted_and_not_shown(column: str, message: str) -> None:
    odd = FRAME.with_columns(pl.Series(column, ["12.55", *FRAME[column][1:]]))
    with pytest.raises(ViewError, match=message) as caught:
        respelled(odd, SCHEMA)
    assert "12.55" not in str(caught.value)


def test_usual_files_are_left_alone() -> None:
    usual = Schema("id", [Number("size"), Date("born"), Category("zip")])
    assert respelled(FRAME, usual) is FRAME
