"""Whether an adversary believes much the same of all members of a group, recomputed from what is stored.

The belief in everyone is formed anew, release by release, from the knowledge of the policy, the published tables and
the private membership; nothing that the publisher said or remembered is used.

Somebody who was forgotten takes along what she knew of them. Whoever shared a group with them, then or later with
those who did, has beliefs that cannot be formed anew; groups with such people are not checked, and counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import BrokenPromise, LedgerError
from republish.inference import Compromised, Reasoning, Respondents
from republish.inference.reasoning import BELIEF, DOMAIN, FORMED, PAST, value_order
from republish.inference.revision import Revision
from republish.knowledge import Extracted
from republish.memory.membership import Membership
from republish.memory.memory import KEY, Memory, keyed
from republish.microdata import sensitive_codes
from republish.release.two_tables import stored_values
from republish.schema import Schema
from republish.sources.paths import read_parquet
from republish.verify.check import Check, Spread

if TYPE_CHECKING:
    from republish.verify.series import StoredSeries

TOLERANCE_OF_BELIEFS = 1e-4
"""How far two computations of a belief, each rounded release after release, may be apart."""
TOLERANCE = 1e-6
"""Beliefs are stored in 32 bits; a divergence may be above its limit by this many bits."""


SIMILARITY, KS_SIMILARITY = "similarity", "ks-similarity"


class Shown(NamedTuple):
    """What an adversary sees of a release: the people in it, and group (from 1) and code of every published row."""

    people: Respondents
    row_group: IntArray
    row_code: IntArray


def published_rows(folder: Path, schema: Schema, values: pl.Series) -> tuple[IntArray, IntArray]:
    """Group and code of every row of a stored release."""
    assert schema.sensitive is not None
    frame = stored_values(folder, ["group", schema.sensitive.name])
    codes, _ = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
    return frame["group"].to_numpy(), codes


def shown_in(series: StoredSeries, number: int, members: Membership) -> Shown:
    """What an adversary sees of a stored release: membership, table, and what was known of single people."""
    compromised = None
    name = series.compromised_file(number)
    if name is not None:
        known = read_parquet(series.ledger.path(name))
        place = keyed(members.people).with_row_index("row")
        found = known.join(place, on=list(KEY), how="inner", maintain_order="left")
        compromised = Compromised(*(found[name].to_numpy() for name in ("row", "code", "p")))
    shown = shown_of(series.ledger.folder(number), series.schema, series.values_at(number), members)
    return shown._replace(people=shown.people._replace(compromised=compromised))


def shown_of(folder: Path, schema: Schema, values: pl.Series, members: Membership) -> Shown:
    """What an adversary sees of a stored release who knows nothing of single people."""
    if members.classes is None:
        raise LedgerError(
            "the membership of a release lacks people's classes; restore the series from a backup"
        )
    people = Respondents(members.people, members.classes, members.code, values)
    return Shown(people, *published_rows(folder, schema, values))


def similar(promise: str, prior: FloatArray, group: IntArray, checked: BoolArray, order: IntArray) -> Check:
    """Whether the priors of the members of every group, numbered from 1, are no further apart than was promised.

    Groups that are not to be `checked` are left out and counted. `order` is that of the values, along which chances
    are added up for the Kolmogorov-Smirnov distance.
    """
    limit, by_steps = float(promise.partition("=")[2]), promise.startswith(KS_SIMILARITY)
    members = np.flatnonzero(group > 0)
    members = members[checked[group[members] - 1]]
    members = members[np.argsort(group[members], kind="stable")]
    numbers, starts, sizes = np.unique(group[members], return_index=True, return_counts=True)
    reached = np.zeros(len(numbers))
    if len(numbers) and by_steps:
        chances = np.cumsum(prior[members][:, order], axis=1)
        apart = np.maximum.reduceat(chances, starts, axis=0) - np.minimum.reduceat(chances, starts, axis=0)
        reached = apart.max(axis=1)
    elif len(numbers):
        mean = np.add.reduceat(prior[members], starts, axis=0) / sizes[:, np.newaxis]
        reached = _entropy(mean) - np.add.reduceat(_entropy(prior[members]), starts) / sizes
    broken = reached > limit + TOLERANCE
    skipped = int(np.count_nonzero(~checked))
    return Check(
        f"{promise}: {'distance' if by_steps else 'divergence'} of beliefs",
        not broken.any(),
        "Before a release, an adversary believes much the same of all members of a group.",
        float(reached.max(initial=0.0)),
        int(broken.sum()),
        int(sizes[broken].sum()),
        skipped,
        "{} groups hold people whose history was forgotten and cannot be checked.",
        skipped,
        None if by_steps else spread_of(prior),
    )


def spread_of(prior: FloatArray) -> Spread:
    """How beliefs about these people are spread."""
    return Spread(len(prior), tuple(prior.sum(axis=0).tolist()), float(_entropy(prior).sum()))


class BeliefWalk:
    """An adversary who goes through the series from its first release, and is asked before each what she believes."""

    def __init__(self, reasoning: Reasoning) -> None:
        self.reasoning = reasoning
        self.memory = Memory.empty()
        self.lost = Memory.empty()  # whose beliefs cannot be formed anew
        self.counts_lost = False
        self.revision: Revision | None = None  # what she knew at the last release

    def look(self, shown: Shown, group: IntArray, number: int) -> Callable[[str], Check]:
        """What checks promises about release `number`, all by the same priors; it is remembered at once."""
        someone = (shown.people.people != 0).any(axis=1)
        here = _only(shown.people, someone)
        thoughts = self.reasoning.thoughts(here, replace(self.memory, release=number - 1))
        groups = int(max(group.max(initial=0), shown.row_group.max(initial=0)))
        astray = self.lost.find(shown.people.people) >= 0
        astray |= ~someone
        if isinstance(self.reasoning.knowledge, Extracted):
            self.counts_lost |= not someone.all()
            astray |= self.counts_lost
        checked = np.ones(groups + 1, dtype=np.bool_)  # 0 is no group
        checked[group[astray & (group > 0)]] = False
        posterior = self.reasoning.inferred(
            thoughts, group[someone] - 1, shown.row_group - 1, shown.row_code
        ).p
        seen = np.full(len(here.people), number, np.int32)
        everyone = self.memory.merged(Memory(here.people, {"last": seen}))
        self.memory = self.reasoning.remembered(thoughts, posterior, everyone)
        gone = shown.people.people[someone & (astray | ~checked[group])]
        self.lost = self.lost.merged(Memory(gone, {}))
        self.revision = thoughts.revision
        prior, members = thoughts.prior, group[someone]
        order = value_order(shown.people.values)
        return lambda promise: similar(promise, prior, members, checked[1:], order)

    def differences(self, stored: Memory) -> list[str]:
        """What a stored memory believes otherwise, in numbers of people; whoever cannot be told is left out."""
        return self.sentences(self.otherwise(stored), stored.counts)

    def otherwise(self, stored: Memory) -> int:
        """Of how many people a stored memory believes otherwise."""
        people = self.memory.people[self.lost.find(self.memory.people) < 0]
        mine, theirs = self.memory.find(people), stored.find(people)
        return unlike(self.memory, mine[theirs >= 0], stored, theirs[theirs >= 0])

    def sentences(self, wrong: int, kept: pl.DataFrame | None) -> list[str]:
        """What is wrong, in words; `kept` are the stored counts of what followed what."""
        found = [f"the memory believes otherwise of {wrong} people than the releases say"] if wrong else []
        ours = self.memory.counts
        if ours is not None and not self.counts_lost and (kept is None or not ours.equals(kept)):
            found.append("the counts of what followed what are not those of the views")
        return found


def unlike(one: Memory, mine: IntArray, other: Memory, theirs: IntArray) -> int:
    """Of how many people two memories believe, or remember as last values, something else."""
    wrong = np.zeros(len(mine), dtype=np.bool_)
    names = [name for name in one.columns if name in (BELIEF, DOMAIN, FORMED) or name.startswith(PAST)]
    for name in names:
        if name not in other.columns:
            return len(mine)
        a, b = one.columns[name][mine], other.columns[name][theirs]
        if a.ndim == 1:
            wrong |= a != b
            continue
        width = min(a.shape[1], b.shape[1])
        wrong |= (np.abs(a[:, :width] - b[:, :width]) > TOLERANCE_OF_BELIEFS).any(axis=1)
        wrong |= a[:, width:].any(axis=1) | b[:, width:].any(axis=1)
    return int(np.count_nonzero(wrong))


def require_beliefs(
    reasoning: Reasoning, shown: Shown, group: IntArray, before: Memory, after: Memory
) -> None:
    """Refuse a memory that does not believe what the release, as it lies on disk, says of everyone in it.

    `before` is the memory that the release was made with, the people of the release included.
    """
    thoughts = reasoning.thoughts(shown.people, before)
    posterior = reasoning.inferred(thoughts, group - 1, shown.row_group - 1, shown.row_code).p
    right = reasoning.remembered(thoughts, posterior, before)
    here = shown.people.people
    wrong = unlike(right, right.find(here), after, after.find(here))
    if wrong:
        raise BrokenPromise(
            f"what would be remembered of {wrong} people is not what the release says of them; nothing was committed. "
            "This is a defect of the publisher: please report it"
        )


def _only(people: Respondents, there: BoolArray) -> Respondents:
    """Some of the people, those that are somebody."""
    known = people.compromised
    if known is not None:
        place = np.cumsum(there) - 1
        kept = there[known.row]
        known = Compromised(place[known.row[kept]], known.code[kept], known.p[kept])
    return people._replace(
        people=people.people[there],
        classes=people.classes[there],
        codes=people.codes[there],
        compromised=known,
    )


def _entropy(p: FloatArray) -> FloatArray:
    """The entropy of every row, in bits."""
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    found: FloatArray = -(p * logs).sum(axis=-1)
    return found
