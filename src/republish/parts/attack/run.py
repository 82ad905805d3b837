"""Attacks on a series in parts: what is found about people, bucket by bucket, added up to the figures of everybody.

`intersection` looks at the groups of each person alone. `tau` and `compromised` also exclude what the other members of
a group hold, to a fixpoint. So they go by rounds: buckets tell the groups what is left to their people, and
shards tell the people what their groups leave to them, until no group excludes any more. Excluding is monotone and
never excludes the truth, so the fixpoint is the one that the attack finds on all of the series at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray, WordArray
from republish.attacks.adversary import Adversary
from republish.attacks.choose import Means
from republish.attacks.excluding.candidates import Unknowns, intersected, lives, sizes
from republish.attacks.excluding.compromised import starting_sets
from republish.attacks.excluding.intersection import intersection
from republish.attacks.excluding.signature_rule import exclude_kept
from republish.attacks.excluding.tau import eliminate, posterior
from republish.attacks.excluding.value_restriction import UNUSABLE, restrict
from republish.attacks.history import History
from republish.attacks.registry import kind_of
from republish.attacks.results import AttackResult, Exposure, Figures, Findings, together
from republish.attacks.run import informed
from republish.errors import PolicyError
from republish.memory.memory import KEY, people_of
from republish.parts.attack.beliefs import BeliefsInParts, beliefs_in_parts
from republish.parts.attack.history import (
    HELD,
    MEMBER,
    MEMBER_FILE,
    SEEN,
    VALUES,
    AttackLayout,
    Bucket,
    Shard,
    join_values,
    layout_of,
    names_of_files,
    read_files,
)
from republish.parts.attack.known_people import Known, known_people
from republish.parts.blocks import Block, Mover, fact, spread, tables_of
from republish.parts.measure import TABLE_FILE, stored_releases
from republish.parts.pseudonymize import bucket_of
from republish.parts.publish.plan import Sizes
from republish.series import Series
from republish.verify.batches import BLIND

EXCLUDING = ("intersection", "tau", "compromised")
BELIEFS = "beliefs"
IN_PARTS = (*EXCLUDING, BELIEFS)
LEFT, LIMIT = "left", "limit"
"""What is left to people, on its way to the shards of their groups; what groups leave to them, on its way back."""
_RELEASE, _GROUP, _KNOWN = "release", "group", "known"


class AttackInParts(Figures):
    """What one attack found in parts: the figures of an `AttackResult`, and no more."""


FoundInParts = AttackInParts | BeliefsInParts


def attack_in_parts(
    series: Series,
    mover: Mover[Any],
    part_rows: int,
    parts: int | None,
    adversary: Adversary,
    attacks: Sequence[str],
    m: int | None = None,
) -> dict[str, FoundInParts]:
    """What each attack finds out about everyone it was not told of, with the figures of `republish.attacks.attack`.

    Raises:
        PolicyError: an attack needs everybody at once, or something that she does not have.
    """
    adversary = informed(adversary, series)
    Means(adversary, in_parts=IN_PARTS).require(attacks)
    if BLIND in series.policy.promises["series"]:
        raise PolicyError(
            "an engine attacks no batches with clocks of their own: they count people who left or changed since, of "
            "whom one release may count two episodes, and parts keep one a person; attack this series without --engine"
        )
    releases = stored_releases(series, part_rows, parts)
    rows = sum(entry.payload["rows"] for entry in series.records)
    layout = layout_of(series, releases, Sizes.of(rows, part_rows, parts).parts)
    if BELIEFS in attacks:
        layout = replace(layout, classes=_keeps_classes(series, adversary))
    try:
        return _Attacking(mover, layout).found(adversary, attacks, m)
    finally:
        mover.release()


def _keeps_classes(series: Series, adversary: Adversary) -> bool:
    """Whether her knowledge has the classes that the series keeps; refused where it has others."""
    assert adversary.knowledge is not None
    if not adversary.knowledge.classes.columns:
        return False
    if series.reasoning is None or series.reasoning.knowledge.classes != adversary.knowledge.classes:
        raise PolicyError(
            "the classes of this knowledge are found from quasi-identifiers, and the series keeps none of them; give "
            "knowledge with the classes of the series, or attack without --engine, with the raw views"
        )
    return True


class _Attacking:
    """A series that is being attacked: its files were read and sent to shards, and from there to buckets."""

    def __init__(self, mover: Mover[Any], layout: AttackLayout) -> None:
        self.mover, self.layout = mover, layout
        files = mover.blocks(names_of_files(layout))
        self.read = mover.keep(mover.map(files, [TABLE_FILE, MEMBER_FILE], partial(read_files, layout)))
        tasks = max(1, layout.tasks)
        self.joined = mover.keep(
            mover.exchange([self.read], [MEMBER, VALUES], tasks, partial(join_values, layout))
        )

    def found(self, adversary: Adversary, attacks: Sequence[str], m: int | None) -> dict[str, FoundInParts]:
        diversity = min(self.mover.facts(self.joined), default=0)
        seen, known = [self.read, self.joined], None
        if any(kind_of(name).uses_known for name in attacks):
            known = known_people(self.mover, seen, self.layout.buckets, adversary)
        found: dict[str, FoundInParts] = {}
        for name in attacks:
            if name == BELIEFS:
                found[name] = beliefs_in_parts(self.mover, self.layout, self.read, seen, adversary, known)
                continue
            task = Weighing(self.layout, name, adversary, diversity if m is None else m, known)
            results = self._rounds(task)
            count = len(self.layout.releases)
            releases = tuple(together([parts[i] for parts, _ in results]) for i in range(count))
            overall = together([overall for _, overall in results])
            found[name] = AttackInParts(name, task.m, releases, overall)
        return found

    def _rounds(self, task: Weighing) -> list[tuple[tuple[Exposure, ...], Exposure]]:
        """What is found in every bucket, once no group excludes any more."""
        mover, layout = self.mover, self.layout
        narrowing = Narrowing(layout, task.name, task.adversary.cascade)
        limits: list[Any] = []
        while True:
            before = [self.read, self.joined, *limits]
            weighed = mover.exchange(before, [SEEN, HELD, LIMIT], layout.buckets, task)
            if task.name == "intersection":
                return mover.facts(weighed)
            weighed = mover.keep(weighed)
            found = mover.facts(weighed)
            told = [self.read, weighed]
            fresh = mover.keep(mover.exchange(told, [MEMBER, VALUES, LEFT], max(1, layout.tasks), narrowing))
            news = sum(mover.facts(fresh))
            for old in (weighed, *limits):
                mover.forget(old)
            if not news:
                mover.forget(fresh)
                return found
            limits = [fresh]


@dataclass(frozen=True)
class Weighing:
    """The task of one bucket: an attack on its people, with what their groups leave to them."""

    layout: AttackLayout
    name: str
    adversary: Adversary
    m: int
    known: Known | None

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The figures of the bucket; and what is left to its people, to the shards of their groups."""
        uses_known = kind_of(self.name).uses_known
        bucket = Bucket.of(blocks, self.layout, uses_known)
        history = bucket.history if self.adversary.event_lists else replace(bucket.history, events=None)
        known = np.zeros(history.people, dtype=np.bool_)
        if uses_known and self.known is not None:
            known = self.known.among(blocks[0].to, bucket.people)
        findings = self._findings(history, known, _limits(blocks, bucket))
        result = AttackResult.of(self.name, findings, self.m, known)
        yield fact((result.releases, result.overall))
        if self.name != "intersection":
            yield from self._left(bucket, findings, known)

    def _findings(self, history: History, known: BoolArray, limits: tuple[IntArray, WordArray]) -> Findings:
        if self.name == "intersection":
            return intersection(history)
        unknowns = lives(history)
        if self.name == "tau":
            sets = intersected(unknowns)
            exclude_kept(unknowns, sets)
        else:
            sets = starting_sets(unknowns, known)
        at, words = limits
        np.bitwise_and.at(sets, unknowns.of_appearance[at], words)
        if self.name == "tau":
            eliminate(unknowns, sets)  # with the members that are here; and successive lives differ
            return Findings(unknowns, sets, *posterior(unknowns, sets))
        return Findings.even(unknowns, sets)

    def _left(self, bucket: Bucket, findings: Findings, known: BoolArray) -> Iterator[Block]:
        """What is left of every appearance to which less is left than its group has."""
        history, unknown = findings.unknowns.history, findings.unknowns.of_appearance
        fewer = sizes(findings.sets)[unknown] < np.diff(history.value_start)[history.group]
        at = np.flatnonzero(fewer | known[history.person])
        group, release = bucket.group[history.group[at]], history.release[at]
        frame = _words(bucket.people[history.person[at]], findings.sets[unknown[at]]).with_columns(
            pl.Series(_KNOWN, known[history.person[at]])
        )
        to = np.zeros(len(at), dtype=np.int64)
        for i, one in enumerate(self.layout.releases):
            to[release == i] = one.tasks(group[release == i])
        yield from spread(frame, to, LEFT)


