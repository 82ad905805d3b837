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
docs/joint.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from republish.arrays import BoolArray, FloatArray
from republish.errors import PolicyError
from republish.inference._kernels.chains import (
    UNTOLD,
    Chains,
    Seats,
    Tables,
    look_ahead,
    look_back,
    settle_ahead,
    settle_back,
)
from republish.inference.joint._sightings import Scaling, Sighting, cuts, in_threads, inferred, looping
from republish.inference.posterior import Posteriors

PRODUCTS = ("exact", "bp", "sinkhorn")
"""The posteriors under which a bijection weighs a product, so that they can be divided by what was expected."""
LOOPS = ("scaled", "posterior")
TOLERANCE = 1e-4
ROUNDS = 30
_LEAST = 1e-12  # what was possible at first stays so: chances do not fall below this
Progress = Callable[[int, float], None]

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
    _require_chains(sightings, method)
    if loops not in LOOPS:
        raise PolicyError(f"loops must be one of {', '.join(LOOPS)}; found {loops!r}")
    linked = any(one.revision.knowledge.order for one in sightings)
    looped = [np.zeros(one.groups.total, np.bool_) for one in sightings]
    if linked and rounds and loops == "scaled":
        looped = looping(sightings, people)
    talk = _Talk(sightings, people, method, looped)
    talk.ahead()
    made, moved = 0, 0.0
    while linked and made < rounds:
        before = [one.p for one in talk.found]
        if made:
            talk.ahead()
        talk.back()
        made += 1
        talk.moved = [
            np.abs(one.p - old).max(axis=1, initial=0.0) for one, old in zip(talk.found, before, strict=True)
        ]
        moved = max((float(one.max(initial=0.0)) for one in talk.moved), default=0.0)
        if progress is not None:
            progress(made, moved)
        if moved <= tolerance:
            break
    found = talk.found
    if any(one.any() for one in looped):
        found = [
            inferred(one, expected, method) for one, expected in zip(sightings, talk.expected, strict=True)
        ]
    return Together(tuple(talk.expected), tuple(found), tuple(talk.moved), made, moved <= tolerance)


def _require_chains(sightings: Sequence[Sighting], method: str) -> None:
    if method not in PRODUCTS:
        raise PolicyError(
            "all releases are weighed together by the product of what is expected; the posterior must be one of "
            f"{', '.join(PRODUCTS)}, not {method!r}"
        )
    for one in sightings:
        if one.revision.form != "joint" and one.revision.knowledge.order > 1:
            raise PolicyError(
                "all releases together need beliefs in the last values jointly; use the form joint, not "
                f"{one.revision.form}, or look at one step"
            )


