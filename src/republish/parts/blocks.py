"""Arrow blocks on their way between tasks, and what an engine must offer to move them.

A block is a piece of a table with the number of the task it goes to. Thousands of rows in one block cost an engine no
more than one row, so rows are never converted to what the engine thinks in.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl

from republish import errors
from republish.arrays import IntArray
from republish.errors import LedgerError, RepublishError
from republish.schema import Schema
from republish.sources.panics import is_panic

FACT, PROBLEM = "fact", "problem"
NOWHERE = -1
Data = TypeVar("Data")


class Block(NamedTuple):
    """A piece of a table, or a fact: the task it goes to, what it is, and its bytes."""

    to: int
    kind: str
    data: bytes


Task = Callable[[Sequence[Block]], Iterable[Block]]
"""What is done with all blocks of one task; the same blocks in any order must give the same result."""
Chunk = Callable[[pl.DataFrame], Iterable[Block]]
"""What is done with some rows of a raw view."""


class Mover(Protocol[Data]):
    """What runs tasks and carries blocks between them."""

    def columns(self, view: Any, schema: Schema) -> list[str]:
        """The names of the columns of a raw view, which is written as the schema says."""

    def rows(self, view: Any, schema: Schema, columns: Sequence[str], chunk: Chunk) -> Data:
        """What chunks of these columns of a raw view become."""

    def blocks(self, blocks: Sequence[Block]) -> Data:
        """Some blocks made here, small ones such as names of files."""

    def map(self, data: Data, kinds: Sequence[str], task: Task) -> Data:
        """What blocks of these kinds become, each for itself."""

    def exchange(self, data: Sequence[Data], kinds: Sequence[str], tasks: int, task: Task) -> Data:
        """What all blocks of these kinds for the same task become together."""

    def keep(self, data: Data) -> Data:
        """The same blocks, made once for all who read them; `release` gives them up."""

    def forget(self, data: Data) -> None:
        """Give up some blocks that were kept, before the others."""

    def facts(self, data: Data) -> list[Any]:
        """The facts among the blocks; nothing else comes back from the tasks."""

    def release(self) -> None:
        """Give up what was kept."""


def in_order(blocks: Iterable[Block]) -> list[Block]:
    """The blocks of a task in an order of their own: that of their arrival is chance."""
    return sorted(blocks, key=lambda block: (block.kind, block.data))


def table_block(frame: pl.DataFrame, to: int, kind: str) -> Block:
    """A table as a block."""
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compression="lz4")
    return Block(to, kind, buffer.getvalue())


def table_of(block: Block) -> pl.DataFrame:
    """The table in a block."""
    return pl.read_ipc(io.BytesIO(block.data))


def tables_of(blocks: Iterable[Block], kind: str) -> pl.DataFrame:
    """All tables of a kind, one below the other; what one of them lacks is null.

    The order of the columns is that of their names, for it must not depend on which block came first.
    """
    frames = [table_of(block) for block in blocks if block.kind == kind]
    if not frames:
        return pl.DataFrame()
    together = pl.concat(frames, how="diagonal_relaxed", rechunk=True)
    return together.select(sorted(together.columns))


def spread(frame: pl.DataFrame, to: IntArray, kind: str) -> Iterator[Block]:
    """The rows of a table as one block for each task that gets any."""
    if not frame.height:
        return
    order = np.argsort(to, kind="stable")
    tasks, starts = np.unique(to[order], return_index=True)
    sorted_rows = frame[order]
    for task, begin, end in zip(
        tasks.tolist(), starts.tolist(), [*starts[1:].tolist(), len(to)], strict=True
    ):
        yield table_block(sorted_rows[begin:end], int(task), kind)


def fact(value: Any) -> Block:
    """Something small that the driver is told: numbers and arrays of counts, never a row."""
    return Block(NOWHERE, FACT, pickle.dumps(value))


def facts_of(blocks: Iterable[Block]) -> list[Any]:
    """The facts of some blocks; the first problem among them is raised in its own class.

    Raises:
        RepublishError: what a task refused, or that it failed.
    """
    found: list[Any] = []
    problems: list[dict[str, str]] = []
    for block in blocks:
        if block.kind == PROBLEM:
            problems.append(json.loads(block.data))
        elif block.kind == FACT:
            found.append(pickle.loads(block.data))
    if problems:
        first = min(problems, key=lambda problem: (problem["class"], problem["message"]))
        kind = getattr(errors, first["class"], LedgerError)
        more = f" ({len(problems)} parts of the view say so)" if len(problems) > 1 else ""
        raise kind(first["message"] + more)
    return found


@dataclass(frozen=True)
class Guarded:
    """A task whose refusals become a block that the driver reads; an unforeseen error tells no cell."""

    task: Callable[[Any], Iterable[Block]]

    def __call__(self, given: Any) -> Iterator[Block]:
        made: list[Block] = []
        try:
            made.extend(self.task(given))
        except RepublishError as problem:
            made = [_problem(type(problem).__name__, str(problem))]
        except (OSError, MemoryError):
            raise  # of the machine, not of the data: the engine tries again elsewhere
        except BaseException as problem:
            if not isinstance(problem, Exception) and not is_panic(problem):
                raise
            if os.environ.get("REPUBLISH_TRACEBACK"):
                traceback.print_exc()
            made = [
                _problem(
                    "LedgerError",
                    f"a task failed with an unforeseen {type(problem).__name__}; nothing was committed, the series is "
                    "as it was. Please report it; REPUBLISH_TRACEBACK=1 on the executors shows where",
                )
            ]
        yield from made


def _problem(kind: str, message: str) -> Block:
    return Block(NOWHERE, PROBLEM, json.dumps({"class": kind, "message": message}).encode())
