from __future__ import annotations

import hashlib
import traceback
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.arrays import WordArray
from republish.errors import RepublishError, SchemaError, ViewError
from republish.hierarchies import Hierarchy, Intervals, Neighbours, Redaction
from republish.microdata import (
    FLAT,
    INTERVAL,
    NEWEST_ROWS,
    SUMS_OF_CELLS,
    TREE,
    Microdata,
    read_view,
    sensitive_codes,
)
from republish.schema import Category, Column, Date, Number, Ordered, Schema
from republish.secret import Secret, order_of
from republish.sources.identifiers import read_identifiers

MISSING = -np.inf
SECRET = Secret(b"k" * 32)
SCHEMA = Schema("id", [Number("age"), Category("city")], "dx")
HEADER = "id,age,city,dx\n"


@pytest.fixture
def view(tmp_path: Path) -> Path:
    return tmp_path / "view.csv"


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"id": ["a", "b"], "age": [1, 2], "city": ["x", "y"], "dx": ["f", "g"]} | columns)


def digests(form: int = NEWEST_ROWS, **columns: Any) -> WordArray:
    """The digest of every row of a view, in the order of its rows."""
    table = frame(**columns)
    found = np.empty(table.height, dtype=np.uint64)
    order = order_of(SECRET.pseudonyms(table["id"]))
    found[order] = read_view(table, SCHEMA).pseudonymous(SECRET).row_digests(SECRET, form)
    return found


def one(column: Column, values: Any, dtype: Any = None) -> Microdata:
    """A view of one quasi-identifier."""
    return read_view(
        pl.DataFrame({column.name: pl.Series(values, dtype=dtype, strict=False)}), Schema(None, [column])
    )


def sensitive(column: Column, values: Any, known: pl.Series | None = None) -> tuple[list[int], list[Any]]:
    codes, domain = sensitive_codes(pl.Series(column.name, values), column, known)
    return codes.tolist(), domain.to_list()


def test_a_view_becomes_coordinates_and_codes(view: Path) -> None:
    view.write_text(HEADER + "a,41,x,flu\nb,,y,\nc,40.5,,cold\n")
    found = read_view(view, SCHEMA)
    assert found.identifiers is not None
    assert found.identifiers.to_list() == ["a", "b", "c"]
    assert found.points.tolist() == [[41, MISSING, 40.5], [0, 1, MISSING]]
    assert found.codes.tolist() == [2, 0, 1]
    assert found.values.to_list() == [None, "cold", "flu"]
    assert [axis.kind_code for axis in found.axes] == [INTERVAL, FLAT]
    assert found.axes[1].labels == ("x", "y")
    assert found.rows == 3


def test_columns_come_in_any_order(view: Path) -> None:
    view.write_text("dx,city,age,id\nflu,x,41,a\n")
    assert read_view(view, SCHEMA).points.tolist() == [[41], [0]]


def test_a_view_may_have_no_rows(view: Path) -> None:
    view.write_text(HEADER)
    empty = {name: [] for name in ("id", "age", "city", "dx")}
    for source in (view, pd.DataFrame(empty), pl.DataFrame(empty), pa.table(empty)):
        found = read_view(source, SCHEMA)
        assert found.rows == 0
        assert found.points.shape == (2, 0)
        assert found.widths.tolist() == [0, 0]


def test_a_view_may_have_one_row(view: Path) -> None:
    view.write_text(HEADER + "a,41,x,flu\n")
    found = read_view(view, SCHEMA)
    assert found.rows == 1
    assert (found.axes[0].low, found.axes[0].high) == (41, 41)


def test_a_view_without_sensitive_column_has_one_code() -> None:
    found = read_view(pl.DataFrame({"age": [1, 2]}), Schema(None, [Number("age")]))
    assert found.codes.tolist() == [0, 0]
    assert found.identifiers is None


