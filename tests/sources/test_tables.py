from __future__ import annotations

import csv
import io
import subprocess
import sys
import traceback
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

from republish.errors import ViewError
from republish.sources.files.csv_files import _count_cells, _count_unquoted
from republish.sources.postgres.address import address_of
from republish.sources.tables import header, read_table


@pytest.fixture
def view(tmp_path: Path) -> Path:
    return tmp_path / "view.csv"


def rows(path: Path, content: str | bytes, *missing: str) -> list[tuple[Any, ...]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, missing).rows()


@pytest.mark.parametrize(
    "content",
    [
        "id,age\na,1\nb,2\n",
        "id,age\r\na,1\r\nb,2\r\n",
        "id,age\na,1\nb,2",
        "\ufeffid,age\na,1\nb,2\n",
        "id;age\na;1\nb;2\n",
        "id\tage\na\t1\nb\t2\n",
        "id|age\na|1\nb|2\n",
        '"id","age"\n"a","1"\n"b","2"\n',
        "id,age\na,1\nb,2\n\n\n",
        "id,age\r\na,1\r\nb,2\r\n\r\n",
    ],
)
def test_one_table_in_many_spellings(view: Path, content: str) -> None:
    assert rows(view, content) == [("a", "1"), ("b", "2")]
    assert header(view) == ["id", "age"]


@pytest.mark.parametrize(
    ("content", "cell"),
    [
        ('id,x\na,"1,5"\n', "1,5"),
        ('id,x\na,"say ""hi"""\n', 'say "hi"'),
        ('id,x\na,"two\nlines"\n', "two\nlines"),
        ('id,x\na,"two\r\nlines"\n', "two\r\nlines"),
        ("id,x\na, padded \n", " padded "),
        ("id,x\na,007\n", "007"),
        ("id,x\n#a,=1+1\n", "=1+1"),
        ("id,x\na,e\u0301\n", "e\u0301"),
    ],
)
def test_a_cell_is_never_altered(view: Path, content: str, cell: str) -> None:
    assert rows(view, content)[0][1] == cell


def test_empty_cells_and_marks_are_missing(view: Path) -> None:
    assert rows(view, 'x,y\n,""\nNA,"NA"\n?,a\n', "NA", "?") == [(None, None), (None, None), (None, "a")]


def test_a_blank_line_of_a_one_column_table_is_a_missing_cell(view: Path) -> None:
    assert rows(view, "x\na\n\nb\n") == [("a",), (None,), ("b",)]


@pytest.mark.parametrize("content", ["id,age\n", "id,age"])
def test_a_header_alone_is_a_table_without_rows(view: Path, content: str) -> None:
    assert rows(view, content) == []
    assert read_table(view).columns == ["id", "age"]


def test_a_header_may_hold_quoted_separators_and_line_breaks(view: Path) -> None:
    assert rows(view, 'id,"a;b;c\nd"\nx,1\n') == [("x", "1")]
    assert header(view) == ["id", "a;b;c\nd"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"id,age\nSECRETCELL\n", "2 cells, as the header; 1 of 1 records do not, the first at record 1"),
        (b"id,age\na,1\nb,SECRETCELL,3\nc\n", "2 of 3 records do not, the first at record 2"),
        (b"id,age\na,1\n\nb,2\n", "1 of 3 records do not, the first at record 2"),
        (b'id,age\na,"SECRETCELL\nb,2\n', "1 of 1 records do not"),
        (b'id,age\na,"SECRETCELL"x\nb,2\n', "check quotes"),
        (b"id,age\ra,SECRETCELL\r", "they end in CR"),
        (b"id,id\n", "the same name"),
        (b"id,age\nSECRETCELL\xe9,1\n", "must be in UTF-8"),
        (b"\xe9,age\n", "must be in UTF-8"),
        (b"id,age\n" + b"a,1\n" * 50_000 + b"SECRETCELL,\xe9\n", "must be in UTF-8"),
        ("id,age\nSECRETCELL,1\n".encode("utf-16")[:-1], "must be in utf-16, and holds other bytes"),
    ],
)
def test_a_file_that_is_no_table_is_refused(view: Path, content: bytes, message: str) -> None:
    view.write_bytes(content)
    with pytest.raises(ViewError, match=message) as caught:
        read_table(view)
    assert "SECRETCELL" not in "".join(traceback.format_exception(caught.value)).replace(str(content), "")


def test_a_damaged_parquet_file_is_refused(view: Path) -> None:
    view.write_bytes(b"PAR1SECRETCELL")
    with pytest.raises(ViewError, match="cannot be read as one"):
        read_table(view)


