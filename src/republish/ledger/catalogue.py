"""The SQL catalogue: which entries exist, and which one is the last.

SQLite by default, PostgreSQL or another database SQLAlchemy speaks by its URL (one series a database or schema).
Every use opens its own connection and closes it, so that nothing is shared with a forked child.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from republish.errors import LedgerError, SeriesBusy
from republish.ledger.chain import Head, Record
from republish.ledger.lock import AT_ONCE, Patience, hold_in_database
from republish.sources.postgres import is_database
from republish.sources.postgres.address import FORM, connect_to, database_of

BUSY_SECONDS = 20
SYNCHRONOUS = "FULL"
"""A commit to SQLite is on disk when it is reported."""

_metadata = sql.MetaData()
ENTRIES = sql.Table(
    "entries",
    _metadata,
    sql.Column("seq", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.String(16), nullable=False),
    sql.Column("release", sql.Integer),
    sql.Column("recorded_at", sql.String(40), nullable=False),
    sql.Column("payload", sql.Text, nullable=False),
    sql.Column("previous", sql.String(64), nullable=False),
    sql.Column("digest", sql.String(64), nullable=False),
)
HEAD = sql.Table(
    "head",
    _metadata,
    sql.Column("id", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("seq", sql.Integer, nullable=False),
    sql.Column("digest", sql.String(64), nullable=False),
)
META = sql.Table(
    "meta",
    _metadata,
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("value", sql.Text, nullable=False),
)

Use = Literal["read", "read alone", "write"]
Migration = Callable[[sql.Connection], None]


def _digests_of_rows(_: sql.Connection) -> None:
    """Layout 2 has the tables of layout 1.

    Entries may say in which form digests of rows are stored, and a version that does not know of forms must not go on
    with such a series: it would take everybody for changed.
    """


MIGRATIONS: tuple[Migration, ...] = (_digests_of_rows,)
"""Step i brings a catalogue of layout i + 1 to layout i + 2."""


def newest_layout() -> int:
    """The layout of a catalogue that this version writes."""
    return 1 + len(MIGRATIONS)


def overtaken(expected: Head) -> SeriesBusy:
    """What to raise when the last entry is not the one a publisher built upon."""
    return SeriesBusy(
        f"another publisher has changed the series since entry {expected.seq} was read; "
        "nothing was committed: read the series again and repeat the command"
    )


class Catalogue:
    """The rows of one series, in an SQLite file or behind a URL."""

    def __init__(self, path: Path, url: str | None = None) -> None:
        self._path = path
        self._url = url
        self._engines: dict[Use, sql.Engine] = {}

    @property
    def exists(self) -> bool:
        """Whether a series was created here; an interrupted creation leaves none."""
        if self._url is None and not self._path.exists():
            return False
        with self._session("read") as connection:
            return bool(sql.inspect(connection).has_table("entries"))

    def create(self, first: Record) -> None:
        """Make the tables and the first entry, all in one transaction."""
        if self._url is None:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        if self._dialect == "sqlite":
            self._use_wal()
        with self._session("write") as connection:
            _metadata.create_all(connection, checkfirst=False)
            connection.execute(sql.insert(META).values(key="layout", value=str(newest_layout())))
            connection.execute(sql.insert(ENTRIES).values(first._asdict()))
            connection.execute(sql.insert(HEAD).values(id=1, seq=first.seq, digest=first.digest))

    def require_layout(self) -> int:
        """The layout of this catalogue; an error if only a newer version of this tool can read it."""
        with self._session("read") as connection:
            return _layout(connection)

    def migrate(self) -> None:
        """Bring an older catalogue to the newest layout; each step and its record are one transaction."""
        for step in range(self.require_layout(), newest_layout()):
            with self._session("write") as connection:
                if _layout(connection) == step:
                    MIGRATIONS[step - 1](connection)
                    connection.execute(
                        sql.update(META).where(META.c.key == "layout").values(value=str(step + 1))
                    )

    def records(self) -> tuple[list[Record], Head | None]:
        """All rows and the head, as of one moment."""
        with self._session("read") as connection:
            return _records(connection)

    @contextmanager
    def locked(self, command: str, patience: Patience = AT_ONCE) -> Iterator[None]:
        """Keep publishers on other machines out for the block, where the database can tell them."""
        if self._dialect != "postgresql":
            yield
            return
        try:
            with hold_in_database(self._engine("write"), command, patience):
                yield
        except SQLAlchemyError as error:
            raise self._refusal(error, "write") from error

    @contextmanager
    def exclusive(self) -> Iterator[list[Record]]:
        """The rows, held so that no other process can add one until the block ends."""
        with self._session("write") as connection:
            connection.execute(sql.select(HEAD.c.seq).with_for_update())
            yield _records(connection)[0]

    @contextmanager
    def append(self, record: Record, expected: Head) -> Iterator[None]:
        """Add one row if `expected` is still the last; it exists when the block ends without an error."""
        with self._session("write") as connection:
            moved = connection.execute(
                sql.update(HEAD)
                .where(HEAD.c.seq == expected.seq, HEAD.c.digest == expected.digest)
                .values(seq=record.seq, digest=record.digest)
            )
            if moved.rowcount != 1:
                raise overtaken(expected)
            connection.execute(sql.insert(ENTRIES).values(record._asdict()))
            yield

    def copy_to(self, other: Catalogue) -> None:
        """Fill a new catalogue with the rows of this one; the copy may live in another kind of database."""
        with self._session("read") as connection:
            rows = {
                table: connection.execute(sql.select(table)).mappings().all()
                for table in (ENTRIES, HEAD, META)
            }
        other._fill({table: [dict(row) for row in found] for table, found in rows.items()})

    def close(self) -> None:
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()

    def _fill(self, rows: dict[sql.Table, list[dict[str, Any]]]) -> None:
        if self._dialect == "sqlite":
            self._use_wal()
        with self._session("write") as connection:
            if sql.inspect(connection).has_table("entries"):
                raise LedgerError("the database already holds a series; name another one")
            _metadata.create_all(connection, checkfirst=False)
            for table, values in rows.items():
                connection.execute(sql.insert(table), values)

    @property
    def _dialect(self) -> str:
        return self._engine("write").dialect.name

    def _use_wal(self) -> None:
        # The journal mode cannot change inside a transaction, so this goes past SQLAlchemy's.
        try:
            with closing(self._engine("write").raw_connection()) as connection:
                connection.cursor().execute("PRAGMA journal_mode=WAL")
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise self._refusal(error, "write") from error

    @contextmanager
    def _session(self, use: Use) -> Iterator[sql.Connection]:
        try:
            if use == "read" and not self._can_share():
                use = "read alone"
            with self._engine(use).begin() as connection:
                yield connection
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise self._refusal(error, use) from error

    def _can_share(self) -> bool:
        # Processes share an index file beside an SQLite database. Where a full disk leaves no room for it, a
        # reader that is alone can do without: the series stays readable, and a commit that failed for want of
        # space can still be told from one that succeeded.
        engine = self._engine("read")
        if engine.dialect.name == "sqlite":
            try:
                with engine.connect() as connection:
                    connection.exec_driver_sql("PRAGMA schema_version")
            except (SQLAlchemyError, sqlite3.Error):
                return False
        return True

    def _refusal(self, error: Exception, use: Use) -> LedgerError:
        reason = str(getattr(error, "orig", error) or type(error).__name__).strip().splitlines()[0]
        place = "the database of the ledger" if self._url else str(self._path)
        if use == "write":
            return LedgerError(
                f"the catalogue could not be written ({reason}); nothing was committed; the series is as "
                f"it was. Make sure that {place} can be written and its disk has space, and repeat the "
                "command"
            )
        return LedgerError(
            f"the catalogue could not be read ({reason}). Make sure that {place} can be reached and is "
            "whole, or restore the series from a backup"
        )

    def _engine(self, use: Use) -> sql.Engine:
        if use not in self._engines:
            engine = self._new_engine(use)
            if engine.dialect.name == "sqlite":
                _prepare_sqlite(engine, use)
            if engine.dialect.name == "postgresql" and use == "write":
                _prepare_postgresql(engine)
            self._engines[use] = engine
        return self._engines[use]

    def _new_engine(self, use: Use) -> sql.Engine:
        if self._url is not None and is_database(self._url):
            options = {} if use == "write" else {"execution_options": {"postgresql_readonly": True}}
            return connect_to(database_of(self._url, LedgerError), LedgerError, **options)
        try:
            return sql.create_engine(self._url or _sqlite_url(self._path), poolclass=sql.pool.NullPool)
        except (SQLAlchemyError, ImportError) as error:
            raise LedgerError(
                f"the URL of the ledger cannot be used ({type(error).__name__}): it must look like "
                f"{FORM}, and the driver must be installed (extra `postgres`)"
            ) from error


def _sqlite_url(path: Path) -> sql.URL:
    wal = path.with_name(path.name + "-wal")
    # On a medium that cannot be written SQLite cannot make its side files, and needs to be told that it may
    # do without them.
    fixed = path.exists() and not os.access(path.parent, os.W_OK) and not wal.exists()
    how = {"immutable": "1"} if fixed else {"mode": "rw"}
    return sql.URL.create("sqlite", database=path.absolute().as_uri(), query={**how, "uri": "true"})


def _prepare_sqlite(engine: sql.Engine, use: Use) -> None:
    @sql.event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin below, where they include table definitions
        cursor = connection.cursor()
        if use == "read alone":
            cursor.execute("PRAGMA locking_mode=EXCLUSIVE")  # must come before anything touches the database
        cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
        cursor.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
        cursor.execute("PRAGMA trusted_schema=OFF")
        if use != "write":
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    @sql.event.listens_for(engine, "begin")
    def _begin(connection: sql.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if use == "write" else "BEGIN")


def _prepare_postgresql(engine: sql.Engine) -> None:
    @sql.event.listens_for(engine, "begin")
    def _begin(connection: sql.Connection) -> None:
        # Files move once a commit is reported: it must then be on disk, whatever the default of the server.
        setting = sql.func.current_setting("synchronous_commit")
        durable = sql.func.set_config("synchronous_commit", "on", True)
        connection.execute(sql.select(sql.func.set_config("lock_timeout", f"{BUSY_SECONDS}s", True)))
        connection.execute(sql.select(durable).where(setting == "off"))


def _layout(connection: sql.Connection) -> int:
    value = connection.scalar(sql.select(META.c.value).where(META.c.key == "layout"))
    if value is None or not value.isdecimal():
        raise LedgerError("the ledger does not say which layout it has; restore the series from a backup")
    if int(value) > newest_layout():
        raise LedgerError(
            f"this ledger has layout {value}, and this version of republish knows layouts up to "
            f"{newest_layout()}; install a newer version to work with this series"
        )
    return int(value)


def _records(connection: sql.Connection) -> tuple[list[Record], Head | None]:
    # One statement, so that rows and head belong together whatever the isolation level of the database.
    head_seq = sql.select(HEAD.c.seq).limit(1).scalar_subquery()
    head_digest = sql.select(HEAD.c.digest).limit(1).scalar_subquery()
    rows = connection.execute(sql.select(*ENTRIES.c, head_seq, head_digest).order_by(ENTRIES.c.seq)).all()
    width = len(Record._fields)
    head = Head(*rows[0][width:]) if rows and rows[0][width] is not None else None
    return [Record(*row[:width]) for row in rows], head
