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
from republish.publishers.contract import KeptSignatures
from republish.spatial.cube import Cube

COUNT, ROWS, KEEPS = "count", "rows", "keeps"
_SIGNATURE, _LAST, _LAST_CODE = "m:signature", "m:last", "m:code"


def add_counts(blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that adds up counts of the same things."""
    counts = tables_of(blocks, COUNT)
    yield fact(counts.group_by(pl.exclude(ROWS)).agg(pl.col(ROWS).sum()))


def add_up(mover: Mover[Any], data: Any, tasks: int, counting: Task) -> pl.DataFrame:
    """What counting tasks found in the blocks of people, added up."""
    counted = mover.map(data, [VIEW], counting)
    found: list[pl.DataFrame] = mover.facts(mover.exchange([counted], [COUNT], tasks, add_counts))
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

    def of(self, frame: pl.DataFrame) -> WordArray:
        """The places of people in a table."""
        return self(points_of(frame, len(self.cube.scales)))


def count_pieces(
    placing: Placing, pieces: Pieces, crowded: BoolArray, tasks: int, blocks: Sequence[Block]
) -> Iterator[Block]:
    """The task that counts rows in the finer pieces of crowded ones."""
    for block in blocks:
        yield from spread_counts(finer_counts(pieces, crowded, placing.of(table_of(block))), tasks)


def kept_signatures(rule: KeptSignatures | None, frame: pl.DataFrame, release: int) -> WordArray:
    """A number for the signature that every row keeps by the rule, 0 where it keeps none.

    This decides where rows go, never what is published.
    """
    numbers = np.zeros(frame.height, dtype=np.uint64)
    if rule is None or _SIGNATURE not in frame.columns:
        return numbers
    signature = frame[_SIGNATURE]
    if rule.within:
        keeps = frame.select(pl.col(_SIGNATURE).list.contains(pl.col(CODE))).to_series()
    else:
        keeps = frame[_LAST_CODE] == frame[CODE]
    if rule.present:
        keeps = keeps & (frame[_LAST] == release)
    keeps = keeps & signature.is_not_null()
    keeping = np.flatnonzero(keeps.fill_null(value=False).to_numpy())
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
class Plan:
    """How rows find their part: where they lie, which part that is, and who goes with a signature.

    `release` is the number of releases so far.
    """

    placing: Placing
    routes: Routes
    rule: KeptSignatures | None
    release: int

    def count_codes(self, tasks: int, blocks: Sequence[Block]) -> Iterator[Block]:
        """The task that counts sensitive codes by part, those of rows that keep a signature apart."""
        for block in blocks:
            frame = table_of(block)
            part = self.routes.of(self.placing.of(frame))
            keeps = (kept_signatures(self.rule, frame, self.release) > 0).astype(np.int64)
            codes = frame[CODE].to_numpy().astype(np.int64)
            yield from spread_counts(_counted({"part": part, CODE: codes, KEEPS: keeps}), tasks)

    def count_signatures(self, tasks: int, blocks: Sequence[Block]) -> Iterator[Block]:
        """The task that counts where the people of each signature live."""
        for block in blocks:
            frame = table_of(block)
            signature = kept_signatures(self.rule, frame, self.release)
            keeps = signature > 0
            part = self.routes.of(self.placing.of(frame))
            yield from spread_counts(_counted({"signature": signature[keeps], "part": part[keeps]}), tasks)

    def route(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The task that sends rows to their parts."""
        for block in blocks:
            frame = table_of(block)
            kept = kept_signatures(self.rule, frame, self.release)
            yield from spread(frame, self.routes.of(self.placing.of(frame), kept), VIEW)


def count_transitions(
    source: Extracted, domains: Domains, release: int, tasks: int, blocks: Sequence[Block]
) -> Iterator[Block]:
    """The task that counts what followed what, where knowledge is counted from the views."""
    order = source.start().order
    for block in blocks:
        frame = table_of(block)
        view, memory = view_of(frame, domains), memory_in(frame, release)
        assert view.people is not None
        history = last_codes(memory, memory.find(view.people), order)
        table = Transitions.empty(order).add(source.classes.of(view), history, view.codes).table
        yield from spread_counts(table.rename({"count": ROWS}), tasks)


def code_table(counted: pl.DataFrame, parts: int, values: int) -> IntArray:
    """Counts of codes by part: `[keeps, part, code]`, whoever keeps no signature first."""
    counts = np.zeros((2, parts, values), dtype=np.int64)
    if counted.height:
        place = tuple(counted[name].to_numpy() for name in (KEEPS, "part", CODE))
        counts[place] = counted[ROWS].to_numpy()
    return counts
