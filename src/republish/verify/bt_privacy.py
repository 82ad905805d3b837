"""Whether a release of a view satisfies (B,t)-privacy, recomputed while the view is at hand; imports no publisher.

Raw quasi-identifiers are not stored, so that nobody can recompute this later. Everything is formed anew with
plain numpy, by other code than publishers use: the priors, the posteriors, and how far they are apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.microdata import INTERVAL, TREE, Axis, Microdata
from republish.requirements import BTPrivacy
from republish.verify.check import Check

_CELLS = 1 << 21  # how many numbers a block of work holds


def checks_of_beliefs(required: BTPrivacy | None, view: Microdata, group: IntArray) -> tuple[Check, ...]:
    """The check of (B,t)-privacy where it is promised; group 0 is left out."""
    return () if required is None else (check_bt(required, view, group),)


def check_bt(required: BTPrivacy, view: Microdata, group: IntArray) -> Check:
    """Whether every group, numbered from 1 (0 is left out), satisfies the requirement."""
    apart = distances(required, view, group)
    broken = ~required.holds(apart) & (group > 0)
    return Check(
        required.text,
        not broken.any(),
        required.describe(),
        float(apart.max(initial=0.0)),
        len(np.unique(group[broken])),
        int(broken.sum()),
    )


def distances(required: BTPrivacy, view: Microdata, group: IntArray) -> FloatArray:
    """How far beliefs before and after the release are apart for every row, in bits; 0 for who is left out."""
    tuples, place = np.unique(view.points, axis=1, return_inverse=True)
    prior, place = priors(required.b, view, tuples), place.ravel()
    smoothing = required.smoothing(view.whole)
    found = np.zeros(view.rows)
    for rows, starts in _blocks(group, len(view.values)):
        before = prior[place[rows]]
        sizes = np.diff(np.append(starts, len(rows)))
        of_row = np.repeat(np.arange(len(starts)), sizes)
        counts = np.zeros((len(starts), before.shape[1]))
        np.add.at(counts, (of_row, view.codes[rows]), 1.0)
        expected = np.add.reduceat(before, starts, axis=0)
        # Everyone has a share in the own prior, so that whatever is shown was expected.
        often = np.divide(counts, expected, out=np.zeros_like(counts), where=counts > 0)
        after = before * often[of_row]
        after /= after.sum(axis=1, keepdims=True)
        found[rows] = _divergence(_smoothed(before, smoothing), _smoothed(after, smoothing))
    return found


def _blocks(group: IntArray, values: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows sorted by group, whole groups at a time, and where the groups begin among them."""
    rows = np.argsort(group, kind="stable")
    rows = rows[np.searchsorted(group[rows], 1) :]
    starts = np.flatnonzero(np.diff(group[rows], prepend=0))
    first = 0
    while first < len(starts):
        begin = starts[first]
        last = max(first + 1, int(np.searchsorted(starts, begin + _CELLS // values, "right")) - 1)
        last = len(starts) if len(rows) - begin <= _CELLS // values else last
        end = starts[last] if last < len(starts) else len(rows)
        yield rows[begin:end], starts[first:last] - begin
        first = last


def priors(b: float, view: Microdata, tuples: FloatArray) -> FloatArray:
    """The shares of the values among all rows, weighted by their nearness to each tuple."""
    places, place = np.unique(view.points, axis=1, return_inverse=True)
    counts = np.zeros((places.shape[1], len(view.values)))
    np.add.at(counts, (place.ravel(), view.codes), 1.0)
    found = np.empty((tuples.shape[1], len(view.values)))
    step = max(1, _CELLS // max(1, places.shape[1]))
    for first in range(0, tuples.shape[1], step):
        part = tuples[:, first : first + step]
        weight = np.ones((part.shape[1], places.shape[1]))
        for axis, here, there in zip(view.axes, part, places, strict=True):
            weight *= np.maximum(0.0, 1.0 - (_apart(axis, here, there) / b) ** 2)
        weighted = weight @ counts
        found[first : first + step] = weighted / weighted.sum(axis=1, keepdims=True)
    return found


def _apart(axis: Axis, here: FloatArray, there: FloatArray) -> FloatArray:
    """How far every coordinate of `here` (row) is from every one of `there` (column)."""
    equal = here[:, None] == there
    if axis.kind_code == INTERVAL and axis.width > 0:
        with np.errstate(invalid="ignore"):
            distance = np.abs(here[:, None] - there) / axis.width
    elif axis.kind_code == TREE and axis.hierarchy is not None:
        start = axis.hierarchy.start
        paths = [start[np.maximum(leaf, 0).astype(np.int64)] for leaf in (here, there)]
        distance = np.zeros(equal.shape)
        for mine, theirs in zip(*(path.T for path in paths), strict=True):
            distance += mine[:, None] != theirs
        distance /= max(1, start.shape[1] - 1)
    else:
        distance = np.ones(equal.shape)
    strange = np.isinf(here)[:, None] | np.isinf(there)
    return np.where(equal, 0.0, np.where(strange, 1.0, distance))


def _smoothed(p: FloatArray, smoothing: FloatArray) -> FloatArray:
    if not len(smoothing):
        return p
    smooth = p @ smoothing.T
    smooth /= smooth.sum(axis=1, keepdims=True)
    return np.asarray(smooth)


def _divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """The Jensen-Shannon divergence of every row, in bits, as the entropy of the mean above the mean entropy."""
    found: FloatArray = _entropy((p + q) / 2) - (_entropy(p) + _entropy(q)) / 2
    return np.maximum(found, 0.0)


def _entropy(p: FloatArray) -> FloatArray:
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    found: FloatArray = -(p * logs).sum(axis=-1)
    return found
