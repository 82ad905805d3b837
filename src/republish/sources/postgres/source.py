"""Views from PostgreSQL: a table or the user's own query, streamed in chunks into one polars frame.

Numbers come as numbers, dates, times and truth values as such; whatever else there is, enumerations, UUIDs,
intervals, JSON, as the text that PostgreSQL writes for it. NULL is a missing value. Decimals become floats where
no digit of a whole number is lost, and stay text where one would be.
"""

from __future__ import annotations

import warnings
from contextlib import closing
from typing import Any

import polars as pl
import sqlalchemy as sql
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError

from republish.errors import ViewError
from republish.sources.postgres.address import Address, address_of, connect_to, reason

ROWS = 50_000  # of one chunk: what is in memory as Python objects at a time

_EXACT = 2.0**53  # from here on a float no longer holds every whole number
_LONGEST_INTEGER = 18  # digits
_TYPES: dict[str, pl.DataType] = {
    "bool": pl.Boolean(),
    "int2": pl.Int64(),
    "int4": pl.Int64(),
    "int8": pl.Int64(),
    "float4": pl.Float64(),
    "float8": pl.Float64(),
    "date": pl.Date(),
    "timestamp": pl.Datetime("us"),
    "timestamptz": pl.Datetime("us", "UTC"),
    "bytea": pl.Binary(),
}


def read_database(text: str) -> pl.DataFrame:
    """The rows of the table or query that an address names, read in one transaction that cannot write."""
    address = address_of(text, ViewError)
    if address.table is None and address.query is None:
        raise ViewError(
            "the address of a view must end in /table, /schema.table or ?query=SELECT ...; it names a database only"
        )
    what = "the query" if address.table is None else f"the table {_name(address)}"
    engine = connect_to(address.url, ViewError, execution_options={"postgresql_readonly": True})
    try:
        with engine.connect() as connection:
            return _frame(connection, address)
    except NoSuchTableError:
        raise ViewError(
            f"the database has no table or view {_name(address)} that this user can see; check the name, and "
            "write /schema.table where it is in a schema of its own"
        ) from None
    except SQLAlchemyError as problem:
        raise ViewError(f"{what} could not be read: {reason(problem)}; nothing was published") from None


def _name(address: Address) -> str:
    return ".".join(part for part in (address.schema, address.table) if part)


def _frame(connection: sql.Connection, address: Address) -> pl.DataFrame:
    table = None if address.table is None else _reflect(connection, address.table, address.schema)
    _plain_texts(connection.connection.driver_connection)
    stream = connection.execution_options(stream_results=True, yield_per=ROWS)
    if table is None:  # as it is: no colon or percent sign in it is a parameter
        result = stream.execution_options(no_parameters=True).exec_driver_sql(address.query or "")
    else:
        result = stream.execute(sql.select(table))
    with closing(result):
        described: list[Any] = list(result.cursor.description)
        columns = {c.name: _TYPES.get(_type_name(c) or "", pl.String()) for c in described}
        if len(columns) < len(described):
            raise ViewError("two columns of the query have the same name; rename one with AS")
        chunks = [pl.DataFrame(schema=columns)]
        for rows in result.partitions():
            cells = zip(columns.items(), zip(*rows, strict=True), strict=True)
            chunks.append(pl.DataFrame([pl.Series(name, values, dtype) for (name, dtype), values in cells]))
    zone = connection.connection.driver_connection.info.timezone.key  # type: ignore[union-attr]
    return _settled(pl.concat(chunks, rechunk=True), described, zone)


def _reflect(connection: sql.Connection, name: str, schema: str | None) -> sql.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sql.exc.SAWarning)  # types of extensions come as text
        table = sql.Table(name, sql.MetaData(), schema=schema, autoload_with=connection, resolve_fks=False)
    # What types make of cells is decided below, the same for a table and for a query.
    return sql.Table(name, sql.MetaData(), *(sql.Column(c.name) for c in table.columns), schema=schema)


def _plain_texts(driver: Any) -> None:
    """Let the driver give the text of everything that `_TYPES` does not name."""
    from psycopg.types.string import TextLoader

    for known in driver.adapters.types:
        for oid in {known.array_oid, known.oid if known.name not in _TYPES else 0} - {0}:
            driver.adapters.register_loader(oid, TextLoader)


def _type_name(column: Any) -> str | None:
    """The name of a column's type; nothing for arrays and for types of extensions and users."""
    import psycopg

    known = psycopg.adapters.types.get(column.type_code)
    return known.name if known is not None and known.oid == column.type_code else None


def _settled(frame: pl.DataFrame, described: list[Any], zone: str) -> pl.DataFrame:
    """Decimals as numbers; moments as the clock of the session shows them, since their day depends on where one is."""
    steps = []
    for column in described:
        kind, cells = _type_name(column), pl.col(column.name)
        if kind == "timestamptz":
            steps.append(cells.dt.convert_time_zone(zone).dt.replace_time_zone(None))
        elif kind == "numeric" and column.scale == 0 and column.precision <= _LONGEST_INTEGER:
            steps.append(cells.cast(pl.Int64))
        elif kind == "numeric":
            numbers = frame[column.name].cast(pl.Float64)
            if not (numbers.is_finite() & (numbers.abs() >= _EXACT)).any():
                steps.append(pl.lit(numbers))
    return frame.with_columns(steps) if steps else frame
