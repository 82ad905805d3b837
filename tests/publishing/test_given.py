"""What people type in Python is taken, or refused in a sentence: paths, one view alone, and names of publishers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import republish as rp

SCHEMA = """
[columns.patient]
role = "identifier"
[columns.age]
role = "quasi-identifier"
kind = "number"
[columns.dx]
role = "sensitive"
kind = "category"
"""


@pytest.fixture(params=[str, Path])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Any]:
    """A file of the folder as a text, and as a path."""
    rows = "".join(f"P{i},{20 + i % 40},{'abcd'[i % 4]}\n" for i in range(60))
    (tmp_path / "v1.csv").write_text(f"patient,age,dx\n{rows}")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return lambda name: request.param(tmp_path / name)


def test_one_view_and_a_schema_are_paths(given: Callable[[str], Any]) -> None:
    advice = rp.recommend(given("v1.csv"), given("s.toml"), compared=False)
    assert advice == rp.recommend([given("v1.csv")], rp.read_schema(given("s.toml")), compared=False)


def test_a_series_is_made_of_a_path_and_a_name(given: Callable[[str], Any]) -> None:
    series = rp.Series.create(given("new"), given("s.toml"), "tau-safety", seed=1)
    assert series.publisher == rp.TauSafety()
    assert series.publish(given("v1.csv")).number == 1


def test_one_table_is_made_of_paths_and_a_name(given: Callable[[str], Any]) -> None:
    release = rp.anonymize(given("v1.csv"), given("s.toml"), "mondrian", seed=1)
    assert release.frame().equals(
        rp.anonymize(given("v1.csv"), rp.read_schema(given("s.toml")), rp.Mondrian(), seed=1).frame()
    )


@pytest.mark.parametrize(
    ("schema", "publisher", "error", "words"),
    [
        (
            3,
            "mondrian",
            rp.SchemaError,
            "a schema is needed: a Schema, or the path of a schema.toml or series",
        ),
        ("s.toml", 5, rp.PolicyError, "a publisher is needed: its name, or a publisher such as"),
        ("s.toml", "mondrain", rp.PolicyError, "there is no publisher called mondrain"),
        ("none.toml", "mondrian", rp.SchemaError, "there is no schema file"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(
    given: Callable[[str], Any], schema: Any, publisher: Any, error: type[Exception], words: str
) -> None:
    where = given(schema) if isinstance(schema, str) else schema
    with pytest.raises(error, match=words):
        rp.anonymize(given("v1.csv"), where, publisher)
    with pytest.raises(error, match=words):
        rp.Series.create(given("new"), where, publisher)
    assert not Path(given("new")).exists()