def test_insensitive_columns_are_left_as_they_are() -> None:
    found = read_view(frame(note=[True, None]), Schema("id", SCHEMA.quasi_identifiers, "dx", ["note"]))
    assert found.insensitive.to_dict(as_series=False) == {"note": [True, None]}


@pytest.mark.parametrize("cells", [[[1], [2]], [b"1", b"2"], [{"a": 1}, {"a": 2}]])
def test_cells_of_several_values_are_refused(cells: Any) -> None:
    with pytest.raises(ViewError, match="column note: a cell must be one text"):
        read_view(frame(note=cells), Schema("id", SCHEMA.quasi_identifiers, "dx", ["note"]))


class TestIdentifiers:
    def test_whole_numbers_are_written_in_decimal(self) -> None:
        numbers = read_view(frame(id=[7, -12]), SCHEMA).identifiers
        texts = read_view(frame(id=["7", "-12"]), SCHEMA).identifiers
        assert numbers is not None
        assert texts is not None
        assert numbers.equals(texts)
        assert np.array_equal(SECRET.pseudonyms(numbers), SECRET.pseudonyms(texts))

    def test_large_whole_numbers_keep_their_digits(self) -> None:
        found = read_view(frame(id=pl.Series([2**64 - 1, 2**53 + 1], dtype=pl.UInt64)), SCHEMA).identifiers
        assert found is not None
        assert found.to_list() == ["18446744073709551615", "9007199254740993"]

    def test_spaces_and_leading_zeros_make_another_person(self, view: Path) -> None:
        view.write_text(HEADER + "7,1,x,f\n007,1,x,f\n 7,1,x,f\n")
        assert read_view(view, SCHEMA).rows == 3

    def test_composed_and_decomposed_letters_are_one_person(self) -> None:
        with pytest.raises(ViewError, match="1 rows repeat an identifier"):
            read_view(frame(id=["\u00e9", "e\u0301"]), SCHEMA)

    @pytest.mark.parametrize(
        ("ids", "message"),
        [
            ([1.0, 2.0], "must be text or whole numbers; found Float64"),
            ([True, False], "found Boolean"),
            ([date(2020, 1, 1), date(2020, 1, 2)], "found Date"),
            (["SECRETCELL", None], "1 of 2 rows have none"),
            (["SECRETCELL", ""], "1 of 2 rows have none"),
            ([None, None], "2 of 2 rows have none"),
            (["SECRETCELL", "SECRETCELL"], "at most one row a person a view; 1 rows repeat"),
        ],
    )
    def test_what_names_nobody_is_refused(self, ids: Any, message: str) -> None:
        with pytest.raises(ViewError, match=message) as caught:
            read_view(frame(id=ids), SCHEMA)
        assert "SECRETCELL" not in str(caught.value)

    def test_pandas_whole_numbers_with_gaps_are_floats_and_refused(self) -> None:
        table = pd.DataFrame({"id": [1.0, 2.0], "age": [1, 2], "city": ["x", "y"], "dx": ["f", "g"]})
        with pytest.raises(ViewError, match="Write them as text"):
            read_view(table, SCHEMA)

    def test_a_list_of_people_is_the_column_of_that_name_each_once(self) -> None:
        assert read_identifiers(pl.DataFrame({"id": ["a", "b", "a"], "x": ["b"] * 3}), SCHEMA).to_list() == [
            "a",
            "b",
        ]
        with pytest.raises(ViewError, match="a column id, with that name in its first line"):
            read_identifiers(pl.DataFrame({"who": [3]}), SCHEMA)


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("1e3", 1000),
            (" 7 ", 7),
            ("+5", 5),
            (".5", 0.5),
            ("5.", 5),
            ("-0", 0),
            ("007", 7),
            ("9007199254740991", 2**53 - 1),
        ],
    )
    def test_many_spellings_are_numbers(self, view: Path, text: str, number: float) -> None:
        view.write_text(HEADER + f"a,{text},x,f\nb,1,x,f\n")
        assert read_view(view, SCHEMA).points[0, 0] == number

    @pytest.mark.parametrize(
        "text", ["SECRETCELL", "nan", "inf", "-inf", "1_000", "0x10", '"1,5"', "1 2", "1e999"]
    )
    def test_what_is_no_number_is_counted(self, view: Path, text: str) -> None:
        view.write_text(HEADER + f"a,{text},x,f\nb,1,x,f\nc,,x,f\n")
        with pytest.raises(
            ViewError, match="column age: cells must be numbers or empty; 1 of 3 are not"
        ) as caught:
            read_view(view, SCHEMA)
        assert "SECRETCELL" not in "".join(traceback.format_exception(caught.value))

    @pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53), 1e300])
    def test_numbers_that_lose_digits_are_refused(self, number: float) -> None:
        with pytest.raises(ViewError, match=r"from 2\^53 on"):
            one(Number("age"), [number, 1])

    def test_minus_zero_is_zero(self) -> None:
        assert np.signbit(one(Number("age"), [-0.0, 1.0]).points).tolist() == [[False, False]]

    @pytest.mark.parametrize(
        "values", [pa.array([1.5, None]), pa.array([1, None]), pa.nulls(2), pa.array([1, None], pa.uint8())]
    )
    def test_arrow_numbers_have_gaps(self, values: Any) -> None:
        found = read_view(pa.table({"age": values}), Schema(None, [Number("age")]))
        assert found.points[0, 1] == MISSING

    @pytest.mark.parametrize("values", [[1.0, np.nan], pd.array([1, None], dtype="Int64"), [1, None]])
    def test_pandas_numbers_have_gaps(self, values: Any) -> None:
        found = read_view(pd.DataFrame({"age": values}), Schema(None, [Number("age")]))
        assert found.points.tolist() == [[1, MISSING]]
        assert found.axes[0].whole_numbers

    def test_a_nan_of_polars_is_no_number(self) -> None:
        with pytest.raises(ViewError, match="1 of 2 are not"):
            one(Number("age"), [1.0, np.nan])

    @pytest.mark.parametrize("values", [[True, False], [date(2020, 1, 1)], [time(1)]])
    def test_other_types_are_refused(self, values: Any) -> None:
        with pytest.raises(ViewError, match="kind number cannot be read from type"):
            one(Number("age"), values)

    def test_the_domain_bounds_the_axis(self) -> None:
        axis = one(Number("age", domain=(0, 120)), [1, None]).axes[0]
        assert (axis.low, axis.high, axis.width, axis.whole_numbers) == (0, 120, 120, True)

    def test_values_outside_the_domain_are_counted(self) -> None:
        with pytest.raises(ViewError, match="column age: 2 values lie outside the domain"):
            one(Number("age", domain=(0, 120)), [0, 120, -1, 121, None])

    def test_decimals_are_not_whole(self) -> None:
        assert not one(Number("age"), [1, 1.5]).axes[0].whole_numbers


