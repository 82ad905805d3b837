from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import LedgerError
from republish.grouping import Grouping
from republish.hierarchies import Calendar, Hierarchy
from republish.microdata import Microdata, read_view
from republish.release.domains import Scales
from republish.release.release import Release, build_release
from republish.release.two_tables import read_release
from republish.schema import Category, Date, Number, Ordered, Schema
from republish.secret import Secret

SECRET = Secret(b"k" * 32)
SCHEMA = Schema("id", [Number("age"), Category("city")], "dx", ["note"])


def view_of(**columns: Any) -> Microdata:
    base = {
        "id": ["SECRETCELL1", "SECRETCELL2", "SECRETCELL3", "SECRETCELL4"],
        "age": [51, 52, 30, None],
        "city": ["x", "y", "z", "z"],
        "dx": ["flu", "cold", None, "flu"],
        "note": ["n1", "n2", "n3", "n4"],
    }
    return read_view(pl.DataFrame(base | columns), SCHEMA)


def pairs(*groups: int) -> Grouping:
    return Grouping(np.array(groups, dtype=np.int32))


def read_back(release: Release, view: Microdata, folder: Path) -> Release:
    release.write(folder, {})
    return read_release(folder, release.schema, Scales.of(view))


def same(one: Release, other: Release) -> bool:
    arrays = all(
        np.array_equal(getattr(a, f.name), getattr(b, f.name), equal_nan=f.name in ("low", "high"))
        for a, b in zip(one.cells, other.cells, strict=True)
        for f in fields(a)
        if f.name != "axis"
    )
    return (
        arrays
        and np.array_equal(one.group, other.group)
        and np.array_equal(one.counterfeits, other.counterfeits)
        and one.rest.equals(other.rest)
        and one.table().equals(other.table())
        and one.frame().equals(other.frame())
    )


def test_a_release_holds_cells_for_the_groups_and_the_rest_as_it_is() -> None:
    release, _ = build_release(view_of(), pairs(0, 0, 1, 1), SECRET, 1)
    table = release.table()
    assert table.columns == ["group", "age", "city", "note", "dx"]
    assert sorted(table.drop("group").rows(), key=str) == sorted(
        [
            ("[51-52]", "{x|y}", "n1", "flu"),
            ("[51-52]", "{x|y}", "n2", "cold"),
            ("*", "z", "n3", None),
            ("*", "z", "n4", "flu"),
        ],
        key=str,
    )
    assert sorted(table["group"]) == [1, 1, 2, 2]


def test_typed_columns_stand_beside_the_readable_ones() -> None:
    release, _ = build_release(view_of(), pairs(0, 0, 1, 1), SECRET, 1)
    assert release.frame().schema == {
        "group": pl.Int32,
        "age_lo": pl.Int64,
        "age_hi": pl.Int64,
        "age_missing": pl.Boolean,
        "city": pl.List(pl.String),
        "note": pl.String,
        "dx": pl.String,
    }


def test_every_row_is_told_its_group_and_suppressed_rows_none() -> None:
    release, group_of_row = build_release(view_of(), pairs(0, -1, 0, -1), SECRET, 1)
    assert group_of_row.tolist() == [1, 0, 1, 0]
    assert release.rows == 2
    assert release.table()["age"].to_list() == ["[30-51]"] * 2


def test_groups_are_summed_up() -> None:
    release, _ = build_release(view_of(), pairs(0, 0, 0, 0), SECRET, 1)
    assert release.groups().rows() == [(1, 4, 0, "*", "{x|y|z}")]
    assert release.penalties().tolist() == [1.0]


def test_counterfeits_have_a_value_and_the_insensitive_cells_of_someone(tmp_path: Path) -> None:
    view = view_of()
    grouping = Grouping(np.array([0, 0, 1, 1], np.int32), np.array([1], np.int32), np.array([1], np.int32))
    release, group_of_row = build_release(view, grouping, SECRET, 1)
    false_group = int(group_of_row[2])
    assert release.rows == 5
    assert release.counterfeits[false_group - 1] == 1
    assert release.sizes[false_group - 1] == 3
    assert set(release.rest["note"]) <= {"n1", "n2", "n3", "n4"}
    assert sorted(release.rest["dx"].fill_null("-")) == ["-", "cold", "cold", "flu", "flu"]
    assert same(release, read_back(release, view, tmp_path))
    assert (tmp_path / "counterfeits.csv").read_text() == f"group,count\n{false_group},1\n"


