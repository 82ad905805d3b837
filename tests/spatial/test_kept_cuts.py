"""Cuts that are made once and kept over all releases."""

from __future__ import annotations

import hashlib
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from republish import Category, Date, Hierarchy, Number, Ordered, Schema, read_view
from republish.errors import CannotPublish, PolicyError, SchemaError
from republish.hierarchies import Intervals
from republish.release.cells import cells_of_ranges
from republish.spatial._kept_cuts_kernel import between
from republish.spatial.kept_cuts import KeptCuts, moved_frames
from spatial.naive_kept_cuts import MISSING, NaiveCuts

PLANTS = (
    ("oak", "broad", "tree", "*"),
    ("elm", "broad", "tree", "*"),
    ("fir", "needle", "tree", "*"),
    ("lily", "flower", "herb", "*"),
    ("rose", "flower", "herb", "*"),
)
MORE_PLANTS = (("ash", "broad", "tree", "*"), ("fern", "green", "herb", "*"))
GRADES = ("low", "middle", "high", "highest")


def columns_of(amended=False):
    plants = Hierarchy(PLANTS + MORE_PLANTS if amended else PLANTS)
    return {
        "count": Number("count"),
        "share": Number("share", weight=3.0),
        "flat": Category("flat"),
        "plant": Category("plant", hierarchy=plants),
        "grade": Ordered("grade", order=GRADES),
        "age": Number("age", hierarchy=Intervals((5, 10))),
        "fixed": Number("fixed", domain=(0, 100)),
        "day": Date("day"),
    }


NAMES = list(columns_of())


def cells_of_column(name, rng, rows, amended):
    """Values of one column of a view: many alike, some missing in some columns."""
    match name:
        case "count":
            values = rng.integers(0, 12, rows).tolist()
        case "share":
            values = np.round(rng.normal(0, 5, rows), 2).tolist()
        case "flat":
            values = rng.choice(list("bdfhk"), rows).tolist()
        case "plant":
            values = rng.choice(
                [path[0] for path in (PLANTS + MORE_PLANTS if amended else PLANTS)], rows
            ).tolist()
        case "grade":
            values = rng.choice(GRADES, rows).tolist()
        case "age":
            values = (20 + rng.integers(0, 30, rows)).tolist()
        case "fixed":
            values = rng.integers(0, 101, rows).tolist()
        case _:
            values = (np.datetime64("2026-01-01") + rng.integers(0, 90, rows)).tolist()
    if name in ("count", "flat", "plant") and rng.random() < 0.5:
        gone = rng.random(rows) < rng.choice([0.05, 0.3, 0.9])
        values = [None if out else value for value, out in zip(values, gone, strict=True)]
    return values


TYPES = {"count": pl.Int64, "share": pl.Float64, "age": pl.Int64, "fixed": pl.Int64, "day": pl.Date}


def frame_of(data):
    return pl.DataFrame(
        [pl.Series(name, values, dtype=TYPES.get(name, pl.String)) for name, values in data.items()]
    )


def view_of(data, amended=False):
    columns = columns_of(amended)
    return read_view(frame_of(data), Schema(None, [columns[name] for name in data], None))


def numbers(**columns):
    return read_view(pl.DataFrame(columns), Schema(None, [Number(name) for name in columns], None))


@st.composite
def populations(draw):
    """People with fixed values in some columns, and who is in which of some releases."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    people = draw(st.sampled_from([8, 30, 90, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    data = {name: cells_of_column(name, rng, people, True) for name in names}
    new = np.array([value in ("ash", "fern") for value in data.get("plant", [""] * people)])
    in_release = []
    for release in range(draw(st.integers(1, 5))):
        some = rng.random(people) < rng.choice([0.3, 0.7, 1.0])
        if draw(st.booleans()):  # those with high values are gone, or all but a few, so that cuts die
            first = np.array([rank_of(value) for value in data[names[0]]])
            gone = first > np.quantile(first, rng.choice([0.05, 0.3, 0.6]))
            some &= ~gone | (rng.random(people) < rng.choice([0.0, 0.02]))
        in_release.append(np.flatnonzero(some & ~(new & (release == 0))))
    return data, in_release, draw(st.integers(1, 4))


def rank_of(value):
    """A number for any value, in its order as far as one letter tells."""
    if value is None:
        return -1.0
    if isinstance(value, str):
        return float(ord(value[0]))
    return float(np.datetime64(value).astype(int)) if hasattr(value, "year") else float(value)


def releases_of(population):
    """The views of a population's releases."""
    data, in_release, _ = population
    for number, rows in enumerate(in_release):
        yield (
            rows,
            view_of({name: [values[row] for row in rows] for name, values in data.items()}, number > 0),
        )


