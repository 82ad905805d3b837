"""A publisher that dies, or a store that goes away, at any moment: the old series or the new one, never a half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from republish import LedgerError, Series
from republish.ledger import crash_points
from republish.publishing.maintenance import withdraw
from republish.sources.paths import place_of
from slow import quick

pytestmark = pytest.mark.stores
_ELSEWHERE = {"created-folders", "built-aside", "folder-made", "erased", "backup-written"}
_QUICK = {"before-commit"}
_AFTER_COMMIT = {"after-commit", "renamed"}
FILES = 7  # about.json, the codebook in three forms, read_release.R, table.csv, table.parquet
COPYING = [*(f"copied:{count}" for count in range(1, FILES + 1)), "uncovered"]
Make = Callable[[Path, str | None], Series]


def killed(series: Series, view: Path, fault: str) -> None:
    """A publisher in a process of its own that kills itself at a point."""
    command = [sys.executable, "-m", "republish", "publish", str(series.root), str(view)]
    done = subprocess.run(
        [*command, "--as-of", "2026-01-12"],
        capture_output=True,
        text=True,
        env=os.environ | {crash_points.VARIABLE: fault},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def require_whole(series: Series, releases: int, view: Path) -> None:
    """A reader finds so many releases, all of them whole; the next publisher goes on and leaves nothing behind."""
    reader = Series.open(series.root)
    assert len(reader.records) == releases
    found = reader.verify()
    assert found.holds, found.problems
    assert reader.release(releases).rows == 400
    assert reader.publish(view, as_of="2026-01-19").number == releases + 1
    found = reader.verify()
    assert found.holds, found.problems
    layout = reader.ledger.layout
    assert not layout.staging.is_dir() or not list(layout.staging.iterdir())
    assert layout.released() == {f"{number:04d}" for number in range(1, releases + 2)}


@pytest.mark.parametrize("form", ["make", "make_two"])
@pytest.mark.parametrize(
    "point", quick([p for p in crash_points.POINTS if p not in _ELSEWHERE], _QUICK.__contains__)
)
def test_a_killed_publish_leaves_the_old_series_or_the_new_one(
    shared: str, request: pytest.FixtureRequest, form: str, views: list[Path], tmp_path: Path, point: str
) -> None:
    make: Make = request.getfixturevalue(form)
    series = make(tmp_path / "series", shared)
    series.publish(views[0], as_of="2026-01-05")
    killed(series, views[1], point)
    require_whole(series, 2 if point in _AFTER_COMMIT else 1, views[2])


@pytest.mark.parametrize("point", quick(COPYING, lambda point: point == "copied:1"))
def test_a_publisher_killed_while_it_copies_leaves_a_committed_release(
    s3: str, make: Make, views: list[Path], tmp_path: Path, point: str
) -> None:
    series = make(tmp_path / "series", s3)
    series.publish(views[0], as_of="2026-01-05")
    killed(series, views[1], point)
    staged = len(list((place_of(s3) / "private" / "staging").rglob("*")))
    copied = len(list((place_of(s3) / "releases" / "0002").rglob("*")))
    expected = (FILES - 1, FILES) if point == "uncovered" else (FILES, COPYING.index(point) + 1)
    assert (staged, copied) == expected
    require_whole(series, 2, views[2])


class Death(BaseException):
    """What no code may catch."""


CUT_SHORT = [
    *(("make", point) for point in COPYING),
    *quick([("make_two", f"copied:{n}") for n in range(1, 6)], lambda case: case[1] == "copied:3"),
    ("make_two", "uncovered"),
]


@pytest.mark.parametrize("case", CUT_SHORT, ids="-".join)
def test_a_copy_cut_short_is_finished_by_the_next_writer(
    request: pytest.FixtureRequest,
    views: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, str],
) -> None:
    pytest.importorskip("upath")
    form, point = case
    make: Make = request.getfixturevalue(form)
    series = make(tmp_path / "series", f"memory://{tmp_path.name}/{point.replace(':', '-')}")
    series.publish(views[0], as_of="2026-01-05")
    name, _, count = point.partition(":")
    passed = []

    def die(reached: str) -> None:
        passed.append(reached)
        if passed.count(name) == int(count or 1):
            raise Death

    with monkeypatch.context() as patch, pytest.raises(Death):
        patch.setattr(crash_points, "reach", die)
        series.publish(views[1], as_of="2026-01-12")
    require_whole(series, 2, views[2])


def test_a_release_is_found_while_it_is_copied(
    make: Make, views: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("upath")
    series = make(tmp_path / "series", f"memory://{tmp_path.name}/watched")
    seen = []

    def look(reached: str) -> None:
        if reached in crash_points.STORES:
            seen.append(Series.open(series.root).release(1).rows)

    monkeypatch.setattr(crash_points, "reach", look)
    series.publish(views[0])
    assert seen == [400] * (FILES + 1)


def test_a_store_that_goes_away_loses_nothing(
    s3: str, make: Make, views: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    series = make(tmp_path / "series", s3)
    series.publish(views[0], as_of="2026-01-05")
    there = dict(fsspec.config.conf["s3"])
    nowhere = {"endpoint_url": "http://127.0.0.1:9", "config_kwargs": {"retries": {"max_attempts": 1}}}
    monkeypatch.setitem(fsspec.config.conf, "s3", there | nowhere)
    away = Series.open(series.root)
    acts = (lambda: away.publish(views[1]), lambda: away.release(1), lambda: withdraw(away, 1), away.verify)
    for act in acts:
        with pytest.raises(LedgerError, match=r"cannot be reached .* nothing that is committed is lost"):
            act()
    monkeypatch.setitem(fsspec.config.conf, "s3", there)
    require_whole(series, 1, views[1])


def test_a_store_that_lets_nobody_in_is_named(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("upath")
    from fsspec.implementations.memory import MemoryFileSystem

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Access Denied")

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", refuse)
    with pytest.raises(LedgerError, match="does not let this user"):
        make(tmp_path / "series", "memory://closed/series")
    assert not (tmp_path / "series").exists()


def test_a_bucket_that_is_not_there_makes_no_series(s3: str, make: Make, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no series was created"):
        make(tmp_path / "series", f"s3://no-such-bucket/{s3.rpartition('/')[2]}")
    assert not (tmp_path / "series").exists()
