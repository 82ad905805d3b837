"""Event lists: what happened to every person from release to release (thesis 4.2).

An event is an insertion, an update, a deletion, a re-insertion, or nothing: `_` stands for a record that stays as
it is and for a person who is not there. External updates (insertion, deletion) change how many records there are,
internal ones (update, re-insertion) do not make a new person. A person's *life* is a run of appearances with one
sensitive value: a changed value starts a new life, a changed quasi-identifier does not, and who comes back with
the value she left with goes on with the life she had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from republish.arrays import BoolArray, Int8Array, Int32Array, IntArray, WordArray
from republish.errors import PolicyError

UNCHANGED, INSERT, UPDATE, DELETE, REINSERT = range(5)
LETTERS = "_iudr"
ABSENT = -1

NEVER, THERE, AWAY, IMPOSSIBLE = range(4)
# Equation 4.1 of the thesis, which as printed rejects i,d,r,d,_ : where each event leads from each state.
_GRAMMAR = np.full((4, 5), IMPOSSIBLE, dtype=np.int8)
_GRAMMAR[NEVER, [UNCHANGED, INSERT]] = NEVER, THERE
_GRAMMAR[THERE, [UNCHANGED, UPDATE, DELETE]] = THERE, THERE, AWAY
_GRAMMAR[AWAY, [UNCHANGED, REINSERT]] = AWAY, THERE


@dataclass(frozen=True)
class Appearances:
    """Who is in one release: person (0, 1, ...), sensitive code and digest of the quasi-identifiers, side by side."""

    person: IntArray
    code: IntArray
    row: WordArray


@dataclass(frozen=True)
class Events:
    """The event list of every person, one row a person and one column a release.

    `value_changed` and `row_changed` tell of a person who is there whether the sensitive value, or a
    quasi-identifier, differs from her last appearance. `life` numbers her lives 0, 1, ..., -1 where she is absent.
    """

    event: Int8Array
    value_changed: BoolArray
    row_changed: BoolArray
    life: Int32Array

    @property
    def people(self) -> int:
        return int(self.event.shape[0])

    @property
    def releases(self) -> int:
        return int(self.event.shape[1])

    @property
    def external(self) -> BoolArray:
        """Where a record is inserted for the first time or deleted (thesis Def. 4.1)."""
        return np.isin(self.event, (INSERT, DELETE))

    @property
    def internal(self) -> BoolArray:
        """Where a record is updated or re-inserted (thesis Def. 4.2)."""
        return np.isin(self.event, (UPDATE, REINSERT))

    @property
    def sensitive_updates(self) -> BoolArray:
        """Internal updates that start a new life."""
        return self.internal & self.value_changed

    @property
    def quasi_identifier_updates(self) -> BoolArray:
        """Internal updates of a quasi-identifier; the value may have changed as well."""
        return self.internal & self.row_changed

    @cached_property
    def run(self) -> Int32Array:
        """The lifespan of every appearance: consecutive appearances within one life, numbered; -1 where absent."""
        starts = (self.event == INSERT) | (self.event == REINSERT) | self.value_changed
        number: Int32Array = np.cumsum(starts, axis=1, dtype=np.int32) - 1
        number[self.life == ABSENT] = ABSENT
        return number

    def until(self, release: int) -> Events:
        """The event lists up to a release (1, 2, ...)."""
        return Events(
            self.event[:, :release],
            self.value_changed[:, :release],
            self.row_changed[:, :release],
            self.life[:, :release],
        )

    def text(self, person: int) -> str:
        """The event list of one person, such as `i,_,u,d,r`."""
        return ",".join(LETTERS[event] for event in self.event[person])


def states_of(event: Int8Array) -> Int8Array:
    """Where event lists leave everyone after each release: never there yet, there, away.

    Impossible from the first event on that breaks the grammar: nobody leaves before coming, or comes twice.
    """
    states = np.empty(event.shape, dtype=np.int8)
    state = np.full(len(event), NEVER, dtype=np.int8)
    for number in range(event.shape[1]):
        state = _GRAMMAR[state, event[:, number]]
        states[:, number] = state
    return states


def events_of(people: int, releases: Sequence[Appearances]) -> Events:
    """The event lists of people 0, 1, ..., `people` - 1 over all releases, oldest first."""
    shape = (people, len(releases))
    event = np.zeros(shape, dtype=np.int8)
    value_changed, row_changed = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    lives = np.full(shape, ABSENT, dtype=np.int32)
    there = np.zeros(people, dtype=np.bool_)
    life = np.full(people, ABSENT, dtype=np.int32)
    code, row = np.zeros(people, dtype=np.int64), np.zeros(people, dtype=np.uint64)
    for number, release in enumerate(releases):
        who = release.person
        now = _presence(people, release, number)
        known = life[who] != ABSENT
        value_changed[who, number] = known & (code[who] != release.code)
        row_changed[who, number] = known & (row[who] != release.row)
        changed = value_changed[:, number] | row_changed[:, number]
        event[now & there & changed, number] = UPDATE
        event[now & ~there, number] = REINSERT
        event[now & (life == ABSENT), number] = INSERT
        event[there & ~now, number] = DELETE
        life[now & ((life == ABSENT) | value_changed[:, number])] += 1
        lives[who, number] = life[who]
        code[who], row[who], there = release.code, release.row, now
    return Events(event, value_changed, row_changed, lives)


def _presence(people: int, release: Appearances, number: int) -> BoolArray:
    """Who is in a release; refused where somebody is twice or nobody of ours."""
    who = release.person
    if not len(who) == len(release.code) == len(release.row):
        raise PolicyError(
            f"person, code and row of a release must be equally long; release {number + 1} has {len(who)}, "
            f"{len(release.code)} and {len(release.row)}"
        )
    if len(who) and (who.min() < 0 or who.max() >= people):
        raise PolicyError(f"release {number + 1} holds people outside 0 to {people - 1}; number them afresh")
    now = np.zeros(people, dtype=np.bool_)
    now[who] = True
    if np.count_nonzero(now) != len(who):
        raise PolicyError(
            f"nobody may be in a release twice; release {number + 1} has {len(who)} rows of "
            f"{np.count_nonzero(now)} people"
        )
    return now
