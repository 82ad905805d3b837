"""Batches that one task decides on are those of one process, whatever the number of parts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from parts.changing import schema, views_of
from parts.publish.test_two_tables import cells
from parts.weeks import write
from republish import CannotPublish, Series
from republish.memory.batch_record import HOME, STAY
from republish.parts import Engine, Here
from republish.publishers import ValueBlind
from republish.publishing.maintenance import forget
from republish.release.forms import TwoTables
from republish.release.two_tables import TwoTableCounts, TwoTableRelease, stored_clock
from republish.secret import VARIABLE
from republish.sources.paths import read_csv, read_parquet
from slow import quick

SMALL = {
    "open": ValueBlind("open", size=20, n=3, m=2, max_determined=0.3),
    "closed": ValueBlind("closed", size=20, n=3, m=2, max_determined=0.3),
}


def published(folder: Path, kind: str, engines: list[Engine | None], people: int = 400) -> Series:
    """Some weeks, the third without anybody, each made by an engine."""
    series = Series.create(folder, schema(), SMALL[kind], seed=7, form=TwoTables(3))
    views = write(folder.parent / "views", views_of(people, len(engines), 1))
    for week, (view, engine) in enumerate(zip(views, engines, strict=True), 1):
        series.publish(view, as_of=f"2026-03-{week:02d}", engine=engine, meant=["fewer-rows"])
    return series


def batches(series: Series, number: int) -> list[tuple[Any, ...]]:
    """Whom every batch counts, lists and holds, its values, and when it was counted; without its number."""
    members, folder = series.members(number), series.ledger.folder(number)
    table, values = (read_parquet(folder / f"{name}.parquet") for name in ("people", "values"))
    clock, shown = stored_clock(folder), Counter(table["batch"].drop_nulls().to_list())
    assert members.held is not None and clock is not None
    told = {row[0]: row[1:] for row in clock.rows()}
    found = []
    for batch in values["batch"].unique().to_list():
        counted, held = (
            sorted(one.table().filter(pl.col("group") == batch).select("person", "code").rows())
            for one in (members, members.held)
        )
        own = sorted(values.filter(pl.col("batch") == batch).drop("batch").rows())
        found.append((counted, held, own, told[batch], shown[batch]))
    assert len(told) == len(found) and set(shown) <= set(told)
    return sorted(found)


@pytest.fixture(autouse=True)
def _one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "the secret of all series here")


@pytest.mark.parametrize("parts", quick([1, 3, 20], lambda parts: parts == 3))
@pytest.mark.parametrize("kind", SMALL)
def test_batches_are_those_of_one_process(kind: str, parts: int, tmp_path: Path) -> None:
    one = published(tmp_path / "one", kind, [None] * 5)
    many = published(tmp_path / "many", kind, [Here(parts=parts)] * 5)
    for number in range(1, 6):
        assert batches(many, number) == batches(one, number)
        assert cells(many, number) == cells(one, number)
        ours, theirs = (made.record(number).payload for made in (many, one))
        for name in ("rows", "groups", "suppressed", "counterfeits", "arrivals", "two_tables"):
            assert ours[name] == theirs[name]
    assert any(one.record(number).payload["counterfeits"] for number in range(1, 6))
    ours, theirs = many.memory(), one.memory()
    assert (ours.people == theirs.people).all() and ours.counts is not None and theirs.counts is not None
    assert ours.counts.equals(theirs.counts)
    for name in (STAY, HOME):
        np.testing.assert_array_equal(ours.columns[name], theirs.columns[name])
    found = many.verify()
    assert found.problems == () and found.holds


def test_what_is_written_fits(tmp_path: Path) -> None:
    made = published(tmp_path / "s", "open", [Here(parts=3)] * 5)
    for number in (1, 2, 4, 5):
        folder, payload = made.ledger.folder(number), made.record(number).payload
        release, told = made.release(number), payload["two_tables"]
        assert isinstance(release, TwoTableRelease) and release.clock is not None
        assert told == TwoTableCounts.of(release, told["extended"]).as_dict()
        assert release.clock["waiting"].sum() == payload["suppressed"] - told["without_batch"]
        assert (folder / "batches.csv" / "part-00000.csv").exists()
        held = folder / "counterfeits.csv"
        assert payload["counterfeits"] == (read_csv(held)["count"].sum() if held.exists() else 0)


def test_one_process_goes_on_where_parts_left_off(tmp_path: Path) -> None:
    parts = Here(parts=3)
    mixed = published(tmp_path / "mixed", "open", [parts, None, parts, None, parts])
    one = published(tmp_path / "one", "open", [None] * 5)
    assert batches(mixed, 5) == batches(one, 5)
    assert mixed.verify().holds


def test_people_who_were_forgotten_are_held_as_nobody(tmp_path: Path) -> None:
    views = views_of(300, 2, 1)
    gone = views[0].join(views[1], on="id", how="anti")["id"].to_list()[:6]
    found = []
    for name, engine in (("one", None), ("many", Here(parts=3))):
        made = Series.create(tmp_path / name, schema(), SMALL["open"], seed=7, form=TwoTables(3))
        made.publish(views[0], engine=engine)
        forget(made, pl.DataFrame({"id": gone}))
        made.publish(views[1], engine=engine)
        assert made.verify().holds
        found.append(batches(made, 2))
    assert found[0] == found[1]


def test_what_cannot_be_published_is_refused(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", schema(), SMALL["open"], form=TwoTables(3))
    (view,) = views_of(200, 1, 1)
    alike = view.with_columns(dx=pl.lit("flu"))
    with pytest.raises(CannotPublish, match="start a series with a smaller m"):
        made.publish(alike, engine=Here(parts=3))
    assert not made.records
