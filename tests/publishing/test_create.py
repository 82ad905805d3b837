"""`init` and `restore` make a folder in one step, and never touch what they did not make."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from republish import LedgerError, Mondrian, Number, Schema, Series
from republish.ledger import Ledger, backup, crash_points, restore
from republish.ledger.files import STORE_MARK
from typed import typed

SCHEMA = Schema("id", [Number("age")])


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def killed(*arguments: object, fault: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own that kills itself at a point."""
    environment = os.environ | {crash_points.VARIABLE: fault}
    command = [sys.executable, "-m", "republish", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def view(tmp_path: Path) -> Path:
    path = tmp_path / "week1.csv"
    path.write_text("patient,age,diagnosis\n" + "".join(f"p{i},{i % 50},d{i % 4}\n" for i in range(60)))
    return path


@pytest.mark.parametrize(
    "name",
    [
        "private/week1.csv",
        "hierarchies/zip.csv",
        "knowledge/x",
        "releases/0001/table.csv",
        "series.toml",
        "x",
    ],
)
def test_a_folder_that_holds_anything_is_left_alone(tmp_path: Path, name: str) -> None:
    file = tmp_path / "study" / name
    file.parent.mkdir(parents=True)
    file.write_text("seed = 1\n")
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match="must be a new or an empty folder"):
        Series.create(tmp_path / "study", SCHEMA, Mondrian(2))
    assert contents(tmp_path) == before


def test_a_raw_view_inside_the_folder_survives_init(tmp_path: Path, view: Path) -> None:
    raw = tmp_path / "study" / "private" / "week1.csv"
    raw.parent.mkdir(parents=True)
    raw.write_bytes(view.read_bytes())
    done = typed("init", tmp_path / "study", "--from", raw, "--yes", "--publisher", "mondrian")
    assert (done.returncode, raw.read_bytes()) == (2, view.read_bytes())
    assert "must be a new or an empty folder" in done.stderr


def test_a_series_whose_ledger_is_lost_keeps_its_secret(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, Mondrian(2), store=str(tmp_path / "store"))
    made.ledger.close()
    (tmp_path / "s" / "ledger.db").unlink()
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match="restore the series from a backup"):
        Series.open(tmp_path / "s")
    with pytest.raises(LedgerError, match="if that was lost, restore the series from a backup"):
        Series.create(tmp_path / "s", SCHEMA, Mondrian(2), store=str(tmp_path / "store"))
    assert contents(tmp_path) == before


@pytest.mark.parametrize("there", [False, True])
def test_a_new_or_an_empty_folder_becomes_a_series(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "deep" / "s").mkdir(parents=True)
    Series.create(tmp_path / "deep" / "s", SCHEMA, Mondrian(2)).ledger.close()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["s"]
    assert not Series.open(tmp_path / "deep" / "s").records


def test_a_link_to_an_empty_folder_becomes_a_series(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "s").symlink_to(tmp_path / "disk")
    Series.create(tmp_path / "s", SCHEMA, Mondrian(2)).ledger.close()
    assert (tmp_path / "s").is_symlink() and (tmp_path / "disk" / "ledger.db").is_file()


def _make(root: Path, start: Barrier, told: object) -> None:
    start.wait()
    try:
        Series.create(root, SCHEMA, Mondrian(2)).ledger.close()
    except LedgerError as problem:
        told.put(str(problem))  # type: ignore[attr-defined]
    else:
        told.put("made")  # type: ignore[attr-defined]


@pytest.mark.parametrize("there", [False, True])
def test_of_those_who_make_a_series_at_once_one_wins_and_the_others_are_told(
    tmp_path: Path, there: bool
) -> None:
    together = multiprocessing.get_context("fork")
    for attempt in range(6):
        root = tmp_path / f"s{attempt}"
        if there:
            root.mkdir()
        start, told = together.Barrier(4), together.Queue()
        racers = [together.Process(target=_make, args=(root, start, told)) for _ in range(4)]
        for racer in racers:
            racer.start()
        words = sorted(told.get(timeout=60) for _ in racers)
        for racer in racers:
            racer.join()
        assert words.count("made") == 1
        assert all("another process has made" in word or "new or an empty" in word for word in words[:-1])
        assert not Series.open(root).records and Series.open(root).secret()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"s{attempt}" for attempt in range(6)]


@pytest.mark.parametrize("point", ["created-folders", "built-aside"])
def test_an_init_that_is_killed_can_be_repeated(tmp_path: Path, view: Path, point: str) -> None:
    arguments = ("init", tmp_path / "s", "--from", view, "--yes", "--publisher", "mondrian")
    assert killed(*arguments, fault=point).returncode == -signal.SIGKILL
    assert not (tmp_path / "s").exists()
    assert typed(*arguments).returncode == 0
    assert not Series.open(tmp_path / "s").records


