"""Batches followed from release to release by one task, where what is promised of them is about all people together.

The task gets whom each batch counts and who that is, four numbers a person; what it knows of all releases so far stays
with it as blocks from one release to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from republish.memory.batch_record import STAY
from republish.memory.cohort_stays import Stays
from republish.memory.membership import HELD, Membership
from republish.memory.memory import KEY, memory_of
from republish.parts.blocks import Block, Mover, fact, table_block, table_of, tables_of
from republish.parts.files import read_intact
from republish.parts.pseudonymize import CODE, ROW
from republish.parts.verify.files import CLOCK, FILE, START, UNREAD, Unreadable, legible, listed, named
from republish.parts.verify.walk_state import GROUP
from republish.release.two_tables import BATCH
from republish.sources.paths import read_csv, read_parquet
from republish.verify.batches import BatchWalk, CountedBefore, Renewals, batch_checks
from republish.verify.check import Check
from republish.verify.promises import AuditedRelease, no_signatures

COUNTED, POINTED = "counted", "pointed"
"""Whom batches count, and the last stay of everyone in the memory, on their way to the task."""
STAYS, ROWS, LAST = "stays", "rows", "last"
"""What the task knows after some releases: see `CountedBefore`."""
KNOWN = (STAYS, ROWS, LAST)


class FollowedBatches(NamedTuple):
    """What the task tells of a release: the checks, and whether somebody who was counted so far is forgotten."""

    checks: tuple[Check, ...]
    lacks: bool


class BatchesInParts:
    """Batches on their way through the releases: what is known, and whether people were forgotten."""

    def __init__(self, mover: Mover[Any]) -> None:
        self.mover = mover
        self.known: Any = None
        self.lacks = False

    def follow(self, number: int, promises: Sequence[str], files: BatchFiles) -> FollowedRelease | None:
        """The next release; `keep` is to be called once all else of it could be read. `None` where this cannot."""
        mover = self.mover
        rows = mover.map(mover.blocks(listed(files.members, FILE)), [FILE], partial(legible, read_counted))
        start = mover.blocks([Block(0, START, b"")])
        task = partial(legible, FollowingBatches(number, tuple(promises), files.clock, self.lacks))
        sources = [rows, start, *([] if self.known is None else [self.known])]
        made = mover.keep(mover.exchange(sources, [COUNTED, START, UNREAD, *KNOWN], 1, task))
        facts = mover.facts(made)
        if any(isinstance(one, Unreadable) for one in facts):
            mover.forget(made)
            return None
        return FollowedRelease(made, facts[0])

    def keep(self, followed: FollowedRelease) -> None:
        """Go on from this release."""
        if self.known is not None:
            self.mover.forget(self.known)
        self.known, self.lacks = followed.known, followed.found.lacks

    def differences(self, compared: Any, record: tuple[Path, dict[str, Any]] | None) -> list[str] | None:
        """What the stored record has wrong, `None` where it cannot be read; `compared` holds who points where in it."""
        task = partial(legible, partial(compare_record, record, self.lacks))
        sources = [compared, self.mover.blocks([Block(0, START, b"")]), self.known]
        facts = self.mover.facts(self.mover.exchange(sources, [POINTED, START, UNREAD, *KNOWN], 1, task))
        return None if any(isinstance(one, Unreadable) for one in facts) else facts[0]


class BatchFiles(NamedTuple):
    """Where a release says whom its batches count, and when they were counted."""

    members: tuple[Path, ...]
    clock: tuple[Path, ...]


class FollowedRelease(NamedTuple):
    """What is known after a release, and what was found in it."""

    known: Any
    found: FollowedBatches


def read_counted(blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that reads whom batches count, those who are held too."""
    for place in named(blocks):
        frame = read_parquet(place, [*KEY, GROUP, CODE, HELD]).filter(pl.col(GROUP) > 0)
        yield table_block(frame.with_columns(pl.lit(0, pl.UInt64).alias(ROW)), 0, COUNTED)


@dataclass(frozen=True)
class FollowingBatches:
    """The task that takes in one release; `lacks` says that somebody of an earlier one was forgotten."""

    number: int
    promises: tuple[str, ...]
    clock: tuple[Path, ...]
    lacks: bool

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """What is found, and what is known after it."""
        walk = walk_in(blocks, self.lacks)
        rows = tables_of(blocks, COUNTED).sort(*KEY, GROUP, CODE, HELD)
        clock = read_csv(self.clock) if self.clock else None
        now = AuditedRelease(self.number, Membership.of_frame(rows), no_signatures(0), clock=clock)
        found = Renewals(now, walk.before)
        checks = tuple(check for promise in self.promises for check in batch_checks(promise, found))
        walk.add(found)
        yield fact(FollowedBatches(checks, walk.before.lacks))
        for kind, table in zip(KNOWN, (walk.before.stays.frame(), *walk.before[1:3]), strict=True):
            yield table_block(table, 0, kind)


def walk_in(blocks: Sequence[Block], lacks: bool) -> BatchWalk:
    """What is known of batches, from blocks."""
    walk = BatchWalk()
    tables = {block.kind: table_of(block) for block in blocks if block.kind in KNOWN}
    if tables:
        walk.before = CountedBefore(Stays.of_frame(tables[STAYS]), tables[ROWS], tables[LAST], lacks)
    return walk


def compare_record(
    record: tuple[Path, dict[str, Any]] | None, lacks: bool, blocks: Sequence[Block]
) -> Iterator[Block]:
    """The task that compares the stored record with what is known after the last release."""
    counts = None if record is None else read_intact(*record)
    memory = memory_of(tables_of(blocks, POINTED), 0, counts)
    yield fact(walk_in(blocks, lacks).differences(memory))


def pointed_in(memory: pl.DataFrame) -> Iterator[Block]:
    """The last stay of everyone in some lines of the memory."""
    if STAY in memory.columns:
        yield table_block(memory.select(*KEY, STAY), 0, POINTED)


def clock_in(blocks: Sequence[Block], shift: int) -> pl.DataFrame | None:
    """The clock of the batches of a shard, numbered from 1, where they have one."""
    clock = tables_of(blocks, CLOCK)
    return clock.with_columns(pl.col(BATCH) - shift) if clock.height else None