def inside(divided, view):
    """Whether every row lies in its cell."""
    return all(
        cells_of_ranges(axis, divided.low[:, q], divided.high[:, q]).cover(divided.cell, view.points[q]).all()
        for q, axis in enumerate(view.axes)
    )


@settings(max_examples=150, deadline=None)
@given(populations(), st.data())
def test_cells_are_those_of_a_plain_tree(population, data) -> None:
    k, naive, kept = population[2], NaiveCuts(), KeptCuts.none()
    growing = [name for name in population[0] if name in ("count", "fixed", "day")]
    for _, view in releases_of(population):
        moved = {name: data.draw(st.sampled_from([0.0, 0.0, 1.0, 3.0])) for name in growing}
        if 0 < view.rows < k:
            with pytest.raises(CannotPublish):
                kept.divide(view, k, moved)
            continue
        if view.rows == 0:
            moved = {}
        expected, found = naive.divide(view, k, moved), kept.divide(view, k, moved)
        kept = found.cuts
        assert found.cell.tolist() == expected.cell
        assert found.low.tolist() == expected.low
        assert found.high.tolist() == expected.high
        assert found.crossing == expected.crossing


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_cells_are_those_of_a_plain_tree_where_cuts_die_and_recover(seed, k) -> None:
    rng, naive, kept = np.random.default_rng(seed), NaiveCuts(), KeptCuts.none()
    for _ in range(6):
        x, few = rng.integers(0, 30, 120) + rng.choice([0, 10, 25, 40]), int(rng.integers(1, 6))
        x[:few] = rng.integers(0, 70, few)
        view = numbers(x=x, y=rng.integers(0, 4, 120))
        expected, found = naive.divide(view, k), kept.divide(view, k)
        kept = found.cuts
        assert found.cell.tolist() == expected.cell
        assert (found.low.tolist(), found.high.tolist()) == (expected.low, expected.high)
        assert found.crossing == expected.crossing


@settings(max_examples=100, deadline=None)
@given(populations())
def test_every_row_lies_in_its_cell_with_k_others(population) -> None:
    k, kept = population[2], KeptCuts.none()
    for _, view in releases_of(population):
        if view.rows >= k:
            found = kept.divide(view, k)
            kept = found.cuts
            assert np.bincount(found.cell, minlength=len(found.low)).min() >= k
            assert inside(found, view)


@settings(max_examples=100, deadline=None)
@given(populations())
def test_cells_of_people_are_nested_or_disjoint_over_all_releases(population) -> None:
    k, kept, held = population[2], KeptCuts.none(), []
    for people, view in releases_of(population):
        if view.rows < k:
            continue
        found = kept.divide(view, k)
        kept = found.cuts
        if found.crossing:
            break
        held.append(dict(zip(people.tolist(), found.cell.tolist(), strict=True)))
    for one, other in combinations(held, 2):
        both = one.keys() & other.keys()
        ours = {frozenset(p for p in both if one[p] == cell) for cell in set(one.values())}
        theirs = {frozenset(p for p in both if other[p] == cell) for cell in set(other.values())}
        assert all(a <= b or b <= a or not a & b for a in ours for b in theirs)


def random_numbers(rng, rows):
    """A view of whole numbers and decimals whose domain is declared."""
    points = {"x": rng.integers(0, 21, rows).tolist(), "y": np.round(rng.random(rows), 3).tolist()}
    return read_view(
        pl.DataFrame(points), Schema(None, [Number("x", domain=(0, 20)), Number("y", domain=(0, 1))], None)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(10, 150))
