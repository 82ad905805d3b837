"""One publish on a Spark cluster of two workers on this machine against the same publish in this process.

The reference is the local engine on the same Parquet view: PenaltyTree, k = 10, 10,000,000 rows by 5 quasi-identifiers
(the number of rows can be given). The cluster has one core and 3 GB an executor, as tests/spark starts it. Memory of an
executor is that of its JVM and its Python processes together, as resident at its peak; that of the driver is this
process and its JVM. Both engines are warm: a small view is published first.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

from bench.publish import QUASI, SCHEMA
from republish import PenaltyTree, Series
from republish.parts import Spark
from spark.cluster import Cluster

ROWS = 10_000_000
EXECUTOR = "1g"


def make_view(rows: int, path: Path) -> None:
    """Write a view of random numbers as Parquet."""
    rng = np.random.default_rng(5)
    pl.DataFrame(
        {
            "id": pl.Series(rng.permutation(rows)).cast(pl.String),
            **{name: rng.integers(0, 10_000, rows) for name in QUASI},
            "value": pl.Series(rng.integers(0, 19, rows)).cast(pl.String),
        }
    ).write_parquet(path, row_group_size=500_000)


class Watch:
    """Largest resident memory of each executor, and of the driver, while the block runs."""

    def __init__(self, cluster: Cluster | None) -> None:
        self._cluster = cluster
        self.executors: dict[int, float] = {}
        self.driver = 0.0

    def __enter__(self) -> Watch:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            tree = _processes()
            if self._cluster is not None:
                for process in tree:
                    if "CoarseGrainedExecutorBackend" in _command(process):
                        held = sum(_resident(one) for one in _below(process, tree))
                        self.executors[process] = max(held, self.executors.get(process, 0.0))
            mine = [p for p in _below(_me(), tree) if "deploy.worker" not in _command(p)]
            mine = [p for p in mine if "deploy.master" not in _command(p) and p not in _executors(tree)]
            self.driver = max(self.driver, sum(_resident(one) for one in mine))

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _me() -> int:
    return int(Path("/proc/self/stat").read_text(encoding="ascii").split()[0])


def _processes() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            found[int(path.parent.name)] = int(fields[1])
        except OSError:
            continue
    return found


def _below(process: int, tree: dict[int, int]) -> list[int]:
    """A process and all that it started."""
    found, waiting = [], [process]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += [child for child, parent in tree.items() if parent == one]
    return found


def _executors(tree: dict[int, int]) -> set[int]:
    heads = [p for p in tree if "CoarseGrainedExecutorBackend" in _command(p)]
    return {one for head in heads for one in _below(head, tree)}


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _resident(process: int) -> float:
    """Memory of a process; what forked processes share is counted in parts (proportional set size)."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
        return 1024.0 * sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    except (OSError, ValueError, IndexError):
        return 0.0


def publish(path: Path, folder: Path, engine: Spark | None) -> tuple[float, float, dict[str, float]]:
    """Seconds of one publish into a fresh series, its penalty, and the seconds of its steps."""
    series = Series.create(folder / "series", SCHEMA, PenaltyTree(10), seed=1)
    marks: list[tuple[str, float]] = []
    start = time.perf_counter()
    done = series.publish(
        path, progress=lambda step: marks.append((step, time.perf_counter())), engine=engine
    )
    end = time.perf_counter()
    series.ledger.close()
    shutil.rmtree(folder / "series")
    ends = [moment for _, moment in marks[1:]] + [end]
    steps = {name: stop - begin for (name, begin), stop in zip(marks, ends, strict=True)}
    return end - start, done.measures.penalty, steps


def measure(rows: int) -> None:
    """Print time, penalty and memory of both engines."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, path = folder / "small.parquet", folder / "view.parquet"
        make_view(100_000, small)
        make_view(rows, path)
        publish(small, folder, None)
        local, penalty, steps = publish(path, folder, None)
        print(f"local  {rows:>11,} rows: {local:7.1f} s, penalty {penalty:.5f}")
        print("    " + ", ".join(f"{step} {took:.1f} s" for step, took in steps.items()))
        with Cluster() as cluster, cluster.session("bench", **{"spark.executor.memory": EXECUTOR}) as session:
            publish(small, folder, Spark(session, part_rows=25_000))
            with Watch(cluster) as watch:
                seconds, in_parts, steps = publish(path, folder, Spark(session))
        print(
            f"spark  {rows:>11,} rows: {seconds:7.1f} s = {seconds / local:.2f} x local; penalty {in_parts:.5f} = "
            f"{in_parts / penalty:.3f} x local"
        )
        print("    " + ", ".join(f"{step} {took:.1f} s" for step, took in steps.items()))
        held = ", ".join(f"{peak / 2**30:.2f} GiB" for peak in watch.executors.values())
        print(
            f"    executors (JVM and Python): {held}; driver (Python and JVM): {watch.driver / 2**30:.2f} GiB"
        )


if __name__ == "__main__":
    for given in sys.argv[1:] or [str(ROWS // 10), str(ROWS)]:
        measure(int(given))