class _Talk:
    """People and groups telling each other; what was said last."""

    def __init__(
        self, sightings: Sequence[Sighting], people: int, method: str, looped: list[BoolArray]
    ) -> None:
        self.sightings, self.method = sightings, method
        self.tables: dict[int, Tables] = {}
        self.scaling = [Scaling.of(one, some) for one, some in zip(sightings, looped, strict=True)]
        sizes = [len(one.person) for one in sightings]
        self.first = np.append(0, np.cumsum(sizes, dtype=np.int64)).astype(np.int64)
        m, older = 0, 1
        for one in sightings:
            known = one.revision.knowledge
            m, older = known.size, (known.size + 1) ** max(known.order - 1, 0)
        self.states, self.older = older * m, older
        start = np.zeros(int(self.first[-1]) + 1, np.int64)
        self.chains = Chains(start, *(np.empty(0, kind) for kind in ("i4", "f4", "f8", "f4")))
        self.expected = [np.zeros((size, m)) for size in sizes]
        self.possible = [np.ones((size, m), np.bool_) for size in sizes]
        self.found: list[Posteriors] = []
        self.moved = [np.zeros(size) for size in sizes]
        self.seats: list[Seats] = []
        last = np.full(people, -1, dtype=np.int64)
        for one, first in zip(sightings, self.first, strict=False):
            size = len(one.person)
            linked = one.revision.knowledge.order > 0
            before = last[one.person] if linked else np.full(size, -1, dtype=np.int64)
            self.seats.append(
                Seats(
                    one.person.astype(np.int64),
                    one.classes.astype(np.int64),
                    np.ones((size, m)),
                    np.zeros(size, np.bool_),
                    before,
                    np.full(size, UNTOLD, np.int8) if one.changed is None else one.changed.astype(np.int8),
                )
            )
            last[one.person] = np.arange(first, first + size)

    def ahead(self) -> None:
        fresh = not self.found
        for i, (seats, first) in enumerate(zip(self.seats, self.first, strict=False)):
            if fresh:
                self._open(i)
            _parallel(look_ahead, seats, self._tables(i), self.chains, first, out=self.expected[i])
            self._answered(i, fresh)
            _parallel(settle_ahead, seats, self._tables(i), self.chains, first)
            if fresh:
                self._close(i)

    def back(self) -> None:
        for i in range(len(self.seats) - 1, -1, -1):
            seats, first = self.seats[i], self.first[i]
            _parallel(look_back, seats, self._tables(i), self.chains, first, out=self.expected[i])
            self._answered(i, False)
            _parallel(settle_back, seats, self._tables(i), self.chains, first)

    def _open(self, i: int) -> None:
        """Let every state be possible in a release."""
        start, rows = self.chains.start, len(self.seats[i].person)
        begin = start[self.first[i]]
        end = begin + rows * self.states
        if end > len(self.chains.state):
            self.chains = Chains(start, *(np.resize(a, 2 * end) for a in self.chains[1:]))
        start[self.first[i] : self.first[i + 1] + 1] = np.arange(begin, end + 1, self.states)
        self.chains.state[begin:end] = np.tile(np.arange(self.states, dtype=np.int32), rows)
        self.chains.back[begin:end] = 1.0

    def _close(self, i: int) -> None:
        """Keep the states that turned out to be possible."""
        start = self.chains.start
        first, last = self.first[i], self.first[i + 1]
        begin, end = start[first], start[last]
        live = (self.chains.ahead[begin:end] > 0) | (self.chains.after[begin:end] > 0)
        start[first + 1 : last + 1] = begin + np.cumsum(live.reshape(-1, self.states).sum(axis=1))
        kept: tuple[NDArray[Any], ...] = self.chains[1:]
        for a in kept:
            a[begin : start[last]] = a[begin:end][live]

    def _tables(self, i: int) -> Tables:
        known = self.sightings[i].revision.knowledge
        if id(known) not in self.tables:
            self.tables[id(known)] = Tables.of(known.prior, known.sequential, self.older)
        return self.tables[id(known)]

    def _answered(self, i: int, fresh: bool) -> None:
        """Let the groups of a release answer: posterior over what was expected, the largest 1.

        Whoever has a value that was not expected is cut, and in a group where that is not for what she was told
        of somebody, everyone is: there the knowledge rules out what was published.
        """
        one, seats, expected = self.sightings[i], self.seats[i], self.expected[i]
        if fresh:
            self.possible[i] = expected > 0
        else:
            np.maximum(expected, _LEAST, out=expected, where=self.possible[i])
        found = inferred(one, expected, self.method, self.scaling[i])
        p = found.p
        odds = np.divide(p, expected, out=np.zeros_like(p), where=expected > 0)
        most = odds.max(axis=1, keepdims=True, initial=0.0)
        odds /= np.where(most > 0, most, 1.0)
        if fresh:
            self.found.append(found)
            seats.cut[:] = cuts(one, p, expected)
            seats.odds[:] = odds
        else:
            self.found[i] = found
            np.maximum(odds, _LEAST, out=odds, where=seats.odds > 0)
            seats.odds[:] = np.where(seats.odds > 0, odds, 0.0)
        seats.odds[seats.cut] = p[seats.cut]


def _parallel(kernel: Callable[..., None], *arguments: Any, out: FloatArray | None = None) -> None:
    """A kernel over the rows of a release, on as many threads as numba may use."""
    rest = () if out is None else (out,)
    in_threads(lambda part: kernel(*arguments, part, *rest), np.arange(len(arguments[0].person)))
