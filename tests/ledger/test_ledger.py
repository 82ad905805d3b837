from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger.publisher import forget, publish, write_release
from republish.errors import LedgerError
from republish.ledger import Ledger
from republish.ledger import catalogue as catalogue_module


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_ledger_holds_the_creation_alone(root: Path) -> None:
    with Ledger.open(root) as ledger:
        (entry,) = ledger.entries()
        assert (entry.seq, entry.kind, entry.release, entry.payload) == (
            1,
            "init",
            None,
            {"publisher": "none"},
        )
        assert ledger.releases() == ()
        assert ledger.check() == []


def test_create_refuses_a_folder_that_holds_a_series(root: Path) -> None:
    with pytest.raises(LedgerError, match="already holds a series"):
        Ledger.create(root, {})


def test_create_refuses_releases_without_their_ledger(root: Path) -> None:
    publish(root)
    (root / "ledger.db").unlink()
    with pytest.raises(LedgerError, match="restore the series from a backup"):
        Ledger.create(root, {})


def test_open_names_the_remedy_where_there_is_no_series(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="republish init"):
        Ledger.open(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_open_refuses_a_file_that_is_no_catalogue(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("something else, long enough to be looked at" * 50)
    with pytest.raises(LedgerError, match="could not be read"):
        Ledger.open(tmp_path)


def test_folder_names_with_special_characters_work(tmp_path: Path) -> None:
    folder = tmp_path / "50% of ü? #1 & more"
    Ledger.create(folder, {}).close()
    publish(folder)
    with Ledger.open(folder) as ledger:
        assert ledger.check() == []
    assert (folder / "ledger.db").is_file()


def test_a_release_lies_in_its_folder_and_nothing_is_left_in_staging(root: Path) -> None:
    entry = publish(root)
    assert (root / "releases/0001/table.csv").read_text() == "table 1\n"
    assert list((root / "private/staging").iterdir()) == []
    token = entry.payload["staging"]
    assert set(entry.payload["files"]) == {
        "releases/0001/table.csv",
        "releases/0001/about.json",
        f"private/memory/0001-{token}.parquet",
        f"private/membership/0001-{token}.parquet",
    }
    assert entry.payload["files"]["releases/0001/table.csv"]["bytes"] == 8


def test_entries_come_back_as_they_were_committed(root: Path) -> None:
    committed = [publish(root), publish(root)]
    with Ledger.open(root) as ledger:
        assert list(ledger.releases()) == committed
        assert ledger.head == committed[1]
        assert ledger.head.previous == committed[0].digest
        assert [entry.release for entry in ledger.releases()] == [1, 2]


def test_paths_resolve_files_of_releases_and_private_ones(root: Path) -> None:
    entry = publish(root)
    with Ledger.open(root) as ledger:
        assert ledger.folder(1) == root / "releases/0001"
        assert ledger.path("releases/0001/table.csv") == root / "releases/0001/table.csv"
        assert ledger.path(entry.payload["memory"]).read_text() == "memory 1"


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "releases/0001/../../x", "series.toml", "private/secret.key"]
)
def test_paths_never_lead_out_of_the_series(root: Path, name: str) -> None:
    publish(root)
    with Ledger.open(root) as ledger, pytest.raises(LedgerError, match="outside"):
        ledger.path(name)


def test_an_unknown_release_is_an_error(root: Path) -> None:
    with Ledger.open(root) as ledger, pytest.raises(LedgerError, match="no release 4"):
        ledger.folder(4)


def test_private_things_are_closed_to_others(root: Path) -> None:
    publish(root)
    folders = [root / "private", *(root / "private" / name for name in ("memory", "membership", "staging"))]
    files = [root / "ledger.db", root / "private/lock", *(root / "private/memory").iterdir()]
    assert {mode(path) for path in folders} == {0o700}
    assert {mode(path) for path in (*files, *(root / "private/membership").iterdir())} == {0o600}


def test_reading_leaves_every_byte_as_it_was(root: Path) -> None:
    publish(root)
    before = everything(root)
    with Ledger.open(root) as ledger:
        ledger.entries()
        ledger.folder(1)
        assert ledger.check() == []
    assert everything(root) == before


