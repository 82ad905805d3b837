"""The cells of people in a release of two tables: from quasi-identifiers and k alone, by cuts that are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.grouping import Grouping, Regions
from republish.microdata import INTERVAL, Axis
from republish.publishing.private_files import write_private_table
from republish.schema import Number
from republish.spatial.batch_cells import hiding_batches
from republish.spatial.kept_cuts import Divided, KeptCuts, moved_frames
from republish.verify.check import Check
from republish.verify.hidden_batch import from_cuts_by_batch
from republish.verify.kept_cuts import from_cuts

if TYPE_CHECKING:
    from republish.arrays import FloatArray, IntArray, WordArray
    from republish.ledger import Draft
    from republish.memory.memory import Memory
    from republish.microdata import Microdata
    from republish.release.forms import TwoTables
    from republish.release.two_tables import Placed
    from republish.secret import Secret
    from republish.series import Series

ASKED = 2_000
"""How many people who stayed are asked whether columns moved, the first by pseudonym."""


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

    def hiding(self, view: Microdata, batch: IntArray, k: int) -> PeopleCells:
        """The cells of the same cuts, every batch for itself; `batch` is that of every row."""
        return replace(self, divided=hiding_batches(view, self.divided, batch, k))

    def check(self, view: Microdata, placed: Placed, form: TwoTables) -> Check:
        """Whether the published cells are those that the cuts, as they will be stored, lead to."""
        cuts = self.divided.cuts.table()
        if form.hide_batch:
            return from_cuts_by_batch(view, placed, cuts, form.k)
        return from_cuts(view, placed.cell, cuts, form.k)

    def kept(self, draft: Draft, series: Series, payload: dict[str, Any], cell: IntArray) -> dict[str, Any]:
        """Write the cuts in private; return what the ledger keeps of a release, with them.

        `cell` is the published cell of every row.
        """
        divided = self.divided
        extended = np.unique(cell[divided.extended[divided.cell]])
        shown = CutRecord(self.moved, extended, divided.domain)
        return payload | shown.kept(draft, series, payload["erased"], divided.cuts)


@dataclass(frozen=True)
class CutRecord:
    """What the ledger keeps of the cells of a release: frames that moved, cells that extend, the ends of the axes."""

    moved: dict[str, float]
    extended: IntArray
    domain: FloatArray

    def kept(self, draft: Draft, series: Series, erased: list[str], cuts: KeptCuts) -> dict[str, Any]:
        """Write the cuts in private; return what the payload of a release says of them.

        `erased` are the private files that the release supersedes without them.
        """
        earlier = series.ledger.entries().cuts_file
        return {
            "cuts": write_private_table(draft, "cuts", cuts.table()),
            "moved": self.moved,
            "ends": [ends if ends[0] <= ends[1] else None for ends in self.domain.tolist()],
            "extended": self.extended.tolist(),
            "erased": [*erased, *([earlier] if earlier else [])],
        }


def open_axes(axes: tuple[Axis, ...], domain: FloatArray) -> tuple[Axis, ...]:
    """The axes of a view whose outermost cells are open: numbers and dates that have no declared domain.

    `domain` are the ends of all axes, the least and the greatest number that any view had; none of an empty view.
    """
    if not len(domain):
        return axes
    return tuple(
        replace(axis, ends=(float(ends[0]), float(ends[1])))
        if axis.kind_code == INTERVAL and not axis.labels and ends[0] <= ends[1] and not _declared(axis)
        else axis
        for axis, ends in zip(axes, domain, strict=True)
    )


def _declared(axis: Axis) -> bool:
    return isinstance(axis.column, Number) and axis.column.domain is not None


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
    assert view.people is not None
    stayed, before = stayed_among(view.people, series.memory())
    some = replace(view, people=view.people[stayed], points=view.points[:, stayed])
    return moved_among(some, before, series.secret(), series.row_digests)


def stayed_among(people: WordArray, memory: Memory) -> tuple[IntArray, WordArray]:
    """Some of the people who were in the last release, the first of these, and the digests of their rows there."""
    entries = memory.find(people)
    stayed = np.flatnonzero(entries >= 0)
    if not len(stayed):
        return stayed, np.empty(0, dtype=np.uint64)
    last = memory.columns["last"][entries[stayed]]
    stayed = stayed[last == memory.release][:ASKED]  # pseudonyms are in no order
    return stayed, memory.columns["row"][entries[stayed]]


def moved_among(some: Microdata, before: WordArray, secret: Secret, form: int) -> dict[str, float]:
    """The columns that grew by one for most of some people, whose rows had these digests in the last release."""
    axes = tuple(replace(axis, low=axis.low - 1) if axis.whole_numbers else axis for axis in some.axes)
    some = replace(some, axes=axes)  # a guess may lie below the lowest number of the view

    def digests_of(points: FloatArray) -> WordArray:
        return replace(some, points=points).row_digests(secret, form)

    return moved_frames(digests_of, some.points, before, some.axes)
