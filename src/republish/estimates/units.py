"""The people of a release by cell and batch, whatever its form, and the values of every batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.metrics.boxes import real_rows
from republish.release.release import Release
from republish.release.two_tables import AnyRelease

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Units(NamedTuple):
    """How many people of every batch are in every cell; in one table each group is a cell and a batch.

    `people[batch, cell]` leaves out people without a batch, of whose values nothing is known. `value_batch` is the
    batch of every row of the table of values.
    """

    people: csr_array
    value_batch: IntArray

    @property
    def sizes(self) -> FloatArray:
        """People of every batch."""
        return np.asarray(self.people.sum(axis=1), dtype=np.float64).ravel()

    def margins(self, by_cell: FloatArray) -> FloatArray:
        """What cells say, added up over the people of every batch."""
        return np.asarray(self.people @ by_cell, dtype=np.float64)

    def counts(self, kind: IntArray, kinds: int) -> FloatArray:
        """How many values of each kind every batch has, -1 for those that are left out, as a share of its people."""
        batches = self.people.shape[0]
        kept = kind >= 0
        found = np.bincount(self.value_batch[kept] * kinds + kind[kept], minlength=batches * kinds)
        table = found.reshape(batches, kinds).astype(np.float64)
        total = table.sum(axis=1, keepdims=True)
        shares: FloatArray = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
        return shares * self.sizes[:, None]


def units_of(release: AnyRelease) -> Units:
    """The people of a release by batch and cell."""
    from scipy.sparse import csr_array

    if isinstance(release, Release):
        groups = np.arange(release.group_count)
        people = csr_array((real_rows(release).astype(np.float64), (groups, groups)))
        return Units(people, release.group.astype(np.int64) - 1)
    known = release.batch > 0
    batch, cell = release.batch[known].astype(np.int64) - 1, release.people.group[known].astype(np.int64) - 1
    batches = max(release.values.group_count, int(release.batch.max(initial=0)))
    shape = (batches, release.people.group_count)
    return Units(
        csr_array((np.ones(len(batch)), (batch, cell)), shape=shape),
        release.values.group.astype(np.int64) - 1,
    )
