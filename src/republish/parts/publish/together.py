"""Batches of everybody, decided on by one task, where a publisher looks at all people at once.

The task is told pseudonym, quasi-identifiers and value of everyone in the view, and what the publisher remembers of
everyone at all; no other column, and no digest. It calls the publisher as one process does, so that batches are the
same however many parts there are. Everyone then learns her batch in her bucket and goes to its shard with all her
columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.grouping import Snapshots
from republish.memory.membership import Membership
from republish.memory.memory import KEY, Memory, keyed, memory_of, people_of
from republish.microdata import Microdata
from republish.parts.blocks import Block, Mover, fact, spread, table_block, table_of, tables_of
from republish.parts.files import read_intact, write_table
from republish.parts.pseudonymize import CODE, REMEMBERED, VIEW, bucket_of, own_columns, points_of
from republish.parts.publish.groups import FALSE, GROUP, PART, SHARD, Grouped, Making
from republish.parts.publish.shards import Places, Written
from republish.publishing.led_batches import led_batches
from republish.release.two_tables import AS_OF
from republish.secret import order_of
from republish.sources.paths import read_csv
from republish.verify.batches import Renewals, batch_checks, counted_in
from republish.verify.check import Check
from republish.verify.promises import AuditedRelease, no_signatures

if TYPE_CHECKING:
    from republish.ledger import Draft
    from republish.series import Series

SLIM, PLACED, CLOCK, RECORD, START = "slim", "placed", "clock", "record", "start"
"""What the task is told of people; where they are; when batches were counted; the record after the release."""
LISTED, KEPT = "listed", "k:"
Recorded = tuple[Path, dict[str, Any]]
"""A file, with the digest and size that the ledger recorded, or the task that wrote it."""


@dataclass(frozen=True, eq=False)
class DecidedBatches:
    """The batches of a release made in parts: its people with theirs, and what the one task decided.

    `met` holds what is remembered of everyone, `record` is the file of the record before the release.
    """

    mover: Mover[Any]
    making: Making
    record: Recorded | None
    met: Any
    routed: Any
    decided: Any

    @property
    def facts(self) -> list[Grouped]:
        """What is counted of all batches."""
        return self.mover.facts(self.decided)

    def checks(self, written: Sequence[Written], places: Places) -> tuple[Check, ...]:
        """What is promised over the series, from what the shards wrote."""
        members, clock = (
            tuple((part[w.shard], w.files[part[w.shard]]) for w in written if part[w.shard] in w.files)
            for part in (places.membership, places.clock)
        )
        task = CheckingBatches(self.making, self.record, members, tuple(place for place, _ in clock))
        start = self.mover.blocks([Block(0, START, b"")])
        found: list[tuple[Check, ...]]
        found = self.mover.facts(self.mover.exchange([self.met, start], [REMEMBERED, START], 1, task))
        return (*found[0], *(check for facts in self.facts for check in facts.checks))

    def kept(self, draft: Draft, series: Series, payload: dict[str, Any], aside: Path) -> dict[str, Any]:
        """Write the record after the release in private; return what the ledger keeps of the release, with it."""
        (place,) = draft.private_files("counts", 1)
        task = partial(write_record, place, aside)
        (measured,) = self.mover.facts(self.mover.exchange([self.decided], [RECORD], 1, task))
        draft.adopt({draft.name(place): measured})
        earlier = series.counts_file()
        erased = [*payload["erased"], *([earlier] if earlier else [])]
        return payload | {"counts": draft.name(place), "erased": erased}


def batches_in_parts(
    mover: Mover[Any], series: Series, making: Making, met: Any, people: Any, buckets: int
) -> DecidedBatches:
    """The batches of everybody; `met` holds what is remembered, `people` everyone in the view, in so many buckets."""
    name = series.counts_file()
    record = None if name is None else (series.ledger.path(name), series.ledger.recorded(name))
    slim = mover.map(people, [VIEW], partial(slimmed, len(making.domains.axes)))
    start = mover.blocks([Block(0, START, b"")])
    task = DecidingBatches(making, record, buckets)
    decided = mover.keep(mover.exchange([slim, met, start], [SLIM, REMEMBERED, START], 1, task))
    routed = mover.exchange([people, decided], [VIEW, PLACED], buckets, send_to_shards)
    return DecidedBatches(mover, making, record, met, routed, decided)


def slimmed(axes: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that picks the columns that batches are decided on from."""
    for block in blocks:
        columns = [*KEY, CODE, *(f"p:{q}" for q in range(axes))]
        yield table_block(table_of(block).select(columns), 0, SLIM)


