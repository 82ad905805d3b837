"""Elimination modulo a prime against fractions, confirmation over the integers, and the moves of the sampler."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.histories import Series, random_history
from attacks.linear.twins import determined, worlds
from republish.attacks.excluding.candidates import intersected, lives
from republish.attacks.linear import elimination
from republish.attacks.linear._sparse import PRIME, _inverse
from republish.attacks.linear.board import Board, board_of
from republish.attacks.linear.elimination import Rows, _echelon, eliminate_rows
from republish.attacks.linear.equations import alike, solve
from republish.attacks.linear.proof import combination, confirmed
from republish.attacks.linear.sampling import Walkers, _sweeps
from republish.attacks.linear.search import GAVE_UP, _count, _support, new_state
from republish.attacks.linear.worlds import _is_world, first_world

MATRICES = st.integers(1, 9).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 1), min_size=columns, max_size=columns), min_size=1, max_size=9
    )
)
CANCELS = [[1, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]]
"""u+a+b, a+c, b+c: they add up to u + 2(a+b+c), which is u modulo 2 and determines nothing over the integers."""


def rows_of(matrix: list[list[int]], sides: list[int] | None = None) -> Rows:
    """A matrix with its right sides as sparse rows."""
    full = np.array(matrix, dtype=np.int64)
    columns = full.shape[1]
    if sides is not None:
        full = np.column_stack([full, sides])
    row, column = np.nonzero(full)
    start = np.append(0, np.cumsum(np.bincount(row, minlength=len(full))))
    return Rows(start, column, full[row, column], columns)


def product(matrix: list[list[int]], rng: np.random.Generator) -> list[int]:
    """Right sides that have a solution of zeros and ones."""
    return (np.array(matrix) @ rng.integers(0, 2, len(matrix[0]))).tolist()


@given(MATRICES, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 2.0]))
@settings(max_examples=200, deadline=None)
def test_the_null_vector_is_zero_where_fractions_leave_one_value(
    matrix: list[list[int]], seed: int, dense: float
) -> None:
    rng = np.random.default_rng(seed)
    sides = product(matrix, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "_DENSE", dense)
        solved = eliminate_rows(rows_of(matrix, sides))
    null = solved.null_vector(rng)
    expected = determined(matrix, sides)
    assert (np.array(matrix) @ null % PRIME == 0).all()
    assert (np.array(matrix) @ solved.solution() % PRIME == np.array(sides)).all()
    assert set(np.flatnonzero(null == 0).tolist()) == set(expected)
    assert solved.rank == np.linalg.matrix_rank(np.array(matrix))


@given(MATRICES, st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 5, PRIME]))
@settings(max_examples=300, deadline=None)
def test_confirmed_columns_are_determined_over_the_rationals_whatever_the_prime(
    matrix: list[list[int]], seed: int, prime: int
) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, len(matrix[0]))
    sides = (np.array(matrix) @ truth).tolist()
    rows = rows_of(matrix, sides)
    seeming = eliminate_rows(rows, prime).null_vector(rng) == 0
    proved, value = confirmed(rows, seeming, rng, prime)
    expected = determined(matrix, sides)
    assert set(np.flatnonzero(proved).tolist()) <= set(expected)
    if prime == PRIME:
        assert set(np.flatnonzero(proved).tolist()) == set(expected)
        assert (value[proved] == truth[proved]).all()


def test_a_wrong_find_modulo_a_prime_is_refused() -> None:
    rows = rows_of(CANCELS, [1, 1, 1])
    rng = np.random.default_rng(0)
    seeming = eliminate_rows(rows, 2).null_vector(rng) == 0
    assert seeming.tolist() == [True, False, False, False]
    assert not confirmed(rows, seeming, rng, 2)[0].any()
    assert determined(CANCELS, [1, 1, 1]) == {}


def test_a_find_that_is_claimed_without_ground_is_refused() -> None:
    rows = rows_of([[1, 1], [1, 1]], [1, 1])
    assert not confirmed(rows, np.array([True, True]), np.random.default_rng(0), PRIME)[0].any()


def test_a_combination_may_need_fractions() -> None:
    """a+b, b+c, c+a: a is half of the first less the second plus the third."""
    rows = rows_of([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 0, 1])
    half = _inverse(2, PRIME)
    assert combination(rows, 0, np.array([half, PRIME - half, half]), PRIME) == 1
    assert combination(rows, 0, np.array([1, 0, 0]), PRIME) is None
    assert combination(rows, 1, np.array([half, PRIME - half, half]), PRIME) is None


def test_a_combination_through_open_columns_is_confirmed() -> None:
    """p+a+b+c, a+d, b+e, c, d+e ... the others stay open, p is the first less the second and third plus the last."""
    matrix = [[1, 1, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 1, 1]]
    rows, rng = rows_of(matrix, [2, 1, 1, 1]), np.random.default_rng(1)
    seeming = eliminate_rows(rows).null_vector(rng) == 0
    proved, value = confirmed(rows, seeming, rng, PRIME)
    assert proved.tolist() == [True, False, False, False, False]
    assert value[0] == 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 7))
def test_the_dense_echelon_has_the_rank_of_the_matrix(seed: int, height: int, width: int) -> None:
    matrix = np.random.default_rng(seed).integers(0, 2, (height, width))
    pivots = _echelon(matrix.copy(), width, PRIME)
    assert len(pivots) == np.linalg.matrix_rank(matrix)


@given(st.integers(1, PRIME - 1))
def test_an_inverse_times_its_residue_is_one(a: int) -> None:
    assert _inverse(a, PRIME) * a % PRIME == 1


def random_board(seed: int, **shape: object) -> Board:
    unknowns = lives(random_history(seed, **shape))
    return board_of(unknowns, intersected(unknowns))


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_slot_has_as_many_rows_as_the_truth_puts_there(seed: int, signatures: bool) -> None:
    history = random_history(seed, signatures=signatures)
    unknowns = lives(history)
    board = board_of(unknowns, intersected(unknowns))
    truth = np.append(unknowns.truth, -1)[board.unknown]
    part = board.parts()
    everyone = [np.flatnonzero(part == i) for i in range(part.max(initial=-1) + 1)]
    world, have = first_world(board, truth, everyone, new_state(board), 10**5)
    assert have.all()
    assert all(_is_world(board.net, world, who) for who in everyone)
    mine = np.flatnonzero((board.unknown >= 0) & (truth >= 0))
    assert (board.code[world[mine]] == truth[mine]).all()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_a_search_leaves_everything_as_it_was(seed: int) -> None:
    board = random_board(seed, people=8, values=3)
    state, before = new_state(board), new_state(board)
    part = board.parts()
    for i in range(part.max(initial=-1) + 1):
        who = np.flatnonzero(part == i)
        for nodes in (3, 200):
            _count(board.net, state, who, nodes, -1)
        found, counts, _ = _count(board.net, state, who, 200, 1)
        if found != GAVE_UP and counts.any():
            world = np.zeros(board.count, dtype=np.int64)
            world[who] = np.concatenate(
                [np.arange(board.net.cell_start[u], board.net.cell_start[u + 1]) for u in who]
            )[counts > 0]
            seen = np.zeros(board.cells, dtype=np.bool_)
            for cell in range(board.net.cell_start[who[0]], board.net.cell_start[who[0] + 1]):
                if _support(board.net, state, world, seen, cell, 50)[0] == 1:
                    assert world[who[0]] == cell and seen[cell]
                    assert _is_world(board.net, world, who)
    for name in ("alive", "left", "settled", "possible", "height", "length", "waits"):
        assert (getattr(state, name) == getattr(before, name)).all()


def test_people_always_together_are_alike_and_others_are_not() -> None:
    series = Series(
        [[({"a": "x", "b": "y", "c": "z"}, [])], [({"a": "x", "b": "y"}, ["z"]), ({"c": "z"}, ["x", "y"])]]
    )
    unknowns = lives(series.history)
    board = board_of(unknowns, intersected(unknowns))
    first = alike(board, np.random.default_rng(0))
    assert first[:3].tolist() == [0, 0, 2]
    assert first[4] == first[5] != first[3]  # the two counterfeits of the last group, and that of the other


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, PRIME]))
@settings(max_examples=80, deadline=None)
def test_equations_exclude_only_cells_of_no_world_whatever_the_prime(seed: int, prime: int) -> None:
    history = random_history(seed, people=7, values=3, releases=3, change=0.0)
    every = worlds(history, set())
    unknowns = lives(history)
    board = board_of(unknowns, intersected(unknowns))
    excluded = solve(board, np.random.default_rng(seed), prime=prime).excluded
    if every is None:
        return
    held = {(person, code) for world in every for (person, _), code in world.items()}
    for cell in np.flatnonzero(excluded):
        u = board.unknown[board.net.owner[cell]]
        assert u < 0 or (int(unknowns.person[u]), int(board.code[cell])) not in held


@pytest.mark.jit
@pytest.mark.parametrize("seed", range(8))
def test_every_world_is_drawn_as_often_as_the_others(seed: int) -> None:
    """One component of few worlds: the worlds after each sweep, counted, are even within five standard errors."""
    board = random_board(seed + 40, people=5, values=3, releases=2, size=5, change=0.0, absent=0.0)
    part = board.parts()
    who = np.flatnonzero(part == np.bincount(part).argmax())
    found, counts, number = _count(board.net, new_state(board), who, 10**5, -1)
    assert found == 1
    _, one, _ = _count(board.net, new_state(board), who, 10**5, 1)
    cells = np.concatenate([np.arange(board.net.cell_start[u], board.net.cell_start[u + 1]) for u in who])
    world = np.zeros(board.count, dtype=np.int64)
    world[who] = cells[one > 0]
    drawn: Counter[tuple[int, ...]] = Counter()
    draws = 400 * number
    none = np.zeros(board.cells)
    walkers = Walkers(who, np.array([0, len(who)]), np.array([len(who)]))
    for i in range(draws):
        _sweeps(board.net, board.code, world, walkers, 3, i, none)
        assert _is_world(board.net, world, who)
        drawn[tuple(world[who].tolist())] += 1
    assert len(drawn) == number
    assert max(abs(n - 400) for n in drawn.values()) < 5 * np.sqrt(400) + 1
    assert none[cells] / none[cells].sum() * len(who) == pytest.approx(counts / number, abs=0.05)
