"""Zones: a kd-tree over quasi-identifiers that leads everybody, now and later, to one zone.

People are cut by the axis along which they differ most, at the value that leaves either side its share of them. Whoever
has just that value goes to one side or the other by a chance of her own, drawn from her pseudonym, which the secret
drew: the same person is led the same way again, and nobody's sensitive value has a part in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray, WordArray

_COLUMNS = ("axis", "cut", "share", "below", "above")
_NEAR, _LEAST = (
    0.15,
    0.35,
)  # a cut between values is preferred where it is that near, and leaves a side that much
_GOLDEN, _FIRST, _SECOND = (
    np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class LedRow(NamedTuple):
    """What leads people through the tree: `points[axis, row]`, and their pseudonyms."""

    points: FloatArray
    people: WordArray


@dataclass(frozen=True)
class Zones:
    """One entry a cut: its axis, value, share of those with that value who go below, and what lies on either side.

    What lies there is the number of another cut, or -1 - z for zone z. Without cuts there is one zone. `salt` tells
    chances of one tree from those of another.
    """

    axis: IntArray
    cut: FloatArray
    share: FloatArray
    below: IntArray
    above: IntArray
    salt: int = 0

    @property
    def count(self) -> int:
        return len(self.axis) + 1

    @classmethod
    def one(cls) -> Zones:
        """One zone for everybody."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, np.zeros(0), np.zeros(0), nothing, nothing)

    def joined(self, part: IntArray) -> Zones:
        """The same cuts where zone z is a part of zone `part[z]`."""
        below, above = (
            np.where(side < 0, -1 - part[np.maximum(-1 - side, 0)], side) for side in (self.below, self.above)
        )
        return replace(self, below=below, above=above)

    def frame(self) -> pl.DataFrame:
        return pl.DataFrame({name: getattr(self, name) for name in _COLUMNS})

    @classmethod
    def of_frame(cls, frame: pl.DataFrame, salt: int = 0) -> Zones:
        axis, cut, share, below, above = (frame[name].to_numpy() for name in _COLUMNS)
        return cls(axis, cut, share, below, above, salt)

    def lead(self, rows: LedRow) -> IntArray:
        """The zone of everyone."""
        at = np.zeros(rows.points.shape[1], dtype=np.int64)
        zone = np.zeros(len(at), dtype=np.int64)
        on = np.arange(len(at)) if len(self.axis) else np.zeros(0, dtype=np.int64)
        while len(on):
            node = at[on]
            value = rows.points[self.axis[node], on]
            tied = (value == self.cut[node]) & (chances(rows.people[on], node, self.salt) < self.share[node])
            at[on] = np.where((value < self.cut[node]) | tied, self.below[node], self.above[node])
            there = at[on] < 0
            zone[on[there]] = -1 - at[on[there]]
            on = on[~there]
        return zone


def chances(people: WordArray, node: IntArray, salt: int) -> FloatArray:
    """A number from 0 to 1 for everyone at a cut: SplitMix64 of the pseudonym, which is drawn already, and the cut."""
    mixed = people[:, 1] ^ ((node.astype(np.uint64) + np.uint64(1)) * _GOLDEN) ^ _salted(salt)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _salted(salt: int) -> np.uint64:
    return np.uint64(salt * int(_SECOND) % 2**64)


def cut_zones(rows: LedRow, size: int, weights: FloatArray, salt: int = 0) -> tuple[Zones, IntArray]:
    """Zones of about `size` people, and the zone of everyone; an axis counts for as much as its weight says."""
    low = np.where(np.isfinite(rows.points), rows.points, np.inf).min(axis=1, initial=np.inf)
    high = rows.points.max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        scale = np.where(high > low, weights / np.where(high > low, high - low, 1.0), 0.0)
    cuts: list[list[float]] = []
    zone = np.zeros(rows.points.shape[1], dtype=np.int64)
    zones = 0
    todo = [(np.arange(len(zone)), max(1, round(len(zone) / size)), -1, 0)]
    while todo:
        mine, parts, parent, side = todo.pop()
        if parts <= 1:
            zone[mine] = zones
            this, zones = -1 - zones, zones + 1
        else:
            this = len(cuts)
            axis, cut, share = _best_cut(rows.points[:, mine], low, scale, (parts // 2) / parts)
            value = rows.points[axis, mine]
            drawn = chances(rows.people[mine], np.full(len(mine), this), salt) < share
            under = (value < cut) | ((value == cut) & drawn)
            cuts.append([axis, cut, share, 0, 0])
            # The last put is taken first, so that zones are numbered from below.
            todo.append((mine[~under], parts - parts // 2, this, 4))
            todo.append((mine[under], parts // 2, this, 3))
        if parent >= 0:
            cuts[parent][side] = this
    table = np.array(cuts, dtype=np.float64).reshape(-1, 5)
    axes, below, above = (table[:, i].astype(np.int64) for i in (0, 3, 4))
    return Zones(axes, table[:, 1], table[:, 2], below, above, salt), zone


def _best_cut(
    points: FloatArray, low: FloatArray, scale: FloatArray, part: float
) -> tuple[int, float, float]:
    """Axis, value and share of a cut that leaves `part` of the people below: along the axis they differ most on."""
    if not points.shape[1]:
        return 0, 0.0, 0.5
    finite = np.maximum(points, low[:, None])  # the missing value is the lowest of all
    ends = np.quantile(finite, (0.05, 0.95), axis=1)
    spread = (ends[1] - ends[0]) * scale
    if not spread.max(initial=0) > 0:
        spread = (finite.max(axis=1) - finite.min(axis=1)) * scale
    axis = int(np.argmax(spread))
    value = np.sort(points[axis])
    rows = len(value)
    cut = value[min(round(rows * part), rows - 1)]
    below, upto = np.searchsorted(value, cut, "left"), np.searchsorted(value, cut, "right")
    share = (rows * part - below) / (upto - below)
    if share < _NEAR and below > _LEAST * rows:
        share = 0.0
    elif share > 1 - _NEAR and upto < (1 - _LEAST) * rows:
        share = 1.0
    return axis, float(cut), float(min(max(share, 0.0), 1.0))
