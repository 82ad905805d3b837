"""Series of other tools: cells in many spellings, who is put into which group, and the attacks on them."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.excluding.test_against_twins import truthful
from attacks.matching.test_qi_matching import fits_of
from publishers.test_contract import SCHEMA, SECRET, people
from republish import (
    BangA,
    Category,
    Date,
    MInvariance,
    Mondrian,
    Number,
    Ordered,
    PolicyError,
    Redaction,
    Schema,
    SchemaError,
    ViewError,
    read_view,
)
from republish.attacks import Adversary, attack
from republish.attacks.excluding.differencing import differencing
from republish.attacks.matching.fitting import Fits
from republish.attacks.matching.other_tools import assigned, foreign_history, read_foreign, tables_in
from republish.attacks.matching.qi_matching import matched
from republish.memory.memory import Memory
from republish.publishers import Publisher
from republish.release.release import Release, build_release


def published(frame: pl.DataFrame, publisher: Publisher) -> tuple[Release, np.ndarray, np.ndarray]:
    view = read_view(frame, SCHEMA).pseudonymous(SECRET)
    grouping = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    release, group_of_row = build_release(view, grouping, SECRET, 1)
    return release, group_of_row, view.points


@pytest.mark.parametrize("file", ["table.csv", "table.parquet"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(
    "publisher",
    [Mondrian(4), MInvariance(2), BangA(k=4, compact=False)],
    ids=["mondrian", "m-invariance", "banga"],
)
def test_our_own_tables_are_read_as_those_of_another_tool(
    publisher: Publisher, missing: float, file: str, tmp_path: Path
) -> None:
    frame = people(60, 2, missing).with_columns(dx=pl.Series(["flu", "cold", "hiv", "none", "asthma"] * 12))
    release, _, points = published(frame, publisher)
    release.write(tmp_path, {})
    read = read_foreign(tmp_path / file, SCHEMA, [cells.axis for cells in release.cells])
    numbers = list(range(release.group_count))
    if file.endswith("csv"):  # where numbers are texts, they are sorted as such
        numbers.sort(key=lambda g: str(g + 1))
    assert read.sizes.tolist() == release.sizes[numbers].tolist()
    ours = fits_of(release, points)
    theirs = [{numbers[g] for g in fit} for fit in fits_of(read, points)]
    if file.endswith("parquet") or not missing:
        assert theirs == ours
    else:  # in text the root of a hierarchy and a cell with missing values look the same
        assert all(own <= read_one for own, read_one in zip(ours, theirs, strict=True))


ONE = Schema("id", [Number("age")], "dx")


def raw(ages: list[int], values: list[str], names: list[str] | None = None) -> pl.DataFrame:
    return pl.DataFrame({"id": names or [f"p{i}" for i in range(len(ages))], "age": ages, "dx": values})


TABLE = pl.DataFrame({"age": ["[20-30]", "[20-30]", "[25-40]", "[25-40]"], "dx": ["a", "b", "a", "c"]})


def test_true_values_say_where_somebody_must_be() -> None:
    found = foreign_history([TABLE], ONE, [raw([20, 28, 27, 40], ["a", "b", "a", "c"])])
    assert (found.left_out, found.elsewhere, found.nobodys) == ((0,), (1,), (0,))
    # Who is 27 fits both groups with her value; the one row of it in the first group is needed for who is 20.
    assert np.diff(found.history.member_start).tolist() == [2, 2]


def test_whoever_finds_no_row_was_left_out() -> None:
    found = foreign_history([TABLE], ONE, [raw([20, 28, 27, 40, 70], ["a", "b", "a", "c", "a"])])
    assert (found.left_out, found.nobodys) == ((1,), (0,))
    assert found.history.people == 5


def test_rows_that_nobody_takes_belong_to_nobody() -> None:
    found = foreign_history([TABLE], ONE, [raw([20, 28, 27], ["a", "b", "a"])])
    assert (found.left_out, found.nobodys) == ((0,), (1,))
    assert int(found.history.nobodys.sum()) == 1


def test_starred_rows_count_as_suppressed() -> None:
    table = pl.concat([TABLE, pl.DataFrame({"age": ["*"], "dx": ["b"]})])
    found = foreign_history([table], ONE, [raw([20, 28, 27, 40, 35], ["a", "b", "a", "c", "b"])])
    assert found.left_out == (1,)
    assert found.history.groups == 2


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=80)
def test_as_many_rows_as_possible_are_taken(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, rows, groups, values = rng.integers(1, 6), rng.integers(1, 6), 3, 2
    codes, row_code = rng.integers(0, values, count), rng.integers(0, values, rows)
    row_group = rng.integers(0, groups, rows)
    holds = rng.random((count, groups)) < 0.6
    person, group = np.nonzero(holds)
    order = rng.permutation(count)
    place = np.argsort(order)
    fits = Fits(order, group, place[person], place[person] + 1)
    found, elsewhere = assigned(fits, codes, row_group, row_code)

    def can(p: int, row: int) -> bool:
        return bool(holds[p, row_group[row]] and codes[p] == row_code[row])

    slots = list(range(rows)) + [-1] * int(count)
    best = max(
        sum(row >= 0 and can(p, row) for p, row in enumerate(chosen))
        for chosen in set(permutations(slots, int(count)))
    )
    assert np.count_nonzero(found >= 0) == best
    for p in np.flatnonzero(found >= 0):
        assert holds[p, found[p]]
    for g in range(groups):
        for code in range(values):
            taken = np.count_nonzero((found == g) & (codes == code))
            assert taken <= np.count_nonzero((row_group == g) & (row_code == code))
    several = [len({row_group[r] for r in range(rows) if can(p, r)}) > 1 for p in range(count)]
    assert elsewhere == sum(several)


@pytest.mark.parametrize(
    "text, held",
    [
        ("30", {30}),
        ("[30-40]", {30, 35, 40}),
        ("[30..40]", {30, 35, 40}),
        ("30-40", {30, 35, 40}),
        ("[30, 40)", {30, 35}),
        ("[30, 40[", {30, 35}),
        ("]30, 40]", {35, 40}),
        ("(30;40]", {35, 40}),
        ("3*", {30, 35}),
        ("[-5..30]", {-5, 5, 30}),
        ("<=30", {-5, 5, 30}),
        ("<= -9", set()),
        (">=35", {35, 40}),
        ("<30", {-5, 5}),
        (">30", {35, 40}),
        ("(30-40]", {35, 40}),
        ("", {None}),
    ],
)
def test_intervals_in_many_spellings(text: str, held: set) -> None:
    ages = [-5, 5, 30, 35, 40, None]
    view = read_view(pl.DataFrame({"id": list("abcdef"), "age": ages, "dx": ["x"] * 6}), ONE)
    table = pl.DataFrame({"age": [text, "[900-901]"], "dx": ["x", "x"]})
    release = read_foreign(table, ONE, view.axes)
    of_text = 0 if release.cells[0].low[0] != 900 else 1
    assert {
        age for age, fit in zip(ages, fits_of(release, view.points), strict=True) if of_text in fit
    } == held


MANY = Schema(
    "id",
    [
        Category("town"),
        Category("zip", hierarchy=Redaction()),
        Ordered("degree", order=("pre-school", "school", "college")),
        Date("seen"),
    ],
    "dx",
)
VIEW = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "town": ["north", "nord|t", "soest", "south"],
        "zip": ["12030", "12031", "12130", "90000"],
        "degree": ["pre-school", "school", "college", "school"],
        "seen": ["2026-01-01", "2026-01-05", "2026-02-01", "2026-03-01"],
        "dx": ["x", "y", "z", "x"],
    }
)


@pytest.mark.parametrize(
    "cells, held",
    [
        (("*", "*", "*", "*"), "abcd"),
        (("{north|nord\\|t}", "*", "*", "*"), "ab"),
        (("so***", "*", "*", "*"), "cd"),
        (("elsewhere", "*", "*", "*"), ""),
        (("*", "1203*", "*", "*"), "ab"),
        (("*", "12***", "*", "*"), "abc"),
        (("*", "{1203*|12130}", "*", "*"), "abc"),
        (("*", "*", "[pre-school-school]", "*"), "abd"),
        (("*", "*", "[school..college]", "*"), "bcd"),
        (("*", "*", "*", "[2026-01-05..2026-02-01]"), "bc"),
        (("*", "*", "*", "2026-03-01"), "d"),
        (("*", "*", "*", ">=2026-02-01"), "cd"),
        (("{north|south}", "1203*", "pre-school", "2026-01-01"), "a"),
    ],
)
def test_cells_of_every_kind(cells: tuple[str, ...], held: str) -> None:
    view = read_view(VIEW, MANY)
    names = [column.name for column in MANY.quasi_identifiers]
    table = pl.DataFrame({**dict(zip(names, [[cell] for cell in cells], strict=True)), "dx": ["x"]})
    release = read_foreign(table, MANY, view.axes)
    fits = fits_of(release, view.points)
    assert "".join(name for name, fit in zip("abcd", fits, strict=True) if fit) == held


@pytest.mark.parametrize(
    "column, cell",
    [
        ("seen", ">=soon"),
        ("zip", "70***"),
        ("degree", "[school-doctor]"),
        ("seen", "2026-13-01"),
        ("seen", "March"),
    ],
)
def test_cells_that_are_none_are_counted_and_not_shown(column: str, cell: str) -> None:
    cells = {"town": "*", "zip": "*", "degree": "*", "seen": "*", column: cell}
    table = pl.DataFrame({**{name: [text] for name, text in cells.items()}, "dx": ["x"]})
    with pytest.raises(SchemaError, match=f"column {column}: 1 different cells") as problem:
        read_foreign(table, MANY, read_view(VIEW, MANY).axes)
    assert cell not in str(problem.value)


def weekly(weeks: int = 3) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """Raw views of people who come and go, and tables that some other tool made: ages in decades, nothing else."""
    rng = np.random.default_rng(8)
    ages, values = rng.integers(20, 60, 60), rng.choice(["flu", "cold", "hiv", "none"], 60)
    views, tables = [], []
    for week in range(weeks):
        there = np.flatnonzero(rng.random(60) < 0.85)
        values[rng.random(60) < 0.05] = "flu"
        views.append(raw(ages[there].tolist(), values[there].tolist(), [f"person {i}" for i in there]))
        wide = 10 if week % 2 else 8
        low = ages[there] // wide * wide
        cells = [f"[{a}-{a + wide - 1}]" for a in low.tolist()]
        tables.append(
            pl.DataFrame({"age": cells, "dx": values[there]}).sample(fraction=1.0, shuffle=True, seed=week)
        )
    return tables, views


def test_where_groups_are_apart_everybody_is_put_where_they_were() -> None:
    tables, views = weekly(1)
    found = foreign_history(tables, ONE, views)
    history, sighting = found.history, found.sightings[0]
    decade = np.empty(history.people, dtype=np.int64)
    decade[sighting.person] = sighting.points[0] // 8
    assert history.groups == len(np.unique(decade))
    for g in range(history.groups):
        here = history.person[history.member_start[g] : history.member_start[g + 1]]
        assert set(here) == set(np.flatnonzero(decade == decade[here[0]]))


def test_every_attack_can_be_made() -> None:
    tables, views = weekly()
    found = foreign_history(tables, ONE, views)
    assert found.left_out == found.elsewhere == found.nobodys == (0, 0, 0)
    known = Adversary(0.1).known(found.history)
    for result in attack(found.history, Adversary(0.1), ["intersection", "tau", "compromised", "historical"]):
        assert truthful(result.findings)
    assert truthful(differencing(found.history, known))
    findings = matched(found.history, found.sightings, known)
    assert truthful(findings)


def test_groups_that_do_not_overlap_are_matched_as_they_are() -> None:
    tables, views = weekly(1)
    found = foreign_history(tables, ONE, views)
    findings = matched(found.history, found.sightings)
    (result,) = attack(found.history, Adversary(), ["intersection"])
    assert np.array_equal(findings.sets, result.findings.sets)


def test_a_folder_of_tables_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    tables, views = weekly()
    for name, table in zip(
        ("03.parquet", "01.csv", "02.csv"), (tables[2], tables[0], tables[1]), strict=True
    ):
        table.write_csv(tmp_path / name) if name.endswith("csv") else table.write_parquet(tmp_path / name)
    for other in ("README.md", "schema.toml", ".hidden.csv"):  # no tables
        (tmp_path / other).write_text("age,dx")
    files = tables_in(tmp_path)
    assert [file.name for file in files] == ["01.csv", "02.csv", "03.parquet"]
    found = foreign_history(files, ONE, views)
    expected = foreign_history(tables, ONE, views)
    assert np.array_equal(found.history.value_count, expected.history.value_count)
    with pytest.raises(ViewError, match="there is none at"):
        tables_in(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("none")
    with pytest.raises(ViewError, match="holds no release tables"):
        tables_in(tmp_path / "empty")


def test_what_cannot_be_attacked_is_refused() -> None:
    tables, views = weekly()
    with pytest.raises(PolicyError, match="there are 3 and 2"):
        foreign_history(tables, ONE, views[:2])
    with pytest.raises(PolicyError, match="no sensitive column"):
        foreign_history([], Schema("id", [Number("age")]), [])
    with pytest.raises(PolicyError, match="the identifier column"):
        foreign_history(views[:1], ONE, views[:1])
    with pytest.raises(PolicyError, match="release 1: nobody in the raw view"):
        foreign_history(tables[:1], ONE, [views[0].with_columns(pl.col("age") + 100)])
    mixed = tables[0].with_columns(group=pl.lit(1))
    with pytest.raises(ViewError, match="all rows of a group"):
        foreign_history([mixed], ONE, views[:1])


def test_no_releases_are_an_empty_history() -> None:
    assert foreign_history([], ONE, []).history.releases == 0
