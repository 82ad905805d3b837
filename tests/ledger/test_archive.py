from __future__ import annotations

import io
import json
import os
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger.publisher import forget, publish, run
from republish.errors import LedgerError
from republish.ledger import Ledger, backup, restore
from republish.ledger.archive import MANIFEST


@pytest.fixture
def series(root: Path) -> Path:
    publish(root)
    publish(root)
    forget(root)
    (root / "hierarchies").mkdir()
    (root / "hierarchies/zip.csv").write_text("12;*\n")
    return root


def contents(root: Path) -> dict[str, bytes]:
    working = ("ledger.db", "lock")
    files = (path for path in root.rglob("*") if path.is_file() and not path.name.startswith(working))
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def rewrite(archive: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    """The same archive with other members."""
    with tarfile.open(archive) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    change(members)
    target = archive.with_name("rewritten.tar")
    with tarfile.open(target, "w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target


def assert_refused(archive: Path, target: Path, match: str) -> None:
    with pytest.raises(LedgerError, match=match):
        restore(archive, target)
    assert not target.exists()


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz", "b.tgz"])
def test_a_series_comes_back_as_it_was(series: Path, tmp_path: Path, name: str) -> None:
    backup(series, tmp_path / name)
    restore(tmp_path / name, tmp_path / "back")
    assert contents(tmp_path / "back") == contents(series)
    with Ledger.open(series) as before, Ledger.open(tmp_path / "back") as after:
        assert after.entries() == before.entries()
        assert after.check() == []
    assert publish(tmp_path / "back").release == 3


def test_a_backup_is_closed_to_others_and_leaves_no_other_file(series: Path, tmp_path: Path) -> None:
    backup(series, tmp_path / "b.tar")
    assert (tmp_path / "b.tar").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "series"]
    assert list((series / "private/staging").iterdir()) == []


def test_modes_come_back(series: Path, tmp_path: Path) -> None:
    backup(series, tmp_path / "b.tar")
    old = os.umask(0)
    try:
        restore(tmp_path / "b.tar", tmp_path / "back")
    finally:
        os.umask(old)
    back = tmp_path / "back"
    private = [back / "private", *(path for path in (back / "private").rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in private} == {0o700}
    files = [back / "ledger.db", *(path for path in (back / "private").rglob("*") if path.is_file())]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_the_secret_can_be_left_out(series: Path, tmp_path: Path) -> None:
    backup(series, tmp_path / "b.tar", without_secret=True)
    restore(tmp_path / "b.tar", tmp_path / "back")
    assert not (tmp_path / "back/private/secret.key").exists()
    assert set(contents(series)) - set(contents(tmp_path / "back")) == {"private/secret.key"}


def test_a_release_that_was_not_moved_yet_is_in_the_backup(series: Path, tmp_path: Path) -> None:
    assert run(series, "publish", "after-commit").returncode < 0
    backup(series, tmp_path / "b.tar")
    restore(tmp_path / "b.tar", tmp_path / "back")
    assert (tmp_path / "back/releases/0003/table.csv").read_text() == "table 3\n"


def test_what_the_database_has_not_written_back_is_in_the_backup(series: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(series / "ledger.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entries").fetchone()
        publish(series)  # an open reader keeps this commit in the write-ahead log
        assert (series / "ledger.db-wal").stat().st_size > 0
        backup(series, tmp_path / "b.tar")
    restore(tmp_path / "b.tar", tmp_path / "back")
    with Ledger.open(tmp_path / "back") as ledger:
        assert len(ledger.releases()) == 3


def test_a_damaged_series_is_not_backed_up(series: Path, tmp_path: Path) -> None:
    (series / "releases/0001/table.csv").write_text("tabla 1\n")
    with pytest.raises(LedgerError, match="only an intact series"):
        backup(series, tmp_path / "b.tar")
    assert not (tmp_path / "b.tar").exists()


@pytest.mark.parametrize(
    ("name", "match"), [("b.zip", "must end in"), ("series/b.tar", "outside"), ("old.tar", "exists")]
)
def test_targets_that_are_refused(series: Path, tmp_path: Path, name: str, match: str) -> None:
    (tmp_path / "old.tar").write_text("old")
    with pytest.raises(LedgerError, match=match):
        backup(series, tmp_path / name)
    assert (tmp_path / "old.tar").read_text() == "old"


def test_a_backup_needs_the_lock(series: Path, tmp_path: Path) -> None:
    with (
        Ledger.open(series) as ledger,
        ledger.lock("publish"),
        pytest.raises(LedgerError, match="only one process"),
    ):
        backup(series, tmp_path / "b.tar")


def test_restore_goes_into_an_empty_folder_only(series: Path, tmp_path: Path) -> None:
    backup(series, tmp_path / "b.tar")
    target = tmp_path / "back"
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    with pytest.raises(LedgerError, match="new or an empty folder"):
        restore(tmp_path / "b.tar", target)
    assert [path.name for path in target.iterdir()] == ["mine.txt"]
    (target / "mine.txt").unlink()
    restore(tmp_path / "b.tar", target)
    assert contents(target) == contents(series)


def test_restore_into_another_database(series: Path, tmp_path: Path) -> None:
    backup(series, tmp_path / "b.tar")
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    restore(tmp_path / "b.tar", tmp_path / "back", url)
    assert not (tmp_path / "back/ledger.db").exists()
    with Ledger.open(tmp_path / "back", url) as ledger:
        assert ledger.check() == []
        assert len(ledger.releases()) == 2
    backup(tmp_path / "back", tmp_path / "again.tar", url)
    restore(tmp_path / "again.tar", tmp_path / "again")
    assert contents(tmp_path / "again") == contents(series)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz"])
def test_a_truncated_archive(series: Path, tmp_path: Path, name: str, share: float) -> None:
    backup(series, tmp_path / name)
    data = (tmp_path / name).read_bytes().rstrip(b"\0")
    (tmp_path / f"cut-{name}").write_bytes(data[: int(len(data) * share)])
    assert_refused(
        tmp_path / f"cut-{name}", tmp_path / "back", "cannot be read|incomplete|could not be restored"
    )


def test_something_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("hello " * 1000)
    assert_refused(tmp_path / "b.tar", tmp_path / "back", "cannot be read as a backup")


def test_an_archive_that_is_not_there(tmp_path: Path) -> None:
    assert_refused(tmp_path / "b.tar", tmp_path / "back", "No such file")


@pytest.mark.parametrize("name", ["releases/0001/table.csv", "series.toml", "private/secret.key", MANIFEST])
def test_an_archive_with_a_file_less(series: Path, tmp_path: Path, name: str) -> None:
    backup(series, tmp_path / "b.tar")
    archive = rewrite(tmp_path / "b.tar", lambda members: members.pop(name))
    assert_refused(archive, tmp_path / "back", "incomplete or was altered")


def test_an_altered_archive(series: Path, tmp_path: Path) -> None:
    backup(series, tmp_path / "b.tar")
    archive = rewrite(tmp_path / "b.tar", lambda members: members.update({"series.toml": b"seed = 8\n"}))
    assert_refused(archive, tmp_path / "back", "incomplete or was altered")


def test_a_damaged_series_in_an_archive_with_a_matching_list(series: Path, tmp_path: Path) -> None:
    def without_a_table(members: dict[str, bytes]) -> None:
        del members["releases/0001/table.csv"]
        manifest = json.loads(members.pop(MANIFEST))
        del manifest["files"]["releases/0001/table.csv"]
        members[MANIFEST] = json.dumps(manifest).encode()

    backup(series, tmp_path / "b.tar")
    archive = rewrite(tmp_path / "b.tar", without_a_table)
    assert_refused(archive, tmp_path / "back", "table.csv is missing")


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/tmp/evil-republish",
        "private/../../evil",
        "a//b",
        "./a",
        "ledger.db-wal",
        "private/lock",
        "a/../b",
    ],
)
def test_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "b.tar", "w") as tar:
        info = tarfile.TarInfo(name)
        info.size = 1
        tar.addfile(info, io.BytesIO(b"x"))
    assert_refused(tmp_path / "b.tar", tmp_path / "deep/back", "was not made by")
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "deep/evil").exists()
    assert not Path("/tmp/evil-republish").exists()


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_links_and_devices(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "b.tar", "w") as tar:
        info = tarfile.TarInfo("releases")
        info.type, info.linkname = kind, "/etc"
        tar.addfile(info)
    assert_refused(tmp_path / "b.tar", tmp_path / "back", "not plain files")


def test_a_file_that_comes_twice(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "b.tar", "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("series.toml"), io.BytesIO())
    assert_refused(tmp_path / "b.tar", tmp_path / "back", "twice")


def test_a_file_below_a_file(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "b.tar", "w") as tar:
        for name in ("a", "a/b"):
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    assert_refused(tmp_path / "b.tar", tmp_path / "back", "could not be restored")
