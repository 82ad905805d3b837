"""A whole series checked from what is stored: chain, files, every promise of every release, and the memory.

When a release is made it is checked against the memory, in time that does not depend on how many releases there
are (hc-safety aside). `republish verify` goes through all releases and forms anew what must be remembered, from the
private memberships. What the promises are is said in `republish.verify_promises`; no publisher is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from republish.errors import LedgerError, PolicyError, SchemaError, ViewError
from republish.memory import KEY, Memory
from republish.microdata import sensitive_codes
from republish.release import COUNTERFEITS, TABLE_PARQUET
from republish.requirements import Requirement, parse_requirements
from republish.schema import Schema
from republish.types import BoolArray, IntArray
from republish.verify import Check, Verification, verify_release
from republish.verify_beliefs import BeliefWalk, shown_in, similar
from republish.verify_cohorts import DETERMINED, CohortWalk, few_determined, known_from
from republish.verify_memory import Rebuilt, spelled_signatures
from republish.verify_promises import (
    ABOUT_SIGNATURES,
    Appearances,
    Before,
    Signatures,
    meaning_of,
    no_signatures,
    promise_checks,
    signatures_of,
)
from republish.verify_withstand import TrailWalk, from_memory

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
_UNREADABLE = (OSError, pl.exceptions.PolarsError, SchemaError, ViewError, LedgerError, PolicyError)


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

    def membership_file(self, number: int) -> str:
        """The name of the membership file of a release."""
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
    walk = _Walk(series)
    releases: dict[int, Verification] = {}
    for done, entry in enumerate(records, start=1):
        number = entry.release or done
        if entry.payload["promises"] != walk.promises:
            problems.append(f"release {number} records other promises than the policy makes")
        try:
            releases[number] = _verify_stored(series, entry, schema, walk)
        except _UNREADABLE:
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
        except _UNREADABLE:
            problems.append("the memory cannot be read any more")
    unseen = tuple(walk.promises.get("when_published", ()))
    return SeriesVerification(tuple(problems), releases, walk.new_lives, unseen)


class _Walk:
    """What an auditor carries from release to release: what must be remembered, and what an adversary believes."""

    def __init__(self, series: Stored) -> None:
        self.promises = series.policy.promises
        reasoning = series.reasoning
        self.beliefs = None if reasoning is None else BeliefWalk(reasoning)
        recorded = [
            promise for entry in series.ledger.releases() for promise in entry.payload["promises"]["series"]
        ]
        names = {promise.partition("=")[0] for promise in (*self.promises["series"], *recorded)}
        self.signatures = bool(names & set(ABOUT_SIGNATURES))
        self.trail = TrailWalk(reasoning.posterior) if reasoning is not None and WITHSTAND in names else None
        self.cohorts = CohortWalk() if DETERMINED in names else None
        self.rebuilt = Rebuilt(with_groups="hc-safety" in names)
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


def _verify_stored(series: Stored, entry: Entry, schema: Schema, walk: _Walk) -> Verification:
    number = entry.release or 0
    folder = series.ledger.folder(number)
    found = verify_release(folder, schema, walk.requirements(entry))
    members = pl.read_parquet(series.ledger.path(series.membership_file(number)))
    sizes, counterfeits = group_sizes(folder)
    checks = [_members_fit(folder, schema, members, series.known_values(), sizes, counterfeits)]
    now = Appearances(
        number,
        np.column_stack([members[key].to_numpy() for key in KEY]),
        members["group"].to_numpy(),
        members["code"].to_numpy(),
        signatures_of(folder, schema, series.values_at(number))
        if walk.signatures and schema.sensitive is not None
        else no_signatures(len(sizes)),
        shown_in(series, entry, members) if series.reasoning is not None else None,
    )
    checks += walk.check(walk.over_series(entry), now, sizes, members["row"])
    return found.with_checks(*checks)


def group_sizes(folder: Path) -> tuple[IntArray, IntArray]:
    """Rows and declared counterfeits of every group of a stored release."""
    group = pl.read_parquet(folder / TABLE_PARQUET, columns=["group"])["group"].to_numpy()
    sizes = np.bincount(group, minlength=1)[1:]
    counterfeits = np.zeros(len(sizes), dtype=np.int64)
    if (folder / COUNTERFEITS).exists():
        held = pl.read_csv(folder / COUNTERFEITS)
        counterfeits[held["group"].to_numpy() - 1] = held["count"].to_numpy()
    return sizes, counterfeits


def _members_fit(
    folder: Path,
    schema: Schema,
    members: pl.DataFrame,
    values: pl.Series,
    sizes: IntArray,
    counterfeits: IntArray,
) -> Check:
    """The private membership must account for every row and value of every group once, counterfeits aside."""
    stray = int((members["group"] > len(sizes)).sum())
    someone = members.filter(pl.any_horizontal(pl.col(key) != 0 for key in KEY))
    stray += int(someone.select(KEY).is_duplicated().sum())
    inside = members.filter(pl.col("group").is_between(1, len(sizes)))
    owned = np.bincount(inside["group"].to_numpy(), minlength=len(sizes) + 1)[1:]
    differs = sizes - counterfeits != owned
    if schema.sensitive is not None:
        frame = pl.read_parquet(folder / TABLE_PARQUET, columns=["group", schema.sensitive.name])
        codes, _ = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
        published = pl.DataFrame({"group": frame["group"], "code": codes}).group_by("group", "code").len()
        remembered = inside.group_by("group", "code").len()
        missing = remembered.join(published, on=["group", "code"], how="left", suffix="_published").filter(
            pl.col("len_published").is_null() | (pl.col("len") > pl.col("len_published"))
        )
        differs[missing["group"].unique().to_numpy() - 1] = True
    return Check(
        "membership",
        not differs.any() and not stray,
        "Every published row belongs to one remembered person with that value, counterfeits aside.",
        None,
        int(differs.sum()),
        stray,
    )
