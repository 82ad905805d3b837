"""What `init --from` proposes, asks and refuses at the command line."""

from __future__ import annotations

import json
import shutil
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from republish.cli import app
from republish.datasets import hospital
from republish.errors import PolicyError
from republish.tune.situation import QUESTIONS

ROWS = "".join(f"P{i},{20 + i % 50},{i % 7:05d}\n" for i in range(60))


def init(folder: Path, *arguments: str, answers: str | None = None) -> Any:
    words = ["init", folder / "s", "--from", folder / "v.csv", "--publisher", "mondrian", "-p", "k=5"]
    words += arguments
    return CliRunner().invoke(app, [str(word) for word in words], input=answers)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A view in which nothing looks sensitive."""
    (tmp_path / "v.csv").write_text(f"patient,age,zip\n{ROWS}")
    return tmp_path


def said(done: Any) -> str:
    return str(done.output if done.exception is None else f"{done.output} {done.exception}")


def test_a_stray_quote_shows_nobody(folder: Path) -> None:
    (folder / "v.csv").write_text(f'patient,"age,zip\n{ROWS}')
    for more in (["--yes"], ["--yes", "--json"]):
        done = init(folder, *more)
        assert done.exit_code != 0
        assert "Check the quotes of that line" in said(done)
        assert "P1" not in said(done) and len(said(done)) < 600


def test_very_many_columns_are_said_in_short(folder: Path) -> None:
    names = [f"column{i}" for i in range(40_000)]
    (folder / "v.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 40_000) + "\n")
    done = init(folder, "--yes", "--json")
    assert done.exit_code != 0
    assert "at most 1,000 columns; the table has 40,000" in said(done) and len(said(done)) < 600


def test_without_anyone_to_ask_a_sensitive_column_must_be_said(folder: Path) -> None:
    done = init(folder, "--yes")
    assert done.exit_code != 0
    assert "no column looks sensitive" in said(done) and "--sensitive NAME" in said(done)
    assert not (folder / "s").exists()


def test_a_sensitive_column_can_be_said(folder: Path) -> None:
    assert init(folder, "--yes", "--sensitive", "zip").exit_code == 0
    assert 'role = "sensitive"' in (folder / "s" / "series.toml").read_text()


def test_that_nothing_is_sensitive_can_be_said(folder: Path) -> None:
    done = init(folder, "--yes", "--sensitive", "none", "--json")
    assert json.loads(done.output)["promises"]["one_table"] == "k=5"
    assert 'role = "sensitive"' not in (folder / "s" / "series.toml").read_text()


@pytest.mark.parametrize("answer, sensitive", [("zip", 1), ("none", 0), ("town\nzip", 1)])
def test_init_asks_which_column_is_sensitive(folder: Path, answer: str, sensitive: int) -> None:
    done = init(folder, answers=f"\n\n\n\n\n{answer}\n")
    assert done.exit_code == 0, said(done)
    assert "which column is sensitive (its name, or none)" in done.output
    assert (folder / "s" / "series.toml").read_text().count('role = "sensitive"') == sensitive


def test_sensitive_goes_with_from(folder: Path) -> None:
    words = ["init", str(folder / "s"), "--schema", str(folder / "none.toml"), "--sensitive", "zip"]
    assert "--identifier and --sensitive go with --from" in said(CliRunner().invoke(app, words))


def test_of_two_private_columns_a_person_says_which_is_protected(tmp_path: Path) -> None:
    view = tmp_path / "v.csv"
    rows = "".join(f"p{i},{20 + i % 50},x{i % 5},y{i % 2}\n" for i in range(60))
    view.write_text("patient,age,diagnosis,exam_room\n" + rows)
    words = ["init", str(tmp_path / "s"), "--from", str(view), "--yes"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code != 0 and not (tmp_path / "s").exists()
    assert "several columns look sensitive" in said(refused)
    assert CliRunner().invoke(app, [*words, "--sensitive", "diagnosis"]).exit_code == 0
    settings = tomllib.loads((tmp_path / "s" / "series.toml").read_text())
    roles = {name: column["role"] for name, column in settings["schema"]["columns"].items()}
    assert (roles["diagnosis"], roles["exam_room"]) == ("sensitive", "drop")


def test_the_identifier_can_be_said_too(tmp_path: Path) -> None:
    view = tmp_path / "v.csv"
    view.write_text("elev,age,diagnosis\n" + "".join(f"{i % 30},{i % 50},x{i % 5}\n" for i in range(30)))
    words = ["init", str(tmp_path / "s"), "--from", str(view), "--yes", "--identifier", "elev"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert 'role = "identifier"' in (tmp_path / "s" / "series.toml").read_text()


@pytest.fixture
def hospital_views(tmp_path: Path) -> Path:
    """Two views of a small hospital, and its schema."""
    hospital(views=2, rows=240, seed=3).write(tmp_path / "h")
    return tmp_path / "h"


def init_hospital(folder: Path, *arguments: str) -> Any:
    words = ["init", str(folder / "s"), "--schema", str(folder / "schema.toml"), *arguments]
    return CliRunner().invoke(app, words)


def settings(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "s" / "series.toml").read_text())


def test_without_a_publisher_value_blind_batches_are_chosen_on_the_views(hospital_views: Path) -> None:
    views = [f"--from={view}" for view in sorted((hospital_views / "views").iterdir())]
    done = init_hospital(hospital_views, *views)
    assert done.exit_code == 0, said(done)
    assert "why: value-blind batches" in done.output and "over 2 views" in done.output
    assert "cost: of the rows" in done.output and "cost: at most" in done.output
    found = settings(hospital_views)
    assert found["publisher"]["name"] == "value-blind" and found["form"]["name"] == "two-tables"


def test_without_a_view_open_batches_are_made(hospital_views: Path) -> None:
    done = init_hospital(hospital_views, "--json")
    document = json.loads(done.output)
    assert document["recommended"]["why"][0].startswith("no view was given")
    assert document["publisher"] == "value-blind"
    assert settings(hospital_views)["publisher"]["batches"] == "open"


def test_parameters_that_are_given_stand_in_place_of_recommended_ones(hospital_views: Path) -> None:
    view = next((hospital_views / "views").iterdir())
    assert init_hospital(hospital_views, f"--from={view}", "-p", "size=80").exit_code == 0
    assert settings(hospital_views)["publisher"]["size"] == 80


def test_value_blind_by_hand_is_in_two_tables_and_another_publisher_in_one(hospital_views: Path) -> None:
    assert init_hospital(hospital_views, "--publisher", "value-blind").exit_code == 0
    assert settings(hospital_views)["form"]["name"] == "two-tables"
    (hospital_views / "s").rename(hospital_views / "t")
    done = init_hospital(hospital_views, "--publisher", "tau-safety")
    assert "why:" not in done.output and "form" not in settings(hospital_views)


@pytest.mark.parametrize(
    ("publisher", "words"),
    [
        ("value-blind", "value-blind cannot count them: begin with --publisher tau-safety"),
        ("tau-safety", "Take them in first, oldest first: republish adopt"),
    ],
)
def test_init_says_what_to_do_with_releases_that_were_made_before(
    hospital_views: Path, publisher: str, words: str
) -> None:
    done = init_hospital(hospital_views, "--publisher", publisher)
    assert f"were releases of this table handed out before? {words}" in done.stdout


@pytest.mark.parametrize(("way", "warned"), [("random", False), ("nearest", True)])
def test_init_warns_of_membership_by_distance(hospital_views: Path, way: str, warned: bool) -> None:
    done = init_hospital(hospital_views, "--publisher", "tau-safety", "-p", f"membership={way}")
    assert ("warning: Who is put with whom depends on values" in done.stdout) == warned


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--publisher", "js-reduce"), "came .62 and .24 of the way there"),
        (("--publisher", "js-reduce", "-p", "withstand=0.5"), "came .41 of the way from what a group shows"),
        (("--publisher", "bayframe"), "came .31 of the way from what a group shows"),
    ],
)
def test_init_and_show_tell_what_who_weighs_all_releases_finds(
    hospital_views: Path, more: tuple[str, ...], said: str
) -> None:
    done = init_hospital(hospital_views, *more)
    shown = CliRunner().invoke(app, ["show", str(hospital_views / "s")])
    for text in (done.stdout, shown.stdout):
        assert any(line.startswith("not promised: ") and said in line for line in text.splitlines())


@pytest.mark.parametrize("publisher", ["value-blind", "mondrian"])
def test_show_says_what_a_series_does_not_promise(hospital_views: Path, publisher: str) -> None:
    init_hospital(hospital_views, "--publisher", publisher)
    shown = CliRunner().invoke(app, ["show", str(hospital_views / "s")]).stdout
    assert shown.count("\nnot promised: ") == {"value-blind": 5, "mondrian": 1}[publisher]


@pytest.mark.parametrize(
    "rows, code, message",
    [
        (8, 2, "which needs at least 10 rows, and the smallest view has 8; gather more rows"),
        (
            60,
            0,
            "cannot be promised, for the most frequent one has 67% of the rows of a view: m is 1. Promised is",
        ),
    ],
)
def test_a_promise_that_cannot_be_kept_is_said_before_there_is_a_series(
    tmp_path: Path, rows: int, code: int, message: str
) -> None:
    people = "".join(f"P{i},{20 + i % 50},{'flu' if i % 3 else 'cold'}\n" for i in range(rows))
    (tmp_path / "v.csv").write_text(f"patient,age,disease\n{people}")
    words = ["init", str(tmp_path / "s"), "--from", str(tmp_path / "v.csv"), "--yes", "--no-compare"]
    done = CliRunner().invoke(app, [*words, "--sensitive", "disease"])
    assert (tmp_path / "s").exists() == (code == 0)
    assert message in " ".join(str(done.exception if code else done.output).split())


def test_a_folder_that_is_taken_is_told_before_anything_is_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "s").mkdir()
    (folder / "s" / "mine.txt").write_text("mine")
    monkeypatch.setattr("republish.sources.propose.propose", lambda *_: pytest.fail("the view was read"))
    done = init(folder, "--yes")
    assert done.exit_code != 0 and "must be a new or an empty folder" in said(done)


def advised(folder: Path, *arguments: str, answers: str | None = None) -> Any:
    words = ["init", folder / "r", "--from", folder / "p.csv", *arguments]
    return CliRunner().invoke(app, [str(word) for word in words], input=answers)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A view of 60 people with a diagnosis."""
    rows = "".join(f"P{i},{20 + i % 50},{'abcdef'[i * 7 % 6]}\n" for i in range(60))
    (tmp_path / "p.csv").write_text(f"patient,age,diagnosis\n{rows}")
    return tmp_path


