"""The cells of a release as boxes over all quasi-identifiers, and raw views in the same coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import SchemaError, ViewError
from republish.microdata import FLAT, MISSING, Axis, Microdata
from republish.release.cells import ALL_MISSING, SOME_MISSING, Cells
from republish.release.release import Release
from republish.schema import Schema
from republish.schema.column_names import listed


class Boxes(NamedTuple):
    """Boxes as arrays that compiled code can read: `low[box, axis]` to `high[box, axis]`, both included.

    Attributes:
        low: lower bounds; -inf also holds the missing value.
        high: upper bounds.
        owner: the row of `offsets` that a box's sets stand in.
        set_of_axis: the set column of each axis, -1 where a range says all.
        offsets: `members[offsets[s, owner]:offsets[s, owner + 1]]` are the sorted positions of a set with
            gaps; nothing there where the range says all.
        members: the positions of all sets.
    """

    low: FloatArray
    high: FloatArray
    owner: IntArray
    set_of_axis: IntArray
    offsets: IntArray
    members: IntArray


def ranges(low: FloatArray, high: FloatArray) -> Boxes:
    """Boxes without sets."""
    none = np.zeros((0, len(low) + 1), dtype=np.int64)
    axes = np.full(low.shape[1], -1, dtype=np.int64)
    return Boxes(
        np.ascontiguousarray(low),
        np.ascontiguousarray(high),
        np.arange(len(low)),
        axes,
        none,
        np.zeros(0, np.int64),
    )


def cell_boxes(release: Release, *, star_is_domain: bool = False) -> Boxes:
    """One box a group of the release.

    A cell `*` holds everything, the missing value too, or with `star_is_domain` the values of the domain
    alone, and then an empty cell holds nothing. A group of counterfeits alone holds nothing.
    """
    count, axes = release.group_count, len(release.cells)
    low, high = np.empty((count, axes)), np.empty((count, axes))
    for a, cells in enumerate(release.cells):
        star = (cells.axis.low, cells.axis.high) if star_is_domain else (-np.inf, np.inf)
        blank = (np.inf, -np.inf) if star_is_domain else (-np.inf, -np.inf)
        for side, bounds in enumerate((low, high)):
            bounds[:, a] = (cells.low, cells.high)[side]
            bounds[cells.missing == SOME_MISSING, a] = star[side]
            bounds[cells.missing == ALL_MISSING, a] = blank[side]
    nobody = real_rows(release) == 0
    low[nobody], high[nobody] = np.inf, -np.inf

    sets = [(a, *_gapped(cells)) for a, cells in enumerate(release.cells) if cells.axis.kind_code == FLAT]
    set_of_axis = np.full(axes, -1, dtype=np.int64)
    set_of_axis[[a for a, _, _ in sets]] = np.arange(len(sets))
    starts = np.cumsum([0, *(len(members) for _, _, members in sets)])
    offsets = np.zeros((len(sets), count + 1), dtype=np.int64)
    for s, (_, own, _) in enumerate(sets):
        offsets[s] = own + starts[s]
    members = np.concatenate([np.zeros(0, np.int64), *(members for _, _, members in sets)])
    return Boxes(low, high, np.arange(count), set_of_axis, offsets, members.astype(np.int64))


def with_axis(boxes: Boxes, owner: IntArray, low: FloatArray, high: FloatArray) -> Boxes:
    """A box for every entry of `owner`: the owner's box, bounded in one more axis."""
    return Boxes(
        np.column_stack([boxes.low[owner], low]),
        np.column_stack([boxes.high[owner], high]),
        boxes.owner[owner],
        np.append(boxes.set_of_axis, -1),
        boxes.offsets,
        boxes.members,
    )


def _gapped(cells: Cells) -> tuple[IntArray, IntArray]:
    """Offsets and sorted members of the sets that are not a run of neighbours."""
    held = np.diff(cells.offsets)
    owner = np.repeat(np.arange(len(held)), held)
    with np.errstate(invalid="ignore"):
        gaps = cells.said & (cells.high - cells.low + 1 > held)
    keep = gaps[owner]
    owner, members = owner[keep], cells.members[keep]
    order = np.lexsort((members, owner))
    offsets = np.append(0, np.cumsum(np.where(gaps, held, 0)))
    return offsets, members[order]


def real_rows(release: Release) -> IntArray:
    """Rows of every group that belong to a person."""
    return release.sizes - release.counterfeits


def suppressed_rows(release: Release, view: Microdata) -> int:
    """How many rows of the view the release leaves out."""
    left_out = view.rows - int(real_rows(release).sum())
    if left_out < 0:
        raise ViewError(
            f"the view must be the one that the release was made of: it has {view.rows} rows, {-left_out} "
            "fewer than the release has people; give the view of this release"
        )
    return left_out


def aligned(view: Microdata, release: Release) -> Microdata:
    """The view in the coordinates of the release, whose hierarchies may have grown since."""
    axes = tuple(cells.axis for cells in release.cells)
    names = [axis.column.name for axis in axes]
    if names != [axis.column.name for axis in view.axes]:
        raise ViewError(
            f"view and release must have the same quasi-identifiers; the release has {listed(names)}"
        )
    if all(ours.labels == theirs.labels for ours, theirs in zip(axes, view.axes, strict=True)):
        return replace(view, axes=axes)
    points = view.points.copy()
    for a, (ours, theirs) in enumerate(zip(axes, view.axes, strict=True)):
        if ours.labels != theirs.labels:
            points[a] = _relabelled(points[a], theirs, ours)
    return replace(view, axes=axes, points=points)


def _relabelled(points: FloatArray, old: Axis, new: Axis) -> FloatArray:
    """Positions among the new labels; a label that is not there lies beyond them all."""
    position = {label: float(at) for at, label in enumerate(new.labels)}
    places = np.array([position.get(label, np.inf) for label in old.labels] or [np.inf])
    there = points > MISSING
    return np.where(there, places[np.where(there, points, 0).astype(np.int64)], MISSING)


def require_sensitive(schema: Schema, what: str) -> None:
    """Refuse a schema without a sensitive column where `what` needs one."""
    if schema.sensitive is None:
        raise SchemaError(f"{what} needs a sensitive column, found none; label one in the schema")


def is_discrete(axis: Axis) -> bool:
    """Whether the values of an axis can be counted: all but decimals."""
    return bool(axis.labels) or axis.whole_numbers or axis.column.kind == "category"


def sensitive_ranks(release: Release, values: pl.Series) -> IntArray:
    """The place of every row's sensitive value in `values`, -1 where it is not there."""
    assert release.schema.sensitive is not None
    return ranks_of(release.rest[release.schema.sensitive.name], values)


def ranks_of(column: pl.Series, values: pl.Series) -> IntArray:
    """The place of every entry in `values`, -1 where it is not there."""
    if column.dtype.is_numeric():  # a release writes decimals that are all whole as whole numbers
        column, values = column.cast(pl.Float64), values.cast(pl.Float64)
    known = pl.DataFrame({"value": values.cast(column.dtype), "rank": np.arange(len(values))})
    found = (
        column.rename("value")
        .to_frame()
        .join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    )
    return found["rank"].fill_null(-1).to_numpy()
