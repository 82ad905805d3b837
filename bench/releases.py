"""`history` and `verify` of 120 releases of 5,000 rows against 60 of them: linear in the number of releases."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from republish import Series, TauSafety, read_schema
from republish.cli.inspection import history
from republish.datasets import census
from republish.datasets.census import Experiment

WEEKS = Experiment(rows=5_000, views=120, insert=250, delete=350, update=300, reinsert=100)
ROUNDS = 3


def seconds(read: Callable[[], object]) -> float:
    """The least processor time of some rounds, what is printed kept off the terminal."""
    took = []
    for _ in range(ROUNDS):
        start = time.process_time()
        with redirect_stdout(StringIO()):
            read()
        took.append(time.process_time() - start)
    return min(took)


def main(releases: int = 120) -> None:
    """Publish a series, and time both readers half-way and in the end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        census(people=2_000, rows=100, views=1).write(folder / "data")
        schema = read_schema(folder / "data" / "schema.toml")
        series = Series.create(folder / "s", schema, TauSafety(m=4), seed=1)
        found: dict[str, list[float]] = {"history": [], "verify": []}
        for number, view in enumerate(itertools.islice(iter(census(**WEEKS)), releases), start=1):
            series.publish(view)
            if number in (releases // 2, releases):
                found["history"].append(seconds(lambda: history(series.root)))
                found["verify"].append(seconds(series.verify))
        series.ledger.close()
    for name, (half, whole) in found.items():
        print(
            f"{name:<24} {releases} x {WEEKS['rows']:,} rows: {whole:.2f} s; "
            f"T({releases})/T({releases // 2}) {whole / half:.2f}, at most 2.3"
        )


if __name__ == "__main__":
    main()
