"""A small series of which every input is tried: the lives in its views, and all values they could have had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.excluding.candidates import Unknowns, intersected, lives
from republish.attacks.history import History
from republish.attacks.tables import LEFT_OUT, Table
from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.kernels import kernel
from republish.memory.event_lists import Appearances, events_of
from republish.microdata import Microdata

COUNTED = 50
"""Times the limit: so far inputs are counted to say how many there are."""
_STEPS = 100


@dataclass(frozen=True)
class Case:
    """A small series: the life behind every row of every view, and what the lives are known for."""

    views: tuple[Microdata, ...]
    groupings: tuple[Grouping, ...]
    unknowns: Unknowns
    life: tuple[IntArray, ...]
    truth: IntArray
    published: BoolArray
    left_out: BoolArray
    known: BoolArray
    domain: IntArray

    @classmethod
    def of(
        cls,
        views: Sequence[Microdata],
        groupings: Sequence[Grouping],
        known: Callable[[History], BoolArray] | None,
    ) -> Case:
        """The case of these views, grouped so; small enough that every input can be tried."""
        _require(views, groupings)
        people = [view.people for view in views if view.people is not None]
        everyone, number = np.unique(np.concatenate(people), axis=0, return_inverse=True)
        person = np.split(number.ravel(), np.cumsum([view.rows for view in views])[:-1])
        codes = [view.codes.astype(np.int64) for view in views]
        tables = [_table(*parts) for parts in zip(person, codes, groupings, strict=True)]
        # Quasi-identifiers are hers to look up; whether they changed plays no part here.
        seen = [Appearances(p, c, p.astype(np.uint64)) for p, c in zip(person, codes, strict=True)]
        events = events_of(len(everyone), seen)
        history = History.of(len(everyone), len(views[-1].values), tables, events, codes)
        unknowns = lives(history)
        assert history.events is not None
        first = np.searchsorted(unknowns.person, np.arange(history.people))
        life = tuple(first[p] + history.events.life[p, i] for i, p in enumerate(person))
        truth, domain = np.zeros(unknowns.count, np.int64), np.full(unknowns.count, history.values)
        published, left_out = np.zeros((2, unknowns.count), dtype=np.bool_)
        for own, code, grouping, view in zip(life, codes, groupings, views, strict=True):
            truth[own] = code
            domain[own] = np.minimum(domain[own], len(view.values))
            published[own[grouping.group != LEFT_OUT]] = True
            left_out[own[grouping.group == LEFT_OUT]] = True
        granted = np.zeros(history.people, dtype=np.bool_) if known is None else known(history)
        facts = truth, published, left_out, granted[unknowns.person], domain
        return cls(tuple(views), tuple(groupings), unknowns, life, *facts)

    def worlds(self, limit: int) -> tuple[IntArray, int]:
        """At most `limit` inputs that fit the groups, and how many there are, counted no further than need be."""
        history = self.history
        bits = intersected(self.unknowns).astype("<u8").view(np.uint8)
        can = np.unpackbits(bits, axis=1, bitorder="little")[:, : history.values].astype(np.bool_)
        can &= np.arange(history.values) < self.domain[:, None]
        can[self.known] = self.truth[self.known, None] == np.arange(history.values)
        left = np.zeros((history.groups, history.values), dtype=np.int64)
        owner = np.repeat(np.arange(history.groups), np.diff(history.value_start))
        left[owner, history.value_code] = history.value_count
        places = self.unknowns.previous, self.unknowns.place_start, self.unknowns.place
        found: tuple[IntArray, int] = _worlds(can, *places, left, limit, COUNTED * limit)
        return found

    @property
    def history(self) -> History:
        return self.unknowns.history

    def counts(self) -> FloatArray:
        history = self.history
        return np.bincount(history.value_code, history.value_count, history.values).astype(np.float64)

    def weights(self, worlds: IntArray, prior: str) -> FloatArray:
        """How likely each input is beforehand, up to a factor."""
        if prior == "even":
            return np.ones(len(worlds))
        counts = self.counts() + 1.0
        weight: FloatArray = np.prod((counts / counts.sum())[worlds[:, ~self.published]], axis=1)
        return weight

    def inputs(self, world: IntArray) -> list[Microdata]:
        """The views as they would be with these values."""
        return [
            replace(view, codes=world[own].astype(view.codes.dtype))
            for view, own in zip(self.views, self.life, strict=True)
        ]


def _require(views: Sequence[Microdata], groupings: Sequence[Grouping]) -> None:
    if not views or len(views) != len(groupings):
        raise PolicyError(
            f"inputs need a view for every release; there are {len(views)} and {len(groupings)}"
        )
    if any(view.people is None for view in views):
        raise PolicyError("inputs need views with pseudonyms; make them with view.pseudonymous(secret)")
    if views[0].schema.sensitive is None:
        raise PolicyError("attacks seek sensitive values and these views have no sensitive column")
    last = views[-1].values
    if any(not view.values.equals(last[: len(view.values)]) for view in views):
        raise PolicyError("each view must be read with the sensitive values of the one before it")


def _table(person: IntArray, code: IntArray, grouping: Grouping) -> Table:
    group, kept = grouping.group.astype(np.int64), grouping.group != LEFT_OUT
    row_group = np.concatenate([group[kept], grouping.counterfeit_group])
    return Table(person, group, row_group, np.concatenate([code[kept], grouping.counterfeit_code]))


@kernel
def _worlds(can, previous, place_start, place, left, limit, most):  # type: ignore[no-untyped-def]
    """Assignments of a value to every life that leave no group with too few rows; stored up to `limit`.

    Depth first: life after life takes each of its values in turn. Counting ends at `most`.
    """
    lives, values = can.shape
    worlds = np.empty((limit, lives), np.int64)
    chosen = np.full(lives, -1, np.int64)
    count, at, steps = 0, 0, 0
    while at >= 0 and count < most:
        steps += 1
        if steps > _STEPS * most:  # dead ends can outnumber the worlds by far
            return worlds[: min(count, limit)].copy(), most
        if at == lives:
            if count < limit:
                worlds[count] = chosen
            count += 1
            at -= 1
            continue
        old = chosen[at]
        if old >= 0:
            for j in range(place_start[at], place_start[at + 1]):
                left[place[j], old] += 1
        code = old + 1
        while code < values:
            fits = can[at, code] and (previous[at] < 0 or chosen[previous[at]] != code)
            for j in range(place_start[at], place_start[at + 1]):
                fits = fits and left[place[j], code] > 0
            if fits:
                break
            code += 1
        if code == values:
            chosen[at] = -1
            at -= 1
            continue
        chosen[at] = code
        for j in range(place_start[at], place_start[at + 1]):
            left[place[j], code] -= 1
        at += 1
    return worlds[: min(count, limit)].copy(), count
