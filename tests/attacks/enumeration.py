"""All worlds of a small series, one after the other: who has which value when, and how likely that is."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations, product

import numpy as np
import polars as pl

from attacks.histories import array
from republish.attacks import History, Register, Table
from republish.inference import CHANGED, UNTOLD
from republish.knowledge import Classes, Knowledge
from republish.memory.event_lists import Appearances, events_of


def enumerated(
    history: History, knowledge: Knowledge, register: Register, told: np.ndarray | None = None
) -> list[np.ndarray]:
    """The posterior of everyone in the register, release by release; of whom is `told` [release, person] the value.

    Where the register says whether values changed, all others are no worlds.
    """
    m, filled = knowledge.size, knowledge.complete()
    handed = []  # of each group: release, members, and in how many ways they get what
    for g in range(history.groups):
        release = int(np.searchsorted(history.group_start, g, side="right") - 1)
        members = history.person[history.member_start[g] : history.member_start[g + 1]].tolist()
        shown = slice(history.value_start[g], history.value_start[g + 1])
        rows = np.repeat(history.value_code[shown], history.value_count[shown]).tolist()
        handed.append((release, members, Counter(permutations(rows, len(members)))))
    kind = {
        (i, who): number
        for i in range(history.releases)
        for who, number in zip(register.person[i].tolist(), register.classes[i].tolist(), strict=True)
    }
    code = {
        (i, who): number
        for i in range(history.releases)
        for who, number in zip(register.person[i].tolist(), register.codes[i].tolist(), strict=True)
    }
    marks = {
        (i, who): mark
        for i, changed in enumerate(register.changed or ())
        for who, mark in zip(register.person[i].tolist(), changed.tolist(), strict=True)
    }
    grouped = {(release, who) for release, members, _ in handed for who in members}
    free = [seat for seat in kind if seat not in grouped]
    found = {seat: np.zeros(m) for seat in kind}
    people = sorted({who for _, who in kind})
    for ways in product(*(list(one.items()) for *_, one in handed)):
        value, times = {}, 1.0
        for (release, members, _), (got, count) in zip(handed, ways, strict=True):
            times *= count
            value |= {(release, who): x for who, x in zip(members, got, strict=True)}
        for rest in product(range(m), repeat=len(free)):
            value |= dict(zip(free, rest, strict=True))
            if told is not None and any(told[seat] and value[seat] != code[seat] for seat in kind):
                continue
            if any(contradicted(who, value, marks, history.releases) for who in people):
                continue
            weight = times * np.prod([_chance(who, value, kind, filled, history.releases) for who in people])
            for seat, x in value.items():
                found[seat][x] += weight
    return [
        np.array([found[i, who] / found[i, who].sum() for who in register.person[i].tolist()]).reshape(-1, m)
        for i in range(history.releases)
    ]


def contradicted(who: int, value: dict, marks: dict, releases: int) -> bool:
    """Whether somebody's values changed where they are known not to have, or stayed where they are known to have."""
    own = [(value[i, who], marks.get((i, who), UNTOLD)) for i in range(releases) if (i, who) in value]
    return any(mark != UNTOLD and (x != last) != (mark == CHANGED) for (last, _), (x, mark) in pairwise(own))


def _chance(who: int, value: dict, kind: dict, knowledge: Knowledge, releases: int) -> float:
    """How likely the values of a person are."""
    m, chance = knowledge.size, 1.0
    past = [m] * knowledge.order
    for number, i in enumerate([i for i in range(releases) if (i, who) in kind]):
        x = value[i, who]
        if number == 0 or knowledge.sequential is None:
            chance *= knowledge.prior[kind[i, who], x]
        else:
            older = 0
            for digit in past[:-1]:
                older = older * (m + 1) + digit
            chance *= knowledge.sequential[kind[i, who], older, past[-1], x]
        past = [*past, x][1:]
    return float(chance)


def lasting_knowledge(seed: int, values: int, order: int, stay: float) -> Knowledge:
    """One class of people whose values stay with that chance, else change as they like."""
    rng = np.random.default_rng(seed)
    table = (1 - stay) * rng.dirichlet(np.full(values, 0.5), (1, (values + 1) ** (order - 1), values))
    table[:, :, np.arange(values), np.arange(values)] += stay
    names = pl.Series("value", [f"v{i}" for i in range(values)])
    return Knowledge(names, Classes.everyone(), rng.dirichlet(np.ones(values), 1), table, order)


def branching_history(seed: int, people: int = 6, values: int = 3, releases: int = 3) -> History:
    """Releases in which people and groups form no loop: whoever meets was not connected before."""
    rng = np.random.default_rng(seed)
    part = np.arange(people)
    tables, truth = [], []
    for _ in range(releases):
        here = rng.permutation(np.flatnonzero(rng.random(people) < 0.85))
        group = np.full(len(here), -1)
        made = 0
        for i in range(len(here)):
            with_whom = [j for j in range(i) if group[j] >= 0 and rng.random() < 0.6]
            for j in with_whom:
                together = here[group == group[j]]
                if len(together) < 3 and not np.isin(part[here[i]], part[together]):
                    group[i] = group[j]
                    part[np.isin(part, part[together])] = part[here[i]]
                    break
            else:
                if rng.random() < 0.8:
                    group[i] = made
                    made += 1
        code = rng.integers(0, values, len(here))
        kept = group >= 0
        fake = rng.permutation(made)[: rng.integers(0, 2)] if made else array([])
        rows = np.concatenate([group[kept], fake]).astype(np.int64)
        codes = np.concatenate([code[kept], rng.integers(0, values, len(fake))])
        tables.append(Table(here, group, rows, codes))
        truth.append(code)
    lives = [
        Appearances(one.person, codes, np.zeros(len(codes), np.uint64))
        for one, codes in zip(tables, truth, strict=True)
    ]
    return History.of(people, values, tables, events_of(people, lives), truth)
