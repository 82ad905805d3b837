"""The linear attack: all releases at once, as equations over who has what.

Every published group and value is an equation; together they tell far more than group by group. What they leave is
searched and weighed over *worlds*, ways to give everyone a value that explain all releases. See docs/linear.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.attacks.excluding.candidates import Unknowns, lives, sizes
from republish.attacks.excluding.compromised import starting_sets
from republish.attacks.excluding.tau import eliminate
from republish.attacks.history import History
from republish.attacks.linear.board import Board, board_of
from republish.attacks.linear.condensed import condensed
from republish.attacks.linear.equations import solve
from republish.attacks.linear.likelihood import Budget, WeighedBoard, surely_open, weigh
from republish.attacks.linear.search import _conclude, new_state
from republish.attacks.results import Findings, Unclear

__all__ = ["WHO", "Budget", "LinearFindings", "Stages", "certainly", "linear"]

WHO = Budget(moves=1, sweeps=2, longer=0)
"""Enough to find who is determined, and not how likely every value is: much faster."""

_OPEN, _GIVEN, _PROPAGATION, _EQUATIONS, _SEARCH, _UNDECIDED = range(6)


@dataclass(frozen=True)
class Stages:
    """How many published lives each stage determined, and what is known of the others.

    `given` are those of compromised people. `open` have two values or more for certain; of the `undecided` the budget
    was too small to tell. Probabilities of the `counted` are exact, those of the `sampled` shares of sampled worlds;
    for the rest no world was found and candidates count alike. `drift` is two standard errors of the probability that
    is known least, by how far the chains are apart, and of the `unsettled` it is above .1. `unconfirmed` finds modulo
    the prime had no proof and were not used; the equations of the `unsolved` were too many.
    """

    given: int
    propagation: int
    equations: int
    search: int
    open: int
    undecided: int
    counted: int
    sampled: int
    drift: float
    unsettled: int
    unconfirmed: int
    unsolved: int


@dataclass(frozen=True)
class LinearFindings(Findings):
    """Findings, with how they came about, and of which lives it is undecided whether another value is possible."""

    stages: Stages
    undecided: BoolArray

    def unclear(self, spared: BoolArray) -> Unclear:
        """Of whom it is not known whether they are determined, and what had not settled."""
        return Unclear.of(self, spared)


def linear(
    history: History, known: BoolArray, cascade: bool = True, budget: Budget | None = None, seed: int = 0
) -> LinearFindings:
    """What all equations together leave of every life, and how likely each value is over all worlds.

    `cascade` is there for the sake of other attacks: equations are solved all together or not at all.
    """
    budget = budget or Budget()
    rng = np.random.default_rng(seed)
    everything = lives(history)
    unknowns = condensed(everything)
    sets = starting_sets(unknowns, known)
    stage = np.where(known[unknowns.person] & (sizes(sets) == 1), _GIVEN, _OPEN)
    _propagated(unknowns, sets, stage)
    fresh = np.ones(unknowns.count, dtype=np.bool_)
    unweighed = fresh.copy()
    unconfirmed, too_many, checked = 0, 0, True
    while True:
        unweighed |= fresh
        board = board_of(unknowns, sets)
        theirs = (board.unknown >= 0)[board.net.owner]  # nothing is kept of the rows of nobody
        unsolved_yet = np.append(fresh, False)[board.unknown]
        if unsolved_yet.any():
            unsolved_yet &= ~surely_open(board, _truth(unknowns, board), budget, int(rng.integers(2**31)))
        excluded, unproved, unsolved = solve(board, rng, unsolved_yet)
        unconfirmed, too_many = unconfirmed + unproved, max(too_many, unsolved)
        by = _EQUATIONS
        if not (excluded & theirs).any():
            fresh[:] = False
            if not checked:
                checked, before = True, sizes(sets)
                _propagated(unknowns, sets, stage)
                fresh = _touched(unknowns, board, sizes(sets) != before)
                if fresh.any():
                    continue
            everyone = unweighed.all() or not unweighed.any()
            some = None if everyone else np.append(unweighed, False)[board.unknown]
            weighing = weigh(board, _truth(unknowns, board), budget, int(rng.integers(2**31)), some)
            unweighed[:] = False
            excluded, by = weighing.impossible & weighing.sampled[board.net.owner], _SEARCH
            if not (excluded & theirs).any():
                if everyone:
                    break
                continue  # with everyone, for their probabilities
        fresh, checked = _concluded(unknowns, sets, board, excluded, stage, by), False
    weighing.sample(budget, int(rng.integers(2**31)))
    board.exclude(sets, np.flatnonzero(weighing.impossible))
    _mark(sets, stage, _SEARCH)
    confidence, likeliest = _confidence(unknowns, sets, weighing)
    stages = _stages(unknowns, stage, weighing, (unconfirmed, too_many))
    return LinearFindings(everything, sets, confidence, likeliest, stages, stage == _UNDECIDED)


def certainly(history: History, known: BoolArray) -> LinearFindings:
    """The same people determined and undecided as `linear` finds; probabilities are rough, which is much faster."""
    found = linear(history, known, budget=WHO)
    return linear(history, known) if found.undecided.any() else found  # who watches longer may decide on more


def _concluded(
    unknowns: Unknowns, sets: WordArray, board: Board, excluded: BoolArray, stage: IntArray, by: int
) -> BoolArray:
    """Exclude cells, and what follows at once; the unknowns of components that this changed."""
    before = sizes(sets)
    state, cells = new_state(board), np.flatnonzero(excluded)
    board.exclude(sets, cells)
    _mark(sets, stage, by)
    _conclude(board.net, state, cells)
    board.exclude(sets, state.trail[: state.height[0]])
    _mark(sets, stage, _PROPAGATION)
    return _touched(unknowns, board, sizes(sets) != before)


def _touched(unknowns: Unknowns, board: Board, changed: BoolArray) -> BoolArray:
    """The unknowns of all components of which one has changed."""
    part, mine = board.parts(linked=False), board.unknown >= 0
    touched = np.bincount(part[mine], changed[board.unknown[mine]], minlength=board.count + 1) > 0
    fresh = np.zeros(unknowns.count, dtype=np.bool_)
    fresh[board.unknown[mine]] = touched[part[mine]]
    return fresh


def _propagated(unknowns: Unknowns, sets: WordArray, stage: IntArray) -> None:
    eliminate(unknowns, sets)
    _mark(sets, stage, _PROPAGATION)


def _mark(sets: WordArray, stage: IntArray, name: int) -> None:
    """Note which stage determined whoever has one candidate left and was open so far."""
    stage[(stage == _OPEN) & (sizes(sets) == 1)] = name


def _truth(unknowns: Unknowns, board: Board) -> IntArray:
    """The true codes of a board's unknowns, -1 where there is none."""
    truth = np.append(unknowns.truth, -1)
    return truth[board.unknown]


