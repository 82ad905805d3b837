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
from republish.datasets.census import Experiment
from republish.publishers import Publisher

STEADY = Experiment(rows=60_000, views=20, insert=3_000, delete=4_000, update=4_000, reinsert=1_000)
"""The thesis's protocol with as many people leaving as coming, so that growth is that of the history alone."""


def run(name: str, publisher: Publisher, protocol: Experiment, releases: int) -> None:
    """Publish the first releases of a protocol, all phases and checks included, and print what each costs."""
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        census(people=2_000, rows=100, views=1).write(folder / "data")
        series = Series.create(folder / "s", read_schema(folder / "data" / "schema.toml"), publisher, seed=1)
        took, rows, fake, penalty = [], [], [], []
        with PeakMemory() as memory:
            for view in itertools.islice(iter(census(**protocol)), releases):
                start = time.perf_counter()
                done = series.publish(view)
                took.append(time.perf_counter() - start)
                rows.append(done.rows)
                fake.append(done.counterfeits)
                penalty.append(done.measures.penalty)
        series.ledger.close()
    growth, more_rows = took[-1] / took[2], rows[-1] / rows[2]
    print(
        f"{name:<24} {releases} releases: {np.median(took[1:]):.2f} s each (worst {max(took[1:]):.2f}); last / third "
        f"{growth:.2f} with {more_rows:.2f} x the rows; peak {memory.peak / 2**30:.2f} GiB; "
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
    thesis, cor_split = PRESETS["tau-safety"], PRESETS["cor-split"]
    run("tau-safety m=6", TauSafety(m=6, membership="nearest"), thesis, 20)
    run("tau-safety m=6, steady", TauSafety(m=6, membership="nearest"), STEADY, 20)
    run(
        "tau-safety m=6, optimal",
        TauSafety(m=6, assignment="optimal", membership="nearest"),
        thesis,
        20 if full else 6,
    )
    run("m-invariance m=6", MInvariance(m=6, membership="nearest"), thesis, 20 if full else 6)
    run("cor-split m=6 n=3", CorSplit(m=6, n=3, membership="nearest"), cor_split, 21 if full else 8)
