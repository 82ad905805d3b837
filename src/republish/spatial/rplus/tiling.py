"""R+-tree: groups are the leaves of a bulk-loaded spatial index (Iwuchukwu and Naughton, VLDB 2007).

The rows are points in the unit cube, a category at the place of its leaf. A node is cut in two until no cut
leaves enough rows on both sides: every axis proposes the cut next to its median, and the one that leaves the
least total extent of the two bounding boxes, counted once a row, is made. As in bulk loading through buffers,
a node of more rows than its buffer is cut where the rows in the buffer say, every so many-th of its own.
Leaves are disjoint and hold m to 2m-1 rows, more only where values are equal or a requirement forbids the
cut. Missing values are cut apart from the others where that costs least.

Groups of at least k > m rows are made by a scan of the leaves in the order of the tree, which joins
neighbours until they are enough: the rows themselves are not looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.errors import CannotPublish, PolicyError
from republish.microdata import Microdata
from republish.requirements import KAnonymity, Requirement, Whole, compile_rules, satisfied
from republish.requirements.base import Rules
from republish.spatial.rplus._kernel import ABSENT, scan, tile

BUFFER = 4096
_ENTRIES = 1 << 26  # of histograms in memory: a leaf a row, a code a column


@dataclass(frozen=True, eq=False)
class RPlusIndex:
    """The leaves of a tree over a view: `leaf[row]` counts from 0 in the order of the tree.

    Every leaf has at least `m` rows and satisfies `require`; `codes` and `whole` are those of the view.
    """

    leaf: IntArray
    m: int
    require: tuple[Requirement, ...]
    codes: IntArray
    whole: Whole

    @property
    def leaves(self) -> int:
        return int(self.leaf.max()) + 1 if len(self.leaf) else 0

    @property
    def sizes(self) -> IntArray:
        return np.bincount(self.leaf, minlength=self.leaves)

    def cut(self, k: int, require: tuple[Requirement, ...] = ()) -> IntArray:
        """The group of every row: neighbouring leaves joined until they have k rows and satisfy `require`.

        Raises:
            PolicyError: k is below the size of the leaves.
            CannotPublish: all rows together do not satisfy what is asked.
        """
        if k < self.m:
            raise PolicyError(f"k must be at least the size of the leaves, {self.m}; found {k}")
        asked = (KAnonymity(k), *self.require, *require)
        rules = require_whole(asked, self.codes, self.whole)
        if self.leaves == 0:
            return self.leaf
        histograms = np.zeros((1, 1), dtype=np.int64)
        if not rules.plain:
            m = self.whole.m
            if self.leaves * m > _ENTRIES:
                raise PolicyError(
                    f"a scan counts {self.leaves} leaves by {m} sensitive values, too many to hold; "
                    "raise m, the size of the leaves"
                )
            pairs = self.leaf.astype(np.int64) * m + self.codes
            histograms = np.bincount(pairs, minlength=self.leaves * m).reshape(self.leaves, m)
        group: IntArray = scan(self.sizes.astype(np.int64), histograms, rules)[self.leaf]
        return group


def bulk_load(
    view: Microdata,
    m: int = 5,
    require: tuple[Requirement, ...] = (),
    *,
    packed: bool = False,
    buffer: int = BUFFER,
) -> RPlusIndex:
    """The tree over a view with leaves of at least `m` rows, each of which satisfies `require`.

    `packed` cuts where both sides can be filled with leaves of little more than m rows, in place of the
    middle, which leaves as many as chance has it between m and 2m-1.

    Raises:
        CannotPublish: the whole view taken as one leaf does not satisfy the requirements.
    """
    if buffer < 2:
        raise PolicyError(f"a buffer must hold 2 rows or more, found {buffer}")
    rules = require_whole((KAnonymity(m), *require), view.codes, view.whole)
    codes = np.zeros(view.rows, np.int32) if rules.plain else view.codes.astype(np.int32)
    leaf: IntArray = tile(_unit(view), codes, rules, buffer, packed)
    return RPlusIndex(leaf, m, require, view.codes, view.whole)


def require_whole(requirements: tuple[Requirement, ...], codes: IntArray, whole: Whole) -> Rules:
    """The compiled rules, or an error where not even all rows in one group satisfy them; no rows do."""
    rules = compile_rules(requirements, whole)
    counts = np.bincount(codes, minlength=whole.m).astype(np.int64)
    rows = len(codes)
    if rows and not satisfied(rules, counts, rows):
        failing = [r.text for r in requirements if not satisfied(compile_rules((r,), whole), counts, rows)]
        raise CannotPublish(
            f"the whole view, taken as one group, must satisfy {', '.join(failing)}; its {rows} rows do not; "
            "lower the requirement or wait for more rows"
        )
    return rules


def _unit(view: Microdata) -> FloatArray:
    """The rows of a view as points: the domain of every axis scaled to 0..1, a missing value at -1."""
    points = np.empty((view.rows, len(view.axes)))
    for a, (axis, values, width) in enumerate(zip(view.axes, view.points, view.widths, strict=True)):
        points[:, a] = (
            (values - axis.low) / width if width > 0 else np.where(np.isneginf(values), values, 0.0)
        )
        points[np.isneginf(values), a] = ABSENT
    return points
