"""The cells of people in parts: kept cuts are decided from counts, and leaves cut by the task that has all their rows.

Tasks count rows on either side of every cut, the driver decides which cuts are open, closed or passed over, and rows
go to the shard of their leaf. There the leaf is cut further, with the kernel of one process. The new cuts are put
together in the order of leaves, so that neither they nor the cells depend on the number of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.memory.memory import KEY, people_of
from republish.parts.blocks import Block, Mover, fact, spread, table_block, table_of, tables_of
from republish.parts.counts import ROWS, add_up, spread_counts
from republish.parts.pseudonymize import VIEW, bucket_of, memory_in, points_of, view_of
from republish.parts.publish.plan import Sizes
from republish.parts.survey import Domains
from republish.publishing.cells import ASKED, CutRecord, moved_among, stayed_among
from republish.publishing.steps import Terms
from republish.release.two_tables import cell_numbers
from republish.secret import Secret, order_of
from republish.spatial.kept_cuts import KeptCuts, require_rows
from republish.spatial.leaves import Grown, OpenCuts
from republish.verify.led_by_cuts import Leading

if TYPE_CHECKING:
    from republish.series import Series

CELL, CELL_NUMBER, CELL_SHARD = "cell", "cell number", "cell shard"
"""The cell of a row in its shard from 0, its published number in there from 1, and the shard."""
REGIONS, STAYED = "regions", "stayed"
_LEAF, _BEFORE, _NODE, _SIDE = "leaf", "before", "node", "side"


@dataclass(frozen=True, eq=False)
class CellsInParts:
    """The cells of a view: its people with them, the cells of each shard, the cuts, and what is recorded of them.

    `leading` are the cuts with those that were added, and what is decided of each; `reaching` are the people in cells
    that extend over a cut that died.
    """

    people: Any
    cells: IntArray
    cuts: KeptCuts
    record: CutRecord
    leading: Leading
    reaching: int = 0

    @property
    def first(self) -> IntArray:
        """What the numbers of the cells of a shard are beyond 1, 2, ..."""
        found: IntArray = np.cumsum(self.cells) - self.cells
        return found


def cells_in_parts(
    mover: Mover[Any], people: Any, series: Series, terms: Terms, domains: Domains, sizes: Sizes
) -> CellsInParts:
    """The cells of everyone in some blocks, those of `republish.publishing.cells.cells_of`."""
    assert series.policy.form is not None
    k = series.policy.form.k
    require_rows(domains.rows, k)
    if not domains.rows:
        nothing, none = np.zeros(sizes.shards, np.int64), Leading.of(KeptCuts.none().table(), ())
        record = CutRecord({}, nothing[:0], np.empty((0, 2)))
        return CellsInParts(people, nothing, series.cuts(), record, none)
    moved = _moved(mover, people, domains, terms, series.row_digests)
    opened = OpenCuts.of(series.cuts(), domains.corners(series.schema), moved)
    axes = len(opened.axes)

    def led(cuts: KeptCuts) -> Leading:
        leading = Leading.of(cuts.table(), opened.axes)
        return decided(
            leading,
            k,
            lambda now: add_up(mover, people, sizes.sums, partial(count_sides, now, axes, sizes.sums)),
        )

    leading = led(opened.cuts)
    counted = add_up(mover, people, sizes.sums, partial(count_leaves, leading, axes, sizes.sums))
    shards = LeafShards.of(counted[_LEAF].to_numpy(), counted[ROWS].to_numpy(), sizes.shards)
    routed = mover.map(people, [VIEW], partial(send_to_leaves, leading, axes, shards))
    cutting = partial(cut_leaves, LeafCutting(opened, leading, k), terms, sizes.parts)
    made = mover.keep(mover.exchange([routed], [VIEW], sizes.shards, cutting))
    found: list[CutShard] = mover.facts(made)
    cells = np.zeros(sizes.shards, np.int64)
    cells[[one.shard for one in found]] = [one.cells for one in found]
    first = np.cumsum(cells) - cells
    extended = np.sort(np.concatenate([one.extended + first[one.shard] for one in found]))
    cuts = opened.with_cuts([one.grown for one in found])
    record = CutRecord(moved, extended, opened.domain)
    return CellsInParts(made, cells, cuts, record, led(cuts), sum(one.reaching for one in found))


def decided(leading: Leading, k: int, counting: Callable[[Leading], pl.DataFrame]) -> Leading:
    """The cuts with all that the counts of rows decide; they are counted again below cuts that are passed over."""
    done = not leading.cuts
    while not done:
        counted = counting(leading)
        counts = np.zeros((leading.cuts, 2), dtype=np.int64)
        if counted.height:
            counts[counted[_NODE].to_numpy(), counted[_SIDE].to_numpy()] = counted[ROWS].to_numpy()
        leading, done = leading.deciding(counts, k)
    return leading


def _moved(mover: Mover[Any], people: Any, domains: Domains, terms: Terms, form: int) -> dict[str, float]:
    """The columns that grew by one for most people who stayed: those that one process finds."""
    if terms.number == 1:
        return {}
    some = mover.map(people, [VIEW], partial(choose_stayed, terms.number - 1))
    found = mover.facts(mover.exchange([some], [STAYED], 1, partial(find_moved, domains, terms.secret, form)))
    return found[0] if found else {}


def choose_stayed(release: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that chooses people who were in the last release: the first by pseudonym.

    They have the digests of their rows in it.
    """
    for block in blocks:
        frame = table_of(block)
        frame = frame[order_of(people_of(frame))]
        stayed, before = stayed_among(people_of(frame), memory_in(frame, release))
        if len(stayed):
            yield table_block(frame[stayed].with_columns(pl.Series(_BEFORE, before)), 0, STAYED)


