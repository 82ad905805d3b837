"""One shard of a release: whole groups, their table, membership and memory as files, each checked as it lies there.

A shard whose groups are numbered from 1 is a release of its own. So it is a piece that takes the steps of any release,
and the numbers are shifted where they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray, WordArray
from republish.grouping import SUPPRESSED, Grouping
from republish.memory.memory import Memory, people_of
from republish.metrics.sums import Sums
from republish.parts.blocks import Block, fact, tables_of
from republish.parts.files import read_intact, write_bytes, write_table
from republish.parts.pseudonymize import CODE, ROW, VIEW, memory_in, tally_of, view_of
from republish.parts.publish.groups import FALSE, GROUP, PART, Making, broken_groups
from republish.publishing.steps import CheckedPiece, Piece
from republish.release.grouped_table import GroupedTable
from republish.release.release import Release
from republish.release.two_tables import StoredRelease, TwoTableCounts
from republish.requirements import Whole
from republish.secret import order_of
from republish.sources.paths import read_csv
from republish.verify.check import Verification
from republish.verify.table import AtLarge


@dataclass(frozen=True)
class Places:
    """Where the files of every shard go; that of counterfeits is written where there are any.

    In two tables `table` is that of values, and `people` the other one; `clock` says when batches were counted, where
    they were not all counted now.
    """

    table: tuple[Path, ...]
    counterfeits: tuple[Path, ...]
    membership: tuple[Path, ...]
    memory: tuple[Path, ...]
    aside: Path
    people: tuple[Path, ...] = ()
    clock: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Written:
    """What a shard tells: its files, its checks and sums, and what must add up over all shards.

    `codes` are the stored rows of each sensitive code, `counts` what is counted of batches in two tables.
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
    counts: TwoTableCounts | None = None


@dataclass(frozen=True)
class WritingShards:
    """The task of one shard."""

    making: Making
    places: Places
    first: IntArray
    whole: Whole
    lasting: tuple[Whole, ...]

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        made, shard = self.making, blocks[0].to
        frame, grouping = self._groups(blocks)
        view, digests = view_of(frame, made.domains), frame[ROW].to_numpy()
        memory = memory_in(frame, made.terms.number - 1, made.counts)
        piece = self._piece(
            Piece(made.terms, view, grouping, digests, memory, AtLarge(made.domains.values, self.whole)),
            frame,
        )
        release, placed = piece.built("shard", shard)
        local = placed.group
        shift = int(self.first[shard])
        assert isinstance(release, Release)
        files = self._write(piece, release, shard, shift)
        table = self._stored(files, shard, shift)
        checked = piece.checked(StoredRelease(table, table), placed)
        group = np.where(local > 0, local + shift, 0).astype(np.int32)
        seen = piece.seen(group)
        after = self._remembered(checked, seen, frame).seen_in(made.terms.number)
        published = replace(checked, placed=placed._replace(group=group))
        files |= self._private(shard, published.membership(seen), after)
        yield fact(
            Written(
                shard=shard,
                files=files,
                verification=checked.verification,
                sums=checked.sums,
                codes=np.bincount(checked.codes, minlength=len(view.values)),
                people=view.rows,
                suppressed=checked.suppressed,
                remembered=after.size,
                tally=tally_of(seen.people, seen.columns[ROW], seen.columns[CODE]),
                counts=self._counts(checked),
            )
        )
        yield from self._onward(frame, published, table, shard)

    def _piece(self, piece: Piece, frame: pl.DataFrame) -> Piece:
        """The piece that the shard publishes."""
        return piece

    def _remembered(self, checked: CheckedPiece, seen: Memory, frame: pl.DataFrame) -> Memory:
        """What is remembered after the release of the people of the shard."""
        return checked.remembered(seen)

    def _counts(self, checked: CheckedPiece) -> TwoTableCounts | None:
        """What is counted of batches, where groups are batches."""
        return None

    def _onward(
        self, frame: pl.DataFrame, published: CheckedPiece, table: GroupedTable, shard: int
    ) -> Iterator[Block]:
        """What others need of the people, where they were published, and the table as it lies there: nothing."""
        return iter(())

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
            broken = broken_groups(counts, self.making.terms.requirements, self.lasting)
            number = np.where(broken, SUPPRESSED, np.cumsum(~broken) - 1).astype(np.int32)
        group = np.full(frame.height, SUPPRESSED, dtype=np.int32)
        people = int(np.count_nonzero(kept))
        group[kept] = number[place[:people]]
        false_group = number[place[people:]]
        there = false_group != SUPPRESSED
        return frame, Grouping(group, false_group[there], codes[people:][there].astype(np.int32))

    def _write(self, piece: Piece, release: Release, shard: int, shift: int) -> dict[Path, dict[str, Any]]:
        """Write the table, and the statistics of counterfeits where there are any."""
        places = self.places
        table = release.frame().with_columns((pl.col(GROUP) + shift).cast(pl.Int32))
        files = {places.table[shard]: write_table(table, places.table[shard], places.aside)}
        held = np.flatnonzero(release.counterfeits)
        if len(held):
            place = places.counterfeits[shard]
            statistics = pl.DataFrame({GROUP: held + 1 + shift, "count": release.counterfeits[held]})
            files[place] = write_bytes(statistics.write_csv().encode(), place, places.aside)
        return files

    def _stored(self, files: Mapping[Path, dict[str, Any]], shard: int, shift: int) -> GroupedTable:
        """The table as it lies in its place, its groups numbered from 1."""
        place, told = self.places.table[shard], self.places.counterfeits[shard]
        back = (pl.col(GROUP) - shift).cast(pl.Int32)
        counterfeits = read_csv(told).with_columns(back) if told in files else None
        return GroupedTable(read_intact(place, files[place]).with_columns(back), counterfeits)

    def _private(self, shard: int, members: Memory, after: Memory) -> dict[Path, dict[str, Any]]:
        """Write who is in which group, and what is remembered of everyone in the shard."""
        membership, memory = self.places.membership[shard], self.places.memory[shard]
        return {
            place: write_table(kept.frame(), place, self.places.aside, compression="lz4")
            for place, kept in ((membership, members), (memory, after))
        }


def _key(frame: pl.DataFrame) -> WordArray | Any:
    """One number for part and group."""
    return (frame[PART].cast(pl.Int64) * 2**32 + frame[GROUP].cast(pl.Int64)).to_numpy()
