from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from desk_client import TestClient, csv, desk, ended, make_series, published, upload, values_in, view
from republish import Gate, Series
from republish.ledger import crash_points
from republish.web.jobs.jobs import Job
from republish.web.jobs.worker import outcome_of


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("desk")
    make_series(folder / "visits", 2)
    with desk(folder) as client:
        yield client


def test_all_series_are_listed(client: TestClient) -> None:
    found = client.get("/api/series").json()
    one = next(one for one in found["series"] if one["name"] == "visits")
    assert one["publisher"]["name"] == "tau-safety"
    assert found["can_create"] is True


def test_one_series_has_columns_promises_and_releases(client: TestClient) -> None:
    found = client.get("/api/series/visits").json()
    assert [column["role"] for column in found["columns"]] == [
        "identifier",
        "quasi-identifier",
        "quasi-identifier",
        "sensitive",
    ]
    assert found["releases"][0]["rows"] == 90
    assert found["notices"] == []
    assert "root" not in found
    assert "seed" not in json.dumps(found)


def test_a_release_and_its_picture(client: TestClient) -> None:
    assert client.get("/api/series/visits/releases/2").json()["number"] == 2
    found = client.get("/api/series/visits/releases/2/picture", params={"x": "ward", "y": "age"}).json()
    assert found["axes"] == ["ward", "age"]
    assert sum(groups for _, groups in found["histogram"]) == found["groups"] == len(found["boxes"])
    assert sum(box[4] for box in found["boxes"]) == found["rows"]
    assert all(box[0] < box[1] and box[2] < box[3] for box in found["boxes"])
    assert not values_in(json.dumps(found))


@pytest.mark.parametrize("query", [{"x": "age"}, {"x": "age", "y": "age"}, {"x": "age", "y": "patient"}])
def test_a_picture_needs_two_quasi_identifiers(client: TestClient, query: dict[str, str]) -> None:
    answer = client.get("/api/series/visits/releases/1/picture", params=query)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


def test_files_of_a_release_are_downloaded_as_they_lie_there(client: TestClient) -> None:
    folder = client.app.state.desk.path("visits") / "releases" / "0001"  # type: ignore[attr-defined]
    for file in ("table.csv", "table.parquet", "about.json"):
        answer = client.get(f"/api/series/visits/releases/1/{file}")
        assert answer.status_code == 200
        assert answer.content == (folder / file).read_bytes()
        assert "attachment" in answer.headers["content-disposition"]
    assert client.get("/api/series/visits/releases/1/counterfeits.csv").status_code == 404


@pytest.mark.parametrize("form, start", [("html", "<!doctype html>"), ("md", "#"), ("json", "{")])
def test_the_report_comes_in_three_forms(client: TestClient, form: str, start: str) -> None:
    answer = client.get("/api/series/visits/report", params={"format": form})
    assert answer.status_code == 200
    assert answer.text.startswith(start)
    assert not values_in(answer.text)


def test_publishers_come_with_their_parameters(client: TestClient) -> None:
    found = {one["name"]: one for one in client.get("/api/publishers").json()}
    assert found["m-invariance"]["protects_series"] is True
    assert "k" in [one["name"] for one in found["mondrian"]["parameters"]]


