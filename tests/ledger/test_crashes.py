"""Publishers killed at every fault point: what is left is the old series or the new one, nothing else."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from ledger.publisher import forget, publish, run, write_release
from republish.ledger import Ledger, crash_points

KILLED = -signal.SIGKILL

NOT_COMMITTED = ["staged", "release-synced", "private-synced", "before-commit", "inside-transaction"]
COMMITTED = ["after-commit", "renamed"]
IN_LOCK = ["rolled-forward", "swept"]
ELSEWHERE = ["built-aside", "folder-made", "created-folders", "erased", "backup-written"]


def leftovers(root: Path) -> set[str]:
    """Private files that no entry names."""
    private = root / "private"
    with Ledger.open(root) as ledger:
        named = {name for entry in ledger.entries() for name in entry.payload.get("files", ())}
    found = {
        str(path.relative_to(root))
        for kind in ("memory", "membership")
        for path in (private / kind).iterdir()
    }
    return (found - named) | {path.name for path in (private / "staging").iterdir()}


def releases(root: Path) -> int:
    """The number of releases a reader sees, each of them whole."""
    with Ledger.open(root) as ledger:
        assert ledger.check() == []
        for entry in ledger.releases():
            assert entry.release is not None
            assert (ledger.folder(entry.release) / "table.csv").read_text() == f"table {entry.release}\n"
        return len(ledger.releases())


def assert_next_publisher_finds_order(root: Path, number: int) -> None:
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        assert leftovers(root) == set()
        assert ledger.check() == []
        assert sorted(path.name for path in (root / "releases").iterdir()) == [
            f"{release:04d}" for release in range(1, number)
        ]
        assert write_release(ledger).release == number
    assert releases(root) == number


def test_every_point_is_tried_here() -> None:
    assert sorted(crash_points.LEDGER) == sorted(NOT_COMMITTED + COMMITTED + IN_LOCK + ELSEWHERE)


@pytest.mark.parametrize("point", NOT_COMMITTED)
def test_a_death_before_the_commit_leaves_the_old_series(root: Path, point: str) -> None:
    publish(root)
    assert run(root, "publish", point).returncode == KILLED
    assert releases(root) == 1
    assert leftovers(root) != set()
    assert_next_publisher_finds_order(root, 2)


@pytest.mark.parametrize("point", COMMITTED)
def test_a_death_after_the_commit_leaves_the_new_series(root: Path, point: str) -> None:
    publish(root)
    assert run(root, "publish", point).returncode == KILLED
    assert releases(root) == 2
    assert_next_publisher_finds_order(root, 3)


def test_a_reader_finds_a_release_that_was_committed_but_not_moved(root: Path) -> None:
    assert run(root, "publish", "after-commit").returncode == KILLED
    assert list((root / "releases").iterdir()) == []
    with Ledger.open(root) as ledger:
        token = ledger.head.payload["staging"]
        assert ledger.folder(1) == root / "private/staging" / token
        assert ledger.path("releases/0001/table.csv").read_text() == "table 1\n"
    assert list((root / "releases").iterdir()) == []


@pytest.mark.parametrize("point", IN_LOCK)
def test_a_death_while_tidying_up_harms_nothing(root: Path, point: str) -> None:
    assert run(root, "publish", "after-commit").returncode == KILLED
    assert run(root, "publish", point).returncode == KILLED
    assert releases(root) == 1
    assert_next_publisher_finds_order(root, 2)


def test_a_death_during_creation_leaves_no_series_and_creation_can_be_repeated(tmp_path: Path) -> None:
    root = tmp_path / "new"
    assert run(root, "create", "created-folders").returncode == KILLED
    assert not (root / "ledger.db").exists()
    Ledger.create(root, {}).close()
    assert releases(root) == 0


def test_a_catalogue_without_tables_is_no_series(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch()
    Ledger.create(tmp_path, {}).close()
    assert releases(tmp_path) == 0


@pytest.mark.parametrize("point", ["before-commit", "inside-transaction"])
def test_a_death_before_forgetting_is_committed_keeps_the_old_memory(root: Path, point: str) -> None:
    old = publish(root).payload["memory"]
    assert run(root, "forget", point).returncode == KILLED
    assert (root / old).read_text() == "memory 1"
    assert releases(root) == 1
    assert_next_publisher_finds_order(root, 2)


@pytest.mark.parametrize(("point", "remains"), [("after-commit", True), ("erased", False)])
def test_the_next_writer_erases_what_was_forgotten(root: Path, point: str, remains: bool) -> None:
    old = root / publish(root).payload["memory"]
    assert run(root, "forget", point).returncode == KILLED
    assert old.exists() is remains
    with Ledger.open(root) as ledger:
        assert any("must be erased" in problem for problem in ledger.check()) is remains
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        assert not old.exists()
        assert ledger.check() == []


def test_a_death_during_a_backup_leaves_no_backup(root: Path) -> None:
    publish(root)
    assert run(root, "backup", "backup-written").returncode == KILLED
    assert not (root.parent / "backup.tar").exists()
    assert_next_publisher_finds_order(root, 2)


def test_the_nth_passage_can_be_chosen(root: Path) -> None:
    publish(root)
    assert run(root, "publish", "renamed:2").returncode == 0
    assert releases(root) == 2


def test_a_series_copied_between_commit_and_move_is_whole(root: Path, tmp_path: Path) -> None:
    assert run(root, "publish", "after-commit").returncode == KILLED
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    assert releases(copy) == 1
    assert_next_publisher_finds_order(copy, 2)


def test_an_interrupt_right_after_the_commit_removes_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(name: str) -> None:
        if name == "after-commit":
            raise KeyboardInterrupt

    monkeypatch.setattr(crash_points, "reach", interrupt)
    with pytest.raises(KeyboardInterrupt):
        publish(root)
    monkeypatch.undo()
    assert releases(root) == 1
    assert_next_publisher_finds_order(root, 2)


def test_a_file_removed_during_the_commit_stops_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def removed(name: str) -> None:
        if name == "before-commit":
            for path in (root / "private/memory").iterdir():
                path.unlink()

    monkeypatch.setattr(crash_points, "reach", removed)
    with pytest.raises(Exception, match="another process changed or removed"):
        publish(root)
    monkeypatch.undo()
    assert releases(root) == 0
    assert leftovers(root) == set()


def test_faults_do_nothing_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPUBLISH_FAULT", raising=False)
    for name in crash_points.POINTS:
        crash_points.reach(name)
    monkeypatch.setenv("REPUBLISH_FAULT", "another-name")
    for name in crash_points.POINTS:
        crash_points.reach(name)


def test_a_death_while_forgetting_again_keeps_one_memory(root: Path) -> None:
    publish(root)
    forget(root)
    assert run(root, "publish", "staged").returncode == KILLED
    publish(root)
    forget(root)
    with Ledger.open(root) as ledger:
        assert len(list((root / "private/memory").iterdir())) == 2  # one a release
        assert ledger.check() == []
