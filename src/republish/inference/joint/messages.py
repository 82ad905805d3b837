"""What a whole series says of every value in it: messages between people and groups.

A person's values are a chain: the prior of the class at the first appearance, and what the knowledge says of the next
value after the last ones. The values of a group are handed out to its members, and every way to do so weighs the
product of what is expected of them. Chains tell a group what to expect of its members, all other releases considered;
the group tells each chain what its values make of that: its posterior divided by what it was told. One round goes
through the releases from the first to the last and back. `rounds=0` is an adversary who never looks back.

Where people and groups form no loop this is belief propagation, and ends with the Bayesian posterior. Where they do,
a group hears its own words again, and whoever trusts them grows far too sure. There (`loops="scaled"`) a group tells
all members the same: by what factor each value must become more or less likely so that as many are expected as
it shows. That leads to the one distribution, nearest to the knowledge, under which every group is expected to show
what it does. In the end each group makes its posterior of what all the others say.

Who has event lists knows of every step of a chain whether the value changed. Steps that contradict it weigh nothing.
docs/joint-measured.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from republish.arrays import FloatArray
from republish.errors import PolicyError
from republish.inference.joint._sightings import Sighting, looping
from republish.inference.joint.talk import PRODUCTS, TOLERANCE, Progress, Talk, require_chains
from republish.inference.posterior import Posteriors

LOOPS = ("scaled", "posterior")
ROUNDS = 30

__all__ = ["LOOPS", "PRODUCTS", "ROUNDS", "TOLERANCE", "Progress", "Sighting", "Together", "together"]


@dataclass(frozen=True, eq=False)
class Together:
    """What she believes in the end of everyone in every release.

    `expected` [person, value] is what all other groups and releases say, `posteriors` what the own group makes of it,
    one of each a release. `moved` is how far the belief about an appearance moved in the last round, by release;
    `settled` that no belief moved more than the tolerance.
    """

    expected: tuple[FloatArray, ...]
    posteriors: tuple[Posteriors, ...]
    moved: tuple[FloatArray, ...]
    rounds: int
    settled: bool


def together(
    sightings: Sequence[Sighting],
    people: int,
    method: str = "exact",
    tolerance: float = TOLERANCE,
    rounds: int = ROUNDS,
    loops: str = "scaled",
    progress: Progress | None = None,
) -> Together:
    """Beliefs in all values of a series at once, people numbered from 0 to `people` - 1.

    `loops="posterior"` is belief propagation everywhere. `progress` is called after every round with its number and
    the largest change of a belief.
    """
    require_chains(sightings, method)
    if loops not in LOOPS:
        raise PolicyError(f"loops must be one of {', '.join(LOOPS)}; found {loops!r}")
    linked = any(one.revision.knowledge.order for one in sightings)
    looped = [np.zeros(one.groups.total, np.bool_) for one in sightings]
    if linked and rounds and loops == "scaled":
        looped = looping(sightings, people)
    talk = Talk(sightings, people, method, looped)
    made, moved = talk.rounds(rounds if linked else 0, tolerance, progress)
    return Together(
        tuple(talk.expected), tuple(talk.posteriors()), tuple(talk.moved), made, moved <= tolerance
    )