def test_a_draft_is_seen_by_nobody_before_its_commit(root: Path) -> None:
    with Ledger.open(root) as ledger, ledger.lock("publish"), ledger.stage(1) as draft:
        (draft.folder / "table.csv").write_text("x")
        assert list((root / "releases").iterdir()) == []
        with Ledger.open(root) as other:
            assert other.releases() == ()
            assert other.check() == []


def test_an_error_while_writing_discards_the_draft(root: Path) -> None:
    before = everything(root)
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        with pytest.raises(ZeroDivisionError), ledger.stage(1) as draft:
            (draft.folder / "table.csv").write_text("x")
            draft.private_file("memory").write_text("y")
            _ = 1 / 0
        assert list((root / "private/memory").iterdir()) == []
        assert list((root / "private/staging").iterdir()) == []
    assert everything(root) == before


def test_private_files_of_one_kind_have_names_of_their_own(root: Path) -> None:
    with Ledger.open(root) as ledger, ledger.lock("forget"), ledger.stage() as draft:
        names = [draft.private_file("membership", release=number).name for number in (1, 2, 2)]
        assert names == [
            f"0001-{draft.token}.parquet",
            f"0002-{draft.token}.parquet",
            f"0002-{draft.token}-2.parquet",
        ]


def test_a_stale_head_commits_nothing(root: Path) -> None:
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        old = ledger.head
        write_release(ledger)
        with ledger.stage(2) as draft, pytest.raises(LedgerError, match="another publisher"):
            (draft.folder / "table.csv").write_text("x")
            ledger.commit(draft, "release", {}, old)
        assert len(ledger.releases()) == 1
        assert ledger.check() == []


@pytest.mark.parametrize("number", [1, 3])
def test_releases_are_numbered_without_gaps(root: Path, number: int) -> None:
    publish(root)
    with Ledger.open(root) as ledger, ledger.lock("publish"), ledger.stage(number) as draft:
        (draft.folder / "table.csv").write_text("x")
        with pytest.raises(LedgerError, match="must have number 2"):
            ledger.commit(draft, "release", {}, ledger.head)


def test_a_release_without_files_is_refused(root: Path) -> None:
    empty = pytest.raises(LedgerError, match="at least one file")
    with Ledger.open(root) as ledger, ledger.lock("publish"), ledger.stage(1) as draft, empty:
        ledger.commit(draft, "release", {}, ledger.head)


def test_an_announced_file_that_was_not_written_is_refused(root: Path) -> None:
    with Ledger.open(root) as ledger, ledger.lock("publish"), ledger.stage(1) as draft:
        (draft.folder / "table.csv").write_text("x")
        draft.private_file("memory")
        with pytest.raises(LedgerError, match="not written"):
            ledger.commit(draft, "release", {}, ledger.head)


def test_links_cannot_be_published(root: Path) -> None:
    with Ledger.open(root) as ledger, ledger.lock("publish"), ledger.stage(1) as draft:
        (draft.folder / "table.csv").symlink_to("/etc/passwd")
        with pytest.raises(LedgerError, match="links"):
            ledger.commit(draft, "release", {}, ledger.head)


def test_a_folder_in_the_way_is_refused_and_never_deleted(root: Path) -> None:
    foreign = root / "releases/0001"
    foreign.mkdir()
    (foreign / "mine.txt").write_text("mine")
    with pytest.raises(LedgerError, match="not part of the series"):
        publish(root)
    assert (foreign / "mine.txt").read_text() == "mine"
    with Ledger.open(root) as ledger:
        assert ledger.check() == ["releases/0001 is not part of the series: no entry of the ledger names it"]


def test_entries_without_files_need_no_draft(root: Path) -> None:
    publish(root)
    with Ledger.open(root) as ledger, ledger.lock("withdraw"):
        entry = ledger.commit(None, "withdraw", {"reason": "an error"}, ledger.head, release=1)
        assert (entry.kind, entry.release, entry.payload) == ("withdraw", 1, {"reason": "an error"})
        assert ledger.check() == []
        assert len(ledger.releases()) == 1


def test_only_a_release_that_exists_is_withdrawn(root: Path) -> None:
    with (
        Ledger.open(root) as ledger,
        ledger.lock("withdraw"),
        pytest.raises(LedgerError, match="no release 2"),
    ):
        ledger.commit(None, "withdraw", {}, ledger.head, release=2)


