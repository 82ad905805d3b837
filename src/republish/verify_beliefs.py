"""Whether an adversary believes much the same of all members of a group, recomputed from what is stored.

The belief in everyone is formed anew, release by release, from the knowledge of the policy, the published tables and
the private membership; nothing that the publisher said or remembered is used.

Somebody who was forgotten takes along what she knew of them. Whoever shared a group with them, then or later with
those who did, has beliefs that cannot be formed anew; groups with such people are not checked, and counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import polars as pl

from republish.inference import Compromised, Reasoning, Respondents
from republish.knowledge import Extracted
from republish.memory import KEY, Memory
from republish.microdata import sensitive_codes
from republish.release import TABLE_PARQUET
from republish.types import BoolArray, FloatArray, IntArray
from republish.verify import Check

if TYPE_CHECKING:
    from republish.ledger import Entry, Ledger
    from republish.schema import Schema

TOLERANCE = 1e-6
"""Beliefs are stored in 32 bits; a divergence may be above its limit by this many bits."""


class Shown(NamedTuple):
    """What an adversary sees of a release: the people in it, and group (from 1) and code of every published row."""

    people: Respondents
    row_group: IntArray
    row_code: IntArray


class Kept(Protocol):
    """What a series shows of itself to have beliefs verified."""

    @property
    def ledger(self) -> Ledger:
        """Its ledger."""
        ...

    @property
    def schema(self) -> Schema:
        """Its schema."""
        ...

    def values_at(self, number: int) -> pl.Series:
        """The values that were known at a release."""
        ...

    def compromised_file(self, number: int) -> str | None:
        """The name of the file of what outsiders know of people in a release, where there is one."""
        ...


def published_rows(folder: Path, schema: Schema, values: pl.Series) -> tuple[IntArray, IntArray]:
    """Group and code of every row of a stored release."""
    assert schema.sensitive is not None
    frame = pl.read_parquet(folder / TABLE_PARQUET, columns=["group", schema.sensitive.name])
    codes, _ = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
    return frame["group"].to_numpy(), codes


def shown_in(series: Kept, entry: Entry, members: pl.DataFrame) -> Shown:
    """What an adversary sees of a stored release: membership, table, and what was known of single people."""
    number = entry.release or 0
    values = series.values_at(number)
    words = np.column_stack([members[key].to_numpy() for key in KEY])
    compromised = None
    name = series.compromised_file(number)
    if name is not None:
        known = pl.read_parquet(series.ledger.path(name))
        place = members.select(KEY).with_row_index("row")
        found = known.join(place, on=list(KEY), how="inner", maintain_order="left")
        compromised = Compromised(*(found[name].to_numpy() for name in ("row", "code", "p")))
    people = Respondents(words, members["class"].to_numpy(), members["code"].to_numpy(), values, compromised)
    return Shown(people, *published_rows(series.ledger.folder(number), series.schema, values))


def similar(promise: str, prior: FloatArray, group: IntArray, checked: BoolArray) -> Check:
    """Whether the priors of the members of every group, numbered from 1, diverge by no more than was promised.

    Groups that are not to be `checked` are left out and counted.
    """
    limit = float(promise.partition("=")[2])
    members = np.flatnonzero(group > 0)
    members = members[checked[group[members] - 1]]
    members = members[np.argsort(group[members], kind="stable")]
    numbers, starts, sizes = np.unique(group[members], return_index=True, return_counts=True)
    reached = np.zeros(len(numbers))
    if len(numbers):
        mean = np.add.reduceat(prior[members], starts, axis=0) / sizes[:, np.newaxis]
        reached = _entropy(mean) - np.add.reduceat(_entropy(prior[members]), starts) / sizes
    broken = reached > limit + TOLERANCE
    skipped = int(np.count_nonzero(~checked))
    note = (
        f" {skipped} groups hold people whose history was forgotten and cannot be checked." if skipped else ""
    )
    return Check(
        f"{promise}: divergence of beliefs",
        not broken.any(),
        "Before a release, an adversary believes much the same of all members of a group." + note,
        float(reached.max(initial=0.0)),
        int(broken.sum()),
        int(sizes[broken].sum()),
    )


class BeliefWalk:
    """An adversary who goes through the series from its first release, and is asked before each what she believes."""

    def __init__(self, reasoning: Reasoning) -> None:
        self.reasoning = reasoning
        self.memory = Memory.empty()
        self.lost = Memory.empty()  # whose beliefs cannot be formed anew
        self.counts_lost = False

    def check(self, promise: str, shown: Shown, group: IntArray) -> Check:
        """The divergence in every group of one release, then remember it."""
        someone = (shown.people.people != 0).any(axis=1)
        here = _only(shown.people, someone)
        thoughts = self.reasoning.thoughts(here, self.memory)
        groups = int(max(group.max(initial=0), shown.row_group.max(initial=0)))
        astray = self.lost.find(shown.people.people) >= 0
        astray |= ~someone
        if isinstance(self.reasoning.knowledge, Extracted):
            self.counts_lost |= not someone.all()
            astray |= self.counts_lost
        checked = np.ones(groups, dtype=np.bool_)
        checked[group[astray & (group > 0)] - 1] = False
        found = similar(promise, thoughts.prior, group[someone], checked)
        posterior = self.reasoning.inferred(
            thoughts, group[someone] - 1, shown.row_group - 1, shown.row_code
        ).p
        everyone = self.memory.merged(Memory(here.people, {"last": np.zeros(len(here.people), np.int32)}))
        self.memory = self.reasoning.remembered(thoughts, posterior, everyone)
        now_astray = (
            someone & (group > 0) & ~checked[np.maximum(group, 1) - 1] if groups else ~someone & False
        )
        gone = shown.people.people[now_astray | (someone & astray)]
        self.lost = self.lost.merged(Memory(gone, {}))
        return found


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
