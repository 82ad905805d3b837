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
from republish.memory.memory import Memory
from republish.publishers._buckets.buckets import FillOptions, divide, fill_buckets, gathered, halved, recall
from republish.publishers._buckets.disjoint_kernels import Sites, accompany, place_apart
from republish.publishers._buckets.kernels import Bars, UnfilledBuckets, plan, plan_rises, tallest
from republish.publishers._buckets.lists import lists_of, positions_by
from republish.publishers._kernels.geometry import geometry, include, measure, new_centre
from republish.publishers.tau_safety import TauSafety

TAU = FillOptions(eligible=False, nearest=True, pad=True)


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


def naive_rises(signatures, order, counts, m):
    """Buckets in turn, each by the most of all its values that leaves no worse a multiset, until none can."""
    counts, rises = list(counts), [0] * len(signatures)

    def lacking(left):
        return max(0, m * max(left) - sum(left))

    most, higher = lacking(counts), True
    while higher:
        higher = False
        for b in order:
            for rise in range(min(counts[code] for code in signatures[b]), 0, -1):
                left = [count - rise * (code in signatures[b]) for code, count in enumerate(counts)]
                if lacking(left) <= most:
                    counts, higher = left, True
                    rises[b] += rise
                    break
    return rises, counts


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=4, max_size=7),
    st.lists(st.sets(st.integers(0, 3), min_size=2), max_size=4),
    st.integers(2, 4),
    st.randoms(use_true_random=False),
)
def test_existing_buckets_become_as_high_as_they_can(counts, sets, m, random):
    signatures = [sorted(codes) for codes in sets]
    order = random.sample(range(len(sets)), len(sets))
    left = np.array(counts, dtype=np.int64)
    rises = plan_rises(lists_of(signatures), np.array(order, dtype=np.int64), left, m)
    assert (rises.tolist(), left.tolist()) == naive_rises(signatures, order, counts, m)


def test_newcomers_of_all_values_of_a_bucket_join_it():
    first = [("a", 0, "1", "t", "v0"), ("b", 1, "1", "t", "v1")]
    driver = Driver(TauSafety(m=2))
    driver.publish(first)
    coming = [
        (name, 2, "1", "t", value) for name, value in zip("cdef", ("v0", "v1", "v2", "v3"), strict=True)
    ]
    view, _ = view_of([*first, *coming], driver.values)
    past, chance = recall(view, driver.memory), np.random.default_rng(0)
    made = fill_buckets(view, past, past.code == view.codes, 2, chance, FillOptions(existing=True))
    signatures = [tuple(part.tolist()) for part in np.split(made.sig_codes, made.sig_offsets[1:-1])]
    assert dict(zip(signatures, made.heights.tolist(), strict=True)) == {(0, 1): 2, (2, 3): 1}


def random_draft(seed):
    """Buckets with gaps, newcomers without one, and what is barred from some of them."""
    rng = np.random.default_rng(seed)
    domain = int(rng.integers(5, 9))
    sets = {tuple(sorted(rng.choice(domain, rng.integers(2, 4), replace=False).tolist())) for _ in range(5)}
    signatures = lists_of(sorted(sets))
    codes, bucket = rng.integers(0, domain, 30), np.full(30, -1)
    for row, code in enumerate(codes[:18]):  # the others are in no bucket
        own = [b for b in range(len(sets)) if code in sorted(sets)[b]]
        bucket[row] = rng.choice(own) if own else -1
    places = [
        sorted(sets)[b].index(c) + signatures.offsets[b] for b, c in zip(bucket, codes, strict=True) if b >= 0
    ]
    draft = UnfilledBuckets(signatures, np.bincount(places, minlength=len(signatures.items)), bucket)
    barred = [sorted(rng.choice(domain, 2, replace=False).tolist()) for _ in range(3)]
    bars = Bars(np.where(rng.random(30) < 0.5, rng.integers(0, 3, 30), -1), lists_of(barred))
    keeps = (bucket >= 0) & (rng.random(30) < 0.5)
    return draft, codes, bars, keeps, sorted(sets), barred, domain


def naive_barred(bars, barred, signature, row):
    return bars.of_row[row] >= 0 and bool(set(barred[bars.of_row[row]]) & set(signature))


def sites_of(draft, domain, movable):
    owner = np.repeat(np.arange(len(draft.signatures.offsets) - 1), np.diff(draft.signatures.offsets))
    return Sites(positions_by(draft.signatures.items, domain), owner, movable)


