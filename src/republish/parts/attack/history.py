"""What an adversary reads, in parts: groups of a shard with their members, people of a bucket with their groups.

A shard holds some whole groups of one release, a bucket some people with all their appearances and, of every group
they were in, how often it has which value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from republish.arrays import IntArray, WordArray
from republish.attacks.excluding.signature_rule import SignatureRule, rule_of
from republish.attacks.history import History
from republish.attacks.tables import Table
from republish.errors import PolicyError
from republish.memory.event_lists import Appearances, events_of
from republish.memory.membership import HELD as IS_HELD
from republish.memory.memory import KEY, people_of
from republish.parts.blocks import Block, fact, spread, table_block, table_of, tables_of
from republish.parts.files import read_intact
from republish.parts.measure import TABLE_FILE, Recorded, Stored, codes_in
from republish.parts.pseudonymize import bucket_of
from republish.schema import Schema
from republish.secret import order_of
from republish.series import Series

MEMBER_FILE = "member file"
MEMBER, VALUES = "member", "values"
"""Members and published values of groups, on their way to shards."""
SEEN, HELD = "seen", "held"
"""Appearances of people, and the values of groups they were in, on their way to buckets."""
CLASS = "class"
_RELEASE, _GROUP, _CODE, _ROW = "release", "group", "code", "row"
_ROWS, _UNKNOWN = "rows", "unknown rows"
_NO_SEEN = {**dict.fromkeys(KEY, pl.UInt64), _GROUP: pl.Int32, _CODE: pl.Int32, _ROW: pl.UInt64}
_NO_HELD = dict.fromkeys((_RELEASE, _GROUP, _CODE, _ROWS, _UNKNOWN), pl.Int64)


@dataclass(frozen=True)
class AttackLayout:
    """What all tasks agree on: the releases with their files, the values of the series, and the number of buckets.

    With `classes` the class of everyone, as the series keeps it, goes with her; else all people are of class 0.
    """

    schema: Schema
    releases: tuple[Stored, ...]
    members: tuple[tuple[Recorded, ...], ...]
    values: pl.Series
    rule: SignatureRule | None
    buckets: int
    classes: bool = False

    @property
    def tasks(self) -> int:
        return sum(one.shards for one in self.releases)

    def release_of(self, task: int) -> int:
        return bisect_right([one.first for one in self.releases], task) - 1


def layout_of(series: Series, releases: tuple[Stored, ...], buckets: int) -> AttackLayout:
    """The layout of a series.

    Raises:
        PolicyError: there is no sensitive value to be found out, or batches count people as they were.
    """
    if series.schema.sensitive is None:
        raise PolicyError("attacks seek sensitive values and this series has no sensitive column")
    recorded = series.ledger.entries().files
    members = tuple(
        tuple((series.ledger.path(name), dict(recorded[name])) for name in series.membership_files(number))
        for number in range(1, len(releases) + 1)
    )
    values = releases[-1].scales.values if releases else pl.Series("", [], dtype=pl.String)
    known = np.array([len(one.scales.values) for one in releases], dtype=np.int64)
    adopted = series.ledger.entries().adopted
    rule = rule_of(series.policy.promises["series"], known, adopted)
    return AttackLayout(series.schema, releases, members, values, rule, buckets)


def names_of_files(layout: AttackLayout) -> list[Block]:
    """A block for every table and every membership; it names the release and the place of the file in its list."""
    return [
        Block(i, kind, f"{i} {j}".encode())
        for i, (one, members) in enumerate(zip(layout.releases, layout.members, strict=True))
        for kind, files in ((TABLE_FILE, one.tables), (MEMBER_FILE, members))
        for j in range(len(files))
    ]


def read_files(layout: AttackLayout, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that sends members and published values to the shard of their group, who was left out to her bucket."""
    for block in blocks:
        i, j = map(int, block.data.split())
        one = layout.releases[i]
        if block.kind == TABLE_FILE:
            stored = one.rows_of(read_intact(*one.tables[j]))
            codes = codes_in(stored, layout.schema, layout.values)
            rows = pl.DataFrame({_GROUP: stored[_GROUP].cast(pl.Int32), _CODE: codes})
            counts = rows.group_by(_GROUP, _CODE).agg(pl.len().cast(pl.Int64).alias(_ROWS))
            yield from spread(counts, one.tasks(counts[_GROUP].to_numpy()), VALUES)
            continue
        members = read_intact(*layout.members[i][j])
        if IS_HELD in members.columns:  # who is counted as she was is not there
            members = members.filter(~pl.col(IS_HELD))
        kept = pl.col(CLASS).cast(pl.Int32) if layout.classes else pl.lit(0, pl.Int32)
        members = members.select(*_NO_SEEN, kept.alias(CLASS))
        shown = members.filter(pl.col(_GROUP) > 0)
        yield from spread(shown, one.tasks(shown[_GROUP].to_numpy()), MEMBER)
        left_out = members.filter((pl.col(_GROUP) == 0) & _is_somebody())
        yield from _to_buckets(left_out, i, layout.buckets)