def test_the_situation_is_asked_for_in_its_own_words(people: Path) -> None:
    done = advised(people, "--no-compare", answers="\n" * 5 + "\n\n\n\nno\n")
    assert done.exit_code == 0, done.exception
    for one in QUESTIONS:
        assert one.text in " ".join(done.output.split())
    assert "made" in done.output and "value-blind" in done.output


def test_who_publishes_once_is_asked_no_more(people: Path) -> None:
    done = advised(people, "--no-compare", answers="\n" * 5 + "no\n")
    assert done.exit_code == 0, done.exception
    assert "This is published once" in done.output and QUESTIONS[1].text not in done.output
    assert "mondrian" in done.output


def test_answers_are_given_by_options(people: Path) -> None:
    done = advised(people, "--yes", "--no-compare", "--answer", "again=no", "--json")
    document = json.loads(done.output)
    assert document["publisher"] == "mondrian"
    assert document["recommended"]["answers"]["again"] == "no" and document["recommended"]["compared"] == []
    kept = tomllib.loads((people / "r" / "series.toml").read_text())["situation"]
    assert kept == {"again": False, "change": True, "back": True, "order": False, "one_table": False}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--answer", "colour=yes"), "there is no question colour"),
        (("--answer", "again=perhaps"), "the answer to again must be yes or no"),
        (
            ("--answer", "again=no", "--gate", "recommended"),
            "no gate is recommended for what is published once",
        ),
    ],
)
def test_what_is_said_of_the_situation_is_checked(
    people: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = advised(people, "--yes", *arguments)
    assert isinstance(done.exception, PolicyError) and message in str(done.exception)
    assert not (people / "r").exists()


def test_one_table_is_an_answer(people: Path) -> None:
    document = json.loads(advised(people, "--yes", "--form", "one-table", "--json").output)
    assert document["recommended"]["answers"]["one_table"] == "yes"
    assert document["publisher"] in ("cohorts", "tau-safety") and "form" not in document


def gate_of(folder: Path) -> dict[str, Any] | None:
    return tomllib.loads((folder / "r" / "series.toml").read_text()).get("gate")


def test_the_gate_that_was_tried_is_set_unless_none_is_wanted(people: Path) -> None:
    done = advised(people, "--yes")
    assert done.exit_code == 0, done.exception
    assert "every release must pass the gate: linear" in done.output
    found = gate_of(people)
    assert found is not None
    assert (found["attacks"], found["compromised"], found["max_determined"]) == (["linear"], 0.04, 0.01)
    shutil.rmtree(people / "r")
    done = advised(people, "--yes", "--gate", "none")
    assert done.exit_code == 0 and gate_of(people) is None and "no gate" not in done.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--no-compare",), "none was tried: that takes a past view, and publishers that are compared"),
        (("--sensitive", "none"), "no column is sensitive, and there is nothing for attacks to seek"),
        (("--publisher", "tau-safety"), "note: no gate is set. Once two releases are out: republish amend"),
    ],
)
def test_without_a_gate_it_is_said_why_and_how_to_set_one(
    people: Path, arguments: tuple[str, ...], why: str
) -> None:
    done = advised(people, "--yes", *arguments)
    assert done.exit_code == 0, done.exception
    assert why in done.output and "--gate recommended" in done.output and gate_of(people) is None


