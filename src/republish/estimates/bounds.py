"""Bounds of the coefficients of a regression that hold whoever of a batch has which of its values.

A coefficient of least squares is a sum over people of z times the value, where z follows from the columns of all people
alone. Inside a batch the values are known and whose they are is not: the sum is largest where people with a large z
have the large values, and smallest where they have the small ones (the rearrangement inequality). Values that belong to
nobody have z = 0. Inside a cell columns vary too; by the inequality of Cauchy and Schwarz that adds at most the
standard deviations of z in cells times those of values in batches.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.estimates.observations import Observations, ScoredValues


def coefficient_bounds(
    rows: Observations, scored: ScoredValues, bread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The least and the largest value of every coefficient; `bread` is the inverse of the sums of squares."""
    batches = int(max(rows.batch.max(initial=0), scored.batch.max(initial=0))) + 1
    kept = np.isfinite(scored.score)
    people = np.bincount(rows.batch, minlength=batches)
    values = np.bincount(scored.batch[kept], minlength=batches)
    mean, variance = scored.moments(batches)
    both, every = np.maximum(people, values), np.arange(batches)
    batch = np.concatenate([rows.batch, np.repeat(every, both - people)])
    # People whom a batch counts no value for have that of its mean: they are few.
    fill = np.repeat(np.nan_to_num(mean), both - values)
    at = np.concatenate([scored.batch[kept], np.repeat(every, both - values)])
    score = np.concatenate([scored.score[kept], fill])
    rising = score[np.lexsort((score, at))]
    spread = np.sqrt(np.nan_to_num(variance)[rows.batch])
    low, high = np.empty(len(bread)), np.empty(len(bread))
    nobody = np.zeros(int((both - people).sum()))
    for j, row in enumerate(bread):
        z = np.concatenate([rows.weight * (rows.mean @ row), nobody])
        within = np.sqrt(np.maximum(np.einsum("k,ikl,l->i", row, rows.inside, row), 0.0))
        more = float((rows.weight * within * spread).sum())
        high[j] = _ordered(z, batch) @ rising + more
        low[j] = -_ordered(-z, batch) @ rising - more
    return low, high


def _ordered(z: FloatArray, batch: IntArray) -> FloatArray:
    """Rising inside every batch."""
    return z[np.lexsort((z, batch))]
