"""[report] of `series.toml` written anew: all else stays, comments too, and the series goes on."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest

from republish import Category, Mondrian, Number, PolicyError, Schema, Series
from republish.publishing.report_record import amend_report

SCHEMA = Schema("id", [Number("age")], Category("dx"))


@pytest.fixture
def series(tmp_path: Path) -> Series:
    made = Series.create(tmp_path / "s", SCHEMA, Mondrian(2), seed=1, one_table=True, report={"title": "Old"})
    made.publish(pl.DataFrame({"id": list("pqrs"), "age": [1, 2, 8, 9], "dx": list("abab")}))
    return made


def test_the_section_is_replaced_and_the_rest_stays(series: Series) -> None:
    path = series.root / "series.toml"
    path.write_text(f"# kept\n{path.read_text()}")
    before = tomllib.loads(path.read_text())
    amend_report(series, {"title": 'New "one"\n[report]', "purpose": " Research ", "contact": ""})
    said = {"title": 'New "one"\n[report]', "purpose": "Research"}
    assert tomllib.loads(path.read_text()) == before | {"report": said}
    assert path.read_text().startswith("# kept\n")
    assert path.stat().st_mode & 0o777 == 0o600
    reopened = Series.open(series.root)
    assert dict(reopened.policy.report) == dict(series.policy.report) == said
    assert reopened.verify().holds


def test_with_nothing_to_say_the_section_goes(series: Series) -> None:
    amend_report(series, {})
    assert "report" not in tomllib.loads((series.root / "series.toml").read_text())


def test_a_file_that_cannot_be_edited_in_place_is_written_anew(series: Series) -> None:
    path = series.root / "series.toml"
    document = tomllib.loads(path.read_text())
    text = path.read_text().replace(
        '[report]\ntitle = "Old"', '[ "report" ] # spelled otherwise\ntitle = "Old"'
    )
    path.write_text(text)
    amend_report(series, {"title": "New"})
    assert tomllib.loads(path.read_text()) == document | {"report": {"title": "New"}}


def test_other_fields_are_refused(series: Series) -> None:
    before = (series.root / "series.toml").read_text()
    with pytest.raises(PolicyError, match="the report may have title, purpose"):
        amend_report(series, {"colour": "red"})
    assert (series.root / "series.toml").read_text() == before
