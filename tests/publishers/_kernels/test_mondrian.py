"""Mondrian's kernel against a slow twin, and the promises of a partition."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import CannotPublish, PolicyError
from republish.publishers._kernels.mondrian import Space
from republish.publishers.mondrian import Mondrian, divide, prepare
from republish.requirements import KAnonymity, LDiversity, TCloseness, Whole

MISSING = -math.inf
SMALLEST = 5e-324
INTERVAL, FLAT, TREE = 0, 1, 2


@dataclass
class Axis:
    """One quasi-identifier: its values, its width and, for a tree, the leaf ranges `paths[leaf][level]`."""

    kind: int
    values: list[float]
    width: float
    paths: list[list[tuple[int, int]]]
    weight: float = 1.0


def interval(values):
    present = [value for value in values if value > MISSING]
    return Axis(INTERVAL, list(values), max(present) - min(present) if present else 0.0, [])


def flat(values, leaves):
    return Axis(FLAT, list(values), float(leaves), [])


def tree(values, *levels):
    """A tree from the first leaves of its nodes at each level above the leaves, the root left out."""
    leaves = levels[0]
    paths = []
    for leaf in range(leaves):
        path = [(leaf, leaf + 1)]
        for firsts in levels[1:]:
            bounds = [*firsts, leaves]
            place = max(i for i, first in enumerate(firsts) if first <= leaf)
            path.append((bounds[place], bounds[place + 1]))
        paths.append([*path, (0, leaves)])
    return Axis(TREE, list(values), float(leaves), paths)


def space_of(axes):
    sizes = [sum(len(path) for path in axis.paths) for axis in axes]
    flat_paths = [node for axis in axes for path in axis.paths for node in path]
    return Space(
        points=np.array([axis.values for axis in axes], dtype=np.float64),
        width=np.array([axis.width for axis in axes], dtype=np.float64),
        weight=np.array([axis.weight for axis in axes], dtype=np.float64),
        kind=np.array([axis.kind for axis in axes], dtype=np.int8),
        start=np.array([node[0] for node in flat_paths], dtype=np.int32),
        end=np.array([node[1] for node in flat_paths], dtype=np.int32),
        offset=np.cumsum([0, *sizes[:-1]], dtype=np.int64),
        levels=np.array([len(axis.paths[0]) if axis.paths else 0 for axis in axes], dtype=np.int64),
    )


def groups_of(axes, k, codes=None, l=1, strict=True):  # noqa: E741
    """The kernel's partition as a set of row sets."""
    n = len(axes[0].values)
    codes = np.zeros(n, np.int32) if codes is None else np.array(codes, np.int32)
    require = (KAnonymity(k),) if l == 1 else (KAnonymity(k), LDiversity(l))
    group = divide(space_of(axes), codes, Whole.of(codes, int(codes.max(initial=0)) + 1), require, strict)
    assert group.dtype == np.int32
    return rows_of(group)


def rows_of(group):
    """The row sets of a group array whose numbers have no gaps."""
    rows = {}
    for row, number in enumerate(group.tolist()):
        rows.setdefault(number, set()).add(row)
    assert sorted(rows) == list(range(len(rows)))
    return {frozenset(members) for members in rows.values()}


# --- the twin -------------------------------------------------------------------------------------------


def common(axis, rows):
    """Level and leaf range of the lowest node above all rows with a value."""
    paths = [axis.paths[int(axis.values[row])] for row in rows if axis.values[row] > MISSING]
    for level, node in enumerate(paths[0]):
        if all(path[level] == node for path in paths):
            return level, node
    raise AssertionError("a tree has one root")


def extent(axis, rows):
    values = {axis.values[row] for row in rows}
    if len(values) == 1 or axis.width == 0:
        return 0.0
    return max(axis.weight * share(axis, rows, values), SMALLEST)


def share(axis, rows, values):
    if MISSING in values:
        return 1.0
    if axis.kind == TREE:
        _, (first, last) = common(axis, rows)
        return (last - first) / axis.width
    return (max(values) - min(values) + (1 if axis.kind == FLAT else 0)) / axis.width


def sides(rows, goes_left):
    return [row for row in rows if goes_left(row)], [row for row in rows if not goes_left(row)]


