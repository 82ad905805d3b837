"""BangA: groups from nested regions of space, any k from one index (thesis chapter 3).

The quasi-identifiers span a cube. Rows fall into the blocks of a BANG file over it, blocks merge into a
dendrogram, and a cut of that gives the groups: at least k rows each that satisfy the requirements. One index serves
every k from its own M on. Groups are published as the bounding boxes of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping
from republish.requirements import KAnonymity, Requirement, compile_rules, only_requirements, satisfied
from republish.spatial.bang import BangIndex, Sensitive, bulk_load
from republish.spatial.cube import cube_of
from republish.spatial.dendrogram import MERGES, Dendrogram, dendrogram_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from republish.microdata import Microdata

_Memory = TypeVar("_Memory")


@dataclass(frozen=True, eq=False)
class Clustered:
    """A view in blocks and clusters, ready to be released at any k."""

    publisher: BangA
    view: Microdata
    index: BangIndex
    dendrogram: Dendrogram

    def release(self, k: int | None = None) -> Grouping:
        """Return the groups for k, without a look at the rows; that of the publisher where none is given.

        Groups of a larger k are unions of those of a smaller one.
        """
        k = self.publisher.k if k is None else KAnonymity(k).k
        if k < self.index.m:
            raise PolicyError(
                f"k must be at least {self.index.m}, the fewest rows of a block; found {k}. "
                "Give the publisher a smaller m"
            )
        rules = compile_rules(self.publisher.require, self.view.whole)
        return Grouping(group=self.dendrogram.cut(k, rules)[self.index.block])


@dataclass(frozen=True)
class BangA:
    """Groups of at least `k` rows that satisfy `require`, made of blocks of at least `m` rows.

    Blocks of single rows, the default, give the best groups; larger ones are made faster. `merge` says how blocks
    become groups: by least certainty penalty, or by density as in the source.
    """

    k: int = 5
    require: tuple[Requirement, ...] = ()
    m: int = 1
    merge: str = "penalty"

    name: ClassVar[str] = "banga"
    paper: ClassVar[str] = (
        "A. Anjum: Towards privacy-preserving publication of continuous and dynamic data, 2013"
    )
    summary: ClassVar[str] = "Halves space into nested regions and merges the blocks inside into groups."
    protects_series: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        object.__setattr__(self, "k", KAnonymity(self.k).k)
        object.__setattr__(self, "require", only_requirements(self.require))
        if isinstance(self.m, bool) or not isinstance(self.m, int) or not 1 <= self.m <= self.k:
            raise PolicyError(f"m must be a whole number from 1 to k={self.k}; found {self.m!r}")
        if self.merge not in MERGES:
            raise PolicyError(f"merge must be one of {', '.join(MERGES)}; found {self.merge!r}")

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What every group satisfies."""
        return (KAnonymity(self.k), *self.require)

    @property
    def series_promises(self) -> tuple[str, ...]:
        """Nothing: each release is protected alone."""
        return ()

    def index(self, view: Microdata, sizes: Sequence[int] = ()) -> Clustered:
        """Return the index and dendrogram of a view, from which any k can be released.

        Args:
            view: at least one row.
            sizes: the k that will be asked for; without them k and its multiples by 2, 4, 10, 20, 40, 100 ...

        Raises:
            CannotPublish: the whole view taken as one group does not satisfy the requirements.
        """
        self._check_whole(view)
        wanted = tuple(KAnonymity(size).k for size in sizes) or self._multiples(view.rows)
        rules = compile_rules((KAnonymity(self.m), *self.require), view.whole)
        sensitive = Sensitive(rules, view.codes)
        # The tree that is cut by penalty minds the requirements itself, better than blocks do.
        in_blocks = sensitive if self.merge == "density" else None
        index = bulk_load(cube_of(view), view.points, self.m, in_blocks, 2 * self.m)
        tree = dendrogram_of(index, view.points, view.axes, sensitive, self.merge, wanted)
        return Clustered(self, view, index, tree)

    def _multiples(self, rows: int) -> tuple[int, ...]:
        steps = (self.k * step * 10**power for power in range(19) for step in (1, 2, 4))
        return tuple(takewhile(lambda size: size <= rows, steps))

    def publish(self, view: Microdata, memory: object, rng: np.random.Generator) -> Grouping:
        """Return a partition of all rows; memory and chance play no part in it.

        Raises:
            CannotPublish: the whole view taken as one group does not satisfy the requirements.
        """
        if view.rows == 0:
            return Grouping(group=np.empty(0, dtype=np.int32))
        return self.index(view, (self.k,)).release()

    def remember(self, view: Microdata, grouping: Grouping, memory: _Memory) -> _Memory:
        """Return the memory as it is: nothing of a release matters for the next."""
        return memory

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
