"""Quasi-identifiers of all releases in the same coordinates, and cells as ranges of numbers and sets of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray, WordArray
from republish.attacks.matching.sightings import MatchedView
from republish.metrics.boxes import cell_boxes
from republish.microdata import Axis


class CommonCells(NamedTuple):
    """Cells in common coordinates: `low[c, axis]` to `high[c, axis]` of numbers, `labels[c]` a bit for every label.

    Axes of labels are unbounded in `low` and `high`.
    """

    low: FloatArray
    high: FloatArray
    labels: WordArray

    def within(self, others: CommonCells) -> CommonCells:
        """What each cell has in common with the other one beside it."""
        return CommonCells(
            np.maximum(self.low, others.low), np.minimum(self.high, others.high), self.labels & others.labels
        )

    def taken(self, which: IntArray) -> CommonCells:
        """Some of the cells."""
        return CommonCells(self.low[which], self.high[which], self.labels[which])


@dataclass(frozen=True)
class CommonCoordinates:
    """The labels of every axis in all releases, none of numbers; their bits begin at `first`.

    Two bits more than there are labels: the first stands for a missing value, the second is in no cell. Numbers are
    those of frames that move with people.
    """

    labels: tuple[tuple[str, ...], ...]
    first: IntArray
    words: int

    @classmethod
    def of(cls, sightings: Sequence[MatchedView]) -> CommonCoordinates:
        """The coordinates that these releases share."""
        axes = [_axes(sighting) for sighting in sightings]
        labels = tuple(
            tuple(dict.fromkeys(label for axis in same for label in axis.labels))
            for same in zip(*axes, strict=True)
        )
        bits = [len(own) + 2 if own else 0 for own in labels]
        first = np.append(0, np.cumsum(bits, dtype=np.int64))
        return cls(labels, first, max(1, -(-int(first[-1]) // 64)))

    @property
    def labelled(self) -> IntArray:
        """The first bit of every axis of labels, -1 of numbers."""
        return np.where([bool(own) for own in self.labels], self.first[:-1], -1).astype(np.int64)

    def points(self, sighting: MatchedView) -> FloatArray:
        """Everyone in a view: `points[axis, i]`, the missing value at -inf and what is no label at inf."""
        found = np.empty_like(sighting.points, dtype=np.float64)
        for a, axis in enumerate(_axes(sighting)):
            if self.labels[a]:
                found[a] = _renumbered(sighting.points[a], axis.labels, self.labels[a])
            else:
                found[a] = sighting.points[a] - sighting.offset[a]
        return found

    def back(self, points: FloatArray, sighting: MatchedView) -> FloatArray:
        """Points as the cells of a release have them."""
        found = np.empty_like(points)
        for a, axis in enumerate(_axes(sighting)):
            if self.labels[a]:
                found[a] = _renumbered(points[a], self.labels[a], axis.labels)
            else:
                found[a] = points[a] + sighting.offset[a]
        return found

    def bits(self, points: FloatArray) -> FloatArray:
        """Points with a bit instead of a label, the missing one and the one in no cell included."""
        found = points.copy()
        for a, own in enumerate(self.labels):
            if own:
                there = np.isfinite(points[a])
                found[a] = np.where(
                    there, np.where(there, points[a], 0), len(own) + (points[a] > 0).astype(np.float64)
                )
        return found

    def cells(self, sighting: MatchedView) -> CommonCells:
        """The cells of the table of people."""
        boxes = cell_boxes(sighting.release.people)
        low, high = boxes.low - sighting.offset, boxes.high - sighting.offset
        held = np.zeros((len(low), 64 * self.words), dtype=np.bool_)
        for a, axis in enumerate(_axes(sighting)):
            own = self.labels[a]
            if not own:
                continue
            position = np.arange(len(axis.labels))
            inside = (position >= boxes.low[:, a, None]) & (position <= boxes.high[:, a, None])
            if boxes.set_of_axis[a] >= 0:
                offsets = boxes.offsets[boxes.set_of_axis[a]]
                listed = np.zeros_like(inside)
                of = np.repeat(np.arange(len(low)), np.diff(offsets))
                listed[of, boxes.members[offsets[0] : offsets[-1]]] = True
                inside &= listed | (np.diff(offsets) == 0)[:, None]
            place = {label: at for at, label in enumerate(own)}
            first = int(self.first[a])
            held[:, [first + place[label] for label in axis.labels]] = inside
            held[:, first + len(own)] = np.isneginf(boxes.low[:, a])
            everything = np.isposinf(boxes.high[:, a]) & np.isneginf(boxes.low[:, a])
            held[everything, first : first + len(own)] = True
            low[:, a], high[:, a] = -np.inf, np.inf
        packed = np.packbits(held, axis=1, bitorder="little").view("<u8")
        return CommonCells(low, high, packed.astype(np.uint64))


def _axes(sighting: MatchedView) -> list[Axis]:
    return [cells.axis for cells in sighting.release.people.cells]


def _renumbered(points: FloatArray, old: Sequence[str], new: Sequence[str]) -> FloatArray:
    """Positions among the new labels; the missing value stays, and a label that is not there lies beyond them all."""
    place = {label: float(at) for at, label in enumerate(new)}
    places = np.array([place.get(label, np.inf) for label in old] or [np.inf])
    there = np.isfinite(points)
    return np.where(there, places[np.where(there, points, 0).astype(np.int64)], points)
