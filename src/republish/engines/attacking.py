"""Attacks on a series in parts: what is found about people, bucket by bucket, added up to the figures of everybody.

`intersection` looks at the groups of each person alone. `tau` and `compromised` also exclude what the other members of
a group hold, to a fixpoint. So there they go by rounds: buckets tell the groups what is left to their people, and
shards tell the people what their groups leave to them, until no group excludes any more. Excluding is monotone and
never excludes the truth, so the fixpoint is the one that the attack finds on all of the series at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from republish.attacks.adversary import KNOWN, Adversary
from republish.attacks.candidates import Unknowns, intersected, lives, sizes
from republish.attacks.compromised import starting_sets
from republish.attacks.history import History
from republish.attacks.intersection import intersection
from republish.attacks.registry import kind_of
from republish.attacks.restriction import UNUSABLE, restrict
from republish.attacks.results import AttackResult, Exposure, Findings, together
from republish.attacks.rule import exclude_kept
from republish.attacks.summary import Summary
from republish.attacks.tau import eliminate, posterior
from republish.engines.histories import (
    HELD,
    MEMBER,
    MEMBER_FILE,
    SEEN,
    VALUES,
    Bucket,
    Joining,
    Layout,
    Reading,
    Shard,
    layout_of,
    names_of_files,
)
from republish.engines.measuring import TABLE_FILE, stored_releases
from republish.engines.moving import Block, Mover, fact, spread, tables_of
from republish.engines.people import bucket_of
from republish.engines.planning import Sizes
from republish.errors import PolicyError
from republish.memory import KEY
from republish.secret import pseudonym_texts
from republish.types import BoolArray, IntArray, WordArray

if TYPE_CHECKING:
    from republish.series import Series

IN_PARTS = ("intersection", "tau", "compromised")
LEFT, LIMIT = "left", "limit"
"""What is left to people, on its way to the shards of their groups; what groups leave to them, on its way back."""
_RELEASE, _GROUP, _KNOWN = "release", "group", "known"


@dataclass(frozen=True)
class AttackInParts:
    """What one attack found: the figures of an `AttackResult`, and nothing of a single person."""

    name: str
    m: int
    releases: tuple[Exposure, ...]
    overall: Exposure

    @property
    def label(self) -> str:
        """What the attack is called in tables and pictures."""
        return self.name

    @property
    def summary(self) -> Summary:
        """The figures that every attack has, of all releases."""
        return self.overall.summary

    @property
    def by_release(self) -> tuple[Summary, ...]:
        """The figures that every attack has, of each release."""
        return tuple(part.summary for part in self.releases)

    def as_dict(self) -> dict[str, Any]:
        """A JSON document of the figures."""
        return {
            "attack": self.name,
            "m": self.m,
            "overall": asdict(self.overall),
            "releases": [{"release": i, **asdict(part)} for i, part in enumerate(self.releases, 1)],
        }


def attack_in_parts(
    series: Series,
    mover: Mover[Any],
    part_rows: int,
    parts: int | None,
    adversary: Adversary,
    attacks: Sequence[str],
    m: int | None = None,
) -> dict[str, AttackInParts]:
    """What each attack finds out about everyone it was not told of, with the figures of `republish.attacks.attack`.

    Raises:
        PolicyError: an attack needs everybody at once.
    """
    require_in_parts(attacks, adversary)
    releases = stored_releases(series, part_rows, parts)
    rows = sum(entry.payload["rows"] for entry in series.records)
    layout = layout_of(series, releases, Sizes.of(rows, part_rows, parts).parts)
    try:
        return _Attacking(mover, layout).found(adversary, attacks, m)
    finally:
        mover.release()


def require_in_parts(attacks: Sequence[str], adversary: Adversary) -> None:
    """Refuse what only one process can do."""
    whole = [name for name in attacks if kind_of(name) and name not in IN_PARTS]
    if whole:
        raise PolicyError(
            f"{' and '.join(whole)} cannot be made in parts: all people and releases are needed at once. "
            f"{', '.join(IN_PARTS[:-1])} and {IN_PARTS[-1]} can; make the others without --engine"
        )
    if adversary.membership != KNOWN:
        raise PolicyError(
            "an attack in parts needs to know who is in which group (membership known); make others without --engine"
        )


class _Attacking:
    """A series that is being attacked: its files were read and sent to shards, and from there to buckets."""

    def __init__(self, mover: Mover[Any], layout: Layout) -> None:
        self.mover, self.layout = mover, layout
        files = mover.blocks(names_of_files(layout))
        self.read = mover.keep(mover.map(files, [TABLE_FILE, MEMBER_FILE], Reading(layout)))
        tasks = max(1, layout.tasks)
        self.joined = mover.keep(mover.exchange([self.read], [MEMBER, VALUES], tasks, Joining(layout)))

    def found(self, adversary: Adversary, attacks: Sequence[str], m: int | None) -> dict[str, AttackInParts]:
        diversity = min(self.mover.facts(self.joined), default=0)
        known = self._known(adversary) if any(kind_of(name).uses_known for name in attacks) else None
        found = {}
        for name in attacks:
            task = Weighing(self.layout, name, adversary, diversity if m is None else m, known)
            results = self._rounds(task)
            count = len(self.layout.releases)
            releases = tuple(together([parts[i] for parts, _ in results]) for i in range(count))
            overall = together([overall for _, overall in results])
            found[name] = AttackInParts(name, task.m, releases, overall)
        return found

    def _known(self, adversary: Adversary) -> Known | None:
        """Whom she knows, so that each bucket can tell; `None` for nobody."""
        if not adversary.compromised:
            return None
        given = () if isinstance(adversary.compromised, (int, float)) else tuple(adversary.compromised)
        names = frozenset(one for one in given if isinstance(one, str))
        counting = Counting(names)
        counted = self.mover.exchange([self.read, self.joined], [SEEN], self.layout.buckets, counting)
        people, there = np.zeros(self.layout.buckets, dtype=np.int64), 0
        for bucket, number, named in self.mover.facts(counted):
            people[bucket] = number
            there += named
        if there < len(names):
            missing = len(names) - there
            raise PolicyError(
                f"compromised people must be in the series; {missing} of {len(given)} never were"
            )
        numbers = np.array([one for one in given if not isinstance(one, str)], dtype=np.int64)
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= people.sum()):
            raise PolicyError(f"compromised people must be numbers from 0 to {people.sum() - 1}")
        return Known(adversary, np.cumsum(people) - people, names, numbers)

    def _rounds(self, task: Weighing) -> list[tuple[tuple[Exposure, ...], Exposure]]:
        """What is found in every bucket, once no group excludes any more."""
        mover, layout, limits = self.mover, self.layout, self.mover.blocks([])
        while True:
            weighed = mover.exchange(
                [self.read, self.joined, limits], [SEEN, HELD, LIMIT], layout.buckets, task
            )
            if task.name == "intersection":
                return mover.facts(weighed)
            weighed = mover.keep(weighed)
            found = mover.facts(weighed)
            narrowing = Narrowing(layout, task.name, task.adversary.cascade)
            limits = mover.keep(
                mover.exchange([self.read, weighed], [MEMBER, VALUES, LEFT], max(1, layout.tasks), narrowing)
            )
            if not sum(mover.facts(limits)):
                return found


@dataclass(frozen=True)
class Counting:
    """The task that counts the people of a bucket, and those of some names."""

    names: frozenset[str]

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The bucket and both counts."""
        seen = tables_of(blocks, SEEN).select(KEY).unique()
        named = pseudonym_texts(seen.to_numpy()).is_in(sorted(self.names)).sum() if self.names else 0
        yield fact((blocks[0].to, seen.height, int(named)))


@dataclass(frozen=True)
class Known:
    """Whom an adversary knows; `first[b]` is the number of the first person of bucket b among all, by pseudonym."""

    adversary: Adversary
    first: IntArray
    names: frozenset[str]
    numbers: IntArray

    def among(self, bucket: int, people: WordArray) -> BoolArray:
        """Which of the people of a bucket she knows: the same as in a history of everybody."""
        first, share = int(self.first[bucket]), self.adversary.compromised
        if isinstance(share, (int, float)):
            source = np.random.PCG64(
                self.adversary.seed
            )  # the one of `default_rng`; it can go on from anywhere
            drawn: BoolArray = np.random.Generator(source.advance(first)).random(len(people)) < share
            return drawn
        known = np.isin(np.arange(first, first + len(people)), self.numbers)
        if self.names:
            known |= pseudonym_texts(people).is_in(sorted(self.names)).to_numpy()
        return known


@dataclass(frozen=True)
class Weighing:
    """The task of one bucket: an attack on its people, with what their groups leave to them."""

    layout: Layout
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

    layout: Layout
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
        people = np.column_stack([shard.members[key].to_numpy() for key in KEY])[unknowns.person[told]]
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
