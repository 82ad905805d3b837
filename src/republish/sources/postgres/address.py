"""Addresses of PostgreSQL databases: which database, and which table or query in it.

`postgresql://user@host/database`, then `/table` or `/schema.table`, or `?query=SELECT ...` as the last part.
An address never holds a password: it is kept in `series.toml` and seen in lists of processes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from republish.errors import RepublishError
from republish.sources.postgres import is_database

CONNECT_SECONDS = 20
LONGEST_NAME = 63  # bytes; PostgreSQL cuts longer names off without an error
FORM = "postgresql://user@host/database"

_PARTS = re.compile(r"[a-z+]+://([^/?]*)(?:/([^?]*))?(?:\?(.*))?", re.DOTALL)
_QUERY = re.compile(r"(?:^|&)query=", re.DOTALL)
_SECRETS = ("password", "sslpassword")
_WHY = {
    "22021": "a text in it holds bytes that are no UTF-8: correct it",
    "25006": "it would write, and a view is only read: use a SELECT",
    "2BP01": "other things in the database, such as views, depend on a table to be replaced: drop them first",
    "3F000": "there is no such schema",
    "40001": "other transactions got in its way: repeat the command",
    "42501": "this database user lacks the privilege: GRANT it, see docs/postgres.md",
    "42601": "the SQL of the query is not correct",
    "42703": "the query names a column that is not there",
    "42P01": "there is no such table",
    "42P07": "the table exists already",
    "53100": "the disk of the server is full",
    "55P03": "others are using the table: try again when they are done",
    "57014": "the statement was cancelled or took longer than the server allows",
}


@dataclass(frozen=True)
class Address:
    """A database, and where one is named, a table or a query in it."""

    url: sql.URL
    schema: str | None = None
    table: str | None = None
    query: str | None = None


def address_of(text: str, error: type[RepublishError]) -> Address:
    """The parts of an address; an `error` that never shows it where it is none or holds a password."""
    parts = _PARTS.fullmatch(text)
    if parts is None or not is_database(text):
        raise _malformed(error)
    server, path, options = parts[1], (parts[2] or "").strip("/"), parts[3] or ""
    query: str | None = None
    if found := _QUERY.search(options):
        options, query = options[: found.start()], unquote(options[found.end() :]).strip().rstrip("; \n")
    database, _, name = path.partition("/")
    try:
        url = sql.make_url(f"postgresql+psycopg://{server}/{database}" + (f"?{options}" if options else ""))
    except (SQLAlchemyError, ValueError):
        raise _malformed(error) from None
    _require_no_password(url, error)
    schema, table = _table_of(name, error) if name else (None, None)
    if query is not None and (table is not None or not query):
        raise error(
            "the address of a view names either a table or, after ?query=, one SELECT; give one of them"
        )
    return Address(url, schema, table, query)


def database_of(text: str, error: type[RepublishError]) -> sql.URL:
    """The address of a whole database; an `error` where it names a table or a query."""
    address = address_of(text, error)
    if address.table is not None or address.query is not None:
        raise error(f"the address must name a database and no table or query in it: {FORM}")
    return address.url


def require_ledger(text: str, error: type[RepublishError]) -> None:
    """Refuse an address of a ledger, of whatever database, that holds a password or names more than a database."""
    if is_database(text):
        database_of(text, error)
        return
    try:
        url = sql.make_url(text)
    except (SQLAlchemyError, ValueError):
        raise _malformed(error) from None
    _require_no_password(url, error)


def connect_to(url: sql.URL, error: type[RepublishError], **options: Any) -> sql.Engine:
    """An engine that opens a connection for every use and keeps none; nothing is connected yet."""
    settings = {
        "application_name": "republish",
        "connect_timeout": CONNECT_SECONDS,
        "client_encoding": "utf8",
    }
    chosen = {key: value for key, value in settings.items() if key not in url.query}
    try:
        return sql.create_engine(url, poolclass=sql.pool.NullPool, connect_args=chosen, **options)
    except ImportError:
        raise error("PostgreSQL needs the extra `postgres`: install republish[postgres]") from None


def reason(problem: BaseException) -> str:
    """Why the database refused, without what a cell or a query holds: servers quote both in their messages."""
    cause = getattr(problem, "orig", None) or problem
    state = getattr(cause, "sqlstate", None)
    if state in _WHY:
        return _WHY[state]
    if state is not None:
        return f"the server answered {type(cause).__name__}, SQLSTATE {state}"
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    if lines and "connection" in lines[0].lower():  # of host, port, user and database, never of the data
        return " ".join(lines[:2])
    if type(cause).__name__ == "DataError":  # the driver's own word: the server's have a state
        return "a date or time in it lies outside the years 1 to 9999"
    return type(cause).__name__


def require_name(name: str, error: type[RepublishError]) -> None:
    """Refuse a name that PostgreSQL would cut off."""
    if not name or len(name.encode()) > LONGEST_NAME or "\0" in name:
        raise error(f"a name in PostgreSQL has 1 to {LONGEST_NAME} bytes; {name!r} has {len(name.encode())}")


def table_name(text: str, error: type[RepublishError]) -> tuple[str | None, str]:
    """(schema or None, table) of `table` or `schema.table`, as typed after --table."""
    parts = text.split(".")
    if len(parts) > 2:
        raise error("a table is named by TABLE or SCHEMA.TABLE, with one dot at most")
    for part in parts:
        require_name(part, error)
    return (parts[0], parts[1]) if len(parts) == 2 else (None, parts[0])


def _table_of(name: str, error: type[RepublishError]) -> tuple[str | None, str]:
    parts = name.split(".")
    if "/" in name or len(parts) > 2 or not all(parts):
        raise _malformed(error)
    decoded = [unquote(part) for part in parts]
    for part in decoded:
        require_name(part, error)
    return (decoded[0], decoded[1]) if len(decoded) == 2 else (None, decoded[0])


def _require_no_password(url: sql.URL, error: type[RepublishError]) -> None:
    if url.password is not None or any(key in url.query for key in _SECRETS):
        raise error(
            "the address of a database must not hold a password, since addresses are kept and shown; leave it "
            "out and give it in ~/.pgpass, in a service file (?service=NAME) or in the variable PGPASSWORD"
        )


def _malformed(error: type[RepublishError]) -> RepublishError:
    return error(
        f"the address of a database must look like {FORM}, followed by /table, /schema.table or "
        "?query=SELECT ... where a view or a table is meant; it cannot be read: correct it"
    )
