"""The promise of cohorts: people stay together, and at most a share of them can be determined; imports no publisher.

`determined=d@c`: whoever stays is with the same people as before, and if an adversary knows the values of a share c
of all people, each known or not independently of the others, at most a share d of the others can be expected to be
determined, from all releases so far and by whatever attack (`republish.inference.determination`).

`whole-buckets=c`: whoever stays is with the same people as before, so that the same bound can be computed; how large it
is is told, and not limited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.inference.determination import escape_risk, with_known_counterfeits
from republish.memory.cohort_stays import CohortSighting, Stays, continued
from republish.memory.memory import KEY, Memory, keyed
from republish.verify.check import Check
from republish.verify.promises import AuditedRelease

DETERMINED, WHOLE = "determined", "whole-buckets"


class KnownStays(NamedTuple):
    """What is known before a release: the stays so far, and the last stay of everyone in it, -1 for a stranger.

    Where people were forgotten since, a record that is formed anew lacks them, and says nothing for certain.
    """

    stays: Stays
    stay: IntArray
    lacks: bool = False


def known_from(memory: Memory, now: AuditedRelease) -> KnownStays:
    """What a memory knows of the people of a release."""
    entry = memory.find(now.members.people)
    column = np.append(memory.columns.get("stay", np.zeros(memory.size, dtype=np.int32)), 0)
    return KnownStays(Stays.of_frame(memory.counts), column[entry].astype(np.int64) - 1)


_OF = ("cohort", "person", "life")


class CohortWalk:
    """The stays of a series, formed anew from its memberships, release by release."""

    def __init__(self) -> None:
        self.stays = Stays.none()
        self._last = pl.DataFrame(schema={**dict.fromkeys(KEY, pl.UInt64), "stay": pl.Int64})
        self._forgotten = False

    def known(self, now: AuditedRelease) -> KnownStays:
        """What is known of the people of the next release."""
        keys = keyed(now.members.people)
        found = keys.join(self._last, on=list(KEY), how="left", maintain_order="left")["stay"]
        lacks = self._forgotten or not bool(now.members.someone.all())
        return KnownStays(self.stays, found.fill_null(-1).to_numpy(), lacks)

    def add(self, now: AuditedRelease) -> None:
        """Take in the next release, if people stayed together in it."""
        self._forgotten |= not now.members.someone.all()
        there = now.members.someone & (now.members.group > 0)
        sighting, _ = _sighted(now, self.known(now), there)
        self.stays, entry = continued(self.stays, sighting)
        seen = keyed(now.members.people[there]).with_columns(stay=pl.Series(entry, dtype=pl.Int64))
        self._last = pl.concat([self._last.join(seen, on=list(KEY), how="anti"), seen])

    def differences(self, memory: Memory) -> list[str]:
        """Where the stored record is not what the memberships say; of people who were forgotten nothing can be said."""
        wrong = ["the memory has another record of stays than the memberships say"]
        if memory.counts is None:
            return wrong if self.stays.count else []
        stored, pointed = Stays.of_frame(memory.counts), memory.columns["stay"].astype(np.int64) - 1
        if (pointed < 0).any() or (pointed >= stored.count).any():
            return ["the memory points to stays that are not recorded"]
        keys = keyed(memory.people)
        found = keys.join(self._last, on=list(KEY), how="left", maintain_order="left")["stay"].fill_null(-1)
        mine, theirs = labelled(self.stays), labelled(stored)
        if self._forgotten:  # cohorts lack them, and other people's stays remain as they were
            alone = [column for column in mine.columns if column != "cohort"]
            return [] if mine[found.to_numpy()].select(alone).equals(theirs[pointed].select(alone)) else wrong
        same = mine[found.to_numpy()].equals(theirs[pointed]) and mine.sort(mine.columns).equals(
            theirs.sort(theirs.columns)
        )
        return [] if same else wrong


def labelled(stays: Stays) -> pl.DataFrame:
    """Every stay, with labels of its cohort, person and life that do not depend on how these are numbered."""
    frame = stays.frame()
    said = frame.select(
        pl.concat_str("code", "since", "until", "bearer", "previous", "following", separator=" ")
    )
    frame = frame.with_columns(said.to_series().alias("stay"))
    labels = (pl.col("stay").sort().str.join(",").over(key).hash() for key in _OF)
    return frame.select("stay", *(label.alias(key) for key, label in zip(_OF, labels, strict=True)))


def few_determined(promise: str, now: AuditedRelease, known: KnownStays) -> tuple[Check, ...]:
    """Whether people stay together in a release, and few can be determined after it."""
    name, _, bounds = promise.partition("=")
    limit, _, compromised = bounds.partition("@") if name == DETERMINED else ("1", "", bounds)
    there = now.members.someone & (now.members.group > 0)
    sighting, apart = _sighted(now, known, there)
    together = Check(
        f"{promise}: together",
        not apart.any(),
        "A person who stays is in a group with the same people as before, and with nobody from another group.",
        None,
        len(np.unique(now.members.group[there][apart])),
        int(np.count_nonzero(apart)),
    )
    meaning = f"If {float(compromised):.1%} of people are compromised, "
    meaning += f"at most {float(limit):.1%}" if name == DETERMINED else "no more than a bound"
    meaning += " of the others can be expected to be determined"
    if known.lacks:
        meaning += (
            "; people were forgotten, so this cannot be computed anew; it was when the release was made."
        )
        return together, Check(
            f"{promise}: ways out", True, meaning, None, unchecked=len(np.unique(now.members.group))
        )
    stays = continued(known.stays, sighting)[0]
    risk = escape_risk(stays, float(compromised))
    told = escape_risk(with_known_counterfeits(stays), float(compromised))
    meaning += (
        f"; the bound for what was released so far is {risk.share:.2%}, and {risk.worst:.2%} for the worst placed "
        f"person. For an adversary who also knows the values of all counterfeits: {told.share:.2%}, and "
        f"{told.worst:.2%}."
    )
    few = Check(f"{promise}: ways out", risk.share <= float(limit), meaning, risk.share)
    return together, few


def _sighted(now: AuditedRelease, known: KnownStays, there: BoolArray) -> tuple[CohortSighting, BoolArray]:
    """The people of a release and their cohorts, and who of them is not with those of the release before."""
    stays, stay = known.stays, known.stay[there]
    group, code = now.members.group[there].astype(np.int64), now.members.code[there].astype(np.int64)
    goes_on = stay >= 0
    old = stay[goes_on]
    goes_on[goes_on] = (stays.until[old] == now.number - 1) & (stays.code[old] == code[goes_on])
    cohort = np.zeros(len(stay), dtype=np.int64)
    cohort[goes_on] = stays.cohort[stay[goes_on]]
    pairs = np.unique(np.column_stack([cohort[goes_on], group[goes_on]]), axis=0)
    split, mixed = (
        values[counts > 1] for values, counts in (np.unique(side, return_counts=True) for side in pairs.T)
    )
    apart = goes_on & (np.isin(cohort, split) | np.isin(group, mixed))
    rows = now.signature.rows
    number = np.zeros(int(max(group.max(initial=0), rows["group"].max() or 0)) + 1, dtype=np.int64)
    number[pairs[:, 1]] = pairs[:, 0]
    fresh = np.flatnonzero(number[1:] == 0) + 1
    number[fresh] = int(stays.cohort.max(initial=0)) + 1 + np.arange(len(fresh))
    shown = tuple(rows[name].cast(pl.Int64).to_numpy() for name in ("group", "code", "rows"))
    sighting = CohortSighting(
        now.number, number[group], code, stay, goes_on, (number[shown[0]], shown[1], shown[2])
    )
    return sighting, apart
