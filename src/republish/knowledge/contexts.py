"""Tables of how values follow each other, as arrays: back-off, truncation, averages.

A table has the shape [class, older, last, next]. `older` numbers the values before the last one, oldest
first, to the base m + 1, where the digit m is "no value": the person had not been seen yet. A row, over
`next`, is a distribution, or all zero where the context was never seen.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray

_REACHED = 1e-100


def normalised(counts: FloatArray) -> FloatArray:
    """Every row divided by its sum; rows of zeros stay."""
    total = counts.sum(axis=-1, keepdims=True)
    rows: FloatArray = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    return rows


def average(table: FloatArray) -> FloatArray:
    """The average over the first axis of the rows that were seen; zero where none was."""
    seen = (table > 0).any(axis=-1).sum(axis=0)
    mean: FloatArray = table.sum(axis=0) / np.maximum(seen, 1)[..., np.newaxis]
    return mean


def impossible(m: int, order: int) -> BoolArray:
    """Which numbers of `older` name no context: after a value comes "no value" in them."""
    digits = np.indices([m + 1] * (order - 1)).reshape(order - 1, -1)
    gaps: BoolArray = ((digits[:-1] < m) & (digits[1:] == m)).any(axis=0)
    return gaps


def split_oldest(table: FloatArray) -> FloatArray:
    """The same table as [class, oldest, other older ones, last, next]."""
    classes, older, m, _ = table.shape
    return table.reshape(classes, m + 1, older // (m + 1), m, m)


def shorter(table: FloatArray) -> FloatArray:
    """The table of contexts without their oldest value.

    It is the row with "no value" in its place where that was seen, else the average of the rows that were
    seen with any value there, each counting the same.
    """
    split = split_oldest(table)
    m = table.shape[-1]
    start = split[:, m]
    seen = (start > 0).any(axis=-1, keepdims=True)
    return np.where(seen, start, average(np.moveaxis(split[:, :m], 1, 0)))


def completed(table: FloatArray, prior: FloatArray, terminal: BoolArray) -> FloatArray:
    """The table with unseen contexts filled from shorter ones, in the end from the prior.

    Rows that were unseen after a terminal last value stay zero.
    """
    if table.shape[1] == 1:
        back = np.where(terminal[:, np.newaxis], 0.0, prior[:, np.newaxis, np.newaxis, :])
    else:
        back = completed(shorter(table), prior, terminal)[:, np.newaxis]
        table = split_oldest(table)
    seen = (table > 0).any(axis=-1, keepdims=True)
    filled = np.where(seen, table, back)
    classes, *_, m, _ = filled.shape
    return filled.reshape(classes, -1, m, m)


def expected_contexts(table: FloatArray, prior: FloatArray, appearances: int) -> FloatArray:
    """How often a person is in each context [class, older, last], expected over so many appearances.

    The first value comes from the prior, the others from the table; where a row is zero the person's
    sequence ends.
    """
    classes, older, m, _ = table.shape
    now = np.zeros((classes, older, m))
    now[:, older - 1] = prior  # the last number to that base: "no value" everywhere
    total = np.zeros_like(now)
    for _ in range(appearances - 1):  # after the last appearance nothing follows
        total += now
        flow = np.einsum("cxyl,cxyln->cyln", now.reshape(classes, m + 1, -1, m), split_oldest(table))
        now = np.zeros((classes, older // (m + 1), m + 1, m))
        now[:, :, :m] = flow
        now = now.reshape(classes, older, m)
    return total


def truncated(table: FloatArray, full: FloatArray, prior: FloatArray, d: int, appearances: int) -> FloatArray:
    """The table over the last d values: older ones averaged out, weighted as `expected_contexts` says.

    `full` is the table as sequences are expected to follow it. Contexts that are never expected are shortened as
    for back-off.
    """
    classes, _, m, _ = table.shape
    keep = (m + 1) ** (d - 1)
    weight = expected_contexts(full, prior, appearances).reshape(classes, -1, keep, m)
    mass = np.einsum("cxyl,cxyln->cyln", weight, full.reshape(classes, -1, keep, m, m))
    reached = mass.sum(axis=-1, keepdims=True) > _REACHED
    while table.shape[1] > keep:
        table = shorter(table)
    return np.where(reached, normalised(mass), table)
