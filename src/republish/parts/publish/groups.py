"""The groups of one part: the publisher as it is, on the rows that may share groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.memory.memory import KEY, people_of
from republish.parts.blocks import Block, fact, spread, table_block, table_of, tables_of
from republish.parts.pseudonymize import CODE, VIEW, bucket_of, memory_in, view_of
from republish.parts.survey import Domains
from republish.publishing.steps import Terms
from republish.requirements import Requirement, Whole
from republish.secret import order_of
from republish.verify.check import Check

FALSE, GROUPS = "false", "groups"
PART, GROUP, SHARD = "part", "group", "shard"


@dataclass(frozen=True)
class Making:
    """What a release is made with: the same in every task."""

    terms: Terms
    domains: Domains
    shards: int
    counts: pl.DataFrame | None = None


@dataclass(frozen=True)
class Grouped:
    """What a part tells: groups of each shard, rows left out, counterfeits, and published rows of each code.

    `checks` are of what only the task that grouped them saw.
    """

    groups: IntArray
    suppressed: int
    counterfeits: int
    codes: IntArray
    checks: tuple[Check, ...] = ()


def group_rows(making: Making, whole: Whole, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one part: its groups, each whole in a shard that the secret draws."""
    made, terms, part = making, making.terms, blocks[0].to
    frame = tables_of(blocks, VIEW)
    frame = frame[order_of(people_of(frame))]
    view = replace(view_of(frame, made.domains), at_large=whole)
    memory = memory_in(frame, terms.number - 1, made.counts)
    rng = terms.secret.generator(terms.seed, terms.number, "publisher", part)
    grouping = terms.publisher.publish(view, memory, rng)
    draw = terms.secret.generator(terms.seed, terms.number, "shards", part)
    shard_of_group = draw.integers(0, made.shards, grouping.groups)
    kept = grouping.group >= 0
    shard = bucket_of(frame[KEY[0]].to_numpy(), made.shards)
    shard[kept] = shard_of_group[grouping.group[kept]]
    frame = frame.with_columns(
        pl.lit(part, pl.Int32).alias(PART), pl.Series(GROUP, grouping.group, dtype=pl.Int32)
    )
    yield from spread(frame, shard, VIEW)
    false = pl.DataFrame(
        {
            PART: np.full(grouping.counterfeits, part, dtype=np.int32),
            GROUP: grouping.counterfeit_group.astype(np.int32),
            CODE: grouping.counterfeit_code.astype(np.int32),
        }
    )
    yield from spread(false, shard_of_group[grouping.counterfeit_group], FALSE)
    rows = pl.concat([frame.filter(pl.Series(kept)).select(GROUP, CODE), false.select(GROUP, CODE)])
    counted = rows.group_by(GROUP, CODE).agg(pl.len().cast(pl.Int64).alias("rows"))
    counted = counted.with_columns(
        pl.Series(SHARD, shard_of_group[counted[GROUP].to_numpy()], dtype=pl.Int32)
    )
    if terms.reasoning is not None:
        yield table_block(counted.sort(GROUP, CODE), part, GROUPS)
    codes = np.bincount(rows[CODE].to_numpy(), minlength=len(made.domains.values))
    groups = np.bincount(shard_of_group, minlength=made.shards)
    yield fact(Grouped(groups, grouping.suppressed, grouping.counterfeits, codes))


def find_broken(
    requirements: tuple[Requirement, ...], wholes: tuple[Whole, ...], shards: int, blocks: Sequence[Block]
) -> Iterator[Block]:
    """The task that finds groups which do not satisfy the requirements against the table as it is published.

    Rows left out and counterfeits shift the shares of the whole table. Groups that do not stand that are left out too;
    that shifts them again, and `wholes` are all that came of it so far.

    What the broken groups of a part take from the table: groups of each shard, rows of each code.
    """
    for block in blocks:
        if block.kind != GROUPS:
            continue
        counted = table_of(block)
        counts, numbers = histograms_of(counted, wholes[0].m)
        broken = broken_groups(counts, requirements, wholes)
        shard = counted.unique(GROUP, keep="first", maintain_order=True)[SHARD].to_numpy()[broken]
        yield fact((np.bincount(shard, minlength=shards), counts[broken].sum(axis=0), len(numbers)))


def histograms_of(counted: pl.DataFrame, m: int) -> tuple[IntArray, IntArray]:
    """Rows of each code in every group of a table sorted by group, and the numbers of the groups."""
    numbers, place = np.unique(counted[GROUP].to_numpy(), return_inverse=True)
    counts = np.zeros((len(numbers), m), dtype=np.int64)
    np.add.at(counts, (place, counted[CODE].to_numpy()), counted["rows"].to_numpy())
    return counts, numbers


def broken_groups(
    counts: IntArray, requirements: Sequence[Requirement], wholes: Sequence[Whole]
) -> BoolArray:
    """Which groups break a requirement against one of the wholes."""
    broken = np.zeros(len(counts), dtype=np.bool_)
    for whole in wholes:
        for requirement in requirements:
            broken |= ~requirement.holds(counts.astype(np.int64), whole)
    return broken