@dataclass(frozen=True)
class Narrowing:
    """The task of one shard: what its groups leave to their members, by what is left to each of them."""

    layout: AttackLayout
    name: str
    cascade: bool

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """What is left to members to whom less is left than their group has; and of how many that is news."""
        left = tables_of(blocks, LEFT)
        if not left.height:  # a group of whose members nothing is known teaches nothing
            return
        shard = Shard.of(blocks, len(self.layout.values))
        history = shard.history.knowing_forgotten() if kind_of(self.name).uses_known else shard.history
        unknowns = lives(history)  # without event lists: one for every member
        sets = intersected(unknowns)
        at = _places(shard.members, left)
        own = _unknown_of(unknowns)[at]
        sets[own] &= _sets_of(left)
        before, values = sets.copy(), sizes(intersected(unknowns))
        if self.name == "tau":
            eliminate(unknowns, sets)
        else:
            known = np.zeros(history.people, dtype=np.bool_)
            known[at] = left[_KNOWN].to_numpy()
            restrict(unknowns, sets, known, self.cascade, np.full(history.groups, UNUSABLE))
        yield fact(int(np.count_nonzero((before != sets).any(axis=1))))
        release = self.layout.release_of(blocks[0].to)
        told = np.flatnonzero(sizes(sets) < values)
        people = people_of(shard.members)[unknowns.person[told]]
        frame = _words(people, sets[told]).with_columns(pl.lit(release, pl.Int64).alias(_RELEASE))
        yield from spread(frame, bucket_of(people[:, 0], self.layout.buckets), LIMIT)


