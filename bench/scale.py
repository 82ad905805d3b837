"""What a release costs a row, measured in parts made in this process; and what 10^9 rows x 52 releases would cost.

Bytes are those of blocks on their way between tasks and of files as they lie; processor time is that of all threads.
The projection multiplies: nothing in it was run. docs/scale.md says what it is worth.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.publish import QUASI, SCHEMA
from republish import CorSplit, JSReduce, MInvariance, PenaltyTree, Series, TauSafety
from republish.parts.blocks import FACT, Block, Task
from republish.parts.in_process import Here, HereMover
from republish.publishers import Publisher

ROWS, RELEASES = 10**9, 52
CHURN = 0.02  # of all people leave every week, and as many come
PART_ROWS = 250_000
PUBLISHERS: tuple[tuple[Publisher, int], ...] = (
    (PenaltyTree(10), 500_000),
    (MInvariance(4), 500_000),
    (TauSafety(4), 500_000),
    (CorSplit(4, 2, pad=True), 500_000),
    (JSReduce(10, 0.6, 0.8), 20_000),
)


@dataclass
class Counts:
    """Bytes between tasks and to the driver, blocks, and processor seconds of each task."""

    moved: Counter[str] = field(default_factory=Counter)
    blocks: Counter[str] = field(default_factory=Counter)
    told: int = 0
    seconds: Counter[str] = field(default_factory=Counter)


class Counting(HereMover):
    """Moves blocks in memory and counts them."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    def rows(self, view: Any, columns: Sequence[str], chunk: Any) -> list[Block]:
        start = time.process_time()
        made = super().rows(view, columns, chunk)
        self.counts.seconds[type(chunk).__name__] += time.process_time() - start
        return made

    def map(self, data: Any, kinds: Sequence[str], task: Task) -> list[Block]:
        start = time.process_time()
        made = super().map(data, kinds, task)
        self.counts.seconds[type(task).__name__] += time.process_time() - start
        return made

    def exchange(self, data: Any, kinds: Sequence[str], tasks: int, task: Task) -> list[Block]:
        name = type(task).__name__
        sent = [block for one in data for block in one if block.kind in kinds]
        self.counts.moved[name] += sum(len(block.data) for block in sent)
        self.counts.blocks[name] += len(sent)
        start = time.process_time()
        made = super().exchange(data, kinds, tasks, task)
        self.counts.seconds[name] += time.process_time() - start
        return made

    def facts(self, data: Any) -> list[Any]:
        self.counts.told += sum(len(block.data) for block in data if block.kind == FACT)
        return super().facts(data)


@dataclass(frozen=True)
class Counted(Here):
    """This process, with a look at what moves."""

    counts: Counts = field(default_factory=Counts)

    def mover(self) -> HereMover:
        return Counting(self.counts)


def views(rows: int, folder: Path) -> list[Path]:
    """Two views; a fiftieth of the people of the first are others in the second."""
    rng = np.random.default_rng(5)
    everyone = int(rows * (1 + CHURN))
    frame = pl.DataFrame(
        {
            "id": pl.Series(rng.permutation(everyone)).cast(pl.String),
            **{name: rng.integers(0, 10_000, everyone) for name in QUASI},
            "value": pl.Series(rng.integers(0, 19, everyone)).cast(pl.String),
        }
    )
    paths = [folder / "1.parquet", folder / "2.parquet"]
    frame[:rows].write_parquet(paths[0])
    frame[everyone - rows :].write_parquet(paths[1])
    return paths


def measure(publisher: Publisher, rows: int) -> None:
    """Print the unit costs of the second release of a series, and the projection."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = views(rows, folder)
        series = Series.create(folder / "s", SCHEMA, publisher, seed=1, one_table=True)
        part_rows = max(1_000, rows // 8)
        series.publish(paths[0], engine=Here(part_rows))
        counts = Counts()
        done = series.publish(paths[1], engine=Counted(part_rows, None, counts))
        record = series.records[-1].payload
        files = {name: found["bytes"] for name, found in record["files"].items()}
        entry = len(str(record))
        series.ledger.close()
    table = sum(size for name, size in files.items() if "table.parquet" in name) / rows
    member = sum(size for name, size in files.items() if "membership" in name) / rows
    memory = sum(size for name, size in files.items() if "/memory/" in name) / max(
        1, sum(record["memory_rows"])
    )
    moved = {name: found / rows for name, found in counts.moved.items()}
    seconds = {name: found / rows * 1e6 for name, found in counts.seconds.items()}
    print(f"\n{publisher.name}: second release of {rows:,} rows, penalty {done.measures.penalty:.3f}")
    print(f"  bytes a row: table {table:.1f}, membership {member:.1f}, memory {memory:.1f} a person")
    print("  moved, bytes a row: " + ", ".join(f"{n} {x:.0f}" for n, x in moved.items() if x >= 1))
    print(
        "  processor, microseconds a row: "
        + ", ".join(f"{n} {x:.1f}" for n, x in seconds.items() if x >= 0.05)
    )
    print(
        f"  to the driver: {counts.told:,} bytes from {len(files)} files; the ledger's entry: {entry:,} bytes"
    )
    project(sum(moved.values()), sum(seconds.values()), table, member, memory, entry / max(1, len(files)))


def project(moved: float, micro: float, table: float, member: float, memory: float, entry: float) -> None:
    """Print what 52 releases of 10^9 rows would cost, from the unit costs."""
    people = ROWS * (1 + CHURN * (RELEASES - 1))
    parts = ROWS // PART_ROWS
    files = 3 * parts // 2
    ledger = files * entry / 2**20
    moved += 2 * memory * (people / ROWS - 1)  # whoever left travels too, to be met and into the next base
    print(f"  projected, {ROWS:.0e} rows x {RELEASES}, {parts:,} parts:")
    print(
        f"    a release: shuffle {ROWS * moved / 2**40:.2f} TiB, {ROWS * micro / 3.6e9:,.1f} processor hours,"
    )
    print(f"      {files:,} files, {ledger:.1f} MiB of ledger")
    print(
        f"    memory {people * memory / 2**30:,.0f} GiB of {people:.2e} people, ledger {ledger * RELEASES:,.0f} MiB,"
    )
    tables, members = (ROWS * RELEASES * each / 2**40 for each in (table, member))
    print(f"      releases {tables:.2f} TiB, memberships {members:.2f} TiB")


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for publisher, rows in PUBLISHERS:
        if not chosen or publisher.name in chosen:
            measure(publisher, rows)
