"""Questions in words of the situation, and what views answer of them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from republish import Category, Number, PolicyError, Schema
from republish.tune.recommend import situation_of
from republish.tune.situation import QUESTIONS, USUAL, Answers

SCHEMA = Schema("id", (Number("age"),), Category("dx"))
DOCS = Path(__file__).parents[2] / "docs" / "choose.md"


def view(people: range, value: str = "abcd", shift: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"P{i}" for i in people],
            "age": [20 + i % 50 for i in people],
            "dx": [value[((i * 2654435761 >> 9) + shift) % len(value)] for i in people],
        }
    )


def test_every_question_has_an_answer_of_its_name() -> None:
    assert [one.name for one in QUESTIONS] == [one.name for one in fields(Answers)]


def test_the_docs_ask_the_same_questions() -> None:
    page = DOCS.read_text()
    asked = re.findall(r"^## `(\w+)`: (.*)$", page, flags=re.MULTILINE)
    assert asked == [(one.name, one.text) for one in QUESTIONS]
    for one in QUESTIONS:
        assert f"**Yes.** {one.yes}" in page and f"**No.** {one.no}" in page


def test_one_view_tells_nothing_and_what_a_series_needs_is_assumed() -> None:
    assert situation_of([view(range(50))], SCHEMA) == (USUAL, {})


def test_people_who_stay_with_their_values_are_told_by_views() -> None:
    found, figures = situation_of([view(range(100)), view(range(5, 105))], SCHEMA)
    assert found == Answers(again=True, change=False, back=False, order=False, one_table=False)
    assert figures["again"] == "95.0% of the people of a view are in the next one"
    assert figures["change"] == "0.0% of those who stay change their value"


def test_people_who_come_back_are_told_by_views() -> None:
    found, _ = situation_of([view(range(100)), view(range(20, 100)), view(range(100))], SCHEMA)
    assert found.back and not found.change


def test_others_each_time_are_nobody_again() -> None:
    assert situation_of([view(range(100)), view(range(100, 200))], SCHEMA)[0].again is False


def test_values_that_follow_in_an_order_are_told_by_views() -> None:
    found, figures = situation_of([view(range(200), shift=t) for t in range(3)], SCHEMA)
    assert found.change and found.order
    assert "who knows the value before guesses 100% of those after it" in figures["order"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"colour": "yes"}, "there is no question colour; there are again, change, back, order, one_table"),
        ({"again": "perhaps"}, "the answer to again must be yes or no; say again=yes or again=no"),
    ],
)
def test_answers_are_checked(given: dict[str, str], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Answers.from_mapping(given)


def test_answers_are_typed_with_a_dash_too() -> None:
    assert Answers.from_mapping({"one-table": "yes", "again": True}) == Answers(again=True, one_table=True)
    assert USUAL.words()["order"] == "no"
