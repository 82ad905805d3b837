"""What a series refuses when something around it was touched: files, settings, lists, dates, folders."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from republish import (
    Category,
    Hierarchy,
    LedgerError,
    Mondrian,
    Number,
    PolicyError,
    Schema,
    Series,
    ViewError,
)
from republish.ledger import crash_points
from republish.publishing.maintenance import forget


def test_an_altered_memory_is_refused_and_not_replaced(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    (name,) = series.memory_files()
    path = series.ledger.path(name)
    pl.read_parquet(path).head(10).write_parquet(path)
    with pytest.raises(LedgerError, match="missing or was altered"):
        series.publish(views[1])
    assert len(series.records) == 1
    assert not series.verify().holds


def test_a_missing_release_stops_the_next_publish(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    (series.root / "releases/0001/table.csv").unlink()
    with pytest.raises(LedgerError, match=r"table.csv is missing"):
        series.publish(views[1])


def test_a_list_of_people_needs_its_header(series: Series, views: list[Path], tmp_path: Path) -> None:
    series.publish(views[0])
    (tmp_path / "ids.csv").write_text("\n".join(pl.read_csv(views[0])["patient"].head(3)) + "\n")
    with pytest.raises(ViewError, match="a column patient"):
        forget(series, tmp_path / "ids.csv")


def test_a_date_in_the_future_is_refused(series: Series, views: list[Path]) -> None:
    with pytest.raises(PolicyError, match="in the future"):
        series.publish(views[0], as_of="9999-12-31")


def test_settings_that_do_nothing_are_refused(series: Series) -> None:
    with (series.root / "series.toml").open("a") as file:
        file.write("\n[guard]\nmax_gain = 0.01\n")
    with pytest.raises(PolicyError, match="no setting guard"):
        Series.open(series.root)


def test_a_column_name_never_leads_out_of_the_folder(tmp_path: Path) -> None:
    hierarchy = Hierarchy((("a", "*"), ("b", "*")))
    schema = Schema("id", [Number("age"), Category("../../evil", hierarchy=hierarchy)], "dx")
    Series.create(tmp_path / "deep" / "s", schema, Mondrian(2))
    assert not list(tmp_path.glob("*evil*"))
    assert not list((tmp_path / "deep").glob("*evil*"))
    assert Series.open(tmp_path / "deep" / "s").schema.column("../../evil").hierarchy == hierarchy


def test_a_failed_init_leaves_nothing(series: Series, tmp_path: Path) -> None:
    with pytest.raises(LedgerError):
        Series.create(tmp_path / "bad", series.schema, Mondrian(2), ledger="nonsense://x")
    assert not (tmp_path / "bad").exists()


def test_a_pipe_is_no_view(series: Series, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "view.csv")
    with pytest.raises(ViewError, match="regular file"):
        series.publish(tmp_path / "view.csv")


def test_a_dropped_column_is_nowhere_in_a_release(tmp_path: Path) -> None:
    schema = Schema("id", [Number("age")], "dx", dropped=["remark"])
    table = pl.DataFrame(
        {"id": ["a", "b"], "age": [1, 2], "dx": ["flu", "cold"], "remark": ["SECRETCELL"] * 2}
    )
    series = Series.create(tmp_path / "s", schema, Mondrian(2))
    series.publish(table)
    assert b"SECRETCELL" not in b"".join(p.read_bytes() for p in (tmp_path / "s").rglob("*") if p.is_file())


@pytest.mark.parametrize("harm", ["other cells", "same size", "another file", "no file"])
def test_a_staged_table_that_changes_after_it_was_verified_is_not_committed(
    series: Series, views: list[Path], harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(point: str) -> None:
        if point != "verified":
            return
        (staged,) = (series.root / "private" / "staging").iterdir()
        table = staged / "table.csv"
        if harm == "other cells":
            table.write_text("patient\nall of them\n")
        elif harm == "same size":
            table.write_bytes(table.read_bytes()[::-1])
        elif harm == "another file":
            (staged / "raw.csv").write_text("raw")
        else:
            table.unlink()

    monkeypatch.setattr(crash_points, "reach", change)
    with pytest.raises(LedgerError, match="are not those that were checked"):
        series.publish(views[0])
    monkeypatch.undo()
    assert not series.records and not list((series.root / "releases").iterdir())
    assert series.publish(views[0]).number == 1
