"""Groups that withstand an adversary who weighs all releases together: measured, mended, measured again.

The memory keeps a trail of everyone, see `republish.inference.joint.trail`. Before a release goes out the joint
inference goes on from the releases before it to the release to be. Where that takes somebody beyond the limit, in this
or in an earlier release, it is nearly always the doing of one group, and all others stay as they are: the group is
joined with a neighbour, and where that does not help the people who gave most away are left out of it, at first the
person alone, then more and more, in the end the whole view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.grouping import SUPPRESSED, Grouping
from republish.inference import Thoughts
from republish.inference.joint.messages import Sighting
from republish.inference.joint.trail import numbered, trail, trail_codes
from republish.inference.joint.withstand import Judgement, Without, judged, sighting, with_changes, without_it
from republish.memory.memory import Memory
from republish.microdata import Microdata

JOINED, LEFT, WHOLE = 1, 12, 3
"""How often groups are joined with a neighbour, then people left out, and then whole groups."""
MOST = 16
"""So many people at most are left out at once because of somebody who is not in the view."""


class Mending(NamedTuple):
    """How the groups of a view are made: cut, joined with neighbours where it may be, and after people are left out."""

    cut: Callable[[], Grouping]
    join: Callable[[Grouping, IntArray], Grouping]
    leave_out: Callable[[Grouping, IntArray], Grouping]


def withstanding(
    view: Microdata,
    memory: Memory,
    thoughts: Thoughts,
    limit: float,
    method: str,
    mending: Mending,
    event_lists: bool = False,
) -> Grouping:
    """The groups of a view that take nobody beyond the limit who is not beyond it with everybody left out.

    With `event_lists` she knows whose value changed since the last view.
    """
    before = trail(memory, thoughts.revision)
    person, people = numbered(thoughts.now.people, memory)
    empty = sighting(person, thoughts.now.classes, thoughts.revision, person * 0 - 1, person[:0], person[:0])
    if event_lists:
        *before, empty = with_changes([*before, empty], [*trail_codes(memory), view.codes], people)
    alone = without_it(before, empty, people, method)
    grouping = mending.cut()
    for turn in range(JOINED + LEFT + WHOLE):
        shown = grouping.group != SUPPRESSED
        group = grouping.group.astype(np.int64)
        codes = view.codes[shown].astype(np.int64)
        now = sighting(person, thoughts.now.classes, thoughts.revision, group, group[shown], codes)
        now = now._replace(changed=empty.changed)
        found = judged(before, now, people, limit, method, alone)
        if not any(one.any() for one in found.blamed):
            return grouping
        causes = influences([*before, now], found, alone, people)
        causes[:, ~shown] = 0.0
        grouping = _mended(grouping, mending, causes, turn)
    return Grouping(np.full(view.rows, SUPPRESSED, dtype=np.int32))


def _mended(grouping: Grouping, mending: Mending, causes: FloatArray, turn: int) -> Grouping:
    """The groups after one more turn of mending; `causes` [person blamed, row] as `influences` has them."""
    of_group = np.zeros((len(causes), grouping.groups + 1))
    np.add.at(of_group.T, grouping.group, causes.T)
    at_fault = of_group[:, :-1].argmax(axis=1)
    if turn < JOINED:
        return mending.join(grouping, np.unique(at_fault))
    if turn >= JOINED + LEFT:
        return mending.leave_out(grouping, np.flatnonzero(np.isin(grouping.group, at_fault)))
    own = np.isinf(causes).any(axis=1)
    left_out = np.flatnonzero(np.isinf(causes).any(axis=0))
    often, again = divmod(turn - JOINED, 2)
    if again:
        left_out = np.append(left_out, _foremost(causes[~own], min(4**often, MOST)))
    else:
        grouping = mending.join(grouping, np.unique(at_fault[~own]))
    return mending.leave_out(grouping, left_out)


def influences(sightings: Sequence[Sighting], found: Judgement, alone: Without, people: int) -> FloatArray:
    """How much everyone in the last release [person blamed, row] has to do with straying too far about somebody.

    Whoever is in the release has most to do with it. Of the others who were in a group with the person blamed, in some
    release, those have whose beliefs moved the other way: values that they do not have are left to the person. Where
    there is nobody like that, all whose beliefs moved at all.
    """
    last = sightings[-1].person
    blamed = np.zeros(people, np.bool_)
    for one, beyond in zip(sightings, found.blamed, strict=True):
        blamed[one.person[beyond]] = True
    number = np.where(blamed, np.cumsum(blamed) - 1, -1)
    place = np.full(people, -1)
    place[last] = np.arange(len(last))
    score = np.zeros((int(blamed.sum()), len(last)))
    moved_at_all = np.zeros(people)
    for one, then, now in zip(sightings[:-1], alone.beliefs, found.beliefs, strict=False):
        person, moved = one.person[one.row], (now - then)[one.row]
        moved_at_all += np.bincount(person, np.abs(moved).sum(axis=1), people)
        mine, other = _companions(one, number[person] >= 0)
        against = -np.einsum("ij,ij->i", moved[mine], moved[other])
        there = (against > 0) & (place[person[other]] >= 0)
        np.add.at(score, (number[person[mine[there]]], place[person[other[there]]]), against[there])
    nobody = score.max(axis=1, initial=0.0) <= 0
    score[nobody] = moved_at_all[last] + np.finfo(float).tiny
    own = blamed[last]
    score[number[last[own]], np.flatnonzero(own)] = np.inf
    return score


def _companions(one: Sighting, chosen: BoolArray) -> tuple[IntArray, IntArray]:
    """Pairs of a chosen member and another one of its group."""
    sizes = np.diff(one.groups.member_start)
    group = np.repeat(np.arange(one.groups.total), sizes)
    members = np.flatnonzero(chosen)
    size = sizes[group[members]]
    mine = np.repeat(members, size)
    step = np.arange(len(mine)) - np.repeat(np.cumsum(size) - size, size)
    other = one.groups.member_start[group[mine]] + step
    apart = mine != other
    return mine[apart], other[apart]


def _foremost(causes: FloatArray, most: int) -> IntArray:
    """The `most` rows that have most to do with each person blamed."""
    first = np.argsort(-causes, axis=1, kind="stable")[:, :most]
    found: IntArray = np.unique(first[np.take_along_axis(causes, first, axis=1) > 0])
    return found
