"""People and values in two tables: what is written, what is read back, and what neither table tells."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import Category, Number, Schema, TwoTables, read_view
from republish.errors import LedgerError, PolicyError, ViewError
from republish.grouping import SUPPRESSED, Grouping, Regions
from republish.release.domains import Scales
from republish.release.forms import form_from
from republish.release.two_tables import (
    TwoTableRelease,
    build_two_tables,
    counted_out,
    read_release,
    stored_counterfeits,
    stored_values,
)
from republish.secret import Secret

SCHEMA = Schema("id", [Number("age"), Category("sex")], "dx", insensitive=["ward"])
SECRET = Secret.from_text("people and values in two tables")
VIEW = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d", "e", "f"],
        "age": [20, 21, 22, 40, 41, 42],
        "sex": ["f", "f", "m", "m", "f", "m"],
        "dx": ["flu", "gout", "flu", None, "gout", "flu"],
        "ward": ["A", "A", "B", "B", "A", "B"],
    }
)
CELLS = Grouping(
    np.array([0, 0, 0, 1, 1, 1], dtype=np.int32),
    regions=Regions(np.array([[20.0, 0.0], [31.0, 0.0]]), np.array([[30.0, 1.0], [42.0, 1.0]])),
)
BATCHES = Grouping(
    np.array([0, 1, 0, 1, 0, SUPPRESSED], dtype=np.int32), np.array([1], dtype=np.int32), np.array([1])
)


@pytest.fixture
def built() -> TwoTableRelease:
    view = read_view(VIEW, SCHEMA).pseudonymous(SECRET)
    place = {
        age: row for row, age in enumerate(view.points[0].tolist())
    }  # rows are in the order of pseudonyms
    rows = [place[age] for age in VIEW["age"].to_list()]
    batches = Grouping(_at(BATCHES.group, rows), BATCHES.counterfeit_group, BATCHES.counterfeit_code)
    cells = Grouping(_at(CELLS.group, rows), regions=CELLS.regions)
    release, _ = build_two_tables(view, batches, cells, SECRET, 1)
    return release


def _at(group, rows):
    found = np.empty(len(rows), dtype=np.int32)
    found[rows] = group
    return found


def test_people_have_cells_insensitive_columns_and_a_batch_and_no_value(built: TwoTableRelease) -> None:
    table = built.table()
    assert table.columns == ["group", "age", "sex", "ward", "batch"]
    cells = table.group_by("age").len().sort("age").rows()
    assert cells == [("[20-30]", 3), ("[31-42]", 3)]
    assert sorted(table["ward"].to_list()) == ["A", "A", "A", "B", "B", "B"]
    assert table["batch"].null_count() == 1


def test_values_are_counted_by_batch_counterfeits_included(built: TwoTableRelease) -> None:
    batches = built.batches()
    assert batches.columns == ["batch", "dx", "count"]
    parts = [part.select("dx", "count").rows() for part in batches.partition_by("batch")]
    assert sorted(parts, key=len) == [[("flu", 2), ("gout", 1)], [(None, 1), ("flu", 1), ("gout", 1)]]
    assert batches["count"].sum() == 6
    assert sorted(built.counterfeits.tolist()) == [0, 1]


def test_what_is_written_is_read_back(built: TwoTableRelease, tmp_path: Path) -> None:
    built.write(tmp_path, {"release": 1})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "about.json",
        "counterfeits.csv",
        "people.csv",
        "people.parquet",
        "read_release.R",
        "values.csv",
        "values.parquet",
    ]
    assert json.loads((tmp_path / "about.json").read_text()) == {"release": 1}
    assert pl.read_parquet(tmp_path / "people.parquet").columns == [
        "group",
        "age_lo",
        "age_hi",
        "sex",
        "ward",
        "batch",
    ]
    found = read_release(tmp_path, SCHEMA, Scales.of(read_view(VIEW, SCHEMA)))
    assert isinstance(found, TwoTableRelease)
    assert found.table().equals(built.table())
    assert found.batches().equals(built.batches())
    assert found.counterfeits.tolist() == built.counterfeits.tolist()


def test_stored_values_are_rows_of_groups_and_values(built: TwoTableRelease, tmp_path: Path) -> None:
    built.write(tmp_path, {})
    rows = stored_values(tmp_path, ["group", "dx"])
    assert rows.columns == ["group", "dx"]
    assert rows.height == 6
    held = stored_counterfeits(tmp_path)
    assert held is not None
    assert held.columns == ["group", "count"]
    assert held["count"].to_list() == [1]


def test_a_damaged_table_is_said_to_be_damaged(built: TwoTableRelease, tmp_path: Path) -> None:
    built.write(tmp_path, {})
    (tmp_path / "values.parquet").write_bytes(b"nothing")
    with pytest.raises(LedgerError, match="missing or damaged; restore it from a backup"):
        read_release(tmp_path, SCHEMA, Scales.of(read_view(VIEW, SCHEMA)))


def test_counts_below_one_are_refused() -> None:
    with pytest.raises(ViewError, match="by a whole number of at least 1; 1 of its lines do not"):
        counted_out(pl.DataFrame({"batch": [1, 1], "dx": ["flu", "gout"], "count": [2, 0]}))


def test_a_one_table_release_is_both_of_its_sides() -> None:
    from republish import Mondrian, anonymize

    release = anonymize(VIEW, SCHEMA, Mondrian(k=2), seed=1)
    assert release.people is release
    assert release.values is release


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, None),
        ("one-table", None),
        ("two-tables", TwoTables()),
        ({"name": "two-tables", "k": 3}, TwoTables(3)),
        ({"name": "two-tables", "k": 1, "presence": "public"}, TwoTables(1, "public")),
        ({"name": "two-tables", "hide_batch": True}, TwoTables(hide_batch=True)),
    ],
)
def test_forms_are_read(given: object, found: TwoTables | None) -> None:
    assert form_from(given) == found
    if found is not None:
        assert form_from(found.document()) == found


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("three-tables", 'the form of a release is "one-table" or "two-tables"'),
        ({"name": "two-tables", "m": 3}, "has no setting m; it has k, presence and hide_batch"),
        ({"name": "two-tables", "hide_batch": 1}, "hide_batch must be true or false"),
        (
            {"name": "two-tables", "k": 1, "presence": "public", "hide_batch": True},
            "found k=1; choose a larger k",
        ),
        ({"name": "two-tables", "k": 1}, "say that this is no secret"),
        ({"name": "two-tables", "presence": "hidden"}, "presence must be protected or public"),
    ],
)
def test_forms_that_mean_nothing_are_refused(given: object, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        form_from(given)


def test_columns_called_as_those_of_two_tables_are_refused() -> None:
    with pytest.raises(PolicyError, match="rename batch"):
        TwoTables().require_fit(Schema("id", [Number("age")], "dx", insensitive=["batch"]))
    with pytest.raises(PolicyError, match="needs a sensitive column"):
        TwoTables().require_fit(Schema("id", [Number("age")]))
