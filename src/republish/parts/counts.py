"""Counts that decide where rows go and what an adversary can count: made by tasks, added up by others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray, WordArray
from republish.inference.reasoning import last_codes
from republish.knowledge import Extracted, Transitions
from republish.parts.blocks import Block, Mover, Task, fact, spread, table_of, tables_of
from republish.parts.pseudonymize import CODE, VIEW, memory_in, points_of, view_of
from republish.parts.publish.routes import Pieces, Routes, bang_places, finer_counts, hilbert_places
from republish.parts.survey import Domains
from republish.spatial.cube import Cube

COUNT, ROWS, KEEPS = "count", "rows", "keeps"
_SIGNATURE, _LAST, _LAST_CODE = "m:signature", "m:last", "m:code"


@dataclass(frozen=True)
class Adding:
    """The task that adds up counts of the same things."""

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        counts = tables_of(blocks, COUNT)
        yield fact(counts.group_by(pl.exclude(ROWS)).agg(pl.col(ROWS).sum()))


def add_up(mover: Mover[Any], data: Any, tasks: int, counting: Task) -> pl.DataFrame:
    """What counting tasks found in the blocks of people, added up."""
    counted = mover.map(data, [VIEW], counting)
    found: list[pl.DataFrame] = mover.facts(mover.exchange([counted], [COUNT], tasks, Adding()))
    if not found:
        return pl.DataFrame()
    return pl.concat(found).sort(pl.exclude(ROWS))


def spread_counts(counts: pl.DataFrame, tasks: int) -> Iterator[Block]:
    """Counts as blocks for the tasks that add them up, the same things for the same task."""
    mixed = np.zeros(counts.height, dtype=np.uint64)
    for name in counts.columns:
        if name != ROWS:
            column = counts[name].fill_null(-1) if counts[name].dtype.is_signed_integer() else counts[name]
            mixed = (mixed ^ column.to_numpy().astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
    yield from spread(counts, (mixed % np.uint64(tasks)).astype(np.int64), COUNT)


def _counted(columns: dict[str, Any]) -> pl.DataFrame:
    frame = pl.DataFrame(columns)
    return frame.group_by(frame.columns).agg(pl.len().cast(pl.Int64).alias(ROWS))


@dataclass(frozen=True)
class Placing:
    """The place of rows on the line that parts are cut from."""

    cube: Cube
    along: str

    def __call__(self, points: Any) -> WordArray:
        return bang_places(self.cube, points) if self.along == "bang" else hilbert_places(self.cube, points)


@dataclass(frozen=True)
class CountingPieces:
    """The task that counts rows in the finer pieces of crowded ones."""

    placing: Placing
    pieces: Pieces
    crowded: BoolArray
    tasks: int

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        for block in blocks:
            places = self.placing(points_of(table_of(block), len(self.placing.cube.scales)))
            yield from spread_counts(finer_counts(self.pieces, self.crowded, places), self.tasks)


@dataclass(frozen=True)
class Settled:
    """Who keeps a signature: whoever has the value of her last release, or, with `within`, any value of it.

    With `present` only whoever was in the last release. This decides where rows go, never what is published.
    """

    within: bool
    present: bool

    def signatures(self, frame: pl.DataFrame, release: int) -> WordArray:
        """A number for the signature that every row keeps, 0 where it keeps none."""
        if _SIGNATURE not in frame.columns:
            return np.zeros(frame.height, dtype=np.uint64)
        signature = frame[_SIGNATURE]
        if self.within:
            keeps = frame.select(pl.col(_SIGNATURE).list.contains(pl.col(CODE))).to_series()
        else:
            keeps = frame[_LAST_CODE] == frame[CODE]
        if self.present:
            keeps = keeps & (frame[_LAST] == release)
        keeps = keeps & signature.is_not_null()
        keeping = np.flatnonzero(keeps.fill_null(value=False).to_numpy())
        numbers = np.zeros(frame.height, dtype=np.uint64)
        if len(keeping):
            kept = signature.gather(keeping)
            sizes = kept.list.len().to_numpy().astype(np.int64)
            codes = kept.explode().to_numpy().astype(np.uint64) + np.uint64(1)
            mixed = codes * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
            sums = np.add.reduceat(mixed, np.cumsum(sizes) - sizes)
            numbers[keeping] = np.maximum(sums, np.uint64(1))
        return numbers


@dataclass(frozen=True)
class CountingCodes:
    """The task that counts sensitive codes by part, those of rows that keep a signature apart."""

    placing: Placing
    routes: Routes
    settled: Settled | None
    release: int
    tasks: int

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        for block in blocks:
            frame = table_of(block)
            part = self.routes.of(self.placing(points_of(frame, len(self.placing.cube.scales))))
            keeps = np.zeros(frame.height, dtype=np.int64)
            if self.settled is not None:
                keeps = (self.settled.signatures(frame, self.release) > 0).astype(np.int64)
            codes = frame[CODE].to_numpy().astype(np.int64)
            yield from spread_counts(_counted({"part": part, CODE: codes, KEEPS: keeps}), self.tasks)


@dataclass(frozen=True)
class CountingSignatures:
    """The task that counts where the people of each signature live."""

    placing: Placing
    routes: Routes
    settled: Settled
    release: int
    tasks: int

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        for block in blocks:
            frame = table_of(block)
            signature = self.settled.signatures(frame, self.release)
            keeps = signature > 0
            part = self.routes.of(self.placing(points_of(frame, len(self.placing.cube.scales))))
            yield from spread_counts(
                _counted({"signature": signature[keeps], "part": part[keeps]}), self.tasks
            )


@dataclass(frozen=True)
class Routing:
    """The task that sends rows to their parts."""

    placing: Placing
    routes: Routes
    settled: Settled | None
    release: int

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        for block in blocks:
            frame = table_of(block)
            places = self.placing(points_of(frame, len(self.placing.cube.scales)))
            kept = None if self.settled is None else self.settled.signatures(frame, self.release)
            yield from spread(frame, self.routes.of(places, kept), VIEW)


@dataclass(frozen=True)
class CountingTransitions:
    """The task that counts what followed what, where knowledge is counted from the views."""

    source: Extracted
    domains: Domains
    release: int
    tasks: int

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        order = self.source.start().order
        for block in blocks:
            frame = table_of(block)
            view, memory = view_of(frame, self.domains), memory_in(frame, self.release)
            assert view.people is not None
            history = last_codes(memory, memory.find(view.people), order)
            table = Transitions.empty(order).add(self.source.classes.of(view), history, view.codes).table
            yield from spread_counts(table.rename({"count": ROWS}), self.tasks)


def code_table(counted: pl.DataFrame, parts: int, values: int) -> IntArray:
    """Counts of codes by part: `[keeps, part, code]`, whoever keeps no signature first."""
    counts = np.zeros((2, parts, values), dtype=np.int64)
    if counted.height:
        place = tuple(counted[name].to_numpy() for name in (KEEPS, "part", CODE))
        counts[place] = counted[ROWS].to_numpy()
    return counts
