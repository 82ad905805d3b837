"""A release whose table and membership lie in parts is read, checked, attacked and shown like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from desk_client import desk
from republish import Series
from republish.attacks import Adversary, attack
from republish.cli import app
from republish.ledger import Draft, Ledger, backup, restore
from republish.ledger.files import measure
from republish.publishing.maintenance import forget, withdraw
from republish.release.codebook import CODEBOOK
from republish.release.release import Release
from republish.report import make_report
from republish.sources.paths import write_parquet

PARTS = 3
Make = Callable[[Path, str | None], Series]


def _write_parts(release: Release, folder: Path, about: dict[str, Any]) -> None:
    """Write a release as a cluster does: groups in contiguous parts, no CSV table; flags only where they are needed."""
    _whole(release, folder, about)
    frame = release.frame()
    (folder / "table.csv").unlink()
    (folder / "table.parquet").unlink()
    (folder / "table.parquet").mkdir()
    ends = np.linspace(0, release.group_count, PARTS + 1).astype(int)
    for part in range(PARTS):
        held = frame.filter(pl.col("group").is_between(int(ends[part]) + 1, int(ends[part + 1]))).sort(
            "group"
        )
        idle = [
            name
            for name, kind in held.schema.items()
            if kind == pl.Boolean and held[name].null_count() == 0 and not held[name].any()
        ]
        write_parquet(held.drop(idle), folder / "table.parquet" / f"part-{part:05d}.parquet")


_whole = Release.write


class _PartedDraft(Draft):
    """A draft whose membership is split into files that are adopted with their digest before it is sealed."""

    def seal(self) -> dict[str, dict[str, Any]]:
        self._split("membership")
        return super().seal()

    def _split(self, kind: str) -> None:
        (whole,) = (path for path in self._private if path.parent.name == kind)
        frame = pl.read_parquet(whole)
        whole.unlink()
        self._private.remove(whole)
        places = self.private_files(kind, PARTS)
        ends = np.linspace(0, frame.height, PARTS + 1).astype(int)
        for place, start, end in zip(places, ends, ends[1:], strict=False):
            write_parquet(frame[int(start) : int(end)], place)
        self.adopt({self.name(place): measure(place) for place in places})


@pytest.fixture
def parted(
    tmp_path: Path, make: Make, views: list[Path], monkeypatch: pytest.MonkeyPatch
) -> tuple[Series, Series]:
    """A series of two releases in parts, and its twin of the same secret in whole files."""
    monkeypatch.setenv("REPUBLISH_SECRET", "7" * 64)
    whole = make(tmp_path / "whole", None)
    series = make(tmp_path / "series", None)
    for week, view in enumerate(views[:2]):
        whole.publish(view, as_of=f"2026-01-{5 + 7 * week:02d}")
        _publish_parts(series, view, f"2026-01-{5 + 7 * week:02d}", monkeypatch)
    return series, whole


def _publish_parts(series: Series, view: Path, as_of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Ledger.commit

    def commit_parts(ledger: Ledger, draft: Any, kind: str, payload: dict[str, Any], *rest: Any) -> Any:
        token, number = draft.token, draft.release
        names = [f"private/membership/{number:04d}-{token}-{part:05d}.parquet" for part in range(PARTS)]
        draft.__class__ = _PartedDraft
        return commit(ledger, draft, kind, payload | {"membership": names}, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Release, "write", _write_parts)
        patch.setattr(Ledger, "commit", commit_parts)
        series.publish(view, as_of=as_of)


def test_the_ledger_names_every_part(parted: tuple[Series, Series]) -> None:
    series, _ = parted
    files = series.record(1).payload["files"]
    table = [name for name in files if name.startswith("releases/")]
    assert table == [
        "releases/0001/about.json",
        *(f"releases/0001/{file}" for file in (*sorted(CODEBOOK), "read_release.R")),
        *(f"releases/0001/table.parquet/part-0000{i}.parquet" for i in range(3)),
    ]
    assert len(series.membership_files(1)) == PARTS
    assert all(
        measure(series.ledger.path(name)) == found
        for name, found in files.items()
        if not {"memory", "margins"} & set(name.split("/"))
    )


def test_it_says_what_the_whole_table_says(parted: tuple[Series, Series]) -> None:
    series, whole = parted
    for number in (1, 2):
        assert (
            series.release(number).table().sort(pl.all()).equals(whole.release(number).table().sort(pl.all()))
        )
        assert series.release(number).groups().equals(whole.release(number).groups())
        assert series.appearances(number).equals(whole.appearances(number))


def test_verify_recomputes_every_promise_but_that_of_the_csv_table(parted: tuple[Series, Series]) -> None:
    found, expected = (series.verify() for series in parted)
    assert found.holds, found.problems
    names = [[check.promise for check in one.releases[2].checks] for one in (found, expected)]
    assert [name for name in names[1] if name != "same tables"] == names[0]
    assert "same tables" in names[1]


def test_a_part_that_was_altered_is_found(parted: tuple[Series, Series]) -> None:
    series, _ = parted
    part = series.ledger.folder(2) / "table.parquet" / "part-00001.parquet"
    first, last = pl.col("group").first(), pl.col("group").last()
    frame = pl.read_parquet(part)
    moved = frame.with_columns(group=pl.when(pl.col("group") == first).then(last).otherwise(pl.col("group")))
    moved.write_parquet(part)
    found = series.verify()
    assert any("part-00001.parquet was altered" in problem for problem in found.problems)
    assert [check.promise for check in found.releases[2].checks if not check.holds] == [
        "uniform groups",
        "membership",
    ]


def test_a_part_that_is_missing_is_found(parted: tuple[Series, Series]) -> None:
    series, _ = parted
    (series.ledger.folder(1) / "table.parquet" / "part-00002.parquet").unlink()
    assert "releases/0001/table.parquet/part-00002.parquet is missing" in series.verify().problems


def test_attacks_find_what_they_find_in_the_whole_table(parted: tuple[Series, Series]) -> None:
    found, expected = (attack(series, Adversary(), ["tau"])[0].as_dict() for series in parted)
    assert found == expected


def test_the_next_release_goes_on_from_it(parted: tuple[Series, Series], views: list[Path]) -> None:
    series, whole = parted
    done, expected = (one.publish(views[2], as_of="2026-01-19") for one in (series, whole))
    assert done.arrivals == expected.arrivals
    assert series.verify().holds


def test_forgetting_rewrites_only_the_parts_that_name_someone(
    parted: tuple[Series, Series], views: list[Path]
) -> None:
    series, _ = parted
    before = series.membership_files(1)
    people = pl.read_csv(views[0])["patient"]
    first = series.appearances(1)["person"][0]
    (gone,) = people.filter(series.pseudonyms(people.cast(pl.String).to_list()) == first)
    assert forget(series, pl.DataFrame({"patient": [gone]})).erased == 1
    after = series.membership_files(1)
    assert [new == old for new, old in zip(after, before, strict=True)] == [False, True, True]
    assert not series.ledger.path(before[0]).exists()
    assert series.appearances(1).height == 400
    assert series.verify().holds


def test_a_backup_holds_every_part(parted: tuple[Series, Series], tmp_path: Path) -> None:
    series, _ = parted
    backup(series.root, tmp_path / "all.tar.gz")
    restore(tmp_path / "all.tar.gz", tmp_path / "back")
    assert Series.open(tmp_path / "back").verify().holds


@pytest.mark.parametrize(
    "command", [["history"], ["show", "2"], ["verify"], ["measure"], ["query", "2", "age > 40"], ["report"]]
)
def test_commands_read_it(parted: tuple[Series, Series], command: list[str], tmp_path: Path) -> None:
    series, _ = parted
    withdraw(series, 1)
    name, *rest = command
    out = ["--out", str(tmp_path / "report.html")] if name == "report" else []
    done = CliRunner().invoke(app, [name, str(series.root), *rest, *out])
    assert done.exit_code == 0, done.output


def test_the_desk_offers_every_part(parted: tuple[Series, Series]) -> None:
    series, _ = parted
    with desk(series.root) as client:
        page = client.get("/s/series/r/1").text
        for part in range(PARTS):
            name = f"table.parquet/part-{part:05d}.parquet"
            held = (series.ledger.folder(1) / name).read_bytes()
            assert f"/s/series/r/1/files/{name}" in page
            assert client.get(f"/s/series/r/1/files/{name}").content == held
            assert client.get(f"/api/series/series/releases/1/{name}").content == held
        assert "table.csv" not in page
        assert client.get("/api/series/series/releases/1/table.csv").status_code == 404
        assert client.get("/api/series/series/releases/1/table.parquet").status_code == 404
        assert client.get("/s/series/r/1/files/../../private/secret.key").status_code == 404
        assert client.get("/s/series/r/1/files/table.parquet/..%2f..%2f0002%2fabout.json").status_code == 404


def test_the_report_lists_every_part_with_its_digest(parted: tuple[Series, Series]) -> None:
    series, _ = parted
    text = make_report(series, "md")
    for part in range(PARTS):
        name = f"table.parquet/part-{part:05d}.parquet"
        assert name in text
        assert series.record(1).payload["files"][f"releases/0001/{name}"]["digest"] in text
