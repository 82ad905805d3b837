"""Whether the private membership of a release accounts for every row that was published."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.memory.membership import Membership
from republish.microdata import sensitive_codes
from republish.release.two_tables import stored_counterfeits, stored_values
from republish.schema import Schema
from republish.verify.check import MEMBERSHIP, Check


def group_sizes(folder: Path, groups: int = 0) -> tuple[IntArray, IntArray]:
    """Rows and declared counterfeits of every group of a stored release, of `groups` groups at least."""
    group = stored_values(folder, ["group"])["group"].to_numpy()
    sizes = np.bincount(group, minlength=groups + 1)[1:]
    counterfeits = np.zeros(len(sizes), dtype=np.int64)
    held = stored_counterfeits(folder)
    if held is not None:
        held = held.filter(pl.col("group").is_between(1, len(sizes)))
        counterfeits[held["group"].to_numpy() - 1] = held["count"].to_numpy()
    return sizes, counterfeits


def members_fit(
    folder: Path,
    schema: Schema,
    members: Membership,
    values: pl.Series,
    sizes: IntArray,
    counterfeits: IntArray,
) -> Check:
    """The private membership must account for every row and value of every group once, counterfeits aside."""
    stray = int(np.count_nonzero(members.group > len(sizes)))
    remembered = members.groups(len(sizes))
    owned = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(owned, remembered["group"].to_numpy() - 1, remembered["len"].to_numpy())
    differs = sizes - counterfeits != owned
    if schema.sensitive is not None:
        frame = stored_values(folder, ["group", schema.sensitive.name])
        codes, _ = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
        published = pl.DataFrame({"group": frame["group"], "code": codes}).group_by("group", "code").len()
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
