"""One publisher at a time: a lock that says who holds it and that the kernel releases with its holder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from republish.errors import LedgerError
from republish.ledger.files import refusal

_held: set[int] = set()


def _forget_in_child() -> None:
    # A forked child shares the lock and would keep it after its parent's death.
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)


@contextmanager
def hold(path: Path, command: str) -> Iterator[None]:
    """Hold the lock for the block; an error that names the holder if another process has it."""
    descriptor = _acquire(path)
    _held.add(descriptor)
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
            _held.discard(descriptor)
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
        raise LedgerError(_who(noted)) from None
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
        who = f"process {holder['pid']} on {holder['host']} (`{holder['command']}`, since {holder['since']})"
    except (ValueError, KeyError, TypeError):
        who = "another process"
    return (
        f"only one process may write to a series at a time, and {who} is doing so; "
        "nothing was written: wait until it has ended, then repeat the command"
    )