def _is_somebody() -> pl.Expr:
    """Whether a member was not forgotten."""
    return (pl.col(KEY[0]) != 0) | (pl.col(KEY[1]) != 0)


def _to_buckets(members: pl.DataFrame, release: int, buckets: int) -> Iterator[Block]:
    seen = members.with_columns(pl.lit(release, pl.Int32).alias(_RELEASE))
    yield from spread(seen, bucket_of(seen[KEY[0]].to_numpy(), buckets), SEEN)


@dataclass(frozen=True)
class Shard:
    """Some groups of one release as a history; people are numbered as in `members`, groups as in `groups`."""

    history: History
    members: pl.DataFrame
    groups: IntArray

    @classmethod
    def of(cls, blocks: Sequence[Block], values: int) -> Shard:
        """The groups of a shard.

        Raises:
            PolicyError: members and published values contradict each other.
        """
        counts = pl.concat([_none(_GROUP, _CODE, _ROWS), tables_of(blocks, VALUES)], how="diagonal_relaxed")
        counts = counts.group_by(_GROUP, _CODE).agg(pl.col(_ROWS).sum()).sort(_GROUP, _CODE)
        everybody = _seen(tables_of(blocks, MEMBER)).sort(*KEY)
        members = everybody.filter(_is_somebody())
        groups = np.unique(np.concatenate([counts[_GROUP].to_numpy(), everybody[_GROUP].to_numpy()]))
        group, code, rows = (counts[name].to_numpy() for name in (_GROUP, _CODE, _ROWS))
        table = Table(
            np.arange(members.height),
            np.searchsorted(groups, members[_GROUP].to_numpy()),
            np.repeat(np.searchsorted(groups, group), rows),
            np.repeat(code, rows),
        )
        truth = members[_CODE].to_numpy().astype(np.int64)
        history = History.of(members.height, values, [table], None, [truth])
        gone = everybody.filter(~_is_somebody())[_GROUP].to_numpy()
        forgotten = np.searchsorted(groups, np.unique(gone))
        return cls(replace(history, forgotten=forgotten), members, groups)


def _none(*names: str) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64))


def _seen(members: pl.DataFrame) -> pl.DataFrame:
    """Members as a table that has its columns where nobody is in it."""
    return (
        members if members.height else pl.DataFrame(schema={**_NO_SEEN, CLASS: pl.Int32, _RELEASE: pl.Int32})
    )


