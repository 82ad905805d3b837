"""The swap test: two people exchange values and the publisher is run again; does anything public differ?

Whoever knows the program and all values but whose is which of two tells the two apart wherever it does. Both are
there in the same releases, in one group each time, or the values of groups would tell already, and neither's value
changes, so that they exchange all they have. What is compared is
who is with whom, which values each group shows, who is left out or waits, which counts were taken when, and how many
rows are nobody's, in every release; a refusal to publish is public, too. From the second release on newcomers, of whom
earlier releases say nothing, are drawn apart from the others: as many pairs of each.

Where chance deals people to places, the same chance would deal others after an exchange, though these were as likely
before it: of four people with values a, a, b, b no rule puts pairs together such that no exchange is told by it. What
an adversary learns is how likely either world makes what she sees. That is at most the share of pairs told apart,
however the chance of one world is coupled to that of the other, as long as it stays chance. So two couplings are tried,
and the one that tells fewer apart is the bound: everyone keeps her chance; or it goes with the value, so that the two
exchange all else, their quasi-identifiers.

A release at hand can be tried before it leaves, with its own chance and without the views before it: only newcomers
exchange, of whom no earlier release says anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.identity import IdentityResult, ToldApart, exchanged
from republish.attacks.replaying.replay import Replay
from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping
from republish.memory.memory import Memory, sight
from republish.microdata import Microdata
from republish.secret import pseudonym_texts

_Rows = tuple[int, int]
_Exchange = Callable[[Microdata, _Rows], Microdata]
Chance = Callable[[int], np.random.Generator]
"""What a release (1, 2, ...) is drawn with."""
PAIRS = 60
"""How many pairs exchange values in every release: none of so many told apart means less than .05, 19 times of 20."""


class Swapped(NamedTuple):
    """How many pairs of one release exchanged their values, and how many could be told apart; the same of newcomers."""

    release: int
    pairs: int
    told_apart: int
    new_pairs: int
    new_told_apart: int


def swap(replay: Replay, views: Sequence[Microdata]) -> IdentityResult:
    """The share of pairs whom anybody tells apart who knows the program and all else, of every release."""
    tested = swap_test(replay, views)
    return exchanged([ToldApart(one.pairs, one.told_apart / max(one.pairs, 1)) for one in tested])


def swap_test(replay: Replay, views: Sequence[Microdata], pairs: int = PAIRS, seed: int = 0) -> list[Swapped]:
    """What a series of all views shows of so many exchanges in every release, fewer where there are no more pairs.

    From the second release on it is so many of newcomers and so many of others.

    Raises:
        PolicyError: a view has no pseudonyms.
        CannotPublish: the views cannot be published as they are.
    """
    if any(view.people is None for view in views):
        raise PolicyError("the swap test follows people over releases; give views with pseudonyms")
    run = _Run(replay, tuple(views), lambda number: np.random.default_rng([seed, number]))
    before, made = run.published()
    rng = np.random.default_rng(seed)
    found = []
    for last in range(len(views)):
        people = views[last].people
        assert people is not None
        new = before[last].find(people) < 0
        coming, others = (
            _pairs(views[: last + 1], made[: last + 1], pairs, rng, among) for among in (new, ~new)
        )
        apart = run.told_apart(before, made, coming)
        all_apart = apart + run.told_apart(before, made, others)
        found.append(Swapped(last + 1, len(coming) + len(others), all_apart, len(coming), apart))
    return found


def swap_newcomers(
    replay: Replay,
    view: Microdata,
    memory: Memory,
    chance: Chance,
    allowed: float = 1.0,
    pairs: int = PAIRS,
) -> IdentityResult:
    """The share of pairs told apart among those whom the release of this view shows for the first time.

    `memory` is that before the release, and `chance` what it is made with. Of so many `pairs` some are tried until it
    is clear that more than the `allowed` share is told apart.
    """
    run = _Run(replay, (view,), chance, memory)
    made = [run.grouped(0, view, memory)]
    assert view.people is not None
    new = memory.find(view.people) < 0
    chosen = _pairs([view], made, pairs, np.random.default_rng(0), new)
    most, found = int(allowed * len(chosen) + 1e-9), []
    for exchange in (_exchange_values, _exchange_places):
        apart = tried = 0
        while tried < len(chosen) and apart <= most:
            apart += run.tells_apart([memory], made, chosen[tried], exchange)
            tried += 1
        found.append(ToldApart(tried, apart / max(tried, 1)))
        if not apart:
            break
    return exchanged([min(found, key=lambda one: one.told_apart)])


@dataclass(frozen=True)
class _Run:
    """A publisher, the views that follow each other after what is remembered, and the chance of each release."""

    replay: Replay
    views: tuple[Microdata, ...]
    chance: Chance
    memory: Memory = field(default_factory=Memory.empty)

    def published(self) -> tuple[list[Memory], list[Grouping]]:
        """The memory before each of the views, and how they are grouped."""
        before, made = [self.memory], []
        for number, view in enumerate(self.views):
            made.append(self.grouped(number, view, before[-1]))
            before.append(self.remembered(number, view, made[-1], before[-1]))
        return before, made

    def grouped(self, number: int, view: Microdata, memory: Memory) -> Grouping:
        """How a view (0, 1, ...) is grouped."""
        return self.replay.publisher.publish(view, memory, self.chance(self._release(number)))

    def remembered(self, number: int, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """The memory after a view was grouped so."""
        digests = view.row_digests(self.replay.secret)
        seen = sight(view, digests, grouping.group + 1, self._release(number), memory)
        return self.replay.publisher.remember(view, grouping, memory.merged(seen))

    def _release(self, number: int) -> int:
        return self.memory.release + number + 1

    def told_apart(self, before: list[Memory], made: list[Grouping], pairs: list[list[_Rows | None]]) -> int:
        """How many pairs are told apart under the coupling of chance that tells fewer."""
        apart = sum(self.tells_apart(before, made, rows, _exchange_values) for rows in pairs)
        if apart:
            apart = min(apart, sum(self.tells_apart(before, made, rows, _exchange_places) for rows in pairs))
        return apart

    def tells_apart(
        self, before: list[Memory], made: list[Grouping], rows: list[_Rows | None], exchange: _Exchange
    ) -> bool:
        """Whether the releases up to the last of `rows` differ if two people, in these rows, exchange values."""
        first = next(i for i, both in enumerate(rows) if both is not None)
        memory = before[first]
        for number, both in enumerate(rows[first:], start=first):
            view = self.views[number] if both is None else exchange(self.views[number], both)
            try:
                again = self.grouped(number, view, memory)
                # Both were in one group: if they are again, it does not matter which of the two rows is whose.
                if _public(again, view) != _public(made[number], self.views[number]) or _parted(again, both):
                    return True
                if number + 1 < len(rows):
                    memory = self.remembered(number, view, again, memory)
            except CannotPublish:
                return True
        return False


def _exchange_values(view: Microdata, both: _Rows) -> Microdata:
    codes = view.codes.copy()
    codes[list(both)] = codes[list(both[::-1])]
    return replace(view, codes=codes)


def _exchange_places(view: Microdata, both: _Rows) -> Microdata:
    points = view.points.copy()
    points[:, list(both)] = points[:, list(both[::-1])]
    return replace(view, points=points)


def _parted(grouping: Grouping, both: _Rows | None) -> bool:
    """Whether two rows are in different groups, where both are there."""
    group = _together(grouping)
    return both is not None and bool(group[both[0]] != group[both[1]])


def _pairs(
    views: Sequence[Microdata],
    made: Sequence[Grouping],
    pairs: int,
    rng: np.random.Generator,
    among: BoolArray,
) -> list[list[_Rows | None]]:
    """Pairs of some people of the last view, drawn at random: their rows in every view, `None` where they are not."""
    names = [pseudonym_texts(view.people).to_list() for view in views if view.people is not None]
    places = [{name: row for row, name in enumerate(one)} for one in names]
    groups = [_together(grouping) for grouping in made]
    group, codes = np.where(among, groups[-1], -1), views[-1].codes
    known: dict[str, tuple[tuple[int, int], ...] | None] = {}

    def history(name: str) -> tuple[tuple[int, int], ...] | None:
        """In which views somebody is, and her group there; `None` where her value changed."""
        if name not in known:
            there = [(i, place[name]) for i, place in enumerate(places) if name in place]
            values = {int(views[i].codes[row]) for i, row in there}
            known[name] = tuple((i, int(groups[i][row])) for i, row in there) if len(values) == 1 else None
        return known[name]

    found: list[list[_Rows | None]] = []
    for row in rng.permutation(np.flatnonzero(group >= 0)):
        mine = history(names[-1][row])
        if mine is None:
            continue
        others = np.flatnonzero((group == group[row]) & (codes != codes[row]))
        for other in rng.permutation(others)[:100]:
            if history(names[-1][other]) == mine:
                both = names[-1][row], names[-1][other]
                found.append([(p[both[0]], p[both[1]]) if both[0] in p else None for p in places])
                break
        if len(found) == pairs:
            break
    return found


def _together(grouping: Grouping) -> IntArray:
    """The group of every row, also where its value is not counted yet."""
    return grouping.group if grouping.snapshots is None else grouping.snapshots.listed


def _public(grouping: Grouping, view: Microdata) -> tuple[bytes, ...]:
    """All that a release shows, whatever the numbers of groups, which are drawn anew."""
    group = _together(grouping).astype(np.int64)
    rows = np.flatnonzero(group >= 0)
    _, first = np.unique(group[rows], return_index=True)
    number = np.full(grouping.groups + 1, -1, dtype=np.int64)
    number[group[rows[np.sort(first)]]] = np.arange(len(first))
    nobodys = np.bincount(number[grouping.counterfeit_group], minlength=grouping.groups)
    counted = np.flatnonzero(grouping.group >= 0)
    of = np.concatenate([number[grouping.group[counted]], number[grouping.counterfeit_group]])
    code = np.concatenate([view.codes[counted], grouping.counterfeit_code])
    values = np.column_stack([of, code])[np.lexsort((code, of))]
    shown: list[np.ndarray[Any, Any]] = [number[group], grouping.group >= 0, nobodys, values]
    if grouping.regions is not None:
        shown += [part[np.argsort(number[: len(part)])] for part in grouping.regions if part is not None]
    if grouping.snapshots is not None:
        shown.append(grouping.snapshots.as_of[np.argsort(number[: grouping.groups])])
        waiting = np.flatnonzero((group >= 0) & (grouping.group < 0))
        shown.append(np.bincount(number[group[waiting]], minlength=grouping.groups))
    return tuple(np.ascontiguousarray(part).tobytes() for part in shown)
