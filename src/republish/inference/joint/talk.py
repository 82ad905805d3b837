"""People and groups telling each other, release by release: the state of a joint inference, which may go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from republish.arrays import BoolArray, IntArray
from republish.errors import PolicyError
from republish.inference._kernels.answers import answer, keep_possible
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
from republish.inference.joint._sightings import Scaling, Sighting, cuts, in_threads, inferred
from republish.inference.posterior import Posteriors

PRODUCTS = ("exact", "bp", "sinkhorn")
"""The posteriors under which a bijection weighs a product, so that they can be divided by what was expected."""
TOLERANCE = 1e-4
_LEAST = 1e-12  # what was possible at first stays so: chances do not fall below this
Progress = Callable[[int, float], None]


def require_chains(sightings: Sequence[Sighting], method: str) -> None:
    """Refuse what cannot be weighed together."""
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


class Talk:
    """People and groups telling each other; what was said last. See `republish.inference.joint.messages`.

    `looped` says which groups of every release are scaled.
    """

    def __init__(
        self, sightings: Sequence[Sighting], people: int, method: str, looped: Sequence[BoolArray]
    ) -> None:
        require_chains(sightings, method)
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

    def rounds(
        self, rounds: int, tolerance: float = TOLERANCE, progress: Progress | None = None
    ) -> tuple[int, float]:
        """Go on for so many rounds, or until no belief moves more; how many there were, and how far one still moved."""
        made, moved = 0, 0.0
        self.ahead()
        while made < rounds:
            before = [one.p for one in self.found]
            if made:
                self.ahead()
            self.back()
            made += 1
            self.moved = [
                np.abs(one.p - old).max(axis=1, initial=0.0)
                for one, old in zip(self.found, before, strict=True)
            ]
            moved = max((float(one.max(initial=0.0)) for one in self.moved), default=0.0)
            if progress is not None:
                progress(made, moved)
            if moved <= tolerance:
                break
        return made, moved

    def posteriors(self) -> list[Posteriors]:
        """What every group makes of what all others say."""
        if not any(one.looped.any() for one in self.scaling):
            return self.found
        return [
            inferred(one, expected, self.method)
            for one, expected in zip(self.sightings, self.expected, strict=True)
        ]

    def with_last(self, one: Sighting, looped: Sequence[BoolArray]) -> Talk:
        """The same talk, which goes on by itself, with another last release of the same view."""
        made = copy(self)
        made.sightings = [*self.sightings[:-1], one]
        made.chains = self.chains.copied()
        made.seats = [seats._replace(odds=seats.odds.copy()) for seats in self.seats]
        made.seats[-1] = made.seats[-1]._replace(cut=np.zeros(len(one.person), np.bool_))
        made.expected = [a.copy() for a in self.expected]
        made.possible, made.found = list(self.possible), self.found[:-1]
        kept = [Scaling(some, old.factor.copy()) for some, old in zip(looped, self.scaling, strict=True)]
        made.scaling = [*kept[:-1], Scaling.of(one, looped[-1])]
        return made

    def ahead(self) -> None:
        """Go to the last release; where some were never visited, through these alone."""
        said = len(self.found)
        for i in range(said if said < len(self.seats) else 0, len(self.seats)):
            if i < said:
                self._visit(i, look_ahead, settle_ahead)
                continue
            self._open(i)
            self._visit(i, look_ahead, settle_ahead, fresh=True)
            self._close(i)

    def back(self) -> None:
        for i in range(len(self.seats) - 1, -1, -1):
            self._visit(i, look_back, settle_back)

    def _visit(
        self, i: int, look: Callable[..., None], settle: Callable[..., None], fresh: bool = False
    ) -> None:
        """Look what chains expect in a release, let its groups answer, and settle what chains make of it.

        Groups answer by posterior over expected. Whoever has a value that was not expected is cut, and in a
        group where that is not for what she was told of somebody, everyone is: there the knowledge rules out what was
        published.
        """
        one, seats, expected = self.sightings[i], self.seats[i], self.expected[i]
        told = (seats, self._tables(i), self.chains, self.first[i])
        rows = np.arange(len(expected))

        def listen(some: IntArray) -> None:
            look(*told, some, expected)
            if not fresh:
                keep_possible(expected, self.possible[i], _LEAST, some)

        def tell(some: IntArray) -> None:
            answer(found.p, expected, seats.cut, 0.0 if fresh else _LEAST, some, seats.odds)
            settle(*told, some)

        in_threads(listen, rows)
        found = inferred(one, expected, self.method, self.scaling[i])
        if fresh:
            self.possible[i] = expected > 0
            self.found.append(found)
            seats.cut[:] = cuts(one, found.p, expected)
            seats.odds[:] = found.p > 0
        self.found[i] = found
        in_threads(tell, rows)

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
