"""Value-blind batches are verified in parts as by one process: intact, after `forget`, and damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from parts.changing import VALUES, close, schema, views_of
from parts.publish.test_together import SMALL, published
from parts.verify.test_run import alike, broken, verified
from republish import Adversary, PolicyError, Series, measure
from republish.grouping import Grouping
from republish.knowledge import Classes, Knowledge
from republish.memory.batch_record import BatchRecord
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.parts import Here
from republish.publishers import ValueBlind
from republish.publishing.maintenance import forget
from republish.release.forms import TwoTables
from republish.sources.paths import read_parquet
from slow import quick

ENGINES = {"whole": None, "in parts": Here(parts=4)}
CASES = [(kind, engine) for kind in SMALL for engine in ENGINES]


@pytest.mark.parametrize("case", quick(CASES, lambda case: case != ("open", "whole")), ids="-".join)
def test_verified_and_measured_in_parts(case: tuple[str, str], tmp_path: Path) -> None:
    series = published(tmp_path / "s", case[0], [ENGINES[case[1]]] * 5)
    found = verified(series, 1, 3)
    assert found["holds"] and found["problems"] == []
    promises = [check["promise"] for check in found["releases"]["5"]["checks"]]
    assert f"{case[0]}-batches=3: clock" in promises and "value-blind: together" in promises
    measured = {number: one.as_dict() for number, one in Here(parts=3).measure(series).items()}
    expected = {number: measure(series.release(number)).as_dict() for number in range(1, 6)}
    assert measured == {number: close(one) for number, one in expected.items()}


def without_bound(series: Series, engine: Here | None) -> dict[str, Any]:
    """What is found but for the bound: of people who are nobody it cannot be computed anew."""
    found = series.verify(engine=engine).as_dict()
    for release in found["releases"].values():
        release["checks"] = [one for one in release["checks"] if not one["promise"].startswith("determined")]
    return found


def test_forgotten_people_are_nobody_in_parts_too(tmp_path: Path) -> None:
    series = published(tmp_path / "s", "open", [Here(parts=3)] * 5)
    forget(series, views_of(400, 5, 1)[0].select("id")[:7])
    alike(without_bound(series, None), without_bound(series, Here(parts=3)))
    series.publish(views_of(400, 5, 1)[4], as_of="2026-03-09", engine=Here(parts=3), meant=["same-view"])
    assert series.verify().holds and series.verify(engine=Here(parts=3)).holds
    alike(without_bound(series, None), without_bound(series, Here(parts=3)))


def altered(series: Series, path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    change(read_parquet(path)).write_parquet(path)


def exchanged(members: pl.DataFrame) -> pl.DataFrame:
    """A membership in which people with one value, two of each value, of different batches, are in each other's."""
    there = members.with_row_index("at").filter((pl.col("group") > 0) & ~pl.col("held"))
    pairs = there.join(there, on="code", suffix="_other").filter(pl.col("group") != pl.col("group_other"))
    group = members["group"].to_list()
    for one in pairs.unique("code", keep="first", maintain_order=True).iter_rows(named=True):
        group[one["at"]], group[one["at_other"]] = one["group_other"], one["group"]
    return members.with_columns(pl.Series("group", group, dtype=pl.Int32))


def test_who_is_with_others_than_before_is_found_in_parts(tmp_path: Path) -> None:
    series = published(tmp_path / "s", "open", [None] * 5)
    (name,) = series.membership_files(2)
    altered(series, series.ledger.path(name), exchanged)
    found = verified(series)
    assert {"value-blind: together"} <= broken(found, 2)
    assert not any(broken(found, later) for later in (3, 4, 5))  # they are healthy


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_a_clock_that_was_altered_is_found_in_parts(engine: Here | None, tmp_path: Path) -> None:
    series = published(tmp_path / "s", "open", [engine] * 5)
    place = series.ledger.folder(5) / "batches.csv"
    for part in sorted(place.iterdir()) if place.is_dir() else [place]:
        later = pl.read_csv(part).with_columns(pl.col("as_of") + 1, pl.col("waiting") + 1)
        later.write_csv(part)
    assert broken(verified(series), 5) == {"open-batches=3: clock", "batches"}


def test_a_wrong_record_is_found_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series = published(tmp_path / "s", "open", [None] * 5)
    right = ValueBlind.remember

    def wrong(self: ValueBlind, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        after = right(self, view, grouping, memory)
        record = BatchRecord.of(after)
        stays = replace(record.stays, since=record.stays.since * 0 + 1)
        return replace(after, counts=record._replace(stays=stays).frame())

    monkeypatch.setattr(ValueBlind, "remember", wrong)
    series.publish(views_of(400, 5, 1)[4], as_of="2026-03-09", engine=Here(parts=3), meant=["same-view"])
    found = verified(series)
    assert found["problems"] == ["the memory has another record of batches than the memberships say"]


def test_a_membership_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    series = published(tmp_path / "s", "closed", [Here(parts=3)] * 5)
    series.ledger.path(series.membership_files(2)[0]).write_bytes(b"")
    found = verified(series)
    assert not found["holds"] and "2" not in found["releases"] and "4" in found["releases"]


@pytest.mark.parametrize("name", ["tau", "beliefs"])
def test_attacks_are_left_to_one_process(name: str, tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", schema(), SMALL["open"], form=TwoTables(3))
    values = pl.Series(sorted(VALUES))
    knowledge = Knowledge(values, Classes.everyone(), np.full((1, len(values)), 1 / len(values)))
    with pytest.raises(PolicyError, match="without --engine"):
        Here(parts=3).attack(series, Adversary(knowledge=knowledge), [name])
