"""A disk that is full or closed: a clear error, and the series is as it was."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.publisher import publish, write_release
from republish.errors import LedgerError
from republish.ledger import Ledger, backup

SMALL_FILES = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from ledger.publisher import publish
from republish.errors import LedgerError
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
try:
    publish(Path(sys.argv[1]), "x" * 50_000)
except LedgerError as error:
    print(error)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MiB."""
    mount = shutil.which("mount")
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.getuid() != 0 or mount is None:
        pytest.skip("only root can mount a small disk")
    if subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def assert_one_release(root: Path) -> None:
    with Ledger.open(root) as ledger:
        assert len(ledger.releases()) == 1
        assert ledger.check() == []
    assert len(list((root / "private/memory").iterdir())) == 1
    assert list((root / "private/staging").iterdir()) == []


def test_a_full_disk_while_the_files_are_written(small_disk: Path) -> None:
    root = small_disk / "series"
    Ledger.create(root, {}).close()
    publish(root)
    with pytest.raises(LedgerError, match="No space left") as caught:
        publish(root, "x" * (2 << 20))
    assert "nothing was committed; the series is as it was" in str(caught.value)
    assert "free space on the disk" in str(caught.value)
    assert_one_release(root)
    assert publish(root).release == 2


def test_a_full_disk_while_the_catalogue_is_written(small_disk: Path) -> None:
    root = small_disk / "series"
    Ledger.create(root, {}).close()
    publish(root)
    filler = small_disk / "filler"
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        head = ledger.head
        full = pytest.raises(LedgerError, match="nothing was committed; the series is as it was")
        with full as caught, ledger.stage(2) as draft:
            (draft.folder / "table.csv").write_text("x")
            with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
                while True:
                    file.write(b"x" * 4096)
            ledger.commit(draft, "release", {"note": "y" * 20_000}, head)
        assert "has space" in str(caught.value)
        assert ledger.check() == []
    filler.unlink()
    assert_one_release(root)
    assert publish(root).release == 2


def test_a_full_disk_while_a_backup_is_written(small_disk: Path, root: Path) -> None:
    publish(root, "x" * 100)
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        write_release(ledger, os.urandom(1 << 20).hex())
    with pytest.raises(LedgerError, match="no backup was written"):
        backup(root, small_disk / "backup.tar")
    assert list(small_disk.iterdir()) == []


def test_a_limit_on_file_sizes(root: Path) -> None:
    publish(root)
    tests = str(Path(__file__).parent.parent)
    child = subprocess.run(
        [sys.executable, "-c", SMALL_FILES, str(root), tests],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "File too large" in child.stdout
    assert "nothing was committed; the series is as it was" in child.stdout
    assert_one_release(root)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_place_that_cannot_be_written(root: Path, number: int) -> None:
    publish(root)
    with (
        Ledger.open(root) as ledger,
        ledger.lock("publish"),
        pytest.raises(LedgerError, match="let this user write"),
        ledger.stage(2),
    ):
        raise OSError(number, os.strerror(number))
    assert_one_release(root)


def test_an_error_that_has_nothing_to_do_with_writing_stays_itself(root: Path) -> None:
    with Ledger.open(root) as ledger, pytest.raises(FileNotFoundError), ledger.stage(1):
        (root / "no-such-view.csv").read_bytes()


def test_a_series_on_a_read_only_disk_can_be_read(small_disk: Path) -> None:
    root = small_disk / "series"
    Ledger.create(root, {}).close()
    publish(root)
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    if subprocess.run(remount, check=False, capture_output=True).returncode:
        pytest.skip("remounting is not allowed here")
    with Ledger.open(root) as ledger:
        assert len(ledger.releases()) == 1
        assert ledger.check() == []
        with pytest.raises(LedgerError, match="Read-only"), ledger.lock("publish"):
            pass
