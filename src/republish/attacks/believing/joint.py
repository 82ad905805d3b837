"""The joint attack: an adversary who reads the whole series before she thinks.

What the belief attack learns from a release it uses for later ones only. Here later releases sharpen earlier ones as
well: the chains of values of all people and the groups of all releases are weighed together, see
`republish.inference.joint.messages`. What she is granted is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from republish.arrays import IntArray
from republish.attacks.believing.beliefs import (
    Told,
    _entries,
    _result,
    _revisions,
    groups_of,
    plain_register,
    rows_of,
)
from republish.attacks.believing.register import Register
from republish.attacks.confidence import BeliefResult
from republish.attacks.history import History
from republish.attacks.summary import shares
from republish.inference import UNTOLD, Reasoning
from republish.inference.joint.messages import ROUNDS, TOLERANCE, Progress, Sighting, Together, together
from republish.inference.posterior import Posteriors


@dataclass(frozen=True)
class JointResult(BeliefResult):
    """What an adversary believes who weighs all releases together, in the figures of the belief attack.

    `rounds` is how often people and groups told each other, `settled` whether no belief moved more than the tolerance
    in the last of them; `unsettled` of a release counts the rows whose belief did.
    """

    name: str = "joint"
    rounds: int = 0
    settled: bool = True

    def as_dict(self) -> dict[str, Any]:
        """A JSON document of the figures; nothing in it belongs to a single person."""
        return {**super().as_dict(), "rounds": self.rounds, "settled": self.settled}


def joint(
    history: History,
    reasoning: Reasoning,
    register: Register | None = None,
    told: Told | None = None,
    tolerance: float = TOLERANCE,
    rounds: int = ROUNDS,
    loops: str = "scaled",
    progress: Progress | None = None,
) -> JointResult:
    """How sure she is of every published value once she has all releases.

    The arguments are those of `beliefs`; the posterior must be exact, bp or sinkhorn. Rounds end when no belief moves
    by more than `tolerance`, or after so many. With `rounds=0` this is the belief attack.
    """
    register = plain_register(history, reasoning) if register is None else register
    found = weigh(history, reasoning, register, told, tolerance, rounds, loops, progress)
    count = len(history.person)
    p, code = np.zeros(count), np.zeros(count, dtype=np.int64)
    posteriors: list[Posteriors] = []
    bounds = np.searchsorted(history.release, np.arange(history.releases + 1))
    for i, one in enumerate(found.posteriors):
        here = slice(bounds[i], bounds[i + 1])
        row = rows_of(history, i, register.person[i])
        mine = one.p[row]
        code[here] = mine.argmax(axis=1) if history.truth is None else history.truth[here]
        p[here] = mine[np.arange(len(mine)), code[here]]
        late = int(np.count_nonzero(found.moved[i][row] > tolerance))
        posteriors.append(replace(one, unsettled=max(one.unsettled, late)))
    secret = np.ones(count, dtype=np.bool_) if told is None else ~told.people[history.release, history.person]
    result = _result(history, reasoning, posteriors, p, shares(history, code), secret)
    figures = {one.name: getattr(result, one.name) for one in fields(result) if one.name != "name"}
    return JointResult(**figures, rounds=found.rounds, settled=found.settled)


def weigh(
    history: History,
    reasoning: Reasoning,
    register: Register,
    told: Told | None = None,
    tolerance: float = TOLERANCE,
    rounds: int = ROUNDS,
    loops: str = "scaled",
    progress: Progress | None = None,
) -> Together:
    """What she believes of everyone in every release, a row a person of the register, then the absent."""
    sightings = list(_sightings(history, reasoning, register, told))
    return together(sightings, history.people, reasoning.posterior, tolerance, rounds, loops, progress)


def _sightings(
    history: History, reasoning: Reasoning, register: Register, told: Told | None
) -> Iterator[Sighting]:
    """Every release as she sees it.

    Where gaps count, a person who is absent between two appearances has a value there that nothing speaks of. These
    people come after all who are in the register.
    """
    weighed = history.renewed or history
    missed: list[tuple[IntArray, IntArray]] | None = None
    for i, revision in enumerate(_revisions(history, reasoning, register)):
        person = register.person[i]
        if missed is None:
            counts = revision.knowledge.gaps == "count" and revision.knowledge.order > 0
            missed = _missed(register, history.people) if counts else []
        absent, kinds = missed[i] if missed else (person[:0], person[:0])
        changed = None if register.changed is None else register.changed[i]
        yield Sighting(
            np.append(person, absent),
            np.append(register.classes[i], kinds),
            revision,
            groups_of(weighed, i),
            rows_of(weighed, i, person),
            None if told is None else _entries(told, i, person, register.codes[i]),
            None if changed is None else np.append(changed, np.full(len(absent), UNTOLD, np.int8)),
        )


def _missed(register: Register, people: int) -> list[tuple[IntArray, IntArray]]:
    """Who is absent between two appearances, release by release, and the class at the second one.

    Where it is known that a person kept or changed the value over the absence, that says more.
    """
    first = np.full(people, len(register.person))
    for i, person in reversed(list(enumerate(register.person))):
        first[person] = i
    returns = np.full(people, -1)  # the class at the next appearance, -1 where no absence before it counts
    missed: list[tuple[IntArray, IntArray]] = []
    for i, (person, kinds) in reversed(list(enumerate(zip(register.person, register.classes, strict=True)))):
        absent = (returns >= 0) & (first < i)
        absent[person] = False
        who = np.flatnonzero(absent)
        missed.append((who, returns[who]))
        returns[person] = (
            kinds if register.changed is None else np.where(register.changed[i] == UNTOLD, kinds, -1)
        )
    return missed[::-1]
