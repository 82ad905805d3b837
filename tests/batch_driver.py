"""A series of value-blind batches in memory alone, and every world that explains what its counts show."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from publishers.dynamic import SECRET, Person, view_of
from republish.errors import CannotPublish
from republish.grouping import Grouping
from republish.memory.batch_record import BatchRecord
from republish.memory.cohort_stays import NOBODY, Stays
from republish.memory.memory import Memory, sight
from republish.publishers.value_blind import ValueBlind
from small_stays import Worlds


@dataclass
class BatchDriver:
    """Publishes view after view without a ledger; `shown` is what an adversary who knows who is who sees of each."""

    publisher: ValueBlind
    seed: int = 0
    memory: Memory = field(default_factory=Memory.empty)
    values: pl.Series | None = None
    groupings: list[Grouping] = field(default_factory=list)
    shown: list[object] = field(default_factory=list)

    @property
    def record(self) -> BatchRecord:
        return BatchRecord.of(self.memory).known_to(self.memory)

    @property
    def stays(self) -> Stays:
        return self.record.stays

    def publish(self, people: list[Person]) -> Grouping:
        view, names = view_of(people, self.values)
        release = self.memory.release + 1
        grouping = self.publisher.publish(view, self.memory, np.random.default_rng(self.seed + release))
        seen = sight(view, view.row_digests(SECRET), grouping.group + 1, release, self.memory)
        memory = replace(self.memory.merged(seen), release=release)
        self.memory = self.publisher.remember(view, grouping, memory)
        self.values = view.values
        self.groupings.append(grouping)
        self.shown.append(_seen(names, view.codes, grouping))
        return grouping


def _seen(names: list[str], codes: np.ndarray, grouping: Grouping) -> object:
    """The batch of everyone, and of every batch its counts, as_of and the number of lives held; numbered by people."""
    snapshots = grouping.snapshots
    assert snapshots is not None
    people = defaultdict(list)
    for name, batch in zip(names, snapshots.listed.tolist(), strict=True):
        people[batch].append(name)
    counts = defaultdict(Counter)
    for batch, code in zip(grouping.group.tolist(), codes.tolist(), strict=True):
        counts[batch][code] += batch >= 0
    for batch, code in zip(
        grouping.counterfeit_group.tolist(), grouping.counterfeit_code.tolist(), strict=True
    ):
        counts[batch][code] += 1
    held = Counter(grouping.counterfeit_group.tolist())
    none = tuple(sorted(people.pop(-1, [])))
    batches = sorted(
        (tuple(sorted(mine)), tuple(sorted(counts[b].items())), int(snapshots.as_of[b]), held[b])
        for b, mine in people.items()
    )
    return none, tuple(batches)


def worlds_of_stays(stays: Stays) -> Worlds:
    """Every world of a record without counterfeits: lives that explain each snapshot; the first is the truth."""
    lives = sorted(set(stays.life.tolist()))
    place = {life: [] for life in lives}
    for i in range(stays.count):
        assert stays.bearer[i] != NOBODY
        place[int(stays.life[i])] += [
            (t, int(stays.cohort[i])) for t in range(int(stays.since[i]), int(stays.until[i]) + 1)
        ]
    lives.sort(key=lambda life: (int(stays.person[life]), life))
    person = [int(stays.person[life]) for life in lives]
    truth = [int(stays.code[life]) for life in lives]
    left: Counter[tuple[int, int, int]] = Counter(
        (t, c, v) for life, v in zip(lives, truth, strict=True) for t, c in place[life]
    )
    values = sorted(set(truth))
    worlds: list[list[int]] = []
    chosen: list[int] = []

    def choose() -> None:
        k = len(chosen)
        if k == len(lives):
            worlds.append(chosen.copy())
            return
        for value in values:
            again = k and person[k] == person[k - 1] and value == chosen[-1]
            if again or any(left[t, c, value] < 1 for t, c in place[lives[k]]):
                continue
            for t, c in place[lives[k]]:
                left[t, c, value] -= 1
            chosen.append(value)
            choose()
            chosen.pop()
            for t, c in place[lives[k]]:
                left[t, c, value] += 1

    choose()
    found = np.array(worlds, dtype=np.int64).reshape(len(worlds), len(lives))
    true = np.flatnonzero((found == np.array(truth)).all(axis=1))
    assert len(true) == 1
    order = np.r_[true, np.delete(np.arange(len(found)), true)]
    return Worlds(found[order], [str(p) for p in person], [[(life, 0)] for life in lives])


def small_series(
    publisher: ValueBlind, seed: int, releases: int = 4, crowd: int = 10
) -> tuple[BatchDriver, list[list[Person]]]:
    """A few weeks of few people with returns, changes and changes back; and the views that could be published."""
    rng = np.random.default_rng(seed)
    driver = BatchDriver(publisher)
    values = int(rng.integers(2, 4))
    leave, change, back = rng.choice([0.1, 0.3, 0.5]), rng.choice([0.0, 0.2]), rng.choice([0.0, 0.4])
    state: dict[str, str] = {}
    here: set[str] = set()
    views = []
    for week in range(releases):
        absent = sorted(set(state) - here)
        here = {name for name in sorted(here) if rng.random() > leave}
        here |= {name for name in absent if rng.random() < back}
        here |= {f"p{len(state) + i}" for i in range(rng.integers(4, 8) if week == 0 else rng.integers(0, 4))}
        if len(state.keys() | here) > crowd:
            here &= state.keys()
        for name in sorted(here):
            if name not in state or rng.random() < change:
                state[name] = f"v{rng.integers(values)}"
        people = [(name, int(name[1:]) % 5, "10", "n", state[name]) for name in sorted(here)]
        try:
            driver.publish(people)
        except CannotPublish:
            continue
        views.append(people)
    return driver, views
