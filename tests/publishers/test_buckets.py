"""Buckets and their kernels against slow, obvious twins."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publishers.dynamic import Driver, view_of, with_domain
from republish import CannotPublish
from republish.memory import Memory
from republish.publishers._bucket_groups import gathered, halved
from republish.publishers._bucket_kernels import plan
from republish.publishers._geometry import geometry, include, measure, new_centre
from republish.publishers.buckets import Filling, divide, fill_buckets, recall
from republish.publishers.tau_safety import TauSafety

TAU = Filling(eligible=False, nearest=True, pad=True)


def naive_plan(counts, m):
    """Buckets by trying every alpha for every beta from m on."""
    counts = list(counts)
    buckets = []
    while sum(counts):
        order = sorted(range(len(counts)), key=lambda code: (-counts[code], code))
        gamma = sum(counts)
        for beta in range(m, len(counts) + 1):
            following = counts[order[beta]] if beta < len(counts) else 0
            fitting = [
                alpha
                for alpha in range(1, counts[order[beta - 1]] + 1)
                if m * (counts[order[0]] - alpha) <= gamma - alpha * beta
                and m * following <= gamma - alpha * beta
            ]
            if fitting:
                break
        else:
            raise AssertionError("no bucket fits")
        buckets.append((max(fitting), order[:beta]))
        for code in order[:beta]:
            counts[code] -= max(fitting)
    return buckets


@pytest.mark.parametrize("m", [2, 3, 4])
def test_every_eligible_multiset_is_assigned(m):
    tried = 0
    for counts in itertools.combinations_with_replacement(range(6), 6):
        if m * max(counts) > sum(counts):
            continue
        tried += 1
        heights, ends, codes = plan(np.array(counts, dtype=np.int64), m)
        parts = [part.tolist() for part in np.split(codes, ends[:-1])] if len(ends) else []
        assert list(zip(heights.tolist(), parts, strict=True)) == naive_plan(counts, m)
    assert tried > 100


def rows_of(seed, count, values=5):
    rng = np.random.default_rng(seed)

    def maybe(value):
        return value if rng.random() < 0.85 else None

    return [
        (
            f"p{i}",
            maybe(int(rng.integers(20, 60))),
            maybe(f"{rng.integers(10, 40)}"),
            maybe(str(rng.choice(["n", "s", "e"]))),
            f"v{int(values * rng.random() ** 1.5)}",
        )
        for i in range(count)
    ]


def naive_distance(view, members, row):
    """The squared distance of a row to a set of rows, axis by axis."""
    total = 0.0
    for axis, points in zip(view.axes, view.points, strict=True):
        there = [points[i] for i in members if points[i] > -math.inf]
        missing = len(members) - len(there)
        value = points[row]
        if value == -math.inf:
            apart = len(there)
        elif axis.kind_code == 0:
            width = axis.width or 1.0
            apart = missing + (abs(value - sum(there) / len(there)) / width * len(there) if there else 0)
        elif axis.kind_code == 1:
            apart = missing + sum(other != value for other in there)
        else:
            apart = missing + sum(naive_tree(axis.hierarchy, int(value), int(other)) for other in there)
        total += (apart / len(members)) ** 2
    return total


def naive_tree(tree, one, other):
    if one == other:
        return 0.0
    leaves = len(tree.start)
    return min(
        (tree.end[one, level] - tree.start[one, level]) / leaves
        for level in range(tree.start.shape[1])
        if tree.start[one, level] <= other < tree.end[one, level]
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_distances_are_those_of_the_definition(seed, size):
    view, _ = view_of(rows_of(seed, 20))
    space = geometry(view)
    centre = new_centre(space)
    for row in range(size):
        include(space, centre, row)
    found = measure(space, centre, np.arange(20))
    expected = [naive_distance(view, range(size), row) for row in range(20)]
    assert found == pytest.approx(expected, abs=1e-9)


def check_buckets(view, buckets, m):
    """Every bucket is balanced, every row is there once, and the layout is the one promised."""
    rows = buckets.row[buckets.row >= 0]
    assert sorted(rows.tolist()) == list(range(view.rows))
    assert np.array_equal(view.codes[rows], buckets.code[buckets.row >= 0])
    at = 0
    for b in range(buckets.count):
        signature = buckets.sig_codes[buckets.sig_offsets[b] : buckets.sig_offsets[b + 1]].tolist()
        height = int(buckets.heights[b])
        assert signature == sorted(set(signature))
        assert len(signature) >= m
        assert at == buckets.starts[b]
        entries = slice(at, at + height * len(signature))
        assert buckets.code[entries].tolist() == np.repeat(signature, height).tolist()
        assert set(buckets.bucket[entries].tolist()) == {b}
        real = (buckets.row[entries] >= 0).reshape(len(signature), height)
        assert real.all(axis=1).any()  # some code has no counterfeit
        assert (np.diff(real.astype(int), axis=1) <= 0).all()  # rows before counterfeits
        at += height * len(signature)
    assert at == len(buckets.row) == buckets.starts[-1]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 40), st.integers(2, 4))
def test_buckets_are_balanced_and_hold_every_row_once(seed, count, m):
    driver = with_domain(Driver(TauSafety(m), seed=seed))
    driver.publish(rows_of(seed, 30))
    view, _ = view_of([*rows_of(seed, 15), *rows_of(seed + 1, 15 + count)[15:]], driver.values)
    past = recall(view, driver.memory)
    for filling in (TAU, Filling(eligible=True, pad=True), Filling(False, True, True, optimal=True)):
        for keeps in (past.within, np.zeros(view.rows, dtype=np.bool_)):
            rng = np.random.default_rng(seed)
            buckets = fill_buckets(view, driver.memory, keeps, m, rng, filling)
            check_buckets(view, buckets, m)
            numbers = recall(view, driver.memory).signature
            for entry in np.flatnonzero(buckets.row >= 0):
                if keeps[buckets.row[entry]]:
                    b = buckets.bucket[entry]
                    kept = buckets.sig_codes[buckets.sig_offsets[b] : buckets.sig_offsets[b + 1]]
                    assert tuple(kept.tolist()) == driver.memory.signatures[numbers[buckets.row[entry]]]


def test_taking_every_newcomer_never_needs_more_counterfeits():
    for seed in range(20):
        driver = with_domain(Driver(TauSafety(3), seed=seed))
        driver.publish(rows_of(seed, 40))
        view, _ = view_of([*rows_of(seed, 25), *rows_of(seed + 1, 60)[40:]], driver.values)
        keeps = recall(view, driver.memory).within
        eligible, all_of_them = (
            fill_buckets(view, driver.memory, keeps, 3, np.random.default_rng(0), filling).counterfeits
            for filling in (Filling(eligible=True, pad=True), TAU)
        )
        assert all_of_them <= eligible


def test_a_row_that_left_its_signature_cannot_keep_it():
    driver = with_domain(Driver(TauSafety(2)))
    driver.publish([("p1", 20, "10", "n", "v0"), ("p2", 20, "10", "n", "v1")])
    view, _ = view_of([("p1", 20, "10", "n", "v7")], driver.values)
    with pytest.raises(CannotPublish, match="1 rows do not; publish them as newcomers"):
        divide(view, driver.memory, np.ones(1, dtype=np.bool_))


def test_nobody_makes_no_buckets():
    view, _ = view_of([])
    buckets = fill_buckets(view, Memory.empty(), np.zeros(0, dtype=np.bool_), 3, np.random.default_rng(0))
    assert buckets.count == 0
    assert buckets.grouping(0).groups == 0


def columns_of(buckets, row):
    """Of every bucket, the list of rows of each code."""
    lists = []
    for b in range(buckets.count):
        part = row[buckets.starts[b] : buckets.starts[b + 1]]
        lists.append(part.reshape(-1, int(buckets.heights[b])).tolist())
    return lists


def naive_halves(view, lists):
    """Groups by repeated halving along the axis with the smallest sum of extents."""
    size = len(lists[0])
    if size == 1:
        return [[column[0] for column in lists]]
    half = size // 2
    best = None
    for axis in range(len(view.axes)):
        sides = ([], [])
        for column in lists:
            real = [row for row in column if row >= 0]
            taken = max(len(real) * half // size, len(real) - (size - half))
            ordered = sorted(real, key=lambda row: view.points[axis][row])
            low = [row for row in real if row in ordered[:taken]]
            high = [row for row in real if row not in low]
            sides[0].append(low + [-1] * (half - len(low)))
            sides[1].append(high + [-1] * (size - half - len(high)))
        extent = sum(naive_extent(view, side) for side in sides)
        if best is None or extent < best[0] - 1e-12:
            best = (extent, sides)
    return [group for side in best[1] for group in naive_halves(view, side)]


def naive_extent(view, lists):
    total = 0.0
    rows = [row for column in lists for row in column if row >= 0]
    for axis, points in zip(view.axes, view.points, strict=True):
        there = [points[row] for row in rows if points[row] > -math.inf]
        if not there:
            continue
        if len(there) < len(rows):
            total += 1.0
        elif axis.kind_code == 1:
            total += len(set(there)) / len(axis.labels) if len(set(there)) > 1 else 0
        else:
            total += (max(there) - min(there)) / (axis.width or 1.0)
    return total


def group_sets(grouping):
    """The rows of every group, as sets."""
    return {frozenset(np.flatnonzero(grouping.group == g).tolist()) for g in range(grouping.groups)}


def real_sets(groups):
    return {frozenset(row for row in group if row >= 0) for group in groups}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40))
def test_halving_is_that_of_the_twin(seed, count):
    view, buckets = padded_buckets(seed, count)
    expected = [g for lists in columns_of(buckets, buckets.row) for g in naive_halves(view, lists)]
    assert group_sets(halved(view, buckets)) == real_sets(expected)


def padded_buckets(seed, count):
    view, _ = view_of(rows_of(seed, count), with_domain(Driver(TauSafety(2))).values)
    keeps = np.zeros(view.rows, dtype=np.bool_)
    return view, fill_buckets(view, Memory.empty(), keeps, 3, np.random.default_rng(seed), TAU)


def naive_gather(view, lists, draws):
    """Groups around a drawn row, each next row the nearest to those chosen."""
    lists = [list(column) for column in lists]
    size = len(lists[0])
    held = [sum(row >= 0 for row in column) for column in lists]
    full = held.index(size)
    for j in range(size):
        swap(lists[full], j, j + int(next(draws) * (size - j)))
        members = [lists[full][j]]
        for p, column in enumerate(lists):
            if p == full or held[p] <= j:
                continue
            apart = [naive_distance(view, members, column[i]) for i in range(j, held[p])]
            least = min(apart)
            near = [i for i, value in enumerate(apart) if value <= least + 1e-9]
            yield ("tie", len(near) > 1)
            swap(column, j, j + near[0])
            members.append(column[j])
        yield ("group", members)


def swap(column, i, j):
    column[i], column[j] = column[j], column[i]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40))
def test_gathering_is_that_of_the_twin(seed, count):
    view, buckets = padded_buckets(seed, count)
    draws = iter(np.random.default_rng(seed).random(int(buckets.heights.sum())))
    expected = []
    for lists in columns_of(buckets, buckets.row):
        for kind, what in naive_gather(view, lists, draws):
            if kind == "tie" and what:
                return  # equal distances may be told apart by rounding
            if kind == "group":
                expected.append(what)
    found = gathered(view, buckets, 10**6, np.random.default_rng(seed))
    assert group_sets(found) == real_sets(expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_parts_of_any_size_hold_every_row_once(seed, limit):
    view, buckets = padded_buckets(seed, 40)
    grouping = gathered(view, buckets, limit, np.random.default_rng(seed))
    for group in range(grouping.groups):
        codes = [
            *view.codes[grouping.group == group].tolist(),
            *grouping.counterfeit_code[grouping.counterfeit_group == group].tolist(),
        ]
        assert len(codes) == len(set(codes)) >= 3
        assert (grouping.group == group).any()
