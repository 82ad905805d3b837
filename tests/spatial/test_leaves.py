"""Cells made leaf by leaf are those that one process divides a view into."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.spatial.kept_cuts import KeptCuts
from republish.spatial.leaves import OpenCuts
from republish.verify.led_by_cuts import Leading
from spatial.test_kept_cuts import numbers, populations, releases_of


def corners_of(view):
    """The least and the greatest value of every column, and a missing one where there is any."""
    ends = []
    for points in view.points:
        present = points[points > -np.inf]
        gap = -np.inf if len(present) < len(points) else None
        low, high = (present.min(), present.max()) if len(present) else (-np.inf, -np.inf)
        ends.append([low, high, low if gap is None else gap])
    return replace(view, points=np.array(ends), codes=view.codes[:0], people=None)


def led(cuts, view, k, parts):
    """The cuts with what is decided of each, rows counted in so many parts."""
    leading, done, lots = Leading.of(cuts.table(), view.axes), False, np.arange(view.rows) % parts
    while not done:
        counts = sum(leading.counted(view.points[:, lots == lot]) for lot in range(parts))
        leading, done = leading.deciding(counts, k)
    return leading


def divided_in_parts(cuts, view, k, moved, parts):
    """Cell of every row, regions, which extend, and the cuts: leaves are spread over so many tasks."""
    opened = OpenCuts.of(cuts, corners_of(view), moved)
    leading = led(opened.cuts, view, k, parts)
    leaf = leading.places(view.points)
    task = leaf % parts
    cell, low, high, extended, grown = np.full(view.rows, -1), [], [], [], []
    for one in range(parts):
        rows = np.flatnonzero(task == one)
        if len(rows):
            made = opened.cells(view.points[:, rows], leaf[rows], leading.is_open, k)
            cell[rows] = made.cell + sum(map(len, low))
            low.append(made.low)
            high.append(made.high)
            extended.append(leading.extended[made.leaf])
            grown.append(made.grown)
    return cell, np.concatenate(low), np.concatenate(high), np.concatenate(extended), opened.with_cuts(grown)


def tree_of(cuts):
    """The cuts as they hang together, whatever their numbers."""

    def below(cut):
        if cut < 0:
            return None
        own = (cuts.axis[cut], float(cuts.at[cut]), cuts.label[int(cut)], cuts.node[int(cut)])
        return (*(repr(one) for one in own), *(below(child) for child in cuts.child[cut]))

    domain = [array.tolist() for array in (cuts.low, cuts.high, cuts.offset)]
    return cuts.names, domain, below(0 if cuts.cuts else -1)


def shown(cell, low, high, extended):
    """Every row with the region of its cell."""
    return [(low[c].tolist(), high[c].tolist(), bool(extended[c])) for c in cell]


def assert_same(cuts, view, k, moved, parts):
    expected = cuts.divide(view, k, moved)
    *found, after = divided_in_parts(cuts, view, k, moved, parts)
    assert shown(*found) == shown(expected.cell, expected.low, expected.high, expected.extended)
    assert len(found[1]) == len(expected.low) and np.array_equal(
        np.unique(expected.cell * len(expected.low) + found[0]).size, len(expected.low)
    )
    assert tree_of(after) == tree_of(expected.cuts)
    return after


@settings(max_examples=100, deadline=None)
@given(populations(), st.sampled_from([1, 3, 7]), st.data())
def test_cells_of_leaves_are_those_of_the_whole_view(population, parts, data) -> None:
    k, kept = population[2], KeptCuts.none()
    growing = [name for name in population[0] if name in ("count", "fixed", "day")]
    for _, view in releases_of(population):
        moved = {name: data.draw(st.sampled_from([0.0, 0.0, 1.0, 3.0])) for name in growing}
        if view.rows >= k:
            kept = assert_same(kept, view, k, moved, parts)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([2, 64]))
def test_cells_of_leaves_are_the_same_where_cuts_die_and_recover(seed, k, parts) -> None:
    rng, kept = np.random.default_rng(seed), KeptCuts.none()
    for _ in range(6):
        x, few = rng.integers(0, 30, 120) + rng.choice([0, 10, 25, 40]), int(rng.integers(1, 6))
        x[:few] = rng.integers(0, 70, few)
        kept = assert_same(kept, numbers(x=x, y=rng.integers(0, 4, 120)), k, {}, parts)


@pytest.mark.parametrize("parts", [1, 3, 7, 64])
def test_new_cuts_are_numbered_the_same_in_any_number_of_parts(parts) -> None:
    rng, kept = np.random.default_rng(5), KeptCuts.none()
    for rows in (300, 900, 2000):
        view = numbers(x=rng.integers(0, 60, rows), y=rng.normal(0, 1, rows))
        one, many = (divided_in_parts(kept, view, 3, {}, count)[-1] for count in (1, parts))
        assert one.table().equals(many.table())
        kept = many
    assert kept.cuts > 300