def halves(axis, rows):
    order = sorted(rows, key=lambda row: (axis.values[row], row))
    return order[: len(order) // 2], order[len(order) // 2 :]


def median_cuts(axis, rows):
    median = sorted(axis.values[row] for row in rows)[(len(rows) - 1) // 2]
    if axis.kind == TREE:
        if median == MISSING:
            return []
        level, _ = common(axis, rows)
        first, last = axis.paths[int(median)][max(level - 1, 0)]
        cuts = [
            sides(rows, lambda row: axis.values[row] < last),
            sides(rows, lambda row: axis.values[row] < first),
        ]
    else:
        cuts = [
            sides(rows, lambda row: axis.values[row] <= median),
            sides(rows, lambda row: axis.values[row] < median),
        ]
    return sorted(cuts, key=lambda cut: abs(len(cut[0]) - len(cut[1])))


def cuts_of(axis, rows, strict):
    cuts = []
    if any(axis.values[row] == MISSING for row in rows):
        cuts.append(sides(rows, lambda row: axis.values[row] == MISSING))
    if not strict and axis.kind != TREE:
        cuts.append(halves(axis, rows))
    cuts += median_cuts(axis, rows)
    if not strict and axis.kind == TREE:
        cuts.append(halves(axis, rows))
    return cuts


def twin(axes, k, codes=None, l=1, strict=True):  # noqa: E741
    def allowed(rows):
        return len(rows) >= k and (l == 1 or len({codes[row] for row in rows}) >= l)

    def first_cut(rows):
        extents = [extent(axis, rows) for axis in axes]
        for place in sorted(range(len(axes)), key=lambda place: -extents[place]):
            if extents[place] > 0:
                tried = cuts_of(axes[place], rows, strict)
            else:
                tried = [] if strict else [halves(axes[place], rows)]
            for left, right in tried:
                if allowed(left) and allowed(right):
                    return left, right
        return None

    waiting, done = [list(range(len(axes[0].values)))], set()
    while waiting:
        rows = waiting.pop()
        cut = first_cut(rows)
        if cut is None:
            done.add(frozenset(rows))
        else:
            waiting.extend(cut)
    return done


# --- against the twin -----------------------------------------------------------------------------------


def drawn_values(draw, n, present):
    cells = present if draw(st.booleans()) else st.one_of(present, present, st.just(MISSING))
    return [float(cell) for cell in draw(st.lists(cells, min_size=n, max_size=n))]


@st.composite
def axes_of(draw, n):
    kind = draw(st.sampled_from([INTERVAL, FLAT, TREE]))
    if kind == INTERVAL:
        numbers = st.one_of(st.integers(-3, 3), st.floats(-50, 50, allow_subnormal=False))
        return interval(drawn_values(draw, n, draw(st.sampled_from([numbers, st.integers(0, 20)]))))
    leaves = draw(st.integers(1, 9))
    values = drawn_values(draw, n, st.integers(0, leaves - 1))
    if kind == FLAT:
        return flat(values, leaves)
    levels, firsts = [], list(range(leaves))
    for _ in range(draw(st.integers(0, 3))):
        kept = [draw(st.booleans()) for _ in firsts]
        firsts = [first for first, keep in zip(firsts, kept, strict=True) if keep or first == 0]
        levels.append(firsts)
    return tree(values, leaves, *levels)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 40))
    weights = st.sampled_from([1.0, 1.0, 0.25, 3.0])
    axes = [replace(draw(axes_of(n)), weight=draw(weights)) for _ in range(draw(st.integers(1, 4)))]
    codes = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    k = draw(st.integers(1, min(n, 6)))
    l = draw(st.integers(1, min(3, len(set(codes)))))  # noqa: E741
    return axes, k, codes, l, draw(st.booleans())


@settings(max_examples=300, deadline=None)
@given(tables())
def test_partition_is_that_of_the_twin(table):
    assert groups_of(*table) == twin(*table)


