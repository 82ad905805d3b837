"""Seconds of the generators and of the help text."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from bench.publish import QUASI, SCHEMA
from republish import Mondrian, anonymize, read_view
from republish.datasets import census, hospital
from republish.metrics import Workload, estimated_counts, true_counts


def seconds(work: object, runs: int = 3) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folders = iter(Path(name) / str(i) for i in range(100))
        took = seconds(lambda: hospital().write(next(folders)))
        print(f"generate hospital, 24 x 5,000, written: {took:.2f} s (at most 2)")
        took = seconds(lambda: next(iter(census())))
        print(f"generate census, 600,000 people and a first view: {took:.2f} s (at most 10)")
    took = seconds(
        lambda: subprocess.run([sys.executable, "-m", "republish", "--help"], capture_output=True, check=True)
    )
    print(f"republish --help: {took:.2f} s (at most .3)")
    rng = np.random.default_rng(1)
    rows = 200_000
    columns = {name: rng.integers(0, 1000, rows) for name in QUASI}
    frame = pl.DataFrame({"id": np.arange(rows), **columns, "value": rng.integers(0, 19, rows)})
    view, release = read_view(frame, SCHEMA), anonymize(frame, SCHEMA, Mondrian(10))
    workload = Workload.random(view, 10_000, 2, 0.05, 0)
    took = seconds(lambda: (true_counts(view, workload), estimated_counts(release, workload)), 2)
    print(f"query error, 10,000 queries on 200,000 rows: {took:.2f} s")
