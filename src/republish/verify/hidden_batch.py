"""Whether quasi-identifiers exclude no batch: every cell has people of one batch, and of every batch cells everywhere.

- While the view is at hand, the cells of every batch are found anew from the stored cuts, level by level, from how many
  of its people are on either side of each.
- Later, from the published table of people alone: the cells of each batch together are all that any cells are, so that
  whoever fits a cell fits one of each batch. A cell of several batches must be everywhere. Only a missing value
  may fit fewer.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.microdata import Microdata
from republish.release.cells import ALL_MISSING, SOME_MISSING, Cells
from republish.release.forms import HIDDEN_BATCH
from republish.release.release import Release
from republish.release.two_tables import Placed
from republish.verify._covering import covered
from republish.verify.check import Check
from republish.verify.kept_cuts import cells_check
from republish.verify.led_by_cuts import OUTWEIGHED, Leading

_HIDDEN = "The cells of every batch are everywhere, so that quasi-identifiers, where none is missing, exclude no batch."


def batches_hidden(people: Release, batch: IntArray) -> Check:
    """Whether the cells of each batch of a table of people are everywhere, and no other cell has people of several.

    `batch` is that of every person, 0 for none: those without form a batch of their own here.
    """
    if not people.rows:
        return _check(0, 0)
    pairs = pl.DataFrame({"cell": people.group - 1, "batch": batch}).group_by("batch", "cell").len()
    pairs = pairs.sort("batch", "cell")
    low, high = _boxes(people.cells)
    region = np.stack([low.min(axis=0, initial=np.inf), high.max(axis=0, initial=-np.inf)])
    cell, rows = pairs["cell"].to_numpy(), pairs["len"].to_numpy()
    several = pairs["cell"].is_duplicated().to_numpy()
    everywhere = np.all((low[cell] <= region[0]) & (high[cell] >= region[1]), axis=1)
    _, start = np.unique(pairs["batch"].to_numpy(), return_index=True)
    lacking = np.repeat(
        ~covered(low[cell], high[cell], np.append(start, len(cell)), region),
        np.diff(np.append(start, len(cell))),
    )
    wrong = lacking | (several & ~everywhere)
    return _check(len(np.unique(cell[wrong])), int(rows[wrong].sum()))


def _check(cells: int, rows: int) -> Check:
    return Check(HIDDEN_BATCH, cells == 0, _HIDDEN, None, cells, rows)


def _boxes(cells: tuple[Cells, ...]) -> tuple[FloatArray, FloatArray]:
    """The cells as boxes above `low` and up to `high`; `*` is all there is, a cell of missing values nothing."""
    low, high = (np.empty((len(cells[0].low), len(cells))) for _ in range(2))
    for a, column in enumerate(cells):
        whole = column.axis.whole_numbers or bool(column.axis.labels)
        below = column.low - 1.0 if whole else np.nextafter(column.low, -np.inf)
        said = column.said
        first, last = below[said].min(initial=np.inf), column.high[said].max(initial=-np.inf)
        if not said.any():
            first, last = 0.0, 1.0
        low[:, a], high[:, a] = np.where(said, below, first), np.where(said, column.high, last)
        high[column.missing == ALL_MISSING, a] = first
        assert np.isin(column.missing[~said], (SOME_MISSING, ALL_MISSING)).all()
    return low, high


def from_cuts_by_batch(view: Microdata, placed: Placed, cuts: pl.DataFrame, k: int) -> Check:
    """Whether the cell of every row of a view is the one that the cuts lead her batch to.

    Batches that share a cell share all of one; there is at most one such cell, and who shares it need not be led.
    """
    if not view.rows:
        return cells_check(0, 0)
    rows = pl.DataFrame({"cell": placed.cell, "batch": placed.shown})
    batches = rows.group_by("cell").agg(pl.col("batch").n_unique(), pl.len())
    shared = batches.filter(pl.col("batch") > 1)
    sharing = rows["cell"].is_in(shared["cell"].to_list()).to_numpy()
    some = rows.filter(pl.Series(sharing))["batch"].unique()
    torn = rows.filter(pl.Series(~sharing))["batch"].is_in(some.to_list()).sum()
    led = lead_by_batch(Leading.of(cuts, view.axes), view.points, placed.shown, k)
    pairs = (
        rows.with_columns(pl.Series("led", led))
        .filter(pl.Series(~sharing))
        .group_by("cell", "batch", "led")
        .len()
    )
    twice = pairs.filter(pl.col("cell").is_duplicated() | pl.struct("batch", "led").is_duplicated())
    few = batches.filter(pl.col("len") < k).height
    broken = twice.height + few + max(0, shared.height - 1) + int(torn > 0)
    return cells_check(broken, int(twice["len"].sum()) + int(torn))


def lead_by_batch(leading: Leading, points: FloatArray, batch: IntArray, k: int) -> IntArray:
    """A number for the node of the cuts that every row ends in, where every batch decides of cuts for itself."""
    rows = len(batch)
    node = np.zeros(rows, dtype=np.int64)
    place = np.full(rows, -1 if leading.cuts else 0, dtype=np.int64)
    under = np.flatnonzero(place < 0)
    while len(under):
        at = node[under]
        right = points[leading.axis[at], under] > leading.at[at]
        sides = pl.DataFrame({"batch": batch[under], "node": at, "right": right})
        here = sides.select(
            more=pl.col("right").sum().over("batch", "node").cast(pl.Int64),
            size=pl.len().over("batch", "node").cast(pl.Int64),
        )
        more, size = here["more"].to_numpy(), here["size"].to_numpy()
        fewer = np.minimum(more, size - more)
        passing = (fewer < k) & (size - fewer >= OUTWEIGHED * k) & (size >= 2 * k)
        closed = (fewer < k) & ~passing
        side = np.where(passing, 2 * more >= size, right).astype(np.int64)
        below = leading.child[at, side]
        ends = np.where(closed, at, np.where(below < 0, leading.cuts + 2 * at + side, -1))
        place[under], node[under] = ends, below
        under = under[ends < 0]
    return place
