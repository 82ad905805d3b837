"""One publish of a large view against polars reading and writing the same rows, in one warm process."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

from republish import Category, Mondrian, Number, Schema, Series

ROWS = 1_000_000
QUASI = [f"q{i}" for i in range(5)]
SCHEMA = Schema("id", [Number(name) for name in QUASI], Category("value"))


def make_view(rows: int, path: Path) -> float:
    """Write a view of random numbers; return the bytes of its arrays: 8 a number, 16 a short text (Arrow's views)."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "id": pl.Series(rng.permutation(rows)).cast(pl.String),
            **{name: rng.integers(0, 10_000, rows) for name in QUASI},
            "value": pl.Series(rng.integers(0, 19, rows)).cast(pl.String),
        }
    )
    frame.write_csv(path)
    return rows * (8.0 * len(QUASI) + 16 * 2)


def polars_round_trip(path: Path, folder: Path) -> float:
    """Seconds that polars needs to read the CSV and write it as CSV and Parquet."""
    start = time.perf_counter()
    frame = pl.read_csv(path)
    frame.write_csv(folder / "copy.csv")
    frame.write_parquet(folder / "copy.parquet")
    return time.perf_counter() - start


class PeakMemory:
    """Largest resident memory of this process above what it had at the start, sampled while it runs."""

    def __enter__(self) -> PeakMemory:
        self.base, self.peak, self._stop = _resident(), 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.peak = max(self.peak, _resident() - self.base)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _resident() -> float:
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096.0


def publish_once(path: Path, folder: Path) -> tuple[float, dict[str, float]]:
    """Seconds of one publish into a fresh series, and of each of its steps."""
    series = Series.create(folder / "series", SCHEMA, Mondrian(10), seed=1)
    marks: list[tuple[str, float]] = []
    start = time.perf_counter()
    series.publish(path, progress=lambda step: marks.append((step, time.perf_counter())))
    end = time.perf_counter()
    series.ledger.close()
    shutil.rmtree(folder / "series")
    ends = [moment for _, moment in marks[1:]] + [end]
    return end - start, {name: stop - begin for (name, begin), stop in zip(marks, ends, strict=True)}


def measure(rows: int, repeats: int = 3) -> float:
    """Print the ratios for one size; return the seconds of publish."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "view.csv"
        size = make_view(rows, path)
        reference = min(polars_round_trip(path, folder) for _ in range(repeats))
        seconds, steps = min((publish_once(path, folder) for _ in range(repeats)), key=lambda run: run[0])
        with PeakMemory() as memory:  # a run of its own: watching takes time
            publish_once(path, folder)
    print(
        f"publish {rows:>10,} rows: {seconds:7.2f} s = {seconds / reference:5.1f} x polars ({reference:.2f} s); "
        f"peak {memory.peak / 2**20:,.0f} MiB = {memory.peak / size:.1f} x raw arrays ({size / 2**20:,.0f} MiB)"
    )
    print("    " + ", ".join(f"{step} {took:.2f} s" for step, took in steps.items()))
    return seconds


def main(full: bool) -> None:
    """Ratios at 100,000 and 1,000,000 rows, and at 10,000,000 with `full`."""
    measure(10_000, 1)  # compile and warm up
    sizes = [ROWS // 10, ROWS, *([10 * ROWS] if full else [])]
    took = [measure(rows, 1 if rows > ROWS else 3) for rows in sizes]
    for small, large, rows in zip(took, took[1:], sizes[1:], strict=False):
        print(f"publish T({rows:,}) / T({rows // 10:,}) = {large / small:.1f}")
