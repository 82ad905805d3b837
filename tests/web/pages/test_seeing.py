"""What a person at the desk sees first: published rows, margins, the worst figure, and colours by limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from desk_client import ROLES, TestClient, csv, desk, ended, make_series, upload
from republish import Gate
from republish.web.pages.new_series import SITUATIONS
from republish.web.plain_words import plain


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("seeing")
    make_series(folder / "open", releases=2)
    make_series(folder / "gated", gate=Gate(max_determined=0.9, attacks=("tau",)))
    with desk(folder) as found:
        yield found


def tried(client: TestClient, name: str, week: int) -> str:
    """The page of a trial run."""
    started = client.post(f"/s/{name}/publish/{upload(client, csv(week))}/dry-run", data={"as_of": ""})
    address = started.headers["location"]
    assert ended(client, {"id": address.rpartition("/")[2]})["state"] == "done"
    return str(client.get(address).text)


def test_a_trial_run_shows_rows_margins_and_the_change(client: TestClient) -> None:
    page = tried(client, "open", 3)
    assert "First rows of the table" in page
    assert "Margins of diagnosis" in page
    assert "Every value has the same share in the release as in your file." in page
    assert "Beside the last release" in page and "Error of a count" in page
    assert "secret-person" not in page


def test_without_a_gate_a_trial_run_is_not_green(client: TestClient) -> None:
    assert '<div class="note"><h2>This release can be published' in tried(client, "open", 3)
    assert '<div class="note good"><h2>This release can be published' in tried(client, "gated", 2)


def test_an_attack_that_finds_people_stands_under_red(client: TestClient) -> None:
    asked = {"adversary": {"compromised": 0.9}, "attacks": ["tau", "compromised"]}
    job = client.post("/api/series/open/attack", json=asked).json()
    found = ended(client, job)["result"]["found"]["compromised"][-1]
    assert found["determined"] > 0
    page = client.get(f"/s/open/jobs/{job['id']}").text
    assert '<div class="note bad"><h2>The attack is finished: it finds people out' in page
    assert 'class="note good"' not in page
    series = client.get("/s/open").text
    tile = re.search(r'<dl class="figures">\s*<div class="(\w*)"><dt>([^<]*)', series)
    assert tile is not None and tile.groups() == ("bad", "Determined by compromised")
    assert re.search(r'<span class="chip bad">[\d.]+\xa0% by compromised', client.get("/").text)
    assert '"slot": 3' in series  # the colour of that attack, in every chart


def test_a_series_that_was_not_attacked_has_no_green_figure(client: TestClient) -> None:
    page = client.get("/s/gated").text
    assert "no attack since the last release" in page and "not measured" in client.get("/").text


def test_requirements_are_said_where_it_is_said_how_it_is_published(client: TestClient) -> None:
    assert "<strong>Required:</strong> every group satisfies m-unique=3." in client.get("/s/open").text


def test_methods_are_chosen_by_situation(client: TestClient) -> None:
    page = client.get(f"/new/{upload(client, csv())}").text
    parts = page.split('<details class="situation"')[1:]
    assert [re.search("<summary>([^<]*)", part)[1] for part in parts] == list(SITUATIONS.values())  # type: ignore[index]
    firsts = [re.search('value="([^"]*)"', part)[1] for part in parts]  # type: ignore[index]
    assert firsts[:3] == ["value-blind", "tau-safety", "bayframe"]
    assert len(set(re.findall('name="publisher" value="([^"]*)"', page))) == 12


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("view.csv: two columns have the same name", "the file: two columns have the same name"),
        ("view.parquet is empty", "the file is empty"),
        ("l needs a column; label one in the schema", "l needs a column; choose that role for a column"),
        (
            "the schema names columns that the table does not have: age",
            "the file lacks columns of this series: age",
        ),
        (
            "3 values lie outside the domain of the schema; start a series whose schema has a wider one",
            "3 values lie outside the domain of the series; start a series that has a wider one",
        ),
        (
            "1 of 9 are not. Correct them, or list the texts that mean missing in the schema: missing = [...]",
            "1 of 9 are not. Correct them",
        ),
    ],
)
def test_the_desk_speaks_of_the_file_and_of_no_schema(said: str, shown: str) -> None:
    assert plain(said) == shown


def test_a_port_that_is_taken_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from republish.web import app

    monkeypatch.setattr("uvicorn.Server.run", lambda _, sockets: [one.close() for one in sockets])
    (tmp_path / "desk").mkdir()
    with app.free_socket("127.0.0.1", 0) as taken:
        port, said = taken.getsockname()[1], list[str]()
        app.serve([tmp_path / "desk"], port=port, say=said.append)
    (note,) = [line for line in said if line.startswith("note: port")]
    assert re.fullmatch(rf"note: port {port} is taken by another program, so the desk listens at \d+", note)


def test_a_new_series_may_say_who_answers_for_it(client: TestClient) -> None:
    taken = upload(client, csv())
    assert 'for="report-legal_basis">Legal basis</label>' in client.get(f"/new/{taken}").text
    columns = {key: [one[key] or "category" for one in ROLES] for key in ("name", "role", "kind")}
    form = {"name": "said", "publisher": "tau-safety", "tau-safety.m": "3", "report.title": "Visits by ward"}
    made = client.post(
        f"/new/{taken}",
        data={**form, "column": columns["name"], "role": columns["role"], "kind": columns["kind"]},
    )
    assert made.status_code == 303, made.text
    assert client.get("/api/series/said").json()["signing"] == {"title": "Visits by ward"}
    assert "<h1>Visits by ward</h1>" in client.get("/s/said/report").text
