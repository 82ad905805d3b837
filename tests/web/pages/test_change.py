"""The page that changes a series: its gate, with a reason where it becomes looser, and what its report says."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import pytest

from desk_client import SCHEMA, TestClient, csv, desk, make_series, values_in
from republish import Gate, Series, ValueBlind
from republish.release.forms import TwoTables

LIMITS = Gate(attacks=("tau",), max_determined=0.1, compromised=0.04)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_series(tmp_path / "visits", 2, LIMITS)


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    with desk(root) as made:
        yield made


def sent(client: TestClient, status: int = 200, **fields: str) -> str:
    """What the page says to a form."""
    answer = client.post("/s/visits/change", data=fields)
    assert answer.status_code == status, answer.text
    return html.unescape(answer.text)


def gate_of(root: Path) -> Gate | None:
    series = Series.open(root)
    try:
        return series.gate
    finally:
        series.ledger.close()


def test_the_page_shows_what_is_in_force_and_is_a_tab_of_the_series(client: TestClient) -> None:
    text = client.get("/s/visits/change").text
    assert '<a href="/s/visits/change" aria-current="page">Change</a>' in text
    assert 'id="max_determined" name="max_determined" min="0" max="100" step="any" value="10"' in text
    assert 'id="compromised" name="compromised" min="0" max="99.9" step="any" value="4"' in text
    assert '<a href="/s/visits/change">Change</a>' in client.get("/s/visits").text


def test_a_tighter_gate_needs_no_reason(client: TestClient, root: Path) -> None:
    text = sent(client, what="gate", gate="limits", max_determined="5", compromised="4")
    assert "The gate was tightened: tau with 4.0% of people compromised; max_determined=0.05" in text
    gate = gate_of(root)
    assert gate is not None and gate.max_determined == 0.05
    line = client.get("/api/series/visits/audit").json()[-1]
    assert (line["action"], line["outcome"], line["what"]) == ("amend", "done", "gate")


def test_a_looser_gate_needs_one_and_what_was_typed_is_not_lost(client: TestClient, root: Path) -> None:
    text = sent(client, 400, what="gate", gate="limits", max_determined="20", compromised="4")
    assert "The gate would be looser than before, which needs a reason" in text and 'value="20"' in text
    assert "--reason" not in text
    assert gate_of(root) == LIMITS
    text = sent(client, what="gate", gate="limits", max_determined="20", reason="a town <closed>")
    assert "Reason: a town <closed>" in text  # escaped on the page
    assert (
        "<closed>"
        not in client.post(
            "/s/visits/change",
            data={"what": "gate", "gate": "limits", "max_determined": "30", "reason": "a <closed>"},
        ).text
    )
    gate = gate_of(root)
    assert gate is not None and gate.max_determined == 0.3


def test_the_gate_may_be_taken_away_and_the_recommended_one_set(client: TestClient, root: Path) -> None:
    text = sent(client, what="gate", gate="none", reason="the data are public now")
    assert "there is none any more. Reason: the data are public now" in text
    assert gate_of(root) is None
    text = sent(client, what="gate", gate="recommended")
    assert "The gate was tightened: linear with 4.0% of people compromised" in text
    gate = gate_of(root)
    assert gate is not None and gate.attacks == ("linear",)
    series = client.get("/s/visits").text
    assert "No gate." not in series


def test_past_files_are_tried_before_there_are_releases_and_erased(tmp_path: Path) -> None:
    root = tmp_path / "young"
    Series.create(root, SCHEMA, ValueBlind(size=60, m=2), seed=1, form=TwoTables()).ledger.close()
    with desk(root) as client:
        files = [("views", (f"{week}.csv", csv(week, 300), "text/csv")) for week in (1, 2)]
        answer = client.post("/s/young/change", data={"what": "gate", "gate": "recommended"}, files=files)
        assert answer.status_code == 200, answer.text
        assert "The gate was tightened: linear with 4.0% of people compromised" in answer.text
        assert values_in(answer.text) == []
        held = client.app.state.desk.uploads.folder  # type: ignore[attr-defined]
        assert [one.name for one in held.iterdir()] == [".held"]
        none = client.post("/s/young/change", data={"what": "gate", "gate": "recommended"})
        assert none.status_code == 400
        assert "there are 0 releases and no view" in none.text and "--from" not in none.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gate": "limits"}, "Say what share of people may be determined at most"),
        ({"gate": "limits", "max_determined": "200"}, "must be a number from 0 to 100 percent"),
        ({"gate": "limits", "max_determined": "10", "compromised": "4"}, "the gate is so already"),
    ],
)
def test_what_cannot_be_is_refused_on_the_page(
    client: TestClient, root: Path, fields: dict[str, str], message: str
) -> None:
    assert message.lower() in sent(client, 400, what="gate", **fields).lower()
    assert gate_of(root) == LIMITS


def test_what_the_report_says_is_kept_and_shown(client: TestClient, root: Path) -> None:
    toml = root / "series.toml"
    toml.write_text("# ours\n" + toml.read_text())
    text = sent(client, what="report", **{"report.title": "Visits <b>", "report.purpose": "Research"})
    assert "What the report says is kept" in text
    assert "Visits <b>" in client.get("/api/series/visits/report?format=json").json()["title"]
    assert "Visits <b>" not in client.get("/s/visits/change").text
    assert toml.read_text().startswith("# ours\n")
    assert Series.open(root).verify().holds


def test_nothing_is_changed_without_the_token_of_the_form(client: TestClient, root: Path) -> None:
    del client.headers["X-CSRF-Token"]
    answer = client.post("/s/visits/change", data={"what": "gate", "gate": "none", "reason": "x"})
    assert answer.status_code == 403
    assert gate_of(root) == LIMITS


def test_there_is_nothing_to_change_of_a_series_that_is_not_there(client: TestClient) -> None:
    assert client.get("/s/nobody/change").status_code == 404
    assert client.post("/s/nobody/change", data={"what": "report"}).status_code == 404
