"""One shard of a release: whole groups, their table, membership and memory as files, each checked as it lies there.

A shard whose groups are numbered from 1 is a release of its own. So it is built, read back and verified by the same
code as any release, and the numbers are shifted where they are written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray, WordArray
from republish.grouping import SUPPRESSED, Grouping
from republish.memory.membership import Membership
from republish.memory.memory import Memory, people_of, sight
from republish.metrics.sums import Sums, sums_of
from republish.microdata import Microdata, sensitive_codes
from republish.parts.blocks import Block, fact, tables_of
from republish.parts.files import read_intact, write_bytes, write_table
from republish.parts.pseudonymize import CODE, ROW, VIEW, memory_in, tally_of, view_of
from republish.parts.publish.groups import FALSE, GROUP, PART, Making, broken_groups
from republish.release.domains import Scales
from republish.release.release import COUNTERFEITS, TABLE_PARQUET, build_release, read_release
from republish.requirements import Requirement, Whole
from republish.secret import order_of
from republish.sources.paths import read_csv
from republish.verify.check import Verification
from republish.verify.series import AuditedRelease, check_against_memory, signatures_of
from republish.verify.similarity import require_beliefs, shown_to
from republish.verify.table import AtLarge, verify_against_view, verify_release


@dataclass(frozen=True)
class Places:
    """Where the files of every shard go; that of counterfeits is written where there are any."""

    table: tuple[Path, ...]
    counterfeits: tuple[Path, ...]
    membership: tuple[Path, ...]
    memory: tuple[Path, ...]
    aside: Path


@dataclass(frozen=True)
class Written:
    """What a shard tells: its files, its checks and sums, and what must add up over all shards.

    `codes` are the stored rows of each sensitive code.
    """

    shard: int
    files: dict[Path, dict[str, Any]]
    verification: Verification
    sums: Sums
    codes: IntArray
    people: int
    suppressed: int
    remembered: int
    tally: int


@dataclass(frozen=True)
class WritingShards:
    """The task of one shard."""

    making: Making
    requirements: tuple[Requirement, ...]
    places: Places
    first: IntArray
    whole: Whole
    lasting: tuple[Whole, ...]

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The files of the shard, written and verified."""
        made, shard = self.making, blocks[0].to
        frame, grouping = self._groups(blocks)
        view, digests = view_of(frame, made.domains), frame[ROW].to_numpy()
        label = (made.seed, made.number, "shard", shard)
        release, local = build_release(view, grouping, made.secret, *label)
        shift = int(self.first[shard])
        table = release.frame().with_columns((pl.col(GROUP) + shift).cast(pl.Int32))
        files = {self.places.table[shard]: write_table(table, self.places.table[shard], self.places.aside)}
        numbers = np.where(local > 0, local + shift, 0).astype(np.int32)
        memory = memory_in(frame, made.number - 1, made.counts)
        seen = sight(view, digests, numbers, made.number, memory)
        if release.counterfeits.any():
            files |= self._counterfeits(shard, release.counterfeits, shift)
        with tempfile.TemporaryDirectory(prefix="republish-") as folder:
            stored = read_intact(self.places.table[shard], files[self.places.table[shard]])
            told = self.places.counterfeits[shard]
            counted = read_csv(told) if told in files else None
            write_as_release(Path(folder), stored, shift, counted)
            written = self._verified(Path(folder), view, local, memory)
            after = self._remembered(Path(folder), view, grouping, local, seen, memory)
        files |= self._private(shard, seen, view, after)
        yield fact(
            Written(
                shard=shard,
                files=files,
                verification=written[0],
                sums=written[1],
                codes=written[2],
                people=view.rows,
                suppressed=grouping.suppressed,
                remembered=after.size,
                tally=tally_of(seen.people, seen.columns[ROW], seen.columns[CODE]),
            )
        )

    def _groups(self, blocks: Sequence[Block]) -> tuple[pl.DataFrame, Grouping]:
        """The people of the shard by pseudonym, and their groups from 0; groups that do not last are left out."""
        frame, false = tables_of(blocks, VIEW), tables_of(blocks, FALSE)
        frame = frame[order_of(people_of(frame))] if frame.height else frame
        keys = _key(frame)
        kept = frame[GROUP].to_numpy() != SUPPRESSED
        false_keys = _key(false) if false.height else np.empty(0, dtype=np.int64)
        names, place = np.unique(np.concatenate([keys[kept], false_keys]), return_inverse=True)
        codes = np.concatenate([frame[CODE].to_numpy()[kept], false[CODE].to_numpy() if false.height else []])
        number = np.arange(len(names), dtype=np.int32)
        if self.lasting:
            counts = np.zeros((len(names), self.whole.m), dtype=np.int64)
            np.add.at(counts, (place, codes.astype(np.int64)), 1)
            broken = broken_groups(counts, self.requirements, self.lasting)
            number = np.where(broken, SUPPRESSED, np.cumsum(~broken) - 1).astype(np.int32)
        group = np.full(frame.height, SUPPRESSED, dtype=np.int32)
        people = int(np.count_nonzero(kept))
        group[kept] = number[place[:people]]
        false_group = number[place[people:]]
        there = false_group != SUPPRESSED
        return frame, Grouping(group, false_group[there], codes[people:][there].astype(np.int32))

    def _verified(
        self, folder: Path, view: Microdata, local: IntArray, memory: Memory
    ) -> tuple[Verification, Sums, IntArray]:
        """Check the table as it lies in its place, as a release of its own; return what must add up, too."""
        made = self.making
        large = AtLarge(made.domains.values, self.whole)
        found = verify_release(folder, view.schema, self.requirements, large)
        release = read_release(folder, view.schema, Scales.of(view))
        found = found.with_checks(verify_against_view(release, view, local))
        promises = made.publisher.series_promises
        reasoning = getattr(made.publisher, "reasoning", None)
        if promises:
            signatures = signatures_of(folder, view.schema, view.values)
            shown = None if reasoning is None else shown_to(reasoning, view, folder)
            assert view.people is not None
            members = Membership(view.people, local, view.codes)
            now = AuditedRelease(made.number, members, signatures, shown)
            found = found.with_checks(*check_against_memory(promises, now, release.sizes, memory, reasoning))
        codes = np.zeros(len(view.values), dtype=np.int64)
        if view.schema.sensitive is not None:
            column = release.rest[view.schema.sensitive.name]
            codes = np.bincount(
                sensitive_codes(column, view.schema.sensitive, view.values)[0], minlength=len(codes)
            )
        return found, sums_of(release, large.values, large.whole), codes

    def _remembered(
        self, folder: Path, view: Microdata, grouping: Grouping, local: IntArray, seen: Memory, memory: Memory
    ) -> Memory:
        """What is kept of everyone in the shard."""
        made = self.making
        known = memory.merged(seen)
        after = made.publisher.remember(view, grouping, known)
        reasoning = getattr(made.publisher, "reasoning", None)
        if reasoning is not None:
            require_beliefs(reasoning, shown_to(reasoning, view, folder), local, known, after)
        return after.seen_in(made.number)

    def _private(
        self, shard: int, seen: Memory, view: Microdata, after: Memory
    ) -> dict[Path, dict[str, Any]]:
        columns = {name: seen.columns[name] for name in (GROUP, CODE, ROW)}
        reasoning = getattr(self.making.publisher, "reasoning", None)
        if reasoning is not None:
            columns["class"] = reasoning.respondents(view).classes.astype(np.int32)
        membership, memory = self.places.membership[shard], self.places.memory[shard]
        aside = self.places.aside
        return {
            membership: write_table(
                Memory(seen.people, columns).frame(), membership, aside, compression="lz4"
            ),
            memory: write_table(after.frame(), memory, aside, compression="lz4"),
        }

    def _counterfeits(self, shard: int, counterfeits: IntArray, shift: int) -> dict[Path, dict[str, Any]]:
        held = np.flatnonzero(counterfeits)
        statistics = pl.DataFrame({GROUP: held + 1 + shift, "count": counterfeits[held]})
        place = self.places.counterfeits[shard]
        return {place: write_bytes(statistics.write_csv().encode(), place, self.places.aside)}


def write_as_release(
    folder: Path, stored: pl.DataFrame, shift: int, counterfeits: pl.DataFrame | None = None
) -> None:
    """Write a shard, its groups numbered from 1, as a release of its own; counterfeits by group, as they are stored."""
    stored.with_columns((pl.col(GROUP) - shift).cast(pl.Int32)).write_parquet(
        folder / TABLE_PARQUET, compression="uncompressed"
    )
    if counterfeits is not None:
        counterfeits.with_columns(pl.col(GROUP) - shift).write_csv(folder / COUNTERFEITS)


def _key(frame: pl.DataFrame) -> WordArray | Any:
    """One number for part and group."""
    return (frame[PART].cast(pl.Int64) * 2**32 + frame[GROUP].cast(pl.Int64)).to_numpy()
