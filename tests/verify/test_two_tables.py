"""`verify` recomputes what two tables promise, and finds a hand-made violation of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from republish import (
    JSReduce,
    Mondrian,
    Number,
    PolicyError,
    Schema,
    Series,
    TauSafety,
    TwoTables,
    parse_requirements,
)
from republish.errors import SchemaError, ViewError
from republish.parts import Here
from republish.release.two_tables import stored_release
from republish.verify.two_tables import verify_release, verify_two_tables

SCHEMA = Schema("id", [Number("age"), Number("weight")], "dx")
VALUES = ("flu", "cold", "hiv", "gout")


def view(week: int = 0) -> pl.DataFrame:
    people = range(week, 60 + week)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in people],
            "age": [20 + 7 * i % 31 for i in people],
            "weight": [60 + 11 * i % 23 for i in people],
            "dx": [VALUES[i % 4] for i in people],
        }
    )


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    made = Series.create(tmp_path_factory.mktemp("two") / "s", SCHEMA, TauSafety(m=2), form=TwoTables(k=4))
    for week in range(3):
        made.publish(view(week))
    return made


def checked(folder: Path, k: int = 4, of_people: bool = True) -> dict[str, bool]:
    cells = parse_requirements(f"k={k}") if of_people else None
    found = verify_release(folder, SCHEMA, parse_requirements("probabilistic-l=2"), cells)
    return {check.promise: check.holds for check in found.checks}


def test_a_series_in_two_tables_verifies(series: Series) -> None:
    found = series.verify()
    assert found.holds
    assert [check.promise for check in found.releases[2].checks] == [
        "people: k=4",
        "people: uniform groups",
        "probabilistic-l=2",
        "people: same tables",
        "same tables",
        "counterfeit statistics",
        "batches",
        "membership",
        "tau-safety=2: constant signatures",
        "tau-safety=2: returns",
        "kept-cuts: laminar",
    ]


def test_the_form_must_be_the_promised_one(series: Series) -> None:
    folder = series.ledger.folder(1)
    assert checked(folder, of_people=False) == {"form": False}


def test_a_larger_k_does_not_hold(series: Series) -> None:
    assert not checked(series.ledger.folder(1), k=30)["people: k=30"]


def _edited(folder: Path, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    file = folder / name
    change(pl.read_parquet(file)).write_parquet(file)


CHANGES: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "people: uniform groups": (
        "people.parquet",
        lambda t: t.with_columns(
            pl.when(pl.int_range(pl.len()) == 0).then(1).otherwise("age_lo").alias("age_lo")
        ),
    ),
    "people: same tables": ("people.parquet", lambda t: t.with_columns(pl.col("batch").reverse())),
    "same tables": ("values.parquet", lambda t: t.with_columns(pl.col("count") + 1)),
    "batches": ("values.parquet", lambda t: t.head(t.height - 1)),
    "probabilistic-l=2": (
        "values.parquet",
        lambda t: t.with_columns(
            pl.when(pl.int_range(pl.len()) == 0).then(99).otherwise("count").alias("count")
        ),
    ),
}


@pytest.mark.parametrize("broken", CHANGES)
def test_an_edited_table_is_found(series: Series, tmp_path: Path, broken: str) -> None:
    import shutil

    folder = tmp_path / "release"
    shutil.copytree(series.ledger.folder(1), folder)
    assert all(checked(folder).values())
    _edited(folder, *CHANGES[broken])
    assert not checked(folder)[broken]


def test_publishers_whose_promises_fall_to_event_lists_are_refused(tmp_path: Path) -> None:
    from republish import CorSplit, MInvariance

    for publisher in (MInvariance(m=2), CorSplit(m=2, n=2)):
        with pytest.raises(PolicyError, match="choose tau-safety"):
            Series.create(tmp_path / "s", SCHEMA, publisher, form="two-tables")


def test_batches_of_tau_safety_are_whole_buckets(series: Series) -> None:
    with stored_release(series.ledger.folder(1)) as stored:
        rows = pl.DataFrame([stored.values["group"], stored.values["dx"]])
    sets = rows.unique().sort("dx").group_by("group").agg("dx")
    assert sets["dx"].n_unique() == sets.height  # no two batches with the same signature
    heights = rows.group_by("group", "dx").len().group_by("group").agg(pl.col("len").n_unique())
    assert heights["len"].to_list() == [1] * sets.height


def test_one_table_publishers_make_batches_too(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, Mondrian(k=5), form=TwoTables(k=3), one_table=True)
    made.publish(view())
    assert made.verify().holds


def two(people: str, values: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables of another tool: cell and batch of every person as digits and letters, values as letter, value, count."""
    lines = [(f"[{cell}0-{cell}9]", "*", batch) for cell, batch in (word for word in people.split())]
    counts = [(word[0], VALUES[int(word[1])], int(word[2])) for word in values.split()]
    return (
        pl.DataFrame(lines, schema=["age", "weight", "batch"], orient="row"),
        pl.DataFrame(counts, schema=["batch", "dx", "count"], orient="row"),
    )


