"""Small tables have no dead end: what `init` recommends publishes all years, and its gate lets them pass."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Series, recommend
from republish.cli import app
from republish.sources.propose import propose, schema_from, with_identifier, with_sensitive
from tune.panel import SCHEMA, panel

WAGES = os.environ.get("REPUBLISH_WAGES") or None


def publishes_all(series: Series, views: list[pl.DataFrame]) -> None:
    for view in views:
        done = series.publish(view)
        assert done.gate is not None and done.gate.passed
    assert series.verify().holds


@pytest.mark.parametrize("given", [1, 8])
def test_what_is_recommended_publishes_eight_years_of_500_people(tmp_path: Path, given: int) -> None:
    views = panel()
    found = recommend(views[:given], SCHEMA)
    assert not found.problems and found.gate is not None
    series = Series.create(tmp_path / "s", SCHEMA, found.publisher, form=found.form, gate=found.gate)
    publishes_all(series, views)


def test_the_command_does_the_same_without_asking(tmp_path: Path) -> None:
    views = panel(150, 3)
    for year, view in enumerate(views, start=1):
        view.write_csv(tmp_path / f"{year}.csv")
    words = ["init", tmp_path / "s", "--from", tmp_path / "1.csv", "--yes", "--gate", "recommended"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.exception
    assert "What each would give away" in done.output and "->" in done.output
    assert (
        "every release must pass the gate: linear with 4.0% of people compromised; max_determined=0.01"
        in done.output
    )
    publishes_all(Series.open(tmp_path / "s"), views)


@pytest.mark.skipif(WAGES is None, reason="REPUBLISH_WAGES names no folder of the panel of wages")
@pytest.mark.parametrize("given", [1, 7])
def test_what_is_recommended_publishes_seven_years_of_wages(tmp_path: Path, given: int) -> None:
    assert WAGES is not None
    views = [pl.read_csv(path) for path in sorted(Path(WAGES).rglob("*.csv"))]
    proposals = with_sensitive(with_identifier(propose(views[0]), views[0].columns[0]), "wage")
    schema = schema_from(proposals)
    found = recommend(views[:given], schema)
    series = Series.create(tmp_path / "s", schema, found.publisher, form=found.form, gate=found.gate)
    publishes_all(series, views)
