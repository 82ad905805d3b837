"""Mutual information kept: how much of what a quasi-identifier says of the sensitive value a release still says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.metrics.boxes import is_discrete
from republish.metrics.queries import Workload, _ranked_values, estimated_counts, true_counts
from republish.microdata import Microdata
from republish.release.two_tables import AnyRelease

_BINS = 5
_VALUES = 10


def mutual_information(table: FloatArray) -> float:
    """The mutual information of the rows and columns of a table of counts, in nats."""
    total = table.sum()
    if total <= 0:
        return 0.0
    joint = table / total
    even = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    held = joint > 0
    return float(max((joint[held] * np.log(joint[held] / even[held])).sum(), 0.0))


def information_kept(release: AnyRelease, view: Microdata) -> float | None:
    """The mutual information of a quasi-identifier and the sensitive value in an even-spread table, as a share.

    The quasi-identifier is the one that says most of the value in the view, in bins of equal width (categories in runs
    of neighbours), at most 5; values in at most 10 runs. None where no quasi-identifier says anything of the value.
    """
    grids = value_grids(view)
    true = [true_counts(view, asked) for asked in grids]
    return share_kept(grids, true, lambda a: estimated_counts(release, grids[a]))


def value_grids(view: Microdata) -> list[Workload]:
    """Of every quasi-identifier all bins with all runs of values; they come from the domains alone."""
    return [_grid(view, a) for a in range(len(view.axes))]


def share_kept(
    grids: Sequence[Workload], true: Sequence[IntArray], estimated: Callable[[int], FloatArray]
) -> float | None:
    """What is kept of the information of the grid that says most, from its true and its estimated counts."""
    said = [mutual_information(_table(*each)) for each in zip(grids, true, strict=True)]
    if max(said, default=0.0) <= 1e-9:
        return None
    best = said.index(max(said))
    return mutual_information(_table(grids[best], estimated(best))) / said[best]


def _table(grid: Workload, counts: IntArray | FloatArray) -> FloatArray:
    return counts.astype(np.float64).reshape(-1, len(np.unique(grid.value_low)))


def _grid(view: Microdata, a: int) -> Workload:
    """Every bin of an axis with every run of values, one query each."""
    axis = view.axes[a]
    lows, highs = _runs(axis.low, axis.high, is_discrete(axis), _BINS)
    values = _ranked_values(view)
    value_lows, value_highs = _runs(0.0, float(max(len(values) - 1, 0)), True, _VALUES)
    bins, runs = len(lows), len(value_lows)
    low = np.full((bins * runs, len(view.axes)), -np.inf)
    high = np.full_like(low, np.inf)
    low[:, a], high[:, a] = np.repeat(lows, runs), np.repeat(highs, runs)
    return Workload(view.axes, low, high, values, np.tile(value_lows, bins), np.tile(value_highs, bins))


def _runs(low: float, high: float, discrete: bool, most: int) -> tuple[FloatArray, FloatArray]:
    """A domain cut into parts of the same width, at most `most`."""
    if discrete:
        count = min(most, int(high - low) + 1)
        edges = low + np.floor(np.arange(count + 1) * (high - low + 1) / count)
        return edges[:-1], edges[1:] - 1
    edges = np.linspace(low, high, most + 1)
    tops = np.append(np.nextafter(edges[1:-1], -np.inf), high)
    return edges[:-1], tops