def test_a_folder_holds_what_may_leave_and_nothing_else(tmp_path: Path) -> None:
    release, _ = build_release(view_of(), pairs(0, 0, 1, 1), SECRET, 1)
    release.write(tmp_path, {"release": 1, "note": "é"})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "about.json",
        "read_release.R",
        "table.csv",
        "table.parquet",
    ]
    assert json.loads((tmp_path / "about.json").read_text(encoding="utf-8")) == {"release": 1, "note": "é"}


def test_no_identifier_is_written(tmp_path: Path) -> None:
    view = view_of().pseudonymous(SECRET)
    assert view.people is not None
    release, _ = build_release(view, pairs(0, 0, 1, 1), SECRET, 1)
    release.write(tmp_path, {})
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert b"SECRETCELL" not in content
        assert not any(person.tobytes() in content for person in view.people)


def test_the_csv_file_reads_as_it_should(tmp_path: Path) -> None:
    cells = ['a"b', "c,d", "e\nf", "g|h"]
    release, _ = build_release(view_of(city=cells, age=[1, 1, 1, 1]), pairs(0, 0, 0, 0), SECRET, 1)
    release.write(tmp_path, {})
    table = pl.read_csv(tmp_path / "table.csv", infer_schema=False)
    assert table["city"].to_list() == ['{a"b|c,d|e\nf|g\\|h}'] * 4
    assert sorted(table["dx"].fill_null("-")) == ["-", "cold", "flu", "flu"]


