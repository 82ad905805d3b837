"""Slow and obvious twins of the linear attack: all worlds one by one, and elimination with fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from attacks.twins import Board, Unknown
from republish.attacks import History


def worlds(history: History, known: set[int], most: int = 30_000) -> list[dict[Unknown, int]] | None:
    """Every way to give each life and each row of nobody a value; `None` where there are more than `most`."""
    board = Board(history)
    sets: dict[Unknown, set[int]] = board.intersected()
    for unknown, code in board.truth.items():
        if unknown[0] in known:
            sets[unknown] = {code}
    places: dict[Unknown, list[int]] = {unknown: [] for unknown in sets}
    for g, here in enumerate(board.groups):
        for unknown in here:
            places[unknown].append(g)
        for extra in range(sum(board.values[g].values()) - len(here)):
            nobody = (-1 - g, 10 * extra)  # lives 10 apart never follow each other
            sets[nobody], places[nobody] = set(board.values[g]), [g]
    left = [Counter(values) for values in board.values]
    order = sorted(sets, key=lambda unknown: (len(sets[unknown]), unknown))
    found: list[dict[Unknown, int]] = []

    def walk(at: int, chosen: dict[Unknown, int]) -> Iterator[dict[Unknown, int]]:
        if at == len(order):
            yield dict(chosen)
            return
        person, life = order[at]
        for code in sets[order[at]]:
            if chosen.get((person, life - 1)) == code or chosen.get((person, life + 1)) == code:
                continue
            if all(left[g][code] > 0 for g in places[order[at]]):
                for g in places[order[at]]:
                    left[g][code] -= 1
                chosen[order[at]] = code
                yield from walk(at + 1, chosen)
                del chosen[order[at]]
                for g in places[order[at]]:
                    left[g][code] += 1

    for world in walk(0, {}):
        found.append(world)
        if len(found) > most:
            return None
    return found


def determined(rows: Sequence[Sequence[int]], sides: Sequence[int]) -> dict[int, Fraction]:
    """The columns that have one value in all rational solutions, with it."""
    matrix = [[Fraction(v) for v in (*row, side)] for row, side in zip(rows, sides, strict=True)]
    columns = len(rows[0]) if rows else 0
    pivots: list[int] = []
    for c in range(columns):
        rank = len(pivots)
        pivot = next((r for r in range(rank, len(matrix)) if matrix[r][c]), None)
        if pivot is None:
            continue
        matrix[rank], matrix[pivot] = matrix[pivot], matrix[rank]
        matrix[rank] = [v / matrix[rank][c] for v in matrix[rank]]
        for r, row in enumerate(matrix):
            if r != rank and row[c]:
                matrix[r] = [v - row[c] * w for v, w in zip(row, matrix[rank], strict=True)]
        pivots.append(c)
    free = set(range(columns)) - set(pivots)
    return {c: matrix[r][-1] for r, c in enumerate(pivots) if not any(matrix[r][d] for d in free)}
