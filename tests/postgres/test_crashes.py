"""The server, or the publisher, is killed -9 around the commit: the release is there whole or not at all."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.engine.default import DefaultDialect

from postgres.commands import start
from postgres.server import Server
from republish import LedgerError, Series
from republish.ledger import crash_points

POINTS = {"before-commit": 1, "inside-transaction": 1, "after-commit": 2}
"""Where the server or the publisher dies, and how many releases there are then."""


def kill_at(point: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill the server when this process reaches the point."""

    def reach(name: str) -> None:
        if name == point and server.running:
            server.kill()

    monkeypatch.setattr(crash_points, "reach", reach)


def require_whole(root: Path, views: list[Path], expected: int) -> None:
    """A series of this many releases, that another publisher continues and leaves tidy."""
    reader = Series.open(root)
    assert len(reader.records) == expected
    assert reader.verify().holds
    assert len(list((root / "releases").iterdir())) <= expected
    assert reader.publish(views[2], as_of="2026-01-19").number == expected + 1
    assert reader.verify().holds
    assert not list((root / "private" / "staging").iterdir())
    assert len(list((root / "releases").iterdir())) == expected + 1
    reader.ledger.close()


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_around_the_commit(
    kept: Series, views: list[Path], server: Server, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    kept.publish(views[0], as_of="2026-01-05")
    with monkeypatch.context() as patched:
        kill_at(point, server, patched)
        if POINTS[point] == 2:
            assert kept.publish(views[1], as_of="2026-01-12").number == 2
        else:
            with pytest.raises(LedgerError, match="not known whether entry 3 was committed"):
                kept.publish(views[1], as_of="2026-01-12")
    assert not server.running
    with pytest.raises(LedgerError, match="could not be read"):
        Series.open(kept.root)
    server.start()
    require_whole(kept.root, views, POINTS[point])


@pytest.mark.parametrize("back", [False, True])
def test_a_commit_whose_answer_is_lost(
    kept: Series, views: list[Path], server: Server, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    """The server commits and dies before it says so; it may be back before the publisher asks again."""
    import psycopg

    kept.publish(views[0], as_of="2026-01-05")
    commit, reach, armed = DefaultDialect.do_commit, crash_points.reach, []

    def arm(name: str) -> None:
        armed.extend([name] if name == "inside-transaction" else [])
        reach(name)

    def lose(dialect: DefaultDialect, connection: object) -> None:
        commit(dialect, connection)
        if armed and server.running:
            armed.clear()
            server.kill()
            if back:
                server.start()
            raise psycopg.OperationalError("the connection is lost")

    with monkeypatch.context() as patched:
        patched.setattr(crash_points, "reach", arm)
        patched.setattr(DefaultDialect, "do_commit", lose)
        if back:
            assert kept.publish(views[1], as_of="2026-01-12").number == 2
        else:
            with pytest.raises(LedgerError, match="not known whether entry 3 was committed"):
                kept.publish(views[1], as_of="2026-01-12")
    if not back:
        server.start()
    require_whole(kept.root, views, 2)


@pytest.mark.parametrize("point", POINTS)
def test_a_publisher_killed_around_the_commit(kept: Series, views: list[Path], point: str) -> None:
    kept.publish(views[0], as_of="2026-01-05")
    with start("publish", kept.root, views[1], "--as-of", "2026-01-12", fault=point) as publisher:
        publisher.communicate(timeout=120)
    assert publisher.returncode == -signal.SIGKILL
    require_whole(kept.root, views, POINTS[point])


def test_a_publisher_that_lost_its_lock_with_the_server_cannot_overwrite_the_next(
    kept: Series, views: list[Path], server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first loses its session when the server restarts, a second publishes meanwhile, the first commits."""
    elsewhere = tmp_path / "elsewhere"

    def reach(name: str) -> None:
        if name == "verified" and not elsewhere.exists():
            shutil.copytree(kept.root, elsewhere)
            server.kill()
            server.start()
            assert Series.open(elsewhere).publish(views[1], as_of="2026-01-05").number == 1

    monkeypatch.setattr(crash_points, "reach", reach)
    with pytest.raises(LedgerError, match="another publisher has changed the series"):
        kept.publish(views[0], as_of="2026-01-05")
    other = Series.open(elsewhere)
    assert len(other.records) == 1
    assert other.verify().holds
    other.ledger.close()


def test_a_publisher_goes_on_when_the_server_restarts_meanwhile(
    kept: Series, views: list[Path], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reach(name: str) -> None:
        if name == "verified":
            server.kill()
            server.start()

    with monkeypatch.context() as patched:
        patched.setattr(crash_points, "reach", reach)
        assert kept.publish(views[0], as_of="2026-01-05").number == 1
    require_whole(kept.root, views, 1)


def test_a_killed_holder_gives_the_lock_back(kept: Series, views: list[Path]) -> None:
    with start("publish", kept.root, views[0], fault="grouped") as publisher:
        publisher.communicate(timeout=120)
    assert publisher.returncode == -signal.SIGKILL
    assert kept.publish(views[0], as_of="2026-01-05").number == 1


def test_a_forked_child_does_not_keep_the_lock_of_its_dead_parent(
    kept: Series, views: list[Path], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(kept.root, elsewhere)  # without the lock file's help
    code = (
        "import os, signal, sys\n"
        "from republish import Series\n"
        "with Series.open(sys.argv[1]).ledger.lock('publish'):\n"
        "    if os.fork() == 0:\n"
        "        print('child', flush=True)\n"
        "        sys.stdin.read()\n"
        "        os._exit(0)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", code, str(elsewhere)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "child\n"
        assert parent.wait(60) == -signal.SIGKILL
        assert kept.publish(views[0], as_of="2026-01-05").number == 1  # while the child still lives
