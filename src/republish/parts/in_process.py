"""The parts of a release made one after the other in this process: what a cluster does, without one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from republish.parts.blocks import PROBLEM, Block, Chunk, Guarded, Task, facts_of, in_order
from republish.parts.engine import PART_ROWS, Engine
from republish.schema import Schema
from republish.sources.tables import read_raw


@dataclass(frozen=True)
class Here(Engine):
    """This process. It is for tests and for trying out: a part is as large as it would be on a cluster."""

    part_rows: int = PART_ROWS
    parts: int | None = None

    def mover(self) -> HereMover:
        return HereMover()


class HereMover:
    """Moves blocks in memory."""

    chunk_rows = 1 << 16

    def columns(self, view: Any, schema: Schema) -> list[str]:
        return read_raw(view, schema).columns

    def rows(self, view: Any, schema: Schema, columns: Sequence[str], chunk: Chunk) -> list[Block]:
        frame = read_raw(view, schema).select(columns)
        guarded = Guarded(chunk)
        starts = range(0, max(frame.height, 1), self.chunk_rows)
        return [block for start in starts for block in guarded(frame[start : start + self.chunk_rows])]

    def blocks(self, blocks: Sequence[Block]) -> list[Block]:
        return list(blocks)

    def map(self, data: Iterable[Block], kinds: Sequence[str], task: Task) -> list[Block]:
        guarded = Guarded(task)
        made = [found for block in data if block.kind in kinds for found in guarded([block])]
        return made + [block for block in data if block.kind == PROBLEM]

    def exchange(
        self, data: Sequence[Iterable[Block]], kinds: Sequence[str], tasks: int, task: Task
    ) -> list[Block]:
        waiting: dict[int, list[Block]] = defaultdict(list)
        problems = []
        for block in chain.from_iterable(data):
            if block.kind in kinds:
                waiting[block.to].append(block)
            elif block.kind == PROBLEM:
                problems.append(block)
        guarded = Guarded(task)
        return problems + [made for to in sorted(waiting) for made in guarded(in_order(waiting[to]))]

    def keep(self, data: Iterable[Block]) -> list[Block]:
        return list(data)

    def forget(self, data: list[Block]) -> None:
        data.clear()

    def facts(self, data: Iterable[Block]) -> list[Any]:
        return facts_of(data)

    def release(self) -> None:
        """Nothing to give up."""
