"""What leaves the house is measured against the ledger first; a withdrawn release says so before it is given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import two_tables
from desk_client import SCHEMA, TestClient, desk, make_series, view
from republish import Series, TauSafety
from republish.parts import Here
from republish.publishing.maintenance import withdraw
from republish.web.watch import Watch

TABLE = "/api/series/visits/releases/1/table.csv"
ALTERED = "table.csv of release 1 is missing or was altered since it was published, and is not handed out"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_series(tmp_path / "visits", 2)


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    with desk(root.parent) as client:
        yield client


def edited(path: Path) -> bytes:
    """Change a digit of a file, nothing of its size and dates; return what it held."""
    data, found = path.read_bytes(), path.stat()
    path.write_bytes(data.replace(b"1", b"2", 1) if b"1" in data else bytes(reversed(data)))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_size == len(data) and path.read_bytes() != data
    return data


def test_an_altered_table_is_refused_and_noted(client: TestClient, root: Path) -> None:
    assert client.get(TABLE).status_code == 200
    edited(root / "releases/0001/table.csv")
    for path in (TABLE, "/s/visits/r/1/files/table.csv"):
        assert client.get(path).status_code == 409
    assert client.get(TABLE).json()["error"] == {
        "kind": "LedgerError", "message": f"{ALTERED}; restore the series from a backup"
    }  # fmt: skip
    line = client.get("/api/series/visits/audit").json()[-1]
    assert (line["action"], line["outcome"], line["file"]) == ("download", "refused", "table.csv")
    assert line["kind"] == "LedgerError"


def test_problems_tell_of_an_altered_table_before_anyone_asks_for_it(client: TestClient, root: Path) -> None:
    assert client.get("/api/series/visits").json()["problems"] == []
    edited(root / "releases/0001/table.csv")
    assert client.get("/api/series/visits").json()["problems"] == [ALTERED]
    assert client.get("/api/series").json()["series"][0]["problems"] == [ALTERED]
    assert client.get("/api/series/visits/releases/1").json()["problems"] == [ALTERED]
    assert client.get("/api/series/visits/releases/2").json()["problems"] == []
    assert "was altered since it was published" in client.get("/s/visits").text
    shown = client.get("/s/visits/r/1").text
    assert "was altered since it was published" in shown
    assert 'files/table.csv"' not in shown and 'files/table.parquet"' in shown


def test_a_table_that_is_put_back_is_given_again(client: TestClient, root: Path) -> None:
    table = root / "releases/0001/table.csv"
    before = edited(table)
    assert client.get(TABLE).status_code == 409
    table.write_bytes(before)
    assert client.get(TABLE).content == before
    assert client.get("/api/series/visits").json()["problems"] == []


def test_a_missing_table_is_refused(client: TestClient, root: Path) -> None:
    (root / "releases/0001/table.csv").unlink()
    assert client.get(TABLE).status_code == 409
    assert client.get("/api/series/visits").json()["problems"] == [ALTERED]


def test_an_altered_part_of_a_table_is_refused(tmp_path: Path) -> None:
    series = Series.open(make_series(tmp_path / "visits", 0))
    series.publish(view(1), engine=Here(parts=2))
    series.ledger.close()
    part = "table.parquet/part-00001.parquet"
    edited(tmp_path / "visits/releases/0001" / part)
    with desk(tmp_path) as client:
        assert client.get(f"/api/series/visits/releases/1/{part}").status_code == 409
        other = client.get("/api/series/visits/releases/1/table.parquet/part-00000.parquet")
        assert other.status_code == 200
        assert client.get("/api/series/visits").json()["problems"][0].startswith(f"{part} of release 1")


def test_parts_of_two_tables_are_handed_out(tmp_path: Path) -> None:
    series = two_tables.make(tmp_path / "two", 0)
    series.publish(two_tables.view(1), engine=Here(parts=2))
    recorded = [name.split("/", 2)[2] for name in series.records[0].payload["files"] if "releases/" in name]
    series.ledger.close()
    assert "people.parquet/part-00001.parquet" in recorded
    with desk(tmp_path) as client:
        page = client.get("/s/two/r/1").text
        for file in recorded:
            assert f"/s/two/r/1/files/{file}" in page
            assert client.get(f"/s/two/r/1/files/{file}").status_code == 200
            assert client.get(f"/api/series/two/releases/1/{file}").status_code == 200


def test_what_is_sent_is_what_was_measured(client: TestClient, root: Path) -> None:
    found = client.app.state.desk.file("visits", 1, "table.csv")  # type: ignore[attr-defined]
    before = edited(root / "releases/0001/table.csv")
    with found.content as content:
        assert content.read() == before


def test_a_withdrawn_release_is_given_only_to_who_knows_it(client: TestClient, root: Path) -> None:
    withdraw(Series.open(root), 1)
    for path in (TABLE, "/s/visits/r/1/files/table.csv"):
        assert client.get(path).status_code == 409
        given = client.get(path, params={"withdrawn": "yes"})
        assert given.status_code == 200
        assert given.headers["republish-withdrawn"] == "yes"
        assert given.content == (root / "releases/0001/table.csv").read_bytes()
    refused = client.get(TABLE).json()["error"]
    assert refused["kind"] == "Withdrawn"
    assert refused["message"].startswith("release 1 was withdrawn") and "?withdrawn=yes" in refused["message"]
    assert "republish-withdrawn" not in client.get(TABLE.replace("/1/", "/2/")).headers
    noted = [line for line in client.get("/api/series/visits/audit").json() if line["action"] == "download"]
    assert [(line["outcome"], line.get("withdrawn"), line.get("kind")) for line in noted[:2]] == [
        ("refused", None, "Withdrawn"), ("done", True, None)
    ]  # fmt: skip


def test_the_page_of_a_withdrawn_release_asks_before_it_gives(client: TestClient, root: Path) -> None:
    withdraw(Series.open(root), 1)
    shown = client.get("/s/visits/r/1").text
    assert '<input type="checkbox" name="withdrawn" value="yes" required>' in shown
    assert 'href="/s/visits/r/1/files/' not in shown
    assert 'formaction="/s/visits/r/1/files/table.csv"' in shown


def test_one_look_measures_what_was_written_last_first(root: Path) -> None:
    ledger = Series.open(root).ledger
    edited(root / "releases/0001/table.csv")
    most = (root / "releases/0001/table.csv").stat().st_size
    assert Watch(most).altered(ledger) == {1: ["table.csv"]}
    assert Watch(0).altered(ledger) == {}
    (root / "releases/0002/about.json").write_text("{}")
    assert Watch(0).altered(ledger) == {2: ["about.json"]}


def test_an_adopted_release_is_marked_and_not_handed_out(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "visits", SCHEMA, TauSafety(m=3), seed=5)
    series.adopt(view(1).drop("patient").with_columns(age=pl.lit("[0-99]")), view=view(1))
    series.publish(view(2))
    series.ledger.close()
    with desk(tmp_path) as client:
        assert '<span class="chip">adopted</span>' in client.get("/s/visits").text
        page = client.get("/s/visits/r/1").text
        assert "Another tool made this release" in page and "/r/1/files/" not in page
        refused = client.get(TABLE)
        assert refused.status_code == 404
        assert "made by another tool" in refused.json()["error"]["message"]
        assert client.get(TABLE.replace("/1/", "/2/")).status_code == 200
