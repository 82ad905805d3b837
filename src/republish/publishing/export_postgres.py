"""Releases as tables of PostgreSQL, with what they promise in the comments of the table and its columns.

A release, in one table or in two, and its counts of counterfeits are written in one transaction: all tables are there
whole, or none.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import sqlalchemy as sql
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import SQLAlchemyError

from republish.errors import RepublishError
from republish.release.release import ABOUT, COUNTERFEITS, TABLE_PARQUET
from republish.release.two_tables import PEOPLE_PARQUET, VALUES_PARQUET
from republish.sources.paths import parquet_schema
from republish.sources.postgres.address import address_of, connect_to, reason, require_name, table_name
from republish.sources.postgres.comments import MARK, column_comments, table_comment

if TYPE_CHECKING:
    from republish.series import Series

ROWS = 100_000  # sent to the server at a time
LOCK_TIMEOUT = "60s"
_SUFFIX, _VALUES = "_counterfeits", "_values"


class ExportError(RepublishError):
    """A release could not be written into a database; the series and the database are as they were."""


@dataclass(frozen=True)
class ExportTarget:
    """A table of a database, in the default schema where none is named."""

    url: sql.URL
    schema: str | None
    table: str | None

    def named(self, name: str) -> str:
        """The name of the table, `name` where none was chosen; an error where the database would cut it off."""
        chosen = self.table or name
        require_name(chosen + _SUFFIX, ExportError)
        return chosen


@dataclass(frozen=True)
class Exported:
    """The table that was written, its rows, and the table of counterfeit counts where there is one.

    Of a release in two tables it is that of people, and `values` the other one.
    """

    table: str
    rows: int
    counterfeits: str | None
    values: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        more = {} if self.values is None else {"values": self.values}
        return {"table": self.table, "rows": self.rows, "counterfeits": self.counterfeits} | more


def target_of(text: str, table: str | None = None) -> ExportTarget:
    """The target that an address and perhaps a name of its own for the table name; nothing is connected yet."""
    address = address_of(text, ExportError)
    if address.query is not None or (table is not None and address.table is not None):
        raise ExportError(
            "a release is written to one table, named at the end of the address or by --table, and to no query"
        )
    schema, name = (address.schema, address.table) if table is None else table_name(table, ExportError)
    return ExportTarget(address.url, schema, name)


def export(
    series: Series,
    number: int,
    text: str,
    table: str | None = None,
    replace: bool = False,
    withdrawn: bool = False,
) -> Exported:
    """Write a committed release as a table; named like the series and the release where no name is given.

    Of two tables, people have the name, and values that name with `_values` after it. `replace` drops tables of these
    names first, if they hold a release. `withdrawn` says that a release is wanted although it was withdrawn.

    Raises:
        ExportError: there is such a table, the release was withdrawn, or the database refuses; then it is as it was.
        LedgerError: there is no such release, or its files are damaged.
    """
    target = target_of(text, table)
    name = target.named(f"{series.root.absolute().name}_{number:04d}")
    files = _Files(series, number, withdrawn)
    engine = connect_to(target.url, ExportError)
    try:
        with engine.begin() as connection:
            connection.execute(sql.select(sql.func.set_config("lock_timeout", LOCK_TIMEOUT, True)))
            for old in (name, name + _VALUES, name + _SUFFIX):
                _make_room(connection, old, target.schema, replace)
            rows = _write(connection, files.first.table(name, target.schema), files.first.chunks())
            if files.values is not None:
                _write(connection, files.values.table(name + _VALUES, target.schema), files.values.chunks())
            counts = files.counterfeits(name + _SUFFIX, target.schema)
            if counts is not None:
                _write(connection, counts[0], iter([counts[1]]))
    except SQLAlchemyError as problem:
        raise ExportError(
            f"the release could not be written as table {name}: {reason(problem)}; the database is as it was"
        ) from None
    values = None if files.values is None else name + _VALUES
    return Exported(name, rows, None if counts is None else name + _SUFFIX, values)


class _Files:
    """The files of one release, each checked against the ledger before it is read."""

    def __init__(self, series: Series, number: int, withdrawn: bool) -> None:
        self._ledger = series.ledger
        if series.record(number).adopted:
            raise ExportError(
                f"release {number} was made by another tool and adopted; hand out what that tool wrote, for here it "
                "also says which values are nobody's"
            )
        if number in series.withdrawn() and not withdrawn:
            raise ExportError(
                f"release {number} was withdrawn, and is not handed out again; if you need it all the same, give "
                "--withdrawn"
            )
        self._names = sorted(series.record(number).payload["files"])
        self._folder = f"releases/{number:04d}/"
        self._about = json.loads(self._read(self._folder + ABOUT))
        two = bool(self._named(VALUES_PARQUET))
        self.first = self._table(PEOPLE_PARQUET if two else TABLE_PARQUET)
        self.values = self._table(VALUES_PARQUET) if two else None

    def _table(self, start: str) -> _StoredTable:
        """One of the tables, in a file or in parts."""
        parts = self._named(start)
        schema = dict(parquet_schema([self._ledger.intact(name) for name in parts]))
        return _StoredTable(schema, [partial(self._read, name) for name in parts], self._about)

    def _named(self, start: str) -> list[str]:
        names = (self._folder + start, self._folder + start + "/")
        return [name for name in self._names if name == names[0] or name.startswith(names[1])]

    def _read(self, name: str) -> bytes:
        """What a file holds, from the copy that was measured: nobody can change it in between."""
        with self._ledger.copy(name) as file:
            return file.read()

    def counterfeits(self, name: str, schema: str | None) -> tuple[sql.Table, pl.DataFrame] | None:
        """The table of counterfeit counts and its rows, where the release has any."""
        stored = self._named(COUNTERFEITS)
        if not stored:
            return None
        group = "group" if self.values is None else "batch"
        rows = "rows" if self.values is None else "values"
        table = sql.Table(
            name,
            sql.MetaData(),
            sql.Column(group, sql.Integer, comment=f"Number of the {group}."),
            sql.Column("count", sql.Integer, comment=f"How many {rows} of the {group} belong to nobody."),
            schema=schema,
            comment=f"{MARK} {self._about['release']}: counterfeit {rows} of every {group} that has any.",
        )
        return table, pl.concat([pl.read_csv(self._read(name)) for name in stored])


@dataclass(frozen=True)
class _StoredTable:
    """A table of a release: its columns, how to read its parts, and what is told of the release."""

    schema: Mapping[str, pl.DataType]
    parts: Sequence[Callable[[], bytes]]
    about: Mapping[str, Any]

    def table(self, name: str, schema: str | None) -> sql.Table:
        """The table to write, with its comments."""
        comments = column_comments(self.about)
        for column in self.schema:
            require_name(column, ExportError)
        return sql.Table(
            name,
            sql.MetaData(),
            *(
                sql.Column(column, _type_of(dtype), comment=comments.get(column))
                for column, dtype in self.schema.items()
            ),
            schema=schema,
            comment=table_comment(self.about),
        )

    def chunks(self) -> Iterator[pl.DataFrame]:
        """The rows, part by part and not too many at a time, each chunk with all columns."""
        for read in self.parts:
            frame = _with_all(pl.read_parquet(read()), self.schema)
            for start in range(0, frame.height, ROWS):
                yield frame.slice(start, ROWS)


def _make_room(connection: sql.Connection, name: str, schema: str | None, replace: bool) -> None:
    """Drop a table that holds a release where that was asked for; an error where it may not be dropped."""
    inspector = sql.inspect(connection)
    if not inspector.has_table(name, schema=schema):
        return
    if not replace:
        raise ExportError(f"the table {name} exists already; choose another --table, or give --replace")
    said = inspector.get_table_comment(name, schema=schema)["text"]
    if not (said or "").startswith(MARK):
        raise ExportError(
            f"the table {name} was not written by republish, and only such tables are replaced; choose another "
            "--table, or drop it yourself"
        )
    sql.Table(name, sql.MetaData(), schema=schema).drop(connection)


def _write(connection: sql.Connection, table: sql.Table, chunks: Iterator[pl.DataFrame]) -> int:
    """Make a table and fill it; the number of its rows."""
    import psycopg
    from psycopg import sql as composed

    table.create(connection)
    place = composed.Identifier(*(part for part in (table.schema, table.name) if part))
    statement = composed.SQL("COPY {} FROM STDIN (FORMAT csv)").format(place)
    driver: Any = connection.connection.driver_connection
    rows = 0
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for chunk in chunks:
                copy.write(_csv(chunk))
                rows += chunk.height
    except psycopg.Error as problem:
        raise ExportError(
            f"the rows of table {table.name} could not be written: {reason(problem)}; the database is as it was"
        ) from None
    return rows


def _csv(frame: pl.DataFrame) -> bytes:
    """The rows as COPY reads them: texts in quotes, nothing for null."""
    buffer = io.BytesIO()
    frame.select(_spelled(name, dtype) for name, dtype in frame.schema.items()).write_csv(
        buffer, include_header=False, quote_style="non_numeric"
    )
    return buffer.getvalue()


def _spelled(name: str, dtype: pl.DataType) -> pl.Expr:
    cells = pl.col(name)
    if isinstance(dtype, pl.List):
        escaped = pl.element().cast(pl.String).str.replace_all(r'(["\\])', r"\$1")
        inner = cells.list.eval(pl.concat_str(pl.lit('"'), escaped, pl.lit('"'))).list.join(",")
        return pl.concat_str(pl.lit("{"), inner, pl.lit("}")).alias(name)
    known = dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean
    return cells if known and not isinstance(dtype, pl.Duration) else cells.cast(pl.String)


def _type_of(dtype: pl.DataType) -> Any:
    """The type of a column in the database; what has none of its own there is text."""
    if isinstance(dtype, pl.List):
        return ARRAY(_type_of(dtype.inner))  # type: ignore[arg-type]
    if dtype in (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16):
        return sql.Integer()
    if dtype.is_integer() and dtype != pl.UInt64:
        return sql.BigInteger()
    if dtype.is_float():
        return sql.Double()
    if isinstance(dtype, pl.Datetime):
        return sql.DateTime(timezone=dtype.time_zone is not None)
    kinds: dict[Any, Any] = {pl.Boolean: sql.Boolean(), pl.Date: sql.Date(), pl.Time: sql.Time()}
    return kinds.get(dtype.base_type(), sql.Numeric() if dtype.is_numeric() else sql.Text())


def _with_all(part: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """A part with every column of the whole table; a flag that it lacks is false, anything else null."""
    return part.select(
        pl.col(name).cast(dtype)
        if name in part.columns
        else pl.lit(False if dtype == pl.Boolean else None, dtype).alias(name)
        for name, dtype in schema.items()
    )
