"""Whether the private membership of a release accounts for every row that was published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.memory.memory import KEY
from republish.microdata import sensitive_codes
from republish.release.release import COUNTERFEITS, TABLE_PARQUET
from republish.schema.schema import Schema
from republish.sources.paths import read_csv, read_parquet
from republish.verify.table import Check, Verification

MEMBERSHIP = "membership"


def repeated(members: pl.DataFrame) -> int:
    """How many rows of a membership name somebody whom others name too."""
    someone = members.filter(pl.any_horizontal(pl.col(key) != 0 for key in KEY))
    return int(someone.select(KEY).is_duplicated().sum())


def with_repeated(found: Verification, rows: int) -> Verification:
    """The verification of a release with so many such rows in its membership."""
    checks = [
        replace(check, holds=check.holds and not rows, rows=check.rows + rows)
        if check.promise == MEMBERSHIP
        else check
        for check in found.checks
    ]
    return replace(found, checks=tuple(checks))


def group_sizes(folder: Path, groups: int = 0) -> tuple[IntArray, IntArray]:
    """Rows and declared counterfeits of every group of a stored release, of `groups` groups at least."""
    group = read_parquet(folder / TABLE_PARQUET, ["group"])["group"].to_numpy()
    sizes = np.bincount(group, minlength=groups + 1)[1:]
    counterfeits = np.zeros(len(sizes), dtype=np.int64)
    if (folder / COUNTERFEITS).exists():
        held = read_csv(folder / COUNTERFEITS).filter(pl.col("group").is_between(1, len(sizes)))
        counterfeits[held["group"].to_numpy() - 1] = held["count"].to_numpy()
    return sizes, counterfeits


def members_fit(
    folder: Path,
    schema: Schema,
    members: pl.DataFrame,
    values: pl.Series,
    sizes: IntArray,
    counterfeits: IntArray,
) -> Check:
    """The private membership must account for every row and value of every group once, counterfeits aside."""
    stray = int((members["group"] > len(sizes)).sum())
    inside = members.filter(pl.col("group").is_between(1, len(sizes)))
    owned = np.bincount(inside["group"].to_numpy(), minlength=len(sizes) + 1)[1:]
    differs = sizes - counterfeits != owned
    if schema.sensitive is not None:
        frame = read_parquet(folder / TABLE_PARQUET, ["group", schema.sensitive.name])
        codes, _ = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
        published = pl.DataFrame({"group": frame["group"], "code": codes}).group_by("group", "code").len()
        remembered = inside.group_by("group", "code").len()
        missing = remembered.join(published, on=["group", "code"], how="left", suffix="_published").filter(
            pl.col("len_published").is_null() | (pl.col("len") > pl.col("len_published"))
        )
        differs[missing["group"].unique().to_numpy() - 1] = True
    return Check(
        MEMBERSHIP,
        not differs.any() and not stray,
        "Every published row belongs to one remembered person with that value, counterfeits aside.",
        None,
        int(differs.sum()),
        stray,
    )
