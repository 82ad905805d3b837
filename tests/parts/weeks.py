"""Some weeks of made-up people: comings, goings, updates, returns, and values nobody had before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from publishers.test_contract import SCHEMA, people
from republish.publishers import (
    BayFrame,
    CorSplit,
    JSReduce,
    MInvariance,
    Mondrian,
    PenaltyTree,
    Publisher,
    RPlusTree,
    TauSafety,
)
from republish.requirements import LDiversity, TCloseness

__all__ = ["PUBLISHERS", "SCHEMA", "weeks", "write"]

PUBLISHERS: dict[str, Publisher] = {
    "mondrian": Mondrian(4, (LDiversity(2), TCloseness(0.8))),
    "penalty-tree": PenaltyTree(4),
    "rplus-tree": RPlusTree(4),
    "m-invariance": MInvariance(2),
    "tau-safety": TauSafety(2),
    "cor-split": CorSplit(2, 2, pad=True),
    "js-reduce": JSReduce(4, 0.7, 0.9, crowd=4),
    "bayframe": BayFrame(4, j=0.9, crowd=4),
}


def weeks(rows: int, count: int = 3, seed: int = 0) -> list[pl.DataFrame]:
    """So many views; whoever left in the second is back in the third, and one in ten moves or changes each time."""
    rng = np.random.default_rng(seed)
    everyone = people(2 * rows, seed)
    views = [everyone[:rows]]
    for week in range(1, count):
        last = views[-1]
        stay = last.filter(pl.Series(rng.random(last.height) > 0.15))
        back = views[-2].join(last, on="id", how="anti") if week > 1 else last.clear()
        known = pl.concat([view["id"] for view in views]).unique()
        fresh = everyone.filter(~pl.col("id").is_in(known.implode()))[: rows // 7]
        view = pl.concat([stay, back, fresh]).unique("id", keep="first", maintain_order=True)
        changed, moved = pl.Series(rng.random(view.height) < 0.1), pl.Series(rng.random(view.height) < 0.1)
        views.append(
            view.with_columns(
                dx=pl.when(changed).then(pl.lit(f"new{week}" if week % 2 else "flu")).otherwise("dx"),
                age=pl.when(moved).then(pl.lit(20 + week)).otherwise("age"),
                town=pl.when(moved).then(pl.lit(f"town{week}")).otherwise("town"),
            )
        )
    return views


def write(folder: Path, views: list[pl.DataFrame]) -> list[Path]:
    """The views as Parquet files, which every engine reads."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{i:03d}.parquet" for i in range(1, len(views) + 1)]
    for view, path in zip(views, paths, strict=True):
        view.write_parquet(path)
    return paths