@dataclass(frozen=True)
class DecidingBatches:
    """The one task that decides on batches; `record` is the file of the record before the release."""

    making: Making
    record: Recorded | None
    buckets: int

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """Where everyone is, who is held, when batches were counted, and the record after the release."""
        terms, shards = self.making.terms, self.making.shards
        view, memory = self._view(blocks), remembered_in(blocks, terms.number - 1, self.record)
        rng = terms.secret.generator(terms.seed, terms.number, "publisher")
        grouping = terms.publisher.publish(view, memory, rng)
        assert view.people is not None and grouping.snapshots is not None
        known = memory.merged(Memory(view.people, {}, release=terms.number))
        after = terms.publisher.remember(view, grouping, known)
        draw = terms.secret.generator(terms.seed, terms.number, "shards", 0)
        shard = draw.integers(0, shards, grouping.groups)
        placed = self._placed(view, after).with_columns(
            pl.Series(GROUP, grouping.group, dtype=pl.Int32),
            pl.Series(LISTED, grouping.snapshots.listed, dtype=pl.Int32),
        )
        to = bucket_of(view.people[:, 0], shards)
        there = grouping.snapshots.listed >= 0
        to[there] = shard[grouping.snapshots.listed[there]]
        placed = placed.with_columns(pl.Series(SHARD, to, dtype=pl.Int32))
        yield from spread(placed, bucket_of(view.people[:, 0], self.buckets), PLACED)
        held = keyed(grouping.snapshots.held).with_columns(
            pl.Series(GROUP, grouping.counterfeit_group, dtype=pl.Int32),
            pl.Series(CODE, grouping.counterfeit_code, dtype=pl.Int32),
        )
        yield from spread(held, shard[grouping.counterfeit_group], FALSE)
        yield from spread(_clock(grouping.snapshots), shard, CLOCK)
        if after.counts is not None:
            yield table_block(after.counts, 0, RECORD)
        codes = np.concatenate([view.codes[grouping.group >= 0], grouping.counterfeit_code])
        values = np.bincount(codes, minlength=len(view.values))
        groups = np.bincount(shard, minlength=shards)
        led = led_batches(terms.publisher, view, memory, grouping, grouping.snapshots.listed + 1)
        yield fact(Grouped(groups, grouping.suppressed, grouping.counterfeits, values, led))

    def _view(self, blocks: Sequence[Block]) -> Microdata:
        domains, frame = self.making.domains, tables_of(blocks, SLIM)
        axes = len(domains.axes)
        if not frame.height:
            none = np.empty(0, dtype=np.int32)
            return domains.view(np.empty((axes, 0)), none, pl.DataFrame(), np.empty((0, 2), dtype=np.uint64))
        frame = frame[order_of(people_of(frame))]
        return domains.view(points_of(frame, axes), frame[CODE].to_numpy(), pl.DataFrame(), people_of(frame))

    def _placed(self, view: Microdata, after: Memory) -> pl.DataFrame:
        """Everyone in the view with what the publisher remembers of her after the release."""
        assert view.people is not None
        place = after.find(view.people)
        names = own_columns(after.columns)
        return keyed(view.people).with_columns(
            pl.Series(f"{KEPT}{name}", after.columns[name][place]) for name in names
        )


def remembered_in(blocks: Sequence[Block], release: int, record: Recorded | None) -> Memory:
    """What a publisher remembers of everyone after so many releases, with its record."""
    counts = None if record is None else read_intact(*record)
    return memory_of(tables_of(blocks, REMEMBERED), release, counts)


def _clock(snapshots: Snapshots) -> pl.DataFrame:
    as_of: IntArray = snapshots.as_of
    batch = np.arange(len(as_of))
    return pl.DataFrame({GROUP: batch, AS_OF: as_of}).cast(pl.Int32)


def send_to_shards(blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one bucket: everyone, with her batch and all her columns, goes to its shard."""
    people, placed = tables_of(blocks, VIEW), tables_of(blocks, PLACED)
    if not people.height:
        return
    found = people.join(placed, on=list(KEY), how="left", maintain_order="left")
    to = found[SHARD].to_numpy()
    yield from spread(found.drop(SHARD).with_columns(pl.lit(0, pl.Int32).alias(PART)), to, VIEW)


def write_record(place: Path, aside: Path, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that writes the record after the release."""
    (record,) = blocks
    yield fact(write_table(table_of(record), place, aside))


@dataclass(frozen=True)
class CheckingBatches:
    """The one task that checks the promises over the series, from what the shards wrote and what was remembered."""

    making: Making
    record: Recorded | None
    members: tuple[Recorded, ...]
    clock: tuple[Path, ...]

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The checks, as those of one piece."""
        terms = self.making.terms
        memory = remembered_in(blocks, terms.number - 1, self.record)
        members = pl.concat([read_intact(*file) for file in self.members])
        clock = read_csv(self.clock) if self.clock else None
        now = AuditedRelease(terms.number, Membership.of_frame(members), no_signatures(0), clock=clock)
        renewals = Renewals(now, counted_in(memory))
        promises = terms.publisher.series_promises
        yield fact(tuple(check for promise in promises for check in batch_checks(promise, renewals)))
