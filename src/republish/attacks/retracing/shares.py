"""How likely every value of a group is to be that of each of its members, in one release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.excluding.candidates import lives
from republish.attacks.history import History
from republish.attacks.results import Findings, Unclear


@dataclass(frozen=True)
class Shares:
    """Of the appearances of a release in their order: the values of the group, as the history has them, and their odds.

    Appearance a has the lines `start[a]` to `start[a + 1]`. What is `possible` has not been excluded for certain.
    `unsettled` appearances have probabilities that differ from one run to the next.
    """

    start: IntArray
    code: IntArray
    likely: FloatArray
    possible: BoolArray
    unsettled: BoolArray

    def put(self, who: IntArray, weight: FloatArray, possible: BoolArray, unsettled: BoolArray) -> None:
        """Weigh the values of some appearances, in the order of their group's, anew; what was excluded stays so."""
        lines = self.start[who][:, None] + np.arange(weight.shape[1])
        self.possible[lines] &= possible
        left = np.where(self.possible[lines], weight, 0.0)
        self.likely[lines] = left / left.sum(axis=1, keepdims=True)
        self.unsettled[who] = unsettled


@dataclass(frozen=True)
class RetracedFindings(Findings):
    """Findings of an attack that draws worlds at random, and of which unknowns that had not settled."""

    unsettled: BoolArray

    def unclear(self, spared: BoolArray) -> Unclear:
        """How many probabilities had not settled."""
        late = self.unsettled & ~spared[self.unknowns.person]
        return Unclear(0, 0, int(np.count_nonzero(late)), 0)


def dealt(history: History, number: int, known: BoolArray) -> Shares:
    """What a release (0, 1, ...) says to whom all worlds are alike: shares of the rows that nobody is known to have."""
    groups = slice(history.group_start[number], history.group_start[number + 1])
    first, last = history.member_start[groups.start], history.member_start[groups.stop]
    group = history.group[first:last]
    values = np.diff(history.value_start)[group]
    start = np.append(0, np.cumsum(values))
    owner = np.repeat(np.arange(last - first), values)
    place = history.value_start[group][owner] + np.arange(len(owner)) - start[:-1][owner]
    code, theirs = history.value_code[place].astype(np.int64), known[history.person[first:last]]
    left = history.value_count.astype(np.int64).copy()
    if theirs.any():
        assert history.truth is not None
        truth = history.truth[first:last]
        np.subtract.at(left, place[theirs[owner] & (code == truth[owner])], 1)
        mine = theirs[owner]
        likely = np.where(mine, code == truth[owner], left[place]).astype(np.float64)
    else:
        likely = left[place].astype(np.float64)
    whole = np.bincount(owner, likely, minlength=last - first)
    return Shares(start, code, likely / whole[owner], likely > 0, np.zeros(last - first, dtype=np.bool_))


def findings(history: History, parts: Sequence[Shares]) -> RetracedFindings:
    """What the releases tell, each alone: every appearance is an unknown of its own."""
    unknowns = lives(replace(history, events=None))
    each = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.start) for part in parts)])
    code, likely, possible, unsettled = (
        np.concatenate([np.zeros(0, kind), *(getattr(part, name) for part in parts)])
        for name, kind in (("code", np.int64), ("likely", float), ("possible", bool), ("unsettled", bool))
    )
    owner = np.repeat(unknowns.of_appearance, each)
    sets = np.zeros((unknowns.count, max(1, -(-history.values // 64))), dtype=np.uint64)
    bit = np.left_shift(np.uint64(1), (code & 63).astype(np.uint64))
    np.bitwise_or.at(sets, (owner[possible], code[possible] >> 6), bit[possible])
    likeliest, confidence = np.zeros(unknowns.count), np.zeros(unknowns.count)
    np.maximum.at(likeliest, owner, likely)
    true = code == unknowns.truth[owner]
    confidence[owner[true]] = likely[true]
    late = np.zeros(unknowns.count, dtype=np.bool_)
    late[unknowns.of_appearance] = unsettled
    return RetracedFindings(
        unknowns, sets, likeliest if history.truth is None else confidence, likeliest, late
    )