def test_where_every_limit_would_be_exceeded_it_is_said_at_init(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("republish.tune.recommended_gate"), "determined", lambda *_: 0.2)
    why = (
        "no gate is recommended: 20.0% of the people are found out in a series that goes on like these views"
    )
    done = advised(people, "--yes")
    assert done.exit_code == 0 and why in done.output and gate_of(people) is None
    shutil.rmtree(people / "r")
    refused = advised(people, "--yes", "--gate", "recommended")
    assert isinstance(refused.exception, PolicyError) and why in str(refused.exception)
    assert not (people / "r").exists()


def test_a_gate_is_tried_for_a_publisher_that_is_named_and_for_parameters(people: Path) -> None:
    done = advised(people, "--yes", "--publisher", "mondrian", "--gate", "recommended")
    assert isinstance(done.exception, PolicyError) and "no gate is recommended" in str(done.exception)
    done = advised(people, "--yes", "--publisher", "tau-safety", "-p", "m=9", "--gate", "recommended")
    assert "no gate could be tried, for tau-safety refuses such views" in str(done.exception)
    done = advised(people, "--yes", "--publisher", "value-blind", "--gate", "recommended")
    assert done.exit_code == 0, done.exception
    assert gate_of(people) is not None


def test_large_views_get_no_gate_unless_it_is_asked_for(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("republish.tune.recommended_gate"), "MOST_ROWS", 59)
    done = advised(people, "--yes")
    assert "which then takes long and cannot be made in parts" in done.output and gate_of(people) is None
    shutil.rmtree(people / "r")
    assert advised(people, "--yes", "--gate", "recommended").exit_code == 0
    assert gate_of(people) is not None
