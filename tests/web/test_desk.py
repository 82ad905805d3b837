from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

from desk_client import ROLES, SCHEMA, csv, make_series, take
from messy import german_view
from republish import PolicyError, RepublishError, SchemaError
from republish.cli.serve import size_of
from republish.web import Busy, DeskError, NotFound
from republish.web.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    make_series(tmp_path / "desk" / "visits", 2)
    made = Desk([tmp_path / "desk"], uploads_in=tmp_path)
    yield made
    made.close()


def test_a_series_is_made_in_the_first_folder_of_several(desk: Desk, tmp_path: Path) -> None:
    upload = take(desk, csv())
    found = desk.create(
        "new one", upload, ROLES, "m-invariance", {"m": "3"}, "max_determined=0.5,compromised=0.1", "k=3"
    )
    assert found.gate is not None
    assert found.publisher["parameters"]["m"] == 3
    assert (tmp_path / "desk" / "new one" / "series.toml").is_file()
    by_name = {column["name"]: {"role": column["role"], "kind": column["kind"]} for column in ROLES}
    assert desk.create("another", upload, by_name, "tau-safety").columns == found.columns
    with pytest.raises(Busy, match="there already"):
        desk.create("another", upload, ROLES, "tau-safety")


def test_without_a_publisher_the_recommended_one_is_taken_and_it_is_said_why(desk: Desk) -> None:
    found = desk.create("new", take(desk, csv()), ROLES)
    assert found.publisher["name"] == "value-blind" and found.form is not None
    advice = desk.advice("new")
    assert advice is not None and advice["simulated"] and advice["why"] and advice["costs"]
    assert desk.advice("visits") is None


def test_answers_and_the_gate_that_was_tried_are_taken(desk: Desk) -> None:
    upload = take(desk, csv())
    found = desk.create("again", upload, ROLES, gate="recommended")
    advice = desk.advice("again")
    assert advice is not None and advice["compared"][0]["recommended"]
    assert found.gate is not None and found.gate["limits"] == {
        "max_determined": advice["gate"]["max_determined"]
    }
    once = desk.create("once", upload, ROLES, gate="recommended", answers={"again": "no"})
    assert (once.publisher["name"], once.gate, once.form) == ("mondrian", None, None)
    assert desk.create("usual", upload, ROLES).gate == found.gate
    assert desk.create("none", upload, ROLES, gate="none").gate is None and not desk.no_gate("none")
    with pytest.raises(PolicyError, match="there is no question colour"):
        desk.create("colour", upload, ROLES, answers={"colour": "yes"})


@pytest.mark.parametrize("publisher", [None, "value-blind"])
def test_where_no_gate_can_be_recommended_it_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, publisher: str | None
) -> None:
    monkeypatch.setattr(import_module("republish.tune.recommended_gate"), "determined", lambda *_: 0.2)
    assert desk.create("new", take(desk, csv()), ROLES, publisher, gate="recommended").gate is None
    assert desk.no_gate("new").startswith("no gate is recommended: 20.0% of the people are found out")


def test_the_gate_of_a_publisher_that_is_named_is_tried_on_the_views(desk: Desk) -> None:
    upload = take(desk, csv())
    assert desk.create("blind", upload, ROLES, "value-blind", gate="recommended").gate is not None
    assert desk.create("alone", upload, ROLES, "mondrian", gate="recommended").gate is None
    assert "no gate is recommended" in desk.no_gate("alone")


def test_value_blind_by_name_is_in_two_tables(desk: Desk) -> None:
    upload = take(desk, csv())
    assert desk.create("blind", upload, ROLES, "value-blind").form is not None
    assert desk.create("plain", upload, ROLES, "tau-safety").form is None


@pytest.mark.parametrize(
    "change, error",
    [
        ({"roles": ROLES[:-1]}, SchemaError),
        ({"roles": [*ROLES, ROLES[0]]}, SchemaError),
        ({"roles": [*ROLES[:-1], {"name": "diagnosis", "role": "private"}]}, SchemaError),
        (
            {"roles": [*ROLES[:-1], {"name": "diagnosis", "role": "sensitive", "kind": "ordered"}]},
            SchemaError,
        ),
        ({"publisher": "nobody"}, PolicyError),
        ({"parameters": {"q": 1}}, PolicyError),
        ({"gate": "max_determined=7"}, PolicyError),
        ({"gate": {"max_everything": 1}}, PolicyError),
        ({"require": "q=1"}, PolicyError),
        ({"name": "../x"}, DeskError),
        ({"upload": "0" * 32}, NotFound),
    ],
)
def test_what_does_not_fit_makes_no_series(
    desk: Desk, tmp_path: Path, change: dict[str, object], error: type[Exception]
) -> None:
    asked = {"name": "new", "upload": take(desk, csv()), "roles": ROLES, "publisher": "tau-safety"} | change
    with pytest.raises(error):
        desk.create(**asked)  # type: ignore[arg-type]
    assert [path.name for path in (tmp_path / "desk").iterdir()] == ["visits"]