def test_a_parquet_file_is_known_by_its_first_bytes(view: Path) -> None:
    pl.DataFrame({"id": ["a"], "age": [1]}).write_parquet(view)
    assert read_table(view).rows() == [("a", 1)]
    assert header(view) == ["id", "age"]


def test_absent_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ViewError, match="there is no file"):
        read_table(tmp_path / "no.csv")
    with pytest.raises(ViewError, match="is a folder"):
        read_table(str(tmp_path))


class TestNumbers:
    def test_a_column_of_numbers_comes_as_numbers(self, view: Path) -> None:
        view.write_text("x,y\n1,1\n,2\n1e3,3\nNA,4\n")
        assert read_table(view, ["NA"], ["x", "z"]).rows() == [
            (1.0, "1"),
            (None, "2"),
            (1000.0, "3"),
            (None, "4"),
        ]

    def test_one_cell_that_is_none_leaves_the_column_as_text(self, view: Path) -> None:
        view.write_text("x,y\n1,1\n 7 ,2\n")
        assert read_table(view, (), ["x", "y"]).rows() == [("1", "1"), (" 7 ", "2")]

    @settings(max_examples=80, deadline=None)
    @given(st.text("0123456789+-.eE_ xnaif", min_size=1, max_size=6))
    def test_both_ways_read_the_same_number(self, text: str) -> None:
        data = io.StringIO()
        csv.writer(data, lineterminator="\n").writerows([["x", "y"], [text, "1"]])
        with TemporaryDirectory() as folder:
            path = Path(folder, "view.csv")
            path.write_text(data.getvalue())
            fast = read_table(path, (), ["x"])["x"]
        slow = pl.Series([text]).str.strip_chars().cast(pl.Float64, strict=False)
        if fast.dtype == pl.Float64:
            assert fast.equals(slow.alias("x")), text


class TestMemory:
    @pytest.mark.parametrize(
        "build", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, pa.RecordBatch.from_pydict]
    )
    def test_any_table_becomes_a_frame(self, build: Any) -> None:
        assert read_table(build({"id": ["a", "b"], "age": [1, 2]})).rows() == [("a", 1), ("b", 2)]

    def test_a_stream_of_batches_becomes_a_frame(self) -> None:
        assert read_table(pa.table({"id": ["a"]}).to_reader()).rows() == [("a",)]

    def test_whatever_offers_an_arrow_stream_becomes_a_frame(self) -> None:
        class Offering:
            def __arrow_c_stream__(self, requested: Any = None) -> Any:
                return pa.table({"id": ["a"], "age": [1]}).__arrow_c_stream__(requested)

        assert read_table(Offering()).rows() == [("a", 1)]

    def test_a_duckdb_relation_becomes_a_frame(self) -> None:
        code = (  # in a process of its own: the library says on leaving what it leaks
            "import duckdb; from republish.sources.tables import read_table\n"
            "print(read_table(duckdb.sql(\"select 'a' as id, 1 as age, date '2020-01-05' as d\")).rows())"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "[('a', 1, datetime.date(2020, 1, 5))]\n"

    def test_pandas_missing_values_are_null(self) -> None:
        table = pd.DataFrame(
            {
                "f": [1.5, np.nan],
                "o": ["a", None],
                "n": [np.nan, "b"],
                "i": pd.array([1, None], dtype="Int64"),
                "s": pd.array(["x", None], dtype="string"),
                "c": pd.Categorical(["x", None]),
                "b": [True, None],
                "t": pd.to_datetime(["2020-01-05", None]),
                "e": [None, None],
            }
        )
        assert [column.null_count() for column in read_table(table)] == [1, 1, 1, 1, 1, 1, 1, 1, 2]

    def test_dictionaries_categories_and_views_become_text(self) -> None:
        arrow = pa.table(
            {
                "v": pa.array(["x", ""], pa.string_view()),
                "d": pa.array(["x", None]).dictionary_encode(),
                "l": pa.array(["x", "NA"], pa.large_string()),
            }
        )
        frame = pl.DataFrame({"c": ["x", None], "e": ["x", "NA"]}).cast(
            {"c": pl.Categorical, "e": pl.Enum(["NA", "x"])}
        )
        assert read_table(arrow, ["NA"]).rows() == [("x", "x", "x"), (None, None, None)]
        assert read_table(frame, ["NA"]).rows() == [("x", "x"), (None, None)]

    def test_the_given_table_is_not_modified(self) -> None:
        table = pl.DataFrame({"x": ["", "NA"]})
        read_table(table, ["NA"])
        assert table["x"].to_list() == ["", "NA"]

    @pytest.mark.parametrize(
        "table",
        [
            pd.DataFrame({"x": [1, "SECRETCELL"]}, dtype=object),
            pd.DataFrame({"x": ["SECRETCELL", 1.5]}, dtype=object),
            pd.DataFrame({"x": [object(), object()]}),
            pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}),
            pl.LazyFrame({"x": ["SECRETCELL"]}).cast(pl.Int64),
        ],
    )
    def test_mixed_types_are_refused(self, table: Any) -> None:
        with pytest.raises(ViewError, match="one type a column") as caught:
            read_table(table)
        assert "SECRETCELL" not in "".join(traceback.format_exception(caught.value))

    @pytest.mark.parametrize(
        "table",
        [
            pd.DataFrame([["a", "b"]], columns=["x", "x"]),
            pa.Table.from_arrays([pa.array(["a"])] * 2, ["x", "x"]),
        ],
    )
    def test_equal_names_are_refused(self, table: Any) -> None:
        with pytest.raises(ViewError, match="the same name"):
            read_table(table)

    @pytest.mark.parametrize(
        "source", [None, 3, [1], {"x": ["SECRETCELL"]}, pl.Series(["SECRETCELL"]), np.eye(2)]
    )
    def test_what_is_no_table_is_refused(self, source: Any) -> None:
        with pytest.raises(ViewError, match=f"found {type(source).__name__}") as caught:
            read_table(source)
        assert "SECRETCELL" not in str(caught.value)