def test_every_point_of_space_lies_in_exactly_one_cell(seed, k, rows) -> None:
    rng, kept = np.random.default_rng(seed), KeptCuts.none()
    for _ in range(4):
        found = kept.divide(random_numbers(rng, rows), k)
        kept = found.cuts
        x, y = rng.integers(0, 21, 200), np.append(rng.random(150), rng.choice(found.high[:, 1], 50))
        points = np.stack([x, y], axis=1)[:, None]
        assert (((found.low <= points) & (points <= found.high)).all(axis=2).sum(axis=1) == 1).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_regions_are_nested_or_disjoint_where_no_cut_is_passed_over(seed, k) -> None:
    rng, kept, naive, boxes = np.random.default_rng(seed), KeptCuts.none(), NaiveCuts(), []
    for _ in range(4):
        view = random_numbers(rng, int(rng.integers(40, 80)))
        if naive.divide(view, k).passed:
            break
        found = kept.divide(view, k)
        kept = found.cuts
        boxes.append((found.low[:, None], found.high[:, None]))
    for (low, high), other in combinations(boxes, 2):
        other_low, other_high = (ends.swapaxes(0, 1) for ends in other)
        apart = ((high < other_low) | (other_high < low)).any(axis=2)
        within = ((other_low <= low) & (high <= other_high)).all(axis=2)
        around = ((low <= other_low) & (other_high <= high)).all(axis=2)
        assert (apart | within | around).all()


@settings(max_examples=40, deadline=None)
@given(populations())
def test_cuts_are_the_same_after_they_were_written_down(tmp_path_factory, population) -> None:
    k, kept = population[2], KeptCuts.none()
    path: Path = tmp_path_factory.mktemp("cuts") / "cuts.parquet"
    for _, view in releases_of(population):
        if view.rows >= k:
            kept.table().write_parquet(path)
            again = KeptCuts.of_table(pl.read_parquet(path))
            assert_frame_equal(again.table(), kept.table())
            one, other = kept.divide(view, k), again.divide(view, k)
            assert_frame_equal(one.cuts.table(), other.cuts.table())
            assert one.cell.tolist() == other.cell.tolist()
            kept = one.cuts


def test_the_same_view_has_the_same_cells_and_adds_no_cut() -> None:
    view = view_of({name: cells_of_column(name, np.random.default_rng(1), 300, True) for name in NAMES}, True)
    first = KeptCuts.none().divide(view, 3)
    again = first.cuts.divide(view, 3)
    assert_frame_equal(first.cuts.table(), again.cuts.table())
    assert first.cell.tolist() == again.cell.tolist()
    assert (first.low.tolist(), first.high.tolist()) == (again.low.tolist(), again.high.tolist())


def test_the_order_of_rows_plays_no_part() -> None:
    rng = np.random.default_rng(2)
    data = {name: cells_of_column(name, rng, 200, False) for name in NAMES}
    order = rng.permutation(200)
    one = KeptCuts.none().divide(view_of(data), 3)
    other = KeptCuts.none().divide(view_of({n: [v[i] for i in order] for n, v in data.items()}), 3)
    assert one.cell[order].tolist() == other.cell.tolist()
    assert_frame_equal(one.cuts.table(), other.cuts.table())


def test_a_view_is_left_as_it_was() -> None:
    view = numbers(x=[3, 1, 2, 5, 4, 9])
    KeptCuts.none().divide(view, 2)
    assert view.points.tolist() == [[3, 1, 2, 5, 4, 9]]


def test_a_cut_lies_in_the_middle_of_the_gap_at_the_median() -> None:
    found = KeptCuts.none().divide(numbers(x=[1, 2, 3, 9, 10, 12]), 3)
    assert found.cell.tolist() == [0, 0, 0, 1, 1, 1]
    assert (found.low.tolist(), found.high.tolist()) == ([[1], [7]], [[6], [12]])


def test_a_cut_between_decimals_has_few_digits() -> None:
    found = KeptCuts.none().divide(numbers(x=[0.123, 1.456, 7.891, 9.876]), 2)
    assert found.high.tolist() == [[5.0], [9.876]]
    assert found.low.tolist() == [[0.123], [np.nextafter(5.0, 6.0)]]


@pytest.mark.parametrize(
    ("low", "high", "whole", "at"),
    [
        (3.0, 4.0, True, 3.0),
        (3.0, 6.0, True, 4.0),
        (-6.0, -3.0, True, -5.0),
        (1.456, 7.891, False, 5.0),
        (0.3, 0.4, False, 0.3),
        (0.31, 0.39, False, 0.35),
        (123.4, 987.6, False, 600.0),
        (-1.0, 1.0, False, 0.0),
        (5e-324, 1e-323, False, 5e-324),
        (1.0, np.nextafter(1.0, 2.0), False, 1.0),
        (-1.7e308, 1.7e308, False, -1.7e308),
    ],
)
def test_a_threshold_lies_from_the_lower_value_to_below_the_higher(low, high, whole, at) -> None:
    assert between(low, high, whole) == at


