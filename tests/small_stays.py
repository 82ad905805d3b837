"""Small random series of cohorts, the record of their stays, and every world that explains what they show."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from republish.memory.cohort_stays import COLUMNS, FREE, NOBODY, NONE, TIED, CohortSighting, Stays, continued

Place = tuple[int, int]
"""A cohort and a value."""


@dataclass
class Week:
    """Where everyone in a release is and with which value; the places of counterfeits, one entry each."""

    people: dict[str, Place]
    nobody: list[Place] = field(default_factory=list)


def shown_in(week: Week) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cohort, code and number of rows of all that a week shows, sorted."""
    counted = sorted(Counter([*week.people.values(), *week.nobody]).items())
    return (
        np.array([place[0] for place, _ in counted], dtype=np.int64),
        np.array([place[1] for place, _ in counted], dtype=np.int64),
        np.array([rows for _, rows in counted], dtype=np.int64),
    )


def recorded(weeks: list[Week]) -> tuple[Stays, dict[str, list[int]]]:
    """The record of a series, and the entries that each person had, in order."""
    stays, entries = Stays.none(), defaultdict(list)
    for release, week in enumerate(weeks, start=1):
        names = list(week.people)
        last = [entries[name][-1] if entries[name] else -1 for name in names]
        goes_on = [
            i >= 0 and int(stays.until[i]) == release - 1 and int(stays.code[i]) == week.people[name][1]
            for name, i in zip(names, last, strict=True)
        ]
        cohort, code = (np.array([week.people[name][k] for name in names], dtype=np.int64) for k in (0, 1))
        now = CohortSighting(
            release,
            cohort,
            code,
            np.array(last, dtype=np.int64),
            np.array(goes_on, dtype=bool),
            shown_in(week),
        )
        stays, entry = continued(stays, now)
        for name, i in zip(names, entry.tolist(), strict=True):
            if not entries[name] or entries[name][-1] != i:
                entries[name].append(i)
    return stays, dict(entries)


def naive_record(weeks: list[Week]) -> tuple[Stays, dict[str, list[int]]]:
    """The same by plain bookkeeping, stay by stay."""
    stays: list[dict[str, int]] = []
    entries: dict[str, list[int]] = {}
    for release, week in enumerate(weeks, start=1):
        for name, (cohort, code) in week.people.items():
            mine = entries.setdefault(name, [])
            last = stays[mine[-1]] if mine else None
            if last and last["until"] == release - 1 and last["code"] == code:
                last["until"] = release
                continue
            new = _stay(len(stays), cohort, code, release, FREE)
            if last:
                new["person"] = last["person"]
            if last and last["code"] == code:
                new |= {"life": last["life"], "previous": last["previous"], "bearer": TIED}
                for stay in stays:
                    if stay["life"] == last["life"]:
                        stay["bearer"] = TIED
            elif last:
                new["previous"] = last["code"]
                for stay in stays:
                    if stay["life"] == last["life"]:
                        stay["following"] = code
            mine.append(len(stays))
            stays.append(new)
        spare = Counter(week.nobody)
        for stay in stays:
            place = stay["cohort"], stay["code"]
            if stay["bearer"] == NOBODY and stay["until"] == release - 1 and spare[place]:
                stay["until"] = release
                spare[place] -= 1
        for cohort, code in sorted(spare.elements()):
            stays.append(_stay(len(stays), cohort, code, release, NOBODY))
    return Stays(*(np.array([stay[name] for stay in stays], dtype=np.int64) for name in COLUMNS)), entries


def _stay(entry: int, cohort: int, code: int, release: int, bearer: int) -> dict[str, int]:
    start = {"since": release, "until": release, "person": entry, "life": entry}
    return {"cohort": cohort, "code": code, "bearer": bearer, "previous": NONE, "following": NONE} | start


def random_weeks(rng: np.random.Generator, returns: bool = False) -> list[Week]:
    """People come, leave, return and change in one or two cohorts; who stays with her value stays in her cohort.

    With `returns` many are absent, in one cohort of few values: lives of several stays.
    """
    names = [f"p{i}" for i in range(rng.integers(3, 5 if returns else 8))]
    values, cohorts = (2, 1) if returns else (int(rng.integers(2, 5)), int(rng.integers(1, 3)))
    absent = 0.4 if returns else rng.choice([0.1, 0.3, 0.5])
    change = 0.0 if returns else rng.choice([0.0, 0.0, 0.1, 0.3])
    fakes = 0.3 if returns else rng.choice([0.0, 0.2, 0.5, 1.5])
    value = {name: int(rng.integers(values)) for name in names}
    weeks: list[Week] = []
    for _ in range(rng.integers(3 if returns else 2, 6)):
        before = weeks[-1].people if weeks else {}
        people = {}
        for name in names:
            if rng.random() < absent:
                continue
            if rng.random() < change:
                value[name] = int(rng.integers(values))
            stays = name in before and before[name][1] == value[name]
            people[name] = before[name] if stays else (int(rng.integers(1, cohorts + 1)), value[name])
        there = sorted({cohort for cohort, _ in people.values()})
        nobody = [(c, int(rng.integers(values))) for c in there for _ in range(rng.poisson(fakes))]
        weeks.append(Week(people, nobody))
    return weeks