@settings(max_examples=100, deadline=None)
@given(tables())
def test_every_group_satisfies_the_rules(table):
    axes, k, codes, l, strict = table  # noqa: E741
    for rows in groups_of(axes, k, codes, l, strict):
        assert len(rows) >= k
        assert len({codes[row] for row in rows}) >= l


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("distinct", [3, 40, 10**6])
def test_large_partition_is_that_of_the_twin(strict, distinct):
    rng = np.random.default_rng(distinct)
    n = 5000
    cells = rng.integers(0, distinct, n).astype(float)
    gaps = np.where(rng.random(n) < 0.2, MISSING, rng.normal(size=n))
    leaves = rng.integers(0, 12, n)
    axes = [interval(cells), interval(gaps), tree(leaves, 12, range(0, 12, 2), (0, 4, 6))]
    codes = rng.integers(0, 19, n).tolist()
    assert groups_of(axes, 7, codes, 4, strict) == twin(axes, 7, codes, 4, strict)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=3, max_size=60))
def test_strict_groups_are_disjoint_boxes(rows):
    columns = list(zip(*rows, strict=True))
    groups = list(groups_of([interval(column) for column in columns], 3))
    boxes = [[(min(c[r] for r in rows), max(c[r] for r in rows)) for c in columns] for rows in groups]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert any(a[1] < b[0] or b[1] < a[0] for a, b in zip(one, other, strict=True))


# --- named cases ----------------------------------------------------------------------------------------


def test_median_cut_of_four_numbers():
    assert groups_of([interval([1, 9, 2, 8])], 2) == {frozenset({0, 2}), frozenset({1, 3})}


def test_more_balanced_side_of_a_tied_median_comes_first():
    assert groups_of([interval([1, 5, 5, 5, 9, 9])], 1) == {
        frozenset({0}),
        frozenset({1, 2, 3}),
        frozenset({4, 5}),
    }


def test_widest_column_is_cut_first():
    axes = [flat([0, 0, 1, 1], 4), interval([0, 10, 0, 10])]
    assert groups_of(axes, 2) == {frozenset({0, 2}), frozenset({1, 3})}


def test_hierarchy_is_cut_between_children():
    # Five rows below the first child, two below the second: the median alone would cut inside the first.
    axes = [tree([0, 0, 1, 2, 2, 3, 4], 5, (0, 3))]
    assert groups_of(axes, 2) == {frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5, 6})}


def test_level_that_does_not_refine_is_passed_over():
    axes = [tree([0, 1, 2, 3], 4, (0, 2), (0, 2), (0,), (0,))]
    assert groups_of(axes, 2) == {frozenset({0, 1}), frozenset({2, 3})}


def test_missing_values_are_cut_from_the_rest():
    axes = [interval([MISSING, 1, 2, MISSING, 3])]
    assert groups_of(axes, 2) == {frozenset({0, 3}), frozenset({1, 2, 4})}


def test_few_missing_values_stand_below_the_others():
    axes = [interval([4, 3, MISSING, 1])]
    assert groups_of(axes, 2) == {frozenset({2, 3}), frozenset({0, 1})}


def test_all_missing_is_one_value():
    assert groups_of([interval([MISSING] * 6)], 2) == {frozenset(range(6))}


def test_equal_rows_stay_one_group_when_strict():
    assert groups_of([interval([7] * 9), flat([2] * 9, 4)], 2) == {frozenset(range(9))}


def test_equal_rows_are_halved_when_relaxed():
    assert groups_of([interval([7] * 5)], 2, strict=False) == {frozenset({0, 1}), frozenset({2, 3, 4})}


def test_relaxed_divides_the_median_value():
    assert groups_of([interval([1, 5, 5, 9])], 2, strict=False) == {frozenset({0, 1}), frozenset({2, 3})}


@pytest.mark.parametrize("k", [1, 2, 5, 17])
def test_relaxed_groups_hold_k_to_2k_less_1_rows(k):
    rng = np.random.default_rng(k)
    axes = [interval(rng.integers(0, 5, 3000)), interval(rng.integers(0, 9, 3000))]
    sizes = Counter(len(rows) for rows in groups_of(axes, k, strict=False))
    assert min(sizes) >= k
    assert max(sizes) <= max(2 * k - 1, 1)


def test_numbers_exponentially_far_apart():
    values = 2.0 ** np.linspace(-1000, 1000, 100_000)
    group = divide(
        space_of([interval(values)]), np.zeros(100_000, np.int32), whole_of(1), (KAnonymity(2),), True
    )
    assert sorted(set(np.bincount(group).tolist())) == [2, 3]
    assert (np.diff(group) >= 0).all()


