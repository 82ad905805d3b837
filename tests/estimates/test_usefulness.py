"""Errors of counts, tables and a regression of a release against the raw view."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import Category, Mondrian, Number, Schema, Series
from republish.estimates.usefulness import MOST_ROWS, Usefulness, usefulness_of
from republish.microdata import read_view
from republish.release.forms import TwoTables

SCHEMA = Schema("id", [Number("age"), Category("sex")], Category("dx"))


def people(rows: int = 200) -> pl.DataFrame:
    """The old have gout, the young the flu."""
    age = np.arange(rows) % 60 + 20
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": age,
            "sex": ["f" if i % 2 else "m" for i in range(rows)],
            "dx": np.where(age > 50, "gout", "flu"),
        }
    )


def measured(folder: Path, k: int, schema: Schema = SCHEMA, form: TwoTables | None = None) -> Usefulness:
    made = Series.create(folder / f"k{k}", schema, Mondrian(k=k), seed=1, form=form)
    view = people().select(*schema.columns)
    made.publish(view)
    found = usefulness_of(made.release(1), read_view(view, schema))
    assert found is not None
    recorded = made.records[-1].payload["usefulness"]
    assert recorded["count_error"] == pytest.approx(found.count_error)
    return found


def test_exact_rows_have_no_error(tmp_path: Path) -> None:
    found = measured(tmp_path, 1)
    assert (found.count_error, found.value_count_error) == (0.0, 0.0)
    assert [one.error for one in found.tables] == [0.0, 0.0]
    assert found.regression is not None
    assert found.regression.error == pytest.approx(0.0, abs=1e-9)
    assert found.regression.held == found.regression.coefficients == 2


def test_coarser_groups_are_further_off(tmp_path: Path) -> None:
    fine, coarse = measured(tmp_path, 2), measured(tmp_path, 80)
    assert coarse.count_error > fine.count_error
    assert max(one.error for one in coarse.tables) > max(one.error for one in fine.tables)


def test_the_worst_table_comes_first_and_says_what_independence_would_cost(tmp_path: Path) -> None:
    tables = measured(tmp_path, 80).tables
    assert [one.column for one in tables] == ["age", "sex"]
    assert tables[0].independent == pytest.approx(0.458, abs=0.001)
    assert tables[1].independent == pytest.approx(0.015, abs=0.001)


def test_two_tables_are_measured_too(tmp_path: Path) -> None:
    found = measured(tmp_path, 20, form=TwoTables(k=5))
    assert found.value_count_error is not None and found.value_count_error > found.count_error


def test_a_number_is_regressed_as_it_is(tmp_path: Path) -> None:
    schema = Schema("id", [Category("sex")], Number("age"))
    found = measured(tmp_path, 2, schema).regression
    assert found is not None and (found.response, found.columns) == ("age", ("sex",))


def test_without_a_sensitive_column_there_are_counts_alone(tmp_path: Path) -> None:
    found = measured(tmp_path, 2, Schema("id", [Number("age")], None))
    assert (found.value_count_error, found.tables, found.regression) == (None, (), None)


def test_an_empty_release_has_no_errors(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "e", SCHEMA, Mondrian(k=2), seed=1)
    made.publish(people().head(0), meant=["fewer-rows"])
    assert "usefulness" not in made.records[-1].payload


def test_no_value_is_named(tmp_path: Path) -> None:
    assert "gout" not in str(measured(tmp_path, 5)) and "flu" not in str(measured(tmp_path, 6))


def test_a_large_view_is_measured_in_a_dry_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_ROWS == 100_000
    monkeypatch.setattr("republish.publishing.one_process.MOST_ROWS", 100)
    made = Series.create(tmp_path / "l", SCHEMA, Mondrian(k=2), seed=1)
    assert made.publish(people(), dry_run=True).usefulness is not None
    assert made.publish(people()).usefulness is None
