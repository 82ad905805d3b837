"""Neighbours, merges and cuts against slow twins; cuts nested in each other."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import CannotPublish, PolicyError
from republish.requirements import KAnonymity, LDiversity, TCloseness, Whole, compile_rules
from republish.spatial.bang.bang_file import Sensitive, bulk_load
from republish.spatial.dendrogram._density import joined, merged_by_density
from republish.spatial.dendrogram.dendrogram import (
    Dendrogram,
    DensityTree,
    dendrogram_of,
    densities,
    density_tree,
    neighbours,
    volumes,
)
from spatial.layouts import PLAIN, clouds, grid, numbers, regions

MERGES = ("penalty", "density")


def tree_of(merge, index, points, widths, sensitive=None, wanted=()):
    if merge == "density":
        return density_tree(index, sensitive)
    return dendrogram_of(index, points, numbers(*widths), sensitive, wanted)


def box(region, bits):
    """The cells from and up to (excluded) in every dimension, read from the bit string."""
    low, size, at = [0] * len(bits), [1 << b for b in bits], 0
    for turn in range(max(bits)):
        for q, b in enumerate(bits):
            if turn < b and at < len(region):
                size[q] //= 2
                low[q] += size[q] * int(region[at])
                at += 1
    return [(start, start + length) for start, length in zip(low, size, strict=True)]


def pairs_of(index):
    start, near = neighbours(index)
    return {
        frozenset((b, int(other))) for b in range(index.blocks) for other in near[start[b] : start[b + 1]]
    }


def beyond(own, bits):
    """The boxes of the same size beyond the faces of a box."""
    for q, b in enumerate(bits):
        length = own[q][1] - own[q][0]
        for shift in (-length, length):
            if 0 <= own[q][0] + shift < 1 << b:
                moved = list(own)
                moved[q] = (own[q][0] + shift, own[q][1] + shift)
                yield moved


def encloses(outer, inner):
    return all(o[0] <= i[0] and i[1] <= o[1] for o, i in zip(outer, inner, strict=True))


@given(clouds(highest=4), st.integers(1, 4))
def test_neighbours_equal_a_comparison_of_all_pairs_of_boxes(cloud, m) -> None:
    bits, points = cloud
    if points.shape[1] < m:
        return
    index = bulk_load(grid(*bits), points, m)
    boxes = [box(region, bits) for region in regions(index)]
    expected = set()
    for b, own in enumerate(boxes):
        for moved in beyond(own, bits):
            around = [other for other in range(index.blocks) if encloses(boxes[other], moved)]
            nearest = max(around, key=lambda other: index.level[other])
            expected.add(frozenset((b, nearest)))
    assert pairs_of(index) == expected


@given(clouds(highest=3), st.integers(1, 3))
def test_blocks_whose_cells_touch_are_neighbours(cloud, m) -> None:
    bits, points = cloud
    if points.shape[1] < m:
        return
    index = bulk_load(grid(*bits), points, m)
    cells = np.array(list(itertools.product(*(range(1 << b) for b in bits))), dtype=float).T
    painted = index.find(cells + 0.5).reshape([1 << b for b in bits])
    touching = set()
    for q in range(len(bits)):
        first = np.moveaxis(painted, q, 0)
        for one, other in zip(first[:-1].ravel(), first[1:].ravel(), strict=True):
            if one != other:
                touching.add(frozenset((int(one), int(other))))
    assert touching <= pairs_of(index)


@given(clouds(highest=3), st.integers(1, 3))
def test_density_is_points_over_painted_cells(cloud, m) -> None:
    bits, points = cloud
    if points.shape[1] < m:
        return
    index = bulk_load(grid(*bits), points, m)
    cells = np.array(list(itertools.product(*(range(1 << b) for b in bits))), dtype=float).T
    painted = np.bincount(index.find(cells + 0.5), minlength=index.blocks)
    assert np.allclose(densities(index), index.count / (painted / cells.shape[1]))


# --- merging ----------------------------------------------------------------------------------------------


def naive_pairs(index):
    """Clusters as sets of blocks, every one that comes to be: rounds of pairs of closest density."""
    beside = pairs_of(index)
    clusters, seen = [frozenset((b,)) for b in range(index.blocks)], []

    def density(cluster):
        points, space = (sum(part[b] for b in cluster) for part in (index.count, volumes(index)))
        return np.log(points) - np.log(space)

    def touch(one, other):
        return any(frozenset((a, b)) in beside for a in one for b in other)

    while len(clusters) > 1:
        dense = [density(cluster) for cluster in clusters]
        order = sorted(range(len(clusters)), key=lambda c: (-dense[c], c))
        mate = {}
        for c in order:
            free = [
                o
                for o in range(len(clusters))
                if o != c and o not in mate and touch(clusters[c], clusters[o])
            ]
            if c not in mate and free:
                best = min(free, key=lambda o: (abs(dense[o] - dense[c]), o))
                mate[c], mate[best] = best, c
        if 16 * len(mate) < len(clusters):
            left = [c for c in order if c not in mate]
            for one, other in zip(left[::2], left[1::2], strict=False):
                mate[one], mate[other] = other, one
        made = [clusters[c] | clusters[mate[c]] for c in sorted(mate) if c < mate[c]]
        clusters = [cluster for c, cluster in enumerate(clusters) if c not in mate] + made
        seen += made
    return seen


def nodes(tree):
    """The blocks below every node."""
    blocks = len(tree.size) - len(tree.child)
    below = [frozenset((b,)) for b in range(blocks)]
    for left, right in tree.child.tolist():
        below.append(below[left] | below[right])
    return below


def is_tree(tree, index):
    below = nodes(tree)
    assert below[-1] == frozenset(range(index.blocks))
    assert sorted(tree.child.ravel().tolist()) == list(range(2 * index.blocks - 2))
    assert tree.size.tolist() == [int(sum(index.count[b] for b in part)) for part in below]


@given(clouds(highest=4), st.integers(1, 4), st.sampled_from(MERGES))
def test_merges_form_one_tree(cloud, m, merge) -> None:
    bits, points = cloud
    if points.shape[1] < m:
        return
    index = bulk_load(grid(*bits), points, m)
    is_tree(tree_of(merge, index, points, [1 << b for b in bits], wanted=(m, 2 * m, 5 * m)), index)


@settings(max_examples=60)
@given(clouds(highest=4), st.integers(1, 4))
def test_blocks_of_closest_density_merge_as_in_the_slow_twin(cloud, m) -> None:
    bits, points = cloud
    if points.shape[1] < m:
        return
    index = bulk_load(grid(*bits), points, m)
    assert nodes(density_tree(index))[index.blocks :] == naive_pairs(index)


@given(st.integers(1, 40), st.integers(0, 1000))
def test_neighbours_of_clusters_are_those_of_their_parts_once(parts, seed) -> None:
    rng = np.random.default_rng(seed)
    clusters = int(rng.integers(1, parts + 1))
    cluster = np.concatenate([np.arange(clusters), rng.integers(0, clusters, parts - clusters)])
    listed = [rng.integers(0, parts, rng.integers(0, 6)).tolist() for _ in range(parts)]
    start = np.concatenate([[0], np.cumsum([len(part) for part in listed])]).astype(np.int64)
    near = np.array([other for part in listed for other in part], dtype=np.int64)
    first, beside = joined(cluster, clusters, start, near)
    for c in range(clusters):
        found = beside[first[c] : first[c + 1]].tolist()
        expected = {int(cluster[o]) for p in range(parts) if cluster[p] == c for o in listed[p]} - {c}
        assert sorted(found) == sorted(expected)


def test_one_large_block_beside_very_many_does_not_make_all_of_them_wait() -> None:
    """A star of a hundred blocks that touch nothing but one in their middle."""
    hub = np.zeros(100, dtype=np.int64)
    start = np.concatenate([[0, 100], 100 + np.arange(1, 101)])
    near = np.concatenate([np.arange(1, 101), hub])
    child, space = merged_by_density(np.full(101, 5), np.ones(101), start, near)
    leaves = [1] * 101
    for left, right in child.tolist():
        leaves.append(leaves[left] + leaves[right])
    assert leaves[-1] == space[-1] == 101
    assert sorted(leaves[101:])[:50] == [2] * 50


def extent(points, rows, widths):
    return [float(np.ptp(points[q, rows]) / widths[q]) for q in range(len(widths))]


def naive_cut(points, rows, size, widths, holds):
    """The best two parts of some rows, or none."""
    best = None
    shares = extent(points, rows, widths)
    for q in range(len(widths)):
        if shares[q] < 0.5 * max(shares):
            continue
        order = sorted(rows, key=lambda row: points[q, row])
        dearest = None
        for at in range(size, len(rows) - size + 1):
            parts = order[:at], order[at:]
            if not (holds(parts[0]) and holds(parts[1])):
                continue
            cost = sum(len(part) * sum(extent(points, part, widths)) for part in parts)
            if at // size + (len(rows) - at) // size < len(rows) // size:
                cost *= 1 + 0.2 / (len(rows) // size)
            if dearest is None or cost < dearest[0] - 1e-12:
                dearest = cost, parts
        if dearest is not None and (best is None or dearest[0] < best[0] - 1e-12):
            best = dearest
    return None if best is None else best[1]


def naive_groups(points, wanted, widths, holds=lambda rows: True):
    """Groups at the smallest size, cut down through all that are wanted."""
    sets = [list(range(points.shape[1]))]
    for size in sorted(wanted, reverse=True):
        done = []
        while sets:
            rows = sets.pop()
            parts = naive_cut(points, rows, size, widths, holds)
            if parts is None:
                done.append(rows)
            else:
                sets += parts
        sets = done
    return {frozenset(rows) for rows in sets}


def groups(group):
    return {frozenset(np.flatnonzero(group == g).tolist()) for g in range(int(group.max()) + 1)}


@settings(max_examples=40)
@given(
    st.integers(1, 4),
    st.integers(2, 70),
    st.integers(0, 1000),
    st.sets(st.integers(1, 20), min_size=1, max_size=3),
)
def test_sets_are_cut_as_in_the_slow_twin(dimensions, rows, seed, wanted) -> None:
    points = np.random.default_rng(seed).random((dimensions, rows)) * 2**20
    if rows < min(wanted):
        return
    index = bulk_load(grid(*[20] * dimensions), points, 1, full=2)
    tree = dendrogram_of(index, points, numbers(*[2**20] * dimensions), wanted=tuple(wanted))
    found = groups(tree.cut(min(wanted))[index.block])
    assert found == naive_groups(points, wanted, [2**20] * dimensions)


@settings(max_examples=40)
@given(st.integers(1, 3), st.integers(4, 60), st.integers(0, 1000), st.integers(1, 5), st.integers(2, 3))
def test_cuts_under_requirements_equal_the_slow_twin(dimensions, rows, seed, size, diversity) -> None:
    rng = np.random.default_rng(seed)
    points, codes = rng.random((dimensions, rows)) * 2**20, rng.integers(0, 4, rows)
    if len(set(codes.tolist())) < diversity:
        return
    rules = compile_rules((LDiversity(diversity),), Whole.of(codes, 4))
    index = bulk_load(grid(*[20] * dimensions), points, 1, full=2)
    tree = dendrogram_of(
        index, points, numbers(*[2**20] * dimensions), Sensitive(rules, codes), wanted=(size,)
    )
    if rows < size:
        return
    found = groups(tree.cut(size, rules)[index.block])
    expected = naive_groups(
        points, {size}, [2**20] * dimensions, lambda part: len({int(codes[row]) for row in part}) >= diversity
    )
    assert found == expected


def test_halves_that_fit_more_groups_are_preferred() -> None:
    """Eleven points on a line at k=5: after 5 or 6 of them two groups fit, after no other number."""
    points = np.arange(11.0)[None]
    index = bulk_load(grid(4), points, 1, full=2)
    sizes = np.bincount(dendrogram_of(index, points, numbers(10), wanted=(5,)).cut(5))
    assert sorted(sizes.tolist()) == [5, 6]


@pytest.mark.parametrize("heavier", [0, 1])
def test_a_cut_saves_where_the_weight_is(heavier) -> None:
    """The corners of a square at k=2: both cuts leave as much, so the heavier side is cut."""
    points = np.array([[0.0, 0, 8, 8], [0.0, 8, 0, 8]])
    axes = numbers(8, 8)
    axes[heavier].column = SimpleNamespace(weight=1.5)
    index = bulk_load(grid(4, 4), points, 1, full=2)
    found = dendrogram_of(index, points, axes, wanted=(2,)).cut(2)[index.block]
    assert groups(found) == groups(points[heavier] // 8)


def test_a_hierarchy_is_cut_between_its_nodes() -> None:
    """Leaves 0-2 are one node, 3-5 the other; the even cut of the rows would go through the first."""
    nodes = np.array([[leaf, 0 if leaf < 3 else 3, 0] for leaf in range(6)], dtype=np.int32)
    ends = np.array([[leaf + 1, 3 if leaf < 3 else 6, 6] for leaf in range(6)], dtype=np.int32)
    axis = SimpleNamespace(
        width=6.0, kind_code=2, hierarchy=SimpleNamespace(start=nodes, end=ends), column=PLAIN
    )
    points = np.array([[0.0, 0, 1, 1, 2, 2, 2, 3, 4, 5]])
    index = bulk_load(grid(3), points, 1, full=2)
    found = dendrogram_of(index, points, [axis], wanted=(3,)).cut(3)[index.block]
    assert len(set(found[:7].tolist()) & set(found[7:].tolist())) == 0


# --- cuts -------------------------------------------------------------------------------------------------


def nested(fine, coarse):
    """Whether every fine group lies in one coarse group."""
    return all(len({int(coarse[b]) for b in np.flatnonzero(fine == g)}) == 1 for g in set(fine.tolist()))


@given(clouds(highest=4), st.integers(1, 3), st.sampled_from(MERGES))
def test_cuts_reach_k_and_are_nested(cloud, m, merge) -> None:
    bits, points = cloud
    rows = points.shape[1]
    if rows < m:
        return
    index = bulk_load(grid(*bits), points, m)
    tree = tree_of(merge, index, points, [1 << b for b in bits], wanted=(m, 3 * m))
    before = None
    for k in range(m, rows + 1):
        found = tree.cut(k)
        assert sorted(set(found.tolist())) == list(range(int(found.max()) + 1))
        assert np.bincount(found, weights=index.count).min() >= k
        assert before is None or nested(before, found)
        before = found


@given(
    clouds(highest=4),
    st.sampled_from(MERGES),
    st.integers(1, 4),
    st.sampled_from([TCloseness(0.5), LDiversity(3)]),
)
def test_cuts_under_requirements_hold_and_are_nested(cloud, merge, k, asked) -> None:
    bits, points = cloud
    rows = points.shape[1]
    codes = np.arange(rows) % 4
    if rows < 8:
        return
    whole = Whole.of(codes, 4)
    rules = compile_rules((asked,), whole)
    index = bulk_load(grid(*bits), points, 1)
    tree = tree_of(merge, index, points, bits, Sensitive(rules, codes), (k,))
    before = None
    for size in (k, k + 1, 2 * k):
        found = tree.cut(size, rules)
        counts = np.zeros((int(found.max()) + 1, 4), dtype=np.int64)
        np.add.at(counts, (found[index.block], codes), 1)
        assert counts.sum(axis=1).min() >= size
        assert asked.holds(counts, whole).all()
        assert before is None or nested(before, found)
        before = found


def test_a_cut_descends_only_where_both_parts_are_enough() -> None:
    """Blocks of 3, 4, 5 and 2 points; ((3, 4), (5, 2))."""
    none = np.zeros(0, dtype=np.int64)
    child = np.array([[0, 1], [2, 3], [4, 5]], dtype=np.int32)
    tree = Dendrogram(child, np.array([3, 4, 5, 2, 7, 7, 14]), none, none, none)
    assert len(set(tree.cut(3).tolist())) == 3
    assert len(set(tree.cut(2).tolist())) == 4
    assert tree.cut(8).tolist() == [0, 0, 0, 0]
    with pytest.raises(CannotPublish, match="k=15"):
        tree.cut(15)


def naive_passing(tree, k, holds=lambda blocks: True):
    """The groups of blocks below the root: each node divided as long as a part of it is enough."""
    blocks = len(tree.size) - len(tree.child)
    below = [[b] for b in range(blocks)]
    for left, right in tree.child.tolist():
        below.append(below[left] + below[right])
    beside = [set(tree.near[tree.first[b] : tree.first[b + 1]].tolist()) for b in range(blocks)]

    def enough(node):
        return tree.size[node] >= k and holds(below[node])

    def parts(node):
        if node < blocks:
            return [[node]]
        one, other = tree.child[node - blocks].tolist()
        if enough(one) and enough(other):
            return parts(one) + parts(other)
        if not enough(one) and not enough(other):
            return [below[node]]
        host, small = (one, other) if enough(one) else (other, one)
        made = parts(host)
        touching = {n for b in below[small] for n in beside[b]} & set(below[host]) or below[host]
        nearest = min(touching, key=lambda b: (abs(tree.density[b] - tree.density[small]), b))
        return [part + below[small] if nearest in part else part for part in made]

    return {frozenset(part) for part in parts(len(tree.size) - 1)}


@given(clouds(highest=4), st.integers(1, 3), st.integers(1, 30))
def test_small_nodes_are_passed_on_as_in_the_slow_twin(cloud, m, k) -> None:
    bits, points = cloud
    if points.shape[1] < max(m, k):
        return
    tree = density_tree(bulk_load(grid(*bits), points, m))
    assert groups(tree.cut(k)) == naive_passing(tree, k)


@given(clouds(highest=4), st.integers(1, 6), st.integers(1, 3))
def test_so_are_those_of_too_few_values(cloud, k, values) -> None:
    bits, points = cloud
    codes = (points.sum(axis=0).astype(int) * 7) % 4
    if points.shape[1] < k or len(set(codes.tolist())) < values:
        return
    rules = compile_rules((LDiversity(values),), Whole.of(codes, 4))
    index = bulk_load(grid(*bits), points, 1)
    tree = density_tree(index, Sensitive(rules, codes))

    def diverse(blocks):
        return len(set(codes[np.isin(index.block, blocks)].tolist())) >= values

    assert groups(tree.cut(k, rules)) == naive_passing(tree, k, diverse)


def test_a_block_that_is_too_small_goes_to_the_neighbour_of_closest_density() -> None:
    """Blocks of 5, 5 and 2 points in a row, (0, 1) first; 2 touches 1 alone, and then both."""
    none = np.zeros(0, dtype=np.int64)
    child = np.array([[0, 1], [3, 2]], dtype=np.int32)
    size, density = np.array([5, 5, 2, 10, 12]), np.array([1.0, 3.0, 1.5, 2.0, 2.0])
    row = DensityTree(child, size, none, none, none, density, np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))
    assert row.cut(5).tolist() == [0, 1, 1]
    ring = DensityTree(
        child, size, none, none, none, density, np.array([0, 2, 4, 6]), np.array([1, 2, 0, 2, 0, 1])
    )
    assert ring.cut(5).tolist() == [0, 1, 0]
    assert ring.cut(6).tolist() == [0, 0, 0]


@given(clouds(highest=4), st.integers(1, 3), st.integers(1, 10))
def test_blocks_that_belong_together_are_never_parted(cloud, m, units) -> None:
    bits, points = cloud
    if points.shape[1] < m:
        return
    index = bulk_load(grid(*bits), points, m)
    unit = np.arange(index.blocks) % min(units, index.blocks)
    tree = density_tree(index, unit=unit)
    assert tree.size[: unit.max() + 1].tolist() == np.bincount(unit, weights=index.count).tolist()
    assert len(tree.cut(m)) == unit.max() + 1


def test_what_cannot_be_asked_is_refused() -> None:
    points = np.arange(8.0)[None]
    index = bulk_load(grid(3), points, 2)
    with pytest.raises(PolicyError):
        dendrogram_of(index, points, numbers(8), wanted=(0,))
    rules = compile_rules((KAnonymity(2), LDiversity(2)), Whole.of(np.array([0, 1]), 2))
    with pytest.raises(PolicyError, match="codes"):
        dendrogram_of(index, points, numbers(8)).cut(2, rules)


def test_missing_values_stay_together_where_they_can() -> None:
    points = np.array([[-np.inf] * 6 + [1.0, 2, 3, 4, 5, 6]])
    index = bulk_load(grid(4), np.where(points < 0, 0, points + 8), 1, full=2)
    found = dendrogram_of(index, points, numbers(5), wanted=(3,)).cut(3)[index.block]
    assert not set(found[:6].tolist()) & set(found[6:].tolist())


@pytest.mark.jit
def test_threads_change_nothing(monkeypatch) -> None:
    points = np.random.default_rng(1).random((3, 60_000)) * 2**10
    index = bulk_load(grid(10, 10, 10), points, 2)
    alone = dendrogram_of(index, points, numbers(*[2**10] * 3), wanted=(5, 50))
    monkeypatch.setattr("republish.spatial.threads.threads", lambda: 3)
    monkeypatch.setattr("republish.spatial.dendrogram.dendrogram.threads", lambda: 3)
    together = dendrogram_of(index, points, numbers(*[2**10] * 3), wanted=(5, 50))
    assert np.array_equal(alone.cut(5), together.cut(5))
    assert np.array_equal(alone.cut(50), together.cut(50))