def test_without_a_folder_of_several_no_series_can_be_made(tmp_path: Path) -> None:
    desk = Desk([make_series(tmp_path / "visits", 0)], uploads_in=tmp_path)
    try:
        assert desk.home is None
        with pytest.raises(DeskError, match="folder that holds several"):
            desk.create("new", take(desk, csv()), ROLES, "tau-safety")
    finally:
        desk.close()


def test_a_view_with_unknown_values_is_checked_against_the_series(desk: Desk) -> None:
    found = desk.check("visits", take(desk, b"patient,age,ward,diagnosis\nx1,old,ward1,illness1\n"))
    assert found["fits"] is False
    assert "age" in found["problems"][0]
    assert "old" not in found["problems"][0].split()
    assert found["missing"] == found["extra"] == []


def test_a_table_that_cannot_be_read_is_a_problem_in_words(desk: Desk) -> None:
    found = desk.check("visits", take(desk, b"patient,patient\n1,2\n"))
    assert "two columns have the same name" in found["problems"][0]
    assert found["rows"] == 0


@pytest.mark.parametrize("text, size", [("200MB", 200 * 2**20), ("1 kb", 1024), ("2GB", 2**31), ("77", 77)])
def test_sizes_are_read(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "0", "MB", "-1MB", "1.5MB", "many"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="--upload-limit"):
        size_of(text)


def test_the_command_refuses_other_machines_and_missing_folders(tmp_path: Path) -> None:
    make_series(tmp_path / "visits", 0)
    command = [sys.executable, "-m", "republish", "serve"]
    for arguments, words in (
        ([str(tmp_path), "--host", "0.0.0.0"], "--allow-remote"),
        ([str(tmp_path / "none")], "there is no folder"),
    ):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        assert words in done.stderr
        assert "token" not in done.stdout


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from republish.cli import serve

    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "fastapi" else object())
    with pytest.raises(PolicyError, match=r"fastapi.*pip install 'republish\[web\]'"):
        serve.serve([tmp_path])


def test_the_schema_of_these_tests_is_the_one_that_is_proposed(desk: Desk) -> None:
    found = desk.propose(take(desk, csv()))
    assert found["rows"] == 90
    assert [c["name"] for c in found["columns"]] == [*SCHEMA.columns]
    assert [c["role"] for c in found["columns"]] == [c["role"] for c in ROLES]


def test_a_stray_quote_in_the_header_shows_nobody_at_the_desk(desk: Desk) -> None:
    rows = "".join(f"P{i},4{i % 10},CANARY{i}\n" for i in range(430))
    upload = take(desk, f'patient,"age,diagnosis\n{rows}'.encode())
    with pytest.raises(RepublishError, match="Check the quotes of that line") as refused:
        desk.propose(upload)
    assert "CANARY" not in str(refused.value)
    with pytest.raises(RepublishError, match="Check the quotes of that line") as refused:
        desk.create("new", upload, ROLES, "mondrian")
    assert "CANARY" not in str(refused.value)


def test_a_series_without_a_sensitive_column_must_be_meant_at_the_desk(desk: Desk) -> None:
    upload = take(desk, b"patient,age\n" + b"".join(b"P%d,%d\n" % (i, i % 9) for i in range(90)))
    assert desk.propose(upload)["asks"].startswith("no column looks sensitive")
    roles = [
        {"name": "patient", "role": "identifier"},
        {"name": "age", "role": "quasi-identifier", "kind": "number"},
    ]
    with pytest.raises(DeskError, match="Give one column the role sensitive, or say that none is"):
        desk.create("new", upload, roles, "mondrian", {"k": 5})
    assert desk.create("new", upload, roles, "mondrian", {"k": 5}, no_sensitive=True).name == "new"


def german_series(desk: Desk, view: Path) -> None:
    upload = take(desk, view.read_bytes())
    columns = desk.propose(upload)["columns"]
    roles = [
        column | {"role": "drop" if column["name"] == "Einkommen" else column["role"]} for column in columns
    ]
    desk.create("weeks", upload, roles, "mondrian", {"k": "5"})


def test_a_file_as_people_have_it_begins_a_series_at_the_desk(desk: Desk, tmp_path: Path) -> None:
    german_series(desk, german_view(tmp_path / "v.csv"))
    later = take(desk, german_view(tmp_path / "w.csv", 2).read_bytes())
    checked = desk.check("weeks", later)
    assert checked["fits"] and checked["rows"] == 240, checked["problems"]


@pytest.mark.parametrize("kind", ["xlsx", "sav", "dta"])
def test_workbooks_and_statistical_files_are_taken(desk: Desk, tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"patient": [f"p{i}" for i in range(60)], "age": [20 + i % 9 for i in range(60)]})
    path = tmp_path / f"v.{kind}"
    if kind == "xlsx":
        frame.write_excel(path)
    else:
        getattr(pyreadstat, f"write_{kind}")(frame.to_pandas(), str(path))
    upload = take(desk, path.read_bytes())
    found = desk.propose(upload)
    assert (desk.uploads.get(upload).format, found["rows"]) == (kind, 60)
    assert found["columns"][1]["looks"] == "whole numbers, two digits"
    assert not any("p17" in str(value) for value in found.values())
