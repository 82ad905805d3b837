"""The view of the last release is recognised, whatever file, order and engine it comes by; any change is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish import Category, NothingNew, Number, Schema, Series, TauSafety
from republish.parts import Engine, Here
from republish.publishing import view_digest
from republish.publishing.view_digest import KEY, contents_sum, together

SCHEMA = Schema("id", [Number("age")], Category("dx"), insensitive=["ward"])
ENGINES = pytest.mark.parametrize("engine", [None, Here(parts=2)], ids=["whole", "in parts"])


def view(rows: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": [20 + i % 30 for i in range(rows)],
            "dx": [f"d{i % 5}" for i in range(rows)],
            "ward": [None if i == 7 else i % 3 for i in range(rows)],
        }
    )


@pytest.fixture
def series(tmp_path: Path) -> Series:
    made = Series.create(tmp_path / "s", SCHEMA, TauSafety(2), seed=3)
    made.publish(view())
    return made


def everything(series: Series) -> dict[str, bytes]:
    skipped = ("lock", "ledger.db-wal", "ledger.db-shm")
    return {
        str(path): path.read_bytes()
        for path in series.root.rglob("*")
        if path.is_file() and path.name not in skipped
    }


@ENGINES
@pytest.mark.parametrize("dry_run", [False, True])
def test_the_view_of_the_last_release_is_nothing_new_and_nothing_is_written(
    series: Series, engine: Engine | None, dry_run: bool
) -> None:
    before = everything(series)
    with pytest.raises(NothingNew, match=r"nothing new: .* this very view, 40 rows.*--same-view, in Python"):
        series.publish(view(), engine=engine, dry_run=dry_run)
    assert everything(series) == before


@ENGINES
def test_a_release_that_tells_that_nothing_changed_is_made_where_it_is_meant(
    series: Series, engine: Engine | None
) -> None:
    assert series.publish(view(), engine=engine, meant=["same-view"]).meant == ("same-view",)
    assert series.records[1].payload["meant"] == ["same-view"]
    assert series.verify().holds


def test_what_is_meant_and_is_not_so_is_not_recorded(series: Series) -> None:
    assert series.publish(view(39), meant=["same-view"]).meant == ()


@pytest.mark.parametrize("form", ["csv", "parquet", "columns", "rows"])
def test_files_and_orders_do_not_matter(series: Series, tmp_path: Path, form: str) -> None:
    again = view()
    source: Path | pl.DataFrame = tmp_path / f"view.{form}"
    if form == "csv":
        again.write_csv(source)
    elif form == "parquet":
        again.write_parquet(source)
    else:
        source = again.select("dx", "ward", "age", "id") if form == "columns" else again.reverse()
    with pytest.raises(NothingNew):
        series.publish(source)


@pytest.mark.parametrize(
    "change",
    [
        pl.when(pl.col("id") == "p3").then(pl.lit("d9")).otherwise("dx").alias("dx"),
        pl.when(pl.col("id") == "p3").then(pl.lit(99)).otherwise("age").alias("age"),
        pl.when(pl.col("id") == "p3").then(pl.lit(9)).otherwise("ward").alias("ward"),
        pl.when(pl.col("id") == "p3").then(None).otherwise("ward").alias("ward"),
        pl.when(pl.col("id") == "p3").then(pl.lit("p99")).otherwise("id").alias("id"),
    ],
    ids=["value", "quasi-identifier", "insensitive", "missing", "person"],
)
def test_one_changed_cell_is_another_view(series: Series, change: pl.Expr) -> None:
    assert series.publish(view().with_columns(change)).number == 2


def test_two_people_who_exchange_values_are_another_view(series: Series) -> None:
    swap = {"p1": "d2", "p2": "d1"}
    changed = view().with_columns(dx=pl.col("id").replace_strict(swap, default=pl.col("dx")))
    assert changed["dx"].sort().equals(view()["dx"].sort())
    assert series.publish(changed).number == 2


def test_one_process_and_parts_have_one_digest(series: Series) -> None:
    for engine in (Here(parts=2), Here(parts=5)):
        series.publish(view(), engine=engine, meant=["same-view"])
    assert len({entry.payload[KEY] for entry in series.records}) == 1


def test_other_secrets_have_other_digests(tmp_path: Path) -> None:
    found = set()
    for name in ("a", "b"):
        made = Series.create(tmp_path / name, SCHEMA, TauSafety(2), seed=3)
        made.publish(view())
        found.add(made.records[0].payload[KEY])
    assert len(found) == 2
    assert {len(one) for one in found} == {64}


def test_a_release_of_an_earlier_version_has_no_digest_and_no_check(
    series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_digest, "KEY", "unknown")
    assert series.publish(view()).number == 2


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.integers(0, 30))
def test_sums_of_parts_are_those_of_the_whole(words: list[int], cut: int) -> None:
    whole = np.array(words, dtype=np.uint64)
    assert together([(0, 0), contents_sum(whole[:cut]), contents_sum(whole[cut:])]) == contents_sum(whole)
