"""Series in two tables are verified, measured and attacked in parts as by one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest

from parts.changing import close, schema, views_of
from republish import Adversary, JSReduce, Mondrian, Series, TauSafety, attack, measure, read_view
from republish.parts import Here
from republish.publishers import Publisher
from republish.release.forms import TwoTables
from republish.requirements import LDiversity
from slow import quick

PUBLISHERS: dict[str, Publisher] = {
    "mondrian": Mondrian(4, (LDiversity(2),)),
    "tau-safety": TauSafety(2),
    "js-reduce": JSReduce(4, 0.4, 0.3, crowd=4),
}
NOT_IN_PARTS = ("kl_divergence", "record_linkage")
ENGINES = {"whole": None, "in parts": Here(parts=4)}


def published(folder: Path, name: str, engine: Here | None) -> Series:
    """Five weeks of 150 people in two tables; the third has nobody."""
    series = Series.create(folder, schema(), PUBLISHERS[name], seed=7, one_table=True, form=TwoTables(3))
    for week, view in enumerate(views_of(150, 5, 1), 1):
        series.publish(view, as_of=f"2026-03-{week:02d}", engine=engine, meant=["fewer-rows"])
    return series


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Series]:
    """Series that no test changes, each made once."""
    kept: dict[tuple[str, str], Series] = {}

    def of(name: str, engine: str) -> Series:
        if (name, engine) not in kept:
            kept[name, engine] = published(tmp_path_factory.mktemp("kept") / "s", name, ENGINES[engine])
        return kept[name, engine]

    return of


CASES = [(name, engine) for name in PUBLISHERS for engine in ENGINES]
each = pytest.mark.parametrize("case", quick(CASES, lambda case: case[0] == "tau-safety"), ids="-".join)


@each
def test_verified_in_parts(case: tuple[str, str], made: Callable[[str, str], Series]) -> None:
    series = made(*case)
    expected = series.verify().as_dict()
    assert expected["holds"]
    assert series.verify(engine=Here(parts=3)).as_dict() == close(expected)
    assert series.verify(engine=Here(parts=1)).as_dict() == close(expected)


@each
def test_measured_in_parts(case: tuple[str, str], made: Callable[[str, str], Series]) -> None:
    series = made(*case)
    found = {i: one.as_dict() for i, one in Here(parts=3).measure(series).items()}
    expected = {i: measure(series.release(i)).as_dict() for i in range(1, 6)}
    assert found == {i: close(one) for i, one in expected.items()}


def same_with_views(series: Series) -> None:
    """With raw views parts find what one process does, but for what compares tuples with groups."""
    views = views_of(150, 5, 1)
    found = Here(parts=3).measure(series, views)
    for i, view in enumerate(views, 1):
        read = read_view(view, series.schema, series.values_at(i))
        expected = measure(series.release(i), read).as_dict() | dict.fromkeys(NOT_IN_PARTS)
        assert found[i].as_dict() == close(expected)
    assert found[1].value_query_error is not None and found[1].value_query_error.median > 0.01
    assert found[1].information_kept is not None


@each
def test_with_raw_views_the_same_is_found_in_parts(
    case: tuple[str, str], made: Callable[[str, str], Series]
) -> None:
    same_with_views(made(*case))


def test_people_without_a_batch_have_values_as_all_have(made: Callable[[str, str], Series]) -> None:
    series = made("js-reduce", "whole")
    assert any(record.payload["two_tables"]["without_batch"] for record in series.records)
    same_with_views(series)


@each
@pytest.mark.parametrize("name", ["intersection", "tau", "compromised"])
def test_attacked_in_parts(name: str, case: tuple[str, str], made: Callable[[str, str], Series]) -> None:
    series, adversary = made(*case), Adversary(compromised=0.1, seed=2)
    found = Here(parts=3).attack(series, adversary, [name])[name]
    (expected,) = attack(series, adversary, attacks=[name])
    assert asdict(found.summary) == close(asdict(expected.summary))
    for ours, theirs in zip(found.by_release, expected.by_release, strict=True):
        assert asdict(ours) == close(asdict(theirs))


def tampered(series: Series, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    path = series.ledger.folder(2) / f"{table}.parquet"
    change(pl.read_parquet(path)).write_parquet(path)


@pytest.mark.parametrize(
    ("table", "change", "promise"),
    [
        ("people", lambda t: t.with_columns(batch=pl.lit(1, pl.Int32)), "batches"),
        (
            "people",
            lambda t: t.with_columns(group=pl.int_range(1, pl.len() + 1, dtype=pl.Int32)),
            "people: k=3",
        ),
        ("values", lambda t: t.with_columns(count=pl.lit(1, pl.Int64)), "membership"),
    ],
    ids=["batch", "cells", "counts"],
)
def test_what_was_altered_is_found_in_parts(
    table: str, change: Callable[[pl.DataFrame], pl.DataFrame], promise: str, tmp_path: Path
) -> None:
    series = published(tmp_path / "s", "tau-safety", None)
    tampered(series, table, change)
    whole, parts = series.verify(), series.verify(engine=Here(parts=3))
    assert parts.problems == whole.problems
    for found in (whole, parts):
        broken = {check.promise for check in found.releases[2].checks if not check.holds}
        assert promise in broken
