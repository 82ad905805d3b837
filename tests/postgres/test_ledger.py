"""A whole series on a PostgreSQL ledger."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
import sqlalchemy as sql

from earlier.make import HERE, SECRET, make_views
from ledger.publisher import write_release
from postgres.commands import fails, ok, start
from postgres.server import Server
from republish import LDiversity, LedgerError, Mondrian, PolicyError, Series, TauSafety, read_schema
from republish.ledger import Ledger, backup, restore
from republish.ledger import catalogue as catalogue_module
from republish.parts import Here
from republish.release.forms import TwoTables
from republish.secret import VARIABLE


def test_a_series_is_made_published_and_looked_at_by_the_command_line(
    tmp_path: Path, hospital_folder: Path, views: list[Path], url: str
) -> None:
    root = tmp_path / "series"
    ok(
        "init", root, "--schema", hospital_folder / "schema.toml", "--publisher", "mondrian", "-p", "k=5",
        "--one-table", "--seed", "1", "--ledger", url,
    )  # fmt: skip
    assert tomllib.loads((root / "series.toml").read_text())["ledger"] == url
    for week, view in enumerate(views[:3], start=5):
        assert f"release {week - 4} as of" in ok("publish", root, view, "--as-of", f"2026-01-{week:02d}")
    assert not (root / "ledger.db").exists()
    assert "2026-01-07" in ok("history", root)
    assert "release 3" in ok("show", root, "3")
    ok("verify", root)


def test_a_series_in_two_tables_lives_on_a_ledger_in_a_database(
    tmp_path: Path, hospital_folder: Path, views: list[Path], url: str
) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(tmp_path / "two", schema, TauSafety(3), seed=3, ledger=url, form=TwoTables(5))
    for week, view in enumerate(views[:3], start=5):
        made.publish(view, as_of=f"2026-01-{week:02d}", engine=Here(parts=2) if week == 6 else None)
    reader = Series.open(made.root)
    assert [record.payload["rows"] for record in reader.records] == [400, 400, 400]
    assert reader.cuts().cuts > 0
    assert reader.verify().holds
    for one in (made, reader):
        one.ledger.close()


def test_the_last_entry_must_be_the_expected_one(tmp_path: Path, url: str) -> None:
    with Ledger.create(tmp_path / "series", {}, url) as ledger:
        with ledger.lock("publish"):
            old = ledger.head
            write_release(ledger)
            with pytest.raises(LedgerError, match="another publisher"):
                ledger.commit(None, "amend", {}, old)
            write_release(ledger)
        assert ledger.check() == []
        assert [entry.release for entry in ledger.releases()] == [1, 2]


def test_a_database_holds_one_series(tmp_path: Path, url: str) -> None:
    Ledger.create(tmp_path / "first", {}, url).close()
    with pytest.raises(LedgerError, match="already holds a series"):
        Ledger.create(tmp_path / "second", {}, url)


def test_two_schemas_of_a_database_hold_two_series_that_do_not_lock_each_other(
    tmp_path: Path, server: Server, url: str
) -> None:
    server.execute("CREATE SCHEMA one", "CREATE SCHEMA two", url=url)
    with (
        Ledger.create(tmp_path / "one", {}, f"{url}?options=-csearch_path%3Done") as one,
        Ledger.create(tmp_path / "two", {}, f"{url}?options=-csearch_path%3Dtwo") as two,
        one.lock("publish"),
        two.lock("publish"),
    ):
        write_release(one)
        assert len(one.releases()) == 1
        assert len(two.releases()) == 0


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:hunter2@127.0.0.1/db",
        "postgresql://user@127.0.0.1/db?password=hunter2",
    ],
)
def test_a_password_is_refused_and_never_shown(tmp_path: Path, hospital_folder: Path, address: str) -> None:
    schema, publisher = read_schema(hospital_folder / "schema.toml"), Mondrian(5, (LDiversity(3),))
    with pytest.raises(PolicyError, match="PGPASSWORD") as caught:
        Series.create(tmp_path / "series", schema, publisher, ledger=address)
    assert "hunter2" not in str(caught.value)
    assert not (tmp_path / "series").exists()
    with pytest.raises(LedgerError, match=r"\.pgpass") as caught_below:
        Ledger.create(tmp_path / "series", {}, address)
    assert "hunter2" not in str(caught_below.value)


def test_the_password_of_another_database_is_refused_too(tmp_path: Path, hospital_folder: Path) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    with pytest.raises(PolicyError, match="must not hold a password") as caught:
        Series.create(tmp_path / "series", schema, Mondrian(5), ledger="mysql://user:hunter2@host/db")
    assert "hunter2" not in str(caught.value)
    assert not (tmp_path / "series").exists()


def test_a_server_that_is_not_there_is_named(tmp_path: Path, server: Server) -> None:
    with pytest.raises(LedgerError, match=r"could not be read.*127\.0\.0\.1.*port 1") as caught:
        Ledger.create(tmp_path / "series", {}, "postgresql://postgres@127.0.0.1:1/postgres")
    assert "Traceback" not in str(caught.value)


def test_reading_needs_select_and_publishing_little_more(
    kept: Series, views: list[Path], server: Server, url: str
) -> None:
    kept.publish(views[0], as_of="2026-01-05")
    server.execute(
        "DROP ROLE IF EXISTS looker",
        "CREATE ROLE looker LOGIN",
        "GRANT SELECT ON entries, head, meta TO looker",
        url=url,
    )
    reader = Ledger.open(kept.root, url.replace("postgres@", "looker@"))
    assert len(reader.releases()) == 1
    assert reader.check() == []
    with pytest.raises(LedgerError, match="permission denied"), reader.lock("publish"):
        write_release(reader)
    assert len(kept.ledger.releases()) == 1
    server.execute("GRANT INSERT ON entries TO looker", "GRANT UPDATE ON head TO looker", url=url)
    with reader.lock("publish"):
        write_release(reader)
    reader.close()
    assert len(kept.ledger.releases()) == 2
    server.execute("DROP OWNED BY looker", "DROP ROLE looker", url=url)


def test_what_is_read_cannot_write(kept: Series) -> None:
    with pytest.raises(LedgerError, match="read-only"), kept.ledger.catalogue._session("read") as connection:
        connection.execute("DELETE FROM entries")


def test_a_commit_is_on_disk_even_where_the_server_does_not_wait(
    tmp_path: Path, server: Server, url: str
) -> None:
    asked = "SELECT current_setting('synchronous_commit')"
    for given, expected in (("off", "on"), ("remote_apply", "remote_apply")):
        options = f"{url}?options=-csynchronous_commit%3D{given}"
        catalogue = catalogue_module.Catalogue(tmp_path / "ledger.db", options)
        with catalogue._session("write") as connection:
            assert connection.execute(asked).scalar() == expected
        catalogue.close()


def test_a_migration_that_fails_half_way_leaves_the_old_layout(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def more(connection: catalogue_module.Connection) -> None:
        connection.execute("CREATE TABLE more (x INTEGER)")

    def half(connection: catalogue_module.Connection) -> None:
        more(connection)
        connection.execute("DELETE FROM head")
        connection.execute(f"INSERT INTO more (x) VALUES ({2**40})")  # out of range

    with Ledger.create(tmp_path / "series", {}, url) as ledger:
        steps = catalogue_module.MIGRATIONS
        monkeypatch.setattr(catalogue_module, "MIGRATIONS", (*steps, half))
        with pytest.raises(LedgerError, match="nothing was committed"), ledger.lock("publish"):
            raise AssertionError("the lock was given on a ledger that could not be migrated")
        monkeypatch.setattr(catalogue_module, "MIGRATIONS", steps)
        assert ledger.catalogue.require_layout() == 2
        assert ledger.check() == []
        with ledger.catalogue._session("read") as connection:
            assert not sql.inspect(connection.bare).has_table("more")
        monkeypatch.setattr(catalogue_module, "MIGRATIONS", (*steps, more))
        with ledger.lock("publish"):
            assert ledger.catalogue.require_layout() == 3
            write_release(ledger)


@pytest.mark.long
def test_a_backup_of_a_series_in_postgresql_is_restored_with_and_without_it(
    kept: Series, views: list[Path], server: Server, tmp_path: Path, url: str
) -> None:
    kept.publish(views[0], as_of="2026-01-05")
    kept.publish(views[1], as_of="2026-01-12")
    backup(kept.root, tmp_path / "series.tar", url)
    there, here = tmp_path / "there", tmp_path / "here"
    other = server.new_database()
    ok("restore", tmp_path / "series.tar", there, "--ledger", other)
    ok("restore", tmp_path / "series.tar", here)
    assert not (there / "ledger.db").exists()
    assert "ledger" not in tomllib.loads((here / "series.toml").read_text())
    for root in (there, here):
        restored = Series.open(root)
        assert restored.verify().holds
        assert restored.ledger.entries() == kept.ledger.entries()
        assert restored.publish(views[2], as_of="2026-01-19").number == 3
        restored.ledger.close()
    assert len(kept.ledger.releases()) == 2
    with pytest.raises(LedgerError, match="already holds a series"):
        restore(tmp_path / "series.tar", tmp_path / "again", other)
    assert not (tmp_path / "again").exists()


def test_of_two_publishers_on_two_machines_one_is_told_of_the_other(
    kept: Series, views: list[Path], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "mounted elsewhere"
    shutil.copytree(kept.root, elsewhere)  # another folder, so that only the database can tell
    with kept.ledger.lock("publish weekly"):
        told = fails("publish", elsewhere, views[0], code=75)
        assert "only one process may write to a series at a time" in told
        assert "republish publish weekly (process" in told
        assert "of database user postgres at 127.0.0.1, since 20" in told
        assert Series.open(elsewhere).verify().holds  # readers go on
        assert "policy" not in ok("history", elsewhere)
    ok("publish", elsewhere, views[0])


def test_a_publisher_waits_for_the_one_on_another_machine(
    kept: Series, views: list[Path], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "mounted elsewhere"
    shutil.copytree(kept.root, elsewhere)
    with kept.ledger.lock("publish weekly"):
        waiting = start("publish", elsewhere, views[0], "--wait", "99")
        assert waiting.stderr is not None
        told = waiting.stderr.readline()
        assert told.startswith("waiting up to 99 seconds for `republish publish weekly (process")
    waiting.communicate(timeout=120)
    assert waiting.returncode == 0
    assert len(kept.records) == 1


def test_racing_publishers_each_make_their_own_release_or_are_told(kept: Series, views: list[Path]) -> None:
    racers = [start("publish", kept.root, view) for view in views[:3]]
    outcomes = [(racer.communicate()[1], racer.returncode) for racer in racers]
    won = sum(code == 0 for _, code in outcomes)
    assert won >= 1
    for text, code in outcomes:
        assert "Traceback" not in text
        assert code == 0 or "only one process may write" in text
    assert len(kept.records) == won
    assert kept.verify().holds


def test_many_readers_read_while_one_publishes(kept: Series, views: list[Path]) -> None:
    kept.publish(views[0], as_of="2026-01-05")
    publisher = start("publish", kept.root, views[1], "--as-of", "2026-01-12")
    readers = [Series.open(kept.root) for _ in range(8)]
    seen = []
    while publisher.poll() is None:
        for reader in readers:
            assert reader.ledger.check() == []
            seen.append(len(reader.records))
    publisher.communicate()
    assert publisher.returncode == 0
    assert set(seen) <= {1, 2}
    assert seen[0] == 1
    assert [len(reader.records) for reader in readers] == [2] * 8
    for reader in readers:
        reader.ledger.close()


def test_a_series_of_an_earlier_version_is_migrated_in_its_database(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    ok("restore", HERE / "mondrian.tgz", tmp_path / "old", "--ledger", url)
    series = Series.open(tmp_path / "old")
    done = series.publish(make_views(tmp_path / "views")[-1], as_of="2024-01-22")
    assert done.arrivals.changed_quasi_identifiers == 0
    assert [entry.kind for entry in series.ledger.entries()][-2:] == ["migrate", "release"]
    assert series.ledger.catalogue.require_layout() == 2
    assert series.verify().holds
    series.ledger.close()
