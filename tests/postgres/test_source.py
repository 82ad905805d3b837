"""Views read from PostgreSQL: tables, queries, types, and what cannot be read."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy as sql

from postgres.commands import fails, ok
from postgres.server import Server
from republish import Mondrian, Series, ViewError, anonymize, read_schema
from republish.sources.postgres import source
from republish.sources.tables import read_table


def store(view: Path, url: str, name: str, schema: str | None = None) -> None:
    """A CSV view as a table of texts."""
    frame = read_table(view)
    engine = sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sql.pool.NullPool)
    table = sql.Table(
        name, sql.MetaData(), *(sql.Column(column, sql.Text) for column in frame.columns), schema=schema
    )
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(sql.insert(table), frame.to_dicts())


def one(url: str, query: str) -> Any:
    """The only cell of a query."""
    return read_table(f"{url}?query={query}").item()


def test_a_table_is_published_as_the_file_it_came_from(
    series: Series, views: list[Path], url: str, server: Server
) -> None:
    server.execute("CREATE SCHEMA clinic", url=url)
    store(views[0], url, "Visits of week 1", "clinic")
    address = f"{url}/clinic.Visits%20of%20week%201"
    assert read_table(address).sort(pl.all()).equals(read_table(views[0]).sort(pl.all()))
    from_file = series.publish(views[0], as_of="2026-01-05", dry_run=True)
    done = series.publish(address, as_of="2026-01-05")
    assert (done.rows, done.groups) == (from_file.rows, from_file.groups)
    assert series.verify().holds


def test_the_command_line_publishes_a_query(series: Series, views: list[Path], url: str) -> None:
    store(views[0], url, "visits")
    said = ok("publish", series.root, f"{url}?query=SELECT * FROM visits LIMIT 200;", "--as-of", "2026-01-05")
    assert "release 1 as of 2026-01-05" in said
    assert "200 rows" in said
    assert Series.open(series.root).verify().holds


def test_a_table_is_anonymized_without_a_series(hospital_folder: Path, views: list[Path], url: str) -> None:
    store(views[0], url, "visits")
    release = anonymize(f"{url}/visits", read_schema(hospital_folder / "schema.toml"), Mondrian(5), seed=1)
    assert release.rows == 400


TYPED = """
CREATE TYPE ward AS ENUM ('north', 'south');
CREATE DOMAIN age AS integer CHECK (VALUE >= 0);
CREATE TABLE typed (
    small smallint, big bigint, "how old" age,
    part numeric(8, 2), whole numeric(10, 0), free numeric, id numeric(30, 0),
    thin real, wide double precision, yes boolean, day date, at timestamp, moment timestamptz, word text,
    short varchar(9), fixed char(3), place ward, key uuid, doc jsonb, many integer[], "50%" text, raw bytea,
    span interval, hour time, net inet
);
INSERT INTO typed VALUES (1, 9007199254740993, 40, 12.50, 7, 0.1, 123456789012345678901234567890,
    0.5, 2.25, true, '2026-01-05', '2026-01-05 10:00', '2026-01-05 23:30+00', 'wörd',
    'x', 'ab', 'north', '5b6b5d0e-1f0a-4c59-8e4f-0a1b2c3d4e5f', '{"a": 1}', '{1,2}', 'half', '\\x00',
    '1 day', '12:30', '10.0.0.1');
