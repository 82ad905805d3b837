"""Tables in one file or in parts, and the addresses of places."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from republish import LedgerError
from republish.sources.paths import (
    exists,
    nearby,
    parquet_rows,
    parquet_schema,
    place_of,
    read_csv,
    read_parquet,
    write_csv,
    write_parquet,
)

FIRST = pl.DataFrame({"group": pl.Series([1, 2], dtype=pl.Int32), "ward": [["a"], ["b"]]})
SECOND = pl.DataFrame(
    {"group": pl.Series([3, 4], dtype=pl.Int64), "age_missing": [None, True], "ward": [["a", "b"], None]}
)
THIRD = pl.DataFrame(
    {"group": pl.Series([], dtype=pl.Int32), "ward": pl.Series([], dtype=pl.List(pl.String))}
)


@pytest.fixture(params=["folder", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A table of three parts, written in another order than that of their names."""
    if request.param == "memory":
        pytest.importorskip("upath")
    place = (
        tmp_path if request.param == "folder" else place_of(f"memory://{tmp_path.name}/{request.node.name}")
    )
    place = place / "table.parquet"
    place.mkdir()
    for part, frame in ((2, THIRD), (1, SECOND), (0, FIRST)):
        write_parquet(frame, place / f"part-{part:05d}.parquet")
    (place / "_SUCCESS").write_bytes(b"")
    return place


def test_parts_are_one_table_in_the_order_of_their_names(table: Path) -> None:
    found = read_parquet(table)
    assert found["group"].to_list() == [1, 2, 3, 4]
    assert found["ward"].to_list() == [["a"], ["b"], ["a", "b"], None]
    assert found["age_missing"].to_list() == [False, False, None, True]
    assert parquet_rows(table) == 4
    assert parquet_schema(table) == {"group": pl.Int64, "ward": pl.List(pl.String), "age_missing": pl.Boolean}


def test_one_column_is_read_from_the_parts_that_have_it(table: Path) -> None:
    assert read_parquet(table, ["age_missing"])["age_missing"].to_list() == [False, False, None, True]
    assert read_parquet(table, ["ward", "group"]).columns == ["ward", "group"]


def test_a_column_that_no_part_has_is_an_error(table: Path) -> None:
    with pytest.raises(LedgerError, match="no part of a table has 1 of its columns"):
        read_parquet(table, ["nothing"])


def test_files_in_a_list_keep_their_order(table: Path) -> None:
    names = ("part-00001.parquet", "part-00000.parquet")
    assert read_parquet([table / name for name in names])["group"].to_list() == [3, 4, 1, 2]


def test_a_folder_without_parts_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_parquet(tmp_path)


def test_a_table_comes_nearby_and_goes_again(table: Path) -> None:
    with nearby(table) as path:
        assert isinstance(path, Path)
        assert read_parquet(path).equals(read_parquet(table))
    with nearby(table / "part-00000.parquet") as path:
        assert pl.read_parquet(path).equals(FIRST)
    assert exists(table)
    assert path.exists() == isinstance(table, Path)


def test_text_tables_are_written_and_read_anywhere(table: Path) -> None:
    counted = pl.DataFrame({"group": [1], "count": [2]})
    write_csv(counted, table.parent / "counterfeits.csv")
    assert read_csv(table.parent / "counterfeits.csv").equals(counted)
    assert not exists(table.parent / "nothing")


@pytest.mark.parametrize("address", ["/a/b c", "file:///a/b%20c", "local:///a/b%20c"])
def test_a_folder_of_this_machine_is_a_plain_path(address: str) -> None:
    assert place_of(address) == Path("/a/b c")
    assert isinstance(place_of(address), Path)


@pytest.mark.parametrize(
    "address",
    [
        "s3://user:hunter2@bucket/folder",
        "sftp://user@host/folder",
        "simplecache::s3://b/f",
        "s3://b/f?key=hunter2",
    ],
)
def test_addresses_with_users_or_settings_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(LedgerError, match="must be plain") as refused:
        place_of(address)
    assert "hunter2" not in str(refused.value)


def test_a_file_system_that_nobody_knows_is_refused() -> None:
    pytest.importorskip("upath")
    with pytest.raises(LedgerError, match="no file system for nonsense://"):
        place_of("nonsense://a/b")


def test_a_plain_path_needs_no_fsspec(tmp_path: Path) -> None:
    """Reading and writing a series in a folder works where neither fsspec nor universal_pathlib is installed."""
    child = (
        "import sys; sys.modules['fsspec'] = sys.modules['upath'] = None\n"
        "from republish import *; import polars as pl\n"
        "schema = Schema('id', [Number('age')], Category('dx'))\n"
        f"s = Series.create({str(tmp_path / 's')!r}, schema, Mondrian(2), one_table=True)\n"
        "s.publish(pl.DataFrame({'id': ['a', 'b'], 'age': [1, 2], 'dx': ['x', 'y']}))\n"
        "assert s.verify().holds\n"
        "from republish.sources.paths import place_of\n"
        "try: place_of('s3://b/f')\n"
        "except LedgerError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "republish[stores]" in done.stdout
