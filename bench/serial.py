"""Seconds a release of the publishers that guard a series, under the papers' protocols, with memory and growth."""

from __future__ import annotations

import itertools
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from bench.publish import PeakMemory
from republish import CorSplit, MInvariance, Series, TauSafety, read_schema
from republish.datasets import PRESETS, census
from republish.publishers import Publisher


def run(name: str, publisher: Publisher, preset: str, releases: int) -> None:
    """Publish the first releases of a protocol, all phases and checks included, and print what each costs."""
    series_of_views = census(**PRESETS[preset])
    with tempfile.TemporaryDirectory() as folder:
        series_of_views_schema = Path(folder) / "data"
        census(people=2_000, rows=100, views=1).write(series_of_views_schema)
        series = Series.create(
            Path(folder) / "s", read_schema(series_of_views_schema / "schema.toml"), publisher, seed=1
        )
        took, fake, penalty = [], [], []
        with PeakMemory() as memory:
            for view in itertools.islice(iter(series_of_views), releases):
                start = time.perf_counter()
                done = series.publish(view)
                took.append(time.perf_counter() - start)
                fake.append(done.counterfeits)
                penalty.append(done.measures.penalty)
        series.ledger.close()
    rest = took[1:]
    print(
        f"{name:<24} {releases} releases: {np.median(rest):.2f} s each (first {took[0]:.2f}, worst {max(rest):.2f}); "
        f"release {releases} / release 3 = {took[-1] / took[2]:.2f}; peak {memory.peak / 2**30:.2f} GiB; "
        f"counterfeits {int(np.mean(fake[1:])):,} a release; penalty {np.mean(penalty):.4f}"
    )


def warm_up() -> None:
    """Compile every kernel on a small series."""
    rows = {"rows": 600, "people": 4_000, "views": 3}
    for publisher in (TauSafety(m=4), MInvariance(m=4), CorSplit(m=4, n=2)):
        with tempfile.TemporaryDirectory() as folder:
            data = census(**rows)
            data.write(Path(folder) / "data")
            series = Series.create(
                Path(folder) / "s", read_schema(Path(folder) / "data/schema.toml"), publisher, seed=1
            )
            for view in sorted((Path(folder) / "data/views").iterdir()):
                series.publish(pl.read_csv(view, infer_schema=False))
            series.ledger.close()


def main(full: bool) -> None:
    """The thesis's protocol for tau-safety and m-invariance, Cor-Split's for Cor-Split."""
    warm_up()
    run("tau-safety m=6", TauSafety(m=6), "tau-safety", 20)
    run("tau-safety m=6, optimal", TauSafety(m=6, assignment="optimal"), "tau-safety", 20 if full else 6)
    run("m-invariance m=6", MInvariance(m=6), "tau-safety", 20 if full else 6)
    run("cor-split m=6 n=3", CorSplit(m=6, n=3), "cor-split", 21 if full else 8)
