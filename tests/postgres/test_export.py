"""Releases as tables: the rows of `table.parquet`, and what is promised in the comments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy as sql
from sqlalchemy.dialects.postgresql import dialect

from json_documents import valid
from postgres.commands import fails, ok
from postgres.server import Server
from republish import (
    Category,
    Date,
    LDiversity,
    LedgerError,
    MInvariance,
    Mondrian,
    Number,
    Schema,
    Series,
    TauSafety,
    read_schema,
)
from republish.ledger import Ledger
from republish.parts import Here
from republish.publishing.export_postgres import ExportError, export
from republish.publishing.maintenance import withdraw
from republish.release.forms import TwoTables
from republish.sources.paths import read_parquet

AWKWARD = ['he said "no"', "back\\slash", "a,b", "{x}", "NULL", "line\nbreak", " blank ", "é|ö", "100%", "{}"]
"""Texts that one spelling or the other of COPY, CSV or arrays could break."""


def stored(url: str, name: str, schema: str | None = None) -> tuple[sql.Table, list[dict[str, Any]]]:
    """A table as the database describes it, and its rows."""
    engine = sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sql.pool.NullPool)
    with engine.connect() as connection:
        table = sql.Table(name, sql.MetaData(), schema=schema, autoload_with=connection)
        rows = connection.execute(sql.select(table)).mappings().all()
    return table, [dict(row) for row in rows]


def released(series: Series, number: int) -> list[dict[str, Any]]:
    return pl.read_parquet(series.ledger.folder(number) / "table.parquet").to_dicts()


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.fixture
def awkward(tmp_path: Path) -> Iterator[Series]:
    """A series of one release with every kind of column, missing values and texts that are hard to spell."""
    schema = Schema(
        identifier="id",
        quasi_identifiers=(
            Number("age"),
            Number("weight of body"),
            Date("born"),
            Category("place"),
        ),
        sensitive=Category("illness"),
        insensitive=("note", "the 50% one, yes"),
    )
    count = 40
    view = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(count)],
            "age": [None if i % 9 == 0 else 20 + i for i in range(count)],
            "weight of body": [50 + i / 3 for i in range(count)],
            "born": [f"19{50 + i}-01-0{1 + i % 9}" for i in range(count)],
            "place": [AWKWARD[i % len(AWKWARD)] for i in range(count)],
            "illness": [AWKWARD[(i * 3) % len(AWKWARD)] for i in range(count)],
            "note": [None if i % 4 == 0 else f"n{i}" for i in range(count)],
            "the 50% one, yes": [i % 2 == 0 for i in range(count)],
        }
    )
    series = Series.create(tmp_path / "awkward", schema, Mondrian(3), seed=1)
    series.publish(view, as_of="2026-01-05")
    yield series
    series.ledger.close()


def test_the_table_holds_the_rows_and_types_of_the_release(awkward: Series, url: str) -> None:
    done = export(awkward, 1, url)
    assert (done.table, done.rows, done.counterfeits) == ("awkward_0001", 40, None)
    table, rows = stored(url, "awkward_0001")
    assert in_order(rows) == in_order(released(awkward, 1))
    kinds = {column.name: column.type.compile(dialect=dialect()) for column in table.columns}
    assert kinds == {
        "group": "INTEGER",
        "age_lo": "BIGINT",
        "age_hi": "BIGINT",
        "age_missing": "BOOLEAN",
        "weight of body_lo": "DOUBLE PRECISION",
        "weight of body_hi": "DOUBLE PRECISION",
        "born_lo": "DATE",
        "born_hi": "DATE",
        "place": "TEXT[]",
        "note": "TEXT",
        "the 50% one, yes": "BOOLEAN",
        "illness": "TEXT",
    }


def test_comments_say_what_is_promised_and_what_columns_are(awkward: Series, url: str) -> None:
    export(awkward, 1, url)
    table, _ = stored(url, "awkward_0001")
    about = json.loads((awkward.ledger.folder(1) / "about.json").read_text())
    assert table.comment is not None
    assert table.comment.startswith(f"republish release 1, as of {about['as_of']}. 40 rows in ")
    assert "Publisher: mondrian (k=3" in table.comment
    assert all(promise.rstrip(".") in table.comment for promise in about["every_group_satisfies"])
    assert "Promised over the series: nothing." in table.comment
    assert (
        "Not promised: Nothing is promised over the series: each release is protected alone" in table.comment
    )
    comments = {column.name: column.comment for column in table.columns}
    assert all(comments.values())
    assert comments["age_lo"] == "age (quasi-identifier, number): lowest value of the row's group."
    assert comments["illness"] == "illness (sensitive, category): the value of the row."
    assert comments["note"] == "note (insensitive): the value of the row."


def test_counterfeits_have_a_table_of_their_own(
    tmp_path: Path, hospital_folder: Path, views: list[Path], url: str
) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    series = Series.create(tmp_path / "invariant", schema, MInvariance(3), seed=3)
    for week, view in enumerate(views, start=10):
        series.publish(view, as_of=f"2026-01-{week}")
    number = next(n for n, entry in enumerate(series.records, start=1) if entry.payload["counterfeits"])
    done = export(series, number, url, "recipients")
    assert done.counterfeits == "recipients_counterfeits"
    table, rows = stored(url, "recipients_counterfeits")
    expected = pl.read_csv(series.ledger.folder(number) / "counterfeits.csv").to_dicts()
    assert in_order(rows) == in_order(expected)
    assert sum(row["count"] for row in rows) == series.record(number).payload["counterfeits"]
    assert table.columns["count"].comment == "How many rows of the group belong to nobody."
    assert series.record(1).payload["counterfeits"] == 0
    assert export(series, 1, url, "recipients", replace=True).counterfeits is None
    with pytest.raises(sql.exc.NoSuchTableError):
        stored(url, "recipients_counterfeits")
    series.ledger.close()


@pytest.fixture
def in_two(tmp_path: Path, hospital_folder: Path, views: list[Path]) -> Iterator[Series]:
    """Four releases in two tables, the last ones made in parts and with counterfeits."""
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(tmp_path / "two", schema, TauSafety(3), seed=3, form=TwoTables(5))
    for week, view in enumerate(views[:4], start=10):
        made.publish(view, as_of=f"2026-01-{week}", engine=Here(parts=3) if week > 11 else None)
    yield made
    made.ledger.close()


@pytest.mark.parametrize("number", [1, 4])
def test_two_tables_are_two_tables_with_comments(in_two: Series, url: str, number: int) -> None:
    done = export(in_two, number, url)
    name = f"two_{number:04d}"
    assert (done.table, done.values, done.rows) == (name, f"{name}_values", in_two.release(number).rows)
    folder = in_two.ledger.folder(number)
    for table, file in ((name, "people.parquet"), (f"{name}_values", "values.parquet")):
        held, rows = stored(url, table)
        assert in_order(rows) == in_order(read_parquet(folder / file).to_dicts())
        assert held.comment is not None and "In two tables, people and values by batch" in held.comment
        assert "Every group of people satisfies: Every group holds at least 5 rows" in held.comment
        assert all(column.comment for column in held.columns)
    assert "null where a person's value is not counted" in str(stored(url, name)[0].columns["batch"].comment)
    if in_two.record(number).payload["counterfeits"]:
        counts, rows = stored(url, f"{name}_counterfeits")
        assert [column.name for column in counts.columns] == ["batch", "count"]
        assert sum(row["count"] for row in rows) == in_two.record(number).payload["counterfeits"]
    assert done.as_dict()["values"] == f"{name}_values"


def test_both_tables_are_written_or_none(in_two: Series, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from republish.publishing import export_postgres

    spelled = export_postgres._csv
    monkeypatch.setattr(
        export_postgres, "_csv", lambda f: b"he said no\n" if "count" in f.columns else spelled(f)
    )
    with pytest.raises(ExportError, match="table t_values could not be written"):
        export(in_two, 1, url, "t")
    for name in ("t", "t_values"):
        with pytest.raises(sql.exc.NoSuchTableError):
            stored(url, name)
    monkeypatch.undo()
    export(in_two, 1, url, "t")
    with pytest.raises(ExportError, match="table t exists already"):
        export(in_two, 2, url, "t")
    assert export(in_two, 2, url, "t", replace=True).values == "t_values"


def test_a_table_in_parts_is_written_whole(
    awkward: Series, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from republish.publishing import export_postgres

    monkeypatch.setattr(export_postgres, "ROWS", 7)
    assert export(awkward, 1, url).rows == 40
    assert in_order(stored(url, "awkward_0001")[1]) == in_order(released(awkward, 1))


def test_a_table_that_exists_is_replaced_only_if_asked_and_only_if_it_holds_a_release(
    awkward: Series, url: str, server: Server
) -> None:
    export(awkward, 1, url, "t")
    with pytest.raises(ExportError, match=r"table t exists already.*--replace"):
        export(awkward, 1, url, "t")
    assert export(awkward, 1, url, "t", replace=True).rows == 40
    assert len(stored(url, "t")[1]) == 40
    server.execute("CREATE TABLE precious (x integer)", "INSERT INTO precious VALUES (1)", url=url)
    with pytest.raises(ExportError, match="not written by republish"):
        export(awkward, 1, url, "precious", replace=True)
    assert stored(url, "precious")[1] == [{"x": 1}]


def test_a_failure_leaves_the_old_table(
    awkward: Series, url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from republish.publishing import export_postgres

    export(awkward, 1, url, "t")
    spelled = export_postgres._csv
    monkeypatch.setattr(export_postgres, "ROWS", 30)
    monkeypatch.setattr(export_postgres, "_csv", lambda f: spelled(f) if f.height == 30 else b"he said no\n")
    with pytest.raises(
        ExportError, match="table t could not be written: the server answered InvalidText"
    ) as e:
        export(awkward, 1, url, "t", replace=True)
    assert "he said" not in str(e.value)
    assert len(stored(url, "t")[1]) == 40
    server.execute("CREATE VIEW seen AS SELECT * FROM t", url=url)
    monkeypatch.undo()
    with pytest.raises(ExportError, match="depend on a table to be replaced"):
        export(awkward, 1, url, "t", replace=True)


@pytest.mark.parametrize(
    "name, schema, table",
    [
        ("clinic.weekly", "clinic", "weekly"),
        ('we"ek; DROP TABLE x', None, 'we"ek; DROP TABLE x'),
        ("50%s", None, "50%s"),
    ],
)
def test_names_are_names_whatever_they_hold(
    awkward: Series, url: str, server: Server, name: str, schema: str | None, table: str
) -> None:
    server.execute("CREATE SCHEMA clinic", "CREATE TABLE x (y integer)", url=url)
    export(awkward, 1, url, name)
    assert len(stored(url, table, schema)[1]) == 40
    assert stored(url, "x")[1] == []


REFUSED = {
    ("/t", "u"): "to one table",
    ("?query=SELECT 1", None): "to no query",
    ("", "a.b.c"): "one dot at most",
    ("", "n" * 64): "1 to 63 bytes",
    ("", "n" * 60): "1 to 63 bytes",
    ("", "nowhere.t"): "no such schema",
}


@pytest.mark.parametrize("rest, table", REFUSED)
def test_what_cannot_be_a_target_is_explained(
    awkward: Series, url: str, rest: str, table: str | None
) -> None:
    with pytest.raises(ExportError) as caught:
        export(awkward, 1, url + rest, table)
    assert REFUSED[rest, table] in str(caught.value)


def test_only_a_release_that_stands_and_is_intact_is_handed_out(awkward: Series, url: str) -> None:
    with pytest.raises(LedgerError, match="no release 2"):
        export(awkward, 2, url)
    path = awkward.ledger.folder(1) / "table.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"?")
    with pytest.raises(LedgerError, match="was altered"):
        export(awkward, 1, url)
    path.write_bytes(whole)
    withdraw(awkward, 1, "a mistake")
    with pytest.raises(ExportError, match="--withdrawn"):
        export(awkward, 1, url)
    assert export(awkward, 1, url, withdrawn=True).rows == awkward.release(1).rows


def test_a_file_that_is_altered_after_the_first_look_is_not_written(
    awkward: Series, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = awkward.ledger.folder(1) / "table.parquet"
    looked = Ledger.intact

    def edited_afterwards(ledger: Ledger, name: str) -> Path:
        found = looked(ledger, name)
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        return found

    monkeypatch.setattr(Ledger, "intact", edited_afterwards)
    monkeypatch.setattr(
        "republish.publishing.export_postgres.parquet_schema", lambda paths: {"group": pl.Int32()}
    )
    with pytest.raises(LedgerError, match="was altered"):
        export(awkward, 1, url)


def test_a_user_who_may_not_make_tables_is_told(awkward: Series, url: str, server: Server) -> None:
    server.execute("DROP ROLE IF EXISTS stranger", "CREATE ROLE stranger LOGIN", url=url)
    with pytest.raises(ExportError, match="lacks the privilege"):
        export(awkward, 1, url.replace("postgres@", "stranger@"))
    server.execute("DROP ROLE stranger")


@pytest.mark.long
def test_the_command_line_publishes_into_a_database_and_exports(
    series: Series, views: list[Path], url: str
) -> None:
    said = ok("publish", series.root, views[0], "--as-of", "2026-01-05", "--into", url)
    assert "table: series_0001, 4" in said
    assert in_order(stored(url, "series_0001")[1]) == in_order(released(series, 1))
    done = valid(ok("export", series.root, "1", url, "--table", "again", "--json"), "export")
    assert done == {"table": "again", "rows": len(released(series, 1)), "counterfeits": None}
    assert "exists already" in fails("export", series.root, "1", f"{url}/again")
    assert "release 1 is the table again" in ok("export", series.root, "1", f"{url}/again", "--replace")


def test_a_release_stays_when_the_database_fails_and_the_message_says_how_to_repeat(
    series: Series, views: list[Path], server: Server, url: str
) -> None:
    away = "postgresql://postgres@127.0.0.1:1/db"
    told = fails("publish", series.root, views[0], "--as-of", "2026-01-05", "--into", away)
    assert "release 1 is committed, but is not in the database yet" in told
    assert f"republish export {series.root} 1 {away}" in told
    assert len(Series.open(series.root).records) == 1
    ok("export", series.root, "1", url)


def test_a_wrong_target_is_refused_before_anything_is_published(series: Series, views: list[Path]) -> None:
    told = fails("publish", series.root, views[0], "--into", "postgresql://me:hunter2@127.0.0.1/db")
    assert "PGPASSWORD" in told
    assert "hunter2" not in told
    assert not series.records


def test_a_dry_run_writes_no_table(series: Series, views: list[Path], url: str) -> None:
    ok("publish", series.root, views[0], "--dry-run", "--into", url)
    with pytest.raises(sql.exc.NoSuchTableError):
        stored(url, "series_0001")


def test_source_and_sink_meet(
    tmp_path: Path, hospital_folder: Path, kept: Series, views: list[Path], url: str
) -> None:
    """A view from PostgreSQL, a ledger in it, and the release back into it."""
    assert kept.policy.publisher == Mondrian(5, (LDiversity(3),))
    engine = sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sql.pool.NullPool)
    frame = pl.read_csv(views[0], infer_schema=False)
    table = sql.Table("visits", sql.MetaData(), *(sql.Column(name, sql.Text) for name in frame.columns))
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(sql.insert(table), frame.to_dicts())
    ok("publish", kept.root, f"{url}/visits", "--into", url, "--as-of", "2026-01-05")
    assert len(stored(url, "series_0001")[1]) == len(released(kept, 1))
    assert kept.verify().holds