def test_chain_of_cuts_that_split_off_one_leaf_each():
    # A tree that bends to one side: every node has one leaf and the rest below it.
    leaves = 300
    values = np.repeat(np.arange(leaves), 300)
    chain = tree(values, leaves, *[range(first + 1) for first in range(leaves - 2, 0, -1)])
    group = divide(space_of([chain]), np.zeros(values.size, np.int32), whole_of(1), (KAnonymity(300),), True)
    assert np.array_equal(group, values)


def whole_of(m):
    return Whole(np.full(m, 1 / m))


def test_no_rows_give_no_groups():
    assert groups_of([interval([])], 5) == set()


def test_groups_are_numbered_from_low_to_high():
    group = divide(
        space_of([interval([9, 1, 5, 8, 2, 6])]), np.zeros(6, np.int32), whole_of(1), (KAnonymity(2),), True
    )
    assert group.tolist() == [1, 0, 0, 1, 0, 1]


def test_inputs_are_not_modified():
    space = space_of([interval([3, 1, 2, 4]), flat([1, 0, 1, 0], 2)])
    codes = np.array([0, 1, 0, 1], np.int32)
    before = [part.copy() for part in space]
    divide(space, codes, Whole.of(codes, 2), (KAnonymity(2), LDiversity(2)), True)
    assert codes.tolist() == [0, 1, 0, 1]
    assert all(np.array_equal(old, new) for old, new in zip(before, space, strict=True))


def test_any_requirement_guides_the_cuts():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, 600).astype(np.int32)
    whole, closeness = Whole.of(codes, 3), TCloseness(0.2)
    axes = [interval(rng.random(600)), interval(rng.random(600))]
    group = divide(space_of(axes), codes, whole, (KAnonymity(3), closeness), True)
    counts = np.zeros((group.max() + 1, 3), np.int64)
    np.add.at(counts, (group, codes), 1)
    assert len(counts) > 20
    assert closeness.holds(counts, whole).all()


def test_hierarchies_of_a_view_are_packed_one_after_the_other():
    first = np.array([[0, 0], [1, 0]]), np.array([[1, 2], [2, 2]])
    second = np.array([[0, 0, 0], [1, 0, 0], [2, 2, 0]]), np.array([[1, 2, 3], [2, 2, 3], [3, 3, 3]])
    trees = [SimpleNamespace(start=start, end=end) for start, end in (first, second)]
    kinds = ((TREE, trees[0], 1.0), (INTERVAL, None, 4.0), (TREE, trees[1], 1.0))
    axes = [
        SimpleNamespace(kind_code=kind, hierarchy=nodes, column=SimpleNamespace(weight=weight))
        for kind, nodes, weight in kinds
    ]
    space = prepare(SimpleNamespace(points=np.zeros((3, 1)), widths=[2.0, 5.0, 3.0], axes=axes))
    assert space.kind.tolist() == [2, 0, 2]
    assert space.weight.tolist() == [0.5, 2.0, 0.5]
    assert space.offset.tolist() == [0, 4, 4]
    assert space.levels.tolist() == [2, 0, 3]
    assert space.start.tolist() == [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 2, 2, 0]
    assert space.end.tolist() == [1, 2, 2, 2, 1, 2, 3, 2, 2, 3, 3, 3, 3]


# --- refusals -------------------------------------------------------------------------------------------


def test_fewer_rows_than_k_cannot_be_published():
    with pytest.raises(CannotPublish, match="k=5; its 4 rows"):
        groups_of([interval([1, 2, 3, 4])], 5)


def test_the_failing_requirement_is_named_alone():
    with pytest.raises(CannotPublish, match="must satisfy l=3; its 4 rows"):
        groups_of([interval([1, 2, 3, 4])], 2, [0, 1, 0, 1], l=3)


@pytest.mark.parametrize(
    "parameters", [{"k": 0}, {"k": 2.5}, {"require": (3,)}, {"strict": 1}, {"require": ["l=3"]}]
)
def test_parameters_without_meaning_are_refused(parameters):
    with pytest.raises(PolicyError):
        Mondrian(**parameters)


def test_requirements_begin_with_k():
    assert Mondrian(k=4, require=[LDiversity(2)]).requirements == (KAnonymity(4), LDiversity(2))
