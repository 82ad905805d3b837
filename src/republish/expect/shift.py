"""How much of a column moved to other values: of labels each counts, of numbers and dates bins of them do.

A small drift can carry many rows over the edge of a bin at once. So they are counted twice, with the edges of one
count in the middle of the other's bins, and the smaller figure holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from republish.arrays import FloatArray
from republish.expect.margins import ColumnMargin, Counted

_DECADE = 10.0
"""Bins of dates: visits of this week, this year and the next are no others than those of the last view."""


def shift(now: ColumnMargin, then: ColumnMargin) -> float | None:
    """The share of rows that moved to other values, beyond chance; nothing where either margin does not tell."""
    if now.labels is not None and then.labels is not None:
        names = sorted({*now.labels, *then.labels})
        return _moved([[one.get(name, 0) for name in names] for one in (now.labels, then.labels)])
    for each, last, width in (
        (now.dates, then.dates, _DECADE),
        (now.numbers, then.numbers, _width(then.quartiles)),
    ):
        if each is not None and last is not None:
            return min(_moved(_binned(each, last, width, edge)) for edge in (0.0, 0.5))
    return None


def _width(quartiles: FloatArray | None) -> float:
    """A quarter of the middle half, but no less than what is kept of a number tells: an eighth of it."""
    if quartiles is None:
        return 0.0
    low, median, high = quartiles
    return float(max((high - low) / 4, abs(median) / 8))


def _binned(now: Counted, last: Counted, width: float, edge: float) -> list[FloatArray]:
    """The rows of both in each bin; where most numbers are 0, bins are below it, at it and above."""
    places = [np.floor(values / width + edge) if width else np.sign(values) for values, _ in (now, last)]
    names, codes = np.unique(np.concatenate(places), return_inverse=True)
    each = codes[: len(places[0])], codes[len(places[0]) :]
    return [
        np.bincount(code, rows, len(names)).astype(np.float64)
        for code, (_, rows) in zip(each, (now, last), strict=True)
    ]


def _moved(rows: Sequence[Sequence[float] | FloatArray]) -> float:
    """The total variation between two columns, less what two draws of one distribution show on average."""
    counts = np.array(rows, dtype=np.float64)
    total = counts.sum(axis=1, keepdims=True)
    shares, pooled = counts / total, counts.sum(axis=0) / total.sum()
    chance = 0.5 * np.sqrt(2 / np.pi * pooled * (1 - pooled) * (1 / total).sum()).sum()
    return max(0.0, float(0.5 * np.abs(shares[0] - shares[1]).sum() - chance))
