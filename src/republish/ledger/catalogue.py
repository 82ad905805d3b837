"""The SQL catalogue: which entries exist, and which one is the last.

SQLite by default, PostgreSQL or another database SQLAlchemy speaks by its URL (one series a database or schema).
Every use opens its own connection and closes it, so that nothing is shared with a forked child.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from republish.errors import LedgerError, SeriesBusy
from republish.ledger.chain import Head, Record
from republish.ledger.lock import AT_ONCE, Patience
from republish.ledger.sqlite_file import SQLiteFile, Use

if TYPE_CHECKING:
    from republish.ledger.server import Server

_SQLITE = "sqlite:///"
_TABLES = {
    "entries": """CREATE TABLE entries (
        seq INTEGER NOT NULL,
        kind VARCHAR(16) NOT NULL,
        release INTEGER,
        recorded_at VARCHAR(40) NOT NULL,
        payload TEXT NOT NULL,
        previous VARCHAR(64) NOT NULL,
        digest VARCHAR(64) NOT NULL,
        PRIMARY KEY (seq)
    )""",
    "head": """CREATE TABLE head (
        id INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        digest VARCHAR(64) NOT NULL,
        PRIMARY KEY (id)
    )""",
    "meta": """CREATE TABLE meta (
        "key" VARCHAR(64) NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY ("key")
    )""",
}
_FILLED = {
    "entries": "INSERT INTO entries (seq, kind, release, recorded_at, payload, previous, digest) "
    "VALUES (:seq, :kind, :release, :recorded_at, :payload, :previous, :digest)",
    "head": "INSERT INTO head (id, seq, digest) VALUES (:id, :seq, :digest)",
    "meta": 'INSERT INTO meta ("key", value) VALUES (:key, :value)',
}
_COLUMNS = {"entries": Record._fields, "head": ("id", "seq", "digest"), "meta": ("key", "value")}


class Connection(Protocol):
    """What a transaction can be asked: statements in the SQL that all databases speak, values named after a colon."""

    def execute(self, statement: str, values: Mapping[str, Any] = ..., /) -> Any: ...

    def executemany(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> Any: ...


Migration = Callable[[Connection], None]


def _digests_of_rows(_: Connection) -> None:
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

    @cached_property
    def _database(self) -> SQLiteFile | Server:
        if self._url is None:
            return SQLiteFile(self._path, made=True)
        if self._url.startswith(_SQLITE):
            return SQLiteFile(Path(self._url.removeprefix(_SQLITE)), made=False)
        from republish.ledger.server import Server

        return Server(self._url)

    @property
    def exists(self) -> bool:
        """Whether a series was created here; an interrupted creation leaves none."""
        if self._url is None and not self._path.exists():
            return False
        with self._session("read") as connection:
            return self._database.has_entries(connection)

    def create(self, first: Record) -> None:
        """Make the tables and the first entry, all in one transaction."""
        if self._url is None:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        self._fill(
            {
                "entries": [first._asdict()],
                "head": [{"id": 1, "seq": first.seq, "digest": first.digest}],
                "meta": [{"key": "layout", "value": str(newest_layout())}],
            }
        )

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
                        "UPDATE meta SET value = :value WHERE \"key\" = 'layout'", {"value": str(step + 1)}
                    )

    def records(self) -> tuple[list[Record], Head | None]:
        """All rows and the head, as of one moment."""
        with self._session("read") as connection:
            return _records(connection)

    @contextmanager
    def locked(self, command: str, patience: Patience = AT_ONCE) -> Iterator[None]:
        """Keep publishers on other machines out for the block, where the database can tell them."""
        database = self._database
        with (
            self._refusing("write"),
            nullcontext() if isinstance(database, SQLiteFile) else database.locked(command, patience),
        ):
            yield

    @contextmanager
    def exclusive(self) -> Iterator[list[Record]]:
        """The rows, held so that no other process can add one until the block ends."""
        with self._session("write") as connection:
            connection.execute(f"SELECT seq FROM head{self._database.held}").fetchall()
            yield _records(connection)[0]

    @contextmanager
    def append(self, record: Record, expected: Head) -> Iterator[None]:
        """Add one row if `expected` is still the last; it exists when the block ends without an error."""
        with self._session("write") as connection:
            moved = connection.execute(
                "UPDATE head SET seq = :seq, digest = :digest WHERE seq = :last AND digest = :its",
                {"seq": record.seq, "digest": record.digest, "last": expected.seq, "its": expected.digest},
            )
            if moved.rowcount != 1:
                raise overtaken(expected)
            connection.execute(_FILLED["entries"], record._asdict())
            yield

    def copy_to(self, other: Catalogue) -> None:
        """Fill a new catalogue with the rows of this one; the copy may live in another kind of database."""
        with self._session("read") as connection:
            rows = {table: _all_of(connection, table) for table in _TABLES}
        other._fill(rows)

    def close(self) -> None:
        self._database.close()

    def _fill(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        with self._refusing("write"):
            self._database.prepare()
        with self._session("write") as connection:
            if self._database.has_entries(connection):
                raise LedgerError("the database already holds a series; name another one")
            for statement in _TABLES.values():
                connection.execute(statement)
            for table, values in rows.items():
                if values:
                    connection.executemany(_FILLED[table], values)

    @contextmanager
    def _session(self, use: Use) -> Iterator[Any]:
        with self._refusing(use), self._database.session(use) as connection:
            yield connection

    @contextmanager
    def _refusing(self, use: Use) -> Iterator[None]:
        """What the database refuses, as an error that says what to do."""
        try:
            yield
        except self._database.errors as error:
            raise self._refusal(error, use) from error

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


def _all_of(connection: Connection, table: str) -> list[dict[str, Any]]:
    names = _COLUMNS[table]
    columns = ", ".join(f'"{name}"' for name in names)
    return [
        dict(zip(names, row, strict=True))
        for row in connection.execute(f"SELECT {columns} FROM {table}").fetchall()
    ]


def _layout(connection: Connection) -> int:
    found = connection.execute("SELECT value FROM meta WHERE \"key\" = 'layout'").fetchone()
    if found is None or not found[0].isdecimal():
        raise LedgerError("the ledger does not say which layout it has; restore the series from a backup")
    if int(found[0]) > newest_layout():
        raise LedgerError(
            f"this ledger has layout {found[0]}, and this version of republish knows layouts up to "
            f"{newest_layout()}; install a newer version to work with this series"
        )
    return int(found[0])


def _records(connection: Connection) -> tuple[list[Record], Head | None]:
    # One statement, so that rows and head belong together whatever the isolation level of the database.
    columns = ", ".join(f"entries.{name}" for name in Record._fields)
    rows = connection.execute(
        f"SELECT {columns}, (SELECT seq FROM head LIMIT 1), (SELECT digest FROM head LIMIT 1) "
        "FROM entries ORDER BY entries.seq"
    ).fetchall()
    width = len(Record._fields)
    head = Head(*rows[0][width:]) if rows and rows[0][width] is not None else None
    return [Record(*row[:width]) for row in rows], head
