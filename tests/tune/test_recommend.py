"""Which publisher is recommended for which views."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest

import republish
from republish import PolicyError, Schema, Series, read_schema
from republish.datasets import hospital
from republish.publishers import Mondrian, ValueBlind
from republish.release.forms import TwoTables
from republish.schema import Category, Number

recommend = partial(republish.recommend, compared=False)  # what is compared has tests of its own
SCHEMA = Schema("id", (Number("age"),), Category("disease"))


def view(people: range, shift: int = 0, diseases: str = "abcdefgh") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"P{i}" for i in people],
            "age": [20 + i * 7 % 60 for i in people],
            "disease": [diseases[((i * 2654435761 >> 9) + shift) % len(diseases)] for i in people],
        }
    )


def test_values_that_last_and_few_returns_ask_for_closed_batches() -> None:
    views = [view(range(60 * t, 1500 + 60 * t)) for t in range(4)]
    found = recommend(views, SCHEMA)
    assert isinstance(found.publisher, ValueBlind) and found.publisher.batches == "closed"
    assert found.form is not None and found.simulated and not found.problems
    assert "closed batches, for values last and few come back: over 4 views 0.0%" in found.why[1]


def test_closed_batches_of_few_people_would_wait_too_long() -> None:
    found = recommend([view(range(10 * t, 300 + 10 * t)) for t in range(4)], SCHEMA)
    assert found.publisher.batches == "open"  # type: ignore[attr-defined]
    assert "of so few people closed ones would be counted anew too seldom" in found.why[1]


def test_values_that_change_ask_for_open_batches() -> None:
    found = recommend([view(range(300), shift=t) for t in range(3)], SCHEMA)
    assert isinstance(found.publisher, ValueBlind) and found.publisher.batches == "open"
    assert "100.0% of people change" in found.why[1]


def test_of_one_view_a_series_is_simulated_and_it_is_said() -> None:
    found = recommend([view(range(400))], SCHEMA)
    assert found.simulated and found.publisher.batches == "open"  # type: ignore[attr-defined]
    assert "were simulated, a tenth leaves, comes and changes each time" in found.costs[1]
    assert "one view does not tell" in found.why[1]


def test_without_views_batches_are_open_and_large() -> None:
    found = recommend([], SCHEMA)
    assert found.publisher == ValueBlind(size=150)
    assert found.form is not None


def test_without_a_sensitive_column_who_is_who_is_hidden() -> None:
    found = recommend([view(range(20)).drop("disease")], Schema("id", (Number("age"),), None))
    assert (found.publisher, found.form) == (Mondrian(), None)


def test_a_value_that_most_people_have_is_promised_less_of_and_it_is_said(tmp_path: Path) -> None:
    rare = view(range(90), diseases="aaab")
    found = recommend([rare], SCHEMA)
    assert found.publisher.m == 1 and not found.problems  # type: ignore[attr-defined]
    assert (
        "cannot be promised, for the most frequent one has 76% of the rows of a view: m is 1"
        in found.costs[-1]
    )
    series = Series.create(tmp_path / "s", SCHEMA, found.publisher, form=found.form)
    series.publish(rare)
    series.publish(view(range(9, 99), diseases="aaab"))
    assert series.verify().holds


def test_what_cannot_be_promised_is_said_with_what_to_do() -> None:
    found = recommend([view(range(8))], SCHEMA)
    assert "needs at least 10 rows, and the smallest view has 8" in found.problems[0]
    with pytest.raises(PolicyError, match="choose a publisher by hand"):
        found.require_kept()


def test_small_tables_are_one_batch() -> None:
    found = recommend([view(range(40))], SCHEMA)
    assert found.publisher.size == 40  # type: ignore[attr-defined]
    assert not found.problems


def test_the_largest_m_is_chosen_that_does_not_bind() -> None:
    few, many = (
        recommend([view(range(600), diseases=diseases)], SCHEMA) for diseases in ("abc", "abcdefghijklmnop")
    )
    assert few.publisher.m == 2 and many.publisher.m >= 4  # type: ignore[attr-defined]


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    recommend([view(range(300))], SCHEMA, lambda done, of: told.append((done, of)))
    assert told[0][0] == 0 and told[-1][0] == told[-1][1]


def test_a_series_as_recommended_publishes_the_views(tmp_path: Path) -> None:
    hospital(views=3, rows=400, seed=2).write(tmp_path)
    views, schema = sorted((tmp_path / "views").iterdir()), read_schema(tmp_path / "schema.toml")
    found = recommend(views, schema)
    series = Series.create(tmp_path / "s", schema, found.publisher, form=found.form)
    for one in views:
        series.publish(one)
    assert series.verify().holds


def test_what_is_chosen_is_said_first_of_what_it_costs() -> None:
    found = recommend([view(range(400))], SCHEMA)
    assert f"batches of about {found.publisher.size} people" in found.costs[0]  # type: ignore[attr-defined]
    assert "at most 0.000%" not in found.costs[3]


def test_what_is_recommended_is_a_document() -> None:
    document = recommend([view(range(120))], SCHEMA).as_dict()
    assert document["publisher"] == "value-blind" and document["form"]["name"] == "two-tables"
    assert document["tried"][0]["parameters"]["n"] == 5


def test_counts_are_measured_in_the_cells_of_the_form() -> None:
    """Cells that hide the batch are coarse, and so are counts."""
    diseases = lambda age: "abcdefgh"[age // 10 % 8]  # noqa: E731 - values that follow age
    rows = [(f"P{i}", 20 + i * 7 % 60) for i in range(600)]
    one = pl.DataFrame(rows, schema=["id", "age"], orient="row").with_columns(
        disease=pl.Series([diseases(age) for _, age in rows])
    )
    fine, coarse = (
        recommend([one], SCHEMA, form=form) for form in (TwoTables(25), TwoTables(25, hide_batch=True))
    )
    assert fine.form == TwoTables(25) and coarse.form == TwoTables(25, hide_batch=True)
    assert coarse.tried[0].error > 1.2 * fine.tried[0].error > 0


def test_fewer_people_than_must_look_alike_are_told() -> None:
    (problem,) = recommend([view(range(40))], SCHEMA, form=TwoTables(50)).problems
    assert problem.startswith("50 people must look alike, and the smallest view has 40 rows")


def test_values_that_are_spelled_in_two_ways_are_noted() -> None:
    (note,) = recommend([view(range(400), diseases="abcdefgH" + "h")], SCHEMA).notes
    assert note.startswith("warning: column disease: 1 values are others")
