"""The belief attack: an adversary who knows how values follow each other (JS-reduce, section 4; BayFrame, section 4).

Before a release she has a prior of everyone in it: that of the class at first sight, later what her belief in the
person's last values makes of the next one. The values of each group turn the prior into a posterior, and this revises
the belief. She goes through the releases once, in their order, and what she believes is kept nowhere but here.

She recognises people from release to release. From event lists she knows who was in a view and left out of the
release, of whom the belief moves on without a posterior, and whether anybody's value changed since the last view.

Batches with clocks of their own (`history.renewed`) are weighed in the releases that count them anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.believing.register import UNKNOWN, Register
from republish.attacks.confidence import BeliefResult, Believed, Sureness, signed_gain
from republish.attacks.history import History
from republish.attacks.summary import SURE, scored, shares
from republish.errors import PolicyError
from republish.inference import (
    UNTOLD,
    Compromised,
    Groups,
    Posteriors,
    Reasoning,
    Revision,
    cascaded,
    group_posteriors,
)
from republish.knowledge import Extracted, Knowledge

_BLOCK = 65_536


class Told(NamedTuple):
    """Whom she is told of: `people` [release, person], each with the true value and this confidence in it."""

    people: BoolArray
    certainty: float


class BeliefStep(NamedTuple):
    """What she believes of everyone in one release, a row a person of the register.

    `row` is the row of every appearance of the history in this release.
    """

    prior: FloatArray
    posterior: Posteriors
    row: IntArray


def beliefs(
    history: History, reasoning: Reasoning, register: Register | None = None, told: Told | None = None
) -> BeliefResult:
    """How sure she is of every published value, release by release.

    The history may be of any tables. Without a register the people are those in its groups, all of one class, and
    the knowledge must name the values in the order of the history's codes. Without true values the figures are of the
    likeliest value.
    """
    register = plain_register(history, reasoning) if register is None else register
    count = len(history.person)
    p, code = np.zeros(count), np.zeros(count, dtype=np.int64)
    found: list[Posteriors] = []
    first = 0
    for step in walk(history, reasoning, register, told):
        mine = step.posterior.p[step.row]
        here = slice(first, first + len(mine))
        code[here] = mine.argmax(axis=1) if history.truth is None else history.truth[here]
        p[here] = mine[np.arange(len(mine)), code[here]]
        found.append(step.posterior)
        first += len(mine)
    secret = np.ones(count, dtype=np.bool_) if told is None else ~told.people[history.release, history.person]
    return _result(history, reasoning, found, p, shares(history, code), secret)


def walk(
    history: History, reasoning: Reasoning, register: Register, told: Told | None = None
) -> Iterator[BeliefStep]:
    """Her beliefs before and after every release; no true value is read but those she is told or counts from."""
    beliefs: np.ndarray[tuple[int, int], np.dtype[np.float32]] | None = None
    weighed = history.renewed or history
    seen = np.zeros(history.people, dtype=np.int64)
    for i, revision in enumerate(_revisions(history, reasoning, register)):
        if beliefs is None:
            beliefs = np.zeros((history.people, revision.width), dtype=np.float32)
        person, classes = register.person[i], register.classes[i]
        changed = None if register.changed is None else register.changed[i]
        blocks = [slice(a, a + _BLOCK) for a in range(0, len(person), _BLOCK)]
        if revision.knowledge.gaps == "count":
            away = i - seen[person]  # of whoever is known to have kept or changed the value, that says more
            away[(seen[person] == 0) | (False if changed is None else changed != UNTOLD)] = 0
            beliefs[person] = revision.caught_up(classes, beliefs[person], away)
        seen[person] = i + 1
        prior = np.zeros((len(person), history.values))
        for block in blocks:
            marks = None if changed is None else changed[block]
            prior[block] = revision.prior(classes[block], beliefs[person[block]], marks)
        entries = None if told is None else _entries(told, i, person, register.codes[i])
        found = inferred(prior, groups_of(weighed, i), rows_of(weighed, i, person), reasoning, entries)
        yield BeliefStep(prior, found, rows_of(history, i, person))
        if revision.width and i + 1 < history.releases:
            for block in blocks:
                who = person[block]
                marks = None if changed is None else changed[block]
                beliefs[who] = revision.observed(classes[block], beliefs[who], found.p[block], marks)


def plain_register(history: History, reasoning: Reasoning) -> Register:
    """Everyone in the groups of a history, in one class."""
    known = reasoning.knowledge
    if known.classes.columns:
        raise PolicyError(
            "this knowledge has several classes of people; give a register that says who is in which"
        )
    if isinstance(known, Extracted) or known.size != history.values:
        raise PolicyError(
            f"without a register the knowledge must name the {history.values} values of the history in the order of "
            "their codes; give a register with the values"
        )
    bounds = np.searchsorted(history.release, np.arange(1, history.releases))
    person = tuple(np.split(history.person, bounds)) if history.releases else ()
    unknown = np.full(len(history.person), UNKNOWN) if history.truth is None else history.truth
    codes = tuple(np.split(unknown, bounds)) if history.releases else ()
    return Register(known.values, person, tuple(np.zeros_like(who) for who in person), codes)


def _revisions(history: History, reasoning: Reasoning, register: Register) -> Iterator[Revision]:
    """How she revises beliefs, release by release; knowledge of the views themselves grows with them."""
    if len(register.values) != history.values or len(register.person) != history.releases:
        raise PolicyError(
            f"a register must hold {history.releases} releases and {history.values} values; found "
            f"{len(register.person)} and {len(register.values)}"
        )
    source = reasoning.knowledge
    if history.releases == 0:
        return
    if not isinstance(source, Extracted):
        yield from repeat(revision_of(source.aligned(register.values), reasoning), history.releases)
        return
    if not any((codes != UNKNOWN).any() for codes in register.codes):
        raise PolicyError(
            "knowledge that is counted from the views needs their true values; give them, or other knowledge"
        )
    counts = source.start()
    past = np.full((history.people, counts.order), UNKNOWN)
    seen = np.zeros(history.people, dtype=np.int64)
    registered = zip(register.person, register.classes, register.codes, strict=True)
    for number, (person, classes, codes) in enumerate(registered, start=1):
        there = codes != UNKNOWN
        who = person[there]
        away = (seen[who] > 0) & (seen[who] < number - 1) & (source.gaps == "count")
        follows, last = there.copy(), who[~away]
        follows[there] = ~away
        counts = counts.add(classes[follows], list(np.ascontiguousarray(past[last].T)), codes[follows])
        past[who[away]] = UNKNOWN
        past[who, 1:] = past[who, :-1]
        past[who, 0] = codes[there]
        seen[who] = number
        yield revision_of(source.knowledge(counts, register.values), reasoning)


def revision_of(knowledge: Knowledge, reasoning: Reasoning) -> Revision:
    """How beliefs are revised by somebody who reasons like this."""
    seen = knowledge if reasoning.steps is None else knowledge.steps(reasoning.steps)
    return Revision(seen, reasoning.form)


def rows_of(history: History, release: int, person: IntArray) -> IntArray:
    """The row of everyone who appears in a release among the people of a register."""
    first, last = history.member_start[history.group_start[release : release + 2]]
    place = np.full(history.people, -1)
    place[person] = np.arange(len(person))
    row = place[history.person[first:last]]
    missing = int(np.count_nonzero(row < 0))
    if missing:
        raise PolicyError(
            f"a register must hold everyone in a group; {missing} of {len(row)} people are missing"
        )
    return row


def _entries(told: Told, release: int, person: IntArray, codes: IntArray) -> Compromised | None:
    """What she is told of people in one release, by their row; `None` where it is nothing."""
    row = np.flatnonzero(told.people[release, person] & (codes != UNKNOWN))
    return Compromised(row, codes[row], np.full(len(row), told.certainty)) if len(row) else None


def groups_of(history: History, release: int) -> Groups:
    """The groups of one release; their members are its appearances."""
    first, last = history.group_start[release], history.group_start[release + 1]
    members, values = history.member_start[first : last + 1], history.value_start[first : last + 1]
    shown = slice(values[0], values[-1])
    return Groups(
        members - members[0], values - values[0], history.value_code[shown], history.value_count[shown]
    )


def inferred(
    prior: FloatArray, groups: Groups, row: IntArray, reasoning: Reasoning, entries: Compromised | None
) -> Posteriors:
    """The posteriors of everyone; whoever is in no group keeps the prior with what she was told.

    Rows of the groups are the appearances in `row`, so entries are numbered afresh.
    """
    p = prior.copy()
    within = None
    if entries is not None:
        if reasoning.cascade == "prior":
            p = cascaded(prior, entries)
        place = np.full(len(prior), -1)
        place[row] = np.arange(len(row))
        there = place[entries.row] >= 0
        within = Compromised(place[entries.row[there]], entries.code[there], entries.p[there])
        if reasoning.cascade == "prior":  # the prior holds all but certainty
            within = within.certain()
    found = group_posteriors(p[row], groups, reasoning.posterior, within)
    if entries is not None and reasoning.cascade == "posterior":
        p = cascaded(p, entries)
    p[row] = found.p
    return Posteriors(p, found.used, found.fallbacks, found.unsettled)


def _result(
    history: History,
    reasoning: Reasoning,
    found: list[Posteriors],
    p: FloatArray,
    f: FloatArray,
    secret: BoolArray,
) -> BeliefResult:
    bounds = np.searchsorted(history.release, np.arange(history.releases + 1))
    parts = [slice(a, b) for a, b in pairwise(bounds)]
    summed = scored(history, p, p >= SURE, signed_gain(p, f), secret)
    return BeliefResult(
        posterior=reasoning.posterior,
        steps=reasoning.steps,
        releases=tuple(
            _believed(p[part], f[part], secret[part], [one]) for part, one in zip(parts, found, strict=True)
        ),
        overall=_believed(p, f, secret, found),
        people=summed.overall.people,
        ever_above_half=summed.overall.above_half,
        ever_above_nine_tenths=summed.overall.above_nine_tenths,
        confidence=p,
        share=f,
        summary=summed.overall,
        by_release=summed.releases,
        risk=summed.risk,
    )


def _believed(p: FloatArray, f: FloatArray, secret: BoolArray, found: list[Posteriors]) -> Believed:
    rows = max(len(p), 1)
    methods = sorted({name for one in found for name in one.used})
    return Believed(
        everyone=Sureness.of(p, f),
        uncompromised=None if secret.all() else Sureness.of(p[secret], f[secret]),
        used={name: sum(one.used.get(name, 0) for one in found) / rows for name in methods},
        fallbacks=sum(one.fallbacks for one in found) / rows,
        unsettled=sum(one.unsettled for one in found) / rows,
    )
