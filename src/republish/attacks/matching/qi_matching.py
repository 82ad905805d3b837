"""The adversary who does not know who is in which group: she matches quasi-identifiers.

She knows everybody's quasi-identifiers and who is in which release, from event lists and because she is granted who
was left out. In each release a person may be in every group whose cells hold her quasi-identifiers. Her value is then
one that these groups publish, and over a life one that they publish each time.

Her confidence takes every published row that fits a person as equally likely to be hers, and the releases of a life
as independent of each other: the share of a value among the fitting rows, multiplied over the releases and
normalised. Neither is true of a real series (the same rows come back), so it is an estimate; the candidates are
certain. She does not reason about who else must fill a group.

A person she knows and who fits a single group is known to hold one of its rows, which is taken away. Of one who fits
several groups it is not known where her row is, and nothing is taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.attacks.excluding.candidates import Unknowns, lives, only
from republish.attacks.history import History
from republish.attacks.results import Findings
from republish.attacks.source import Source
from republish.errors import PolicyError
from republish.kernels import kernel
from republish.metrics.boxes import Boxes, aligned, cell_boxes
from republish.metrics.tuples import room, tree_of, walk
from republish.microdata import Microdata, read_view
from republish.release.cells import SOME_MISSING
from republish.release.release import Release
from republish.secret import pseudonym_texts

_BLOCK = 1 << 23  # weights of lives and values that are in memory at a time


@dataclass(frozen=True)
class MatchedView:
    """One release and the quasi-identifiers of everyone in its view: number in the history, and coordinates.

    `points[axis, i]` are those of `person[i]`, as the cells of the release have them.
    """

    release: Release
    person: IntArray
    points: FloatArray

    @classmethod
    def of(cls, release: Release, view: Microdata, person: IntArray) -> MatchedView:
        return cls(release, person, aligned(view, release).points)


class Fits(NamedTuple):
    """Which groups hold which points: group `group[r]` (0, 1, ...) holds the points `order[start[r]:end[r]]`."""

    order: IntArray
    group: IntArray
    start: IntArray
    end: IntArray


def sightings_of(series: Source, history: History, views: Sequence[Any] | None) -> tuple[MatchedView, ...]:
    """What a published series and its raw views, one a release, let her match.

    Raises:
        PolicyError: there are no raw views, or not one for each release.
    """
    _require_views(views, history.releases)
    assert views is not None
    assert history.names is not None
    index = history.names.to_frame("person").with_row_index("index")
    secret, schema = series.secret(), series.schema
    found = []
    for number, view in enumerate(views, start=1):
        raw = read_view(view, schema, series.values_at(number)).pseudonymous(secret)
        assert raw.people is not None
        names = pseudonym_texts(raw.people).to_frame("person")
        place = names.join(index, on="person", how="left", maintain_order="left")["index"]
        person = place.cast(pl.Int64).fill_null(-1).to_numpy()  # -1 for whom the series has forgotten
        found.append(MatchedView.of(series.release(number).people, raw, person))
    return tuple(found)


def _require_views(views: Sequence[Any] | None, releases: int) -> None:
    if views is None:
        raise PolicyError(
            "matching needs everybody's quasi-identifiers, and a series keeps none; give the raw views (--truth DIR)"
        )
    if len(views) != releases:
        raise PolicyError(
            f"matching needs one raw view a release; there are {len(views)} for {releases} releases"
        )


def matched(history: History, sightings: Sequence[MatchedView], known: BoolArray | None = None) -> Findings:
    """What remains of every life to an adversary who matches quasi-identifiers and knows the `known` people.

    Raises:
        PolicyError: somebody fits no group of a release, so that the views are not those it was made from.
    """
    unknowns = lives(history)
    known = np.zeros(history.people, dtype=np.bool_) if known is None else known
    _require_views(sightings, history.releases)
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


@dataclass(frozen=True)
class _Part:
    """One release: whose appearances are where, and the rows of its groups that known people do not hold."""

    number: int
    first: int
    person: IntArray
    points: FloatArray
    release: Release
    spared: BoolArray
    value_start: IntArray
    value_code: IntArray
    value_count: IntArray

    @classmethod
    def of(cls, history: History, i: int, sighting: MatchedView, known: BoolArray) -> _Part:
        first, last = np.searchsorted(history.release, [i, i + 1]).tolist()
        person = history.person[first:last]
        place = np.full(history.people, -1, dtype=np.int64)
        seen = np.flatnonzero(sighting.person >= 0)
        place[sighting.person[seen]] = seen
        missing = int(np.count_nonzero(place[person] < 0))
        if missing or sighting.release.group_count != history.group_start[i + 1] - history.group_start[i]:
            raise PolicyError(
                f"release {i + 1}: matching needs the release and the raw view it was made from; {missing} of "
                f"{len(person)} published people are not in the view given"
            )
        start = history.value_start[history.group_start[i] : history.group_start[i + 1] + 1]
        rows = slice(int(start[0]), int(start[-1]))
        spared = known[person]
        part = cls(
            i + 1,
            first,
            person,
            sighting.points[:, place[person]],
            sighting.release,
            spared,
            start - start[0],
            history.value_code[rows],
            history.value_count[rows].astype(np.int64),
        )
        if spared.any() and history.truth is not None:
            part._take_away(history.truth[first:last])
        return part

    def _take_away(self, truth: IntArray) -> None:
        """Take away the rows of known people who fit one group only."""
        theirs = np.flatnonzero(self.spared)
        fits = fitting(self.release, self.points[:, theirs])
        sole = _sole_groups(*fits)
        _reduce(sole, truth[theirs], self.value_start, self.value_code, self.value_count)

    def weigh(self, unknowns: Unknowns, some: slice, sets: WordArray, weight: FloatArray) -> None:
        """Narrow and weigh the lives numbered `some` by the groups that fit them in this release."""
        unknown = unknowns.of_appearance[self.first : self.first + len(self.person)]
        here = np.flatnonzero((unknown >= some.start) & (unknown < some.stop) & ~self.spared)
        fits = fitting(self.release, self.points[:, here])
        lost = _weigh(
            fits,
            unknown[here] - some.start,
            self.value_start,
            self.value_code,
            self.value_count,
            sets[some],
            weight,
        )
        if lost:
            raise PolicyError(
                f"release {self.number}: everyone in a release must fit one of its groups; {lost} of {len(here)} "
                "people fit none. Give the views that these releases were made from"
            )


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


def fitting(release: Release, points: FloatArray) -> Fits:
    """The groups whose cells hold each of the points `points[axis, i]`.

    In a release of nested regions a point belongs to the innermost one around it. A cell `*` does not say where its
    region ends: such a group stays possible, and rules out those around it only where it holds the point for certain.
    """
    boxes = cell_boxes(release)
    ones = np.ones(points.shape[1], dtype=np.int64)  # equal points are told apart
    order, nodes = tree_of(np.ascontiguousarray(points.T, dtype=np.float64), ones)
    if not len(order) or not release.group_count:
        none = np.zeros(0, dtype=np.int64)
        return Fits(order, none, none, none)
    found = _ranges(nodes, boxes)
    if release.level is not None:
        certain = _ranges(nodes, _certain(release, boxes))
        found = _innermost(found, certain, release.level.astype(np.int64), len(order))
    return Fits(order, *found)


def _certain(release: Release, boxes: Boxes) -> Boxes:
    """What lies in a region whatever its cells `*` stand for: there, the missing value alone."""
    high = boxes.high.copy()
    for a, cells in enumerate(release.cells):
        high[(cells.missing == SOME_MISSING) & np.isneginf(boxes.low[:, a]), a] = -np.inf
    return boxes._replace(high=high)


@kernel
def _ranges(nodes, boxes):  # type: ignore[no-untyped-def]
    """The points in every box, as ranges of the tree's order: box, first point, one past the last."""
    size, made = 1024, 0
    box_of, start, end = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    stack, found = room(nodes)
    for box in range(len(boxes.low)):
        for held in found[: walk(nodes, boxes, box, stack, found)]:
            first = held if held >= 0 else nodes.start[-1 - held]
            last = held + 1 if held >= 0 else nodes.end[-1 - held]
            if made > 0 and box_of[made - 1] == box and end[made - 1] == first:
                end[made - 1] = last
            elif last > first:
                if made == size:
                    box_of, start, end = doubled(box_of), doubled(start), doubled(end)
                    size *= 2
                box_of[made], start[made], end[made] = box, first, last
                made += 1
    return box_of[:made].copy(), start[:made].copy(), end[:made].copy()


