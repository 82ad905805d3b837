"""This tool on the same CSV, measured as `package.py` measures the others."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from functools import partial
from pathlib import Path

import polars as pl

import republish as rp
from bench.peers.package import FIRST, QUASI, RUNS, SENSITIVE, penalty, timed
from republish.requirements.text import parse_requirements
from republish.verify.table import verify_table

PUBLISHERS = {"republish, Mondrian": rp.Mondrian, "republish, penalty tree": rp.PenaltyTree}
SCHEMA = rp.Schema("person", [rp.Number(name) for name in QUASI], SENSITIVE)


def anonymized(name: str, frame: pl.DataFrame, k: int) -> dict[str, object]:
    """Seconds, memory, penalty and rows left out of one publisher."""
    publisher = PUBLISHERS[name](k)
    rp.anonymize(frame.head(FIRST), SCHEMA, publisher, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, made = [], []
    for _ in range(RUNS):
        made.clear()
        seconds.append(timed(lambda: made.append(rp.anonymize(frame, SCHEMA, publisher, seed=1))))
    published = made[0].table().to_pandas()
    return {
        "seconds": seconds,
        "mebibytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "penalty": penalty(published, frame.to_pandas()),
        "suppressed": frame.height - len(published),
    }


def checked(frame: pl.DataFrame) -> dict[str, object]:
    """Seconds in which the verifier checks k, l and t of the raw table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.drop("person").write_csv(path)
        asked = {name: parse_requirements(f"{name}=1") for name in "klt"}
        verify_table(path, SCHEMA, asked["k"])
        took = {name: timed(partial(verify_table, path, SCHEMA, these)) for name, these in asked.items()}
    return {"checks": took}


if __name__ == "__main__":
    _, name, path, k = sys.argv
    table = pl.read_csv(path)
    print(json.dumps(checked(table) if name == "republish, verify" else anonymized(name, table, int(k))))