class TestDates:
    @pytest.mark.parametrize("text", ["2020-01-05", " 2020-01-05 ", "0001-01-01", "9999-12-31"])
    def test_days_are_numbered(self, text: str) -> None:
        days = (date.fromisoformat(text.strip()) - date(1970, 1, 1)).days
        assert one(Date("d"), [text, None]).points.tolist() == [[days, MISSING]]

    @pytest.mark.parametrize(
        "text",
        [
            "05/01/2020",
            "2020-1-5",
            "20-01-05",
            "20200105",
            "2020-02-30",
            "2020-01-05T10:00",
            "0000-01-01",
            "-001-01-01",
        ],
    )
    def test_other_spellings_are_refused(self, text: str) -> None:
        with pytest.raises(ViewError, match="dates as YYYY-MM-DD or empty; 1 of 2 are not"):
            one(Date("d"), [text, "2020-01-05"])

    def test_moments_are_read_by_their_day(self) -> None:
        assert one(Date("d"), [datetime(1970, 1, 2, 23, 59)]).points.tolist() == [[1]]
        table = pd.DataFrame({"d": pd.to_datetime(["1970-01-02", None])})
        assert read_view(table, Schema(None, [Date("d")])).points.tolist() == [[1, MISSING]]

    @pytest.mark.parametrize("values", [[time(1)], [pd.Timedelta(days=1).to_pytimedelta()], [1], [True]])
    def test_other_types_are_refused(self, values: Any) -> None:
        with pytest.raises(ViewError, match=r"kind date cannot be read from type|found Duration"):
            one(Date("d"), values)

    def test_years_beyond_9999_are_refused(self) -> None:
        with pytest.raises(ViewError, match="1 of 1 do not"):
            one(Date("d"), pl.Series([2932897], dtype=pl.Int32).cast(pl.Date))


