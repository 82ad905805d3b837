"""A new series at the desk is what the command line would make of the same files."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from desk_client import desk
from republish import Series, recommend
from republish.publishers import parameters_of
from republish.tune.recommend import situation_of


class _Form(HTMLParser):
    """What a browser sends of the last form of a page that nobody touches."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self._select: tuple[str, list[tuple[bool, str]]] | None = None
        self._option: tuple[bool, str | None] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.sent = {}
        elif tag == "select":
            self._select = given["name"], []
        elif tag == "option":
            self._option = "selected" in given, given.get("value")
            if self._select is not None and "value" in given:
                self._select[1].append((self._option[0], given["value"]))
        elif tag == "input" and self._is_sent(given):
            self.sent.setdefault(given["name"], []).append(given.get("value", ""))

    def _is_sent(self, given: dict[str, str]) -> bool:
        if given["type"] in ("radio", "checkbox"):
            return "checked" in given
        return given["type"] != "file" and "name" in given and "disabled" not in given

    def handle_data(self, data: str) -> None:
        if self._select is not None and self._option is not None and self._option[1] is None:
            self._select[1].append((self._option[0], data.strip()))
            self._option = None

    def handle_endtag(self, tag: str) -> None:
        if tag == "select" and self._select is not None:
            name, options = self._select
            chosen = [text for selected, text in options if selected] or [options[0][1]]
            self.sent.setdefault(name, []).append(chosen[0])
            self._select = None


def weekly(week: int, kind: str) -> pl.DataFrame:
    """A register that only grows, a ward whose stages follow each other, or 60 people of whom others come each time."""
    first, last = {"grows": (0, 400 + 40 * week), "stages": (0, 60), "others": (60 * week, 60 * week + 60)}[
        kind
    ]
    people = range(first, last)
    shift = week if kind == "stages" else 0
    return pl.DataFrame(
        {
            "patient": [f"P{i}" for i in people],
            "age": [20 + i % 50 for i in people],
            "diagnosis": ["abcdef"[((i * 2654435761 >> 9) + shift) % 6] for i in people],
        }
    )


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    with desk(tmp_path) as client:
        client.headers["Accept"] = "text/html"
        yield client


def make(client: Any, views: list[pl.DataFrame], **more: str) -> Any:
    """The page of the series that a person makes who uploads these views, and chooses only what is given."""
    first, *further = [one.write_csv().encode() for one in views]
    page = client.post("/new", files={"file": ("1.csv", first, "text/csv")})
    address = page.headers["location"]
    fields = _Form(client.get(address).text).sent | {"name": "made", **more}
    files = [("further", (f"{n}.csv", data, "text/csv")) for n, data in enumerate(further, start=2)]
    return client.post(address, data=fields, files=files or None)


@pytest.mark.parametrize(("kind", "views"), [("grows", 4), ("stages", 3), ("others", 2), ("grows", 1)])
def test_the_desk_recommends_what_the_command_does(
    client: Any, tmp_path: Path, kind: str, views: int
) -> None:
    given = [weekly(week, kind) for week in range(views)]
    assert make(client, given).status_code == 303
    made = Series.open(tmp_path / "made")
    answers, _ = situation_of(given, made.schema)
    assert client.app.state.desk.advice("made")["answers"] == answers.words()
    assert made.policy.situation == answers.given()  # by which the report asks for attacks
    if kind == "stages":
        assert answers.order
    else:
        advice = recommend(given, made.schema, compared=False)
        assert made.publisher.name == advice.publisher.name
        assert parameters_of(made.publisher) == parameters_of(advice.publisher)
        assert kind != "grows" or views == 1 or parameters_of(made.publisher)["batches"] == "closed"


def test_what_a_person_answers_stands_against_the_files(client: Any, tmp_path: Path) -> None:
    given = [weekly(week, "grows") for week in range(3)]
    assert make(client, given, **{"answer.change": "yes"}).status_code == 303
    made = Series.open(tmp_path / "made")
    assert parameters_of(made.publisher)["batches"] == "open"


def test_the_page_after_says_where_no_gate_could_be_set(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("republish.tune.recommended_gate"), "determined", lambda *_: 0.2)
    page = client.get(make(client, [weekly(0, "others")]).headers["location"]).text
    assert "No gate is recommended: 20.0% of the people are found out" in page
    assert Series.open(tmp_path / "made").gate is None
