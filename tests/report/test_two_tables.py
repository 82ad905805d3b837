"""What the report says of a series in two tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from republish import Adversary, Series
from republish.attacks.assessments import assess, keep
from republish.report import FORMATS, facts_of, make_report
from two_tables import VALUES, make, view


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return make(tmp_path_factory.mktemp("report") / "two")


def test_facts_hold_the_form_and_what_was_counted(series: Series) -> None:
    facts = facts_of(series)
    assert facts.form is not None
    assert (facts.form["name"], facts.form["k"], facts.form["presence"]) == ("two-tables", 5, "protected")
    assert facts.last is not None and facts.last.two_tables is not None
    assert (facts.last.two_tables["batches"], facts.last.two_tables["fewest_values"]) == (2, 3)
    assert facts.last.published == 60
    assert list(facts.promises["meanings"])[:2] == ["people: k=5", "probabilistic-l=3"]


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_report_says_what_recipients_and_register_holders_have(series: Series, form: str) -> None:
    text = make_report(series, form)
    for words in (
        "Form: two tables",
        "What a recipient can do with it",
        "What an adversary with a register learns more",
        "fewest different values",
        "people without a batch" if form == "html" else "without batch",
    ):
        assert words in text
    assert "suppressed" not in text.replace("suppression", "")


def test_json_says_the_same(series: Series) -> None:
    found = json.loads(make_report(series, "json"))["form"]
    assert found["counts"][1] == {
        "release": 2,
        "batches": 2,
        "smallest": 30,
        "average": 30.0,
        "largest": 30,
        "fewest_values": 3,
        "without_batch": 0,
        "extended": 0,
    }
    assert len(found["recipients"]) == len(found["register_holders"]) == 3


@pytest.mark.parametrize("form", ["html", "md"])
def test_what_was_not_measured_of_rows_and_presence_is_said(series: Series, form: str) -> None:
    text = make_report(series, form)
    assert "Not measured on the series as it is now" in text
    assert "--attack linkage,presence --truth" in text


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Series:
    made = make(tmp_path_factory.mktemp("followed") / "two")
    keep(made, assess(made, Adversary(), ["linkage", "presence"], views=[view(1), view(2)]))
    return made


@pytest.mark.parametrize("form", ["html", "md"])
def test_rows_and_presence_are_told_apart_from_values(followed: Series, form: str) -> None:
    text = make_report(followed, form)
    assert "Not measured on the series as it is now" not in text
    for words in ("Rows and presence", "shown present", "median batches", "no attack was made on the series"):
        assert words in text
    assert ("Rows and presence after each release." in text) == (form == "html")


def test_figures_of_rows_and_presence_are_in_json_after_each_release(followed: Series) -> None:
    found = json.loads(make_report(followed, "json"))
    (linkage, presence) = found["identities"]
    (alone,) = [row for row in linkage["rows"] if row["figure"] == "alone"]
    assert (alone["share"], len(alone["after_release"])) == (True, 2)
    assert {row["figure"] for row in presence["rows"]} == {
        "shown_present", "shown_absent", "mean_present", "mean_absent",
    }  # fmt: skip
    (said,) = [one for one in found["statements"] if one["title"] == "Rows and presence"]
    assert "of people are alone" in said["text"]
    assert found["serial"] == []


@pytest.mark.parametrize("form", FORMATS)
def test_no_cell_is_in_it(series: Series, followed: Series, form: str) -> None:
    text = make_report(series, form) + make_report(followed, form)
    assert not [value for value in (*VALUES, "person-0", "north") if value in text]


def test_one_table_has_no_such_section(tmp_path: Path, hospital_folder: Path) -> None:
    from republish import Mondrian, read_schema

    one = Series.create(tmp_path / "one", read_schema(hospital_folder / "schema.toml"), Mondrian(k=5), seed=1)
    assert facts_of(one).form is None
    assert "Form: two tables" not in make_report(one, "md")
    one.ledger.close()
