"""Measures from parts are those of the whole release."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from parts.changing import close, published, schema, views_of
from republish import (
    CorSplit,
    JSReduce,
    LDiversity,
    LedgerError,
    MInvariance,
    Mondrian,
    PenaltyTree,
    Series,
    TauSafety,
    TCloseness,
    ViewError,
    measure,
    read_view,
)
from republish.cli import app
from republish.parts import Here
from republish.release.release import TABLE_PARQUET
from slow import quick

PUBLISHERS = {
    "mondrian": Mondrian(4, (LDiversity(2), TCloseness(0.7))),
    "penalty-tree": PenaltyTree(5),
    "m-invariance": MInvariance(2),
    "tau-safety": TauSafety(2),
    "cor-split": CorSplit(3, 3),
    "js-reduce": JSReduce(4, 0.4, 0.3, crowd=4),
}

NOT_IN_PARTS = ("kl_divergence", "record_linkage")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Series:
    """A series of Mondrian that no test changes."""
    return published(tmp_path_factory.mktemp("kept"), PUBLISHERS["mondrian"])


def equal(found: dict[int, object], expected: dict[int, object]) -> None:
    for number, document in expected.items():
        assert found[number] == close(document)
    assert list(found) == list(expected)


@pytest.mark.parametrize("kind", quick(["category", "ordered"], lambda kind: kind == "ordered"))
@pytest.mark.parametrize("engine", quick([None, Here(parts=4)], bool), ids=["whole", "in parts"])
@pytest.mark.parametrize("name", quick(PUBLISHERS, lambda name: name in ("tau-safety", "penalty-tree")))
def test_parts_measure_what_the_whole_release_does(
    name: str, engine: Here | None, kind: str, tmp_path: Path
) -> None:
    series = published(tmp_path, PUBLISHERS[name], engine, kind)
    found = {i: m.as_dict() for i, m in Here(parts=3).measure(series).items()}
    expected = {
        i: measure(series.release(i), suppressed=record.payload["suppressed"]).as_dict()
        for i, record in enumerate(series.records, 1)
    }
    equal(found, expected)
    assert found[3]["rows"] == 0
    if name == "tau-safety":
        assert any(document["counterfeits"] for document in expected.values())
    if name == "js-reduce":
        assert any(document["suppressed"] for document in expected.values())


@pytest.mark.parametrize("name", quick(PUBLISHERS, lambda name: name in ("tau-safety", "js-reduce")))
def test_with_raw_views_the_query_error_is_the_same(name: str, tmp_path: Path) -> None:
    series, views = published(tmp_path, PUBLISHERS[name]), views_of(150, 5, 1)
    found = {i: m.as_dict() for i, m in Here(parts=3).measure(series, views).items()}
    expected = {}
    for i, raw in enumerate(views, 1):
        view = read_view(raw, series.schema, series.scales(i).values)
        document = measure(series.release(i), view).as_dict()
        expected[i] = document | dict.fromkeys(NOT_IN_PARTS)
    equal(found, expected)
    assert found[1]["query_error"]["median"] > 0.01


def test_the_rows_of_a_view_are_counted_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series, views = published(tmp_path, PUBLISHERS["mondrian"]), views_of(150, 5, 1)
    whole = Here(parts=3).measure(series, views)
    monkeypatch.setattr("republish.parts.in_process.HereMover.chunk_rows", 17)
    assert Here(parts=3).measure(series, views) == whole


def test_without_queries_there_is_no_query_error(kept: Series) -> None:
    assert Here(parts=2).measure(kept, views_of(150, 5, 1), queries=0)[1].query_error is None


def test_the_number_of_parts_changes_nothing(tmp_path: Path) -> None:
    series = published(tmp_path, PUBLISHERS["tau-safety"])
    one = {i: m.as_dict() for i, m in Here(parts=1).measure(series).items()}
    for engine in (Here(parts=7), Here(part_rows=40), Here(parts=200)):
        equal({i: m.as_dict() for i, m in engine.measure(series).items()}, one)


def test_a_series_without_releases_has_no_measures(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "series", schema(), PUBLISHERS["mondrian"], one_table=True)
    assert Here(parts=3).measure(series) == {}


def test_another_view_is_refused(kept: Series) -> None:
    series, views = kept, views_of(150, 5, 1)
    with pytest.raises(ViewError, match="one raw view a release: 5 releases, 4 views"):
        Here(parts=3).measure(series, views[:4])
    with pytest.raises(ViewError, match="the view must be the one that the release was made of"):
        Here(parts=3).measure(series, [views[0].head(9), *views[1:]])


def test_an_altered_table_is_refused(tmp_path: Path) -> None:
    series = published(tmp_path, PUBLISHERS["mondrian"])
    place = series.ledger.folder(1) / TABLE_PARQUET
    pl.read_parquet(place).head(20).write_parquet(place)
    with pytest.raises(LedgerError, match=r"table.parquet is missing or was altered"):
        Here(parts=3).measure(series)


def test_the_command_measures_with_an_engine(
    kept: Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, folder = kept, tmp_path / "views"
    folder.mkdir()
    for week, view in enumerate(views_of(150, 5, 1), 1):
        view.write_parquet(folder / f"{week}.parquet")
    monkeypatch.setattr("republish.cli.inspection.engine_of", lambda *_: nullcontext(Here(parts=3)))
    command = ["measure", str(series.root), "--truth", str(folder), "--engine", "spark", "--json"]
    done = CliRunner().invoke(app, command)
    expected = Here(parts=3).measure(series, views_of(150, 5, 1))
    assert json.loads(done.stdout)["releases"] == {str(i): close(m.as_dict()) for i, m in expected.items()}
