"""Releases of nested regions: their cells and levels, on disk and back, verified, and counted in."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from metrics.twins import SECRET, Case, allowed
from publishers.test_contract import SCHEMA as CONTRACT
from publishers.test_contract import check, people
from queries.test_queries import DAY, TYPES, absent_share, conditions, decoded, named, truth, view_of
from republish import KAnonymity, LDiversity, Series
from republish.cli import app
from republish.grouping import Grouping, Regions
from republish.hierarchies import Hierarchy
from republish.metrics import Workload, measure
from republish.microdata import Microdata, read_view
from republish.publishers import make_publisher
from republish.publishers.banga import BangA
from republish.queries import parse_condition
from republish.queries._nest import nest_of, smallest_around
from republish.queries.compiled import estimate_table
from republish.release.cells import ALL_MISSING, SOME_MISSING, cells_of_ranges
from republish.release.domains import Scales
from republish.release.release import Release, build_release
from republish.release.two_tables import read_release
from republish.schema import Category, Number, Ordered, Schema
from republish.spatial.nested import parents
from republish.verify.table import verify_against_view, verify_table
from republish.verify.two_tables import verify_release

maybe = lambda strategy: st.none() | strategy  # noqa: E731
ROWS = st.tuples(
    maybe(st.integers(-3, 6)),
    maybe(st.sampled_from([0.5, 1.25, 2.0, 3.75])),
    maybe(st.sampled_from("abcde")),
    maybe(st.sampled_from(["10", "11", "12", "20", "21", "30"])),
    maybe(st.integers(0, 5).map(lambda day: DAY + timedelta(day))),
    maybe(st.sampled_from(["none", "basic", "high"])),
    maybe(st.integers(1, 3)),
    maybe(st.sampled_from(["flu", "gout", "ague"])),
)
PLAIN = Schema(
    quasi_identifiers=[Number("age"), Category("town"), Ordered("school", order=("none", "basic", "high"))],
    insensitive=["ward"],
    sensitive=Category("illness"),
)
PLAIN_TYPES = {name: TYPES[name] for name in ("age", "town", "school", "ward", "illness")}


def in_regions(view: Microdata, k: int, compact: bool = False, m: int = 5) -> Case:
    """Groups of k rows in their regions, each one block unless m says that blocks have fewer rows."""
    grouping = BangA(k, m=m, compact=compact).publish(view, None, np.random.default_rng(0))
    release, membership = build_release(view, grouping, SECRET, 1)
    return Case(view, release, membership, 0)


def crowd(rows: int = 400, seed: int = 0, gaps: float = 0.0) -> Microdata:
    rng = np.random.default_rng(seed)
    draw = lambda values: rng.choice(list(values), rows).tolist()  # noqa: E731
    some = list(
        zip(
            rng.integers(20, 90, rows).tolist(),
            rng.normal(70, 9, rows).round(1).tolist(),
            draw("abcde"),
            draw([f"{z}" for z in range(10, 37)]),
            [DAY + timedelta(int(d)) for d in rng.integers(0, 300, rows)],
            draw(["none", "basic", "high"]),
            rng.integers(1, 4, rows).tolist(),
            draw(["flu", "gout", "ague"]),
            strict=True,
        )
    )
    some = [(None if i % 17 == 0 else row[0], *row[1:]) for i, row in enumerate(some)]
    return view_of([tuple(None if rng.random() < gaps else cell for cell in row) for row in some])


def inside(release: Release, view: Microdata) -> np.ndarray:
    """Whether the cells of each group hold each row."""
    held = np.ones((release.group_count, view.rows), dtype=np.bool_)
    for cells, points in zip(release.cells, view.points, strict=True):
        for group in range(release.group_count):
            held[group] &= cells.cover(np.full(view.rows, group), points)
    return held


@settings(max_examples=80)
@given(st.lists(ROWS, min_size=3, max_size=40), st.integers(1, 3), st.booleans())
def test_the_highest_level_around_a_row_is_its_group(rows, k, compact) -> None:
    case = in_regions(view_of(rows), k, compact)
    assert case.release.sizes.min() >= k
    assert case.release.level is not None
    level = np.where(inside(case.release, case.view), case.release.level[:, None], -1)
    assert np.array_equal(np.argmax(level, axis=0) + 1, case.membership)
    assert (np.sum(level == level.max(axis=0), axis=0) == 1).all()


@settings(max_examples=80)
@given(st.lists(ROWS, min_size=3, max_size=40), st.integers(2, 6), st.integers(1, 2), st.booleans())
def test_no_row_lies_in_a_higher_level_inside_its_region(rows, k, m, compact) -> None:
    """Also where a group is several blocks, whose rows lie around and in each other."""
    if len(rows) < k:
        return
    case = in_regions(view_of(rows), k, compact, m)
    level, held = case.release.level, inside(case.release, case.view)
    assert case.release.sizes.min() >= k
    nested = np.array([[_lies_in(case.release, g, h) for h in range(len(level))] for g in range(len(level))])
    for row, group in enumerate(case.membership - 1):
        assert held[group, row]
        assert not (held[:, row] & nested[:, group] & (level > level[group])).any()


def _lies_in(release: Release, inner: int, outer: int) -> bool:
    """Whether the cells of one group lie in those of another, by their ends and whether they hold missing values."""
    for cells in release.cells:
        missing = cells.missing[[inner, outer]]
        if (missing[0] != ALL_MISSING and missing[1] == ALL_MISSING) or (missing[0] and not missing[1]):
            return False
        wide = missing[1] == SOME_MISSING or missing[0] == ALL_MISSING
        if not wide and not cells.low[outer] <= cells.low[inner] <= cells.high[inner] <= cells.high[outer]:
            return False
    return True


def test_regions_are_nested_or_apart() -> None:
    view = crowd()
    held = inside(in_regions(view, 5).release, view).astype(int)
    common = held @ held.T
    sizes = held.sum(axis=1)
    assert ((common == 0) | (common == np.minimum(sizes[:, None], sizes[None]))).all()
    assert (common > 0).sum() > len(sizes)  # some do lie in others


def test_tables_have_the_level_after_the_group_and_come_back(tmp_path: Path) -> None:
    view = crowd()
    case = in_regions(view, 5)
    case.release.write(tmp_path, {})
    csv, typed = pl.read_csv(tmp_path / "table.csv"), pl.read_parquet(tmp_path / "table.parquet")
    assert csv.columns[:3] == ["group", "level", "age"]
    assert typed.columns[:3] == ["group", "level", "age_lo"]
    back = read_release(tmp_path, view.schema, Scales.of(view))
    assert back.frame().equals(case.release.frame())
    assert back.table().equals(case.release.table())
    assert np.array_equal(back.level, case.release.level)
    for ours, theirs in zip(back.cells, case.release.cells, strict=True):
        assert np.array_equal(ours.low, theirs.low, equal_nan=True)
        assert np.array_equal(ours.high, theirs.high, equal_nan=True)
        assert np.array_equal(ours.penalty(), theirs.penalty())
    assert "level" in back.groups().columns
    assert measure(back, view).penalty == measure(case.release, view).penalty

    promised = (KAnonymity(5),)
    assert verify_release(tmp_path, view.schema, promised).holds
    for table in ("table.csv", "table.parquet"):
        assert verify_table(tmp_path / table, view.schema, promised).holds
    assert verify_against_view(back, view, case.membership).holds


def test_a_level_that_differs_within_a_group_is_found(tmp_path: Path) -> None:
    view = crowd()
    case = in_regions(view, 5)
    case.release.write(tmp_path, {})
    csv = pl.read_csv(tmp_path / "table.csv", schema_overrides={"zip": pl.String})
    other = pl.when(pl.int_range(pl.len()) == 0).then(pl.col("level") + 1).otherwise("level")
    csv.with_columns(other.alias("level")).write_csv(tmp_path / "table.csv")
    broken = {c.promise for c in verify_release(tmp_path, view.schema, ()).checks if not c.holds}
    assert broken == {"same tables"}
    typed = pl.read_parquet(tmp_path / "table.parquet")
    typed.with_columns(other.cast(pl.Int32).alias("level")).write_parquet(tmp_path / "table.parquet")
    broken = {c.promise for c in verify_release(tmp_path, view.schema, ()).checks if not c.holds}
    assert broken == {"uniform groups"}


def test_requirements_hold_in_every_region() -> None:
    view = crowd()
    publisher = BangA(3, (LDiversity(3),))
    release, _ = build_release(view, publisher.publish(view, None, np.random.default_rng(0)), SECRET, 1)
    assert verify_table(release.frame(), view.schema, publisher.requirements).holds
    assert release.group_count > 5


@pytest.mark.parametrize("seed", range(5))
def test_the_contract_of_publishers_is_kept(seed: int) -> None:
    publisher = make_publisher("banga", {"k": "4", "compact": "false"}, (LDiversity(2),))
    check(publisher, read_view(people(200, seed), CONTRACT).pseudonymous(SECRET))


@pytest.mark.parametrize("k", [4, 12])
def test_a_series_of_regions_is_verified_shown_and_asked(tmp_path: Path, k: int) -> None:
    publisher = BangA(k, (LDiversity(2),))
    made = Series.create(tmp_path / "own", CONTRACT, publisher, seed=3, one_table=True)
    frames = [people(200), pl.concat([people(200)[:150], people(260, 1)[200:]])]
    for week, frame in enumerate(frames):
        made.publish(frame, as_of=f"2026-01-{5 + 7 * week:02d}")
        release = made.release(week + 1)
        assert release.level is not None
        found = release.count("age between 30 and 50")
        assert found.lower <= frame["age"].is_between(30, 50).sum() <= found.upper
    made.ledger.close()
    for command in (["verify"], ["show"], ["measure"], ["attack"]):
        done = CliRunner().invoke(app, [*command, str(made.root)])
        assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(app, ["show", str(made.root), "2"])
    assert shown.exit_code == 0, shown.output


def test_leaves_that_are_no_node_are_a_set_of_nodes() -> None:
    paths = [(leaf, f"{leaf[0]}|", "*") for leaf in ("a1", "a2", "b1", "b2", "c\\1", "d1")]
    schema = Schema(quasi_identifiers=[Category("x", hierarchy=Hierarchy(tuple(paths)))])
    view = read_view(pl.DataFrame({"x": ["a1"]}), schema)
    low = np.array([0.0, 0.0, 1.0, 0.0, 4.0, -np.inf, -np.inf, 4.0])
    high = np.array([1.0, 5.0, 4.0, 3.0, 4.0, -np.inf, 5.0, 5.0])
    cells = cells_of_ranges(view.axes[0], low, high)
    texts = ["a|", "*", "{a2|b\\||c\\\\1}", "{a\\||b\\|}", "c\\1", None, "*", "{c\\\\1|d1}"]
    assert cells.texts().to_list() == texts
    assert cells.missing.tolist() == [0, 0, 0, 0, 0, ALL_MISSING, SOME_MISSING, 0]


def test_hierarchies_come_back_from_sets_of_nodes(tmp_path: Path) -> None:
    view = crowd()
    low = np.repeat([[view.axes[q].low for q in range(6)]], 3, axis=0)
    high = np.repeat([[view.axes[q].high for q in range(6)]], 3, axis=0)
    low[1:, 3], high[1:, 3] = (3, 11), (5, 22)
    group = np.arange(view.rows) % 3
    regions = Regions(low, high, np.array([0, 3, 4]))
    release, _ = build_release(view, Grouping(group, regions=regions), SECRET, 1)
    release.write(tmp_path, {})
    back = read_release(tmp_path, view.schema, Scales.of(view)).cells[3]
    assert sorted(zip(back.low.tolist(), back.high.tolist(), strict=True)) == [(0, 26), (3, 5), (11, 22)]
    assert sorted(back.texts().to_list())[1:] == ["{13|14|15}", "{21|22|23|24|25|26|27|28|29|30|31|32}"]


def test_an_empty_view_has_levels_too() -> None:
    release = in_regions(view_of([]), 3).release
    assert release.table().columns[:2] == ["group", "level"]
    assert release.count("age > 3").upper == 0


# Queries


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_the_smallest_region_around_each_is_found_as_by_comparing_all(gaps: float) -> None:
    view = crowd(2000, gaps=gaps)
    release = in_regions(view, 3).release
    nest = nest_of(release, estimate_table(release, []))
    level = release.level[nest.owner]
    assert (len(level) > release.group_count) == (gaps > 0)
    parent = parents(level, nest.boxes)
    assert np.array_equal(smallest_around(level, nest.boxes), parent)
    assert np.unique(parent).size > 50
    assert np.array_equal(nest.child[: nest.first[0]], np.flatnonzero(parent < 0))


@settings(max_examples=150)
@given(
    st.lists(ROWS, min_size=3, max_size=40),
    st.integers(1, 3),
    conditions(tuple(TYPES)),
    st.booleans(),
    st.integers(1, 3),
)
def test_the_truth_never_leaves_the_bounds(rows, k, where, compact, m) -> None:
    found = in_regions(view_of(rows), k, compact, m).release.count(where)
    true = sum(truth(parse_condition(where), named(row)) is True for row in rows)
    assert found.lower <= true <= found.upper
    assert found.lower <= found.expected <= found.upper


def twin(case: Case, where: str) -> tuple[float, tuple[int, int], tuple[int, int]]:
    """Every combination of values that a group's cells allow and those of no group of a higher level do.

    Of the bounds both, without and with what `*` says: that some values are missing and some are there.
    """
    release, condition = case.release, parse_condition(where)
    names = [cells.axis.column.name for cells in release.cells]
    places = [
        [
            [decoded(c.axis, x) for x in allowed(c, g, p)]
            for c, p in zip(release.cells, case.view.points, strict=True)
        ]
        for g in range(release.group_count)
    ]
    assert release.level is not None
    expected, lower, upper = 0.0, np.zeros(2, int), np.zeros(2, int)
    for group, size in enumerate(release.sizes.tolist()):
        higher = [
            set(itertools.product(*places[h])) for h in np.flatnonzero(release.level > release.level[group])
        ]
        own = [p for p in itertools.product(*places[group]) if not any(p in taken for taken in higher)]
        mixed = [a for a, cells in enumerate(release.cells) if cells.missing[group] == SOME_MISSING]
        sheets: dict[tuple[bool, ...], list[tuple[Any, ...]]] = {}
        for place in own:
            sheets.setdefault(tuple(place[a] is None for a in mixed), []).append(place)
        shares = [absent_share(case, names[a], group) for a in mixed]
        prior = {
            sheet: math.prod(
                share if absent else 1 - share for share, absent in zip(shares, sheet, strict=True)
            )
            for sheet in sheets
        }
        chance, surely, perhaps = 0.0, 0, 0
        every = []
        for row in release.rest.filter(pl.Series(release.group == group + 1)).to_dicts():
            held = {p: truth(condition, row | dict(zip(names, p, strict=True))) is True for p in own}
            for sheet, there in sheets.items():
                mean = sum(held[p] for p in there) / len(there)
                chance += prior[sheet] / sum(prior.values()) * mean
            surely += all(held.values())
            perhaps += any(held.values())
            every += held.items()
        few, many = surely, perhaps
        for a in mixed:
            for absent in (True, False):
                side = [held for place, held in every if (place[a] is None) == absent]
                few, many = max(few, int(all(side))), min(many, size - (not any(side)))
        expected += chance
        lower += [surely, few]
        upper += [perhaps, many]
    return expected, tuple(lower), tuple(upper)


@settings(max_examples=120, deadline=None)
@given(st.lists(ROWS, min_size=4, max_size=30), st.integers(2, 4), conditions(tuple(PLAIN_TYPES)))
def test_estimate_and_bounds_are_those_of_the_twin(rows, k, where) -> None:
    kept = [tuple(named(row)[name] for name in PLAIN_TYPES) for row in rows]
    case = in_regions(read_view(pl.DataFrame(kept, schema=PLAIN_TYPES, orient="row"), PLAIN), k)
    expected, lower, upper = twin(case, where)
    found = case.release.count(where)
    assert lower[0] <= found.lower <= lower[1]
    assert upper[1] <= found.upper <= upper[0]
    if not any((cells.missing == SOME_MISSING).any() for cells in case.release.cells):
        assert found.expected == pytest.approx(expected)
    else:  # cut to the bounds of every group
        cut = (found.lower, found.upper) != (lower[0], upper[0])
        assert cut or found.expected == pytest.approx(expected)


def region_of(ages: list[int | None], towns: list[str], k: int = 2) -> Release:
    frame = pl.DataFrame({"age": ages, "town": towns}, schema={"age": pl.Int64, "town": pl.String})
    return in_regions(
        read_view(frame, Schema(quasi_identifiers=[Number("age"), Category("town")])), k
    ).release


def test_a_column_in_which_all_values_are_missing_is_empty() -> None:
    release = region_of([None] * 6, list("aabbcc"))
    assert release.table()["age"].null_count() == 6
    assert release.frame()["age_missing"].to_list() == [True] * 6
    found = release.count("age is null")
    assert (found.expected, found.lower, found.upper) == (6, 6, 6)
    found = release.count("age is not null")
    assert (found.expected, found.lower, found.upper) == (0, 0, 0)


@settings(max_examples=60)
@given(st.lists(ROWS, min_size=3, max_size=40), st.integers(1, 3))
def test_cells_say_of_people_whether_values_are_missing(rows, k) -> None:
    case = in_regions(view_of(rows), k)
    for cells, points in zip(case.release.cells, case.view.points, strict=True):
        absent = np.bincount(case.membership[np.isneginf(points)] - 1, minlength=len(cells.missing))
        states = np.where(absent == 0, 0, np.where(absent == case.release.sizes, ALL_MISSING, SOME_MISSING))
        assert np.array_equal(cells.missing, states)


def test_what_lies_in_an_inner_region_is_not_counted_around_it() -> None:
    schema = Schema(quasi_identifiers=[Number("x", domain=(0, 7)), Number("y", domain=(0, 7))])
    frame = pl.DataFrame({"x": [0, 0, 1, 1, 7, 7, 5], "y": [0, 1, 0, 1, 7, 0, 6]})
    view = read_view(frame, schema)
    group = np.array([0, 0, 0, 0, 1, 1, 1])
    regions = Regions(
        np.array([[0.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [7.0, 7.0]]), np.array([4, 0])
    )
    release, _ = build_release(view, Grouping(group, regions=regions), SECRET, 1)
    found = release.count("x <= 1 and y <= 1")
    assert (found.expected, found.lower, found.upper) == (4, 4, 4)
    found = release.count("x <= 1")
    assert (found.lower, found.upper) == (4, 7)
    assert found.expected == pytest.approx(4 + 3 * 12 / 60)
    found = release.count("x >= 2 or y >= 2")
    assert (found.expected, found.lower, found.upper) == (3, 3, 3)
    overlapping = replace(release, level=None)
    assert overlapping.count("x <= 1 and y <= 1").upper == 7


@settings(max_examples=40, deadline=None)
@given(st.lists(ROWS, min_size=3, max_size=40), st.integers(0, 99), st.booleans(), st.booleans())
def test_workloads_are_bounded_too(rows, seed, sensitive, compact) -> None:
    case = in_regions(view_of(rows), 2, compact)
    workload = Workload.random(case.view, 20, 2, 0.3, seed, sensitive=sensitive)
    found = case.release.count_many(workload)
    loose = replace(case.release, level=None).count_many(workload)
    assert (loose.lower <= found.lower).all()
    assert (found.lower <= found.expected).all()
    assert (found.expected <= found.upper).all()
    assert (found.upper <= loose.upper).all()
