"""Which batch is hers: what a register-holder is left with who knows quasi-identifiers and who is in which release.

A batch may be somebody's if a line of a cell names it that fits her. As long as her value stays, its values, or where
no life ever changes its signature the signature itself, must be among those of a batch that may have been hers each
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from republish.arrays import IntArray, WordArray
from republish.attacks.excluding.candidates import Unknowns, lives, sizes
from republish.attacks.excluding.historical import same_values
from republish.attacks.history import History
from republish.attacks.matching.fitting import fitting
from republish.attacks.matching.sightings import MatchedView, units_of
from republish.kernels import kernel

_BLOCK = 1 << 22  # words of sets that are in memory at a time


class Marks(NamedTuple):
    """What is known again of every group g: `mark[start[g]:start[g + 1]]`, of so many words of bits in all."""

    start: IntArray
    mark: IntArray
    words: int

    def among(self, first: int, last: int) -> Marks:
        """Those of some groups."""
        start = self.start[first : last + 1]
        return Marks(start - start[0], self.mark[start[0] : start[-1]], self.words)


def batches_left(history: History, sightings: Sequence[MatchedView]) -> IntArray:
    """Of every appearance, how many batches of the last release of its life may be the person's."""
    unknowns = lives(history)
    marks = marks_of(unknowns)
    last = np.zeros(unknowns.count, dtype=np.int64)
    np.maximum.at(last, unknowns.of_appearance, history.release)
    parts = [_Release(history, i, sighting, marks) for i, sighting in enumerate(sightings)]
    wide = marks.words + max((part.words for part in parts), default=1)
    found = np.zeros(unknowns.count, dtype=np.int64)
    step = max(1, _BLOCK // wide)
    for first in range(0, unknowns.count, step):
        some = slice(first, min(first + step, unknowns.count))
        left = np.full((some.stop - first, marks.words), ~np.uint64(0))
        for part in parts:
            part.narrow(unknowns, some, left)
        for part in parts:
            part.count(unknowns, some, left, last, found)
    return found[unknowns.of_appearance]


def marks_of(unknowns: Unknowns) -> Marks:
    """The signature of every group where lives keep theirs, else each of its values."""
    history = unknowns.history
    signature = same_values(history, counted=False)
    lowest = np.full(unknowns.count, history.groups, dtype=np.int64)
    highest = np.full(unknowns.count, -1, dtype=np.int64)
    np.minimum.at(lowest, unknowns.of_appearance, signature[history.group])
    np.maximum.at(highest, unknowns.of_appearance, signature[history.group])
    start, mark = history.value_start, history.value_code
    if ((lowest == highest) | (highest < 0)).all():
        start, mark = np.arange(history.groups + 1), np.unique(signature, return_inverse=True)[1]
    return Marks(start, mark.astype(np.int64), max(1, -(-(int(mark.max(initial=0)) + 1) // 64)))


class _Release:
    """One release: whose appearances are where, and the batches that groups of people name."""

    def __init__(self, history: History, i: int, sighting: MatchedView, marks: Marks) -> None:
        first, last = np.searchsorted(history.release, [i, i + 1]).tolist()
        batches = slice(int(history.group_start[i]), int(history.group_start[i + 1]))
        place = np.full(history.people, -1, dtype=np.int64)
        seen = np.flatnonzero(sighting.person >= 0)
        place[sighting.person[seen]] = seen
        self.number, self.first, self.last = i, first, last
        self.people = sighting.release.people
        self.points = sighting.points[:, place[history.person[first:last]]]
        self.units = units_of(sighting.release, history.sizes[batches])
        self.marks = marks.among(batches.start, batches.stop)
        self.words = max(1, -(-(batches.stop - batches.start) // 64))

    def narrow(self, unknowns: Unknowns, some: slice, left: WordArray) -> None:
        """Take from the lives numbered `some`, in place, what none of the batches has that may be theirs."""
        unknown = unknowns.of_appearance[self.first : self.last]
        here = np.flatnonzero((unknown >= some.start) & (unknown < some.stop))
        fits = fitting(self.people, self.points[:, here])
        marked = np.zeros((len(here), left.shape[1]), dtype=np.uint64)
        _mark(fits, self.units, self.marks, marked)
        left[unknown[here] - some.start] &= marked

    def count(
        self, unknowns: Unknowns, some: slice, left: WordArray, last: IntArray, found: IntArray
    ) -> None:
        """Count, in place, the batches of the lives numbered `some` that end in this release."""
        unknown = unknowns.of_appearance[self.first : self.last]
        here = np.flatnonzero(
            (unknown >= some.start) & (unknown < some.stop) & (last[unknown] == self.number)
        )
        fits = fitting(self.people, self.points[:, here])
        batches = np.zeros((len(here), self.words), dtype=np.uint64)
        _possible(fits, self.units, self.marks, left[unknown[here] - some.start], batches)
        found[unknown[here]] = sizes(batches)


@kernel
def _mark(fits, units, marks, marked):  # type: ignore[no-untyped-def]
    """Add the marks of all batches that a group names to the points in it, in place."""
    for r in range(len(fits.group)):
        for u in range(units.start[fits.group[r]], units.start[fits.group[r] + 1]):
            for j in range(marks.start[units.batch[u]], marks.start[units.batch[u] + 1]):
                word, bit = marks.mark[j] >> 6, np.uint64(1) << np.uint64(marks.mark[j] & 63)
                for i in range(fits.start[r], fits.end[r]):
                    marked[fits.order[i], word] |= bit


@kernel
def _possible(fits, units, marks, left, batches):  # type: ignore[no-untyped-def]
    """Set the bits of the batches that fit every point and have a mark that is left, in place."""
    for r in range(len(fits.group)):
        for u in range(units.start[fits.group[r]], units.start[fits.group[r] + 1]):
            batch = units.batch[u]
            for i in range(fits.start[r], fits.end[r]):
                point = fits.order[i]
                for j in range(marks.start[batch], marks.start[batch + 1]):
                    if (left[point, marks.mark[j] >> 6] >> np.uint64(marks.mark[j] & 63)) & np.uint64(1):
                        batches[point, batch >> 6] |= np.uint64(1) << np.uint64(batch & 63)
                        break
