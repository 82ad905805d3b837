"""Series of an earlier version get row digests of the newest form: once, whole or not at all, and exactly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from earlier.make import HERE, PARAMETERS, SECRET, make_views
from republish import LedgerError, Series
from republish.attacks import history_of
from republish.cli import app
from republish.ledger import Ledger, catalogue, crash_points
from republish.ledger.archive import restore
from republish.memory.memory import KEY
from republish.microdata import NEWEST_ROWS, SUMS_OF_CELLS, read_view
from republish.parts import Here
from republish.publishing.maintenance import forget, withdraw
from republish.secret import VARIABLE
from typed import typed

ID = "patient"
CHANGED = 4
NEXT = "2024-01-22"


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_views(tmp_path_factory.mktemp("earlier"))


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


@pytest.fixture
def old(tmp_path: Path) -> Series:
    """A series as it was stored before."""
    restore(HERE / "mondrian.tgz", tmp_path / "old")
    return Series.open(tmp_path / "old")


@contextmanager
def earlier_version() -> Iterator[None]:
    """Go on with a series as an earlier version did, without bringing it to the newest form."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("republish.series.migrate", lambda series: None)
        yield


def changed(view: Path) -> pl.DataFrame:
    """A view in which some people have another age."""
    table = pl.read_csv(view)
    moved = pl.arange(pl.len()) < CHANGED
    age = pl.when(moved).then(pl.col("age") + 1).otherwise(pl.col("age"))
    return table.with_columns(age.alias("age"))


def kinds(series: Series) -> list[str]:
    return [entry.kind for entry in series.ledger.entries()]


def stored_words(series: Series) -> set[int]:
    """Every digest of a row in a file below private/."""
    files = [p for kind in ("memory", "membership") for p in (series.root / "private" / kind).iterdir()]
    return {word for file in files for word in pl.read_parquet(file)["row"].to_list()}


def old_words(series: Series, views: list[Path]) -> set[int]:
    """The sums over the cells of these views."""
    secret = series.secret()
    read = [read_view(view, series.schema).pseudonymous(secret) for view in views]
    return {word for view in read for word in view.row_digests(secret, SUMS_OF_CELLS).tolist()}


@pytest.mark.parametrize("name", PARAMETERS)
def test_who_changed_is_known_exactly_across_the_migration(
    name: str, views: list[Path], tmp_path: Path
) -> None:
    restore(HERE / f"{name}.tgz", tmp_path / "old")
    series = Series.open(tmp_path / "old")
    done = series.publish(changed(views[-1]), as_of=NEXT)
    assert kinds(series) == ["init", "release", "release", "release", "migrate", "release"]
    assert (done.arrivals.new, done.arrivals.changed_value) == (0, 0)
    assert done.arrivals.changed_quasi_identifiers == CHANGED
    found = series.verify()
    assert found.holds, found.problems
    assert series.row_digests == NEWEST_ROWS
    assert not stored_words(series) & old_words(series, [*views])


@pytest.mark.parametrize("engine", [None, Here(parts=3)])
def test_a_dry_run_compares_without_the_migration(
    old: Series, views: list[Path], engine: Here | None
) -> None:
    before = stored_words(old)
    done = old.publish(changed(views[-1]), as_of=NEXT, dry_run=True, engine=engine)
    assert done.arrivals.changed_quasi_identifiers == CHANGED
    assert kinds(old) == ["init", "release", "release", "release"]
    assert stored_words(old) == before


def test_attacks_read_the_same_events_before_and_after(old: Series, views: list[Path]) -> None:
    with earlier_version():
        old.publish(changed(views[-1]), as_of=NEXT)
    before = history_of(old).events
    withdraw(old, 1)
    after = history_of(old).events
    assert before is not None and after is not None
    assert kinds(old)[-2:] == ["migrate", "withdraw"]
    assert before.row_changed.sum() == CHANGED
    assert np.array_equal(before.row_changed, after.row_changed)
    assert np.array_equal(before.event, after.event)


def test_who_was_forgotten_stays_without_a_digest(old: Series, views: list[Path]) -> None:
    with earlier_version():
        forget(old, pl.read_csv(views[0]).head(7).select(ID))
    withdraw(old, 1)
    members = pl.read_parquet([old.ledger.path(name) for name in old.membership_files(1)])
    nobody = members.filter((pl.col(KEY[0]) == 0) & (pl.col(KEY[1]) == 0))
    assert nobody["row"].to_list() == [0] * 7
    assert 0 not in members.join(nobody, on=list(KEY), how="anti")["row"].to_list()
    assert old.verify().holds