def test_a_kept_cut_stays_where_it_was_made() -> None:
    kept = KeptCuts.none().divide(numbers(x=[0, 1, 2, 8, 9, 10]), 3).cuts
    found = kept.divide(numbers(x=[0, 3, 5, 6, 7, 8, 9, 9]), 3)
    assert (found.low.tolist(), found.high.tolist()) == ([[0], [6]], [[5], [10]])


def test_a_node_of_which_one_side_is_small_is_a_cell() -> None:
    kept = KeptCuts.none().divide(numbers(x=[0, 1, 2, 8, 9, 10]), 3).cuts
    found = kept.divide(numbers(x=[0, 1, *[8] * 10, *[9] * 10]), 3)
    assert (found.low.tolist(), found.high.tolist(), found.crossing) == ([[0]], [[10]], 0)


def test_a_small_side_is_passed_over_where_the_other_outweighs_it() -> None:
    kept = KeptCuts.none().divide(numbers(x=[0, 1, 2, 8, 9, 10]), 3).cuts
    found = kept.divide(numbers(x=[0, 1, *[8] * 12, *[9] * 12]), 3)
    assert (found.low.tolist(), found.high.tolist(), found.crossing) == ([[0], [9]], [[8], [10]], 2)


def test_a_cut_is_open_again_when_its_small_side_has_recovered() -> None:
    kept = KeptCuts.none().divide(numbers(x=[0, 1, 2, 8, 9, 10]), 3).cuts
    kept = kept.divide(numbers(x=[0, 1, *[8] * 12, *[9] * 12]), 3).cuts
    found = kept.divide(numbers(x=[0, 1, 1, *[8] * 3, *[9] * 3]), 3)
    assert found.low.tolist() == [[0], [6], [9]]


def test_the_domain_never_shrinks() -> None:
    kept = KeptCuts.none().divide(numbers(x=[0, 1, 99, 100]), 2).cuts
    found = kept.divide(numbers(x=[40, 49, 60, 61]), 2)
    assert (found.low.tolist(), found.high.tolist()) == ([[0], [51]], [[50], [100]])


def test_missing_values_are_cut_from_the_rest_where_both_sides_hold_k_rows() -> None:
    found = KeptCuts.none().divide(numbers(x=pl.Series([None, None, 1, 5])), 2)
    assert found.low.tolist() == [[MISSING], [1]]
    assert found.high.tolist() == [[MISSING], [5]]


def test_a_cell_with_some_missing_values_begins_with_them() -> None:
    found = KeptCuts.none().divide(numbers(x=pl.Series([None, 1, 5, 6])), 2)
    assert found.low.tolist() == [[MISSING], [4]]
    assert found.high.tolist() == [[3], [6]]


def test_a_cell_without_missing_values_says_so_although_its_region_admits_them() -> None:
    kept = KeptCuts.none().divide(numbers(x=pl.Series([None, 1, 5, 6])), 2).cuts
    found = kept.divide(numbers(x=[1, 2, 5, 6]), 2)
    assert (found.low.tolist(), found.high.tolist()) == ([[1], [4]], [[3], [6]])


def test_missing_values_are_cut_off_a_column_of_one_value() -> None:
    found = KeptCuts.none().divide(numbers(x=pl.Series([None, None, 4, 4])), 2)
    assert found.low.tolist() == [[MISSING], [4]]


def test_a_hierarchy_is_cut_between_children_of_the_lowest_common_ancestor() -> None:
    view = view_of({"plant": ["oak"] * 4 + ["fir"] * 3 + ["rose"] * 2})
    found = KeptCuts.none().divide(view, 2)
    assert found.cuts.node[0] == "tree"
    assert sorted(zip(found.low.ravel(), found.high.ravel(), strict=True)) == [(0, 1), (2, 2), (3, 4)]


def test_a_hierarchy_is_cut_further_below_where_a_child_is_too_small() -> None:
    view = view_of({"plant": ["oak"] * 4 + ["fir"] * 3 + ["rose"]})
    found = KeptCuts.none().divide(view, 2)
    assert sorted(zip(found.low.ravel(), found.high.ravel(), strict=True)) == [(0, 1), (2, 4)]


