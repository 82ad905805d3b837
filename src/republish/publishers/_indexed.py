"""What publishers that cluster the blocks of a BANG file have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.arrays import IntArray
from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping
from republish.microdata import Microdata
from republish.publishers.contract import Partitioner
from republish.requirements import KAnonymity, compile_rules, satisfied
from republish.schema import Schema
from republish.spatial.bang.bang_file import BangIndex, Sensitive
from republish.spatial.break_points import require_scales
from republish.spatial.cube import Cube, cube_of
from republish.spatial.resolutions import ENOUGH, NONE, bits_of, bits_text, scales_of, scales_text


@dataclass(frozen=True)
class IndexedGrouping(Grouping):
    """Groups together with the index that they are from, and the group of each of its blocks where that is kept."""

    index: BangIndex | None = None
    of_block: IntArray | None = None


@dataclass(frozen=True)
class BlockPartitioner(Partitioner):
    """Groups of at least `k` rows that satisfy `require`, made of blocks of at least `m` rows.

    `bits` is the resolution: the most that any quasi-identifier has (`8`), or that of some (`{"age": 5}`, as a text
    `age=5,zip=8`). `scales` are break points between which nothing is told apart, as background knowledge has them:
    `{"age": [18, 65]}`, as a text `age=18:65`; dates, and the values of ordered columns and categories that the schema
    lists, too.
    """

    m: int = 1
    bits: int | str = ENOUGH
    scales: str = NONE

    cell_parameters: ClassVar[tuple[str, ...]] = ("scales",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.m, bool) or not isinstance(self.m, int) or not 1 <= self.m <= self.k:
            raise PolicyError(f"m must be a whole number from 1 to k={self.k}; found {self.m!r}")
        object.__setattr__(self, "bits", bits_text(self.bits))
        object.__setattr__(self, "scales", scales_text(self.scales))

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

    def _cube(self, view: Microdata) -> Cube:
        return cube_of(view, bits_of(self.bits), scales_of(self.scales))

    def _sensitive(self, view: Microdata) -> Sensitive:
        """What blocks satisfy where they mind the requirements."""
        return Sensitive(compile_rules((KAnonymity(self.m), *self.require), view.whole), view.codes)

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
