"""Slow and obvious twins of every attack, on sets of codes, straight from the definitions."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise, product

from republish.attacks import History

Unknown = tuple[int, int]
"""A person and the number of her life, lifespan or release."""


class Board:
    """Groups as lists of unknowns and multisets of values."""

    def __init__(self, history: History, linked: str = "life") -> None:
        self.groups: list[list[Unknown]] = []
        self.values: list[Counter[int]] = []
        self.release: list[int] = []
        self.truth: dict[Unknown, int] = {}
        for g in range(history.groups):
            here = []
            for a in range(history.member_start[g], history.member_start[g + 1]):
                person, release = int(history.person[a]), int(history.release[a])
                number = release
                if linked != "nothing":
                    assert history.events is not None
                    number = int(getattr(history.events, linked)[person, release])
                here.append((person, number))
                if history.truth is not None:
                    self.truth[here[-1]] = int(history.truth[a])
            first, last = history.value_start[g], history.value_start[g + 1]
            self.groups.append(here)
            self.values.append(
                Counter(
                    dict(
                        zip(
                            history.value_code[first:last].tolist(),
                            history.value_count[first:last].tolist(),
                            strict=True,
                        )
                    )
                )
            )
            self.release.append(
                int(next(i for i in range(history.releases) if history.group_start[i + 1] > g))
            )
        self.lives = dict.fromkeys(range(history.people), 0)
        if linked == "life" and history.events is not None:
            self.lives = {p: int(history.events.life[p].max(initial=-1)) + 1 for p in range(history.people)}
        self.domain = history.values

    def intersected(self) -> dict[Unknown, set[int]]:
        sets: dict[Unknown, set[int]] = {
            (person, life): set(range(self.domain))
            for person, count in self.lives.items()
            for life in range(count)
        }
        for here, values in zip(self.groups, self.values, strict=True):
            for unknown in here:
                sets[unknown] = sets.get(unknown, set(values)) & set(values)
        return sets


def assignments(sets: list[set[int]], values: Counter[int]) -> list[tuple[int, ...]]:
    """All ways to give each member one of the rows, within their candidates."""
    return [chosen for chosen in product(*sets) if not Counter(chosen) - values]


def tau(history: History) -> dict[Unknown, set[int]]:
    board = Board(history)
    sets = board.intersected()
    while True:
        before = {unknown: set(codes) for unknown, codes in sets.items()}
        for here, values in zip(board.groups, board.values, strict=True):
            possible = assignments([sets[unknown] for unknown in here], values)
            for i, unknown in enumerate(here):
                sets[unknown] &= {chosen[i] for chosen in possible}
        for (person, life), codes in sets.items():
            for other in ((person, life - 1), (person, life + 1)):
                if len(codes) == 1 and other in sets:
                    sets[other] -= codes
        if sets == before:
            return sets


def ruled(history: History) -> dict[Unknown, set[int]]:
    """The intersected candidates, without the old signature where it would have been kept with a value of it."""
    board, rule = Board(history), history.rule
    assert rule is not None
    sets = board.intersected()
    last: dict[int, tuple[int, int, Unknown]] = {}
    for g, here in enumerate(board.groups):
        release = board.release[g]
        for unknown in here:
            before = last.get(unknown[0])
            last[unknown[0]] = (release, g, unknown)
            if before is None or before[2] == unknown or set(board.values[before[1]]) == set(board.values[g]):
                continue
            old = set(board.values[before[1]])
            away = release - before[0] > 1
            if (away or rule.updates) and rule.values[release] - len(old) >= rule.m:
                sets[unknown] -= old
    return sets


def posterior(sets: list[set[int]]) -> list[dict[int, float]]:
    """Of every life of one person: each value's share of the sequences in which successive lives differ."""
    possible = [walk for walk in product(*sets) if all(a != b for a, b in pairwise(walk))]
    return [
        {code: count / len(possible) for code, count in Counter(walk[i] for walk in possible).items()}
        for i in range(len(sets))
    ]


def correlations(history: History) -> set[tuple[int, int, frozenset[int], frozenset[int]]]:
    board = Board(history)
    return {
        (board.release[g], board.release[h], *(frozenset(p for p, _ in side) for side in sides))
        for g, h, sides in _sides(board)
    }


def _sides(board: Board) -> list[tuple[int, int, tuple[set[Unknown], set[Unknown]]]]:
    found = []
    for g, h in combinations(range(len(board.groups)), 2):
        one, other = set(board.groups[g]), set(board.groups[h])
        full = all(sum(board.values[i].values()) == len(board.groups[i]) for i in (g, h))
        if board.values[g] == board.values[h] and full and one & other and one != other:
            found.append((g, h, (one - other, other - one)))
    return found


def restricted(
    history: History, known: set[int], with_history: bool, cascade: bool
) -> dict[Unknown, set[int]]:
    """ct-pvr, and hc-pvr if asked for, to a fixpoint; only with `cascade` is anyone else ever known."""
    board = Board(history)
    sets = board.intersected()
    for unknown, code in board.truth.items():
        if unknown[0] in known:
            sets[unknown] = {code}
    pairs = [sides for _, _, sides in _sides(board)] if with_history else []
    while True:
        before = {unknown: set(codes) for unknown, codes in sets.items()}
        for here, values in zip(board.groups, board.values, strict=True):
            certain = [u for u in here if len(sets[u]) == 1 and (cascade or u[0] in known)]
            pinned = Counter(code for unknown in certain for code in sets[unknown])
            taken = {code for code, count in values.items() if pinned[code] == count}
            for unknown in here:
                if unknown not in certain:
                    sets[unknown] -= taken
        for first, second in pairs:
            for one, other in ((first, second), (second, first)):
                union = set().union(*(sets[unknown] for unknown in other))
                for unknown in one:
                    sets[unknown] &= union
        if sets == before:
            return sets
