"""Views that differ from the last one: what is found of each column, and what is expected by default."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from republish import Category, Date, Number, Schema
from republish.expect import EARLIER, Deviation, Expect, Limit, Margins, compare
from republish.expect.limits import NAMES
from republish.microdata import read_view

SCHEMA = Schema(
    "id",
    [Number("weight"), Number("age"), Category("town"), Date("day"), Date("born")],
    "dx",
    insensitive=["ward", "seen"],
)
ROWS = 200
USUAL = Expect()


def born(later: int) -> list[object]:
    return [f"{1940 + later + i % 60}-03-01" for i in range(ROWS)]


def view(**other: list[object]) -> pl.DataFrame:
    columns: dict[str, list[object]] = {
        "id": [f"p{i}" for i in range(ROWS)],
        "weight": [50 + i % 40 for i in range(ROWS)],
        "age": [20 + i % 60 for i in range(ROWS)],
        "town": [f"t{i % 8}" for i in range(ROWS)],
        "day": ["2026-01-05"] * ROWS,
        "born": born(0),
        "seen": ["2026-01-05"] * ROWS,
        "dx": [f"d{i % 5}" for i in range(ROWS)],
        "ward": [str(i % 3 + 1) for i in range(ROWS)],
    }
    return pl.DataFrame(columns | other, strict=False)


def found(expect: Expect = USUAL, **other: list[object]) -> list[Deviation]:
    last, now = (Margins.of(read_view(one, SCHEMA)) for one in (view(), view(**other)))
    return list(compare(now, last, expect))


def test_the_same_view_again_is_as_expected() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("column", "cells", "check", "figure", "severity"),
    [
        ("weight", [None if i < 30 else 50 + i % 40 for i in range(ROWS)], "missing", 0.15, "warn"),
        ("weight", [None if i < 120 else 50 + i % 40 for i in range(ROWS)], "missing", 0.6, "refuse"),
        ("day", [None if i < 30 else "2026-01-05" for i in range(ROWS)], "missing", 0.15, "warn"),
        ("town", [f"t{i % 8}" if i >= 50 else "new" for i in range(ROWS)], "new_categories", 0.25, "warn"),
        ("town", [f"T{i % 8}" for i in range(ROWS)], "new_categories", 1.0, "refuse"),
        ("dx", [f"d{i % 5}" if i % 2 else "d0" for i in range(ROWS)], "shift", 0.337, "warn"),
        ("dx", ["d0"] * ROWS, "shift", 0.737, "refuse"),
        ("age", [50] * ROWS, "shift", 0.8, "refuse"),
        ("age", [20 if i % 2 else 79 for i in range(ROWS)], "shift", 0.64, "refuse"),
        ("age", [50 if i % 2 else 20 + i % 60 for i in range(ROWS)], "shift", 0.34, "warn"),
        ("born", born(100), "shift", 0.86, "refuse"),
        ("born", ["1970-01-01"] * ROWS, "shift", 0.8, "refuse"),
        ("seen", ["1926-01-05"] * ROWS, "shift", 1.0, "refuse"),
        ("weight", [(50 + i % 40) * 2.5 for i in range(ROWS)], "units", 2.5, "warn"),
        ("weight", [(50 + i % 40) / 1000 for i in range(ROWS)], "units", 1000, "refuse"),
        ("ward", [(i % 3 + 1) * 100 for i in range(ROWS)], "units", 100, "refuse"),
        ("weight", [999 if i == 7 else 50 + i % 40 for i in range(ROWS)], "extremes", 24, "warn"),
        ("weight", [-999 if i == 7 else 50 + i % 40 for i in range(ROWS)], "extremes", 27, "warn"),
        ("ward", ["abc"[i % 3] for i in range(ROWS)], "types", 1, "warn"),
    ],
)
def test_what_is_found(column: str, cells: list[object], check: str, figure: float, severity: str) -> None:
    one = next(one for one in found(**{column: cells}) if one.check == check)
    assert one.figure == pytest.approx(figure, rel=0.1)
    assert one.severity == severity
    assert one.column == (None if check == "types" else column)
    assert column in one.sentence()


@pytest.mark.parametrize("cells", [["SECRET"] * ROWS, [f"SECRET{i}" for i in range(ROWS)]])
def test_no_cell_is_shown(cells: list[object]) -> None:
    every = found(Expect(**{name: Limit(refuse=0.0) for name in NAMES}), dx=cells, town=cells, ward=cells)
    assert {"shift", "new_categories", "types"} <= {one.check for one in every}
    assert "SECRET" not in json.dumps([one.as_dict() for one in every])


def test_of_few_rows_columns_are_not_compared() -> None:
    few = [Margins.of(read_view(view().head(99).with_columns(dx=pl.lit(dx)), SCHEMA)) for dx in "ab"]
    assert compare(few[1], few[0], Expect()) == ()


def test_where_nothing_was_kept_nothing_is_compared() -> None:
    assert compare(Margins.of(read_view(view(), SCHEMA)), None, Expect()) == ()


def test_numbers_that_went_apart_have_no_other_unit() -> None:
    spread = [1 if i < 70 else 5_000 if i > 130 else 70 for i in range(ROWS)]
    assert [one.check for one in found(weight=spread)] == ["shift", "extremes"]


def test_another_unit_is_found_once() -> None:
    assert [one.check for one in found(weight=[(50 + i % 40) / 1000 for i in range(ROWS)])] == ["units"]


@pytest.mark.parametrize(
    "drifted",
    [
        {"age": [21 + i % 60 for i in range(ROWS)]},  # everybody is a year older
        {"day": ["2027-01-04"] * ROWS, "seen": ["2028-01-03"] * ROWS},  # visits of another year
        {"born": born(3)},
        {"weight": [0] * ROWS},
    ],
    ids=["a year older", "later visits", "a younger cohort", "from zero to zero"],
)
def test_what_drifts_is_as_expected(drifted: dict[str, list[object]]) -> None:
    last = {"weight": [0] * ROWS} if "weight" in drifted else {}
    before, now = (Margins.of(read_view(view(**one), SCHEMA)) for one in (last, drifted))
    assert list(compare(now, before, USUAL)) == []


def test_numbers_that_were_mostly_zero_are_compared_by_their_sign() -> None:
    zeros, later = ([0 if i % 10 < share else 1 + i % 3 for i in range(ROWS)] for share in (9, 2))
    before, now = (Margins.of(read_view(view(weight=one), SCHEMA)) for one in (zeros, later))
    assert [(one.check, one.severity) for one in compare(now, before, USUAL)] == [("shift", "refuse")]


def test_dates_that_an_earlier_version_did_not_count_are_not_compared() -> None:
    document = Margins.of(read_view(view(), SCHEMA)).document()
    for column in document["columns"].values():
        column.pop("years", None)
    document["columns"]["seen"]["labels"] = {"2026-01-05": ROWS}
    moved = Margins.of(read_view(view(born=born(100), seen=["1926-01-05"] * ROWS), SCHEMA))
    assert compare(moved, Margins.from_document(document), USUAL) == ()


def test_of_dates_only_five_years_are_kept() -> None:
    kept = Margins.of(read_view(view(), SCHEMA)).document()["columns"]
    assert kept["day"] == {"cells": ROWS, "missing": 0, "looks": "dates", "years": [(2025, ROWS)]}
    assert kept["seen"] == kept["day"]
    assert [year for year, _ in kept["born"]["years"]] == list(range(1940, 2000, 5))


def test_an_earlier_series_is_refused_nothing_new() -> None:
    worst = found(EARLIER, dx=["x"] * ROWS, weight=[None] * ROWS, town=["T"] * ROWS)
    assert {one.severity for one in worst} == {"warn"}


def test_margins_are_read_as_they_were_written(tmp_path: Path) -> None:
    margins = Margins.of(read_view(view(weight=[None, *range(-1, ROWS - 2)]), SCHEMA))
    file = tmp_path / "margins.json"
    file.write_text(json.dumps(margins.document()))
    assert Margins.from_document(json.loads(file.read_text())) == margins


def test_margins_of_parts_are_those_of_the_whole() -> None:
    whole = view(weight=[None, *range(-1, ROWS - 2)])
    parts = [Margins.of(read_view(whole[at : at + 70], SCHEMA)) for at in range(0, ROWS, 70)]
    together, once = Margins.together(parts).document(), Margins.of(read_view(whole, SCHEMA)).document()
    assert {**together, "columns": {n: _sorted(c) for n, c in together["columns"].items()}} == {
        **once,
        "columns": {n: _sorted(c) for n, c in once["columns"].items()},
    }


def _sorted(column: dict[str, object]) -> dict[str, object]:
    return column | {kept: sorted(column[kept]) for kept in ("sizes", "years") if kept in column}  # type: ignore[call-overload]


def test_quartiles_are_right_to_a_few_percent() -> None:
    numbers = Margins.of(read_view(view(weight=list(range(1, ROWS + 1))), SCHEMA)).columns["weight"]
    assert numbers.quartiles == pytest.approx([50, 100, 150], rel=0.05)
