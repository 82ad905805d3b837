"""Publishers that guard a series on large views: seconds and memory a release, and growth with ten times the rows.

`python -m bench.large [--rows 1000000] [--releases 10] [publisher ...]` publishes series of a tenth of the rows and of
all. A twentieth of the people leave from view to view, as many come, and a twentieth have another value.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.publish import PeakMemory
from republish import Cohorts, CorSplit, Series, TauSafety, TwoTables, ValueBlind, read_schema
from republish.datasets import census
from republish.publishers import Publisher

ROWS, RELEASES = 1_000_000, 10
WARM = 2_000
TWO = TwoTables(k=5)
PUBLISHERS: dict[str, tuple[Publisher, TwoTables | None]] = {
    "tau-safety": (TauSafety(m=6, membership="nearest"), None),
    "tau-safety, two tables": (TauSafety(m=6, compromised=0.04, membership="nearest"), TWO),
    "cor-split": (CorSplit(m=6, n=3, membership="nearest"), None),
    "cohorts": (Cohorts(m=6, membership="nearest"), None),
    "value-blind": (ValueBlind(), TWO),
}


class Cost(NamedTuple):
    """Of every release: wall clock, processor of all threads, most memory above what there was, in bytes."""

    seconds: list[float]
    cpu: list[float]
    memory: list[float]

    @property
    def total(self) -> float:
        return sum(self.seconds)


def cost(name: str, rows: int, releases: int) -> Cost:
    """Publish a series; generating its views is not counted."""
    publisher, form = PUBLISHERS[name]
    found = Cost([], [], [])
    with tempfile.TemporaryDirectory(prefix="republish-large-") as place:
        folder = Path(place)
        census(people=2_000, rows=100, views=1).write(folder / "data")
        schema = read_schema(folder / "data" / "schema.toml")
        series = Series.create(folder / "s", schema, publisher, seed=1, form=form)
        for view in census(people=3 * rows, rows=rows, views=releases):
            with PeakMemory() as memory:
                began, before = time.perf_counter(), time.process_time()
                series.publish(view)
                found.cpu.append(time.process_time() - before)
                found.seconds.append(time.perf_counter() - began)
            found.memory.append(memory.peak)
        series.ledger.close()
    return found


def main(names: Sequence[str] = (), rows: int = ROWS, releases: int = RELEASES) -> None:
    """A line a publisher, once its kernels are compiled or loaded."""
    print(
        f"| publisher, {releases} releases of {rows:,} rows | a release, s | worst, s | CPU, s | most memory, GiB "
        f"| T({rows:,}) / T({rows // 10:,}) | last / second |\n|---|---|---|---|---|---|---|"
    )
    for name in names or PUBLISHERS:
        cost(name, WARM, 3)
        small, large = cost(name, rows // 10, releases), cost(name, rows, releases)
        print(
            f"| {name} | {np.median(large.seconds):.2f} | {max(large.seconds):.2f} | {np.median(large.cpu):.2f} "
            f"| {max(large.memory) / 2**30:.2f} | {large.total / small.total:.1f} (CPU "
            f"{sum(large.cpu) / sum(small.cpu):.1f}) | {large.seconds[-1] / large.seconds[1]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--releases", type=int, default=RELEASES)
    parser.add_argument("publishers", nargs="*", help="all unless named")
    given = parser.parse_args()
    main(given.publishers, given.rows, given.releases)
