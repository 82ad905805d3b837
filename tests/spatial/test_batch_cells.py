"""Cells that hide the batch, against one batch after the other in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.spatial.batch_cells import hiding_batches
from republish.spatial.kept_cuts import KeptCuts
from spatial.naive_kept_cuts import MISSING, NaiveCuts
from spatial.test_kept_cuts import numbers, populations, releases_of


class NaiveHiding(NaiveCuts):
    """The same tree, to which batches add nothing."""

    grows = True

    def new_cut(self, rows, low, high):
        return super().new_cut(rows, low, high) if self.grows else {}

    def hiding(self, view, batch, k):
        """Every cell with its rows, batch by batch; those that share one first."""
        q = len(view.axes)
        held = {number: np.flatnonzero(batch == number).tolist() for number in set(batch.tolist())}
        by_size = sorted(held, key=lambda number: (len(held[number]), number))
        shared = [number for number in by_size if len(held[number]) < k]
        while shared and sum(len(held[number]) for number in shared) < k:
            shared.append(by_size[len(shared)])
        self.cells, self.grows = [], False
        if shared:
            rows = sorted(row for number in shared for row in held[number])
            self.cells.append((rows, [MISSING] * q, [math.inf] * q))
        for number in sorted(set(held) - set(shared)):
            self.resolve(self.root, held[number], [MISSING] * q, [math.inf] * q)
        self.grows = True
        return [(rows, self.wide(self.printed(rows, low, high), high)) for rows, low, high in self.cells]

    def wide(self, printed, region):
        """The range of a cell in which all values miss, though no cut says so, holds others."""
        low, high = printed
        ends = [
            last if end == MISSING and top > MISSING else end
            for end, top, (_, last) in zip(high, region, self.ends, strict=True)
        ]
        return low, ends


def shown(rows, low, high):
    """A cell as it is printed: where values miss, whether there are others decides."""
    return sorted(rows), [(a, b if a > MISSING else b > MISSING) for a, b in zip(low, high, strict=True)]


@settings(max_examples=80, deadline=None)
@given(populations(), st.integers(1, 6), st.integers(0, 10**6))
def test_every_batch_is_led_by_the_cuts_of_all(population, batches, seed):
    k, chance = population[2], np.random.default_rng(seed)
    cuts, naive = KeptCuts.none(), NaiveHiding()
    for _, view in releases_of(population):
        if view.rows < k or view.rows == 0:
            continue
        batch = chance.integers(-1, batches, view.rows)
        divided = cuts.divide(view, k)
        naive.divide(view, k)
        cuts = divided.cuts
        found = hiding_batches(view, divided, batch, k)
        expected = naive.hiding(view, batch, k)
        got = [
            shown(np.flatnonzero(found.cell == c).tolist(), found.low[c].tolist(), found.high[c].tolist())
            for c in range(len(found.low))
        ]
        assert sorted(got) == sorted(shown(rows, *printed) for rows, printed in expected)
        assert np.bincount(found.cell).min() >= k
        assert found.cuts is divided.cuts


def test_a_cell_has_one_batch_and_a_batch_is_everywhere():
    ages = list(range(40))
    view = numbers(age=ages)
    divided = KeptCuts.none().divide(view, 5)
    found = hiding_batches(view, divided, np.arange(40) % 2, 5)
    assert found.low[:, 0].tolist() == [0, 10, 20, 30] * 2
    assert found.high[:, 0].tolist() == [9, 19, 29, 39] * 2
    assert np.bincount(found.cell).tolist() == [5] * 8


@pytest.mark.parametrize(("small", "shared"), [(3, 20), (5, 5)])
def test_small_batches_share_a_cell_that_is_everywhere(small, shared):
    view = numbers(age=list(range(20 + small)))
    divided = KeptCuts.none().divide(view, 5)
    batch = np.append(np.zeros(20, np.int64), np.full(small, 1) + (np.arange(small) % 2 if small == 5 else 0))
    found = hiding_batches(view, divided, batch, 5)
    cell = found.cell[20]
    assert np.count_nonzero(found.cell == cell) == (shared + small if small == 3 else shared)
    assert (found.low[cell, 0], found.high[cell, 0]) == (0, 19 + small)


def test_an_empty_view_has_no_cells():
    view = numbers(age=[1, 2, 3])
    divided = KeptCuts.none().divide(view, 1)
    empty = numbers(age=np.array([], dtype=np.int64))
    nothing = divided.cuts.divide(empty, 1)
    assert len(hiding_batches(empty, nothing, np.empty(0, np.int64), 1).cell) == 0