def test_an_init_that_is_killed_at_the_end_has_made_the_series(tmp_path: Path, view: Path) -> None:
    done = killed(
        "init", tmp_path / "s", "--from", view, "--yes", "--publisher", "mondrian", fault="folder-made"
    )
    assert done.returncode == -signal.SIGKILL
    assert not Series.open(tmp_path / "s").records and Series.open(tmp_path / "s").secret()


def test_a_database_that_cannot_be_used_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(LedgerError):
        Series.create(tmp_path / "s", SCHEMA, Mondrian(2), ledger=f"sqlite:///{tmp_path}/no/such/folder.db")
    assert not (tmp_path / "s").exists()


def test_what_others_put_there_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(root: Path, *_: object) -> Ledger:
        (root / "private" / "week1.csv").write_text("a view")
        raise LedgerError("the database is gone")

    monkeypatch.setattr(Ledger, "create", fails)
    with pytest.raises(LedgerError, match="is gone"):
        Series.create(tmp_path / "s", SCHEMA, Mondrian(2), ledger=f"sqlite:///{tmp_path}/ledger.db")
    assert contents(tmp_path / "s") == {"private": None, "private/week1.csv": b"a view"}


def test_a_store_belongs_to_one_series(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    Series.create(tmp_path / "one", SCHEMA, Mondrian(2), store=store).ledger.close()
    with pytest.raises(LedgerError, match="is the store of another series"):
        Series.create(tmp_path / "two", SCHEMA, Mondrian(2), store=store)
    assert not (tmp_path / "two").exists()
    assert (tmp_path / "store" / STORE_MARK).is_file()
    Series.open(tmp_path / "one").ledger.layout.make()


def test_a_store_is_given_back_where_no_series_was_made(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    nowhere = f"sqlite:///{tmp_path}/no/such/folder.db"
    with pytest.raises(LedgerError):
        Series.create(tmp_path / "s", SCHEMA, Mondrian(2), store=store, ledger=nowhere)
    Series.create(tmp_path / "s", SCHEMA, Mondrian(2), store=store).ledger.close()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    Series.create(tmp_path / "s", SCHEMA, Mondrian(2)).ledger.close()
    backup(tmp_path / "s", tmp_path / "s.tar")
    return tmp_path / "s.tar"


def test_a_restore_that_is_killed_can_be_repeated(tmp_path: Path, archive: Path) -> None:
    arguments = ("restore", archive, tmp_path / "back")
    assert killed(*arguments, fault="built-aside").returncode == -signal.SIGKILL
    assert not (tmp_path / "back").exists()
    assert typed(*arguments).returncode == 0
    assert Series.open(tmp_path / "back").verify().problems == ()


def test_a_restore_that_is_killed_at_the_end_has_restored_all(tmp_path: Path, archive: Path) -> None:
    assert killed("restore", archive, tmp_path / "back", fault="folder-made").returncode == -signal.SIGKILL
    assert Series.open(tmp_path / "back").verify().problems == ()


def test_a_restore_whose_database_is_taken_leaves_nothing(tmp_path: Path, archive: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    Series.create(tmp_path / "other", SCHEMA, Mondrian(2), ledger=url).ledger.close()
    with pytest.raises(LedgerError, match="already holds a series"):
        restore(archive, tmp_path / "back", url, str(tmp_path / "store"))
    assert not (tmp_path / "back").exists()
    assert set(contents(tmp_path / "store").values()) <= {None}  # folders alone
    restore(archive, tmp_path / "back", f"sqlite:///{tmp_path}/another.db", str(tmp_path / "store"))
    assert Series.open(tmp_path / "back").verify().problems == ()


def test_series_toml_is_on_disk_before_the_folder_has_its_name(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    for make in (
        lambda: Series.create(tmp_path / "new", SCHEMA, Mondrian(2)),
        lambda: restore(archive, tmp_path / "back"),
    ):
        synced.clear()
        make()
        assert "series.toml" in synced


@pytest.mark.parametrize("mode", [0o700, 0o750])
def test_an_empty_folder_keeps_its_rights(tmp_path: Path, archive: Path, mode: int) -> None:
    for name, make in (
        ("new", lambda root: Series.create(root, SCHEMA, Mondrian(2)).ledger.close()),
        ("back", lambda root: restore(archive, root)),
    ):
        root = tmp_path / name
        root.mkdir(mode=mode)
        make(root)
        assert root.stat().st_mode & 0o777 == mode
        assert (root / "series.toml").stat().st_mode & 0o777 == 0o600


def test_the_folder_that_a_command_is_started_in_is_not_replaced(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(LedgerError, match="was started in it"):
        Series.create(".", SCHEMA, Mondrian(2))
    with pytest.raises(LedgerError, match="was started in it"):
        restore(archive, Path())
    assert list((tmp_path / "here").iterdir()) == []
    Series.create("series", SCHEMA, Mondrian(2)).ledger.close()
    assert not Series.open("series").records
