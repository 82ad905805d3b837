"""A catalogue behind a URL: PostgreSQL, or another database that SQLAlchemy speaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from republish.errors import LedgerError
from republish.ledger.advisory_lock import hold_in_database
from republish.ledger.lock import Patience
from republish.ledger.sqlite_file import BUSY_SECONDS, Use
from republish.sources.postgres import is_database
from republish.sources.postgres.address import FORM, connect_to, database_of


class ServerConnection:
    """A connection that takes statements as SQLite does: text, with names of values after a colon."""

    def __init__(self, connection: sql.Connection) -> None:
        self.bare = connection

    def execute(self, statement: str, values: Mapping[str, Any] | None = None) -> sql.CursorResult[Any]:
        return self.bare.execute(sql.text(statement), dict(values or {}))

    def executemany(self, statement: str, rows: Sequence[Mapping[str, Any]]) -> sql.CursorResult[Any]:
        return self.bare.execute(sql.text(statement), [dict(row) for row in rows])


class Server:
    """A database that has an address; every use opens its own connection and closes it, in one transaction."""

    errors: tuple[type[Exception], ...] = (SQLAlchemyError,)
    held = " FOR UPDATE"

    def __init__(self, url: str) -> None:
        self._url = url
        self._engines: dict[Use, sql.Engine] = {}

    @contextmanager
    def session(self, use: Use) -> Iterator[ServerConnection]:
        """A connection within a transaction that is committed unless the block fails."""
        with self._engine(use).begin() as connection:
            yield ServerConnection(connection)

    @staticmethod
    def has_entries(connection: ServerConnection) -> bool:
        """Whether there is a table of entries."""
        return bool(sql.inspect(connection.bare).has_table("entries"))

    def prepare(self) -> None:
        """Nothing is to be done before the first transaction."""

    @contextmanager
    def locked(self, command: str, patience: Patience) -> Iterator[None]:
        """Keep publishers on other machines out for the block, where the database can tell them."""
        engine = self._engine("write")
        if engine.dialect.name != "postgresql":
            yield
            return
        with hold_in_database(engine, command, patience):
            yield

    def close(self) -> None:
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()

    def _engine(self, use: Use) -> sql.Engine:
        if use not in self._engines:
            engine = self._new_engine(use)
            if engine.dialect.name == "postgresql" and use == "write":
                _prepare_postgresql(engine)
            self._engines[use] = engine
        return self._engines[use]

    def _new_engine(self, use: Use) -> sql.Engine:
        if is_database(self._url):
            options = {} if use == "write" else {"execution_options": {"postgresql_readonly": True}}
            return connect_to(database_of(self._url, LedgerError), LedgerError, **options)
        try:
            return sql.create_engine(self._url, poolclass=sql.pool.NullPool)
        except (SQLAlchemyError, ImportError) as error:
            raise LedgerError(
                f"the URL of the ledger cannot be used ({type(error).__name__}): it must look like "
                f"{FORM}, and the driver must be installed (extra `postgres`)"
            ) from error


def _prepare_postgresql(engine: sql.Engine) -> None:
    @sql.event.listens_for(engine, "begin")
    def _begin(connection: sql.Connection) -> None:
        # Files move once a commit is reported: it must then be on disk, whatever the default of the server.
        setting = sql.func.current_setting("synchronous_commit")
        durable = sql.func.set_config("synchronous_commit", "on", True)
        connection.execute(sql.select(sql.func.set_config("lock_timeout", f"{BUSY_SECONDS}s", True)))
        connection.execute(sql.select(durable).where(setting == "off"))