@kernel
def doubled(items):  # type: ignore[no-untyped-def]
    """The items in an array with room for as many more."""
    more = np.empty(2 * len(items), items.dtype)
    more[: len(items)] = items
    return more


@kernel
def _innermost(found, certain, level, points):  # type: ignore[no-untyped-def]
    """The ranges of `found`, point by point, without groups around one that holds the point for certain."""
    deepest = np.full(points, -1, np.int64)
    group, start, end = certain
    for r in range(len(group)):
        for i in range(start[r], end[r]):
            deepest[i] = max(deepest[i], level[group[r]])
    group, start, end = found
    kept = 0
    for r in range(len(group)):
        for i in range(start[r], end[r]):
            kept += level[group[r]] >= deepest[i]
    of, at = np.empty(kept, np.int64), np.empty(kept, np.int64)
    kept = 0
    for r in range(len(group)):
        for i in range(start[r], end[r]):
            if level[group[r]] >= deepest[i]:
                of[kept], at[kept] = group[r], i
                kept += 1
    return of, at, at + 1


@kernel
def _sole_groups(order, group, start, end):  # type: ignore[no-untyped-def]
    """The one group that holds each point, -1 where none or several do."""
    count, total = np.zeros(len(order) + 1, np.int64), np.zeros(len(order) + 1, np.int64)
    for r in range(len(group)):
        count[start[r]] += 1
        count[end[r]] -= 1
        total[start[r]] += group[r]
        total[end[r]] -= group[r]
    sole = np.full(len(order), -1, np.int64)
    many, which = 0, 0
    for i in range(len(order)):
        many += count[i]
        which += total[i]
        if many == 1:
            sole[order[i]] = which
    return sole