class TestCategories:
    @pytest.mark.parametrize(
        ("values", "dtype", "labels"),
        [
            ([True, False, None], None, ("false", "true")),
            ([2, 1, None], None, ("1", "2")),
            ([1.0, 2.5, None], None, ("1", "2.5")),
            ([date(2020, 1, 5), None, None], None, ("2020-01-05",)),
            (["b", "a", None], pl.Enum(["b", "a"]), ("a", "b")),
            (["b", "a", None], pl.Categorical, ("a", "b")),
            ([None, None, None], pl.Null, ()),
        ],
    )
    def test_any_single_value_is_a_category(self, values: Any, dtype: Any, labels: tuple[str, ...]) -> None:
        assert one(Category("c"), values, dtype).axes[0].labels == labels

    def test_pandas_codes_with_gaps_are_the_codes_of_the_csv_file(self) -> None:
        found = read_view(pd.DataFrame({"c": [1.0, np.nan]}), Schema(None, [Category("c")]))
        assert found.axes[0].labels == ("1",)

    def test_there_may_be_very_many(self) -> None:
        found = one(Category("c"), [f"v{i:06d}" for i in range(70_000)])
        assert found.points[0].tolist() == list(range(70_000))

    def test_a_star_is_a_value_unless_it_is_listed_as_missing(self) -> None:
        assert one(Category("c"), ["*", "a"]).axes[0].labels == ("*", "a")
        schema = Schema(None, [Category("c")], missing=["*"])
        assert read_view(pl.DataFrame({"c": ["*", "a"]}), schema).points.tolist() == [[MISSING, 0]]

    def test_a_star_is_no_code_that_can_be_redacted(self) -> None:
        with pytest.raises(SchemaError, match="the same leaves at every level"):
            one(Category("c", hierarchy=Redaction()), ["*", "a"])

    def test_a_domain_closes_the_list(self) -> None:
        column = Category("c", domain=("b", "a"))
        assert one(column, ["a", "b", None]).points.tolist() == [[1, 0, MISSING]]
        with pytest.raises(
            ViewError, match="2 rows hold 1 values that its list in the schema does not know"
        ) as caught:
            one(column, ["SECRETCELL", "SECRETCELL", None])
        assert "SECRETCELL" not in str(caught.value)

    def test_ordered_values_are_their_rank(self) -> None:
        column = Ordered("c", order=("low", "high"))
        assert one(column, ["high", None, "low"]).points.tolist() == [[1, MISSING, 0]]
        with pytest.raises(ViewError, match="1 rows hold 1 values"):
            one(column, ["medium"])


