"""Who is in a release, as it is stored and as verification and attacks have it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from republish.memory.membership import Membership
from republish.memory.memory import KEY

FRAME = pl.DataFrame(
    {
        KEY[0]: [1, 2, 0, 2, 0],
        KEY[1]: [5, 7, 0, 7, 0],
        "group": [1, 2, 2, 2, 0],
        "code": [0, 1, 1, 0, 0],
        "row": [9, 8, 0, 8, 0],
    },
    schema_overrides={**dict.fromkeys(KEY, pl.UInt64), "row": pl.UInt64},
)


def test_the_forgotten_are_nobody_and_may_be_many() -> None:
    members = Membership.of_frame(FRAME)
    assert members.someone.tolist() == [True, True, False, True, False]
    assert members.repeated == 2


def test_people_are_counted_by_group_and_value_inside_the_groups() -> None:
    found = Membership.of_frame(FRAME).groups(2).sort("group", "code")
    assert found.rows() == [(1, 0, 1), (2, 0, 1), (2, 1, 2)]
    assert Membership.of_frame(FRAME).groups(1).rows() == [(1, 0, 1)]


def test_parts_are_read_as_one_membership_by_pseudonym(tmp_path: Path) -> None:
    whole = FRAME.head(2)
    for number, row in enumerate((1, 0)):
        whole[row : row + 1].write_parquet(tmp_path / f"{number}.parquet")
    members = Membership.read([tmp_path / "0.parquet", tmp_path / "1.parquet"])
    assert members.people.tolist() == [[1, 5], [2, 7]]
    assert (members.group.tolist(), members.code.tolist(), members.classes) == ([1, 2], [0, 1], None)


def test_a_table_names_people_by_pseudonym() -> None:
    table = Membership.of_frame(FRAME).table()
    assert table.columns == ["person", "group", "code", "row"]
    assert table["person"][0] == f"{1:016x}{5:016x}"
    bare = Membership(np.ones((1, 2), dtype=np.uint64), np.array([1]), np.array([0]))
    assert bare.table().columns == ["person", "group", "code"]
