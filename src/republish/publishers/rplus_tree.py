"""R+-tree: groups are leaves of a spatial index (Iwuchukwu and Naughton, VLDB 2007).

The index is in `republish.spatial.rplus.tiling`. It takes every quasi-identifier as a number, hierarchies by the
place of their leaves, and so is the baseline of what spatial indexes reach without knowing more of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.microdata import Microdata
from republish.publishers.contract import Partitioner
from republish.spatial.rplus.tiling import RPlusIndex, bulk_load


@dataclass(frozen=True)
class RPlusTree(Partitioner):
    """Groups of at least `k` rows that satisfy `require`: leaves of a tree, or neighbouring leaves joined.

    `m` is the least size of a leaf, 0 for k itself; with m below k any larger k comes from the same tree.
    `packed` fills the leaves evenly, with little more than m rows.
    """

    m: int = 0
    packed: bool = False

    name: ClassVar[str] = "rplus-tree"
    paper: ClassVar[str] = (
        "T. Iwuchukwu, J. F. Naughton: K-anonymization as spatial indexing: toward scalable and incremental "
        "anonymization, VLDB 2007"
    )
    summary: ClassVar[str] = "Loads the table into a spatial index and publishes its leaves as groups."

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.m, bool) or not isinstance(self.m, int) or not 0 <= self.m <= self.k:
            raise PolicyError(
                f"m, the least size of a leaf, must be a whole number from 1 to k = {self.k}, or 0 for k itself"
            )
        if not isinstance(self.packed, bool):
            raise PolicyError(f"packed must be true or false, found a {type(self.packed).__name__}")

    def index(self, view: Microdata) -> RPlusIndex:
        """The tree over a view; `index.cut(k)` gives the groups of any k from m on."""
        return bulk_load(view, self.m or self.k, self.require, packed=self.packed)

    def publish(self, view: Microdata, memory: object, rng: np.random.Generator) -> Grouping:
        """Return a partition of all rows; memory and chance play no part in it.

        Raises:
            CannotPublish: the whole view taken as one group does not satisfy the requirements.
        """
        return Grouping(group=self.index(view).cut(self.k))