CELLS = st.text('a",;\n\r é', max_size=4)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6),
    st.integers(1, 4),
    st.sampled_from(["\n", "\r\n"]),
)
def test_records_and_cells_are_counted_as_the_csv_module_does(
    records: list[list[str]], width: int, end: str
) -> None:
    data = io.StringIO()
    names = [f"c{i}" for i in range(width)]
    csv.writer(data, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([names, *records])
    found = _count_cells(np.frombuffer(data.getvalue().encode(), dtype=np.uint8), ord(","), width)
    ragged = [i for i, record in enumerate(records, 1) if len(record) != width]
    assert found == (len(records), len(ragged), ragged[0] if ragged else 0, 0)


@given(st.text("a,,\n\n\r", min_size=1, max_size=25), st.integers(1, 3))
def test_files_without_quotes_are_counted_alike_in_columns(text: str, width: int) -> None:
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    assert _count_unquoted(data, ord(","), width) == _count_cells(data, ord(","), width)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(CELLS, CELLS), max_size=6), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"])
)
def test_whatever_the_csv_module_writes_is_read(
    records: list[tuple[str, str]], separator: str, end: str
) -> None:
    quoting = csv.QUOTE_ALL if any("\r" in x + y for x, y in records) else csv.QUOTE_MINIMAL
    with TemporaryDirectory() as folder:
        path = Path(folder, "view.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting)
            writer.writerows([("x", "y"), *records])
        assert read_table(path).rows() == [(x or None, y or None) for x, y in records]


ADDRESSES = {
    "postgresql://me@host/db/visits": ("db", None, "visits", None),
    "postgres://host:5433/db/clinic.visits?sslmode=require": ("db", "clinic", "visits", None),
    "postgresql+psycopg://host/db/a%2Eb.c%20d": ("db", "a.b", "c d", None),
    "postgresql://host/db?query=SELECT a, b FROM t WHERE x LIKE 'a%' AND y = '?&'; ": (
        "db", None, None, "SELECT a, b FROM t WHERE x LIKE 'a%' AND y = '?&'",
    ),
    "postgresql:///db?service=clinic&query=SELECT%201": ("db", None, None, "SELECT 1"),
    "postgresql://host/db": ("db", None, None, None),
}  # fmt: skip


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_names_a_database_and_a_table_or_a_query(text: str) -> None:
    found = address_of(text, ViewError)
    assert (found.url.database, found.schema, found.table, found.query) == ADDRESSES[text]
    assert found.url.drivername == "postgresql+psycopg"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:hunter2@host/db/t",
        "postgresql://me:@host/hunter2/t",
        "postgresql://host/db/t?password=hunter2",
        "postgresql://host/db?sslpassword=hunter2&query=SELECT 1",
        "postgresql://host:hunter2/db/t",
        "postgresql://host/db/t/hunter2",
    ],
)
def test_an_address_with_a_password_or_of_another_form_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ViewError, match=r"must not hold a password|must look like") as caught:
        read_table(text)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value)).replace(text, "")
    assert "hunter2" not in str(caught.value)


def test_a_database_without_its_driver_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ViewError, match=r"republish\[postgres\]"):
        read_table("postgresql://host/db/t")


def test_a_plain_path_loads_no_database_library() -> None:
    code = (
        "import sys; from republish.sources.tables import read_table\n"
        "try: read_table('nowhere.csv')\n"
        "except Exception: pass\n"
        "print({'sqlalchemy', 'psycopg'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
