"""Lines of groups: fewer equations leave the same worlds, ways out draw every world alike, closed batches are exact."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from attacks.histories import Series, array
from attacks.linear.twins import worlds
from republish.attacks import Adversary, History, Table, attack
from republish.attacks.excluding.candidates import intersected, lives
from republish.attacks.excluding.tau import eliminate
from republish.attacks.linear import Budget, linear
from republish.attacks.linear.board import Board, board_of
from republish.attacks.linear.condensed import condensed, lines_of
from republish.attacks.linear.lines import Ways, _cell, _line_sweeps, _step, lined_up
from republish.attacks.linear.sampling import Walkers
from republish.attacks.linear.search import new_state
from republish.attacks.linear.worlds import _is_world, first_world
from republish.memory.event_lists import Appearances, events_of


def batches(
    seed: int, lives_of: int = 6, releases: int = 4, values: int = 3, gaps: float = 0.3, closed: bool = False
) -> History:
    """Two batches that keep their members, who come, go, return and change at random."""
    rng = np.random.default_rng(seed)
    people = 2 * lives_of
    begin = np.zeros(people, dtype=int) if closed else rng.integers(0, 2, people)
    end = rng.integers(2 if closed else begin + 1, releases + 1)
    away = (
        np.full(people, -1)
        if closed
        else np.where(rng.random(people) < gaps, rng.integers(0, releases, people), -1)
    )
    code = rng.integers(0, values, people)
    tables, appearances, truth = [], [], []
    for i in range(releases):
        if not closed:
            code = np.where(rng.random(people) < 0.1, rng.integers(0, values, people), code)
        who = np.flatnonzero((begin <= i) & (i < end) & (away != i))
        group = np.unique(who % 2, return_inverse=True)[1]
        tables.append(Table(who, group, group, code[who]))
        appearances.append(Appearances(who, code[who], np.zeros(len(who), np.uint64)))
        truth.append(code[who])
    return History.of(people, values, tables, events_of(people, appearances), truth)


def open_board(history: History) -> Board:
    unknowns = lives(history)
    return board_of(unknowns, intersected(unknowns))


# Condensed ----------------------------------------------------------------------------------------


def test_groups_are_lines_unless_two_of_a_release_share_people() -> None:
    line = lines_of(array([0, 0, 1, 1, 2, 2]), array([0, 2, 1, 3, 1, 4]), array([0, 0, 1, 1, 1]))
    assert line.line[0] == line.line[2] >= 0
    assert line.place[[0, 2]].tolist() == [0, 1]
    assert line.line[[1, 3, 4]].tolist() == [-1, -1, -1]


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("seed", range(25))
def test_condensed_equations_leave_the_same_worlds(seed: int, closed: bool) -> None:
    history = batches(seed, lives_of=4, closed=closed)
    unknowns = lives(history)
    sets = intersected(unknowns)
    eliminate(unknowns, sets)
    fewer = condensed(unknowns)
    assert len(fewer.of_appearance) <= len(history.person)
    assert _solutions(board_of(fewer, sets)) == _solutions(board_of(unknowns, sets)) > 0


def _solutions(board: Board) -> int:
    """How many worlds a board has, all choices tried one by one."""
    net, held = board.net, np.zeros(board.slots, dtype=np.int64)
    chosen: list[int] = []

    def walk(u: int) -> int:
        if u == board.count:
            return int((held == net.need).all())
        total = 0
        for c in range(net.cell_start[u], net.cell_start[u + 1]):
            slots = net.slot[net.slot_start[c] : net.slot_start[c + 1]]
            if (
                (held[slots] < net.need[slots]).all()
                and net.older[c] not in chosen
                and net.newer[c] not in chosen
            ):
                held[slots] += 1
                chosen.append(c)
                total += walk(u + 1)
                chosen.pop()
                held[slots] -= 1
        return total

    return walk(0)


def test_a_group_that_repeats_the_one_before_says_nothing() -> None:
    week = [({"a": "x", "b": "y", "c": "z"}, [])]
    history = Series([week, week, week]).history
    assert len(condensed(lives(history)).of_appearance) == 3


def test_a_batch_that_nobody_joins_is_one_table_of_lives() -> None:
    first = [({"a": "x", "b": "y", "c": "y", "d": "z"}, [])]
    history = Series([first, [({"c": "y", "d": "z"}, [])]]).history
    fewer = condensed(lives(history)).history
    assert np.diff(fewer.member_start).tolist() == [2, 2]
    assert fewer.value_code.tolist() == [0, 1, 1, 2]


def test_rows_of_nobody_leave_a_line_as_it_is() -> None:
    history = Series([[({"a": "x", "b": "y"}, ["z"])], [({"a": "x"}, ["z"])]]).history
    assert len(condensed(lives(history)).of_appearance) == 3


# Ways out -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_ways_out_draw_every_world_as_often_as_the_others(seed: int) -> None:
    history = batches(seed, lives_of=4)
    board = open_board(history)
    if not board.count:
        return
    lined = lined_up(board)
    assert (lined.line >= 0).all()
    unknowns = lives(history)
    truth = np.append(unknowns.truth, -1)[board.unknown]
    who = np.arange(board.count)
    world, (have,) = first_world(board, truth, [who], new_state(board), 1000)
    assert have
    walkers = Walkers(who, np.array([0, board.count]), np.array([board.count]))
    seen: Counter[tuple[int, ...]] = Counter()
    none = np.zeros(board.cells)
    for i in range(6000):
        _line_sweeps(board.net, board.code, world, lined.ways, walkers, 3, i, none)
        assert i % 100 or _is_world(board.net, world, who)
        seen[tuple(world)] += 1
    all_worlds = _solutions(board)
    reached = len(seen)
    assert reached <= all_worlds
    expected = 6000 / reached
    if reached > 1 and expected >= 20:
        spread = sum((n - expected) ** 2 / expected for n in seen.values())
        assert spread < 2.0 * reached + 40  # chi squared, of draws that are nearly independent


@pytest.mark.parametrize("seed", range(20))
def test_a_step_finds_the_lives_that_lead_away(seed: int) -> None:
    board = open_board(batches(seed, lives_of=8, values=4))
    rng = np.random.default_rng(seed)
    net, ways = board.net, lined_up(board).ways
    value = board.code[net.cell_start[:-1] + rng.integers(0, np.diff(net.cell_start))]
    near = np.empty(2 * board.count, dtype=np.int64)
    for at in range(len(ways.out_start) - 1):
        u, on, back = int(rng.integers(board.count)), *(int(v) for v in rng.choice(4, 2, replace=False))
        expected = _twin_of_step(board, ways, value, u, at, on, back)
        many, drawn, cell = _step(net, board.code, value, ways, u, at, on, back, near)
        assert many == len(expected)
        assert (drawn, cell) in expected or not expected


def _twin_of_step(
    board: Board, ways: Ways, value: np.ndarray, u: int, at: int, on: int, back: int
) -> set[tuple[int, int]]:
    found = set()
    for v in range(board.count):
        if v == u or ways.start[v + 1] - ways.start[v] != 1:
            continue
        codes = board.code[board.net.cell_start[v] : board.net.cell_start[v + 1]].tolist()
        first = int(board.net.cell_start[v])
        if ways.begin[ways.start[v]] == at and value[v] == on and back in codes:
            found.add((v, first + codes.index(back)))
        if ways.end[ways.start[v]] == at and value[v] == back and on in codes:
            found.add((v, first + codes.index(on)))
    return found


def test_the_cell_of_a_value_is_found_where_there_is_one() -> None:
    board = open_board(batches(1, values=4))
    for u in range(board.count):
        cells = range(board.net.cell_start[u], board.net.cell_start[u + 1])
        places = {int(board.code[c]): c for c in cells}
        assert [_cell(board.net, board.code, u, v) for v in range(4)] == [places.get(v, -1) for v in range(4)]


# The attack ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_closed_batches_are_exact_and_never_sampled(seed: int) -> None:
    history = batches(seed, lives_of=7, closed=True)
    known = np.zeros(history.people, dtype=np.bool_)
    known[:2] = True
    found = linear(history, known, budget=Budget(nodes=0, largest=0))
    assert (found.stages.sampled, found.stages.undecided, found.stages.unsettled) == (0, 0, 0)
    every = worlds(history, {0, 1})
    assert every
    for unknown, (person, code) in enumerate(zip(found.unknowns.person, found.unknowns.truth, strict=True)):
        share = sum(world[(int(person), 0)] == code for world in every) / len(every)
        assert found.confidence[unknown] == pytest.approx(share)


@pytest.mark.parametrize("seed", range(4))
def test_sampled_shares_of_open_batches_are_those_of_all_worlds(seed: int) -> None:
    history = batches(seed, lives_of=6, values=2)
    found = linear(
        history,
        np.zeros(history.people, dtype=np.bool_),
        budget=Budget(nodes=0, largest=0, thorough=4, sweeps=2000),
    )
    every = worlds(history, set())
    assert every
    number: Counter[int] = Counter()
    for unknown, (person, code) in enumerate(zip(found.unknowns.person, found.unknowns.truth, strict=True)):
        life = number[int(person)]
        number[int(person)] += 1
        share = sum(world[(int(person), life)] == code for world in every) / len(every)
        assert found.confidence[unknown] == pytest.approx(share, abs=0.08)
    assert found.stages.undecided == 0


def test_names_of_one_person_are_compromised_and_counted_together() -> None:
    history = batches(3, lives_of=6, closed=True)
    bearer = np.arange(history.people)
    bearer[-1] = 0
    twice = replace(history, bearer=bearer)
    adversary = Adversary(compromised=[0])
    assert np.flatnonzero(adversary.known(twice)).tolist() == [0, history.people - 1]
    (found,) = attack(replace(history, snapshots=twice), adversary, ["linear"])
    assert found.summary.people == history.people - 2
    (every,) = attack(replace(history, snapshots=twice), Adversary(), ["linear"])
    assert every.summary.people == history.people - 1
    assert len(every.risk) == history.people - 1
