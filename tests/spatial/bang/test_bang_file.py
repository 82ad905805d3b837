"""The BANG file against a slow twin, the figures of its source, and what must hold after every change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import CannotPublish, PolicyError
from republish.requirements import KAnonymity, LDiversity, TCloseness, Whole, compile_rules
from republish.spatial._key_bits import parents_of
from republish.spatial.bang.bang_file import BangIndex, Sensitive, bulk_load, index_of_arrays
from spatial.layouts import check, clouds, grid, naive_key, regions, text

# --- the twin ---------------------------------------------------------------------------------------------


def halvings(keys):
    """The regions met by following the fuller half, from the smallest region around all keys on."""
    inside, level = list(keys), 0
    while True:
        while len({key[:level] for key in inside}) == 1 and level < len(inside[0]):
            level += 1
        halves = {}
        for key in inside:
            halves.setdefault(key[:level], []).append(key)
        if len(halves) < 2:
            return
        prefix = max(sorted(halves), key=lambda half: len(halves[half]))
        inside = halves[prefix]
        yield prefix
        if len(inside) < 2:
            return


def naive_blocks(keys, m, full, holds=lambda rows: True):
    """The blocks of rows by region, splitting one block after the other."""
    blocks, waiting = {}, [("", list(range(len(keys))))]
    while waiting:
        region, rows = waiting.pop()
        taken = None
        if len(rows) >= full:
            found = []
            for prefix in halvings([keys[row] for row in rows]):
                inner = [row for row in rows if keys[row].startswith(prefix)]
                outer = [row for row in rows if not keys[row].startswith(prefix)]
                found.append((abs(len(inner) - len(outer)), len(found), prefix, inner, outer))
            for _, _, prefix, inner, outer in sorted(found):
                if min(len(inner), len(outer)) >= m and holds(inner) and holds(outer):
                    taken = prefix, inner, outer
                    break
        if taken is None:
            blocks[region] = set(rows)
        else:
            waiting += [(taken[0], taken[1]), (region, taken[2])]
    return blocks


def blocks_of(index):
    strings = regions(index)
    return {strings[b]: set(np.flatnonzero(index.block == b).tolist()) for b in range(index.blocks)}


def strings_of(index):
    return [text(index.keys[:, row], index.cube.levels) for row in range(len(index.block))]


@given(clouds(), st.integers(1, 6), st.booleans())
def test_bulk_load_equals_its_slow_twin(cloud, m, early) -> None:
    bits, points = cloud
    if points.shape[1] < m:
        return
    full = 2 * m if early else 2 * m + 1
    index = bulk_load(grid(*bits), points, m, full=full)
    check(index, points.shape[1])
    keys = [naive_key(cell, bits) for cell in points.astype(int).T]
    assert strings_of(index) == keys
    assert blocks_of(index) == naive_blocks(keys, m, full)


@given(clouds(), st.integers(1, 4), st.integers(2, 3))
def test_splits_under_requirements_equal_their_slow_twin(cloud, m, diversity) -> None:
    bits, points = cloud
    rows = points.shape[1]
    codes = (np.arange(rows) * 7 + points[0].astype(int)) % 5
    if rows < m or len(set(codes.tolist())) < diversity:
        return
    rules = compile_rules((KAnonymity(m), LDiversity(diversity)), Whole.of(codes, 5))
    index = bulk_load(grid(*bits), points, m, Sensitive(rules, codes))
    check(index, rows)
    fewest = max(m, diversity)
    expected = naive_blocks(
        strings_of(index),
        fewest,
        max(2 * m + 1, 2 * fewest),
        lambda inner: len({int(codes[row]) for row in inner}) >= diversity,
    )
    assert blocks_of(index) == expected


# --- what the source draws --------------------------------------------------------------------------------


def test_nested_regions_find_the_cluster_of_figure_3_3_a() -> None:
    """Six points: three close together, three around; blocks of three."""
    points = np.array([[4.2, 5.1, 5.6, 0.5, 7.5, 1.5], [4.3, 5.5, 4.8, 0.5, 1.5, 7.5]])
    index = bulk_load(grid(3, 3), points, 3, full=6)
    assert sorted(blocks_of(index).values(), key=min) == [{0, 1, 2}, {3, 4, 5}]
    assert regions(index)[0] == ""  # [A] is A without B


def test_nested_regions_divide_what_no_line_divides_as_in_figure_3_3_b() -> None:
    points = np.array([[4.2, 4.4, 4.6, 0.5, 7.5, 4.5], [4.5, 4.2, 4.7, 5.5, 4.5, 0.5]])
    for axis in points.astype(int):
        assert all(np.count_nonzero(axis < line) != 3 for line in range(9))
    index = bulk_load(grid(3, 3), points, 3, full=6)
    assert sorted(blocks_of(index).values(), key=min) == [{0, 1, 2}, {3, 4, 5}]


FIGURE = {"A": "", "B": "11", "C": "1101", "D": "01", "E": "0111", "F": "010", "G": "0010"}


def figure_3_6():
    """Seven nested regions as the text on figure 3.6 has them, with a point in the middle of each block."""
    names = sorted(FIGURE, key=lambda name: (FIGURE[name].ljust(64, "0"), len(FIGURE[name])))
    prefix = np.array([[int(FIGURE[name].ljust(64, "0"), 2) for name in names]], dtype=np.uint64)
    level = np.array([len(FIGURE[name]) for name in names], dtype=np.int32)
    none = np.zeros(0, np.int32)
    index = BangIndex(
        grid(3, 3), 1, 3, prefix, level, parents_of(prefix, level), none, none, np.zeros((1, 0), np.uint64)
    )
    return names, index


def way(names, index, point):
    """The regions around a point, the outermost first."""
    found, region = [], int(index.find(np.array(point, dtype=float)[:, None])[0])
    while region >= 0:
        found.append((names[region], int(index.level[region])))
        region = int(index.parent[region])
    return found[::-1]


def test_blocks_are_regions_without_those_nested_in_them() -> None:
    names, index = figure_3_6()
    inside = {name: {names[b] for b in range(7) if index.parent[b] == a} for a, name in enumerate(names)}
    assert inside == {
        "A": {"B", "D", "G"}, "B": {"C"}, "D": {"E", "F"}, "C": set(), "E": set(), "F": set(), "G": set()
    }  # fmt: skip


def test_a_point_query_in_e_meets_a_d_and_e() -> None:
    names, index = figure_3_6()
    # Bits 0 and 2 are of the first dimension, 1 and 3 of the second: E spans 2-3 and 6-7.
    assert way(names, index, (2.5, 7.5)) == [("A", 0), ("D", 2), ("E", 4)]


def test_a_range_over_parts_of_a_finds_d_e_and_g_as_in_figure_3_8() -> None:
    names, index = figure_3_6()
    # Column 2 from row 1 to row 6 of the grid: G spans 2-3 and 0-1, D begins at row 4.
    cells = np.array([(2.5, y + 0.5) for y in (1, 4, 6)]).T
    assert {names[b] for b in index.find(cells)} == {"G", "D", "E"}


# --- what must hold ---------------------------------------------------------------------------------------


@given(st.integers(2, 8), st.integers(0, 30), st.integers(0, 1000))
def test_from_3m_minus_2_points_on_a_block_is_split_where_points_differ(m, more, seed) -> None:
    rng = np.random.default_rng(seed)
    rows = max(2 * m + 1, 3 * m - 2) + more
    cells = rng.choice(2**12, rows, replace=False)
    points = np.array([cells >> 6, cells & 63]) + 0.5
    index = bulk_load(grid(6, 6), points, m)
    assert index.blocks >= 2
    assert index.count.max() < max(2 * m + 1, 3 * m - 2)


@given(st.integers(3, 200), st.integers(0, 1000), st.booleans())
def test_a_split_leaves_a_third_on_either_side(rows, seed, clustered) -> None:
    rng = np.random.default_rng(seed)
    places = rng.normal(500, 40, 2000) if clustered else rng.integers(0, 2**16, 2000)
    cells = rng.permutation(np.unique(places.astype(int)))[:rows]
    keys = [f"{cell:017b}" for cell in cells]
    index = bulk_load(grid(17), cells[None] + 0.5, -(-len(cells) // 3) if len(cells) < 4 else len(cells) // 3)
    check(index, len(cells))
    best = min(abs(2 * sum(key.startswith(p) for key in keys) - len(keys)) for p in halvings(keys))
    assert best <= -(-len(keys) // 3)


def test_equal_points_stay_in_one_block_that_grows() -> None:
    index = bulk_load(grid(4, 4), np.full((2, 50), 3.5), 5)
    assert index.blocks == 1
    assert index.count.tolist() == [50]


def test_fifteen_dimensions() -> None:
    points = np.random.default_rng(0).random((15, 300)) * 2**16
    index = bulk_load(grid(*[16] * 15), points, 5)
    assert len(index.prefix) == 4
    check(index, 300)


def test_no_points_no_blocks_to_speak_of() -> None:
    index = bulk_load(grid(3), np.empty((1, 0)), 5)
    assert (index.blocks, index.count.tolist()) == (1, [0])


def test_too_few_points_are_refused() -> None:
    with pytest.raises(CannotPublish):
        bulk_load(grid(3), np.ones((1, 4)), 5)


def test_parameters_that_mean_nothing_are_refused() -> None:
    with pytest.raises(PolicyError):
        bulk_load(grid(3), np.ones((1, 4)), 2, full=3)
    with pytest.raises(PolicyError):
        bulk_load(grid(3), np.ones((1, 4)), 0)
    rules = compile_rules((LDiversity(2),), Whole.of(np.array([0, 1]), 2))
    with pytest.raises(PolicyError, match="code"):
        bulk_load(grid(3), np.ones((1, 4)), 2, Sensitive(rules, np.array([0, 1])))


@pytest.mark.jit
def test_threads_change_nothing(monkeypatch) -> None:
    points = np.random.default_rng(1).random((3, 100_000)) * 2**10
    alone = bulk_load(grid(10, 10, 10), points, 3)
    monkeypatch.setattr("republish.spatial.threads.threads", lambda: 3)
    monkeypatch.setattr("republish.spatial.bang.bang_file.threads", lambda: 3)
    together = bulk_load(grid(10, 10, 10), points, 3)
    assert np.array_equal(alone.block, together.block)
    assert np.array_equal(alone.level, together.level)


# --- changes ----------------------------------------------------------------------------------------------


@given(clouds(most=40), st.integers(1, 4))
def test_points_inserted_one_by_one_and_all_at_once_are_both_valid(cloud, m) -> None:
    bits, points = cloud
    rows = points.shape[1]
    if rows <= m:
        return
    one_by_one = bulk_load(grid(*bits), points[:, :m], m)
    for row in range(m, rows):
        one_by_one = one_by_one.insert(points[:, row : row + 1])
        check(one_by_one, row + 1)
    together = bulk_load(grid(*bits), points[:, :m], m).insert(points[:, m:])
    check(together, rows)
    # The first block holds everything, so that inserting into it is the same as loading.
    assert blocks_of(together) == blocks_of(bulk_load(grid(*bits), points, m))
    distinct = len(np.unique(points.astype(int), axis=1).T)
    if distinct == rows:
        assert one_by_one.count.max() < max(2 * m + 1, 3 * m - 2)


def test_inserted_and_loaded_blocks_are_alike() -> None:
    rng = np.random.default_rng(5)
    points = rng.random((3, 600)) * 2**8
    loaded = bulk_load(grid(8, 8, 8), points, 5)
    grown = bulk_load(grid(8, 8, 8), points[:, :5], 5)
    for row in range(5, 600):
        grown = grown.insert(points[:, row : row + 1])
    check(grown, 600)
    assert 0.8 < grown.blocks / loaded.blocks < 1.25


@settings(max_examples=50)
@given(clouds(most=60), st.integers(1, 4), st.data())
def test_points_come_and_go(cloud, m, data) -> None:
    bits, points = cloud
    if points.shape[1] < 2 * m:
        return
    index = bulk_load(grid(*bits), points, m)
    for _ in range(3):
        rows = len(index.block)
        gone = data.draw(st.sets(st.integers(0, rows - 1), max_size=rows - m))
        index = index.delete(np.array(sorted(gone), dtype=np.int64))
        check(index, rows - len(gone))
        index = index.insert(points[:, : data.draw(st.integers(0, 10))])
        check(index, len(index.block))


def test_a_block_left_with_too_little_goes_to_the_region_around_it() -> None:
    points = np.array([[0.5, 1.5, 2.5, 3.5, 8.5, 9.5, 10.5, 15.5]])
    index = bulk_load(grid(4), points, 2, full=6)
    assert blocks_of(index) == {"": {4, 5, 6, 7}, "0": {0, 1, 2, 3}}
    assert blocks_of(index.delete(np.array([0, 1, 2]))) == {"": {0, 1, 2, 3, 4}}


def test_the_outermost_block_takes_in_the_smallest_one_inside() -> None:
    points = np.array([[0.5, 1.5, 2.5, 3.5, 8.5, 9.5, 10.5, 15.5]])
    index = bulk_load(grid(4), points, 2, full=6)
    assert blocks_of(index.delete(np.array([4, 5, 6]))) == {"": {0, 1, 2, 3, 4}}


def test_everything_may_go() -> None:
    index = bulk_load(grid(4), np.arange(16.0)[None], 2)
    assert index.delete(np.arange(16)).count.tolist() == [0]
    with pytest.raises(CannotPublish):
        index.delete(np.arange(15))


@settings(max_examples=50)
@given(clouds(most=60), st.data())
def test_changes_keep_the_requirements(cloud, data) -> None:
    bits, points = cloud
    rows = points.shape[1]
    if rows < 12:
        return
    codes = np.arange(rows) % 3
    whole = Whole.of(codes, 3)
    asked = data.draw(st.sampled_from([LDiversity(2), TCloseness(0.4)]))
    rules = compile_rules((KAnonymity(2), asked), whole)
    first = bulk_load(grid(*bits), points[:, :9], 2, Sensitive(rules, codes[:9]))
    index = first.insert(points[:, 9:], Sensitive(rules, codes))
    stays = np.ones(rows, dtype=bool)
    stays[data.draw(st.lists(st.integers(0, 2), max_size=2))] = False
    counts = np.bincount(codes[stays], minlength=3)[None]
    if not asked.holds(counts, whole).all():
        return
    index = index.delete(np.flatnonzero(~stays), Sensitive(rules, codes[stays]))
    check(index, int(stays.sum()))
    counts = np.zeros((index.blocks, 3), dtype=np.int64)
    np.add.at(counts, (index.block, codes[stays]), 1)
    assert asked.holds(counts, whole).all()


def test_an_index_is_the_same_after_it_was_written_down() -> None:
    points = np.random.default_rng(2).random((3, 200)) * 2**8
    index = bulk_load(grid(8, 8, 8), points, 4)
    again = index_of_arrays(index.arrays())
    check(again, 200)
    assert blocks_of(again) == blocks_of(index)
    more = points[:, :50] / 2
    assert np.array_equal(index.insert(more).block, again.insert(more).block)
    assert (again.m, again.full) == (4, 9)