@pytest.mark.parametrize("engine", [None, Here(parts=2)])
def test_memory_and_membership_in_parts_are_migrated(
    old: Series, views: list[Path], engine: Here | None
) -> None:
    with earlier_version():
        old.publish(views[-1], as_of=NEXT, engine=Here(parts=3))
    assert len(old.membership_files(4)) == 3 and len(old.memory_files()) > 1
    assert old.row_digests == SUMS_OF_CELLS
    rows = old.memory_files().values()
    withdraw(old, 4)
    assert len(old.membership_files(4)) == 3 and list(old.memory_files().values()) == list(rows)
    done = old.publish(changed(views[-1]), as_of="2024-01-29", engine=engine)
    assert done.arrivals.changed_quasi_identifiers == CHANGED
    assert old.verify().holds and old.verify(engine=Here(parts=2)).holds


POINTS = (
    "rolled-forward", "staged", "release-synced", "private-synced", "before-commit", "inside-transaction",
    "after-commit", "erased", "erased:2",
)  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_migration_leaves_the_old_form_or_the_new_one(
    old: Series, views: list[Path], point: str
) -> None:
    old.ledger.close()
    sums = stored_words(old)
    command = [sys.executable, "-m", "republish", "withdraw", str(old.root), "1"]
    environment = os.environ | {crash_points.VARIABLE: point}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    reader = Series.open(old.root)
    committed = point.startswith(("after-commit", "erased"))
    assert reader.row_digests == (NEWEST_ROWS if committed else SUMS_OF_CELLS)
    assert all(found.holds for found in reader.verify().releases.values())
    assert kinds(reader)[4:] == (["migrate"] if committed else [])
    assert reader.publish(changed(views[-1]), as_of=NEXT).arrivals.changed_quasi_identifiers == CHANGED
    assert kinds(reader)[4:] == ["migrate", "release"]
    found = reader.verify()
    assert found.holds, found.problems
    assert not stored_words(reader) & sums


def test_an_altered_file_is_not_taken_over(old: Series) -> None:
    file = old.ledger.path(old.membership_files(2)[0])
    pl.read_parquet(file).with_columns(group=pl.lit(1, pl.Int32)).write_parquet(file)
    with pytest.raises(LedgerError, match="was altered"):
        withdraw(old, 1)
    assert kinds(old) == ["init", "release", "release", "release"]


def test_without_the_secret_a_release_can_still_be_withdrawn(
    old: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    withdraw(old, 1)
    assert kinds(old) == ["init", "release", "release", "release", "withdraw"]


def test_the_user_is_told_once(old: Series) -> None:
    old.ledger.close()
    said = [typed("withdraw", old.root, number).stderr for number in "12"]
    assert said[0].startswith("note: private files of an earlier version were written anew, once")
    assert said[0].count("\n") == 1
    assert said[1] == ""


def test_a_version_that_knows_no_forms_refuses_the_series(
    old: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    withdraw(old, 1)
    monkeypatch.setattr(catalogue, "MIGRATIONS", ())
    with pytest.raises(LedgerError, match="install a newer version"):
        Ledger.open(old.root)


def test_a_trial_run_before_the_migration_can_be_confirmed_after_it(old: Series, views: list[Path]) -> None:
    from republish.web.jobs.worker import outcome_of

    task = {"root": str(old.root), "view": str(views[-1]), "as_of": NEXT}
    trial = outcome_of({**task, "kind": "dry-run"}, lambda line: None)["result"]
    done = outcome_of(
        {**task, "kind": "publish", "expected_head": trial["head"]}, lambda line: None
    )["result"]  # fmt: skip
    assert done["committed"] and "written anew" in done["note"]


def test_a_backup_of_the_command_is_of_the_newest_form(old: Series, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["backup", str(old.root), str(tmp_path / "b.tgz"), "--without-secret"])
    assert done.exit_code == 0
    restore(tmp_path / "b.tgz", tmp_path / "back")
    assert Series.open(tmp_path / "back").row_digests == NEWEST_ROWS