def _words(people: WordArray, sets: WordArray) -> pl.DataFrame:
    """People with what is left to them."""
    columns = {key: np.ascontiguousarray(people[:, i]) for i, key in enumerate(KEY)}
    words = {f"w{w}": np.ascontiguousarray(sets[:, w]) for w in range(sets.shape[1])}
    return pl.DataFrame({**columns, **words})


def _sets_of(frame: pl.DataFrame) -> WordArray:
    words = [name for name in frame.columns if name.startswith("w")]
    return np.column_stack([frame[f"w{w}"].to_numpy() for w in range(len(words))])


def _places(members: pl.DataFrame, wanted: pl.DataFrame) -> IntArray:
    """The place of people in a table of members."""
    index = members.select(KEY).with_row_index("place")
    found = wanted.select(KEY).join(index, list(KEY), "left", maintain_order="left")["place"]
    return found.cast(pl.Int64).to_numpy()


def _unknown_of(unknowns: Unknowns) -> IntArray:
    """The unknown of every person, where each has one."""
    found = np.empty(unknowns.history.people, dtype=np.int64)
    found[unknowns.person] = np.arange(unknowns.count)
    return found


def _limits(blocks: Sequence[Block], bucket: Bucket) -> tuple[IntArray, WordArray]:
    """Appearances of the bucket to which their group leaves less than it has, and what that is."""
    told = tables_of(blocks, LIMIT)
    history = bucket.history
    if not told.height:
        words = max(1, -(-history.values // 64))
        return np.empty(0, dtype=np.int64), np.empty((0, words), dtype=np.uint64)
    appearances = pl.DataFrame(
        {
            **{key: bucket.people[history.person, i] for i, key in enumerate(KEY)},
            _RELEASE: history.release.astype(np.int64),
        }
    ).with_row_index("place")
    found = told.join(appearances, [*KEY, _RELEASE], "left", maintain_order="left")["place"]
    return found.cast(pl.Int64).to_numpy(), _sets_of(told)
