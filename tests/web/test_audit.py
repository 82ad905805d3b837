from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import pytest

from desk_client import TOKEN, csv, desk, ended, make_series, published, upload, values_in
from republish import Gate, LedgerError, Series
from republish.web import audit


def outcomes(root: Path) -> list[tuple[str, str]]:
    """Every line but those of logins."""
    return [(line["action"], line["outcome"]) for line in audit.lines(root) if line["action"] != "login"]


def test_every_action_is_a_line_without_values(tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 0)
    with desk(tmp_path) as client:
        found = upload(client, csv(1))
        client.post("/api/series/visits/check", json={"upload": found})
        ended(client, client.post("/api/series/visits/dry-run", json={"upload": found}).json())
        ended(client, client.post("/api/series/visits/publish", json={"upload": found}).json())
        published(client, "visits", b"patient,age\nsecret-person-1,2\n")
        ended(client, client.post("/api/series/visits/attack", json={"attacks": ["tau"]}).json())
        client.get("/api/series/visits/releases/1/table.csv")
        client.get("/api/series/visits/report", params={"format": "json"})
        shown = client.get("/api/series/visits/audit").json()
        assert client.get("/api/series").status_code == 200  # looking is no action
    assert outcomes(root) == [
        ("upload", "done"),
        ("check", "done"),
        ("dry-run", "started"),
        ("dry-run", "done"),
        ("publish", "started"),
        ("publish", "done"),
        ("upload", "done"),
        ("publish", "started"),
        ("publish", "failed"),
        ("attack", "started"),
        ("attack", "done"),
        ("download", "done"),
        ("report", "done"),
    ]
    assert shown == audit.lines(root)
    text = (root / "private" / "audit.log").read_text()
    assert not values_in(text)
    assert stat.S_IMODE((root / "private" / "audit.log").stat().st_mode) == 0o600
    lines = [json.loads(line) for line in text.splitlines()]
    assert (lines[0]["action"], lines[0]["how"]) == ("login", "address")
    assert lines[1]["digest"] == hashlib.sha256(csv(1)).hexdigest()
    assert lines[2]["rows"] == 90
    done, failed = (one for one in lines if one["action"] == "publish" and one["outcome"] != "started")
    assert (done["rows"], done["release"]) == (90, 1)
    assert failed["kind"] in ("SchemaError", "ViewError")
    assert Series.open(root).verify().holds  # the log is no part of what is verified


def test_a_refusal_of_the_gate_is_a_line(tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 0, Gate(max_mean_confidence=0.1, attacks=("linear",)))
    with desk(root) as client:
        published(client, "visits", csv(1))
    assert outcomes(root) == [("upload", "done"), ("publish", "started"), ("publish", "refused")]


def test_a_new_series_begins_its_log(tmp_path: Path) -> None:
    with desk(tmp_path) as client:
        found = upload(client, csv(1))
        roles = client.post("/api/propose", json={"upload": found}).json()["columns"]
        body = {"name": "new", "upload": found, "roles": roles, "publisher": "tau-safety"}
        assert client.post("/api/series", json=body).status_code == 201
    assert outcomes(tmp_path / "new") == [("upload", "done"), ("create", "done")]


def test_a_login_by_form_is_a_line_and_a_wrong_one_is_none(tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 0)
    with desk(tmp_path, log_in=False) as client:
        client.post("/login", data={"token": "wrong"})
        assert audit.lines(root) == []
        client.post("/login", data={"token": TOKEN})
        (line,) = audit.lines(root)
    assert (line["action"], line["outcome"], line["how"]) == ("login", "done", "form")
    assert TOKEN not in (root / "private" / "audit.log").read_text()


def test_what_cannot_be_written_down_is_not_done(tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 1)
    (root / "private" / "audit.log").symlink_to(tmp_path / "elsewhere")
    with desk(tmp_path) as client:
        body = {"upload": upload(client, csv(2))}
        answer = client.post("/api/series/visits/publish", json=body)
        assert answer.status_code == 409
        assert "audit log" in answer.json()["error"]["message"]
        assert client.get("/api/jobs").json() == []
        assert client.get("/api/series/visits/releases/1/table.csv").status_code == 409
    assert not (tmp_path / "elsewhere").exists()
    assert len(Series.open(root).records) == 1


def test_broken_lines_are_passed_over(tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 0)
    audit.note(root, "publish", "started", job="1", releases=0, nothing=None)
    with (root / "private" / "audit.log").open("a") as file:
        file.write('{"action": "publish"}\n[1]\n{"act')
    assert audit.lines(root) == [audit.unfinished(root)]
    assert "nothing" not in audit.lines(root)[0]


@pytest.mark.parametrize("end", ["done", "refused", "failed", "interrupted"])
def test_a_publish_with_an_end_is_finished(tmp_path: Path, end: str) -> None:
    root = make_series(tmp_path / "visits", 0)
    assert audit.unfinished(root) is None
    audit.note(root, "publish", "started", job="1")
    audit.note(root, "publish", "started", job="2")
    audit.note(root, "publish", end, job="2")
    assert (audit.unfinished(root) or {}).get("job") == "1"
    audit.note(root, "publish", end, job="1")
    assert audit.unfinished(root) is None


def test_a_folder_without_a_private_part_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="audit log"):
        audit.note(tmp_path, "publish", "started")