@pytest.mark.parametrize(
    "path",
    [
        "/api/series/nobody",
        "/api/series/visits/releases/9",
        "/api/series/visits/releases/9/table.csv",
        "/api/series/visits/releases/9/picture",
        "/api/series/visits/releases/1/secret.key",
        "/api/jobs/none",
        "/api/nothing",
    ],
)
def test_what_is_not_there_is_said_in_the_one_shape(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert set(answer.json()["error"]) <= {"kind", "message", "remedy"}


def test_a_wrong_body_is_said_without_repeating_it(client: TestClient) -> None:
    answer = client.post("/api/series/visits/publish", json={"upload": "secret-person-1", "more": 1})
    assert answer.status_code == 422
    assert answer.json()["error"]["kind"] == "Invalid"
    assert "secret-person" not in answer.text


def test_a_fault_of_the_desk_is_500_in_the_same_shape(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise ValueError("secret-person-1 has illness2")

    monkeypatch.setattr(client.app.state.desk, "one", fail)  # type: ignore[attr-defined]
    answer = client.get("/api/series/visits")
    assert answer.status_code == 500
    assert answer.json()["error"]["kind"] == "Unforeseen"
    assert "Traceback" not in answer.text
    assert not values_in(answer.text)


def test_the_description_names_every_action_and_the_bearer(client: TestClient) -> None:
    found = client.get("/api/openapi.json").json()
    assert "/api/series/{name}/publish" in found["paths"]
    assert all(path.startswith("/api") for path in found["paths"])
    assert found["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert client.get("/docs").status_code == 404


def test_every_path_is_in_the_guide(client: TestClient) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "desk-api.md").read_text(encoding="utf-8")
    for path in client.get("/api/openapi.json").json()["paths"]:
        assert f"{path}`" in guide, path


def test_a_person_makes_a_series_and_publishes_two_views(client: TestClient) -> None:
    first = upload(client, csv(1))
    proposed = client.post("/api/propose", json={"upload": first}).json()
    roles = {column["name"]: column["role"] for column in proposed["columns"]}
    assert roles["patient"] == "identifier"
    assert roles["diagnosis"] == "sensitive"
    body = {
        "name": "made here",
        "upload": first,
        "roles": proposed["columns"],
        "publisher": "m-invariance",
        "parameters": {"m": "3"},
    }
    made = client.post("/api/series", json=body)
    assert made.status_code == 201, made.text
    assert made.json()["publisher"]["parameters"]["m"] == 3
    assert client.post("/api/series", json=body).status_code == 409
    checked = client.post("/api/series/made here/check", json={"upload": first}).json()
    assert checked["fits"] is True
    assert checked["rows"] == 90
    done = ended(client, client.post("/api/series/made here/publish", json={"upload": first}).json())
    assert done["state"] == "done", done
    assert done["message"] == "release 1 is published"
    assert published(client, "made here", csv(2))["result"]["release"] == 2
    table = client.get("/api/series/made here/releases/2/table.csv").content
    assert (
        pl.read_csv(table).height
        == 90 + client.get("/api/series/made here/releases/2").json()["counterfeits"]
    )


def test_a_check_names_missing_columns_and_counts_others(client: TestClient) -> None:
    table = pl.read_csv(csv(1)).rename({"age": "years"})
    found = client.post(
        "/api/series/visits/check", json={"upload": upload(client, table.write_csv().encode())}
    ).json()
    assert found["missing"] == ["age"]
    assert found["others"] == 1
    assert found["found"] == ["patient", "ward", "diagnosis"]
    assert found["fits"] is False
    assert "1 other column" in found["problems"][0]
    assert "needs age" in found["problems"][0]
    assert "years" not in json.dumps(found)
    assert not values_in(json.dumps(found))


def test_the_first_cells_of_a_file_without_a_header_are_never_shown(client: TestClient) -> None:
    rows = csv(1).split(b"\n", 1)[1]
    for data in (rows, b"age," + rows.split(b",", 1)[1]):  # also where one cell reads like a column
        found = upload(client, data)
        answer = client.post("/api/series/visits/check", json={"upload": found})
        assert answer.status_code == 200
        assert answer.json()["fits"] is False
        assert not values_in(answer.text)
        done = ended(client, client.post("/api/series/visits/dry-run", json={"upload": found}).json())
        assert done["state"] == "failed"
        assert not values_in(json.dumps(done))
        assert not values_in(client.get(f"/s/visits/publish/{found}").text)
    answer = client.post("/api/series/visits/check", json={"upload": upload(client, rows)})
    (words,) = answer.json()["problems"]
    assert "none of the expected columns is there; does the file have a header line?" in words
    assert (answer.json()["others"], answer.json()["found"]) == (4, [])


def test_a_trial_run_binds_what_is_confirmed(tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 1)
    with desk(tmp_path) as client:
        found = upload(client, csv(2))
        body = {"upload": found}
        tried = ended(client, client.post("/api/series/visits/dry-run", json=body).json())["result"]
        assert tried["head"] == Series.open(root).ledger.head.digest
        assert tried["upload_digest"] == hashlib.sha256(csv(2)).hexdigest()
        assert tried["committed"] is False
        Series.open(root).publish(view(3))
        answer = client.post("/api/series/visits/publish", json=body | {"expected_head": tried["head"]})
        assert answer.status_code == 409
        assert answer.json()["error"]["message"] == "the series has changed since the trial run; run it again"
        assert client.post("/api/series/visits/publish", json=body | {"expected_head": ""}).status_code == 409
        again = ended(client, client.post("/api/series/visits/dry-run", json=body).json())["result"]
        answer = client.post("/api/series/visits/publish", json=body | {"expected_head": again["head"]})
        done = ended(client, answer.json())
        assert done["result"]["release"] == 3
        assert done["result"]["committed"] is True


def test_a_change_after_the_confirmation_is_seen_under_the_lock(tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 1)
    head = Series.open(root).ledger.head.digest
    Series.open(root).publish(view(2))
    file = tmp_path / "week.csv"
    file.write_bytes(csv(3))
    task = {"kind": "publish", "root": str(root), "view": str(file), "as_of": None, "expected_head": head}
    found = outcome_of(task, lambda _: None)
    assert found["kind"] == "Changed"
    assert "run it again" in found["failed"]
    assert len(Series.open(root).records) == 2


def test_a_publish_that_fails_after_its_commit_is_told_as_done(tmp_path: Path) -> None:
    make_series(tmp_path / "visits", 1)
    with desk(tmp_path) as client:
        desk_itself = client.app.state.desk  # type: ignore[attr-defined]
        ended_job = Job(
            "publish", "visits", state="failed", step="committing", message="the disk is full", before=0
        )
        desk_itself._published(ended_job, 0)
        assert ended_job.state == "done"
        assert ended_job.message == "release 1 was committed; afterwards: the disk is full"
        assert ended_job.result == {"committed": True, "release": 1, "number": 1}
        for step, before in (("grouping", 0), ("committing", 1)):  # another's release; none at all
            other = Job("publish", "visits", state="failed", step=step, message="no", before=before)
            desk_itself._published(other, 0)
            assert (other.state, other.result) == ("failed", {"committed": False})


@pytest.mark.parametrize("path", ["/s/visits/r/", "/api/series/visits/releases/"])
def test_a_number_of_5000_digits_is_no_release(client: TestClient, path: str) -> None:
    assert client.get(path + "1" * 5000).status_code in (404, 422)
    assert client.get(path + "1" * 1000).status_code in (404, 422)


def test_text_that_cannot_be_written_is_answered_all_the_same(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    bodies = {
        "/api/series/visits/attack": b'{"adversary": {"\\ud800": 1}}',
        "/api/series/visits/publish": b'{"upload": "\\ud800", "\\udfff": 1}',
        "/api/series": b'{"name": "\\ud800", "upload": "", "roles": [], "publisher": "\\ud800"}',
    }
    for path, body in bodies.items():
        answer = client.post(path, content=body, headers=headers)
        assert 400 <= answer.status_code < 500, path
        assert set(answer.json()) == {"error"}


@pytest.mark.parametrize("seed", [-1, 2**63, 10**30])
def test_a_seed_has_63_bits(client: TestClient, seed: int) -> None:
    answer = client.post("/api/series/visits/attack", json={"adversary": {"seed": seed}})
    assert answer.status_code == 422
    assert "seed" in answer.json()["error"]["message"]


def test_repeated_people_are_a_problem_in_words(client: TestClient) -> None:
    table = pl.read_csv(csv(1))
    twice = pl.concat([table, table.head(3)]).write_csv().encode()
    found = client.post("/api/series/visits/check", json={"upload": upload(client, twice)}).json()
    assert "3 rows repeat an identifier" in found["problems"][0]


def test_a_wrong_date_is_refused_before_a_job_begins(client: TestClient) -> None:
    body = {"upload": upload(client, csv(3)), "as_of": "yesterday"}
    assert client.post("/api/series/visits/publish", json=body).status_code == 400


def test_an_attack_is_kept_beside_the_series(client: TestClient) -> None:
    body = {"adversary": {"compromised": 0.1, "seed": 1}, "attacks": ["tau", "linear"]}
    done = ended(client, client.post("/api/series/visits/attack", json=body).json())
    assert done["state"] == "done", done
    assert done["done"] == done["of"] == 4
    found = client.get("/api/series/visits").json()["assessments"][-1]
    assert found["adversary"]["compromised"] == 0.1
    assert [one["people"] > 0 for one in found["found"]["linear"]] == [True, True]


@pytest.mark.parametrize(
    "body",
    [
        {"attacks": ["beliefs"]},
        {"attacks": ["nothing"]},
        {"attacks": []},
        {"adversary": {"compromised": 2}},
        {"adversary": {"compromised": "all"}},
        {"adversary": {"people": 3}},
        {"adversary": {"seed": True}},
    ],
)
def test_an_attack_that_cannot_be_made_is_refused_at_once(
    client: TestClient, body: dict[str, object]
) -> None:
    answer = client.post("/api/series/visits/attack", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["kind"] == "PolicyError"


def test_a_gate_refuses_in_its_own_words(tmp_path: Path) -> None:
    gate = Gate(max_mean_confidence=0.1, attacks=("linear",))
    make_series(tmp_path / "strict", 0, gate)
    with desk(tmp_path / "strict") as client:
        body = {"upload": upload(client, csv(1))}
        tried = ended(client, client.post("/api/series/strict/dry-run", json=body).json())
        assert tried["state"] == "refused"
        assert "max_mean_confidence" in tried["message"]
        assert tried["result"]["gate"]["passed"] is False
        done = ended(client, client.post("/api/series/strict/publish", json=body).json())
        assert done["state"] == "refused"
        assert done["problem"] == "LimitBroken"
        assert "max_mean_confidence" in done["message"]
        assert client.get("/api/series/strict").json()["releases"] == []
    assert not Series.open(tmp_path / "strict").records


@pytest.mark.parametrize("point, releases", [("before-commit", 1), ("after-commit", 2)])
def test_a_worker_that_is_killed_leaves_words_and_a_whole_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, releases: int
) -> None:
    make_series(tmp_path / "visits", 1)
    with desk(tmp_path) as client:
        monkeypatch.setenv(crash_points.VARIABLE, point)
        done = published(client, "visits", csv(2))
        assert done["problem"] == "Stopped"
        if releases == 1:
            assert done["state"] == "failed"
            assert "there are 1, 1 before" in done["message"]
        else:
            assert done["state"] == "done"
            assert done["result"]["committed"] is True
            assert "release 2 was committed" in done["message"]
        monkeypatch.delenv(crash_points.VARIABLE)
        assert len(client.get("/api/series/visits").json()["releases"]) == releases
        assert published(client, "visits", csv(3))["result"]["release"] == releases + 1
    assert Series.open(tmp_path / "visits").verify().holds


@pytest.mark.parametrize("meant", ["fewer-rows", "new-people"])
def test_an_implausible_view_is_refused_until_it_is_meant(tmp_path: Path, meant: str) -> None:
    odd = (
        view(1).clear()
        if meant == "fewer-rows"
        else view(1).with_columns(pl.concat_str(pl.lit("0"), "patient").alias("patient"))
    )
    with desk(make_series(tmp_path / "visits")) as client:
        body: dict[str, Any] = {"upload": upload(client, odd.write_csv().encode())}
        tried = ended(client, client.post("/api/series/visits/dry-run", json=body).json())
        assert (tried["state"], tried["problem"]) == ("refused", "Implausible")
        assert f"--{meant}" in tried["message"]
        body["meant"] = [meant]
        again = ended(client, client.post("/api/series/visits/dry-run", json=body).json())
        assert (again["state"], again["result"]["meant"]) == ("done", [meant])
        done = ended(client, client.post("/api/series/visits/publish", json=body).json())
        assert (done["state"], done["result"]["meant"]) == ("done", [meant])
        assert client.post("/api/series/visits/dry-run", json=body | {"meant": ["x"]}).status_code == 422


def test_what_is_not_expected_is_refused_until_a_reason_is_given(tmp_path: Path) -> None:
    last = view(1)
    many = pl.concat(
        [last.with_columns(pl.concat_str(pl.lit(f"{i}-"), "patient").alias("patient")) for i in range(5)]
    )
    series = make_series(tmp_path / "visits")
    Series.open(tmp_path / "visits").publish(many, meant=["new-people"])
    number = next(name for name, kind in last.schema.items() if kind.is_numeric())
    other = many.with_columns(pl.col(number) * 10)
    with desk(series) as client:
        body: dict[str, Any] = {"upload": upload(client, other.write_csv().encode())}
        tried = ended(client, client.post("/api/series/visits/dry-run", json=body).json())
        assert (tried["state"], tried["problem"]) == ("refused", "Implausible")
        assert "--expect-anyway" in tried["message"]
        body["expect_anyway"] = "another scale"
        done = ended(client, client.post("/api/series/visits/publish", json=body).json())
        assert (done["state"], done["result"]["expect_anyway"]) == ("done", "another scale")
        assert done["result"]["findings"][0]["check"] == "units"


def test_a_fault_claims_nothing_that_was_not_checked(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    panic = type("PanicException", (BaseException,), {})

    def fail(_: str) -> None:
        raise panic("secret-person-1")

    monkeypatch.setattr(client.app.state.desk, "one", fail)  # type: ignore[attr-defined]
    answer = client.get("/api/series/visits")
    error = answer.json()["error"]
    assert (answer.status_code, error["kind"]) == (500, "Unforeseen")
    assert "secret-person" not in answer.text and "intact" not in error["message"]


def test_the_last_release_is_corrected_and_one_is_withdrawn(tmp_path: Path) -> None:
    with desk(make_series(tmp_path / "visits", 2)) as client:
        for number, status in ((1, 400), (2, 202)):
            body = {"upload": upload(client, csv(3)), "corrects": number}
            answer = client.post("/api/series/visits/publish", json=body)
            assert answer.status_code == status, answer.text
        assert ended(client, answer.json())["state"] == "done"
        where = "/api/series/visits/releases"
        assert [client.get(f"{where}/{n}").json()["withdrawn"] for n in (1, 2, 3)] == [False, True, False]
        assert client.post(f"{where}/1/withdraw", json={"reason": ""}).status_code == 422
        assert client.post(f"{where}/1/withdraw", json={"reason": "a slip"}).json()["withdrawn"] is True
        assert client.post(f"{where}/1/withdraw", json={"reason": "a slip"}).status_code == 400
        assert client.post(f"{where}/9/withdraw", json={"reason": "a slip"}).status_code == 404


def test_newcomers_wait_where_that_is_asked_for(tmp_path: Path) -> None:
    with desk(make_series(tmp_path / "visits", 1)) as client:
        done = published(client, "visits", csv(2), hold_newcomers=True)
        assert (done["state"], done["result"]["waiting"], done["result"]["arrivals"]["new"]) == (
            "done",
            10,
            0,
        )
