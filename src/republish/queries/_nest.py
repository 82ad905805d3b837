"""The nested regions of a release as boxes of which every two are apart or one holds the other.

A cell says whether its people lack a value, so that of two regions one inside the other the inner one may hold the
missing value and the outer one not. Regions with cells `*` are therefore cut in two, with and without the value: their
pieces are nested or apart again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.kernels import kernel
from republish.metrics.boxes import is_discrete
from republish.queries._kernel import EstimateTable
from republish.release.cells import ALL_MISSING, NONE_MISSING, SOME_MISSING
from republish.release.release import Release
from republish.spatial.nested import parents, uncovered

CLEAR = 1e-6  # a share of volume that no rounding makes up
_MOST_PLACES = 1 << 62
_MOST_CUTS = 4  # cells `*` of a region that are cut in two


class Nest(NamedTuple):
    """Pieces of regions as boxes `boxes[piece, axis]` with the high end out; the missing value lies below all values.

    Attributes:
        owner: the group of every piece.
        first_piece: the pieces of group g are `first_piece[g]` to `first_piece[g + 1]`.
        inside: whether there are regions inside that of a group.
        prior: the share of a group's people that is expected in each of its pieces, 0 where none of it is left.
        boxes: low and high end of every piece.
        child: the pieces next inside piece p are `child[first[p] : first[p + 1]]`.
        first: see `child`.
        low: the lowest value, inf where a piece holds the missing one alone.
        high: the highest value.
        values: the measure of the values: their number, or the length of a range of decimals.
        single: whether these are a single decimal, which has no length.
        absent: whether the missing value belongs to the piece.
        weight: the measure of the missing value where that piece is looked at.
        whole: the volume of every piece.
        block: what is left of that without the pieces inside.
        bottom: the lowest value of every axis.
    """

    owner: IntArray
    first_piece: IntArray
    inside: BoolArray
    prior: FloatArray
    boxes: FloatArray
    child: IntArray
    first: IntArray
    low: FloatArray
    high: FloatArray
    values: FloatArray
    single: BoolArray
    absent: BoolArray
    weight: FloatArray
    whole: FloatArray
    block: FloatArray
    bottom: FloatArray


def nest_of(release: Release, table: EstimateTable) -> Nest:
    """The regions of a release that has levels."""
    assert release.level is not None
    owner, without, within, prior = _pieces(table)
    pieces, axes = without.shape
    boxes, low, high = np.empty((pieces, axes, 2)), np.empty((pieces, axes)), np.empty((pieces, axes))
    values, weight, bottom = np.empty((pieces, axes)), np.ones((pieces, axes)), np.empty(axes)
    for a, cells in enumerate(release.cells):
        there, bottom[a] = within[:, a], cells.axis.low
        step = 1.0 if is_discrete(cells.axis) else 0.0
        low[:, a] = np.where(there, table.low[a, owner], np.inf)
        high[:, a] = np.where(there, table.high[a, owner], -np.inf)
        values[there, a] = np.maximum(high[there, a] - low[there, a] + step, 0.0)
        values[~there, a] = 0.0
        beyond = high[:, a] + 1.0 if step else np.nextafter(high[:, a], np.inf)
        below = min(bottom[a] - 1.0, np.nextafter(bottom[a], -np.inf))
        boxes[:, a, 0] = np.where(without[:, a], below, low[:, a])
        boxes[:, a, 1] = np.where(there, beyond, bottom[a])
        both = there & without[:, a]
        absent = table.absent[a, owner[both]]
        measure = np.where(values[both, a] > 0.0, values[both, a], 1.0)
        weight[both, a] = measure * absent / (1.0 - absent)
    parent = smallest_around(release.level[owner], boxes)
    child = np.argsort(parent, kind="stable")
    first = np.searchsorted(parent[child], np.arange(pieces + 1))
    first_piece = np.searchsorted(owner, np.arange(release.group_count + 1))
    inside = np.zeros(release.group_count, dtype=np.bool_)
    inside[owner[np.flatnonzero(np.diff(first))]] = True
    single = within & (values == 0.0)
    whole, block, left = _blocks(boxes, child, first, values, single, without, weight)
    left &= prior > 0.0
    total = np.bincount(owner, weights=prior * left, minlength=release.group_count)[owner]
    prior = np.where(total > 0.0, prior * left / np.where(total > 0.0, total, 1.0), prior)
    return Nest(
        owner,
        first_piece,
        inside,
        prior,
        boxes,
        child,
        first,
        low,
        high,
        values,
        single,
        without,
        weight,
        whole,
        block,
        bottom,
    )


def _pieces(table: EstimateTable) -> tuple[IntArray, BoolArray, BoolArray, FloatArray]:
    """The owner of every piece, whether the missing value and others belong to it, and its share of people."""
    groups = len(table.people)
    owner, prior, cuts = np.arange(groups), np.ones(groups), np.zeros(groups, dtype=np.int64)
    without, within = (table.missing != NONE_MISSING).T, (table.missing != ALL_MISSING).T
    for a in range(len(table.missing)):
        cut = np.flatnonzero((table.missing[a, owner] == SOME_MISSING) & (cuts < _MOST_CUTS))
        if not cut.size:
            continue
        absent = table.absent[a, owner[cut]]
        cuts[cut] += 1
        order = np.argsort(np.concatenate([owner, owner[cut]]), kind="stable")
        more = len(owner) + np.arange(len(cut))
        without, within = np.concatenate([without, without[cut]]), np.concatenate([within, within[cut]])
        within[cut, a], without[more, a] = False, False
        prior = np.concatenate([prior, prior[cut] * (1.0 - absent)])
        prior[cut] *= absent
        owner, cuts = np.concatenate([owner, owner[cut]])[order], np.concatenate([cuts, cuts[cut]])[order]
        without, within, prior = without[order], within[order], prior[order]
    return owner, np.ascontiguousarray(without), np.ascontiguousarray(within), prior


def smallest_around(levels: IntArray, boxes: FloatArray) -> IntArray:
    """What `parents` returns, without comparing all pairs: regions of one level lie on a grid.

    Where regions are on no grid some may be found further out, which makes estimates coarser and breaks no bound.
    """
    corner = boxes[:, :, 0]
    found = np.full(len(levels), -1, dtype=np.int64)
    for level in np.unique(levels)[-2::-1].tolist():
        outer, inner = np.flatnonzero(levels == level), np.flatnonzero((levels > level) & (found < 0))
        place, sought = np.zeros(len(outer), np.int64), np.zeros(len(inner), np.int64)
        places = 1
        for a in range(boxes.shape[1]):
            starts, which = np.unique(corner[outer, a], return_inverse=True)
            places *= len(starts)
            if places > _MOST_PLACES:
                return parents(levels, boxes)
            place = place * len(starts) + which
            at = np.searchsorted(starts, corner[inner, a], side="right") - 1
            sought = sought * len(starts) + np.maximum(at, 0)
        order = np.argsort(place, kind="stable")
        at = np.minimum(np.searchsorted(place[order], sought), len(outer) - 1)
        around, own = boxes[outer[order[at]]], boxes[inner]
        holds = ((around[:, :, 0] <= own[:, :, 0]) & (own[:, :, 1] <= around[:, :, 1])).all(axis=1)
        found[inner[holds]] = outer[order[at[holds]]]
    return found


@kernel
def _blocks(boxes, child, first, values, single, absent, weight):  # type: ignore[no-untyped-def]
    """The volumes of all pieces, what is left of them without those inside, and whether any place is."""
    pieces, axes = values.shape
    whole, block, left = np.empty(pieces), np.empty(pieces), np.ones(pieces, np.bool_)
    for p in range(pieces):
        inner = child[first[p] : first[p + 1]]
        for at in range(-1, len(inner)):
            piece = p if at < 0 else inner[at]
            volume = 1.0
            for a in range(axes):
                own = 1.0 if single[p, a] else values[piece, a]
                volume *= own + (weight[p, a] if absent[piece, a] else 0.0)
            if at < 0:
                whole[p] = block[p] = volume
            else:
                block[p] -= volume
        if block[p] <= CLEAR * whole[p]:
            block[p], left[p] = 0.0, uncovered(boxes[p], boxes, inner)
    return whole, block, left