class TestOrder:
    """Neither rows nor group numbers tell of the source or of another release."""

    rows = 400

    def view(self) -> Microdata:
        schema = Schema("id", [Number("age")], "dx", ["serial"])
        serial = list(range(self.rows))
        table = pl.DataFrame({"id": serial, "age": serial, "dx": ["flu"] * self.rows, "serial": serial})
        return read_view(table, schema)

    def serials(self, secret: Secret, *label: object) -> np.ndarray[Any, Any]:
        grouping = Grouping(np.arange(self.rows, dtype=np.int32) // 4)
        return build_release(self.view(), grouping, secret, *label)[0].rest["serial"].to_numpy()

    def test_the_seed_does_not_undo_the_order(self) -> None:
        seed = 7
        published = self.serials(SECRET, seed, 1)
        generator = np.random.default_rng(seed)
        guesses = [generator.permutation(self.rows) for _ in range(3)]
        guesses += [Secret(bytes(32)).permutation(self.rows, seed, 1, "rows"), np.arange(self.rows)]
        guesses += [Secret.from_text(f"{seed:016d}").permutation(self.rows, seed, 1, "rows")]
        for order in guesses:
            undone = np.empty(self.rows, dtype=np.int64)
            undone[order] = published
            for attempt in (undone, published[order]):
                assert abs(np.corrcoef(attempt, np.arange(self.rows))[0, 1]) < 0.25

    def test_every_release_has_its_own_order(self) -> None:
        first, second = self.serials(SECRET, 1), self.serials(SECRET, 2)
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.25
        assert np.array_equal(first, self.serials(SECRET, 1))

    def test_group_numbers_carry_nothing(self) -> None:
        grouping = Grouping(np.arange(self.rows, dtype=np.int32) // 4)
        _, first = build_release(self.view(), grouping, SECRET, 1)
        _, second = build_release(self.view(), grouping, SECRET, 2)
        assert abs(np.corrcoef(first, np.arange(self.rows))[0, 1]) < 0.25
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.25

    def test_the_order_of_the_source_leaves_no_trace(self) -> None:
        table = pl.DataFrame({"id": ["a", "b", "c", "d"], "age": [1, 2, 3, 4], "dx": ["f", "g", "f", "g"]})
        schema = Schema("id", [Number("age")], "dx")
        group = {1: 0, 2: 0, 3: 1, 4: 1}
        tables = []
        for source in (table, table.reverse(), table.sample(fraction=1, shuffle=True, seed=3)):
            view = read_view(source, schema).pseudonymous(SECRET)
            grouping = pairs(*(group[int(age)] for age in view.points[0]))
            tables.append(build_release(view, grouping, SECRET, 1)[0].frame())
        assert tables[0].equals(tables[1])
        assert tables[0].equals(tables[2])


def test_an_empty_view_gives_an_empty_release(tmp_path: Path) -> None:
    view = read_view(pl.DataFrame({name: [] for name in SCHEMA.columns}), SCHEMA)
    release, _ = build_release(view, pairs(), SECRET, 1)
    assert (release.rows, release.group_count) == (0, 0)
    assert same(release, read_back(release, view, tmp_path))
    assert (tmp_path / "table.csv").read_text() == "group,age,city,note,dx\n"


def test_one_row_gives_one_group(tmp_path: Path) -> None:
    view = read_view(
        pl.DataFrame({"id": ["a"], "age": [1], "city": ["x"], "note": [None], "dx": ["f"]}), SCHEMA
    )
    release, _ = build_release(view, pairs(0), SECRET, 1)
    assert release.table().rows() == [(1, "1", "x", None, "f")]
    assert same(release, read_back(release, view, tmp_path))


def test_sensitive_numbers_are_written_whole_where_they_are(tmp_path: Path) -> None:
    schema = Schema(None, [Number("age")], Number("wage"))
    for wages, dtype in (([10, None], pl.Int64), ([10.5, 1], pl.Float64)):
        view = read_view(pl.DataFrame({"age": [1, 2], "wage": wages}, strict=False), schema)
        release, _ = build_release(view, pairs(0, 0), SECRET, 1)
        assert release.rest["wage"].dtype == dtype
        assert same(release, read_back(release, view, tmp_path))


@pytest.mark.parametrize("content", [None, b"PAR1"])
def test_a_damaged_release_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "table.parquet").write_bytes(content)
    with pytest.raises(LedgerError, match="missing or damaged"):
        read_release(tmp_path, SCHEMA, Scales.of(view_of()))


WIDE = Schema(
    None,
    [
        Number("n"),
        Date("d"),
        Ordered("o", order=("low", "mid", "high")),
        Category("c"),
        Category("k", domain=("z", "|", "\\", "a")),
        Category("h", hierarchy=Hierarchy((("p", "x", "*"), ("q", "x", "*"), ("r", "y", "*")))),
        Date("y", hierarchy=Calendar(("month", "year"))),
    ],
    "s",
    ["i"],
)
DAYS = st.dates().map(str)
ROW = st.tuples(
    st.none() | st.integers(-9, 9) | st.sampled_from([0.1, -2.5, 1e-7, 1e15]),
    st.none() | DAYS,
    st.sampled_from([None, "low", "mid", "high"]),
    st.sampled_from([None, "a", "b|c", "\\", '"', "e\nf", "é", "{a}", "[1-2]", ","]),
    st.sampled_from([None, "z", "|", "\\", "a"]),
    st.sampled_from([None, "p", "q", "r"]),
    st.none() | DAYS,
    st.sampled_from([None, "flu", "cold", ","]),
    st.none() | st.booleans(),
)
TYPES = {"n": pl.Float64, "i": pl.Boolean} | dict.fromkeys("dockhys", pl.String)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(ROW, st.integers(0, 3)), min_size=1, max_size=12),
    st.lists(st.integers(0, 3), max_size=3),
)
def test_a_release_comes_back_from_its_files(rows: list[tuple[Any, int]], false_groups: list[int]) -> None:
    table = pl.DataFrame(
        [row for row, _ in rows],
        schema=["n", "d", "o", "c", "k", "h", "y", "s", "i"],
        orient="row",
        strict=False,
        schema_overrides=TYPES,
    )
    view = read_view(table, WIDE)
    _, group = np.unique([g for _, g in rows], return_inverse=True)
    false = np.array([g % (int(group.max()) + 1) for g in false_groups], dtype=np.int32)
    release, group_of_row = build_release(
        view, Grouping(group.astype(np.int32), false, np.zeros_like(false)), SECRET, 1
    )
    with TemporaryDirectory() as folder:
        again = read_back(release, view, Path(folder))
        scales = Scales.from_json(json.loads(json.dumps(Scales.of(view).to_json(WIDE))), WIDE)
        later = read_release(Path(folder), WIDE, scales)
    assert same(release, again)
    assert same(release, later)
    for cells, points in zip(later.cells, view.points, strict=True):
        assert cells.cover(group_of_row - 1, points).all()
    assert np.array_equal(release.penalties(), later.penalties())
