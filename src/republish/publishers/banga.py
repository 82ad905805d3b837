"""BangA: groups from nested regions of space, any k from one index (A. Anjum's thesis, chapter 3).

The quasi-identifiers span a cube. Rows fall into the blocks of a BANG file over it, nested regions of at least M rows
that are split from 2 M + 1 rows on; neighbouring blocks of closest density merge, pair by pair, into a dendrogram; and
for any k from M on a cut of that gives the groups. Each is published as the region around it, as narrow as its rows are
(`compact`, 3.8.1), with a level: its rows lie in that region, and in none of a higher level inside it.

Where nobody ever leaves or changes, `insert_only` keeps the regions and groups of the first release, and newcomers join
the groups of their places (3.8.3). Then groups only grow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping, Regions
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers._indexed import BlockPartitioner, IndexedGrouping
from republish.publishers._regions import regions_of
from republish.requirements import compile_rules
from republish.spatial.bang.bang_file import BangIndex, bulk_load
from republish.spatial.dendrogram.dendrogram import DensityTree, bounding_boxes, density_tree
from republish.spatial.enclosing import around_blocks, around_rows, true_levels
from republish.spatial.region_table import regions_table, stored_regions

GROWING = "growing-groups"
_GROUP = "group"


@dataclass(frozen=True, eq=False)
class ClusteredView:
    """A view in blocks and the dendrogram over them, ready to be released at any k.

    `unit` is the leaf of the dendrogram that each block belongs to.
    """

    publisher: BangA
    view: Microdata
    index: BangIndex
    dendrogram: DensityTree
    unit: IntArray

    def groups(self, k: int | None = None) -> IntArray:
        """Return the group of every block for k, or for that of the publisher, without a look at the rows.

        Groups of a larger k are unions of those of a smaller one.

        Raises:
            PolicyError: k is below that of the publisher, which promises groups of as many rows.
        """
        k = self.publisher.k if k is None else self.publisher.at_least(k)
        rules = compile_rules(self.publisher.require, self.view.whole)
        return self.dendrogram.cut(k, rules)[self.unit]

    def release(self, k: int | None = None) -> Grouping:
        """Return the groups for k, as `groups` finds them, in regions as narrow as the rows of each."""
        of_block = self.groups(k)
        group = of_block[self.index.block]
        return IndexedGrouping(
            group, regions=self._regions(of_block, group), index=self.index, of_block=of_block
        )

    def _regions(self, of_block: IntArray, group: IntArray) -> Regions:
        groups = int(of_block.max()) + 1
        if self.publisher.compact:
            around = around_rows(self.index, group, groups)
            regions = Regions(*bounding_boxes(self.view.points, group, groups))
        else:
            around = around_blocks(self.index, of_block, groups)
            regions = regions_of(self.index.cube, around, group, self.view)
        level = true_levels(self.index, self.view.points, group, (regions.low, regions.high), around.level)
        return regions._replace(level=level)


@dataclass(frozen=True)
class BangA(BlockPartitioner):
    """Groups of at least `k` rows that satisfy `require`, made of nested blocks of at least `m` rows by density.

    Blocks have at least `k` rows where that is less than `m`. They are split from `split` rows on, from 2 m + 1 where
    that is 0. `bits` and `scales` are as `BlockPartitioner` says.

    With `compact` a region is as narrow as the rows of its group, else all of the space that halving gave it.

    `insert_only` keeps regions and groups of the first release, for series in which rows are only added: nobody leaves,
    and nobody's values change. What that does not protect: whoever subtracts a release from the next one sees the
    values of those who joined a group, and where one person joined, hers.
    """

    m: int = 5
    split: int = 0
    compact: bool = True
    insert_only: bool = False

    name: ClassVar[str] = "banga"
    paper: ClassVar[str] = (
        "A. Anjum: Towards privacy-preserving publication of continuous and dynamic data, 2013"
    )
    summary: ClassVar[str] = (
        "Halves space into nested regions and merges neighbouring blocks of like density into groups."
    )

    def __post_init__(self) -> None:
        if isinstance(self.m, int) and isinstance(self.k, int) and self.m is not True:
            object.__setattr__(self, "m", min(self.m, self.k))
        super().__post_init__()
        whole = isinstance(self.split, int) and not isinstance(self.split, bool)
        if not whole or (self.split and self.split < 2 * self.m):
            raise PolicyError(
                f"split must be a whole number from 2 m = {2 * self.m} on, or 0 for 2 m + 1; found {self.split!r}"
            )
        for name in ("compact", "insert_only"):
            if not isinstance(getattr(self, name), bool):
                raise PolicyError(f"{name} must be true or false; found {getattr(self, name)!r}")

    @property
    def series_promises(self) -> tuple[str, ...]:
        """That groups only grow, where rows are only added."""
        return (GROWING,) if self.insert_only else ()

    @property
    def undivided(self) -> str | None:
        """Nested regions keep a release in one piece."""
        return "nested regions of several parts would lie over each other"

    def index(self, view: Microdata, memory: object = None) -> ClusteredView:
        """Return the blocks and the dendrogram of a view, from which any k can be released.

        Args:
            view: at least one row.
            memory: that of the series, to go on from where rows are only added.

        Raises:
            CannotPublish: the whole view taken as one group does not satisfy the requirements; or somebody left or
                changed where rows are only added.
        """
        self._check_whole(view)
        sensitive = self._sensitive(view)
        index = self._kept(view, memory) if self.insert_only and isinstance(memory, Memory) else None
        if index is None:
            made = bulk_load(self._cube(view), view.points, self.m, sensitive, self.split or 2 * self.m + 1)
            unit: IntArray = np.arange(made.blocks)
        else:
            made, unit = index
        return ClusteredView(self, view, made, density_tree(made, sensitive, unit), unit)

    def publish(self, view: Microdata, memory: object, rng: np.random.Generator) -> Grouping:
        """Return a partition of all rows; chance plays no part in it, and memory only where rows are only added.

        Raises:
            CannotPublish: as `index` says.
        """
        if view.rows == 0:
            if self.insert_only and isinstance(memory, Memory):
                _refuse_other_than_inserts(view, memory, np.empty(0, dtype=np.int64))
            none = np.empty((0, len(view.axes)))
            regions = Regions(none, none, np.empty(0, dtype=np.int32))
            return Grouping(group=np.empty(0, dtype=np.int32), regions=regions)
        return self.index(view, memory).release()

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with the regions of this release and their groups, where rows are only added."""
        if not self.insert_only or view.rows == 0:
            return memory
        if not isinstance(grouping, IndexedGrouping) or grouping.index is None:
            raise PolicyError("only a release that BangA made has regions to keep; begin the series with one")
        groups = pl.Series(_GROUP, grouping.of_block).implode()
        return replace(memory, counts=regions_table(grouping.index, view).with_columns(groups))

    def _kept(self, view: Microdata, memory: Memory) -> tuple[BangIndex, IntArray] | None:
        """Return the index of a view in the regions of the last release, and the group that each had there."""
        if memory.counts is None:
            return None
        before = stored_regions(memory.counts, self._cube(view), view)
        if before is None:
            raise CannotPublish(
                "an insert-only series keeps its regions, and the values of this view do not lie on their scales; list "
                "domains and values in the schema when a series is made, or start a new one"
            )
        index = before.filled(view.points)
        unit: IntArray = memory.counts[_GROUP][0].to_numpy()
        _refuse_other_than_inserts(view, memory, unit[index.block])
        return index, unit


def _refuse_other_than_inserts(view: Microdata, memory: Memory, place: IntArray) -> None:
    """Refuse a view in which somebody of the last release is missing, has another value, or another place."""
    if memory.size == 0:
        return
    assert view.people is not None
    entry = memory.find(view.people)
    before = np.flatnonzero(entry >= 0)
    entry = entry[before]
    gone = memory.size - len(before)
    changed = np.count_nonzero(memory.columns["code"][entry] != view.codes[before])
    group = memory.columns["group"][entry].astype(np.int64)
    pairs = np.unique(group * (int(place.max(initial=0)) + 1) + place[before])
    moved = len(pairs) - len(np.unique(group))
    if gone or changed or moved:
        raise CannotPublish(
            "an insert-only series takes views in which everybody of the last release is still there with the same "
            f"values; {gone} people left, the sensitive value of {changed} changed, and {moved} groups lost people to "
            "others; put them back as they were, or publish with a publisher that allows for it"
        )
