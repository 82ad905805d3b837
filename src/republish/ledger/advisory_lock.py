"""The lock of a ledger in PostgreSQL: publishers on two machines exclude each other."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects.postgresql import OID
from sqlalchemy.exc import DBAPIError

from republish.errors import LedgerError
from republish.ledger.lock import AT_ONCE, Patience, held, taken

WAIT = "1s"  # a server needs a moment to notice that a publisher was killed

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


@contextmanager
def hold_in_database(engine: sql.Engine, command: str, patience: Patience = AT_ONCE) -> Iterator[None]:
    """Hold an advisory lock of a PostgreSQL ledger for the block: publishers on two machines exclude each other.

    It is the lock of one session: when that ends, with its process or with the server, the lock is gone. A commit
    is safe even then, for it looks whether the series is still what it was built upon.
    """
    owner = os.getpid()
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    descriptor: int = connection.connection.driver_connection.fileno()  # type: ignore[union-attr]
    held.add(descriptor)
    key: int | None = None
    try:
        key = patience.take(lambda: _lock_session(connection, command))
        yield
    finally:
        if os.getpid() == owner:  # the session of a parent is not for its child to end
            held.discard(descriptor)
            _end_session(connection, key)


def _lock_session(connection: sql.Connection, command: str) -> int:
    """Take the lock; its key is the number of the table of entries, the same for everyone who writes to it."""
    name = f"republish {command} (process {os.getpid()} on {socket.gethostname()})"
    connection.execute(sql.select(sql.func.set_config("application_name", name[:63], False)))
    connection.execute(sql.select(sql.func.set_config("lock_timeout", WAIT, False)))
    number = connection.scalar(sql.select(sql.cast(sql.func.to_regclass("entries"), OID)))
    if number is None:
        raise LedgerError("the database of the ledger holds no series; restore the series from a backup")
    key = (_SPACE << 32) | int(number)
    try:
        connection.execute(sql.select(sql.func.pg_advisory_lock(key)))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "55P03":  # lock_not_available
            raise
        raise taken(_holder(connection, int(number))) from None
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
