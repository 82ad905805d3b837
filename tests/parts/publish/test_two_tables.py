"""Two tables made in parts have the cells of one process, and batches that fit them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from parts.weeks import PUBLISHERS, SCHEMA, weeks, write
from publishers.test_contract import people
from republish import CannotPublish, PolicyError, Series
from republish.parts import Here
from republish.release.forms import TwoTables
from republish.release.r_script import R_SCRIPT
from republish.release.two_tables import TwoTableCounts, TwoTableRelease
from republish.secret import VARIABLE
from republish.sources.paths import read_csv, read_parquet
from slow import quick
from spatial.test_leaves import tree_of


def views() -> list[pl.DataFrame]:
    """Some weeks, one without anybody, one in which everybody is a year older."""
    first, second, third = weeks(300, 3)
    older = third.with_columns(age=pl.col("age") + 1)
    return [first, second, first.clear(), third, older]


def published(folder: Path, name: str, engine: Here | None, k: int = 4) -> Series:
    """A series of these weeks in two tables."""
    series = Series.create(folder, SCHEMA, PUBLISHERS[name], seed=3, one_table=True, form=TwoTables(k))
    for path in write(folder.parent / "views", views()):
        series.publish(path, engine=engine, meant=["fewer-rows"])
    return series


def cells(series: Series, number: int) -> dict[str, tuple[str, ...]]:
    """The published cell of everyone."""
    release, members = series.release(number).people, series.members(number)
    assert members.cell is not None
    texts = [release.cells[q].texts() for q in range(len(release.cells))]
    shown = pl.DataFrame(texts).rows()
    return {
        person: shown[cell - 1]
        for person, cell in zip(members.table()["person"], members.cell.tolist(), strict=True)
    }


@pytest.fixture(autouse=True)
def _one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "the secret of all series here")


@pytest.mark.parametrize("parts", quick([1, 3, 7, 64], lambda parts: parts in (3, 64)))
def test_cells_and_cuts_are_those_of_one_process(parts: int, tmp_path: Path) -> None:
    one = published(tmp_path / "one", "tau-safety", None)
    many = published(tmp_path / "many", "tau-safety", Here(parts=parts))
    for number in range(1, 6):
        assert cells(many, number) == cells(one, number)
        ours, theirs = (made.record(number).payload for made in (many, one))
        for name in ("rows", "groups", "moved", "ends"):
            assert ours[name] == theirs[name]
        assert len(ours["extended"]) == len(theirs["extended"])
        assert ours["two_tables"]["extended"] == theirs["two_tables"]["extended"]
    assert one.record(5).payload["moved"] == {"age": 1.0}
    assert tree_of(many.cuts()) == tree_of(one.cuts())


@pytest.mark.parametrize(
    "name", quick(["tau-safety", "mondrian", "js-reduce", "penalty-tree"], {"js-reduce"}.__contains__)
)
def test_every_release_keeps_its_promises(name: str, tmp_path: Path) -> None:
    made = published(tmp_path / "s", name, Here(parts=3))
    found = made.verify()
    assert found.problems == () and found.holds
    for number in (1, 2, 4, 5):
        folder, members = made.ledger.folder(number), made.members(number)
        table, values = (read_parquet(folder / f"{name}.parquet") for name in ("people", "values"))
        assert table.height == len(members.group) == made.record(number).payload["rows"]
        held = table.group_by("group").len().sort("group")
        assert held["group"].to_list() == list(range(1, held.height + 1)) and held["len"].min() >= 4
        assert pl.Series(members.cell).value_counts().height == held.height
        batches = sorted(values["batch"].unique().to_list())
        assert batches == list(range(1, len(batches) + 1)) == sorted(table["batch"].drop_nulls().unique())
        release, told = made.release(number), made.record(number).payload["two_tables"]
        assert isinstance(release, TwoTableRelease)
        assert told == TwoTableCounts.of(release, told["extended"]).as_dict()
        about = json.loads((folder / "about.json").read_text())
        assert R_SCRIPT not in about["form"] and not (folder / R_SCRIPT).exists()
        assert about["form"]["batches"] == len(batches) and about["groups"] == held.height


def test_counterfeits_are_told_by_batch(tmp_path: Path) -> None:
    made = published(tmp_path / "s", "tau-safety", Here(parts=3))
    folder = made.ledger.folder(5)
    held, values = read_csv(folder / "counterfeits.csv"), read_parquet(folder / "values.parquet")
    assert held.columns == ["batch", "count"]
    false = made.record(5).payload["counterfeits"]
    assert held["count"].sum() == false > 0
    assert values["count"].sum() == made.record(5).payload["rows"] + false


def test_one_process_goes_on_where_parts_left_off(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, PUBLISHERS["tau-safety"], form=TwoTables(4))
    for i, path in enumerate(write(tmp_path / "views", views())):
        made.publish(path, engine=Here(parts=3) if i % 2 else None, meant=["fewer-rows"])
    assert made.verify().holds


def test_fewer_rows_than_k_are_refused(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, PUBLISHERS["tau-safety"], form=TwoTables(50))
    (path,) = write(tmp_path / "views", [people(30)])
    with pytest.raises(CannotPublish, match="at least k = 50 rows; the view holds 30"):
        made.publish(path, engine=Here(parts=3))
    assert not made.records


def test_cells_that_hide_batches_are_made_in_one_process_and_verified_in_parts(tmp_path: Path) -> None:
    form = TwoTables(3, hide_batch=True)
    series = Series.create(tmp_path / "s", SCHEMA, PUBLISHERS["tau-safety"], seed=3, form=form)
    first, second, *_ = write(tmp_path / "views", views())
    series.publish(first)
    with pytest.raises(PolicyError, match="made of whole batches"):
        series.publish(second, engine=Here(parts=2))
    series.publish(second)
    found = series.verify()
    assert found.holds
    assert series.verify(engine=Here(parts=3)).as_dict() == found.as_dict()
