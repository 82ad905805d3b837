"""Small histories written as tables, and random ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from republish.attacks import History, Table
from republish.memory.event_lists import Appearances, events_of

Groups = Sequence[tuple[Mapping[str, str], Sequence[str]]]
"""The groups of one release: members with their values, and the values of counterfeits."""


class Series:
    """A history by names of people and values."""

    def __init__(
        self, releases: Sequence[Groups], moves: Mapping[tuple[str, int], int] | None = None
    ) -> None:
        self.people = sorted({person for groups in releases for members, _ in groups for person in members})
        self.values = sorted(
            {value for groups in releases for members, fake in groups for value in [*members.values(), *fake]}
        )
        tables, appearances, truth = [], [], []
        for number, groups in enumerate(releases):
            cells = [
                (self.who(p), g, self.code(v), p)
                for g, (members, _) in enumerate(groups)
                for p, v in members.items()
            ]
            fakes = [(g, self.code(v)) for g, (_, fake) in enumerate(groups) for v in fake]
            person, group, code = (array([cell[i] for cell in cells]) for i in range(3))
            row_group = np.concatenate([group, array([g for g, _ in fakes])])
            row_code = np.concatenate([code, array([c for _, c in fakes])])
            rows = np.array([(moves or {}).get((name, number), 0) for *_, name in cells], dtype=np.uint64)
            tables.append(Table(person, group, row_group, row_code))
            appearances.append(Appearances(person, code, rows))
            truth.append(code)
        events = events_of(len(self.people), appearances)
        self.history = History.of(len(self.people), len(self.values), tables, events, truth)

    def who(self, name: str) -> int:
        return self.people.index(name)

    def code(self, value: str) -> int:
        return self.values.index(value)

    def names(self, people: frozenset[int]) -> frozenset[str]:
        return frozenset(self.people[one] for one in people)

    def called(self, codes: frozenset[int]) -> frozenset[str]:
        return frozenset(self.values[code] for code in codes)


def array(items: Sequence[int]) -> np.ndarray:
    return np.array(items, dtype=np.int64)


def random_history(
    seed: int,
    people: int = 12,
    values: int = 4,
    releases: int = 4,
    counterfeits: float = 0.3,
    change: float = 0.2,
    absent: float = 0.25,
    size: int = 3,
    signatures: bool = False,
) -> History:
    """People come, go, change and are grouped at random; some rows are counterfeit, some people left out.

    With `signatures` the values of a group are all different and groups are tight, as m-invariance would have them.
    """
    rng = np.random.default_rng(seed)
    code = rng.integers(0, values, people)
    row = rng.integers(0, 3, people).astype(np.uint64)
    tables, appearances, truth = [], [], []
    for _ in range(releases):
        code = np.where(rng.random(people) < change, rng.integers(0, values, people), code)
        row = np.where(rng.random(people) < change, rng.integers(0, 3, people).astype(np.uint64), row)
        person = np.flatnonzero(rng.random(people) >= absent)
        if signatures:
            group = np.empty(len(person), dtype=np.int64)
            for value in range(values):
                held = np.flatnonzero(code[person] == value)
                group[held] = rng.permutation(len(held))
        else:
            group = rng.integers(0, max(1, len(person) // size), len(person))
            group[rng.random(len(person)) < 0.05] = -1
        kept = group >= 0
        fake = rng.random(int(group.max(initial=-1)) + 1) < counterfeits
        fake_group = np.flatnonzero(fake)
        tables.append(
            Table(
                person,
                group,
                np.concatenate([group[kept], fake_group]),
                np.concatenate([code[person][kept], rng.integers(0, values, len(fake_group))]),
            )
        )
        appearances.append(Appearances(person, code[person], row[person]))
        truth.append(code[person])
    return History.of(people, values, tables, events_of(people, appearances), truth)
