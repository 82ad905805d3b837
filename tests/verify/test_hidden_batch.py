"""Whether quasi-identifiers exclude no batch: found anew from the cuts, and from published tables."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import Adversary, Series, TwoTables, attack
from republish.attacks.identity import IdentityResult
from republish.microdata import Microdata
from republish.release.two_tables import Placed, TwoTableRelease
from republish.spatial.batch_cells import hiding_batches
from republish.spatial.kept_cuts import KeptCuts
from republish.verify._covering import covered
from republish.verify.hidden_batch import batches_hidden, from_cuts_by_batch
from two_tables import make
from two_tables import view as week
from verify.test_kept_cuts import view_of


def naive_covered(low: np.ndarray, high: np.ndarray, region: np.ndarray) -> bool:
    """Whether every unit of a region is in a box, one after the other."""
    units = itertools.product(*(range(int(a) + 1, int(b) + 1) for a, b in zip(*region, strict=True)))
    return all(
        any(((a < unit) & (unit <= b)).all() for a, b in zip(low, high, strict=True)) for unit in units
    )


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 14))
def test_boxes_cover_a_region_where_every_unit_is_in_one(seed: int, axes: int, boxes: int) -> None:
    chance = np.random.default_rng(seed)
    region = np.stack([np.zeros(axes), np.full(axes, 4.0)])
    ends = np.sort(chance.integers(0, 5, (2, boxes, axes)), axis=0).astype(np.float64)
    low, high = np.where(chance.random((2, boxes, axes)) < 0.4, [[[0.0]], [[4.0]]], ends)
    expected = naive_covered(low, high, region)
    assert covered(low, high, np.array([0, boxes]), region).tolist() == [expected]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 40), st.booleans())
def test_tiles_cover_and_without_one_they_do_not(seed: int, axes: int, cuts: int, all_of_them: bool) -> None:
    chance = np.random.default_rng(seed)
    tiles = [(np.zeros(axes), np.full(axes, 64.0))]
    for _ in range(cuts):
        low, high = tiles.pop(int(chance.integers(len(tiles))))
        q, other_low, other_high = int(chance.integers(axes)), low.copy(), high.copy()
        at = float(chance.integers(low[q], high[q] + 1))
        other_high[q] = other_low[q] = at
        tiles += [(a, b) for a, b in ((low, other_high), (other_low, high)) if (b > a).all()]
    if not all_of_them:
        tiles.pop(int(chance.integers(len(tiles))))
    low, high = (np.array([tile[side] for tile in tiles]).reshape(-1, axes) for side in range(2))
    region = np.stack([np.zeros(axes), np.full(axes, 64.0)])
    assert covered(low, high, np.array([0, len(tiles)]), region).tolist() == [all_of_them]


def hidden(view: Microdata, cuts: KeptCuts, batch: np.ndarray, k: int) -> tuple[Placed, KeptCuts]:
    found = hiding_batches(view, cuts.divide(view, k), batch, k)
    return Placed(batch, found.cell + 1), found.cuts


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 150), st.integers(2, 4), st.integers(1, 5))
def test_cells_that_cuts_lead_batches_to_are_accepted_and_others_are_not(
    seed: int, rows: int, k: int, batches: int
) -> None:
    cuts, chance = KeptCuts.none(), np.random.default_rng(seed)
    for step in range(3):
        view = view_of(seed + step, max(rows - 9 * step, k))
        batch = chance.integers(0, batches, view.rows).astype(np.int32)
        placed, cuts = hidden(view, cuts, batch, k)
        table = cuts.table()
        assert from_cuts_by_batch(view, placed, table, k).holds
        together = placed._replace(cell=np.ones(view.rows, dtype=np.int32))
        one_cell = placed.cell.max() == 1
        several = len(np.unique(batch)) > 1
        assert one_cell or several or not from_cuts_by_batch(view, together, table, k).holds
        mine = np.flatnonzero(batch == batch[0])
        cells = np.unique(placed.cell[mine])
        if len(cells) > 1:
            exchanged = placed.cell.copy()
            first, other = (np.flatnonzero(placed.cell == cell)[0] for cell in cells[:2])
            exchanged[[first, other]] = placed.cell[[other, first]]
            assert not from_cuts_by_batch(view, placed._replace(cell=exchanged), table, k).holds


def test_cells_of_all_people_are_none_that_hide_a_batch() -> None:
    view = view_of(1, 90)
    batch = (np.arange(90) % 3).astype(np.int32)
    divided = KeptCuts.none().divide(view, 3)
    found = from_cuts_by_batch(view, Placed(batch, divided.cell + 1), divided.cuts.table(), 3)
    assert not found.holds


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return make(tmp_path_factory.mktemp("hidden") / "s", 3, TwoTables(k=3, hide_batch=True))


def test_a_series_that_hides_batches_verifies_and_says_so(series: Series) -> None:
    found = series.verify()
    assert found.holds
    assert [check.promise for check in found.releases[3].checks][-2:] == [
        "kept-cuts: laminar",
        "hidden-batch",
    ]


def test_lines_that_change_their_batches_are_found(series: Series) -> None:
    release = series.release(3)
    assert isinstance(release, TwoTableRelease)
    assert batches_hidden(release.people, release.batch).holds
    other = release.batch.copy()
    other[0] = 1 + other[0] % release.batch.max()
    assert not batches_hidden(release.people, other).holds


def test_a_batch_without_one_of_its_cells_is_found(series: Series) -> None:
    release = series.release(3)
    assert isinstance(release, TwoTableRelease)
    people, batch = release.people, release.batch.copy()
    batch[people.group == 1] = batch.max() + 1  # a batch of one cell, and one that lacks it
    found = batches_hidden(people, batch)
    lacking = np.isin(batch, [batch.max(), release.batch[people.group == 1][0]])
    assert (found.holds, found.rows) == (False, int(lacking.sum()))


def test_whoever_has_a_register_can_exclude_no_batch(series: Series, tmp_path: Path) -> None:
    files = []
    for number in (1, 2, 3):
        files.append(tmp_path / f"{number}.csv")
        week(number).write_csv(files[-1])
    (linked,) = attack(series, Adversary(), ["linkage"], views=files)
    assert isinstance(linked, IdentityResult)
    batches = [series.release(number).values.group_count for number in (1, 2, 3)]
    assert [one.median_batches for one in linked.releases] == batches
    assert min(batches) > 1


def test_nobody_is_nowhere(series: Series) -> None:
    release = series.release(1)
    assert isinstance(release, TwoTableRelease)
    nobody = replace(release.people, group=release.people.group[:0], rest=release.people.rest[:0])
    assert batches_hidden(nobody, release.batch[:0]).holds