def test_two_tables_of_another_tool_are_verified() -> None:
    people, values = two("1x 1y 1x 2y 2x 2y", "x01 x11 x21 y01 y12")
    found = verify_two_tables(people, values, SCHEMA, parse_requirements("l=2"), parse_requirements("k=3"))
    assert found.holds
    assert (found.rows, found.groups) == (6, 2)
    worse = verify_two_tables(people, values, SCHEMA, parse_requirements("l=3"), parse_requirements("k=4"))
    assert {check.promise for check in worse.checks if not check.holds} == {"people: k=4", "l=3"}


def test_a_batch_with_more_people_than_values_is_found() -> None:
    people, values = two("1x 1x 1x 1y", "x01 x11 y01")
    found = verify_two_tables(people, values, SCHEMA, (), ())
    assert [check.promise for check in found.checks if not check.holds] == ["batches"]


def test_a_table_of_values_with_further_columns_or_absurd_counts_is_found() -> None:
    people, values = two("1x 1x 1x 1x", "x02 x12")
    named = values.with_columns(pl.lit("somebody").alias("id"))
    found = verify_two_tables(people, named, SCHEMA, ())
    assert [check.promise for check in found.checks if not check.holds] == ["values: columns have roles"]
    with pytest.raises(ViewError, match="counts 30,000,000,002 values for 4 people"):
        verify_two_tables(people, values.with_columns(pl.Series("count", [2, 30_000_000_000])), SCHEMA, ())


def test_batches_are_numbers_however_they_are_written() -> None:
    people, values = two("11 11 12 12", "102 112 202 212")
    people = people.with_columns(pl.Series("batch", [1.0, 1.0, 2.0, None]))
    assert verify_two_tables(people, values, SCHEMA, ()).holds


def test_two_tables_need_their_columns() -> None:
    people, values = two("1x 1x", "x01 x11")
    with pytest.raises(SchemaError, match="the table of people needs a column batch"):
        verify_two_tables(people.drop("batch"), values, SCHEMA, ())
    with pytest.raises(SchemaError, match="the table of values needs a column count"):
        verify_two_tables(people, values.drop("count"), SCHEMA, ())


@pytest.mark.parametrize("engine", [None, Here(parts=2)], ids=["one process", "in parts"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("values.parquet", lambda t: t.with_columns(pl.col("batch").reverse())),
        ("people.parquet", lambda t: t.with_columns(pl.col("age_lo") - 30, pl.col("age_hi") - 5)),
    ],
    ids=["values", "people"],
)
def test_an_altered_release_does_not_accuse_later_ones(
    series: Series,
    tmp_path: Path,
    engine: Here | None,
    name: str,
    change: Callable[[pl.DataFrame], pl.DataFrame],
) -> None:
    import shutil

    shutil.copytree(series.root, tmp_path / "s")
    other = Series.open(tmp_path / "s")
    _edited(other.ledger.folder(1), name, change)
    found = other.verify(engine=engine)
    assert not found.holds
    assert {number: release.holds for number, release in found.releases.items()} == {
        1: False,
        2: True,
        3: True,
    }
    assert [problem.partition(":")[0] for problem in found.problems] == [
        f"releases/0001/{name} was altered",
        "what came before and after release 1 is not compared, and neither is the memory",
    ]


@pytest.mark.parametrize("engine", [None, Here(parts=2)], ids=["one process", "in parts"])
def test_beliefs_after_an_altered_release_are_not_checked(tmp_path: Path, engine: Here | None) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, JSReduce(k=3, crowd=6), form=TwoTables(k=2))
    for week in range(3):
        made.publish(view(week))
    _edited(made.ledger.folder(1), "values.parquet", lambda t: t.with_columns(pl.col("batch").reverse()))
    found = made.verify(engine=engine)
    assert found.releases[2].holds and found.releases[3].holds
    unchecked = [check.promise for check in found.releases[3].checks if check.unchecked]
    assert unchecked == [p for p in made.policy.publisher.series_promises if p.startswith("similarity")]
