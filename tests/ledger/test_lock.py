from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ledger import publisher
from ledger.publisher import publish, run, write_release
from republish.errors import LedgerError, SeriesBusy
from republish.ledger import Ledger
from republish.ledger.lock import Patience


@contextmanager
def child(root: Path, action: str) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that has said its first word."""
    command = [sys.executable, "-W", "error", publisher.__file__, str(root), action]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() in ("held", "ready")
        try:
            yield process
        finally:
            process.kill()


def test_a_second_publisher_is_told_who_holds_the_lock(root: Path) -> None:
    with child(root, "hold") as holder:
        with pytest.raises(LedgerError) as caught:
            publish(root)
        message = str(caught.value)
        assert f"process {holder.pid} on {socket.gethostname()} (`publish weekly`, since 20" in message
        assert "repeat the command" in message


def test_readers_need_no_lock(root: Path) -> None:
    publish(root)
    with child(root, "hold"), Ledger.open(root) as ledger:
        assert len(ledger.releases()) == 1
        assert ledger.check() == []


def test_the_lock_dies_with_its_holder(root: Path) -> None:
    with child(root, "hold") as holder:
        holder.kill()
        holder.wait()
        assert publish(root).release == 1


def test_one_process_holds_the_lock_once(root: Path) -> None:
    taken = pytest.raises(LedgerError, match=f"process {os.getpid()}")
    with Ledger.open(root) as ledger, Ledger.open(root) as other, ledger.lock("publish"), taken:
        other.lock("publish").__enter__()


def test_the_lock_is_free_after_an_error(root: Path) -> None:
    with Ledger.open(root) as ledger:
        with pytest.raises(ZeroDivisionError), ledger.lock("publish"):
            _ = 1 / 0
        with ledger.lock("publish"):
            pass


def test_a_forked_child_does_not_keep_the_lock(root: Path) -> None:
    reading, writing = os.pipe()
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        pid = os.fork()
        if pid == 0:
            os.read(reading, 1)
            os._exit(0)
    try:
        assert publish(root).release == 1
    finally:
        os.write(writing, b"x")
        os.waitpid(pid, 0)
        os.close(reading)
        os.close(writing)


def test_of_two_that_commit_at_once_one_wins_and_the_other_is_told(root: Path) -> None:
    with child(root, "race") as first, child(root, "race") as second:
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=60)[0] for process in (first, second)]
        codes = [first.returncode, second.returncode]
    assert sorted(codes) == [0, 2]
    assert "another publisher" in said[codes.index(2)]
    winner = (first, second)[codes.index(0)]
    assert (root / "releases/0001/table.csv").read_text() == str(winner.pid)
    with Ledger.open(root) as ledger:
        assert len(ledger.releases()) == 1
        assert ledger.check() == []


def test_reading_goes_on_while_another_process_publishes(root: Path) -> None:
    publish(root)
    command = [sys.executable, publisher.__file__, str(root), "publish"]
    with subprocess.Popen(command) as process, Ledger.open(root) as ledger:
        seen = []
        while process.poll() is None:
            assert ledger.check() == []
            seen.append(len(ledger.releases()))
    assert process.returncode == 0
    assert seen == sorted(seen)
    assert set(seen) <= {1, 2}


def test_a_child_reads_through_the_ledger_of_its_parent(root: Path) -> None:
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        write_release(ledger)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if ledger.check() == [] else 1)
        assert os.waitpid(pid, 0)[1] == 0
    assert run(root, "publish").returncode == 0


def test_a_busy_series_says_how_to_wait(root: Path) -> None:
    with child(root, "hold") as holder, Ledger.open(root) as ledger:
        with pytest.raises(SeriesBusy, match="have it wait with --wait SECONDS") as caught:
            ledger.lock("publish").__enter__()
        assert caught.value.exit_code == 75
        assert caught.value.holder.startswith(f"process {holder.pid} on ")


def test_whoever_waits_gets_the_lock_when_its_holder_ends(root: Path) -> None:
    told: list[str] = []
    with child(root, "hold") as holder, Ledger.open(root) as ledger:

        def tell(line: str) -> None:
            told.append(line)
            holder.kill()
            holder.wait()

        ledger.patience = Patience(60, tell)
        with ledger.lock("publish"):
            pass
    assert len(told) == 1
    assert told[0].startswith(f"waiting up to 60 seconds for process {holder.pid} on ")
    assert told[0].endswith(" to end")


def test_who_has_waited_long_enough_is_told_who_holds_the_lock(root: Path) -> None:
    told: list[str] = []
    with child(root, "hold") as holder, Ledger.open(root) as ledger:
        ledger.patience = Patience(0.2, told.append)
        with pytest.raises(SeriesBusy, match=f"process {holder.pid}"):
            ledger.lock("publish").__enter__()
    assert len(told) == 1
