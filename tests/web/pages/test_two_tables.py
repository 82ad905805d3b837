"""Pages of a series in two tables: how it is made, what a trial run and a release show, what is handed out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from desk_client import TestClient, desk, ended, upload
from republish import Gate, Series, TauSafety
from republish.release.forms import TwoTables
from two_tables import SCHEMA, make, view


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("desk")
    make(folder / "two").ledger.close()
    with desk(folder) as found:
        yield found


def csv(week: int) -> bytes:
    return view(week).write_csv().encode()


def test_a_release_shows_cells_and_batches_and_hands_out_both_tables(client: TestClient) -> None:
    text = client.get("/s/two/r/2").text
    for words in ("The groups of people as a picture", "The batches of values", "Without a batch", "33.3"):
        assert words in text
    for file in (
        "people.csv",
        "people.parquet",
        "values.csv",
        "values.parquet",
        "about.json",
        "read_release.R",
        "datapackage.json",
        "codebook.xml",
        "dcat.jsonld",
    ):
        assert f"/s/two/r/2/files/{file}" in text
        assert client.get(f"/s/two/r/2/files/{file}").status_code == 200
    assert "table.csv" not in text
    values = client.get("/api/series/two/releases/2/values.csv").text
    assert values.startswith("batch,diagnosis,count\n1,")


def test_the_api_lists_batches_with_shares(client: TestClient) -> None:
    found = client.get("/api/series/two/releases/1/batches").json()
    assert found["left_out"] == 0
    for one in found["batches"]:
        assert (one["people"], one["counterfeits"], one["counted"], one["different"]) == (30, 0, 30, 3)
        assert [round(part["share"], 3) for part in one["shares"]] == [0.333, 0.333, 0.333]


def test_the_series_says_its_form(client: TestClient) -> None:
    text = client.get("/s/two").text
    assert "at least 5 look alike" in text and "No batch" in text and "Left out" not in text


def test_a_trial_run_shows_rows_of_both_tables(client: TestClient) -> None:
    taken = upload(client, csv(3))
    started = client.post(f"/s/two/publish/{taken}/dry-run", data={"as_of": "2026-02-01"})
    job = started.headers["location"].rpartition("/")[2]
    result = ended(client, {"id": job})["result"]
    assert [one["columns"] for one in result["sample"]] == [
        ["group", "age", "weight", "ward", "batch"],
        ["batch", "diagnosis", "count"],
    ]
    text = client.get(f"/s/two/jobs/{job}").text
    assert "First rows of the table of people" in text and "First rows of the table of values" in text
    assert "person-0" not in text


def test_a_series_in_two_tables_is_made_at_the_desk(client: TestClient) -> None:
    taken = upload(client, csv(1))
    assert "Two tables" in client.get(f"/new/{taken}").text
    names = [SCHEMA.identifier, "age", "weight", "diagnosis", "ward"]
    roles = ["identifier", "quasi-identifier", "quasi-identifier", "sensitive", "insensitive"]
    kinds = ["category", "number", "number", "category", "category"]
    form = {"name": "made", "publisher": "tau-safety", "tau-safety.m": "3", "tables": "two-tables"}
    columns = {"column": names, "role": roles, "kind": kinds}
    refused = client.post(f"/new/{taken}", data={**form, "people_k": "1", **columns})
    assert refused.status_code == 400 and "exact quasi-identifiers" in refused.text
    made = client.post(f"/new/{taken}", data={**form, "people_k": "7", **columns})
    assert made.status_code == 303
    assert client.get("/api/series/made").json()["form"]["k"] == 7
    hiding = {**form, "name": "hiding", "people_k": "3", "hide_batch": "yes", **columns}
    assert client.post(f"/new/{taken}", data=hiding).status_code == 303
    assert client.get("/api/series/hiding").json()["form"]["hide_batch"] is True


def files(*weeks: int) -> list[tuple[str, tuple[str, bytes, str]]]:
    """Raw views as a browser sends them, the last one first."""
    return [("truth", (f"week{week}.csv", csv(week), "text/csv")) for week in reversed(weeks)]


def test_rows_and_presence_are_found_with_the_raw_views(client: TestClient) -> None:
    uploads = client.app.state.desk.uploads  # type: ignore[attr-defined]
    before = set(uploads.folder.iterdir())
    form = {"compromised": "4", "which": "some", "attacks": ["linkage", "presence"]}
    refused = client.post("/s/two/attack", data=form)
    assert refused.status_code == 400 and "choose the raw views below" in refused.text
    few = client.post("/s/two/attack", data=form, files=files(1))
    assert few.status_code == 400 and "2 releases, 1 views" in few.text
    started = client.post("/s/two/attack", data=form, files=files(1, 2))
    job = started.headers["location"].rpartition("/")[2]
    assert ended(client, {"id": job})["state"] == "done"
    for text in (client.get(f"/s/two/jobs/{job}").text, client.get("/s/two/attack").text):
        assert "Rows and presence" in text and "shown present" in text and "median batches" in text
    found = client.get("/api/series/two").json()["assessments"][-1]
    assert [len(after) for after in found["identities"].values()] == [2, 2]
    assert not found["found"]
    assert set(uploads.folder.iterdir()) == before  # raw views are gone


def test_a_gate_that_looks_people_up_is_given_the_earlier_views(tmp_path: Path) -> None:
    series = Series.create(
        tmp_path / "gated", SCHEMA, TauSafety(m=3), form=TwoTables(k=5), gate=Gate(max_alone=0.9)
    )
    series.publish(view(1), as_of="2026-01-02")
    series.ledger.close()
    with desk(tmp_path) as client:
        taken = upload(client, csv(2))
        assert "The raw views of all earlier releases" in client.get(f"/s/gated/publish/{taken}").text
        path = f"/s/gated/publish/{taken}"
        form = {"as_of": "2026-02-01"}
        without = client.post(f"{path}/dry-run", data=form).headers["location"].rpartition("/")[2]
        assert "and there are 1" in ended(client, {"id": without})["message"]
        trial = (
            client.post(f"{path}/dry-run", data=form, files=files(1)).headers["location"].rpartition("/")[2]
        )
        head = ended(client, {"id": trial})["result"]["head"]
        done = client.post(f"{path}/confirm", data={"trial": trial, "head": head})
        job = done.headers["location"].rpartition("/")[2]
        assert ended(client, {"id": job})["state"] == "done"
        assert "share of people whose rows lead to them alone" in client.get("/s/gated/r/2").text


def test_one_table_has_no_batches(client: TestClient, tmp_path: Path) -> None:
    from desk_client import make_series

    make_series(tmp_path / "one")
    with desk(tmp_path) as other:
        assert other.get("/api/series/one/releases/1/batches").status_code == 404
        assert "The batches of values" not in other.get("/s/one/r/1").text