def test_new_leaves_lie_on_the_side_of_their_node() -> None:
    kept = KeptCuts.none().divide(view_of({"plant": ["oak", "elm", "fir", "lily", "rose", "rose"]}), 3).cuts
    view = view_of({"plant": ["ash", "ash", "ash", "fern", "fern", "fern"]}, amended=True)
    found = kept.divide(view, 3)
    assert found.cell.tolist() == [0, 0, 0, 1, 1, 1]
    assert [view.axes[0].labels[int(at)] for at in found.low[:, 0]] == ["oak", "lily"]


def test_new_labels_lie_on_the_side_of_their_place() -> None:
    kept = KeptCuts.none().divide(view_of({"flat": ["c", "c", "g", "g"]}), 2).cuts
    found = kept.divide(view_of({"flat": ["a", "d", "c", "h"]}), 2)
    assert found.cell.tolist() == [0, 1, 0, 1]


def test_a_cut_is_found_again_where_its_label_is_lost() -> None:
    kept = KeptCuts.none().divide(view_of({"flat": ["c", "c", "g", "g"]}), 2).cuts
    assert kept.divide(view_of({"flat": ["a", "b", "d", "h"]}), 2).cell.tolist() == [0, 0, 1, 1]


def test_a_lost_number_is_found_again_by_its_size() -> None:
    kept = KeptCuts.none().divide(view_of({"age": [8, 9, 100, 101]}), 2).cuts
    assert kept.divide(view_of({"age": [7, 7, 99, 99]}), 2).cell.tolist() == [0, 0, 1, 1]


def test_a_cut_whose_label_cannot_be_found_is_dead() -> None:
    def listed(values, domain):
        return read_view(pl.DataFrame({"c": values}), Schema(None, [Category("c", domain=domain)], None))

    kept = KeptCuts.none().divide(listed(["z", "z", "a", "a"], ("z", "a")), 2).cuts
    found = kept.divide(listed(["y", "y", "a", "a"], ("y", "a")), 2)
    assert found.cell.tolist() == [0, 0, 0, 0]


def test_rows_that_agree_in_everything_are_one_cell() -> None:
    found = KeptCuts.none().divide(numbers(x=[4] * 9), 2)
    assert (found.cell.tolist(), found.low.tolist(), found.high.tolist()) == ([0] * 9, [[4]], [[4]])
    assert found.cuts.cuts == 0


def test_an_empty_view_has_no_cells_and_changes_nothing() -> None:
    kept = KeptCuts.none().divide(numbers(x=[1, 2, 3, 4]), 2).cuts
    found = kept.divide(numbers(x=pl.Series([], dtype=pl.Int64)), 2)
    assert (found.cell.tolist(), found.low.shape, found.crossing) == ([], (0, 1), 0)
    assert_frame_equal(found.cuts.table(), kept.table())
    empty = KeptCuts.none().divide(numbers(x=pl.Series([], dtype=pl.Int64)), 2)
    assert_frame_equal(empty.cuts.table(), KeptCuts.none().table())


def test_fewer_rows_than_k_are_refused() -> None:
    with pytest.raises(CannotPublish, match=r"at least k = 5 rows; the view holds 3;"):
        KeptCuts.none().divide(numbers(x=[7, 8, 9]), 5)


def test_k_is_at_least_one() -> None:
    with pytest.raises(PolicyError, match="k must be at least 1; found 0"):
        KeptCuts.none().divide(numbers(x=[7]), 0)


def test_other_quasi_identifiers_are_refused() -> None:
    kept = KeptCuts.none().divide(numbers(x=[1, 2]), 1).cuts
    with pytest.raises(SchemaError, match="kept for the quasi-identifiers x; the view has y"):
        kept.divide(numbers(y=[1, 2]), 1)


@pytest.mark.parametrize("name", ["flat", "grade", "plant", "nowhere"])
def test_only_numbers_and_dates_have_a_frame_that_moves(name) -> None:
    view = view_of({"flat": ["a"] * 2, "grade": ["low"] * 2, "plant": ["oak"] * 2})
    with pytest.raises(PolicyError, match=f"found {name}"):
        KeptCuts.none().divide(view, 1, {name: 1.0})


