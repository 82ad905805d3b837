"""One publisher at a time: a lock that says who holds it and that the kernel releases with its holder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError

from republish.errors import LedgerError, SeriesBusy
from republish.ledger.files import refusal

WAIT = "1s"  # a server needs a moment to notice that a publisher was killed

T = TypeVar("T")
_LOOK_AGAIN = 0.1  # seconds

_held: set[int] = set()
_SPACE = 0x72657075  # the upper half of the keys of our advisory locks: "repu"
_locks = sql.table(
    "pg_locks",
    *map(sql.column, ("locktype", "classid", "objid", "granted", "pid")),
    schema="pg_catalog",
)
_sessions = sql.table(
    "pg_stat_activity",
    *map(sql.column, ("pid", "application_name", "usename", "client_addr", "backend_start", "datname")),
    schema="pg_catalog",
)


def _forget_in_child() -> None:
    # A forked child shares the lock and would keep it after its parent's death.
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


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


@contextmanager
def hold_in_database(engine: sql.Engine, command: str, patience: Patience = AT_ONCE) -> Iterator[None]:
    """Hold an advisory lock of a PostgreSQL ledger for the block: publishers on two machines exclude each other.

    It is the lock of one session: when that ends, with its process or with the server, the lock is gone. A commit
    is safe even then, for it looks whether the series is still what it was built upon.
    """
    owner = os.getpid()
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    descriptor: int = connection.connection.driver_connection.fileno()  # type: ignore[union-attr]
    _held.add(descriptor)
    key: int | None = None
    try:
        key = patience.take(lambda: _lock_session(connection, command))
        yield
    finally:
        if os.getpid() == owner:  # the session of a parent is not for its child to end
            _held.discard(descriptor)
            _end_session(connection, key)


def _lock_session(connection: sql.Connection, command: str) -> int:
    """Take the lock; its key is the number of the table of entries, the same for everyone who writes to it."""
    name = f"republish {command} (process {os.getpid()} on {socket.gethostname()})"
    connection.execute(sql.select(sql.func.set_config("application_name", name[:63], False)))
    connection.execute(sql.select(sql.func.set_config("lock_timeout", WAIT, False)))
    from sqlalchemy.dialects.postgresql import OID

    number = connection.scalar(sql.select(sql.cast(sql.func.to_regclass("entries"), OID)))
    if number is None:
        raise LedgerError("the database of the ledger holds no series; restore the series from a backup")
    key = (_SPACE << 32) | int(number)
    try:
        connection.execute(sql.select(sql.func.pg_advisory_lock(key)))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "55P03":  # lock_not_available
            raise
        raise _taken(_holder(connection, int(number))) from None
    return key


def _end_session(connection: sql.Connection, key: int | None) -> None:
    # Closing alone would leave it to the server when the lock is free. A session that is lost has no lock.
    with suppress(DBAPIError):
        if key is not None:
            connection.execute(sql.select(sql.func.pg_advisory_unlock(key)))
    connection.close()


def _holder(connection: sql.Connection, number: int) -> str:
    """Who holds the lock, as far as this user may see."""
    held = (
        sql.select(_sessions)
        .join(_locks, _locks.c.pid == _sessions.c.pid)
        .where(
            _locks.c.locktype == "advisory",
            _locks.c.granted,
            sql.cast(_locks.c.classid, sql.BigInteger) == _SPACE,
            sql.cast(_locks.c.objid, sql.BigInteger) == number,
            _sessions.c.datname == sql.func.current_database(),
        )
    )
    try:
        found: Any = connection.execute(held).first()
    except DBAPIError:
        found = None
    if found is None:
        return "another process"
    since = f", since {found.backend_start:%Y-%m-%d %H:%M:%S%z}" if found.backend_start else ""
    where = f" at {found.client_addr}" if found.client_addr else ""
    return f"`{found.application_name or 'a session'}` of database user {found.usename}{where}{since}"


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
        raise _taken(_who(noted)) from None
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


def _taken(who: str) -> SeriesBusy:
    return SeriesBusy(
        f"only one process may write to a series at a time, and {who} is doing so; "
        "nothing was written: repeat the command when it has ended, or have it wait with --wait SECONDS",
        who,
    )