INSERT INTO typed (word) VALUES ('');
"""


def test_types_come_as_the_kinds_need_them(url: str, server: Server) -> None:
    server.execute(*TYPED.strip().rstrip(";").split(";\n"), url=url)
    frame = read_table(f"{url}/typed?options=-ctimezone%3DEurope/Rome")
    first, second = frame.to_dicts()
    assert first == {
        "small": 1,
        "big": 9007199254740993,
        "how old": 40,
        "part": 12.5,
        "whole": 7,
        "free": 0.1,
        "id": "123456789012345678901234567890",
        "thin": 0.5,
        "wide": 2.25,
        "yes": True,
        "day": date(2026, 1, 5),
        "at": datetime(2026, 1, 5, 10),
        "moment": datetime(2026, 1, 6, 0, 30),  # a day later in Rome
        "word": "wörd",
        "short": "x",
        "fixed": "ab ",
        "place": "north",
        "key": "5b6b5d0e-1f0a-4c59-8e4f-0a1b2c3d4e5f",
        "doc": '{"a": 1}',
        "many": "{1,2}",
        "50%": "half",
        "raw": b"\0",
        "span": "1 day",
        "hour": "12:30:00",
        "net": "10.0.0.1",
    }
    assert set(second.values()) == {None}
    assert frame.schema["whole"] == pl.Int64
    assert frame.schema["part"] == pl.Float64
    query = f"{url}?options=-ctimezone%3DEurope/Rome&query=SELECT * FROM typed"
    assert read_table(query).equals(frame)


def test_a_query_is_taken_as_it_is(url: str) -> None:
    assert one(url, "SELECT ':a b' || '50%25' || '%x' || E'\\\\' || 'a+b&query=c?' || 1::text") == (
        ":a b50%%x\\a+b&query=c?1"
    )


def test_a_table_larger_than_a_chunk_is_read_whole(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "ROWS", 7)
    frame = read_table(f"{url}?query=SELECT n, NULL::int AS x FROM generate_series(1, 100) n")
    assert frame["n"].to_list() == list(range(1, 101))
    assert frame["x"].null_count() == 100


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_a_view_of_the_database_is_read_like_a_table(url: str, server: Server, kind: str) -> None:
    server.execute(f"CREATE {kind} seen AS SELECT 7 AS n", url=url)
    assert read_table(f"{url}/seen").to_dicts() == [{"n": 7}]


def test_an_empty_table_keeps_its_columns(url: str, server: Server) -> None:
    server.execute("CREATE TABLE nobody (id text, age integer)", url=url)
    assert read_table(f"{url}/nobody").schema == {"id": pl.String(), "age": pl.Int64()}


REFUSED = {
    "/nowhere": "no table or view nowhere",
    "/no.where": "no table or view no.where",
    "/a/b": "must look like",
    "/a.b.c": "must look like",
    "": "names a database only",
    "?query=": "give one of them",
    "/t?query=SELECT 1": "give one of them",
    "?query=SELECT 1 AS a, 2 AS a": "same name",
    "?query=SELECT FROM WHERE": "SQL of the query is not correct",
    "?query=SELECT * FROM nowhere": "there is no such table",
    "?query=SELECT nothing FROM people": "a column that is not there",
    "?query=DELETE FROM people RETURNING name": "not correct",
    "?query=WITH gone AS (DELETE FROM people RETURNING name) SELECT * FROM gone": "could not be read",
    "?query=SELECT 1; DROP TABLE people": "not correct",
    "?query=SELECT nextval('numbers')": "only read",
    "?query=SELECT name::integer FROM people": "InvalidTextRepresentation, SQLSTATE 22P02",
    "?query=SELECT 'infinity'::date": "years 1 to 9999",
}


@pytest.mark.parametrize("rest", REFUSED)
def test_what_cannot_be_read_is_explained_without_a_cell(url: str, server: Server, rest: str) -> None:
    server.execute(
        "CREATE TABLE people (name text)",
        "INSERT INTO people VALUES ('Rossi')",
        "CREATE SEQUENCE numbers",
        url=url,
    )
    with pytest.raises(ViewError) as caught:
        read_table(url + rest)
    assert REFUSED[rest] in str(caught.value)
    assert "Rossi" not in str(caught.value)
    assert one(url, "SELECT count(*) FROM people") == 1


def test_text_of_another_encoding_is_converted_or_refused(server: Server) -> None:
    server.execute(
        "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
        "CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0",
    )
    assert one(server.url("latin"), "SELECT chr(233) AS x") == "é"
    assert one(server.url("bytes"), "SELECT 'plain' AS x") == "plain"
    with pytest.raises(ViewError, match="bytes that are no UTF-8"):
        one(server.url("bytes"), r"SELECT E'\xff' AS x")


def test_a_user_without_the_privilege_is_told(url: str, server: Server) -> None:
    server.execute(
        "CREATE TABLE people (name text)",
        "DROP ROLE IF EXISTS stranger",
        "CREATE ROLE stranger LOGIN",
        url=url,
    )
    with pytest.raises(
        ViewError, match="table people could not be read: this database user lacks the privilege"
    ):
        read_table(f"{url}/people".replace("postgres@", "stranger@"))
    server.execute("DROP ROLE stranger")


def test_a_server_that_is_away_and_a_database_that_is_not_there_are_named(
    series: Series, server: Server
) -> None:
    told = fails("publish", series.root, "postgresql://postgres@127.0.0.1:1/db/visits")
    assert "table visits could not be read" in told
    assert "port 1" in told
    with pytest.raises(ViewError, match='database "nowhere" does not exist'):
        read_table(f"{server.url('nowhere')}/visits")
    assert not series.records


def test_a_password_in_the_address_is_refused_and_not_shown(series: Series) -> None:
    told = fails("publish", series.root, "postgresql://me:hunter2@127.0.0.1/db/visits")
    assert "PGPASSWORD" in told
    assert "hunter2" not in told