def _confidence(unknowns: Unknowns, sets: WordArray, weighing: WeighedBoard) -> tuple[FloatArray, FloatArray]:
    """The probability of everyone's true value and of the likeliest; of the latter twice where truth is not given."""
    board, net = weighing.board, weighing.board.net
    even = 1.0 / np.maximum(sizes(sets), 1)
    likeliest, confidence = even.copy(), even.copy()
    mine = np.flatnonzero(board.unknown >= 0)
    who = board.unknown[mine]
    if len(who):
        likeliest[who] = np.maximum.reduceat(weighing.probability, net.cell_start[:-1])[mine]
        true = np.zeros(unknowns.count)
        theirs = np.flatnonzero(
            (board.unknown[net.owner] >= 0) & (board.code == _truth(unknowns, board)[net.owner])
        )
        true[board.unknown[net.owner[theirs]]] = weighing.probability[theirs]
        confidence[who] = np.where(unknowns.truth[who] >= 0, true[who], likeliest[who])
    return confidence, likeliest


def _stages(
    unknowns: Unknowns, stage: IntArray, weighing: WeighedBoard, equations: tuple[int, int]
) -> Stages:
    """Numbers of published lives."""
    board = weighing.board
    seen = np.bincount(board.net.owner, weighing.seen, minlength=board.count)
    mine = board.unknown >= 0
    undecided = board.unknown[mine & (seen < 2)]
    stage[undecided[stage[undecided] == _OPEN]] = _UNDECIDED
    published = np.diff(unknowns.place_start) > 0
    number = np.bincount(stage[published], minlength=6)
    there = published[board.unknown] & mine
    return Stages(
        given=int(number[_GIVEN]),
        propagation=int(number[_PROPAGATION]),
        equations=int(number[_EQUATIONS]),
        search=int(number[_SEARCH]),
        open=int(number[_OPEN]),
        undecided=int(number[_UNDECIDED]),
        counted=int(np.count_nonzero(weighing.counted & there)),
        sampled=int(np.count_nonzero(weighing.sampled & there)),
        drift=float(weighing.off.max(initial=0.0)),
        unsettled=int(np.count_nonzero(weighing.unsettled & there)),
        unconfirmed=equations[0],
        unsolved=equations[1],
    )
