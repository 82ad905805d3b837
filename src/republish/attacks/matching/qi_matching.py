"""The adversary who does not know who is in which group: she matches quasi-identifiers.

She knows everybody's quasi-identifiers and who is in which release, from event lists and because she is granted who was
left out. In each release a person may be in every group whose cells hold her quasi-identifiers, and in two tables in
every batch that a line of such a group names. Her value is then one that these batches publish, and over a life one
that they publish each time.

Her confidence takes every published row that fits a person as equally likely to be hers, in two tables every line that
fits and names a batch, and every value of that batch as equally likely its own; and the releases of a life as
independent of each other: the share of a value among the fitting rows, multiplied over the releases and normalised.
Neither is true of a real series (the same rows come back), so it is an estimate; the candidates are certain. She does
not reason about who else must fill a group.

A person she knows and who fits a single group, which in two tables names a single batch, is known to hold one of its
rows, which is taken away. Of one who fits several it is not known where her row is, and nothing is taken away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.attacks.excluding.candidates import Unknowns, lives, only
from republish.attacks.history import History
from republish.attacks.matching.fitting import fitting, sole_groups
from republish.attacks.matching.sightings import MatchedView, NamedBatches, require_views, units_of
from republish.attacks.results import Findings
from republish.errors import PolicyError
from republish.kernels import kernel
from republish.release.release import Release

_BLOCK = 1 << 23  # weights of lives and values that are in memory at a time


def matched(history: History, sightings: Sequence[MatchedView], known: BoolArray | None = None) -> Findings:
    """What remains of every life to an adversary who matches quasi-identifiers and knows the `known` people.

    Raises:
        PolicyError: somebody fits no group of a release, so that the views are not those it was made from.
    """
    unknowns = lives(history)
    known = np.zeros(history.people, dtype=np.bool_) if known is None else known
    require_views(sightings, history.releases)
    parts = [_Part.of(history, i, sighting, known) for i, sighting in enumerate(sightings)]
    sets = _every_value(unknowns.count, history.values)
    true, likeliest = np.empty(unknowns.count), np.empty(unknowns.count)
    step = max(1, _BLOCK // max(history.values, 1))
    for first in range(0, unknowns.count, step):
        some = slice(first, min(first + step, unknowns.count))
        weight = np.zeros((some.stop - first, history.values))
        for part in parts:
            part.weigh(unknowns, some, sets, weight)
        true[some], likeliest[some] = _probabilities(weight, unknowns.truth[some])
    theirs = np.flatnonzero(known[unknowns.person] & (unknowns.truth >= 0))
    only(sets, theirs, unknowns.truth[theirs])
    true[theirs] = likeliest[theirs] = 1.0
    return Findings(unknowns, sets, true, likeliest)


class _Rows(NamedTuple):
    """What the rows weigh that fit a group of people, value by value."""

    start: IntArray
    code: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class _Part:
    """One release: whose appearances are where, and the rows of its groups that known people do not hold."""

    number: int
    first: int
    person: IntArray
    points: FloatArray
    people: Release
    spared: BoolArray
    rows: _Rows

    @classmethod
    def of(cls, history: History, i: int, sighting: MatchedView, known: BoolArray) -> _Part:
        first, last = np.searchsorted(history.release, [i, i + 1]).tolist()
        person = history.person[first:last]
        place = np.full(history.people, -1, dtype=np.int64)
        seen = np.flatnonzero(sighting.person >= 0)
        place[sighting.person[seen]] = seen
        missing = int(np.count_nonzero(place[person] < 0))
        batches = sighting.release.values.group_count
        if missing or batches != history.group_start[i + 1] - history.group_start[i]:
            raise PolicyError(
                f"release {i + 1}: matching needs the release and the raw view it was made from; {missing} of "
                f"{len(person)} published people are not in the view given"
            )
        points, spared = sighting.points[:, place[person]], known[person]
        counts = _Counts.of(history, i)
        units = units_of(sighting.release, history.sizes[history.group_start[i] : history.group_start[i + 1]])
        if spared.any() and history.truth is not None:
            theirs = np.flatnonzero(spared)
            sole = sole_groups(*fitting(sighting.release.people, points[:, theirs]))
            _take_away(sole, history.truth[first:last][theirs], units, *counts)
        rows = _weights(units, counts, history.values)
        return cls(i + 1, first, person, points, sighting.release.people, spared, rows)

    def weigh(self, unknowns: Unknowns, some: slice, sets: WordArray, weight: FloatArray) -> None:
        """Narrow and weigh the lives numbered `some` by the groups that fit them in this release."""
        unknown = unknowns.of_appearance[self.first : self.first + len(self.person)]
        here = np.flatnonzero((unknown >= some.start) & (unknown < some.stop) & ~self.spared)
        fits = fitting(self.people, self.points[:, here])
        lost = _weigh(fits, unknown[here] - some.start, self.rows, sets[some], weight)
        if lost:
            raise PolicyError(
                f"release {self.number}: everyone in a release must fit one of its groups; {lost} of {len(here)} "
                "people fit none. Give the views that these releases were made from"
            )


class _Counts(NamedTuple):
    """How often each value occurs in the batches of a release."""

    start: IntArray
    code: IntArray
    times: IntArray

    @classmethod
    def of(cls, history: History, i: int) -> _Counts:
        start = history.value_start[history.group_start[i] : history.group_start[i + 1] + 1]
        rows = slice(int(start[0]), int(start[-1]))
        return cls(start - start[0], history.value_code[rows], history.value_count[rows].astype(np.int64))


def _weights(units: NamedBatches, counts: _Counts, values: int) -> _Rows:
    """What each group of people says of values: those of a batch, as often as its lines name the batch."""
    batch_of = np.repeat(np.arange(len(counts.start) - 1), np.diff(counts.start))
    size = np.bincount(batch_of, weights=counts.times, minlength=len(counts.start) - 1)
    each = np.diff(counts.start)[units.batch]
    unit = np.repeat(np.arange(len(units.batch)), each)
    at = np.arange(len(unit)) - np.repeat(np.cumsum(each) - each, each) + counts.start[units.batch[unit]]
    share = units.lines[unit] * counts.times[at] / np.maximum(size[units.batch[unit]], 1)
    group = np.repeat(np.arange(len(units.start) - 1), np.diff(units.start))[unit]
    key, place = np.unique(group * max(values, 1) + counts.code[at], return_inverse=True)
    weight: FloatArray = np.bincount(place, weights=share, minlength=len(key)).astype(np.float64)
    held = weight > 0
    key, weight = key[held], weight[held]
    start = np.append(0, np.cumsum(np.bincount(key // max(values, 1), minlength=len(units.start) - 1)))
    return _Rows(start, key % max(values, 1), weight)


def _every_value(unknowns: int, values: int) -> WordArray:
    """Sets that exclude nothing."""
    sets = np.zeros((unknowns, max(1, -(-values // 64))), dtype=np.uint64)
    for code in range(values):
        sets[:, code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    return sets


def _probabilities(weight: FloatArray, truth: IntArray) -> tuple[FloatArray, FloatArray]:
    """Of weights in powers of 2: the probability of every true value, and of the likeliest."""
    if not weight.size:
        return np.zeros(len(weight)), np.zeros(len(weight))
    top = weight.max(axis=1, keepdims=True)
    share = np.exp2(weight - np.where(np.isfinite(top), top, 0.0))
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    likeliest = share.max(axis=1)
    own = share[np.arange(len(share)), np.maximum(truth, 0)]
    return np.where(truth >= 0, own, likeliest), likeliest


@kernel
def _take_away(group, code, units, start, codes, count):  # type: ignore[no-untyped-def]
    """Take one row of a code from each group of a single batch, and one of its lines, in place."""
    for i in range(len(group)):
        if group[i] >= 0 and units.start[group[i] + 1] - units.start[group[i]] == 1:
            u = units.start[group[i]]
            for j in range(start[units.batch[u]], start[units.batch[u] + 1]):
                if codes[j] == code[i] and count[j] > 0:
                    count[j] -= 1
                    units.lines[u] -= 1


@kernel
def _weigh(fits, unknown, rows, sets, weight):  # type: ignore[no-untyped-def]
    """Narrow `sets` and add to `weight`, in place; how many people fit no row."""
    people, values = len(unknown), weight.shape[1]
    # How the fitting rows change from one point to the next; decimals do not add up to 0 again, so groups are counted.
    step, groups = np.zeros((people + 1, values)), np.zeros((people + 1, values), np.int64)
    for r in range(len(fits.group)):
        g = fits.group[r]
        for j in range(rows.start[g], rows.start[g + 1]):
            step[fits.start[r], rows.code[j]] += rows.weight[j]
            step[fits.end[r], rows.code[j]] -= rows.weight[j]
            groups[fits.start[r], rows.code[j]] += 1
            groups[fits.end[r], rows.code[j]] -= 1
    fit, held = np.zeros(values), np.zeros(values, np.int64)
    lost = 0
    for i in range(people):
        total = 0.0
        for s in range(values):
            held[s] += groups[i, s]
            fit[s] = fit[s] + step[i, s] if held[s] > 0 else 0.0
            total += fit[s]
        u = unknown[fits.order[i]]
        if total == 0.0:
            lost += 1
            continue
        for s in range(values):
            if held[s] > 0:
                weight[u, s] += math.log2(fit[s] / total)
            else:
                weight[u, s] = -np.inf
                sets[u, s >> 6] &= ~(np.uint64(1) << np.uint64(s & 63))
    return lost