def find_moved(domains: Domains, secret: Secret, form: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that finds the columns that moved."""
    frame = tables_of(blocks, STAYED)
    frame = frame[order_of(people_of(frame))][:ASKED]
    view = view_of(frame, domains)
    yield fact(moved_among(view, frame[_BEFORE].to_numpy(), secret, form))


def count_sides(leading: Leading, axes: int, tasks: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that counts rows on either side of cuts that nothing was decided of."""
    for block in blocks:
        counts = leading.counted(points_of(table_of(block), axes))
        node, side = np.nonzero(counts)
        frame = pl.DataFrame({_NODE: node, _SIDE: side, ROWS: counts[node, side]})
        yield from spread_counts(frame, tasks)


def count_leaves(leading: Leading, axes: int, tasks: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that counts the rows of every leaf."""
    for block in blocks:
        leaf, rows = np.unique(leading.places(points_of(table_of(block), axes)), return_counts=True)
        yield from spread_counts(pl.DataFrame({_LEAF: leaf, ROWS: rows.astype(np.int64)}), tasks)


@dataclass(frozen=True)
class LeafShards:
    """Which leaves each shard has: a range of their numbers, by the last one."""

    last: IntArray

    @classmethod
    def of(cls, leaf: IntArray, rows: IntArray, shards: int) -> LeafShards:
        """So many shards with about as many rows each; the leaves are sorted."""
        middle = np.cumsum(rows) - rows / 2
        shard = np.minimum((middle * shards / max(1, int(rows.sum()))).astype(np.int64), shards - 1)
        upto = np.searchsorted(shard, np.arange(shards - 1), side="right")
        return cls(np.append(-1, leaf)[upto])

    def of_leaves(self, leaf: IntArray) -> IntArray:
        """The shard of every leaf."""
        found: IntArray = np.searchsorted(self.last, leaf, side="left")
        return found


def send_to_leaves(
    leading: Leading, axes: int, shards: LeafShards, blocks: Sequence[Block]
) -> Iterator[Block]:
    """The task that sends rows, with their leaf, to the shard of it."""
    for block in blocks:
        frame = table_of(block)
        leaf = leading.places(points_of(frame, axes))
        yield from spread(frame.with_columns(pl.Series(_LEAF, leaf)), shards.of_leaves(leaf), VIEW)


@dataclass(frozen=True)
class CutShard:
    """What a shard tells: how many cells it has, the published numbers in it of those that extend, the new cuts.

    `reaching` are the people in cells that extend.
    """

    shard: int
    cells: int
    extended: IntArray
    reaching: int
    grown: Grown


@dataclass(frozen=True, eq=False)
class LeafCutting:
    """How leaves are cut: the kept cuts, what is decided of each, and how many rows a cell must have."""

    opened: OpenCuts
    leading: Leading
    k: int


def cut_leaves(cutting: LeafCutting, terms: Terms, buckets: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one shard: its leaves cut further, and everyone in it with her cell.

    The people go to their buckets; the regions of the cells and the new cuts are told.
    """
    shard, frame, opened, leading = blocks[0].to, tables_of(blocks, VIEW), cutting.opened, cutting.leading
    points = points_of(frame, len(opened.axes))
    made = opened.cells(points, frame[_LEAF].to_numpy(), leading.is_open, cutting.k)
    number = cell_numbers(len(made.low), terms.secret, *terms.label("shard", shard))
    frame = frame.drop(_LEAF).with_columns(
        pl.Series(CELL, made.cell, dtype=pl.Int32),
        pl.Series(CELL_NUMBER, number[made.cell], dtype=pl.Int32),
        pl.lit(shard, pl.Int32).alias(CELL_SHARD),
    )
    yield from spread(frame, bucket_of(frame[KEY[0]].to_numpy(), buckets), VIEW)
    yield regions_block(made.low, made.high, shard)
    extended = leading.extended[made.leaf]
    reaching = int(np.count_nonzero(extended[made.cell]))
    yield fact(CutShard(shard, len(made.low), number[extended].astype(np.int64), reaching, made.grown))


def regions_block(low: FloatArray, high: FloatArray, shard: int) -> Block:
    """The regions of the cells of a shard, in their order."""
    columns = {
        f"{end}{q}": side[:, q] for end, side in (("low", low), ("high", high)) for q in range(low.shape[1])
    }
    return table_block(pl.DataFrame(columns), shard, REGIONS)


def regions_in(blocks: Sequence[Block], axes: int) -> tuple[FloatArray, FloatArray]:
    """The regions that a block holds."""
    frame = tables_of(blocks, REGIONS)
    low, high = (
        np.column_stack([frame[f"{end}{q}"].to_numpy() for q in range(axes)]) for end in ("low", "high")
    )
    return low, high
