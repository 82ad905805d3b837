"""Whether a release withstands an adversary who weighs all releases together, recomputed from what is stored.

`from_memory` checks a release to be against the trail that the memory holds; `TrailWalk` goes through a stored series
and uses its tables and memberships alone. Where people were forgotten since, what was believed of them and of all
who hang together with them cannot be weighed anew; from the first release they were in nothing is checked, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from republish.arrays import BoolArray, IntArray, WordArray
from republish.inference import Reasoning
from republish.inference.joint.messages import Sighting
from republish.inference.joint.trail import CODES, GROUP, GROUPS, KINDS, numbered, trail, trail_codes
from republish.inference.joint.withstand import judged, sighting, with_changes
from republish.inference.revision import Revision
from republish.memory.memory import Memory
from republish.verify.check import Check
from republish.verify.promises import EVENTS
from republish.verify.similarity import Shown

MEANING = (
    "Weighing all releases together, an adversary strays no further than that many bits from what a group shows of its "
    "members, unless she would, or nearly, with everybody left out of the release."
)
TOLERANCE = 1e-3
"""By so many bits may two computations of the same beliefs be apart."""


def withstood(
    promise: str,
    before: Sequence[Sighting],
    now: Sighting,
    people: int,
    method: str,
    codes: Sequence[IntArray] = (),
) -> Check:
    """Whether a release takes nobody beyond the limit that is promised, in itself or in an earlier release.

    `codes` are the true codes of everyone in every release, for an adversary with event lists.
    """
    if promise.startswith(EVENTS):
        *before, now = with_changes([*before, now], codes, people)
    limit = float(promise.partition("=")[2])
    found = judged(before, now, people, limit, method, slack=TOLERANCE)
    broken = sum(int(one.sum()) for one in found.blamed)
    note = f" Beyond it in any case: {found.beyond_help} times a person in an earlier release."
    groups = sum(_groups_of(one, blamed) for one, blamed in zip([*before, now], found.blamed, strict=True))
    return Check(_title(promise), broken == 0, MEANING + note, found.worst, groups, broken)


def from_memory(promise: str, reasoning: Reasoning, shown: Shown, group: IntArray, memory: Memory) -> Check:
    """The check of a release to be, groups numbered from 1, against the memory of the releases before it."""
    revision = reasoning.thoughts(shown.people, memory).revision
    person, people = numbered(shown.people.people, memory)
    now = sighting(person, shown.people.classes, revision, group - 1, shown.row_group - 1, shown.row_code)
    codes = [*trail_codes(memory), shown.people.codes]
    return withstood(promise, trail(memory, revision), now, people, reasoning.posterior, codes)


class TrailWalk:
    """What an auditor carries through a stored series: who was in which release, of which class, in which group."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.seen: list[tuple[Shown, IntArray]] = []
        self.forgotten = False

    def look(self, shown: Shown, group: IntArray, revision: Revision) -> Callable[[str], Check]:
        """What checks promises about one release, groups numbered from 1; the release is remembered at once.

        `revision` is what is known at the time of this release.
        """
        self.forgotten |= not (shown.people.people != 0).any(axis=1).all()
        self.seen.append((shown, group))
        if self.forgotten:
            skipped = len(np.unique(group[group > 0]))
            note = f" {skipped} groups cannot be checked, because people were forgotten."
            return lambda promise: Check(_title(promise), True, MEANING + note, unchecked=skipped)
        numbers, people = _numbers([one.people.people for one, _ in self.seen])
        sightings = [
            sighting(number, one.people.classes, revision, where - 1, one.row_group - 1, one.row_code)
            for (one, where), number in zip(self.seen, numbers, strict=True)
        ]
        codes = [one.people.codes for one, _ in self.seen]
        return lambda promise: withstood(promise, sightings[:-1], sightings[-1], people, self.method, codes)

    def differences(self, memory: Memory) -> list[str]:
        """What the trail in a stored memory has wrong, in numbers of people."""
        wrong = np.zeros(memory.size, dtype=np.bool_)
        for name in (GROUPS, CODES, KINDS):
            stored = memory.columns.get(name, np.zeros((memory.size, 0), dtype=np.int32))
            right = np.zeros((memory.size, len(self.seen)), dtype=np.int32)
            for i, (shown, group) in enumerate(self.seen):
                entries = memory.find(shown.people.people)
                there = entries >= 0
                now = {GROUPS: group - 1 + GROUP, CODES: shown.people.codes, KINDS: shown.people.classes}[
                    name
                ]
                right[entries[there], i] = now[there]
            if stored.shape != right.shape:
                return [
                    f"the memory holds a trail of {stored.shape[1]} releases, and there are {right.shape[1]}"
                ]
            for i in range(right.shape[1]):
                wrong |= _differs(stored[:, i], right[:, i], renumbered=name == GROUPS)
        return (
            [f"the memory holds another trail of {wrong.sum()} people than the memberships"]
            if wrong.any()
            else []
        )


def _differs(stored: IntArray, right: IntArray, renumbered: bool) -> BoolArray:
    """Who has another entry than is right; groups may be numbered otherwise, for a release shuffles the numbers."""
    if not renumbered:
        different: BoolArray = stored != right
        return different
    pairs, number = np.unique(np.column_stack([stored, right]), axis=0, return_inverse=True)
    apart = np.zeros(len(pairs), dtype=np.bool_)
    for side in pairs.T:
        values, count = np.unique(side, return_counts=True)
        apart |= np.isin(side, values[count > 1])
    apart |= (pairs < GROUP).any(axis=1) & (pairs[:, 0] != pairs[:, 1])
    found: BoolArray = apart[number.ravel()]
    return found


def _title(promise: str) -> str:
    return f"{promise}: all releases weighed together"


def _groups_of(one: Sighting, blamed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """How many groups hold somebody who is blamed."""
    place = np.flatnonzero(blamed[one.row])
    return len(np.unique(np.searchsorted(one.groups.member_start, place, side="right")))


def _numbers(people: Sequence[WordArray]) -> tuple[list[IntArray], int]:
    """The people of every release, numbered through all of them."""
    every = np.concatenate(people)
    distinct, number = np.unique(every, axis=0, return_inverse=True)
    bounds = np.cumsum([len(one) for one in people])[:-1]
    return np.split(number.ravel(), bounds), len(distinct)