class TestHierarchies:
    cities = Hierarchy((("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")))

    def test_a_leaf_is_its_place_in_the_tree(self) -> None:
        found = one(Category("c", hierarchy=self.cities), ["a", "b", "c", None])
        assert found.points.tolist() == [[0, 2, 1, MISSING]]
        assert found.axes[0].kind_code == TREE
        assert found.axes[0].labels == ("a", "c", "b")

    def test_an_unknown_leaf_says_how_to_amend(self) -> None:
        with pytest.raises(
            ViewError, match=r"2 rows hold 1 values that its hierarchy.*amend SERIES --hierarchy c=FILE"
        ):
            one(Category("c", hierarchy=self.cities), ["z", "z", "a"])

    def test_a_domain_closes_the_hierarchy_too(self) -> None:
        column = Category("c", hierarchy=self.cities, domain=("a", "b"))
        assert one(column, ["b"]).axes[0].labels == ("a", "b")
        with pytest.raises(ViewError, match="its list in the schema"):
            one(column, ["c"])

    def test_whole_numbers_are_leaves_without_a_point(self) -> None:
        found = one(Number("n", hierarchy=Intervals((5,))), [1.0, 7.5, None])
        assert found.axes[0].labels == ("1", "7.5")

    def test_rules_build_for_the_values_found(self) -> None:
        assert one(Category("z", hierarchy=Redaction()), ["12", "13"]).axes[0].labels == ("12", "13")
        ordered = Ordered("o", order=("a", "b", "c"), hierarchy=Neighbours((2,)))
        assert one(ordered, ["c"]).axes[0].labels == ("a", "b", "c")

    def test_a_view_without_any_value_has_an_empty_tree(self) -> None:
        assert one(Category("z", hierarchy=Redaction()), [None, None]).axes[0].width == 0


class TestSensitiveValues:
    def test_new_values_follow_the_known_ones(self) -> None:
        _, first = sensitive_codes(pl.Series("dx", ["m", "c"]), Category("dx"))
        assert first.to_list() == ["c", "m"]
        codes, second = sensitive_codes(pl.Series("dx", ["a", "m", None]), Category("dx"), first)
        assert (codes.tolist(), second.to_list()) == ([3, 1, 2], ["c", "m", None, "a"])
        codes, third = sensitive_codes(pl.Series("dx", ["c", None, "z"]), Category("dx"), second)
        assert (codes.tolist(), third.to_list()) == ([0, 2, 4], ["c", "m", None, "a", "z"])

    @pytest.mark.parametrize(
        ("column", "values", "expected"),
        [
            (Number("s"), [2.5, 1.0, None, -0.0], ([3, 2, 0, 1], [None, 0.0, 1.0, 2.5])),
            (Number("s"), ["10", "9", None, " 9"], ([2, 1, 0, 1], [None, 9.0, 10.0])),
            (Date("s"), ["2020-01-05", "0001-01-01"], ([1, 0], [date(1, 1, 1), date(2020, 1, 5)])),
            (Ordered("s", order=("low", "high")), ["high", None], ([1, 2], ["low", "high", None])),
            (Category("s", domain=("b", "a")), ["a"], ([1], ["b", "a"])),
            (Category("s"), [None, None], ([0, 0], [None])),
            (Category("s"), [True, False], ([1, 0], ["false", "true"])),
        ],
    )
    def test_every_kind_may_be_sensitive(self, column: Column, values: Any, expected: Any) -> None:
        assert sensitive(column, values) == expected

    @pytest.mark.parametrize(
        ("column", "values", "message"),
        [
            (
                Category("s", domain=("a",)),
                ["SECRETCELL"],
                "1 values are not among those that the schema lists",
            ),
            (Ordered("s", order=("a",)), ["SECRETCELL"], "1 values are not among those"),
            (Number("s", domain=(0, 9)), [1, 10], "1 values lie outside the domain"),
            (Number("s"), ["SECRETCELL"], "cells must be numbers"),
            (
                Category("s", hierarchy=Hierarchy((("a", "*"),))),
                ["SECRETCELL", None],
                "1 values are not in its hierarchy",
            ),
            (Category("s"), [["SECRETCELL"]], "a cell must be one text"),
        ],
    )
    def test_values_that_the_schema_excludes_are_counted(
        self, column: Column, values: Any, message: str
    ) -> None:
        with pytest.raises(ViewError, match=message) as caught:
            sensitive(column, values)
        assert "SECRETCELL" not in str(caught.value)

    def test_the_order_of_the_values_is_known(self) -> None:
        view = read_view(frame(dx=[10, 9]), Schema("id", SCHEMA.quasi_identifiers, Number("dx")))
        assert view.whole.order is not None
        assert view.values.gather(view.whole.order).to_list() == [9, 10]

    def test_the_hierarchy_of_the_values_is_known(self) -> None:
        table = Hierarchy((("f", "lung", "*"), ("g", "lung", "*"), ("h", "skin", "*")))
        schema = Schema("id", SCHEMA.quasi_identifiers, Category("dx", hierarchy=table))
        nodes = read_view(frame(dx=["g", None]), schema).whole.nodes
        assert nodes is not None
        assert nodes.shape == (2, 3)
        assert nodes[0, 2] == nodes[1, 2]
        assert nodes[0, 1] != nodes[1, 1]


