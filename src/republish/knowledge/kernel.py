"""A prior for every person by kernel regression over the quasi-identifiers, as in (B,t)-privacy.

Nadaraya-Watson: the shares of the sensitive values in a corpus, every row weighted by how near its
quasi-identifiers are. The weight is a product of one Epanechnikov kernel a quasi-identifier,
1 - (x/B)^2 for a distance x below the bandwidth B (its factor 3/(4B) is the same for all rows and drops
out). Distances: |a - b| / width of the domain for numbers, dates and ordered values; height of the common
ancestor / height of the hierarchy; 0 or 1 for other categories. A missing value is at distance 1 from any
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError
from republish.kernels import kernel
from republish.microdata import INTERVAL, MISSING, TREE, Axis, Microdata

_STRANGE = np.inf  # a label the corpus does not have: at distance 1 from everything


class _Held(NamedTuple):
    """The values of every tuple: `code[c]` occurs `times[c]` times for c from `starts[j]` to `starts[j + 1]`."""

    starts: IntArray
    code: IntArray
    times: FloatArray


def kernel_prior(
    corpus: Microdata, at: Microdata | FloatArray, bandwidth: float | Sequence[float]
) -> FloatArray:
    """The prior of every row of `at` over the values of the corpus: rows x values.

    Args:
        corpus: The view whose rows are weighted.
        at: The people asked for, as a view of the same schema or as coordinates of the corpus, `[q, row]`.
        bandwidth: B, above 0: one for all quasi-identifiers or one for each.

    Who has nobody within the bandwidth gets the shares of the whole corpus; an empty corpus gives equal
    shares. The time grows with (distinct rows of `corpus`) x (distinct rows of `at`).
    """
    points = _in_axes_of(corpus, at) if isinstance(at, Microdata) else np.asarray(at, dtype=np.float64)
    axes = len(corpus.axes)
    if points.ndim != 2 or len(points) != axes:
        raise PolicyError(f"points must have one row of coordinates for each of {axes} quasi-identifiers")
    given = np.asarray(bandwidth, dtype=np.float64)
    bands = np.full(axes, given) if given.ndim == 0 else given
    if bands.shape != (axes,) or not (bands > 0).all():
        raise PolicyError(
            "the bandwidth of a kernel must be above 0, one number or one for each quasi-identifier"
        )
    m = len(corpus.values)
    places, of_row = _distinct(points)
    sources, source = _distinct(corpus.points)
    # Most tuples bear few of the values: those that each bears, and how often, from `starts[j]` on.
    borne, counts = np.unique(source * m + corpus.codes, return_counts=True)
    starts = np.searchsorted(borne, np.arange(sources.shape[1] + 1) * m)
    held = _Held(starts, borne % m, counts.astype(np.float64))
    shares = np.bincount(corpus.codes, minlength=m) / max(1, corpus.rows)
    overall = shares if corpus.rows else np.full(m, 1 / m)
    kinds = np.array([axis.kind_code for axis in corpus.axes], dtype=np.int64)
    widths = corpus.widths
    prior = _regression(
        places.T.copy(), sources.T.copy(), held, kinds, widths, bands, _levels(corpus.axes), overall
    )
    rows: FloatArray = prior[of_row]
    return rows


def _in_axes_of(corpus: Microdata, view: Microdata) -> FloatArray:
    """The coordinates of a view as the corpus counts them: labels may stand in other positions there."""
    names = [axis.column.name for axis in view.axes]
    if names != [axis.column.name for axis in corpus.axes]:
        raise PolicyError("the corpus must have the quasi-identifiers of the view, in their order")
    points = view.points.copy()
    for row, mine, theirs in zip(points, view.axes, corpus.axes, strict=True):
        if mine.labels != theirs.labels:
            position = {label: float(place) for place, label in enumerate(theirs.labels)}
            place = np.array([*(position.get(label, _STRANGE) for label in mine.labels), MISSING])
            row[:] = place[np.where(row == MISSING, len(mine.labels), row).astype(np.int64)]
    return points


def _distinct(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """The different columns of `points`, and which of them each column is."""
    rows = points.shape[1]
    order = np.lexsort(points)
    ordered = points[:, order]
    starts = np.ones(rows, dtype=np.bool_)
    starts[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    which = np.empty(rows, dtype=np.int64)
    which[order] = np.cumsum(starts) - 1
    return ordered[:, starts], which


def _levels(axes: Sequence[Axis]) -> IntArray:
    """`[axis, leaf, level]`: where the ancestor of a leaf ends; -1 beyond the leaves and levels of an axis."""
    ends = [axis.hierarchy.end if axis.hierarchy else np.empty((0, 0), np.int64) for axis in axes]
    shape = (
        len(axes),
        max((e.shape[0] for e in ends), default=0),
        max((e.shape[1] for e in ends), default=0),
    )
    levels = np.full(shape, -1, dtype=np.int64)
    for q, end in enumerate(ends):
        levels[q, : end.shape[0], : end.shape[1]] = end
    return levels


@kernel
def _distance(a, b, kind, width, levels):  # type: ignore[no-untyped-def]
    """How far two coordinates of one quasi-identifier are apart."""
    if a == b:
        return 0.0
    if np.isinf(a) or np.isinf(b):
        return 1.0
    if kind == INTERVAL:
        return abs(a - b) / width if width > 0 else 1.0
    if kind != TREE:
        return 1.0
    low, high = int(min(a, b)), int(max(a, b))
    level = 0
    while levels[low, level] <= high:
        level += 1
    height = 0
    while height + 1 < levels.shape[1] and levels[low, height + 1] >= 0:
        height += 1
    return level / height


@kernel
def _regression(places, sources, held, kinds, widths, bands, levels, overall):  # type: ignore[no-untyped-def]
    """For every place the weighted counts of all sources, as shares; `overall` where all weights are zero."""
    m = len(overall)
    prior = np.zeros((len(places), m))
    for i in range(len(places)):
        total = 0.0
        for j in range(len(sources)):
            weight = 1.0
            for q in range(len(kinds)):
                x = _distance(places[i, q], sources[j, q], kinds[q], widths[q], levels[q]) / bands[q]
                if x >= 1.0:
                    weight = 0.0
                    break
                weight *= 1.0 - x * x
            if weight > 0.0:
                for c in range(held.starts[j], held.starts[j + 1]):
                    prior[i, held.code[c]] += weight * held.times[c]
        for s in range(m):
            total += prior[i, s]
        for s in range(m):
            prior[i, s] = prior[i, s] / total if total > 0.0 else overall[s]
    return prior
