"""Sixty-four parts cost no precision: the certainty penalty is within 5 % of that of one process, or below."""

from __future__ import annotations

from pathlib import Path

import pytest

from republish import CorSplit, JSReduce, MInvariance, Mondrian, PenaltyTree, Series, TauSafety
from republish.datasets import census
from republish.parts import Here
from republish.publishers import BayFrame, Publisher, RPlusTree
from republish.schema import read_schema
from slow import quick

PUBLISHERS: list[Publisher] = [
    PenaltyTree(5),
    Mondrian(5),
    RPlusTree(5),
    MInvariance(4),
    TauSafety(4),
    CorSplit(4, 2, pad=True),
    JSReduce(5, 0.6, 0.6, crowd=8),
    BayFrame(5, j=0.6, crowd=8),
]


@pytest.mark.parametrize(
    "publisher", quick(PUBLISHERS, lambda p: p.name == "penalty-tree"), ids=lambda p: p.name
)
def test_sixty_four_parts_cost_no_precision(publisher: Publisher, tmp_path: Path) -> None:
    views = 2 if publisher.series_promises else 1
    census(24_000, 12_000, views, insert=0.1, delete=0.1).write(tmp_path)
    schema = read_schema(tmp_path / "schema.toml")
    penalties = []
    for name, engine in (("one", None), ("parts", Here(parts=64))):
        series = Series.create(tmp_path / name, schema, publisher, seed=3, one_table=True)
        done = [series.publish(view, engine=engine) for view in sorted((tmp_path / "views").iterdir())]
        penalties.append([release.measures.penalty for release in done])
    for one, in_parts in zip(*penalties, strict=True):
        assert in_parts <= 1.05 * one
