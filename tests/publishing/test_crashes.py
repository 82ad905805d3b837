"""Kill -9 at every step of a publish: afterwards the old series or the new one, never a half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from republish import LedgerError, Series
from republish.ledger import crash_points
from slow import quick

# What `publish` does not pass: these belong to init, restore, forget and backup, whose own tests kill there.
_ELSEWHERE = {"created-folders", "built-aside", "folder-made", "erased", "backup-written"}
_AFTER_COMMIT = {"after-commit", "renamed"}
_QUICK = {"release-written", "private-written", "after-commit"}
POINTS = [point for point in crash_points.POINTS if point not in _ELSEWHERE]


def run(root: Path, *arguments: str, fault: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "REPUBLISH_TRACEBACK"}
    if fault:
        environment[crash_points.VARIABLE] = fault
    command = [sys.executable, "-m", "republish", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=root.parent, check=False
    )


FORMS = [
    *(("series", point) for point in POINTS),
    *quick([("two_tables", point) for point in POINTS], lambda case: case[1] in _QUICK),
]


@pytest.mark.parametrize("case", FORMS, ids="-".join)
def test_a_killed_publish_leaves_the_old_series_or_the_new_one(
    request: pytest.FixtureRequest, case: tuple[str, str], views: list[Path]
) -> None:
    form, point = case
    series: Series = request.getfixturevalue(form)
    series.publish(views[0], as_of="2026-01-05")
    done = run(series.root, "publish", str(series.root), str(views[1]), "--as-of", "2026-01-12", fault=point)
    assert done.returncode == -signal.SIGKILL
    expected = 2 if point in _AFTER_COMMIT else 1
    # A reader sees a whole series before anyone tidies up, and no release that is not committed.
    reader = Series.open(series.root)
    assert len(reader.records) == expected
    assert reader.verify().holds
    assert len(list((series.root / "releases").iterdir())) <= expected
    # The next publisher goes on from there and leaves nothing behind.
    assert reader.publish(views[2], as_of="2026-01-19").number == expected + 1
    assert reader.verify().holds
    assert not list((series.root / "private" / "staging").iterdir())
    assert len(list((series.root / "releases").iterdir())) == expected + 1


@pytest.mark.parametrize("point", quick(POINTS, _QUICK.__contains__))
def test_a_killed_correction_withdraws_and_replaces_or_does_neither(
    series: Series, views: list[Path], point: str
) -> None:
    series.publish(views[0], as_of="2026-01-05")
    done = run(series.root, "publish", str(series.root), str(views[1]), "--corrects", "1", fault=point)
    assert done.returncode == -signal.SIGKILL
    reader = Series.open(series.root)
    replaced = point in _AFTER_COMMIT
    assert (len(reader.records), reader.withdrawn()) == ((2, {1}) if replaced else (1, set()))
    assert reader.verify().holds
    again = reader.publish(views[2], corrects=len(reader.records))
    assert reader.withdrawn() == set(range(1, again.number))
    assert reader.verify().holds


def test_two_publishers_at_once_one_wins_and_the_other_is_told_who(series: Series, views: list[Path]) -> None:
    with series.ledger.lock("publish"):
        told = run(series.root, "publish", str(series.root), str(views[0]))
    assert told.returncode == 75
    assert f"process {os.getpid()}" in told.stderr
    assert not Series.open(series.root).records


def test_racing_publishers_each_make_their_own_release_or_are_refused(
    series: Series, views: list[Path]
) -> None:
    command = [sys.executable, "-m", "republish", "publish", str(series.root)]
    racers = [
        subprocess.Popen([*command, str(view)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for view in views[:3]
    ]
    outcomes = [(racer.communicate()[1], racer.returncode) for racer in racers]
    won = [code for _, code in outcomes if code == 0]
    assert won
    assert all("Traceback" not in text for text, _ in outcomes)
    reader = Series.open(series.root)
    assert len(reader.records) == len(won)
    assert reader.verify().holds


def test_a_full_disk_loses_nothing(series: Series, views: list[Path]) -> None:
    """A child that may write 20,000 bytes a file fails clearly, and the series is as it was."""
    series.publish(views[0], as_of="2026-01-05")
    child = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000));"
        f"sys.argv = ['republish', 'publish', {str(series.root)!r}, {str(views[1])!r}];"
        "from republish.cli import main; main()"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", "")}
    done = subprocess.run(
        [sys.executable, "-c", child], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "the series is as it was" in done.stderr
    reader = Series.open(series.root)
    assert len(reader.records) == 1
    assert reader.verify().holds


def test_a_ledger_that_lost_its_last_row_is_refused(series: Series, views: list[Path]) -> None:
    import sqlite3

    series.publish(views[0])
    series.ledger.close()
    with sqlite3.connect(series.root / "ledger.db") as connection:
        connection.execute("DELETE FROM entries WHERE kind = 'release'")
    connection.close()
    with pytest.raises(LedgerError, match="damaged"):
        Series.open(series.root).publish(views[1])
    assert not Series.open(series.root).verify().holds
