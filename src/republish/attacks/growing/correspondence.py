"""Which rows of a release may be which rows of the next, by cells and counts alone.

The rows of one value in one group are a *bundle*: nothing tells them apart. Whoever stays with an unchanged value is
in a bundle of that value in each of her groups. Where data only grow between two releases, every row goes on: into a
bundle of its value whose cell has something in common with its own. Fung, Wang, Fu and Pei (EDBT 2008) call cells
comparable that do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.excluding.candidates import lifespans
from republish.attacks.history import History
from republish.attacks.matching.coordinates import CommonCoordinates
from republish.attacks.matching.sightings import MatchedView, require_everyone
from republish.kernels import kernel
from republish.release.two_tables import TwoTableRelease


class Passage(NamedTuple):
    """Where rows of a release may go in the next, in which data only grow.

    Bundle `first` + u goes on in bundles `second` + `to[e]`, e from `start[u]` to `start[u + 1]`; `source[e]` is u.
    `supply` and `room` are the rows of the bundles of both releases.
    """

    first: int
    second: int
    start: IntArray
    source: IntArray
    to: IntArray
    supply: IntArray
    room: IntArray


@dataclass(frozen=True)
class Correspondence:
    """Everyone's appearances in order, and what they have in common with the next.

    `order` are the appearances by life; `goes_on[n]` says that order[n] and order[n + 1] are of one life, `newcomer[n]`
    that order[n] begins one in a release since whose predecessor data only grew. `passages[i]` leads from release i to
    the next, `None` where data did not only grow.
    """

    history: History
    order: IntArray
    goes_on: BoolArray
    newcomer: BoolArray
    passages: tuple[Passage | None, ...]

    @classmethod
    def of(cls, history: History, sightings: Sequence[MatchedView]) -> Correspondence:
        """What can be compared in a series; of value-blind batches by whom they count."""
        require_everyone(history, sightings)
        seen = history if history.snapshots is None else history.snapshots
        seen = seen if history.events is not None else replace(seen, events=None)
        life = lifespans(seen).of_appearance
        order = np.lexsort((seen.release, life))
        goes_on = np.append(np.diff(life[order]) == 0, False)[: len(order)]
        stays = np.zeros(len(order), dtype=np.bool_)
        stays[order] = goes_on
        grows = [_only_grows(seen, stays, sightings, i) for i in range(seen.releases - 1)]
        common = CommonCoordinates.of(sightings)
        passages = tuple(
            _passage(seen, common, sightings, i) if grown else None for i, grown in enumerate(grows)
        )
        release = seen.release[order]
        begins = np.append(True, ~goes_on[:-1])[: len(order)]
        after_growth = np.append(False, grows)[release] if grows else np.zeros(len(order), np.bool_)
        return cls(seen, order, goes_on, begins & after_growth, passages)

    @property
    def group(self) -> IntArray:
        """The group of every appearance in order."""
        return self.history.group[self.order]

    @property
    def least(self) -> int:
        """Rows of the smallest group that has members."""
        peopled = np.diff(self.history.member_start) > 0
        return int(self.history.sizes[peopled].min()) if peopled.any() else 0

    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """The pairs of groups that somebody is in one after the other, and the pair of every appearance, or -1."""
        group, groups = self.group, self.history.groups + 1
        at = np.flatnonzero(self.goes_on)
        found, place = np.unique(group[at] * groups + group[at + 1], return_inverse=True)
        pair = np.full(len(group), -1, dtype=np.int64)
        pair[at] = place
        return found // groups, found % groups, pair


def shared(history: History, first: IntArray, second: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The bundles of values that both groups of a pair hold: where those of each pair begin, and both bundles."""
    start, one, other = _shared(history.value_start, history.value_code, first, second)
    return start, one, other


