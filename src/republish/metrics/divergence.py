"""Kullback-Leibler divergence from the raw tuples to what a reader would reconstruct (Kifer, Gehrke 2006).

The reader spreads the people of every group evenly over the tuples that its cells allow, and the people
left out over the whole domain: so nothing has probability 0. Boxes may overlap; a tuple's probability is the
sum over all groups whose cells hold it. Natural logarithm.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray
from republish.errors import ViewError
from republish.metrics.boxes import (
    Boxes,
    aligned,
    cell_boxes,
    is_discrete,
    real_rows,
    require_sensitive,
    sensitive_ranks,
    suppressed_rows,
    with_axis,
)
from republish.metrics.tuples import Tuples
from republish.microdata import FLAT, MISSING, Axis, Microdata
from republish.release.cells import ALL_MISSING, NONE_MISSING, Cells
from republish.release.release import Release


def kl_divergence(release: Release, view: Microdata, *, sensitive: bool = False) -> float:
    """The divergence in nats from the tuples of the view to the release's even spread; 0 where all is exact.

    Tuples are those of the quasi-identifiers, with `sensitive` joined by the sensitive value.
    """
    if sensitive:
        require_sensitive(release.schema, "a divergence of sensitive tuples")
    view = aligned(view, release)
    left_out = suppressed_rows(release, view)
    if view.rows == 0:
        return 0.0
    points, boxes, weight = view.points, cell_boxes(release), real_rows(release) / _possible(release, view)
    everything = float(
        np.prod([_domain(cells.axis, part) for cells, part in zip(release.cells, points, strict=True)])
    )
    if sensitive:
        points = np.vstack([points, view.codes.astype(np.float64)])
        boxes, weight = _with_values(release, view, boxes, weight)
        everything *= len(view.values)
    tuples = Tuples.of(points)
    estimated = (tuples.covered(boxes, weight) + left_out / everything) / view.rows
    lost = int(tuples.counts[estimated <= 0].sum())
    if lost:
        raise ViewError(
            f"the view must be the one that the release was made of: {lost} of its rows lie in no group, "
            "though no row is left out; give the view of this release"
        )
    found = tuples.counts / view.rows
    # Rounding can leave a hair below zero where the release is exact.
    return max(0.0, float(np.dot(found, np.log(found / estimated))))


def _with_values(
    release: Release, view: Microdata, boxes: Boxes, weight: FloatArray
) -> tuple[Boxes, FloatArray]:
    """Every group once for each of its published values, its weight divided in proportion."""
    codes = sensitive_ranks(release, view.values)
    pairs, rows = np.unique(
        (release.group.astype(np.int64) - 1) * (len(view.values) + 1) + codes + 1, return_counts=True
    )
    owner, code = np.divmod(pairs, len(view.values) + 1)
    place = (code - 1).astype(np.float64)
    return with_axis(boxes, owner, place, place), weight[owner] * rows / release.sizes[owner]


def _possible(release: Release, view: Microdata) -> FloatArray:
    """How many tuples the cells of every group allow."""
    counts = np.ones(release.group_count)
    for cells, points in zip(release.cells, view.points, strict=True):
        counts *= _values_in(cells, points)
    return counts


def _values_in(cells: Cells, points: FloatArray) -> FloatArray:
    """How many values every cell allows, at least 1."""
    allowed = np.full(len(cells.low), _domain(cells.axis, points))
    allowed[cells.missing == ALL_MISSING] = 1.0
    said = (cells.missing == NONE_MISSING) & np.isfinite(cells.low)
    low, high = cells.low[said], cells.high[said]
    if cells.axis.kind_code == FLAT:
        allowed[said] = np.diff(cells.offsets)[said]
    elif is_discrete(cells.axis):
        allowed[said] = high - low + 1
    else:
        known = np.unique(points[points > MISSING])
        allowed[said] = np.searchsorted(known, high, "right") - np.searchsorted(known, low, "left")
    return np.asarray(np.maximum(allowed, 1.0), dtype=np.float64)


def _domain(axis: Axis, points: FloatArray) -> float:
    """How many values an axis has, the missing one among them where the view has it."""
    there = points > MISSING
    absent = 0.0 if there.all() else 1.0
    if axis.labels or axis.column.kind == "category":
        return len(axis.labels) + absent
    if axis.whole_numbers:
        return axis.high - axis.low + 1 + absent
    # Decimals have no natural number of values: those of the view stand for them.
    return float(len(np.unique(points[there]))) + absent
