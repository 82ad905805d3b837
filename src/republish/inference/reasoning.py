"""How somebody thinks about a series: what she knows, how she infers, how she revises; and what she remembers of it.

Her thoughts about a release are the prior of everyone in it, then, once it is out, the posterior and the revised
belief. The defender's live in the memory of the series, an adversary's in one of her own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from republish.arrays import FloatArray, IntArray, WordArray
from republish.errors import PolicyError
from republish.inference.compromise import Compromised, cascaded
from republish.inference.groups import Groups
from republish.inference.posterior import METHODS, Posteriors, group_posteriors
from republish.inference.revision import FORMS, Revision, States, regrown
from republish.knowledge import Extracted, Knowledge, Transitions
from republish.memory.memory import Memory
from republish.microdata import Microdata

BELIEF, DOMAIN, PAST, FORMED = "belief", "domain", "past", "formed"
CASCADES = ("prior", "posterior")
FULL = "full"
"""All last values that the knowledge has, where a number of them is asked for."""


def last_values(steps: int | str) -> int | None:
    """How many last values are looked at: a number, or all that the knowledge has."""
    if steps == FULL:
        return None
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise PolicyError(f"steps must be {FULL} or a whole number from 0")
    return steps


def value_order(values: pl.Series) -> IntArray:
    """The codes along which chances are added up: numbers and days as they grow, other values as they are listed."""
    if values.dtype.is_numeric() or values.dtype.is_temporal():
        return values.arg_sort(nulls_last=False).to_numpy().astype(np.int64)
    return np.arange(len(values))


class Respondents(NamedTuple):
    """Everyone in a release: pseudonyms, classes of knowledge, true codes (read where knowledge is counted from them).

    `values` are what the codes stand for; `compromised` is what is known of single people, by row.
    """

    people: WordArray
    classes: IntArray
    codes: IntArray
    values: pl.Series
    compromised: Compromised | None = None


class Thoughts(NamedTuple):
    """The prior of everyone in a release, and what it rests on."""

    now: Respondents
    revision: Revision
    beliefs: States
    prior: FloatArray
    counts: Transitions | None


@dataclass(frozen=True)
class Reasoning:
    """What she knows, and how she makes posteriors and revises beliefs.

    `steps` are the last values she looks at: as many as the knowledge has (`None`), fewer, or none at all (0, a
    snapshot). `form` is one of `republish.inference.revision.FORMS`. `cascade` says where knowledge of single
    people enters: in the prior, or after the release in the posterior (BayFrame, section 4.4). In groups with more than
    `omega_above` values, where that is not 0, she makes the Omega-estimate in the place of her posterior (4.3.1).
    """

    knowledge: Knowledge | Extracted
    posterior: str = "exact"
    steps: int | None = None
    form: str = "joint"
    cascade: str = "prior"
    omega_above: int = 0

    def __post_init__(self) -> None:
        for what, found, known in (
            ("posterior", self.posterior, METHODS),
            ("form", self.form, FORMS),
            ("cascade", self.cascade, CASCADES),
        ):
            if found not in known:
                raise PolicyError(f"{what} must be one of {', '.join(known)}; found {found!r}")
        if self.steps is not None and (not isinstance(self.steps, int) or self.steps < 0):
            raise PolicyError("steps must be a whole number from 0, or none for all that the knowledge has")
        if type(self.omega_above) is not int or self.omega_above < 0:
            raise PolicyError(
                "omega_above, the size above which groups are left to the Omega-estimate, must be a whole number from 0"
            )

    def respondents(self, view: Microdata) -> Respondents:
        """Everyone in a view, as she sees them."""
        people = np.zeros((view.rows, 2), dtype=np.uint64) if view.people is None else view.people
        classes = self.knowledge.classes.of(view)
        return Respondents(people, classes, view.codes, view.values, view.compromised)

    def thoughts(self, now: Respondents, memory: Memory) -> Thoughts:
        entries = memory.find(now.people)
        known = entries >= 0
        counts = None
        values = now.values if len(now.values) else now.values.extend_constant(None, 1)  # nobody was seen yet
        if isinstance(self.knowledge, Extracted):
            counts = self._counted(self.knowledge, now, memory, entries)
            knowledge = self.knowledge.knowledge(counts, values)
        else:
            knowledge = self.knowledge.aligned(values)
        if self.steps is not None:
            knowledge = knowledge.steps(self.steps)
        revision = Revision(knowledge, self.form)
        beliefs = np.zeros((len(now.people), revision.width), dtype=np.float32)
        if BELIEF in memory.columns:
            known[known] = memory.columns[DOMAIN][entries[known]] > 0
            stored, sizes = memory.columns[BELIEF][entries[known]], memory.columns[DOMAIN][entries[known]]
            same = (sizes == knowledge.size).all() and stored.shape[1] == revision.width
            beliefs[known] = stored if same else regrown(stored, sizes, revision)
            if knowledge.gaps == "count":
                gone = _away(memory, entries[known])
                beliefs[known] = revision.caught_up(now.classes[known], beliefs[known], gone)
        prior = revision.prior(now.classes, beliefs)
        if now.compromised is not None and self.cascade == "prior":
            prior = cascaded(prior, now.compromised)
        return Thoughts(now, revision, beliefs, prior, counts)

    def inferred(
        self, thoughts: Thoughts, group: IntArray, row_group: IntArray, row_code: IntArray
    ) -> Posteriors:
        """The posteriors of everyone once the groups are out; whoever is in none (-1) keeps the prior.

        `group` is that of everyone, `row_group` and `row_code` are group and value of every published row.
        """
        found = self._inferred(thoughts, group, row_group, row_code)
        if not self.omega_above:
            return found
        sizes = np.bincount(row_group[row_group >= 0], minlength=int(group.max(initial=-1)) + 1)
        large = np.append(sizes, 0)[group] > self.omega_above
        if not large.any():
            return found
        omega = replace(self, posterior="omega", omega_above=0)._inferred(
            thoughts, group, row_group, row_code
        )
        return Posteriors(np.where(large[:, np.newaxis], omega.p, found.p))

    def _inferred(
        self, thoughts: Thoughts, group: IntArray, row_group: IntArray, row_code: IntArray
    ) -> Posteriors:
        known = thoughts.now.compromised
        groups, order = Groups.of(group, row_group, row_code)
        entries = None
        if known is not None:
            place = np.full(len(group), -1)
            place[order] = np.arange(len(order))
            there = place[known.row] >= 0
            entries = Compromised(place[known.row[there]], known.code[there], known.p[there])
            if self.cascade == "prior":  # the prior holds all but certainty
                entries = entries.certain()
        found = group_posteriors(thoughts.prior[order], groups, self.posterior, entries)
        p = thoughts.prior.copy()
        if known is not None and self.cascade == "posterior":
            p = cascaded(p, known)
        p[order] = found.p
        return replace(found, p=p)

    def remembered(self, thoughts: Thoughts, posterior: FloatArray, memory: Memory) -> Memory:
        """The memory with the revised beliefs of everyone in the release; `memory` must hold them all."""
        now = thoughts.now
        entries = memory.find(now.people)
        beliefs = thoughts.revision.observed(now.classes, thoughts.beliefs, posterior)
        columns = dict(memory.columns)
        columns[BELIEF] = _written(columns.get(BELIEF), entries, beliefs, memory.size)
        sizes = np.full(len(entries), len(now.values), dtype=np.int32)
        columns[DOMAIN] = _written(columns.get(DOMAIN), entries, sizes, memory.size)
        gone: IntArray = np.zeros(len(entries), np.int32)
        if self.knowledge.gaps == "count":
            gone = _away(memory, entries)
            columns[FORMED] = _written(columns.get(FORMED), entries, columns["last"][entries], memory.size)
        if thoughts.counts is None:
            return replace(memory, columns=columns)
        latest = now.codes.astype(np.int32) + 1
        for name in _past(thoughts.counts.order):
            before = columns.get(name)
            columns[name] = _written(before, entries, latest, memory.size)
            latest = np.zeros(len(entries), np.int32) if before is None else before[entries] * (gone == 0)
        return replace(memory, columns=columns, counts=thoughts.counts.table)

    def _counted(self, source: Extracted, now: Respondents, memory: Memory, entries: IntArray) -> Transitions:
        """The counts of all views up to this one."""
        if source.counted is not None:
            return source.counted
        start = source.start()
        counts = start if memory.counts is None else Transitions(start.order, memory.counts)
        history = last_codes(memory, entries, start.order)
        if source.gaps == "skip":
            return counts.add(now.classes, history, now.codes)
        here = np.ones(len(entries), dtype=np.bool_)
        here[entries >= 0] = _away(memory, entries[entries >= 0]) == 0
        return counts.add(now.classes[here], [codes[here] for codes in history], now.codes[here])


def last_codes(memory: Memory, entries: IntArray, order: int) -> list[IntArray]:
    """The last codes of each entry, the latest first; -1 where there is none."""
    history = []
    for name in _past(order):
        code = np.full(len(entries), -1)
        if name in memory.columns:
            code[entries >= 0] = memory.columns[name][entries[entries >= 0]] - 1
        history.append(code)
    return history


def _away(memory: Memory, entries: IntArray) -> IntArray:
    """How many releases lie between the last belief in each person and the release at hand, 0 for a stranger.

    A memory may hold the sight of the people at hand already: they were then last seen later than believed in.
    """
    last = memory.columns["last"][entries].astype(np.int64)
    formed = memory.columns.get(FORMED, np.zeros(memory.size, np.int32))[entries].astype(np.int64)
    seen = bool((last != formed).any())
    number = int(last.max(initial=0)) if seen else memory.release + 1
    return np.where(formed > 0, number - 1 - formed, 0)


def _past(order: int) -> list[str]:
    """The columns of a person's last codes, the latest first; they hold code + 1, for 0 is nothing."""
    return [f"{PAST}{i}" for i in range(1, order + 1)]


def _written(old: Any, entries: IntArray, new: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """A column of the memory with new rows in some places, the narrower of old and new filled with zeros."""
    if new.ndim == 1:
        column = np.zeros(size, dtype=new.dtype) if old is None else old.copy()
        column[entries] = new
        return column
    column = np.zeros((size, max(new.shape[1], 0 if old is None else old.shape[1])), dtype=new.dtype)
    if old is not None:
        column[:, : old.shape[1]] = old
        column[entries] = 0
    column[entries, : new.shape[1]] = new
    return column
