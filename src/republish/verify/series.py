"""A whole series checked from what is stored: chain, files, every promise of every release, and the memory.

When a release is made it is checked against the memory, in time that does not depend on how many releases there
are (hc-safety aside). `republish verify` goes through all releases and forms anew what must be remembered, from the
private memberships. What the promises are is said in `republish.verify.promises`; no publisher is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.errors import LedgerError, PolicyError, SchemaError, ViewError
from republish.memory.memory import KEY, Memory, read_membership
from republish.requirements import Requirement, parse_requirements
from republish.schema.schema import Schema
from republish.verify.cohorts import DETERMINED, CohortWalk, few_determined, known_from
from republish.verify.membership import group_sizes, members_fit, repeated, with_repeated
from republish.verify.memory import Rebuilt, spelled_signatures
from republish.verify.promises import (
    ABOUT_SIGNATURES,
    Appearances,
    Before,
    Signatures,
    meaning_of,
    no_signatures,
    promise_checks,
    signatures_of,
)
from republish.verify.similarity import BeliefWalk, Shown, shown_in, similar
from republish.verify.table import AtLarge, Check, Verification, verify_release
from republish.verify.withstand import TrailWalk, from_memory

if TYPE_CHECKING:
    from republish.inference import Reasoning
    from republish.ledger import Entry, Ledger

__all__ = [
    "Appearances",
    "SeriesVerification",
    "Signatures",
    "check_against_memory",
    "meaning_of",
    "signatures_of",
    "verify_series",
]

WITHSTAND = "withstand"
UNREADABLE = (OSError, pl.exceptions.PolarsError, SchemaError, ViewError, LedgerError, PolicyError)


def check_against_memory(
    promises: Iterable[str],
    now: Appearances,
    sizes: IntArray,
    memory: Memory,
    reasoning: Reasoning | None = None,
) -> tuple[Check, ...]:
    """The promises over the series for a new release, from what the memory holds of everyone in it."""
    entries = memory.find(now.people)
    known: BoolArray = entries >= 0
    stored = pl.DataFrame(
        {
            "code": pl.Series(memory.columns["code"], dtype=pl.Int32),
            "release": pl.Series(memory.columns["last"], dtype=pl.Int32),
            "signature": spelled_signatures(memory),
        }
    )
    nobody = pl.DataFrame({"code": [None], "release": [None], "signature": [None]}, schema=stored.schema)
    last = pl.concat([stored, nobody])[np.where(known, entries, memory.size)]
    goes_on = known.copy()
    goes_on[known] = memory.columns["code"][entries[known]] == now.code[known]

    def groups() -> Sequence[IntArray]:
        found = [np.zeros(len(entries), dtype=np.int32) for _ in range(1, now.number)]
        for release, column in enumerate(found, start=1):
            if f"group@{release}" in memory.columns:  # nobody was published in an empty release
                column[goes_on] = memory.columns[f"group@{release}"][entries[goes_on]]
        return found

    def beliefs(promise: str) -> Check:
        assert reasoning is not None and now.shown is not None
        if promise.startswith(WITHSTAND):
            return from_memory(promise, reasoning, now.shown, now.group, memory)
        prior = reasoning.thoughts(now.shown.people, memory).prior
        return similar(promise, prior, now.group, np.ones(len(sizes), dtype=np.bool_))

    def cohorts(promise: str) -> Sequence[Check]:
        return few_determined(promise, now, known_from(memory, now))

    return tuple(promise_checks(promises, now, Before(last, groups, beliefs, cohorts), sizes))


@dataclass(frozen=True)
class SeriesVerification:
    """What is wrong with the ledger and its files, the checks of every release, and how many new lives began.

    What is `not_recomputable` was checked when it was published, while the view was at hand; nothing that is
    stored says whether it holds.
    """

    problems: tuple[str, ...]
    releases: dict[int, Verification]
    new_lives: int = 0
    not_recomputable: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and all(verification.holds for verification in self.releases.values())

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        document = {
            "holds": self.holds,
            "problems": list(self.problems),
            "new_lives": self.new_lives,
            "releases": {str(number): found.as_dict() for number, found in self.releases.items()},
        }
        if self.not_recomputable:
            document["not_recomputable"] = list(self.not_recomputable)
        return document


class Promising(Protocol):
    """What a policy shows of itself to be verified."""

    @property
    def promises(self) -> dict[str, Any]:
        """What is promised of every table and over the series."""
        ...


class Stored(Protocol):
    """What a series shows of itself to be verified."""

    @property
    def ledger(self) -> Ledger:
        """Its ledger."""
        ...

    @property
    def schema(self) -> Schema:
        """Its schema with all amendments."""
        ...

    @property
    def policy(self) -> Promising:
        """Its policy."""
        ...

    @property
    def reasoning(self) -> Reasoning | None:
        """How its publisher takes an adversary to think, where it thinks of one."""
        ...

    def memory(self) -> Memory:
        """What is remembered of everyone published so far."""
        ...

    def membership_files(self, number: int) -> list[str]:
        """The names of the files that hold the membership of a release, in their order."""
        ...

    def known_values(self) -> pl.Series:
        """The sensitive domain that the codes of all releases point into."""
        ...

    def values_at(self, number: int) -> pl.Series:
        """The sensitive domain that was known at a release."""
        ...

    def compromised_file(self, number: int) -> str | None:
        """The name of the file of what outsiders know of people in a release, where there is one."""
        ...


def verify_series(series: Stored, progress: Callable[[int, int], None] | None = None) -> SeriesVerification:
    """Check the chain and all files, then every promise of every release and the memory, from what is stored."""
    problems = list(series.ledger.check())
    records, schema = series.ledger.releases(), series.schema
    walk = Walk(series.policy.promises, recorded_promises(records), series.reasoning)
    releases: dict[int, Verification] = {}
    for done, entry in enumerate(records, start=1):
        number = entry.release or done
        if entry.payload["promises"] != walk.promises:
            problems.append(f"release {number} records other promises than the policy makes")
        try:
            releases[number] = _verify_stored(series, entry, schema, walk)
        except UNREADABLE:
            problems.append(f"release {number} cannot be read any more")
        if progress:
            progress(done, len(records))
    if len(releases) == len(records):
        try:
            memory = series.memory()
            problems += walk.rebuilt.differences(memory, walk.signatures)
            if walk.beliefs is not None:
                problems += walk.beliefs.differences(memory)
            if walk.trail is not None:
                problems += walk.trail.differences(memory)
            if walk.cohorts is not None:
                problems += walk.cohorts.differences(memory)
        except UNREADABLE:
            problems.append("the memory cannot be read any more")
    unseen = tuple(walk.promises.get("when_published", ()))
    return SeriesVerification(tuple(problems), releases, walk.new_lives, unseen)


def recorded_promises(records: Iterable[Entry]) -> list[str]:
    """All promises over the series that releases were recorded with."""
    return [promise for entry in records for promise in entry.payload["promises"]["series"]]


class Walk:
    """What an auditor carries from release to release: what must be remembered, and what an adversary believes.

    `promises` are those of the policy, `recorded` those over the series that releases were recorded with.
    """

    def __init__(
        self, promises: dict[str, Any], recorded: Iterable[str], reasoning: Reasoning | None
    ) -> None:
        self.promises = promises
        self.beliefs = None if reasoning is None else BeliefWalk(reasoning)
        self.names = {promise.partition("=")[0] for promise in (*promises["series"], *recorded)}
        self.signatures = bool(self.names & set(ABOUT_SIGNATURES))
        self.trail = (
            TrailWalk(reasoning.posterior) if reasoning is not None and WITHSTAND in self.names else None
        )
        self.cohorts = CohortWalk() if DETERMINED in self.names else None
        self.rebuilt = Rebuilt(with_groups="hc-safety" in self.names)
        self.new_lives = 0

    def requirements(self, entry: Entry) -> tuple[Requirement, ...]:
        """What every group must satisfy, by the policy and by what was recorded with the release."""
        mine, recorded = (
            parse_requirements(promises["one_table"])
            for promises in (self.promises, entry.payload["promises"])
        )
        return (*mine, *(requirement for requirement in recorded if requirement not in mine))

    def over_series(self, entry: Entry) -> list[str]:
        """What is promised over the series, by the policy and by what was recorded with the release."""
        return list(dict.fromkeys([*self.promises["series"], *entry.payload["promises"]["series"]]))

    def check(
        self, promises: Iterable[str], now: Appearances, sizes: IntArray, row: pl.Series
    ) -> list[Check]:
        """The promises over the series for one release, then remember it."""
        known = self.rebuilt.known(now)
        similarity = withstood = None
        if self.beliefs is not None and now.shown is not None:
            similarity = self.beliefs.look(now.shown, now.group)
            if self.trail is not None and self.beliefs.revision is not None:
                withstood = self.trail.look(now.shown, now.group, self.beliefs.revision)

        def beliefs(promise: str) -> Check:
            checked = withstood if promise.startswith(WITHSTAND) else similarity
            if checked is None:
                return Check(promise, False, "The policy no longer says what an adversary knows.")
            return checked(promise)

        last = known.select("code", "signature", release="last")
        before = Before(
            last,
            lambda: self.rebuilt.groups_of(known, now.code),
            beliefs,
            lambda promise: self._cohorts(promise, now),
        )
        checks = promise_checks(promises, now, before, sizes)
        if self.cohorts is not None:
            self.cohorts.add(now)
        if self.signatures:
            self.new_lives += int(np.count_nonzero(before.changed(now)))
        self.rebuilt.add(now, known, row)
        return checks

    def _cohorts(self, promise: str, now: Appearances) -> Sequence[Check]:
        assert self.cohorts is not None
        return few_determined(promise, now, self.cohorts.known(now))


class About(NamedTuple):
    """What the series says of a release: number, schema, what every group must satisfy, what is promised over it.

    `known` are the values that codes of all releases point into, `values` those known at this one. Where the release
    at hand is a part of one, `large` is the table it belongs to, and its last group has at least the number `groups`.
    """

    number: int
    schema: Schema
    requirements: tuple[Requirement, ...]
    promises: list[str]
    known: pl.Series
    values: pl.Series
    large: AtLarge | None = None
    groups: int = 0


def about(series: Stored, entry: Entry, schema: Schema, walk: Walk) -> About:
    """What a series says of one of its releases."""
    number = entry.release or 0
    promises = walk.over_series(entry)
    values = series.values_at(number)
    return About(number, schema, walk.requirements(entry), promises, series.known_values(), values)


def _verify_stored(series: Stored, entry: Entry, schema: Schema, walk: Walk) -> Verification:
    stated = about(series, entry, schema, walk)
    names = series.membership_files(stated.number)
    members = read_membership([series.ledger.path(name) for name in names])
    shown = shown_in(series, entry, members) if series.reasoning is not None else None
    found = verify_members(series.ledger.folder(stated.number), stated, members, walk, shown)
    return with_repeated(found, repeated(members))


def verify_members(
    folder: Path, stated: About, members: pl.DataFrame, walk: Walk, shown: Shown | None
) -> Verification:
    """Check a stored release, or whole groups of one numbered from 1, with its membership; then remember it.

    That nobody is in the membership twice is left to `repeated`.
    """
    schema = stated.schema
    found = verify_release(folder, schema, stated.requirements, stated.large)
    sizes, counterfeits = group_sizes(folder, stated.groups)
    fit = members_fit(folder, schema, members, stated.known, sizes, counterfeits)
    now = Appearances(
        stated.number,
        np.column_stack([members[key].to_numpy() for key in KEY]),
        members["group"].to_numpy(),
        members["code"].to_numpy(),
        signatures_of(folder, schema, stated.values, stated.groups)
        if walk.signatures and schema.sensitive is not None
        else no_signatures(len(sizes)),
        shown,
    )
    return found.with_checks(fit, *walk.check(stated.promises, now, sizes, members["row"]))
