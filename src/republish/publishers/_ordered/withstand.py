"""Groups that withstand an adversary who weighs all releases together: measured, widened, measured again.

The memory keeps a trail of everyone, see `republish.inference.joint.trail`. Before a release goes out the joint
inference is run over all of them and the release to be. Where it takes somebody beyond the limit, in this or in
an earlier release, the people of the group in question count half towards the crowd that a group must be, and the
view is cut again. What is not met by that is left out, in the end the whole view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from republish.arrays import BoolArray, FloatArray
from republish.grouping import SUPPRESSED, Grouping
from republish.inference import Thoughts
from republish.inference.compromise import groups_of
from republish.inference.joint.messages import Sighting
from republish.inference.joint.trail import numbered, trail, trail_codes
from republish.inference.joint.withstand import Judgement, judged, sighting, with_changes, without_it
from republish.memory.memory import Memory
from republish.microdata import Microdata

WIDENED, LEFT = 4, 5
"""How often a view is cut again with wider groups, and then without those whom that does not help."""
Cut = Callable[[FloatArray, BoolArray], Grouping]


def withstanding(
    view: Microdata,
    memory: Memory,
    thoughts: Thoughts,
    limit: float,
    method: str,
    cut: Cut,
    event_lists: bool = False,
) -> Grouping:
    """The groups of a view that take nobody beyond the limit who is not beyond it with everybody left out.

    `cut(weight, without)` cuts the view with people that count for so much and without some of them. With `event_lists`
    she knows whose value changed since the last view.
    """
    before = trail(memory, thoughts.revision)
    person, people = numbered(thoughts.now.people, memory)
    changed = None
    if event_lists:
        now = sighting(
            person, thoughts.now.classes, thoughts.revision, person * 0 - 1, person[:0], person[:0]
        )
        *before, now = with_changes([*before, now], [*trail_codes(memory), view.codes], people)
        changed = now.changed
    weight, without = np.ones(view.rows), np.zeros(view.rows, np.bool_)

    def seen(grouping: Grouping) -> Sighting:
        shown = grouping.group != SUPPRESSED
        group = grouping.group.astype(np.int64)
        codes = view.codes[shown].astype(np.int64)
        made = sighting(person, thoughts.now.classes, thoughts.revision, group, group[shown], codes)
        return made._replace(changed=changed)

    nothing = Grouping(np.full(view.rows, SUPPRESSED, dtype=np.int32))
    alone = without_it(before, seen(nothing), people, method)
    for turn in range(WIDENED + LEFT):
        grouping = cut(weight, without)
        now = seen(grouping)
        found = judged(before, now, people, limit, method, alone)
        if not any(one.any() for one in found.blamed):
            return grouping
        left = turn - WIDENED
        causes = _causes([*before, now], found, people, left)
        if left < 0:
            weight[_groups_of(causes, grouping)] /= 4 if event_lists else 2
        else:
            without |= causes
    return nothing


def _causes(sightings: Sequence[Sighting], found: Judgement, people: int, left: int) -> BoolArray:
    """Who in the last release makes her stray too far about somebody, as far as one can say.

    It is the person, or whoever was then in the same group with somebody who is gone. Where it did not help that
    these were `left` out once, also whoever was then in the same group with the others; twice, whoever ever was.
    Where nobody of them is there, everybody is.
    """
    now = sightings[-1].person
    place = np.full(people, -1)
    place[now] = np.arange(len(now))
    anywhere = np.zeros(people, np.bool_)
    for one, blamed in zip(sightings, found.blamed, strict=True):
        anywhere[one.person[blamed]] = True
    causes = anywhere[now]
    for one, blamed in zip(sightings, found.blamed, strict=True):
        here = place[one.person]
        meant = anywhere[one.person] if left > 1 else blamed & ((left > 0) | (here < 0))
        group = groups_of(one.groups, np.arange(len(one.row)))
        theirs = np.zeros(one.groups.total, np.bool_)
        theirs[group[meant[one.row]]] = True
        companions = here[one.row[theirs[group]]]
        causes[companions[companions >= 0]] = True
    return causes if causes.any() else ~causes


def _groups_of(rows: BoolArray, grouping: Grouping) -> BoolArray:
    """The rows that share a group with some of these, themselves included."""
    meant = np.zeros(grouping.groups + 1, np.bool_)
    meant[grouping.group[rows]] = True
    meant[SUPPRESSED] = False
    return rows | meant[grouping.group]
