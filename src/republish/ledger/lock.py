"""One publisher at a time: a lock that says who holds it and that the kernel releases with its holder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from republish.errors import SeriesBusy
from republish.ledger.files import refusal

T = TypeVar("T")
_LOOK_AGAIN = 0.1  # seconds

held: set[int] = set()
"""Descriptors of locks that this process holds."""


def _forget_in_child() -> None:
    # A forked child shares the lock and would keep it after its parent's death.
    for descriptor in held:
        os.close(descriptor)
    held.clear()


os.register_at_fork(after_in_child=_forget_in_child)


@dataclass(frozen=True)
class Patience:
    """For how many seconds a writer waits until a lock is free, and who is told for whom it waits."""

    seconds: float = 0
    tell: Callable[[str], None] = lambda _: None

    def take(self, lock: Callable[[], T]) -> T:
        """What `lock` returns, tried until it is free or the time is over; `SeriesBusy` says who has it then."""
        until, waiting = time.monotonic() + self.seconds, False
        while True:
            try:
                return lock()
            except SeriesBusy as busy:
                left = until - time.monotonic()
                if left <= 0:
                    raise
                if not waiting:
                    self.tell(f"waiting up to {self.seconds:g} seconds for {busy.holder} to end")
                waiting = True
            time.sleep(min(_LOOK_AGAIN, left))


AT_ONCE = Patience()


@contextmanager
def hold(path: Path, command: str, patience: Patience = AT_ONCE) -> Iterator[None]:
    """Hold the lock for the block; an error that names the holder if another process has it."""
    descriptor = patience.take(lambda: _acquire(path))
    held.add(descriptor)
    owner = os.getpid()
    try:
        holder = {
            "pid": owner,
            "host": socket.gethostname(),
            "command": command,
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        _note(descriptor, json.dumps(holder))
        yield
    finally:
        if os.getpid() == owner:
            held.discard(descriptor)
            try:
                os.ftruncate(descriptor, 0)
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child forked just now may still hold a copy
            finally:
                os.close(descriptor)


def _acquire(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise refusal("the lock of the series could not be opened", error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        noted = os.pread(descriptor, 4096, 0)
        os.close(descriptor)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise refusal("the file system of the series cannot lock files", error) from error
        raise taken(_who(noted)) from None
    return descriptor


def _note(descriptor: int, text: str) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
    except OSError as error:
        raise refusal("the lock of the series could not be written", error) from error


def _who(noted: bytes) -> str:
    try:
        holder = json.loads(noted)
        return f"process {holder['pid']} on {holder['host']} (`{holder['command']}`, since {holder['since']})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def taken(who: str) -> SeriesBusy:
    """What to raise where somebody else writes to the series."""
    return SeriesBusy(
        f"only one process may write to a series at a time, and {who} is doing so; "
        "nothing was written: repeat the command when it has ended, or have it wait with --wait SECONDS",
        who,
    )