def join_values(layout: AttackLayout, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one shard: its members with the values of their groups, to their buckets.

    `unknown rows` are those of a value to an adversary who knows what people had who were forgotten.

    Appearances and values, a block for each bucket; and the fewest values of a group with members.
    """
    release, buckets = layout.release_of(blocks[0].to), layout.buckets
    shard = Shard.of(blocks, len(layout.values))
    if not shard.members.height:
        return
    yield fact(shard.history.diversity)
    yield from _to_buckets(shard.members, release, buckets)
    held = _values(shard.history).join(
        _values(shard.history.knowing_forgotten()).rename({_ROWS: _UNKNOWN}), [_GROUP, _CODE], "left"
    )
    held = held.with_columns(pl.col(_UNKNOWN).fill_null(0))
    members = shard.members[_GROUP].to_numpy()
    bucket = bucket_of(shard.members[KEY[0]].to_numpy(), buckets)
    wanted = pl.DataFrame({"bucket": bucket, _GROUP: np.searchsorted(shard.groups, members)}).unique()
    for (to,), mine in sorted(wanted.group_by("bucket")):
        part = held.join(mine.select(_GROUP), _GROUP, "semi").sort(_GROUP, _CODE)
        numbers = shard.groups[part[_GROUP].to_numpy()].astype(np.int64)
        part = part.with_columns(
            pl.Series(_GROUP, numbers), pl.lit(release, pl.Int64).alias(_RELEASE)
        ).select(list(_NO_HELD))
        yield table_block(part, int(to), HELD)


def _values(history: History) -> pl.DataFrame:
    """How often every group has which value."""
    group = np.repeat(np.arange(history.groups), np.diff(history.value_start))
    return pl.DataFrame(
        {
            _GROUP: group.astype(np.int64),
            _CODE: history.value_code.astype(np.int64),
            _ROWS: history.value_count.astype(np.int64),
        }
    )


@dataclass(frozen=True)
class Bucket:
    """Some people with all their appearances as a history; `group[g]` is the published number of its group g."""

    history: History
    people: WordArray
    group: IntArray

    @classmethod
    def of(cls, blocks: Sequence[Block], layout: AttackLayout, knowing: bool) -> Bucket:
        """The people of a bucket; `knowing` grants what people had who were forgotten."""
        seen = _seen(tables_of(blocks, SEEN))
        people, place = numbered(people_of(seen))
        number, code = seen[_RELEASE].to_numpy().astype(np.int64), seen[_CODE].to_numpy().astype(np.int64)
        row, group = seen[_ROW].to_numpy(), seen[_GROUP].to_numpy().astype(np.int64)
        there = [np.flatnonzero(number == i) for i in range(len(layout.releases))]
        events = events_of(len(people), [Appearances(place[at], code[at], row[at]) for at in there])
        shown = np.flatnonzero(group > 0)
        most = max((one.groups for one in layout.releases), default=0) + 1
        keys, of_shown = np.unique(number[shown] * most + group[shown], return_inverse=True)
        order = np.argsort(of_shown, kind="stable")
        held = _held(blocks, _UNKNOWN if knowing else _ROWS)
        of_held = np.searchsorted(keys, (held[_RELEASE] * most + held[_GROUP]).to_numpy())
        history = History(
            people=len(people),
            values=len(layout.values),
            group_start=np.searchsorted(keys // most, np.arange(len(layout.releases) + 1)),
            member_start=np.searchsorted(of_shown[order], np.arange(len(keys) + 1)),
            person=place[shown[order]],
            value_start=np.searchsorted(of_held, np.arange(len(keys) + 1)),
            value_code=held[_CODE].to_numpy().astype(np.int32),
            value_count=held["count"].to_numpy().astype(np.int32),
            events=events,
            truth=code[shown[order]].astype(np.int32),
            rule=layout.rule,
        )
        return cls(history, people, keys % most)


def numbered(words: WordArray) -> tuple[WordArray, IntArray]:
    """Everyone once, sorted by pseudonym, and the number of every row's person."""
    order = order_of(words)
    ordered = words[order]
    fresh = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(words)]
    place = np.empty(len(words), dtype=np.int64)
    place[order] = np.cumsum(fresh) - 1
    return ordered[fresh], place


def _held(blocks: Sequence[Block], counted: str) -> pl.DataFrame:
    frames = [table_of(block) for block in blocks if block.kind == HELD]
    held = pl.concat([pl.DataFrame(schema=_NO_HELD), *frames]).with_columns(pl.col(counted).alias("count"))
    return held.filter(pl.col("count") > 0).sort(_RELEASE, _GROUP, _CODE)
