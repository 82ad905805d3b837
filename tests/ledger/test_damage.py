"""What someone changes behind the ledger's back is found."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.publisher import publish
from republish.errors import LedgerError
from republish.ledger import Ledger
from republish.ledger.chain import Head, Record, faults_in, seal


@pytest.fixture
def series(root: Path) -> Path:
    for _ in range(3):
        publish(root)
    return root


def check(root: Path) -> list[str]:
    with Ledger.open(root) as ledger:
        return ledger.check()


def edit(root: Path, statement: str) -> None:
    with closing(sqlite3.connect(root / "ledger.db")) as connection, connection:
        connection.execute(statement)


def test_an_intact_series_has_no_faults(series: Path) -> None:
    assert check(series) == []


def test_an_altered_byte(series: Path) -> None:
    (series / "releases/0002/table.csv").write_text("tabla 2\n")
    assert check(series) == ["releases/0002/table.csv was altered: its digest does not match the ledger"]


def test_a_truncated_file(series: Path) -> None:
    (series / "releases/0002/table.csv").write_text("tab")
    assert check(series) == ["releases/0002/table.csv was altered: it has 3 bytes instead of 8"]


def test_a_missing_file(series: Path) -> None:
    (series / "releases/0002/table.csv").unlink()
    assert check(series) == ["releases/0002/table.csv is missing"]


def test_a_missing_memory_file(series: Path) -> None:
    (path,) = (series / "private/memory").glob("0002-*")
    path.unlink()
    assert check(series) == [f"private/memory/{path.name} is missing"]


def test_a_missing_release_folder(series: Path) -> None:
    (series / "releases/0002").rename(series / "releases/0005")
    problems = check(series)
    assert "the folder of release 2 is missing" in problems[0]
    assert problems[-1] == "releases/0005 is not part of the series: no entry of the ledger names it"


def test_a_file_too_many(series: Path) -> None:
    (series / "releases/0002/note.txt").write_text("x")
    assert check(series) == ["releases/0002/note.txt is not part of release 2"]


def test_a_link_in_place_of_a_file(series: Path) -> None:
    path = series / "releases/0002/table.csv"
    path.rename(series / "away.csv")
    path.symlink_to(series / "away.csv")
    assert check(series) == ["releases/0002/table.csv is not a plain file"]


def test_open_modes(series: Path) -> None:
    (series / "private").chmod(0o755)
    (series / "ledger.db").chmod(0o644)
    assert check(series) == [
        "private must be closed to all but its owner, but has mode 0755; run chmod go= on it",
        "ledger.db must be closed to all but its owner, but has mode 0644; run chmod go= on it",
    ]


@pytest.mark.parametrize(
    "change",
    [
        "payload = replace(payload, '10', '11')",
        "kind = 'adopt'",
        "release = 7",
        "release = 'x'",
        "recorded_at = '2020-01-01T00:00:00+00:00'",
        "payload = 'nonsense'",
        "payload = x'00ff'",
        "payload = '[]'",
        "previous = digest",
    ],
)
def test_an_edited_entry(series: Path, change: str) -> None:
    edit(series, f"UPDATE entries SET {change} WHERE seq = 3")
    assert "entry 3 of the ledger was altered: its digest does not match what it holds" in check(series)


def test_a_removed_last_entry(series: Path) -> None:
    edit(series, "DELETE FROM entries WHERE seq = 4")
    problems = check(series)
    assert problems[0] == "the ledger must end with entry 4 as committed, but ends with entry 3 or another"
    assert "releases/0003 is not part of the series: no entry of the ledger names it" in problems


def test_a_removed_middle_entry(series: Path) -> None:
    edit(series, "DELETE FROM entries WHERE seq = 3")
    problems = check(series)
    assert problems[0] == "entry 3 is missing from the ledger"
    assert "release 2 is missing from the ledger" in problems


def test_a_removed_middle_entry_with_the_rest_moved_up(series: Path) -> None:
    edit(series, "DELETE FROM entries WHERE seq = 3")
    edit(series, "UPDATE entries SET seq = 3 WHERE seq = 4")
    assert "entry 3 of the ledger does not follow the entry before it" in check(series)


def test_a_removed_first_entry(series: Path) -> None:
    edit(series, "DELETE FROM entries WHERE seq = 1")
    assert "entry 1 is missing from the ledger" in check(series)


def test_a_removed_head(series: Path) -> None:
    edit(series, "DELETE FROM head")
    assert check(series) == ["the ledger does not say which entry is the last"]


def test_an_emptied_ledger(series: Path) -> None:
    edit(series, "DELETE FROM entries")
    assert "the ledger does not say which entry is the last" in check(series)


def test_a_damaged_database_file(series: Path) -> None:
    path = series / "ledger.db"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    with pytest.raises(LedgerError, match="could not be read"):
        check(series)


def test_nothing_is_written_to_a_damaged_ledger(series: Path) -> None:
    edit(series, "DELETE FROM entries WHERE seq = 4")
    with pytest.raises(LedgerError, match="the ledger is damaged"):
        publish(series)
    assert len(list((series / "private/memory").iterdir())) == 3


def test_names_that_lead_out_of_the_series_are_never_followed(series: Path) -> None:
    victim = series.parent / "victim"
    victim.write_text("x")
    with Ledger.open(series) as ledger:
        head = Head(ledger.head.seq, ledger.head.digest)
        record = seal("forget", None, {"erased": ["private/../../victim"]}, head)
        with ledger.catalogue.append(record, head):
            pass
        assert any("outside" in problem for problem in ledger.check())
        with pytest.raises(LedgerError, match="outside"), ledger.lock("publish"):
            pass
    assert victim.exists()


def test_progress_counts_the_files(series: Path) -> None:
    seen: list[tuple[int, int]] = []
    with Ledger.open(series) as ledger:
        ledger.check(lambda done, total: seen.append((done, total)))
    assert seen == [(done, 12) for done in range(1, 13)]


def chain() -> list[Record]:
    records: list[Record] = [seal("init", None, {}, None)]
    for number in (1, 2, 3):
        head = Head(records[-1].seq, records[-1].digest)
        records.append(seal("release", number, {"rows": number}, head))
    return records


CHAIN = chain()
HEAD = Head(CHAIN[-1].seq, CHAIN[-1].digest)


def test_the_chain_of_untouched_records_is_whole() -> None:
    assert list(faults_in(CHAIN, HEAD)) == []


@given(
    row=st.integers(0, 3),
    field=st.sampled_from(Record._fields),
    value=st.text(max_size=5) | st.integers(1, 9),
)
def test_no_single_edit_of_a_record_escapes(row: int, field: str, value: object) -> None:
    if field == "seq" and not isinstance(value, int):
        value = 99
    changed = list(CHAIN)
    changed[row] = changed[row]._replace(**{field: value})
    assert bool(list(faults_in(changed, HEAD))) is (changed != CHAIN)


@given(kept=st.sets(st.integers(0, 3)))
def test_no_removal_of_records_escapes(kept: set[int]) -> None:
    remaining = [record for index, record in enumerate(CHAIN) if index in kept]
    assert bool(list(faults_in(remaining, HEAD))) is (len(remaining) < len(CHAIN))
