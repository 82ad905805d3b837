"""Seconds to publish against beliefs and to attack with them: a whole series, one large view, and the posteriors.

The reference of the series is the same series under Mondrian with l-diversity; that of the large view is a k-d tree of
the same rows.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from bench.frontier import prepared
from bench.publish import PeakMemory
from republish import LDiversity, Mondrian, Series, read_schema
from republish.attacks import Adversary, attack_beliefs, granted_view
from republish.datasets import hospital
from republish.inference import METHODS, Groups, Reasoning, group_posteriors
from republish.knowledge import read_knowledge
from republish.memory.memory import Memory
from republish.publishers import BayFrame, JSReduce, Publisher


def series(views: int, rows: int) -> None:
    """Publish and attack a whole series, all files and checks included."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hospital(views, rows).write(folder / "data")
        schema = read_schema(folder / "data" / "schema.toml")
        known = read_knowledge(folder / "data" / "knowledge", schema)
        publishers: dict[str, tuple[Publisher, bool]] = {
            "mondrian, l=2": (Mondrian(2, (LDiversity(2),)), True),
            "js-reduce": (JSReduce(knowledge=known), False),
            "js-reduce as published": (JSReduce.as_published(knowledge=known), False),
            "bayframe": (BayFrame(knowledge=known), False),
        }
        files = sorted((folder / "data" / "views").iterdir())
        reference = 0.0
        for number, (label, (publisher, alone)) in enumerate(publishers.items()):
            made = Series.create(folder / f"s{number}", schema, publisher, seed=1, one_table=alone)
            begin = time.perf_counter()
            for file in files:
                made.publish(file)
            out = time.perf_counter() - begin
            begin = time.perf_counter()
            truth = [granted_view(made, i, file, known.classes) for i, file in enumerate(files, start=1)]
            found = attack_beliefs(made, Adversary(knowledge=known), truth)
            attacked = time.perf_counter() - begin
            made.ledger.close()
            reference = reference or out + attacked
            print(
                f"{label:<24} {views} x {rows:,}: published {out:.1f} s, attacked {attacked:.1f} s, together "
                f"{(out + attacked) / reference:.1f} x mondrian's; worst gain "
                f"{max(release.everyone.gain for release in found.releases):.3f}"
            )


def view(rows: int) -> None:
    """Group one large view and infer from it."""
    data = prepared(1, rows)
    large = data.views[0]
    publisher = JSReduce(knowledge=data.knowledge)
    reasoning = Reasoning(data.knowledge)
    begin = time.perf_counter()
    cKDTree(large.points.T, leafsize=32)
    reference = time.perf_counter() - begin
    with PeakMemory() as memory:
        begin = time.perf_counter()
        grouping = publisher.publish(large, Memory.empty(), np.random.default_rng(0))
        grouped = time.perf_counter() - begin
        thoughts = reasoning.thoughts(reasoning.respondents(large), Memory.empty())
        found = reasoning.inferred(thoughts, grouping.group, grouping.group, large.codes)
        both = time.perf_counter() - begin
    print(
        f"js-reduce, one view        {rows:,} rows: grouped {grouped:.1f} s, grouped and inferred {both:.1f} s = "
        f"{both / reference:.0f} x a k-d tree; {grouping.groups:,} groups; peak {memory.peak / 2**30:.2f} GiB; "
        f"{found.used}"
    )


def posteriors(rows: int, size: int) -> None:
    """Every method on groups of one size."""
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.full(19, 0.5), rows)
    codes = (prior.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
    groups, order = Groups.of(np.arange(rows) // size, np.arange(rows) // size, codes)
    times = {}
    for method in METHODS:
        begin = time.perf_counter()
        group_posteriors(prior[order], groups, method)
        times[method] = time.perf_counter() - begin
    print(
        f"posteriors, groups of {size:<4} {rows:,} rows: "
        + ", ".join(f"{m} {t:.2f} s ({t / times['omega']:.1f} x)" for m, t in times.items())
    )


def main(full: bool = False) -> None:
    """Print all of it."""
    series(3, 500)
    view(2_000)
    posteriors(1_000, 10)
    print("--")
    series(24, 5_000)
    posteriors(1_000_000 if full else 200_000, 10)
    view(1_000_000)
