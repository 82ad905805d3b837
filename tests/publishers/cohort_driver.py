"""A series of cohorts in memory alone, with a plain record of everyone, checked release by release."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from publishers.dynamic import SECRET, Person, view_of
from republish.grouping import Grouping
from republish.inference.determination import escape_risk
from republish.memory.cohort_stays import Stays
from republish.memory.memory import Memory, sight
from republish.publishers.cohorts import Cohorts
from small_stays import Week

Place = tuple[int, str]


@dataclass
class CohortDriver:
    """Publishes view after view; numbers cohorts by itself, from who was with whom."""

    publisher: Cohorts
    seed: int = 0
    memory: Memory = field(default_factory=Memory.empty)
    values: pl.Series | None = None
    weeks: list[Week] = field(default_factory=list)
    people: list[dict[str, Place]] = field(default_factory=list)
    shown: list[dict[int, Counter[str]]] = field(default_factory=list)
    hidden_in: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)

    @property
    def stays(self) -> Stays:
        return Stays.of_frame(self.memory.counts)

    def publish(self, people: list[Person]) -> dict[int, Counter[str]]:
        """Publish one view; return the values of every cohort, after checking what must hold of it."""
        view, names = view_of(people, self.values)
        grouping = self.publisher.publish(view, self.memory, np.random.default_rng(self.seed))
        self._same_again(view, grouping)
        release = self.memory.release + 1
        seen = sight(view, view.row_digests(SECRET), grouping.group + 1, release, self.memory)
        memory = replace(self.memory.merged(seen), release=release)
        self.memory = self.publisher.remember(view, grouping, memory)
        self.values = view.values
        return self._check(names, view.codes, grouping)

    def risk(self) -> float:
        return escape_risk(self.stays, self.publisher.compromised).share

    def _same_again(self, view, grouping: Grouping) -> None:
        again = self.publisher.publish(view, self.memory, np.random.default_rng(self.seed))
        for part in ("group", "counterfeit_group", "counterfeit_code"):
            assert np.array_equal(getattr(grouping, part), getattr(again, part))

    def _check(self, names: list[str], codes: np.ndarray, grouping: Grouping) -> dict[int, Counter[str]]:
        values = self.values.to_list()
        before = self.people[-1] if self.people else {}
        assert (grouping.group >= 0).all()
        real = set(grouping.group.tolist())
        assert real == set(range(grouping.groups)) >= set(grouping.counterfeit_group.tolist())
        number: dict[int, int] = {}
        came_from = defaultdict(set)
        stays = {}
        for name, group, code in zip(names, grouping.group.tolist(), codes.tolist(), strict=True):
            if name in before and before[name][1] == values[code]:
                came_from[group].add(before[name][0])
                stays[name] = before[name][0]
        assert all(len(cohorts) == 1 for cohorts in came_from.values())  # nobody is mixed with another cohort
        highest = max((c for week in self.shown for c in week), default=0)
        for group in range(grouping.groups):
            if group in came_from:
                (number[group],) = came_from[group]
            else:
                highest += 1
                number[group] = highest
        assert len(set(number.values())) == len(number)  # no cohort is split
        now = {
            name: (number[group], values[code])
            for name, group, code in zip(names, grouping.group.tolist(), codes.tolist(), strict=True)
        }
        assert all(now[name][0] == cohort for name, cohort in stays.items())
        nobody = [
            (number[group], values[code])
            for group, code in zip(
                grouping.counterfeit_group.tolist(), grouping.counterfeit_code.tolist(), strict=True
            )
        ]
        shown: dict[int, Counter[str]] = defaultdict(Counter)
        for cohort, value in [*now.values(), *nobody]:
            shown[cohort][value] += 1
        self._values(shown, now)
        if self.shown:
            self._changes(shown, stays, now)
        self.people.append(now)
        self.shown.append(dict(shown))
        code_of = {value: code for code, value in enumerate(values)}
        self.weeks.append(
            Week({n: (c, code_of[v]) for n, (c, v) in now.items()}, [(c, code_of[v]) for c, v in nobody])
        )
        assert self.risk() <= self.publisher.max_determined
        return dict(shown)

    def _values(self, shown: dict[int, Counter[str]], now: dict[str, Place]) -> None:
        """No value more than one row in m; living cohorts keep their values; so does the set anyone hides in."""
        for counter in shown.values():
            assert self.publisher.m * max(counter.values()) <= sum(counter.values())
        for cohort, counter in shown.items():
            if self.shown and cohort in self.shown[-1]:
                assert set(counter) == set(self.shown[-1][cohort])
        for name, (cohort, value) in now.items():
            last = self.hidden_in.get(name)
            assert last is None or last[0] != value or last[1] == frozenset(shown[cohort])
            self.hidden_in[name] = value, frozenset(shown[cohort])

    def _changes(self, shown: dict[int, Counter[str]], stays: dict[str, int], now: dict[str, Place]) -> None:
        """A cohort of which places of fewer than `together` values are open shows what it showed, and takes nobody."""
        for cohort in set(stays.values()):
            members = {name for name, (where, _) in now.items() if where == cohort}
            held = Counter(now[name][1] for name in members if name in stays)
            old = self.shown[-1][cohort]
            if sum(held[value] < rows for value, rows in old.items()) < self.publisher.together:
                assert shown[cohort] == old
                assert members <= set(stays)