def test_a_cut_moves_with_its_frame() -> None:
    kept = KeptCuts.none().divide(numbers(x=[0, 1, 2, 8, 9, 10]), 3).cuts
    found = kept.divide(numbers(x=[1, 2, 3, 9, 10, 11]), 3, {"x": 1.0})
    assert (found.low.tolist(), found.high.tolist()) == ([[1], [7]], [[6], [11]])
    found = found.cuts.divide(numbers(x=[3, 4, 5, 11, 12, 13]), 3, {"x": 2.0})
    assert (found.low.tolist(), found.high.tolist()) == ([[3], [9]], [[8], [13]])


def test_a_frame_that_moves_stays_inside_a_declared_domain() -> None:
    schema = Schema(None, [Number("x", domain=(0, 12))], None)
    kept = KeptCuts.none().divide(read_view(pl.DataFrame({"x": [0, 1, 8, 9]}), schema), 2).cuts
    found = kept.divide(read_view(pl.DataFrame({"x": [3, 4, 11, 12]}), schema), 2, {"x": 3.0})
    assert (found.low.tolist(), found.high.tolist()) == ([[0], [8]], [[7], [12]])


def penalty(divided, view):
    """The mean over rows and axes."""
    losses = [
        cells_of_ranges(axis, divided.low[:, q], divided.high[:, q]).penalty()[divided.cell]
        for q, axis in enumerate(view.axes)
    ]
    return float(np.mean(losses))


def panel(moved, releases=10, people=1500):
    """Penalties and rows in small sides of a panel in which everyone's experience grows by one each time."""
    rng = np.random.default_rng(3)
    experience, hours = rng.integers(0, 40, people), rng.integers(0, 60, people)
    kept, penalties, crossing = KeptCuts.none(), [], []
    for year in range(releases):
        view = numbers(experience=experience + year, hours=hours)
        found = kept.divide(view, 5, {"experience": 1.0} if moved and year else None)
        kept = found.cuts
        penalties.append(penalty(found, view))
        crossing.append(found.crossing)
    return penalties, crossing


def test_a_panel_that_grows_older_keeps_its_cells_in_a_frame_that_moves() -> None:
    penalties, crossing = panel(moved=True)
    assert penalties == [penalties[0]] * 10
    assert crossing == [0] * 10


def test_a_panel_that_grows_older_does_not_collapse_without() -> None:
    penalties, _ = panel(moved=False)
    assert max(penalties) < 2 * penalties[0]


def digests(points):
    """A digest a person, of her number and her coordinates."""
    texts = (f"{person}:{column.tolist()}".encode() for person, column in enumerate(points.T))
    return np.array(
        [int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") for text in texts],
        dtype=np.uint64,
    )


def people_of(**columns):
    view = numbers(**columns)
    return view.points, view.axes


def test_columns_that_grew_for_most_people_are_found() -> None:
    rng = np.random.default_rng(4)
    points, axes = people_of(a=rng.integers(0, 9, 60), b=rng.integers(0, 9, 60), c=rng.random(60))
    before = points.copy()
    before[0] -= 1
    before[1, :20] -= 1
    assert moved_frames(digests, points, digests(before), axes) == {"a": 1.0}
    before[1] = points[1] - 1
    assert moved_frames(digests, points, digests(before), axes) == {"a": 1.0, "b": 1.0}


def test_nothing_moved_where_most_people_stayed_as_they_were() -> None:
    points, axes = people_of(a=range(20), b=range(20))
    before = points.copy()
    before[0, :9] -= 1
    assert moved_frames(digests, points, digests(before), axes) == {}
    assert moved_frames(digests, points, digests(points), axes) == {}


def test_nothing_moved_where_half_of_the_people_cannot_be_told() -> None:
    points, axes = people_of(a=range(20))
    before = points - 1
    before[0, :10] -= 7
    assert moved_frames(digests, points, digests(before), axes) == {}


def test_nothing_moved_where_nobody_was_there() -> None:
    points, axes = people_of(a=pl.Series([], dtype=pl.Int64))
    assert moved_frames(digests, points, digests(points), axes) == {}


def test_of_many_columns_each_alone_and_all_together_are_tried() -> None:
    points, axes = people_of(**{name: range(9) for name in "abcdef"})
    one, two, every = points.copy(), points.copy(), points - 1
    one[2] -= 1
    two[:2] -= 1
    assert moved_frames(digests, points, digests(one), axes) == {"c": 1.0}
    assert moved_frames(digests, points, digests(two), axes) == {}
    assert moved_frames(digests, points, digests(every), axes) == dict.fromkeys("abcdef", 1.0)
