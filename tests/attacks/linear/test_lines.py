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
from republish.attacks.linear.lines import lined_up
from republish.attacks.linear.sampling import Walkers
from republish.attacks.linear.search import new_state
from republish.attacks.linear.ways_out import (
    Tracks,
    _apart,
    _cell,
    _frequent,
    _lay,
    _line_sweeps,
    _nth,
    _reached,
    _steps,
    _tally,
    _target,
    _tracks,
)
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


@pytest.mark.parametrize("gaps", [0.3, 0.8])
@pytest.mark.parametrize("seed", range(8))
def test_ways_out_draw_every_world_as_often_as_the_others(seed: int, gaps: float) -> None:
    history = batches(seed, lives_of=4, gaps=gaps)
    board = open_board(history)
    if not board.count:
        return
    lined = lined_up(board)
    assert (lined.line >= 0).all()
    who = np.arange(board.count)
    world = _true_world(history, board)
    walkers = Walkers(who, np.array([0, board.count]), np.array([board.count]))
    seen: Counter[tuple[int, ...]] = Counter()
    tallied = np.zeros(board.cells)
    for i in range(4000):
        _line_sweeps(board.net, board.code, world, lined.ways, walkers, 3, i, tallied)
        assert i % 100 or _is_world(board.net, world, who)
        seen[tuple(world)] += 1
    reached = len(seen)
    assert reached <= _solutions(board)
    expected = 4000 / reached
    if reached > 1 and expected >= 20:
        spread = sum((n - expected) ** 2 / expected for n in seen.values())
        assert spread < 2.0 * reached + 40  # chi squared, of draws that are nearly independent
    among_worlds = (
        np.bincount(np.concatenate([np.array(one) for one in seen]), minlength=board.cells) / reached
    )
    if expected >= 20:
        assert np.abs(tallied / 12000 - among_worlds).max() < 0.03


def _true_world(history: History, board: Board) -> np.ndarray:
    truth = np.append(lives(history).truth, -1)[board.unknown]
    world, (have,) = first_world(board, truth, [np.arange(board.count)], new_state(board), 1000)
    assert have
    return world


@pytest.mark.parametrize("seed", range(10))
def test_steps_are_the_lives_that_lead_from_point_to_point(seed: int) -> None:
    history = batches(seed, lives_of=8, values=4)
    board = open_board(history)
    lined, value = lined_up(board), board.code[_true_world(history, board)]
    ways = lined.ways
    mine = np.flatnonzero(lined.line == np.bincount(lined.line).argmax())
    tracks = _tracks(ways, Walkers(mine, np.array([0, len(mine)]), np.array([1])), 4)
    base, points, _ = _lay(value, ways, mine, tracks)
    for u in mine.tolist():
        on, back = int(value[u]), int(value[u] + 1) % 4
        expected: dict[tuple[int, int], set[int]] = {}
        for v in set(mine.tolist()) - {u}:
            begin, end = int(ways.begin[ways.start[v]] - base), int(ways.end[ways.start[v]] - base)
            if ways.start[v + 1] - ways.start[v] == 1 and value[v] in (on, back):
                expected.setdefault((end, begin) if value[v] == on else (begin, end), set()).add(v)
        _steps(value, ways, u, base, points, on, back, tracks)
        for to in range(points):
            for at in range(points):
                lead = expected.get((to, at), set())
                assert tracks.steps[to, at] == len(lead)
                assert {_nth(value, ways, u, base, on, back, at, to, i) for i in range(len(lead))} == lead
        _check_reached(tracks, points)


def _check_reached(tracks: Tracks, points: int) -> None:
    """All ways of one to three lives, of weight 1/2 each, from everywhere to everywhere."""
    steps = tracks.steps[:points, :points].T / 2
    expected = steps + steps @ steps + steps @ steps @ steps
    for at in range(points):
        for goal in range(points):
            assert _reached(points, at, goal, 0.5, 3, tracks) == pytest.approx(expected[at, goal])


def test_frequent_values_are_tried_more_often_and_the_way_back_is_weighed() -> None:
    board = open_board(batches(2, values=4))
    net = board.net
    u = int(np.diff(net.cell_start).argmax())
    first, last = int(net.cell_start[u]), int(net.cell_start[u + 1])
    rows = [
        min(int(net.need[s]) for s in net.slot[net.slot_start[c] : net.slot_start[c + 1]])
        for c in range(first, last)
    ]
    assert [_frequent(net, c) for c in range(first, last)] == rows
    drawn: Counter[int] = Counter()
    for _ in range(4000):
        cell, ratio = _target(net, first, last, first)
        there = rows[cell - first] / sum(rows[1:])
        assert ratio == pytest.approx(rows[0] / (sum(rows) - rows[cell - first]) / there)
        drawn[cell - first] += 1
    assert drawn[0] == 0
    for i in range(1, len(rows)):
        assert drawn[i] / 4000 == pytest.approx(rows[i] / sum(rows[1:]), abs=0.05)


@pytest.mark.parametrize("seed", range(10))
def test_a_life_is_tallied_with_all_exchanges_that_are_possible(seed: int) -> None:
    history = batches(seed, lives_of=10, values=4)
    board = open_board(history)
    net, ways, world = board.net, lined_up(board).ways, _true_world(history, board)
    value = board.code[world]
    stays = [
        tuple(zip(ways.begin[a:b].tolist(), ways.end[a:b].tolist(), strict=True))
        for a, b in zip(ways.start[:-1], ways.start[1:], strict=True)
    ]
    for u in range(board.count):
        mates = [w for w in range(board.count) if stays[w] == stays[u]]
        expected = np.zeros(board.cells)
        for w in mates:
            mine, hers = _cell(net, board.code, u, value[w]), _cell(net, board.code, w, value[u])
            fits = mine >= 0 and hers >= 0 and _apart(net, world, mine) and _apart(net, world, hers)
            expected[mine if fits else world[u]] += 1 / len(mates)
        tallied = np.zeros(board.cells)
        _tally(net, board.code, world, value, ways, u, tallied)
        assert tallied == pytest.approx(expected)


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
        budget=Budget(nodes=0, largest=0, thorough=4, sweeps=2000, longer=0),
    )
    every = worlds(history, set())
    assert every
    number: Counter[int] = Counter()
    for unknown, (person, code) in enumerate(zip(found.unknowns.person, found.unknowns.truth, strict=True)):
        life = number[int(person)]
        number[int(person)] += 1
        share = sum(world[(int(person), life)] == code for world in every) / len(every)
        assert found.confidence[unknown] == pytest.approx(share, abs=0.05)
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
