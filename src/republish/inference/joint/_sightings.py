"""A release as an adversary sees it, what its groups make of what is expected, and how releases hang together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int8Array, IntArray
from republish.inference._kernels.sinkhorn import scale_groups
from republish.inference._kernels.support import confine
from republish.inference.compromise import Compromised, cascaded, groups_of
from republish.inference.groups import Groups
from republish.inference.posterior import Posteriors, group_posteriors
from republish.inference.revision import Revision
from republish.kernels import threads

_CLOSE, _STEPS = 1e-6, 6
"""Groups are scaled until their counts are met so closely, at most so many times a visit: there are more visits."""
_FEW = 8


class Sighting(NamedTuple):
    """One release as she sees it: everyone in the view by number, their classes, and the groups.

    Members of the groups are numbered as in `row`, which says where each is among the people; whoever is in no group
    was left out. `told` is what she knows of single people, by their place, `changed` whether the value of everyone
    differs from that of the appearance before (`UNTOLD`, `STAYED`, `CHANGED`), `None` where she has no event lists.
    """

    person: IntArray
    classes: IntArray
    revision: Revision
    groups: Groups
    row: IntArray
    told: Compromised | None = None
    changed: Int8Array | None = None


def looping(sightings: Sequence[Sighting], people: int) -> list[BoolArray]:
    """Which groups hang together with a loop of people and groups, release by release."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    person = [one.person[one.row] for one in sightings]
    first = np.cumsum([people, *(one.groups.total for one in sightings)])
    group = [
        groups_of(one.groups, np.arange(len(one.row))) + start
        for one, start in zip(sightings, first, strict=False)
    ]
    nodes, who, where = int(first[-1]), np.concatenate(person), np.concatenate(group)
    links = coo_array((np.ones(len(who), np.int8), (who, where)), shape=(nodes, nodes))
    count, part = connected_components(links, directed=False)
    edges = np.bincount(part[who], minlength=count)
    looped = np.asarray(edges >= np.bincount(part, minlength=count))
    return [looped[part[a:b]] for a, b in pairwise(first)]


class Scaling(NamedTuple):
    """Which groups of a release are scaled, and by how much every value that a group shows was scaled so far."""

    looped: BoolArray
    factor: FloatArray

    @classmethod
    def of(cls, one: Sighting, looped: BoolArray) -> Scaling:
        return cls(looped, np.ones(len(one.groups.value_code)))


def inferred(one: Sighting, expected: FloatArray, method: str, scaling: Scaling | None = None) -> Posteriors:
    """The posteriors of one release; whoever is in no group keeps what is expected, with what she was told.

    Groups that are looped are scaled, a little further every time.
    """
    p, sure = expected.copy(), None
    if one.told is not None:
        p = cascaded(expected, one.told)
        place = np.full(len(expected), -1)
        place[one.row] = np.arange(len(one.row))
        sure = one.told.certain()
        there = place[sure.row] >= 0
        sure = Compromised(place[sure.row[there]], sure.code[there], sure.p[there])
    members = p[one.row]
    _confined(members, one.groups)
    if scaling is None or not scaling.looped.any():
        found = group_posteriors(members, one.groups, method, sure)
        p[one.row] = found.p
        return Posteriors(p, found.used, found.fallbacks, found.unsettled)
    fallbacks = _scaled(members, one.groups, scaling)
    if not scaling.looped.all():
        some, which = _some(one.groups, ~scaling.looped)
        within = None
        if sure is not None:
            place = np.full(len(members), -1)
            place[which] = np.arange(len(which))
            there = place[sure.row] >= 0
            within = Compromised(place[sure.row[there]], sure.code[there], sure.p[there])
        members[which] = group_posteriors(members[which], some, method, within).p
    p[one.row] = members
    return Posteriors(p, {}, fallbacks)


def _confined(members: FloatArray, groups: Groups) -> None:
    """Set to 0 what no way to hand out the values of a group gives its members."""

    def work(some: IntArray) -> None:
        bounds = slice(some[0], some[-1] + 2)
        confine(members, groups.member_start[bounds], groups.value_start[bounds], *groups[2:])

    in_threads(work, np.arange(groups.total))


def _scaled(members: FloatArray, groups: Groups, scaling: Scaling) -> int:
    """Scale what is expected of the members of looped groups; how many fell back to shares."""
    chosen, fell = np.flatnonzero(scaling.looped), np.zeros(len(members), np.bool_)

    def work(some: IntArray) -> None:
        scale_groups(members, *groups, some, scaling.factor, _CLOSE, _STEPS, fell)

    in_threads(work, chosen)
    return int(fell.sum())


def in_threads(work: Callable[[IntArray], None], chosen: IntArray) -> None:
    """Do what is to be done with the chosen rows or groups, on as many threads as numba may use."""
    workers = threads()
    if workers < 2 or len(chosen) < _FEW:
        if len(chosen):
            work(chosen)
        return
    list(_pool(workers, os.getpid()).map(work, np.array_split(chosen, workers)))


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """Threads that wait for work: there is a little of it thousands of times. A forked process needs its own."""
    return ThreadPoolExecutor(workers)


def _some(groups: Groups, chosen: BoolArray) -> tuple[Groups, IntArray]:
    """Some of the groups, and which members are in them."""
    members, values = np.diff(groups.member_start), np.diff(groups.value_start)
    shown = np.repeat(chosen, values)
    return Groups(
        np.append(0, np.cumsum(members[chosen])),
        np.append(0, np.cumsum(values[chosen])),
        groups.value_code[shown],
        groups.value_count[shown],
    ), np.flatnonzero(np.repeat(chosen, members))


def cuts(one: Sighting, p: FloatArray, expected: FloatArray) -> BoolArray:
    """Of whom the knowledge rules out what is believed now."""
    cut = np.asarray(((p > 0) & (expected <= 0)).any(axis=1))
    strange = cut.copy()
    if one.told is not None:
        strange[one.told.row] = False
    group = groups_of(one.groups, np.arange(len(one.row)))
    fallen = np.zeros(one.groups.total, np.bool_)
    fallen[group[strange[one.row]]] = True
    cut[one.row] |= fallen[group]
    return cut