def _only_grows(history: History, stays: BoolArray, sightings: Sequence[MatchedView], i: int) -> bool:
    """Whether everyone in release i is in the next as she was, in one table without rows that are nobody's."""
    releases = [sighting.release for sighting in sightings[i : i + 2]]
    begin, end = history.group_start[i : i + 2]
    if any(isinstance(release, TwoTableRelease) for release in releases) or history.nobodys[begin:end].any():
        return False
    here = history.release == i
    if not stays[here].all():
        return False
    common = CommonCoordinates.of(sightings)
    before, after = (_points_by_person(common, sighting, history.people) for sighting in sightings[i : i + 2])
    person = history.person[here]
    return bool((before[:, person] == after[:, person]).all())


def _points_by_person(common: CommonCoordinates, sighting: MatchedView, people: int) -> FloatArray:
    points = common.points(sighting)
    found = np.zeros((len(points), people))
    known = sighting.person >= 0
    found[:, sighting.person[known]] = points[:, known]
    return found


def _passage(
    history: History, common: CommonCoordinates, sightings: Sequence[MatchedView], i: int
) -> Passage:
    begin, middle, end = history.group_start[i : i + 3].tolist()
    cells = [common.cells(sighting) for sighting in sightings[i : i + 2]]
    masks = np.zeros((len(common.labels), common.words), dtype=np.uint64)
    for a, own in enumerate(common.labels):
        for bit in range(int(common.first[a]), int(common.first[a + 1]) if own else 0):
            masks[a, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    first, second = _comparable(*cells[0], *cells[1], common.labelled, masks)
    bundles = history.value_start
    _, one, other = shared(history, first + begin, second + middle)
    order = np.argsort(one, kind="stable")
    source, to = one[order] - bundles[begin], other[order] - bundles[middle]
    supply = history.value_count[bundles[begin] : bundles[middle]].astype(np.int64)
    room = history.value_count[bundles[middle] : bundles[end]].astype(np.int64)
    start = np.append(0, np.cumsum(np.bincount(source, minlength=len(supply)))).astype(np.int64)
    return Passage(int(bundles[begin]), int(bundles[middle]), start, source, to, supply, room)


@kernel
def _meet(low, high, labels, g, lows, highs, tags, h, labelled, masks):  # type: ignore[no-untyped-def]
    """Whether cell g of one release and cell h of another have a point in common."""
    for a in range(low.shape[1]):
        if labelled[a] < 0:
            if low[g, a] > highs[h, a] or lows[h, a] > high[g, a]:
                return False
            continue
        some = False
        for word in range(labels.shape[1]):
            if labels[g, word] & tags[h, word] & masks[a, word]:
                some = True
        if not some:
            return False
    return True


@kernel
def _comparable(low, high, labels, lows, highs, tags, labelled, masks):  # type: ignore[no-untyped-def]
    """All pairs of cells of two releases that have a point in common."""
    count = 0
    for g in range(len(low)):
        for h in range(len(lows)):
            if _meet(low, high, labels, g, lows, highs, tags, h, labelled, masks):
                count += 1
    first, second = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for g in range(len(low)):
        for h in range(len(lows)):
            if _meet(low, high, labels, g, lows, highs, tags, h, labelled, masks):
                first[count], second[count] = g, h
                count += 1
    return first, second


@kernel
def _shared(value_start, value_code, first, second):  # type: ignore[no-untyped-def]
    """For every pair of groups the bundles of values that both hold."""
    start = np.zeros(len(first) + 1, np.int64)
    for fill in range(2):
        if fill == 0:
            one, other = np.empty(0, np.int64), np.empty(0, np.int64)
        else:
            one, other = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
        count = 0
        for p in range(len(first)):
            u, v = value_start[first[p]], value_start[second[p]]
            while u < value_start[first[p] + 1] and v < value_start[second[p] + 1]:
                if value_code[u] == value_code[v]:
                    if fill:
                        one[count], other[count] = u, v
                    count += 1
                    u, v = u + 1, v + 1
                elif value_code[u] < value_code[v]:
                    u += 1
                else:
                    v += 1
            start[p + 1] = count
    return start, one, other
