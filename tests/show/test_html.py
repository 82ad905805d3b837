"""What a notebook shows: escaped tables, pictures where they can be drawn, and nobody's identifier."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from republish import Adversary, Category, Gate, JSReduce, Mondrian, Number, Schema, Series, attack
from republish.attacks import attack_beliefs
from republish.show.html import ROWS, table
from republish.tune import Point, Tuned

NASTY = "<script>alert('x')</script>"
SCHEMA = Schema("id", [Number("age"), Number("weight")], Category("<b>dx</b>"))


def view(week: int) -> pl.DataFrame:
    people = range(week, week + 24)
    return pl.DataFrame(
        {
            "id": [f"SECRET{i:03d}" for i in people],
            "age": [20 + 7 * i % 60 for i in people],
            "weight": [50 + 11 * i % 45 for i in people],
            "<b>dx</b>": [("flu", "cold", NASTY)[i % 3] for i in people],
        }
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Series, Any]]:
    gate = Gate(max_determined=1.0, attacks=("intersection",))
    made = Series.create(
        tmp_path_factory.mktemp("display") / "<i>weekly",
        SCHEMA,
        Mondrian(k=3),
        seed=1,
        one_table=True,
        gate=gate,
    )
    done = [made.publish(view(week)) for week in (0, 3, 6)][-1]
    yield made, done
    made.ledger.close()


def words(html: str) -> str:
    """The text of a page without its pictures; every tag must be one of ours."""
    tags = set(re.findall(r"</?(\w+)", re.sub(r'src="[^"]*"', "", html)))
    assert tags <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "img"}
    return re.sub(r"<[^>]*>", "|", html)


def pictures(html: str) -> int:
    return html.count("data:image/png;base64,iVBOR")


def test_a_table_escapes_everything_and_puts_numbers_to_the_right() -> None:
    html = table([NASTY, "n"], [["a & b", 1234], [None, 0.5]], "<i>")
    assert NASTY not in html
    assert "&lt;script&gt;" in html
    assert "a &amp; b" in html
    assert "&lt;i&gt;" in html
    assert ">1,234</td>" in html and ">0.5000</td>" in html
    assert html.count("text-align:right") == 3


def test_a_release_shows_its_numbers_its_first_rows_and_its_groups(published: tuple[Series, Any]) -> None:
    html = published[0].release(2)._repr_html_()
    text = words(html)
    assert "The first of 24 rows" in text
    assert "&lt;script&gt;" in text
    assert "SECRET" not in text
    assert html.count("<tr>") == 2 + 1 + ROWS
    assert pictures(html) == 1


def test_a_release_of_one_quasi_identifier_has_no_picture(tmp_path: Path) -> None:
    from republish import anonymize

    schema = Schema("id", [Number("age")], Category("<b>dx</b>"), dropped=["weight"])
    release = anonymize(view(0), schema, Mondrian(k=3), seed=1)
    assert pictures(release._repr_html_()) == 0


def test_an_empty_release_can_be_shown() -> None:
    from republish import anonymize

    html = anonymize(view(0).clear(), SCHEMA, Mondrian(k=3), seed=1)._repr_html_()
    assert "The first of 0 rows" in words(html)


def test_a_series_shows_a_line_a_release_and_what_it_promises(published: tuple[Series, Any]) -> None:
    html = published[0]._repr_html_()
    text = words(html)
    assert "Series &lt;i&gt;weekly: mondrian" in text
    assert "nothing over the series" in text
    assert "Gate: intersection; max_determined=1" in text
    assert html.count("<tr>") == 4
    assert pictures(html) == 1
    assert "SECRET" not in text


def test_a_series_opens_no_table(published: tuple[Series, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("republish.series.read_release", lambda *_: pytest.fail("a table was opened"))
    monkeypatch.setattr("polars.read_parquet", lambda *_, **__: pytest.fail("a file was opened"))
    assert published[0]._repr_html_()


def test_an_empty_series_can_be_shown(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, Mondrian(k=3), seed=1)
    assert "Series s: mondrian" in words(made._repr_html_())


def test_a_withdrawn_release_is_marked(tmp_path: Path) -> None:
    from republish.publishing.maintenance import withdraw

    made = Series.create(tmp_path / "s", SCHEMA, Mondrian(k=3), seed=1)
    made.publish(view(0))
    withdraw(made, 1, "")
    assert made._repr_html_().count(">yes</td>") == 1


def test_what_publish_did(published: tuple[Series, Any]) -> None:
    text = words(published[1]._repr_html_())
    assert "passed" in text
    assert "Verified: k=3" in text


def test_attacks_show_figures_of_all_and_of_each_release(published: tuple[Series, Any]) -> None:
    (found,) = attack(published[0], Adversary(), ["tau"])
    html = found._repr_html_()
    assert "Attack: tau" in words(html)
    assert html.count("<tr>") == 1 + 1 + 3
    assert pictures(html) == 1
    assert found.summary._repr_html_().count("<tr>") == 2
    assert found.overall._repr_html_() == found.summary._repr_html_()


def test_people_of_whom_an_attack_cannot_tell_are_counted(published: tuple[Series, Any]) -> None:
    (found,) = attack(published[0], Adversary(), ["linear"])
    assert found.unclear is not None
    doubtful = replace(found, unclear=replace(found.unclear, people=1234))
    assert "Of 1,234 more people it is not known" in words(doubtful._repr_html_())


def test_beliefs_say_what_she_looks_at(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, JSReduce(k=3, crowd=4.0), seed=1)
    made.publish(view(0))
    found = attack_beliefs(made, Adversary(knowledge=made.reasoning.knowledge, steps=0))  # type: ignore[union-attr]
    html = found._repr_html_()
    assert "Attack: beliefs, snapshot" in words(html)
    assert pictures(html) == 0  # a single release is no line


def test_a_search_shows_frontier_and_map() -> None:
    points = (
        Point("mondrian", {"k": 2}, penalty=0.1, risk=0.5, feasible=True),
        Point("tau-safety", {"m": 2}, penalty=0.3, risk=0.05, feasible=True),
    )
    html = Tuned({"max_gain": 0.1}, points, "2026-01-01T00:00:00+00:00", "abc", 2)._repr_html_()
    assert "Frontier of 2 points, max_gain=0.1" in words(html)
    assert html.count("<tr>") == 3
    assert html.count(">yes</td>") == 1
    assert pictures(html) == 1


def test_a_reproduction_shows_every_claim() -> None:
    import datetime

    from republish.papers.run import FigureResult, JudgedClaim, Reproduction
    from republish.papers.study import Claim, Finding, Outcome, Scale

    class Named:
        name = "Figure <1>"

    claim = Claim("more & more", "any", lambda _: Finding(Outcome.NOT_RUN, ""))
    shown = FigureResult(Named(), (JudgedClaim(claim, Finding(next(iter(Outcome)), "0.5")),), None)  # type: ignore[arg-type]
    made = Reproduction(Named(), Scale(), (shown,), datetime.date(2026, 1, 1), 1.0)  # type: ignore[arg-type]
    text = words(made._repr_html_())
    assert "Figure &lt;1&gt;" in text
    assert "more &amp; more" in text


def test_without_matplotlib_there_are_tables_and_no_pictures(
    published: tuple[Series, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = published[0]._repr_html_()
    assert html.count("<tr>") == 4
    assert "<img" not in html


def test_the_way_a_notebook_shows_its_own_pictures_stays(published: tuple[Series, Any]) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_backend()
    try:
        pyplot.close("all")
        pyplot.switch_backend("svg")
        figure = pyplot.figure()
        published[0]._repr_html_()
        assert pyplot.get_backend() == "svg"
        assert pyplot.get_fignums() == [figure.number]
    finally:
        pyplot.close("all")
        pyplot.switch_backend(before)


def test_two_tables_are_shown_side_by_side(tmp_path: Path) -> None:
    from two_tables import make

    made = make(tmp_path / "s")
    html = made.release(1)._repr_html_()
    text = words(html)
    assert "People: the first of 60" in text and "Values by batch: the first of 6 lines" in text
    assert pictures(html) == 1 and "person-0" not in text
    whole = words(made._repr_html_())
    assert "|batches|" in whole and "Every group of people satisfies k=5" in whole
    made.ledger.close()
