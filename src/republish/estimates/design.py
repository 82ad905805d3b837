"""The columns of a regression: what a cell says of them on average, and how far its people may lie apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray
from republish.errors import PolicyError
from republish.estimates.bins import cell_shares, density_of
from republish.metrics.boxes import is_discrete, real_rows
from republish.microdata import INTERVAL, Microdata
from republish.queries.columns import Columns
from republish.queries.spans import between
from republish.release.cells import Cells
from republish.sources.values import as_text

_MOST_LABELS = 30


class Part(NamedTuple):
    """What one column of the table adds to the design: for every cell, or every row where it is published as it is.

    `mean[cell, column]`, and `inside[cell, column, column]`, the covariance of the people of a cell, evenly spread.
    Cells that say nothing are not `known`.
    """

    names: tuple[str, ...]
    mean: FloatArray
    inside: FloatArray
    known: BoolArray
    by_row: bool = False


def part_of(columns: Columns, name: str) -> Part:
    """The design of one column."""
    people = columns.release.people
    axes = {cells.axis.column.name: cells for cells in people.cells}
    if name not in axes:
        return _of_values(people.rest[name])
    cells = axes[name]
    if cells.axis.kind_code == INTERVAL:
        return _of_numbers(cells, density_of(columns, cells))
    return _of_labels(columns, cells)


def points_of(
    view: Microdata, names: tuple[str, ...], columns: Columns
) -> tuple[tuple[str, ...], FloatArray, BoolArray]:
    """The same design for the rows of a raw view in the coordinates of the release, and which of them are complete."""
    axes = {axis.column.name: a for a, axis in enumerate(view.axes)}
    labels: list[str] = []
    found, complete = [], np.ones(view.rows, dtype=np.bool_)
    for name in names:
        part = part_of(columns, name)
        labels += part.names
        if name not in axes:
            own = _of_values(view.insensitive[name])
            found.append(own.mean)
            complete &= own.known
            continue
        points = view.points[axes[name]]
        complete &= np.isfinite(points)
        if view.axes[axes[name]].kind_code == INTERVAL:
            found.append(points[:, None])
        else:
            at = [view.axes[axes[name]].labels.index(label[len(name) + 1 : -1]) for label in part.names]
            found.append((points[:, None] == np.array(at)).astype(np.float64))
    return tuple(labels), np.column_stack(found), complete


def _of_numbers(cells: Cells, known: tuple[int, FloatArray] | None) -> Part:
    said = cells.said
    low, high = np.where(said, cells.low, 0.0), np.where(said, cells.high, 0.0)
    if known is None:
        width = high - low
        mean, inside = (
            (low + high) / 2,
            ((width + 1) ** 2 - 1) / 12 if is_discrete(cells.axis) else width**2 / 12,
        )
    else:
        mean, inside = _moments_of(*known, low, high, said)
    return Part((cells.axis.column.name,), mean[:, None], inside[:, None, None], said)


def _moments_of(
    lowest: int, weight: FloatArray, low: FloatArray, high: FloatArray, said: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """The mean and the variance of the places of every cell, by their weights."""
    places = np.arange(len(weight), dtype=np.float64)
    first = np.where(said, low - lowest, 0.0).astype(np.int64)
    last = np.where(said, high - lowest, 0.0).astype(np.int64) + 1
    total, sums, squares = (
        np.append(0.0, np.cumsum(weight * places**power))[last]
        - np.append(0.0, np.cumsum(weight * places**power))[first]
        for power in (0, 1, 2)
    )
    mean = sums / total
    return mean + lowest, np.maximum(squares / total - mean**2, 0.0)


def _of_labels(columns: Columns, cells: Cells) -> Part:
    """A column for every label that occurs but the first."""
    name, labels = cells.axis.column.name, cells.axis.labels
    shares = cell_shares(cells, [between(at, at) for at in range(len(labels))], density_of(columns, cells))
    weight = real_rows(columns.release.people) * cells.said
    held = [at for at in range(len(labels)) if weight @ shares[:, at] > 0]
    return _indicators(name, [labels[at] for at in held], shares[:, held], cells.said)


def _of_values(values: pl.Series) -> Part:
    """A column that is published as it is: a number, or a column for every value but the first."""
    known = values.is_not_null().to_numpy()
    if values.dtype.is_numeric():
        mean = values.cast(pl.Float64).fill_null(0.0).to_numpy()[:, None]
        return Part((values.name,), mean, np.zeros((len(mean), 1, 1)), known, by_row=True)
    texts = as_text(values)
    labels = texts.drop_nulls().unique().sort().to_list()
    shares = np.column_stack([(texts == label).fill_null(False).to_numpy() for label in labels] or [known])
    return _indicators(values.name, labels, shares.astype(np.float64), known)._replace(by_row=True)


def _indicators(name: str, labels: list[str], shares: FloatArray, known: BoolArray) -> Part:
    if len(labels) > _MOST_LABELS:
        raise PolicyError(
            f"column {name} has {len(labels)} values, and a regression takes at most {_MOST_LABELS} of one column; "
            "leave it out"
        )
    mean = shares[:, 1:]
    inside = np.einsum("ij,jk->ijk", mean, np.eye(mean.shape[1])) - mean[:, :, None] * mean[:, None, :]
    return Part(tuple(f"{name}[{label}]" for label in labels[1:]), mean, inside, known)