def twin_weeks(rng: np.random.Generator) -> list[Week]:
    """Two people always come back together, one of whom had other values before; a few others, and counterfeits."""
    value = dict(zip("eq", rng.choice(4, 2, replace=False).tolist(), strict=True))
    weeks: list[Week] = []
    for release in range(5):
        before = weeks[-1].people if weeks else {}
        people = {name: (1, value[name]) for name in "eq"} if release in (2, 4) else {}
        if release < 2 and rng.random() < 0.8:
            people["q"] = (1, int(rng.choice([v for v in range(4) if v != value["q"]])))
        for name in ("r", "s")[: rng.integers(1, 3)]:
            if rng.random() < 0.7:
                people[name] = before.get(name) if rng.random() < 0.8 else None  # type: ignore[assignment]
                people[name] = people[name] or (1, int(rng.integers(4)))
        nobody = [(1, int(rng.integers(4))) for _ in range(rng.poisson(0.5))]
        weeks.append(Week(people, nobody))
    return weeks


@dataclass
class Worlds:
    """All worlds that explain a series: the value of every life in each; and the people and stays of lives.

    The first world is the truth.
    """

    values: np.ndarray
    person: list[str]
    places: list[list[tuple[int, int]]]

    def exposed(self, p: float) -> list[float]:
        """How likely each life is determined if its person is not compromised and each other is with probability p."""
        names = sorted(set(self.person))
        bit = {name: 1 << i for i, name in enumerate(names)}
        others = self.values != self.values[0]
        moved = np.zeros(len(others), dtype=np.int64)  # the people who have another value in each world
        for life, name in enumerate(self.person):
            moved |= np.where(others[:, life], bit[name], 0)
        subsets = np.arange(1 << len(names))
        size = np.array([bin(subset).count("1") for subset in subsets])
        chance = p**size * (1 - p) ** (len(names) - 1 - size)
        exposed = []
        for life, name in enumerate(self.person):
            free = (subsets & bit[name]) == 0
            for needed in np.unique(moved[others[:, life]]):
                free &= (subsets & needed) != 0  # whoever is not blocked is not determined
            exposed.append(float(chance[free].sum()))
        return exposed


def worlds_of(weeks: list[Week]) -> Worlds:
    """Every world of a small series.

    Counterfeits take what the people of a release and cohort leave, so people alone are enumerated: no value may be
    taken more often than shown. A person's next life has another value than the one before.
    """
    person, places, truth = _lives(weeks)
    shown = [Counter([*week.people.values(), *week.nobody]) for week in weeks]
    values = sorted({value for release in shown for _, value in release})
    worlds: list[list[int]] = []
    chosen: list[int] = []

    def choose() -> None:
        life = len(chosen)
        if life == len(person):
            worlds.append(chosen.copy())
            return
        for value in values:
            again = life and person[life] == person[life - 1] and value == chosen[-1]
            if again or any(shown[release][cohort, value] < 1 for release, cohort in places[life]):
                continue
            for release, cohort in places[life]:
                shown[release][cohort, value] -= 1
            chosen.append(value)
            choose()
            chosen.pop()
            for release, cohort in places[life]:
                shown[release][cohort, value] += 1

    choose()
    found = np.array(worlds, dtype=np.int64).reshape(len(worlds), len(person))
    true = np.flatnonzero((found == np.array(truth)).all(axis=1))
    assert len(true) == 1
    order = np.r_[true, np.delete(np.arange(len(found)), true)]
    return Worlds(found[order], person, places)


def _lives(weeks: list[Week]) -> tuple[list[str], list[list[tuple[int, int]]], list[int]]:
    """Whose each life is, its releases (from 0) and cohorts, its true value; a person's lives in order."""
    person, places, truth = [], [], []
    for name in sorted({name for week in weeks for name in week.people}):
        seen = [(release, *week.people[name]) for release, week in enumerate(weeks) if name in week.people]
        starts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(seen)) if a[2] != b[2]), len(seen)]
        for first, last in pairwise(starts):
            person.append(name)
            places.append([(release, cohort) for release, cohort, _ in seen[first:last]])
            truth.append(seen[first][2])
    return person, places, truth


def entries_of_lives(
    weeks: list[Week], stays: Stays, entries: dict[str, list[int]], worlds: Worlds
) -> list[list[int]]:
    """The entries of each life of the worlds."""
    found = []
    for name, where in zip(worlds.person, worlds.places, strict=True):
        releases = {release + 1 for release, _ in where}
        found.append([i for i in entries[name] if int(stays.since[i]) in releases])
    return found
