"""The R+-tree against a slow twin, and what its leaves and scans promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import CannotPublish, PolicyError
from republish.microdata import Microdata, read_view
from republish.requirements import LDiversity, Requirement, TCloseness
from republish.schema import Category, Number, Schema
from republish.spatial.rplus.tiling import bulk_load

MISSING = -math.inf


def view_of(
    rows: list[tuple[int | None, ...]],
    values: list[str] | None = None,
    domain: tuple[float, float] | None = None,
) -> Microdata:
    names = [f"x{a}" for a in range(len(rows[0]) if rows else 2)]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")
    if values is not None:
        frame = frame.with_columns(pl.Series("dx", values, dtype=pl.String))
    quasi = [Number(name, domain=domain) for name in names]
    return read_view(frame, Schema(quasi_identifiers=quasi, sensitive=Category("dx") if values else None))


def grid(side: int) -> Microdata:
    return view_of(list(itertools.product(range(side), repeat=2)))


def extent(view: Microdata, rows: list[int]) -> float:
    """The share of the domain that rows are published with, summed over the axes, once a row."""
    total = 0.0
    for axis, column in zip(view.axes, view.points, strict=True):
        values = [float(column[row]) for row in rows]
        if min(values) == max(values):
            continue
        scaled = [(value - axis.low) / axis.width for value in values] if min(values) > MISSING else [0, 1]
        total += len(rows) * (max(scaled) - min(scaled))
    return total


def fits(view: Microdata, rows: list[int], least: int, require: tuple[Requirement, ...]) -> bool:
    counts = np.bincount(view.codes[rows], minlength=view.whole.m)[None]
    return len(rows) >= least and all(bool(r.holds(counts, view.whole)[0]) for r in require)


def twin(
    view: Microdata, rows: list[int], m: int, require: tuple[Requirement, ...], packed: bool
) -> list[list[int]]:
    """The leaves as lists of rows, by looking at every cut in the order of what it costs."""
    least = max([m, *(r.fewest_rows for r in require)])
    if len(rows) < 2 * least:
        return [rows]
    count = len(rows) // least
    wanted = len(rows) * ((count // 2) / count if packed else 0.5)
    cuts = []
    for a, column in enumerate(view.points):
        values = sorted(float(column[row]) for row in rows)
        if values[0] == values[-1]:
            continue
        tries = []
        if values[0] == MISSING:
            tries.append((0, MISSING, True))
        middle = values[max(math.ceil(wanted) - 1, 0)]
        few, many = sum(v < middle for v in values), sum(v <= middle for v in values)
        sides = [(few, middle, False), (many, middle, True)]
        sides = [side for side in sides if least <= side[0] <= len(rows) - least]
        if len(sides) == 2 and wanted - few >= many - wanted:
            sides.reverse()
        tries += [(rank, threshold, upto) for rank, (_, threshold, upto) in enumerate(sides, start=1)]
        first_cost = 0.0
        for rank, threshold, upto in tries:
            left = [row for row in rows if column[row] < threshold or (upto and column[row] == threshold)]
            right = [row for row in rows if row not in left]
            if min(len(left), len(right)) < least:
                continue
            cost = extent(view, left) + extent(view, right)
            if rank == 2:
                cost = first_cost + 2.0 * len(rows) * len(view.axes)
            first_cost = cost
            cuts.append((cost, a, rank, left, right))
    for _, _, _, left, right in sorted(cuts, key=lambda cut: cut[:3]):
        if fits(view, left, least, require) and fits(view, right, least, require):
            return [*twin(view, left, m, require, packed), *twin(view, right, m, require, packed)]
    return [rows]


def as_sets(group: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(group == g).tolist()) for g in np.unique(group)}


VALUES = st.none() | st.integers(0, 8)
ROWS = st.integers(1, 3).flatmap(
    lambda q: st.lists(st.tuples(*([VALUES] * q), st.sampled_from("abc")), min_size=1, max_size=40)
)


@settings(max_examples=150)
@given(ROWS, st.integers(1, 5), st.booleans(), st.sampled_from([(), (LDiversity(2),), (TCloseness(0.4),)]))
def test_the_leaves_are_those_of_the_twin(rows, m, packed, require) -> None:
    # Shares of a domain of 8 are exact, so that costs tie in the twin where they tie in the kernel.
    view = view_of([row[:-1] for row in rows], [row[-1] for row in rows], (0, 8))
    if not fits(view, list(range(view.rows)), m, require):
        with pytest.raises(CannotPublish):
            bulk_load(view, m, require, packed=packed)
        return
    index = bulk_load(view, m, require, packed=packed)
    expected = twin(view, list(range(view.rows)), m, require, packed)
    assert [sorted(np.flatnonzero(index.leaf == g).tolist()) for g in range(index.leaves)] == [
        sorted(leaf) for leaf in expected
    ]


def test_a_grid_is_tiled_into_squares() -> None:
    index = bulk_load(grid(8), 4)
    assert index.sizes.tolist() == [4] * 16
    assert as_sets(index.leaf) == {
        frozenset((2 * x + i) * 8 + 2 * y + j for i in range(2) for j in range(2))
        for x in range(4)
        for y in range(4)
    }


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(10, 600), st.booleans())
def test_leaves_of_distinct_values_hold_m_to_2m_rows_less_one(seed, m, rows, packed) -> None:
    points = np.argsort(np.random.default_rng(seed).random((3, rows)), axis=1)
    sizes = bulk_load(view_of(points.T.tolist()), m, packed=packed, buffer=64).sizes if rows >= m else [m]
    assert min(sizes) >= m
    assert max(sizes) <= 2 * m - 1


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.sampled_from([16, 4096]))
def test_leaves_are_disjoint_boxes(seed, m, buffer) -> None:
    points = np.random.default_rng(seed).integers(0, 12, (2, 300)).astype(float)
    view = view_of(points.T.astype(int).tolist())
    index = bulk_load(view, m, buffer=buffer)
    low = np.array([view.points[:, index.leaf == g].min(axis=1) for g in range(index.leaves)])
    high = np.array([view.points[:, index.leaf == g].max(axis=1) for g in range(index.leaves)])
    meet = np.all((low[:, None] <= high[None]) & (low[None] <= high[:, None]), axis=2)
    assert meet.sum() == index.leaves


def test_packing_fills_the_leaves() -> None:
    # 1000 rows in halves end at 7 or 8; 200 leaves of 5 are possible.
    rows = [(i,) for i in range(1000)]
    assert set(bulk_load(view_of(rows), 5).sizes.tolist()) == {7, 8}
    assert set(bulk_load(view_of(rows), 5, packed=True).sizes.tolist()) == {5}


def test_missing_values_are_cut_off() -> None:
    index = bulk_load(view_of([(None,)] * 3 + [(i,) for i in range(3)]), 3)
    assert as_sets(index.leaf) == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}


def test_equal_rows_stay_in_one_leaf() -> None:
    assert bulk_load(view_of([(1, 1)] * 50), 3).leaves == 1


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(5, 90))
def test_any_larger_k_is_a_union_of_neighbouring_leaves(seed, m, k) -> None:
    points = np.random.default_rng(seed).integers(0, 50, (200, 2))
    index = bulk_load(view_of(points.tolist()), m)
    group = index.cut(k)
    sizes = np.bincount(group)
    assert sizes.min() >= k
    assert sizes[:-1].max(initial=k) < k + index.sizes.max()
    of_leaf = np.zeros(index.leaves, dtype=int)
    of_leaf[index.leaf] = group
    assert (of_leaf[index.leaf] == group).all()
    assert set(np.diff(of_leaf)) <= {0, 1}


def test_a_cut_at_the_size_of_the_leaves_is_the_leaves() -> None:
    index = bulk_load(grid(8), 4)
    assert np.array_equal(index.cut(4), index.leaf)


@settings(max_examples=80)
@given(st.lists(st.sampled_from("aaab"), min_size=4, max_size=80), st.integers(2, 9))
def test_a_scan_keeps_requirements_that_the_leaves_were_not_asked(values, k) -> None:
    view = view_of([(i,) for i in range(len(values))], values)
    index = bulk_load(view, 2)
    asked = (LDiversity(2), TCloseness(0.3))
    if not fits(view, list(range(view.rows)), k, asked):
        with pytest.raises(CannotPublish):
            index.cut(k, asked)
        return
    assert all(fits(view, list(group), k, asked) for group in as_sets(index.cut(k, asked)))


def test_no_rows_have_no_leaves() -> None:
    index = bulk_load(view_of([]), 5)
    assert (index.leaves, index.cut(5).size) == (0, 0)


def test_what_means_nothing_is_refused() -> None:
    with pytest.raises(PolicyError, match="at least the size of the leaves, 4"):
        bulk_load(grid(8), 4).cut(3)
    with pytest.raises(PolicyError, match="buffer must hold 2"):
        bulk_load(grid(4), 4, buffer=1)
    with pytest.raises(CannotPublish, match="k=17"):
        bulk_load(grid(4), 17)