def test_forgetting_erases_the_old_memory(root: Path) -> None:
    old = publish(root).payload["memory"]
    entry = forget(root)
    (new,) = entry.payload["files"]
    assert not (root / old).exists()
    assert (root / new).read_text() == "memory without one person"
    assert list((root / "private/staging").iterdir()) == []
    with Ledger.open(root) as ledger:
        assert ledger.check() == []


def test_an_erased_file_that_comes_back_is_reported(root: Path) -> None:
    old = publish(root).payload["memory"]
    forget(root)
    (root / old).write_text("memory 1")
    with Ledger.open(root) as ledger:
        (problem,) = ledger.check()
        assert problem.startswith(f"{old} must be erased, but is still there")
        with ledger.lock("publish"):
            assert ledger.check() == []


def test_files_of_a_release_cannot_be_erased(root: Path) -> None:
    publish(root)
    with Ledger.open(root) as ledger, ledger.lock("forget"), pytest.raises(LedgerError, match="only private"):
        ledger.commit(None, "forget", {"erased": ["releases/0001/table.csv"]}, ledger.head)


def test_a_sweep_spares_memory_when_the_catalogue_is_an_older_copy(root: Path) -> None:
    publish(root)
    older = (root / "ledger.db").read_bytes()
    memory = root / publish(root).payload["memory"]
    (root / "ledger.db").write_bytes(older)
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        assert memory.is_file()
        assert ledger.check() == ["releases/0002 is not part of the series: no entry of the ledger names it"]


def test_a_sweep_spares_memory_when_the_catalogue_is_another_series(root: Path, tmp_path: Path) -> None:
    publish(root)
    other = tmp_path / "other"
    Ledger.create(other, {}).close()
    publish(other)
    before = sorted((root / "private/memory").iterdir())
    (root / "ledger.db").write_bytes((other / "ledger.db").read_bytes())
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        assert sorted((root / "private/memory").iterdir()) == before


def test_a_payload_with_numbers_as_keys_keeps_its_digest(root: Path) -> None:
    with Ledger.open(root) as ledger, ledger.lock("amend"):
        ledger.commit(None, "amend", {"leaves": {10: "b", 9: "a", "ü": 0.1}}, ledger.head)
        assert ledger.check() == []
        assert ledger.head.payload == {"leaves": {"10": "b", "9": "a", "ü": 0.1}}


def test_a_newer_layout_is_refused(root: Path) -> None:
    with closing(sqlite3.connect(root / "ledger.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = '3' WHERE key = 'layout'")
    with pytest.raises(LedgerError, match="install a newer version"):
        Ledger.open(root)


def test_a_migration_and_its_record_are_one_transaction(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: catalogue_module.Connection) -> None:
        connection.execute("CREATE TABLE half (x INTEGER)")
        raise LedgerError("it broke")

    def whole(connection: catalogue_module.Connection) -> None:
        connection.execute("CREATE TABLE half (x INTEGER)")

    steps = catalogue_module.MIGRATIONS
    monkeypatch.setattr(catalogue_module, "MIGRATIONS", (*steps, broken))
    with Ledger.open(root) as ledger:
        with pytest.raises(LedgerError, match="it broke"), ledger.lock("publish"):
            pass
        assert ledger.catalogue.require_layout() == 2
        monkeypatch.setattr(catalogue_module, "MIGRATIONS", (*steps, whole))
        with ledger.lock("publish"):
            assert ledger.catalogue.require_layout() == 3


def test_another_database_can_hold_the_catalogue(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    with Ledger.create(tmp_path / "series", {}, url) as ledger:
        with ledger.lock("publish"):
            write_release(ledger)
        assert ledger.check() == []
        assert not (tmp_path / "series/ledger.db").exists()
    with pytest.raises(LedgerError, match="already holds a series"):
        Ledger.create(tmp_path / "second", {}, url)


def test_a_wrong_url_is_explained_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="URL of the ledger") as caught:
        Ledger.open(tmp_path, "nonsense://user:hunter2@host/db")
    assert "hunter2" not in str(caught.value)
