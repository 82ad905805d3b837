"""What an auditor carries from release to release, and how one release, or whole groups of it, is checked with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.inference import Reasoning
from republish.ledger import Entry
from republish.memory.membership import Membership
from republish.memory.memory import Memory
from republish.release.forms import HIDDEN_BATCH, KEPT_CUTS
from republish.release.grouped_table import GroupedTable
from republish.release.two_tables import stored_clock, stored_counterfeits, stored_values
from republish.requirements import Requirement, parse_requirements
from republish.schema import Schema
from republish.verify.batches import BLIND, BatchWalk, Renewals, batch_checks
from republish.verify.check import Check, Verification
from republish.verify.cohorts import DETERMINED, WHOLE, CohortWalk, few_determined
from republish.verify.kept_cuts import CellWalk, ShownCells
from republish.verify.membership import group_sizes, members_fit
from republish.verify.memory import Rebuilt
from republish.verify.promises import (
    ABOUT_SIGNATURES,
    EVENTS,
    WITHSTAND,
    AuditedRelease,
    Before,
    no_signatures,
    promise_checks,
    signatures_of,
    signatures_to_keep,
)
from republish.verify.similarity import BeliefWalk, Shown
from republish.verify.table import AtLarge
from republish.verify.two_tables import verify_release, verify_values
from republish.verify.withstand import TrailWalk

_NOT_ANEW = "What an adversary believes rests on all releases, and an earlier one is not what was published."


class Walk:
    """What an auditor carries from release to release: what must be remembered, and what an adversary believes.

    `promises` are those of the policy, `recorded` those over the series that releases were recorded with. Who begins
    `anew` after a release that cannot be relied on compares later ones with each other; what an adversary believes
    rests on all releases, and is not checked then.
    """

    def __init__(
        self,
        promises: dict[str, Any],
        recorded: Iterable[str],
        reasoning: Reasoning | None,
        anew: bool = False,
    ) -> None:
        self.promises, self.anew = promises, anew
        reasoning = None if anew else reasoning
        self.beliefs = None if reasoning is None else BeliefWalk(reasoning)
        self.names = {promise.partition("=")[0] for promise in (*promises["series"], *recorded)}
        self.signatures = bool(self.names & set(ABOUT_SIGNATURES))
        self.trail = (
            TrailWalk(reasoning.posterior)
            if reasoning is not None and self.names & {WITHSTAND, EVENTS}
            else None
        )
        self.batches = BatchWalk() if BLIND in self.names else None
        cohorts = {DETERMINED, WHOLE} & self.names and self.batches is None
        self.cohorts = CohortWalk() if cohorts else None
        self.cells = CellWalk()
        self.rebuilt = Rebuilt(with_groups="hc-safety" in self.names)
        self.new_lives = 0
        self.published: IntArray = np.empty(0, dtype=np.int64)

    def requirements(self, entry: Entry) -> tuple[Requirement, ...]:
        """What every group must satisfy, by the policy and by what was recorded with the release.

        Of a release that another tool made nothing is promised.
        """
        if entry.adopted:
            return ()
        mine, recorded = (
            parse_requirements(promises["one_table"])
            for promises in (self.promises, entry.payload["promises"])
        )
        return (*mine, *(requirement for requirement in recorded if requirement not in mine))

    def of_people(self, entry: Entry) -> tuple[Requirement, ...] | None:
        """What every group of people must satisfy, where people and values are published in two tables."""
        if entry.adopted:
            return () if "two_tables" in entry.payload else None
        stated = [p["people"] for p in (self.promises, entry.payload["promises"]) if "people" in p]
        return (
            tuple(dict.fromkeys(r for text in stated for r in parse_requirements(text))) if stated else None
        )

    def over_series(self, entry: Entry) -> list[str]:
        """What is promised over the series, by the policy and by what was recorded with the release."""
        if entry.adopted:
            return []
        return list(dict.fromkeys([*self.promises["series"], *entry.payload["promises"]["series"]]))

    def check(self, promises: Iterable[str], now: AuditedRelease, sizes: IntArray) -> list[Check]:
        """The promises over the series for one release, then remember it."""
        known = self.rebuilt.known(now)
        now = replace(now, published=np.union1d(now.published, self.published))
        similarity = withstood = None
        if self.beliefs is not None and now.shown is not None:
            similarity = self.beliefs.look(now.shown, now.members.group, now.number)
            if self.trail is not None and self.beliefs.revision is not None:
                withstood = self.trail.look(now.shown, now.members.group, self.beliefs.revision)

        def beliefs(promise: str) -> Check:
            checked = withstood if promise.startswith(WITHSTAND) else similarity
            if checked is None and self.anew:
                return Check(promise, True, _NOT_ANEW, unchecked=len(sizes))
            if checked is None:
                return Check(promise, False, "The policy no longer says what an adversary knows.")
            return checked(promise)

        renewals = None if self.batches is None else Renewals(now, self.batches.before)

        def together(promise: str) -> Sequence[Check]:
            return self._cohorts(promise, now) if renewals is None else batch_checks(promise, renewals)

        last = known.select("code", "signature", "group", release="last")
        before = Before(
            last,
            lambda: self.rebuilt.groups_of(known, now.members.code),
            beliefs,
            together,
            self.rebuilt.present(now.number - 1),
        )
        checks = promise_checks(
            [p for p in promises if p not in (KEPT_CUTS, HIDDEN_BATCH)], now, before, sizes
        )
        if now.cells is not None:
            checks.append(self.cells.add(now.members, now.cells))
        if self.cohorts is not None:
            self.cohorts.add(now)
        if self.batches is not None and renewals is not None:
            self.batches.add(renewals)
        if self.signatures:
            self.new_lives += int(np.count_nonzero(before.changed(now)))
        self.rebuilt.add(now, known)
        self.published = np.union1d(self.published, now.signature.rows["code"].to_numpy())
        return checks

    def differences(self, memory: Memory) -> list[str]:
        """What a stored memory has wrong after the last release."""
        found = self.rebuilt.differences(memory, self.signatures)
        for walk in (self.beliefs, self.trail, self.cohorts, self.batches):
            if walk is not None:
                found += walk.differences(memory)
        return found

    def _cohorts(self, promise: str, now: AuditedRelease) -> Sequence[Check]:
        assert self.cohorts is not None
        return few_determined(promise, now, self.cohorts.known(now))


class About(NamedTuple):
    """What the series says of a release: number, schema, what every group must satisfy, what is promised over it.

    `known` are the values that codes of all releases point into, `values` those known at this one. Where the release
    at hand is a part of one, `large` is the table it belongs to, and its last group has at least the number `groups`.
    In two tables `of_people` is what every group of people must satisfy, and `cells` are those groups. Of `batches`
    alone the people are checked elsewhere. An `adopted` release was made by another tool.
    """

    number: int
    schema: Schema
    requirements: tuple[Requirement, ...]
    promises: list[str]
    known: pl.Series
    values: pl.Series
    large: AtLarge | None = None
    groups: int = 0
    of_people: tuple[Requirement, ...] | None = None
    cells: ShownCells | None = None
    batches: bool = False
    adopted: bool = False


def verify_members(
    folder: Path, stated: About, members: Membership, walk: Walk, shown: Shown | None
) -> Verification:
    """Check a stored release, or whole groups of one numbered from 1, with its membership; then remember it.

    That nobody is in the membership twice is left to `CheckedPieces`.
    """
    schema = stated.schema
    if stated.batches:
        values = GroupedTable(stored_values(folder), stored_counterfeits(folder))
        found = verify_values(values, schema, stated.requirements, stated.large)
    else:
        found = verify_release(
            folder, schema, stated.requirements, stated.of_people, stated.large, strict=not stated.adopted
        )
    sizes, counterfeits = group_sizes(folder, stated.groups)
    fit = members_fit(folder, schema, members, stated.known, sizes, counterfeits)
    signatures = (
        signatures_of(folder, schema, stated.values, stated.groups)
        if walk.signatures and schema.sensitive is not None
        else no_signatures(len(sizes))
    )
    listed = np.arange(0 if schema.sensitive is None else len(schema.sensitive.closed or ()))
    if stated.adopted:
        signatures = signatures_to_keep(signatures, walk.promises["series"])
    now = AuditedRelease(
        stated.number,
        members,
        signatures,
        shown,
        stated.cells,
        listed,
        clock=stored_clock(folder),
        adopted=stated.adopted,
    )
    return found.with_checks(fit, *walk.check(stated.promises, now, sizes))
