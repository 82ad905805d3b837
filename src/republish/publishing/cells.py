"""The cells of people in a release of two tables: from quasi-identifiers and k alone, by cuts that are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.grouping import Grouping, Regions
from republish.publishing.private_files import write_private_table
from republish.spatial.kept_cuts import Divided, moved_frames
from republish.verify.check import Check
from republish.verify.kept_cuts import from_cuts

if TYPE_CHECKING:
    from republish.arrays import FloatArray, IntArray, WordArray
    from republish.ledger import Draft
    from republish.microdata import Microdata
    from republish.series import Series

_ASKED = 2_000


@dataclass(frozen=True)
class PeopleCells:
    """The cells of a view, and the cuts with those that were made for it."""

    divided: Divided
    moved: dict[str, float]

    @property
    def grouping(self) -> Grouping:
        """The cells as groups with regions."""
        divided = self.divided
        return Grouping(divided.cell.astype(np.int32), regions=Regions(divided.low, divided.high))

    @property
    def reaching(self) -> int:
        """How many people are in cells that extend over a cut that died."""
        return int(np.count_nonzero(self.divided.extended[self.divided.cell]))

    def check(self, view: Microdata, cell: IntArray, k: int) -> Check:
        """Whether the published cells are those that the cuts, as they will be stored, lead to."""
        return from_cuts(view, cell, self.divided.cuts.table(), k)

    def kept(self, draft: Draft, series: Series, payload: dict[str, Any], cell: IntArray) -> dict[str, Any]:
        """Write the cuts in private; return what the ledger keeps of a release, with them.

        `cell` is the published cell of every row.
        """
        earlier = series.ledger.entries().cuts_file
        return payload | {
            "cuts": write_private_table(draft, "cuts", self.divided.cuts.table()),
            "moved": self.moved,
            "ends": self.divided.domain.tolist(),
            "extended": np.unique(cell[self.divided.extended[self.divided.cell]]).tolist(),
            "erased": [*payload["erased"], *([earlier] if earlier else [])],
        }


def cells_of(view: Microdata, series: Series, k: int) -> PeopleCells:
    """The cells of a view, at least k people in each, nested in or apart from those of all earlier releases.

    Columns in which everybody moved by one since the last release, age or years of experience, take their cuts along.
    """
    moved = _moved(view, series)
    return PeopleCells(series.cuts().divide(view, k, moved), moved)


def _moved(view: Microdata, series: Series) -> dict[str, float]:
    """The columns that grew by one for most people who were in the last release.

    Their last quasi-identifiers are not kept; whether a guess at them is right is told by keyed digests.
    """
    memory = series.memory()
    assert view.people is not None
    entries = memory.find(view.people)
    stayed = np.flatnonzero(entries >= 0)
    stayed = stayed[memory.columns["last"][entries[stayed]] == memory.release][
        :_ASKED
    ]  # pseudonyms are in no order
    secret, form = series.secret(), series.row_digests
    axes = tuple(replace(axis, low=axis.low - 1) if axis.whole_numbers else axis for axis in view.axes)
    some = replace(
        view, people=view.people[stayed], axes=axes
    )  # a guess may lie below the lowest number of the view

    def digests_of(points: FloatArray) -> WordArray:
        return replace(some, points=points).row_digests(secret, form)

    before = memory.columns["row"][entries[stayed]]
    return moved_frames(digests_of, view.points[:, stayed], before, view.axes)