@kernel
def _reduce(group, code, value_start, value_code, value_count):  # type: ignore[no-untyped-def]
    """Take one row of a code from each group, in place."""
    for i in range(len(group)):
        if group[i] >= 0:
            for j in range(value_start[group[i]], value_start[group[i] + 1]):
                if value_code[j] == code[i] and value_count[j] > 0:
                    value_count[j] -= 1


@kernel
def _weigh(fits, unknown, value_start, value_code, value_count, sets, weight):  # type: ignore[no-untyped-def]
    """Narrow `sets` and add to `weight`, in place; how many people fit no row."""
    people, values = len(unknown), weight.shape[1]
    step = np.zeros((people + 1, values), np.int64)  # how the fitting rows change from one point to the next
    for r in range(len(fits.group)):
        g = fits.group[r]
        for j in range(value_start[g], value_start[g + 1]):
            step[fits.start[r], value_code[j]] += value_count[j]
            step[fits.end[r], value_code[j]] -= value_count[j]
    rows = np.zeros(values, np.int64)
    lost = 0
    for i in range(people):
        total = 0
        for s in range(values):
            rows[s] += step[i, s]
            total += rows[s]
        u = unknown[fits.order[i]]
        if total == 0:
            lost += 1
            continue
        for s in range(values):
            if rows[s] > 0:
                weight[u, s] += np.log2(rows[s] / total)
            else:
                weight[u, s] = -np.inf
                sets[u, s >> 6] &= ~(np.uint64(1) << np.uint64(s & 63))
    return lost