def held_of(draft, sets, codes):
    """Rows at each place, counted anew."""
    return [
        sum(codes[row] == code for row in np.flatnonzero(draft.bucket == b))
        for b, signature in enumerate(sets)
        for code in signature
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_rows_kept_apart_are_placed_as_their_twin_places_them(seed, higher):
    draft, codes, bars, keeps, sets, barred, domain = random_draft(seed)
    expected = draft.bucket.copy()
    held = {(b, c): int(((expected == b) & (codes == c)).sum()) for b, s in enumerate(sets) for c in s}
    rows = np.flatnonzero(expected < 0)
    for row in rows:
        code = codes[row]
        heights = [max(held[b, c] for c in s) for b, s in enumerate(sets)]
        heights = [max(h, low) for h, low in zip(heights, tallest(draft.signatures, draft.held), strict=True)]
        fitting = [b for b, s in enumerate(sets) if code in s and not naive_barred(bars, barred, s, row)]
        gaps = [b for b, s in enumerate(sets) if code in s and held[b, code] < heights[b]]
        swaps = [
            (b, other)
            for b in gaps
            for other in np.flatnonzero((codes == code) & ~keeps & (expected >= 0))
            if expected[other] != b
            and not naive_barred(bars, barred, sets[expected[other]], row)
            and not naive_barred(bars, barred, sets[b], other)
        ]
        open_ones = [b for b in fitting if b in gaps]
        if open_ones:
            expected[row] = open_ones[0]
        elif swaps:
            b, other = swaps[0]
            expected[row], expected[other] = expected[other], b
            held[b, code] += 1
            continue
        elif higher and fitting:
            expected[row] = min(fitting, key=lambda b: len(sets[b]))
        if expected[row] >= 0:
            held[expected[row], code] += 1
    movable = positions_by(np.where(keeps, -1, codes), domain)
    place_apart(draft, rows, codes, sites_of(draft, domain, movable), bars, higher)
    assert draft.bucket.tolist() == expected.tolist()
    assert draft.held.tolist() == held_of(draft, sets, codes)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3))
def test_rows_are_accompanied_as_their_twin_does_it(seed, m):
    draft, codes, bars, _, sets, barred, domain = random_draft(seed)
    expected = draft.bucket.copy()
    newcomers = np.flatnonzero(expected < 0)
    free = {c: [r for r in newcomers if bars.of_row[r] < 0 and codes[r] == c] for c in range(domain)}
    left = np.bincount(codes[newcomers], minlength=domain)
    movable = lists_of([free[c] for c in range(domain)])
    stuck = newcomers[bars.of_row[newcomers] >= 0]
    counted = left.copy()
    for row in stuck:
        possible = []
        for b, signature in enumerate(sets):
            rest = left.copy()
            rest[list(signature)] -= 1
            others = [c for c in signature if c != codes[row]]
            if (
                len(others) < len(signature)
                and not naive_barred(bars, barred, signature, row)
                and all(free[c] for c in others)
                and m * rest.max() <= rest.sum()
            ):
                possible.append((len(signature), b))
        if possible:
            b = min(possible)[1]
            for code in sets[b]:
                expected[row if code == codes[row] else free[code].pop()] = b
                left[code] -= 1
    accompany(draft, stuck, codes, sites_of(draft, domain, movable), bars, counted, m)
    assert draft.bucket.tolist() == expected.tolist()
    assert draft.held.tolist() == held_of(draft, sets, codes)
    assert counted.tolist() == left.tolist()


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
    for filling in (TAU, FillOptions(eligible=True, pad=True), FillOptions(False, True, True, optimal=True)):
        for keeps in (past.within, np.zeros(view.rows, dtype=np.bool_)):
            rng = np.random.default_rng(seed)
            buckets = fill_buckets(view, past, keeps, m, rng, filling)
            check_buckets(view, buckets, m)
            for entry in np.flatnonzero(buckets.row >= 0):
                if keeps[buckets.row[entry]]:
                    b = buckets.bucket[entry]
                    kept = buckets.sig_codes[buckets.sig_offsets[b] : buckets.sig_offsets[b + 1]]
                    offsets, items = past.signatures
                    number = past.signature[buckets.row[entry]]
                    assert kept.tolist() == items[offsets[number] : offsets[number + 1]].tolist()


def test_taking_every_newcomer_never_needs_more_counterfeits():
    for seed in range(20):
        driver = with_domain(Driver(TauSafety(3), seed=seed))
        driver.publish(rows_of(seed, 40))
        view, _ = view_of([*rows_of(seed, 25), *rows_of(seed + 1, 60)[40:]], driver.values)
        past = recall(view, driver.memory)
        eligible, all_of_them = (
            fill_buckets(view, past, past.within, 3, np.random.default_rng(0), filling).counterfeits
            for filling in (FillOptions(eligible=True, pad=True), TAU)
        )
        assert all_of_them <= eligible


def test_a_row_that_left_its_signature_cannot_keep_it():
    driver = with_domain(Driver(TauSafety(2)))
    driver.publish([("p1", 20, "10", "n", "v0"), ("p2", 20, "10", "n", "v1")])
    view, _ = view_of([("p1", 20, "10", "n", "v7")], driver.values)
    with pytest.raises(CannotPublish, match="1 rows do not; publish them as newcomers"):
        divide(view, recall(view, driver.memory), np.ones(1, dtype=np.bool_))


def test_nobody_makes_no_buckets():
    view, _ = view_of([])
    past = recall(view, Memory.empty())
    buckets = fill_buckets(view, past, past.known, 3, np.random.default_rng(0))
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
    past = recall(view, Memory.empty())
    return view, fill_buckets(view, past, past.known, 3, np.random.default_rng(seed), TAU)


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
