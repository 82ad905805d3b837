"""How far a series, all releases weighed together, leads an adversary away from what each group shows.

A group shows each of its members the shares of its values. What she believes of a member in the end may be anything;
the Jensen-Shannon divergence of the two, in bits, is how far she strays: 0 where the group is all she learns, 1 where
it says nothing to her. A release is blamed for those whom it takes beyond a limit, in itself or in an earlier
release. With event lists she knows of everyone whether the value changed since the last view.

It is not blamed where she would be beyond it, or less than `NUDGE` closer, with everybody left out of the
release: what earlier releases gave away, and what is told by who is in the view, cannot be taken back. Of a value in
the release itself that counts for who has event lists alone: she foresees most of the values that did not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.inference._kernels.chains import CHANGED, STAYED, UNTOLD
from republish.inference.compromise import groups_of
from republish.inference.groups import Groups
from republish.inference.joint._sightings import Sighting, looping
from republish.inference.joint.talk import Talk
from republish.inference.revision import Revision

ROUNDS, MORE = 10, 4
"""How often people and groups tell each other without the release, and how often more with it."""
NUDGE = 0.02
"""By so many bits may a release push somebody over the limit who is close to it without the release."""


class Without(NamedTuple):
    """A view with everybody left out: the talk before its last rounds, what is believed then, how far she strays."""

    talk: Talk
    beliefs: tuple[FloatArray, ...]
    strays: Sequence[FloatArray]


class Judgement(NamedTuple):
    """Whom a release takes beyond the limit, in which release, the new one last; rows as in the sightings.

    `beyond_help` counts those in earlier releases who are beyond it anyway, `worst` is the farthest of the others,
    `beliefs` is what she believes of everyone.
    """

    blamed: tuple[BoolArray, ...]
    beyond_help: int
    worst: float
    beliefs: tuple[FloatArray, ...]


def sighting(
    person: IntArray,
    classes: IntArray,
    revision: Revision,
    group: IntArray,
    row_group: IntArray,
    row_code: IntArray,
) -> Sighting:
    """A release by the group of everyone in it, -1 where left out, and group and code of every published row."""
    groups, order = Groups.of(group, row_group, row_code)
    return Sighting(person, classes, revision, groups, order)


def with_changes(sightings: Sequence[Sighting], codes: Sequence[IntArray], people: int) -> list[Sighting]:
    """The same releases to somebody who knows whose value changed since the last view; `codes` are true codes."""
    last = np.full(people, UNTOLD)
    found = []
    for one, code in zip(sightings, codes, strict=True):
        before = last[one.person]
        differs = np.where(code != before, CHANGED, STAYED)
        found.append(one._replace(changed=np.where(before < 0, UNTOLD, differs).astype(np.int8)))
        last[one.person] = code
    return found


def nobody_shown(one: Sighting) -> Sighting:
    """The same view with everybody left out."""
    nothing = np.zeros(0, dtype=np.int64)
    return one._replace(
        groups=Groups(np.zeros(1, np.int64), np.zeros(1, np.int64), nothing, nothing), row=nothing
    )


def without_it(before: Sequence[Sighting], now: Sighting, people: int, method: str = "exact") -> Without:
    """What she believes with everybody left out of the new release."""
    sightings = [*before, nobody_shown(now)]
    looped = looping(sightings, people)
    talk = Talk(sightings, people, method, looped)
    talk.rounds(ROUNDS if _linked(sightings) else 0)
    return Without(talk, *_went_on(talk, sightings, looped))


def judged(
    before: Sequence[Sighting],
    now: Sighting,
    people: int,
    limit: float,
    method: str = "exact",
    without: Without | None = None,
    slack: float = 0.0,
) -> Judgement:
    """Whom a release `now`, after the releases `before`, takes beyond the limit.

    `without` is what `without_it` finds, for who judges several versions of one release. With `slack` nobody is blamed
    whom so small an error of the measurement may put there.
    """
    if without is None:
        without = without_it(before, now, people, method)
    sightings = [*before, now]
    beliefs, found = _went_on(without.talk, sightings, looping(sightings, people))
    foreseen = np.zeros(len(now.person)) if now.changed is None else strays(now, without.beliefs[-1])
    base = [*without.strays[: len(before)], foreseen]
    blamed = [
        (one > limit + slack) & (alone <= limit - slack) & (one > alone + NUDGE + slack)
        for one, alone in zip(found, base, strict=True)
    ]
    open_ = [one[alone <= limit] for one, alone in zip(found, base, strict=True)]
    return Judgement(
        tuple(blamed),
        sum(int((alone > limit).sum()) for alone in base[:-1]),
        max((float(one.max(initial=0.0)) for one in open_), default=0.0),
        beliefs,
    )


def _linked(sightings: Sequence[Sighting]) -> bool:
    return any(one.revision.knowledge.order for one in sightings)


def _went_on(
    talk: Talk, sightings: Sequence[Sighting], looped: Sequence[BoolArray]
) -> tuple[tuple[FloatArray, ...], list[FloatArray]]:
    """What is believed when people and groups talk on about the last of these releases, and how far she strays."""
    went = talk.with_last(sightings[-1], looped)
    went.rounds(MORE if _linked(sightings) else 0)
    beliefs = tuple(one.p for one in went.posteriors())
    return beliefs, [strays(one, p) for one, p in zip(sightings, beliefs, strict=True)]


def strays(one: Sighting, p: FloatArray) -> FloatArray:
    """How far beliefs about everyone in a release are from what the groups show, in bits; 0 for who is in no group."""
    shown = np.zeros((one.groups.total, p.shape[1]))
    of_value = np.repeat(np.arange(one.groups.total), np.diff(one.groups.value_start))
    np.add.at(shown, (of_value, one.groups.value_code), one.groups.value_count)
    shown /= np.maximum(shown.sum(axis=1, keepdims=True), 1.0)
    share, mine = shown[groups_of(one.groups, np.arange(len(one.row)))], p[one.row]
    found = np.zeros(len(one.person))
    found[one.row] = _entropy((share + mine) / 2) - (_entropy(share) + _entropy(mine)) / 2
    return found


def _entropy(p: FloatArray) -> FloatArray:
    """The entropy of every row, in bits."""
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    found: FloatArray = -(p * logs).sum(axis=-1)
    return found
