"""BangA: groups from nested regions of space, any k from one index (thesis chapter 3).

The quasi-identifiers span a cube. Rows fall into the blocks of a BANG file over it, blocks merge into a
dendrogram, and a cut of that gives the groups: at least k rows each that satisfy the requirements. One index serves
every k from that of the publisher on. Groups are published as the bounding boxes of their rows, which any tool can
read.

With `shape="region"` the groups are the blocks themselves and their cells the regions around them, one inside the
other, with a level each. Blocks are not merged then: a group of several regions would show which rows lie in which.

Within a series the regions of the last index can be kept and only mended where rows came, left or moved
(`incremental`). What is kept are regions without pseudonyms; with m = 1 a region can be one person's cell. When people
are forgotten all of it goes, and the next release builds its index anew. See `BangA`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import takewhile
from typing import ClassVar

import numpy as np

from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping, Regions
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers._regions import regions_of
from republish.publishers.contract import Partitioner
from republish.requirements import KAnonymity, compile_rules, satisfied
from republish.schema import Schema
from republish.spatial.bang.bang_file import BangIndex, Sensitive, bulk_load
from republish.spatial.break_points import require_scales
from republish.spatial.cube import cube_of
from republish.spatial.dendrogram.dendrogram import MERGES, Dendrogram, dendrogram_of
from republish.spatial.region_table import regions_table, stored_regions
from republish.spatial.resolutions import ENOUGH, NONE, bits_of, bits_text, scales_of, scales_text

SHAPES = ("box", "region")


@dataclass(frozen=True)
class IndexedGrouping(Grouping):
    """Groups together with the index that they are from."""

    index: BangIndex | None = None


@dataclass(frozen=True, eq=False)
class ClusteredView:
    """A view in blocks and clusters, ready to be released at any k."""

    publisher: BangA
    view: Microdata
    index: BangIndex
    dendrogram: Dendrogram

    def release(self, k: int | None = None) -> Grouping:
        """Return the groups for k, without a look at the rows; that of the publisher where none is given.

        Groups of a larger k are unions of those of a smaller one.

        Raises:
            PolicyError: k is below that of the publisher, which promises groups of as many rows.
        """
        k = self.publisher.k if k is None else self.publisher.at_least(k)
        rules = compile_rules(self.publisher.require, self.view.whole)
        return Grouping(group=self.dendrogram.cut(k, rules)[self.index.block])


@dataclass(frozen=True)
class BangA(Partitioner):
    """Groups of at least `k` rows that satisfy `require`, made of blocks of at least `m` rows.

    Blocks of single rows, the default, give the best groups; larger ones are made faster. `merge` says how blocks
    become groups: by least certainty penalty, or by density as in the source.

    `bits` is the resolution: the most that any quasi-identifier has (`8`), or that of some (`{"age": 5}`, as a text
    `age=5,zip=8`). `scales` are break points between which nothing is told apart, as background knowledge has them:
    `{"age": [18, 65]}`, as a text `age=18:65`; dates, and the values of ordered columns and categories that the schema
    lists, too.

    `incremental` grows the index of a release out of the regions of the last one. It is not the default: it takes from
    0.8 to 2.3 times as long as one sort of all keys (300,000 rows by 7, from a hundredth to half of them changed a
    release), and after five releases groups are as good as those of a new index, within 1 % of penalty, with blocks of
    five rows 1 to 3 % lower in discernibility. Categories should list their values in the schema or have a hierarchy:
    another value than before needs a new index.

    With `shape="region"` every group is a block of at least `k` rows that satisfies `require`, published as its nested
    region; there is no `m` and no `merge` then.
    """

    m: int = 1
    merge: str = "penalty"
    bits: int | str = ENOUGH
    scales: str = NONE
    incremental: bool = False
    shape: str = "box"

    name: ClassVar[str] = "banga"
    paper: ClassVar[str] = (
        "A. Anjum: Towards privacy-preserving publication of continuous and dynamic data, 2013"
    )
    summary: ClassVar[str] = "Halves space into nested regions and merges the blocks inside into groups."
    keeps_places: ClassVar[bool] = True
    cell_parameters: ClassVar[tuple[str, ...]] = ("scales",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.m, bool) or not isinstance(self.m, int) or not 1 <= self.m <= self.k:
            raise PolicyError(f"m must be a whole number from 1 to k={self.k}; found {self.m!r}")
        if self.merge not in MERGES:
            raise PolicyError(f"merge must be one of {', '.join(MERGES)}; found {self.merge!r}")
        object.__setattr__(self, "bits", bits_text(self.bits))
        object.__setattr__(self, "scales", scales_text(self.scales))
        if not isinstance(self.incremental, bool):
            raise PolicyError(f"incremental must be true or false; found {self.incremental!r}")
        if self.shape not in SHAPES:
            raise PolicyError(f"shape must be one of {', '.join(SHAPES)}; found {self.shape!r}")
        if self.shape == "region" and (self.m not in (1, self.k) or self.merge != "penalty"):
            raise PolicyError(
                "regions have k rows each and are never merged; leave out m and merge, or publish boxes"
            )

    @property
    def undivided(self) -> str | None:
        """Regions and a growing index keep a release in one piece."""
        if self.shape == "region":
            return "nested regions of several parts would lie over each other"
        return "an incremental index is one for all rows" if self.incremental else None

    def index(self, view: Microdata, sizes: Sequence[int] = (), memory: object = None) -> ClusteredView:
        """Return the index and dendrogram of a view, from which any k can be released.

        Args:
            view: at least one row.
            sizes: the k that will be asked for, none below its own; without them k and its multiples by 2, 4, 10, 20,
                40, 100 ...
            memory: that of the series, to go on from where `incremental` is set.

        Raises:
            CannotPublish: the whole view taken as one group does not satisfy the requirements.
            PolicyError: the publisher makes regions, which are for one k; or a size is below its own k.
        """
        if self.shape == "region":
            raise PolicyError(
                "nested regions are made for one k; publish them for each, or publish boxes, of which one index gives "
                "any k"
            )
        self._check_whole(view)
        wanted = tuple(self.at_least(size) for size in sizes) or self._multiples(view.rows)
        sensitive = self._sensitive(view)
        index = self._blocks(view, memory)
        tree = dendrogram_of(index, view.points, view.axes, sensitive, self.merge, wanted)
        return ClusteredView(self, view, index, tree)

    def at_least(self, k: int) -> int:
        """Return k, or refuse one below that of the publisher: no group of it may be smaller than it promises."""
        if KAnonymity(k).k < self.k:
            raise PolicyError(
                f"k must be at least {self.k}, which this publisher promises; found {k}. "
                "Make a publisher with a smaller k"
            )
        return k

    def require_fit(self, schema: Schema) -> None:
        """Refuse bits and scales that the columns of a schema cannot have, before there is a view of it."""
        require_scales(schema, bits_of(self.bits), scales_of(self.scales))

    def _sensitive(self, view: Microdata) -> Sensitive:
        return Sensitive(compile_rules((KAnonymity(self._fewest), *self.require), view.whole), view.codes)

    @property
    def _fewest(self) -> int:
        """The fewest rows of a block."""
        return self.k if self.shape == "region" else self.m

    def _blocks(self, view: Microdata, memory: object) -> BangIndex:
        """Return the index of a view, grown out of the regions in memory where they are wanted and fit."""
        # The tree that is cut by penalty minds the requirements itself, better than blocks do.
        alone = self.merge == "density" or self.shape == "region"
        in_blocks = self._sensitive(view) if alone else None
        cube = cube_of(view, bits_of(self.bits), scales_of(self.scales))
        if self.incremental and isinstance(memory, Memory) and memory.counts is not None:
            before = stored_regions(memory.counts, cube, view)
            if before is not None:
                return before.updated(view.points, in_blocks)
        return bulk_load(cube, view.points, self._fewest, in_blocks, 2 * self._fewest)

    def _multiples(self, rows: int) -> tuple[int, ...]:
        steps = (self.k * step * 10**power for power in range(19) for step in (1, 2, 4))
        return tuple(takewhile(lambda size: size <= rows, steps))

    def publish(self, view: Microdata, memory: object, rng: np.random.Generator) -> Grouping:
        """Return a partition of all rows; chance plays no part in it, and memory only where `incremental` is set.

        Raises:
            CannotPublish: the whole view taken as one group does not satisfy the requirements.
        """
        if view.rows == 0:
            return Grouping(group=np.empty(0, dtype=np.int32), regions=self._no_regions(view))
        if self.shape == "region":
            self._check_whole(view)
            index = self._blocks(view, memory)
            return IndexedGrouping(index.block, regions=regions_of(index, view), index=index)
        clustered = self.index(view, (self.k,), memory)
        grouping = clustered.release()
        if not self.incremental:
            return grouping
        parts = {field.name: getattr(grouping, field.name) for field in fields(grouping)}
        return IndexedGrouping(**parts, index=clustered.index)

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory with the regions of this release, as it is where they are not to be kept."""
        if not self.incremental:
            return memory
        made = grouping.index if isinstance(grouping, IndexedGrouping) else None
        index = self._blocks(view, memory) if made is None else made
        return replace(memory, counts=regions_table(index, view))

    def _no_regions(self, view: Microdata) -> Regions | None:
        none = np.empty((0, len(view.axes)))
        return Regions(none, none, np.empty(0, dtype=np.int32)) if self.shape == "region" else None

    def _check_whole(self, view: Microdata) -> None:
        counts = np.bincount(view.codes, minlength=view.whole.m).astype(np.int64)
        failing = [
            requirement.text
            for requirement in self.requirements
            if not satisfied(compile_rules((requirement,), view.whole), counts, view.rows)
        ]
        if failing:
            raise CannotPublish(
                f"the whole view, taken as one group, must satisfy {', '.join(failing)}; its {view.rows} rows do not; "
                "lower the requirement or wait for more rows"
            )
