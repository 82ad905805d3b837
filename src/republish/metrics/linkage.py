"""Record linkage: the expected share of raw rows that are linked to their own published row.

After BayFrame, equation 7 (and microaggregation before it): a raw row r is linked to the nearest published
rows, at random among them; the link is right with probability 1 over their number if r's row is among them,
and 0 otherwise. The paper gives the sum over the rows; here it is divided by the rows of the raw view.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import ViewError
from republish.metrics.boxes import aligned, cell_boxes, suppressed_rows
from republish.metrics.tuples import Tuples
from republish.microdata import MISSING, Microdata
from republish.release.cells import ALL_MISSING, SOME_MISSING, Cells
from republish.release.release import Release


def record_linkage(release: Release, view: Microdata, membership: IntArray | None = None) -> float:
    """Linkage where the nearest rows are all those whose cells fit the raw row, counterfeits included.

    This adversary knows every quasi-identifier of everybody and not the groups. Without `membership` (the
    published group of every row of the view, 0 where left out) a row that fits a group counts as published:
    an upper bound where rows were left out.
    """
    suppressed_rows(release, view)
    view = aligned(view, release)
    points = view.points if membership is None else view.points[:, _published(membership, view)]
    if points.shape[1] == 0:
        return 0.0
    tuples = Tuples.of(points)
    candidates = tuples.covered(cell_boxes(release), release.sizes.astype(np.float64))
    chance = np.divide(1.0, candidates, where=candidates > 0, out=np.zeros_like(candidates))
    return float(np.dot(tuples.counts, chance) / view.rows)


def nearest_linkage(release: Release, view: Microdata, membership: IntArray) -> float:
    """Linkage where the nearest rows are those of the group whose cells have the nearest centre.

    Distances are Euclidean over coordinates divided by the domain's width, a category standing at its
    position among the leaves; a missing value stands one width below the domain. Groups with the same centre
    are one target.
    """
    from scipy.spatial import cKDTree

    view = aligned(view, release)
    published = _published(membership, view)
    if not published.any():
        return 0.0
    held = np.unique(membership[published]) - 1
    centres = np.column_stack([_scaled(_centre(cells)[held], cells) for cells in release.cells])
    targets, target = np.unique(centres, axis=0, return_inverse=True)
    rows = np.bincount(target.ravel(), weights=release.sizes[held])
    place = np.zeros(release.group_count, dtype=np.int64)
    place[held] = target.ravel()
    points = np.column_stack(
        [_scaled(part, cells) for part, cells in zip(view.points[:, published], release.cells, strict=True)]
    )
    nearest = cKDTree(targets).query(points)[1]
    right = nearest == place[membership[published] - 1]
    return float((right / rows[nearest]).sum() / view.rows)


def _published(membership: IntArray, view: Microdata) -> BoolArray:
    if len(membership) != view.rows:
        raise ViewError(
            f"the membership must name the group of every row of the view: {view.rows} rows, found "
            f"{len(membership)}; give the one that was stored with this release"
        )
    return membership > 0


def _centre(cells: Cells) -> FloatArray:
    """The middle of every cell; of a set the mean of its positions, of `*` the middle of the domain."""
    middle = (cells.low + cells.high) / 2
    held = np.diff(cells.offsets)
    if len(cells.members) and len(held) == len(middle):
        owner = np.repeat(np.arange(len(held)), held)
        sums = np.bincount(owner, weights=cells.members, minlength=len(held))
        middle = np.where(held > 0, sums / np.maximum(held, 1), middle)
    middle = np.where(cells.missing == SOME_MISSING, (cells.axis.low + cells.axis.high) / 2, middle)
    return np.where(cells.missing == ALL_MISSING, MISSING, middle)


def _scaled(points: FloatArray, cells: Cells) -> FloatArray:
    low, width = cells.axis.low, cells.axis.high - cells.axis.low
    there = points > MISSING
    return np.where(there, (np.where(there, points, low) - low) / (width or 1.0), -1.0)