class TestPseudonyms:
    def test_the_rows_come_in_the_order_of_the_pseudonyms(self) -> None:
        one_way = read_view(frame(), SCHEMA).pseudonymous(SECRET)
        other_way = read_view(frame().reverse(), SCHEMA).pseudonymous(SECRET)
        assert one_way.identifiers is None
        assert one_way.people is not None
        assert other_way.people is not None
        assert np.array_equal(one_way.people, other_way.people)
        assert np.array_equal(one_way.points, other_way.points)
        assert np.array_equal(one_way.codes, other_way.codes)

    def test_without_identifiers_nobody_is_recognised(self) -> None:
        with pytest.raises(SchemaError, match="needs an identifier column"):
            one(Number("age"), [1]).pseudonymous(SECRET)

    def test_a_digest_changes_with_a_quasi_identifier_only(self) -> None:
        before = digests()
        assert (digests(dx=["g", "f"]) == before).all()
        assert (digests(city=["x", "z"]) == before).tolist() == [True, False]
        assert (digests(city=["x", None]) == before).tolist() == [True, False]

    def test_another_place_in_the_list_of_labels_is_no_change(self) -> None:
        assert digests(city=["x", "a"])[0] == digests()[0]

    def test_equal_rows_of_different_people_have_different_digests(self) -> None:
        same = digests(age=[1, 1], city=["x", "x"])
        assert same[0] != same[1]

    def test_a_digest_is_no_sum_of_words_of_cells(self) -> None:
        """In form 1 the words of two ages in two cities add up alike, which gives the cells away."""
        four = {"id": list("abcd"), "age": [1, 2, 1, 2], "city": ["x", "y", "y", "x"], "dx": "f"}
        sums, words = digests(SUMS_OF_CELLS, **four), digests(**four)
        assert sums[:2].sum() == sums[2:].sum()
        assert words[:2].sum() != words[2:].sum()

    def test_a_digest_is_one_keyed_hash_of_pseudonym_and_cells(self) -> None:
        person, cells = SECRET.pseudonyms(["a"]).astype(">u8").tobytes(), digests(SUMS_OF_CELLS)[0]
        message = person + int(cells).to_bytes(8, "big")
        found = hashlib.blake2b(message, key=SECRET.key, digest_size=8, person=b"republish-row").digest()
        assert int(digests()[0]) == int.from_bytes(found, "big")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "é", "|", "", "x y", None]), max_size=12), st.booleans())
def test_positions_and_codes_decode_to_the_values(values: list[str | None], pandas: bool) -> None:
    columns = {"c": values, "s": values}
    source = (
        pd.DataFrame(columns, dtype=object)
        if pandas
        else pl.DataFrame(columns, schema={"c": pl.String, "s": pl.String})
    )
    view = read_view(source, Schema(None, [Category("c")], "s"))
    labels = [None if at == MISSING else view.axes[0].labels[int(at)] for at in view.points[0]]
    expected = [value or None for value in values]
    assert labels == expected
    assert view.values.gather(view.codes).to_list() == expected


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_view_or_an_error_of_ours(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "view.csv")
        path.write_bytes(b"id,age,city,dx\n" + content)
        with suppress(RepublishError):
            assert read_view(path, SCHEMA).rows >= 0
