"""A catalogue in an SQLite file: how it is opened, and when a transaction is on disk."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

BUSY_SECONDS = 20
SYNCHRONOUS = "FULL"
"""A commit is on disk when it is reported."""

Use = Literal["read", "write"]


class SQLiteFile:
    """An SQLite file; every use opens its own connection and closes it, in one transaction."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    held = ""  # a transaction that writes keeps others from writing

    def __init__(self, path: Path, made: bool) -> None:
        self._path, self._mode = path, "rw" if made else "rwc"

    @contextmanager
    def session(self, use: Use) -> Iterator[sqlite3.Connection]:
        """A connection within a transaction that is committed unless the block fails."""
        with closing(self._shared() if use == "read" else self._connection(use)) as connection:
            connection.execute("BEGIN" if use == "read" else "BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @staticmethod
    def has_entries(connection: sqlite3.Connection) -> bool:
        """Whether there is a table of entries."""
        found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'entries'")
        return found.fetchone() is not None

    def prepare(self) -> None:
        """Have readers and a writer not wait for each other; this cannot be done inside a transaction."""
        with closing(self._connection("write")) as connection:
            connection.execute("PRAGMA journal_mode=WAL")

    def close(self) -> None:
        """Nothing is open between sessions."""

    def _shared(self) -> sqlite3.Connection:
        # Processes share an index file beside the database. Where a full disk leaves no room for it, a reader that is
        # alone can do without: the series stays readable, and a commit that failed for want of space can still be told
        # from one that succeeded.
        try:
            return self._connection("read", "PRAGMA schema_version")
        except sqlite3.Error:
            return self._connection("read alone")

    def _connection(self, use: Use | Literal["read alone"], *then: str) -> sqlite3.Connection:
        settings = [
            f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}",
            f"PRAGMA synchronous={SYNCHRONOUS}",
            "PRAGMA trusted_schema=OFF",
        ]
        if use == "read alone":
            settings.insert(0, "PRAGMA locking_mode=EXCLUSIVE")  # before anything touches the database
        if use != "write":
            settings.append("PRAGMA query_only=ON")
        connection = sqlite3.connect(self._address(), uri=True, isolation_level=None)
        try:
            for statement in (*settings, *then):
                connection.execute(statement)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _address(self) -> str:
        path = self._path.absolute()
        wal = path.with_name(path.name + "-wal")
        # On a medium that cannot be written SQLite cannot make its side files, and needs to be told that it may
        # do without them.
        fixed = path.exists() and not os.access(path.parent, os.W_OK) and not wal.exists()
        return f"{path.as_uri()}?{'immutable=1' if fixed else f'mode={self._mode}'}"
