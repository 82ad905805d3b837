"""What is remembered: found again, merged, erased, compared with a twin made of dictionaries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from republish.memory import CORE, Memory, read_memory

People = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 2**64 - 1)), st.integers(0, 9), max_size=12
)


def memory_of(entries: dict[tuple[int, int], int]) -> Memory:
    keys = sorted(entries)
    people = np.array(keys, dtype=np.uint64).reshape(-1, 2)
    columns = {name: np.array([entries[key] for key in keys], dtype=kind) for name, kind in CORE.items()}
    return Memory(people, columns)


def entries_of(memory: Memory) -> dict[tuple[int, int], int]:
    return {(int(a), int(b)): int(v) for (a, b), v in zip(memory.people, memory.columns["code"], strict=True)}


@given(People, People)
def test_find_gives_the_entry_of_each_person(
    known: dict[tuple[int, int], int], asked: dict[tuple[int, int], int]
) -> None:
    memory = memory_of(known)
    found = memory.find(memory_of(asked).people)
    assert [int(i) for i in found] == [
        sorted(known).index(key) if key in known else -1 for key in sorted(asked)
    ]


@given(People, People)
def test_newer_entries_replace_older_ones(
    old: dict[tuple[int, int], int], new: dict[tuple[int, int], int]
) -> None:
    assert entries_of(memory_of(old).merged(memory_of(new))) == {**old, **new}


@given(People, People)
def test_without_erases_just_those(
    known: dict[tuple[int, int], int], gone: dict[tuple[int, int], int]
) -> None:
    left = memory_of(known).without(memory_of(gone).people)
    assert entries_of(left) == {key: value for key, value in known.items() if key not in gone}


def test_a_base_and_its_changes_read_as_one(tmp_path: Path) -> None:
    memory_of({(1, 1): 1, (2, 2): 2}).write(tmp_path / "base.parquet")
    memory_of({(2, 2): 5, (3, 3): 3}).write(tmp_path / "change.parquet")
    read = read_memory([tmp_path / "base.parquet", tmp_path / "change.parquet"], 2)
    assert entries_of(read) == {(1, 1): 1, (2, 2): 5, (3, 3): 3}


def test_a_column_that_one_side_lacks_is_filled_with_zeros() -> None:
    old, new = memory_of({(1, 1): 1}), memory_of({(2, 2): 2})
    wider = Memory(new.people, {**new.columns, "group@1": np.array([7], dtype=np.int32)})
    assert old.merged(wider).columns["group@1"].tolist() == [0, 7]
    assert wider.merged(memory_of({(2, 2): 3})).columns["group@1"].tolist() == [7]


def test_signatures_are_written_out_and_read_back(tmp_path: Path) -> None:
    def bearing(
        entries: dict[tuple[int, int], int], places: list[int], table: tuple[tuple[int, ...], ...]
    ) -> Memory:
        plain = memory_of(entries)
        return Memory(
            plain.people, {**plain.columns, "signature": np.array(places, dtype=np.int32)}, table, 1
        )

    bearing({(1, 1): 1, (2, 2): 2, (4, 4): 1}, [1, -1, 0], ((3, 4), (5, 6, 7))).write(
        tmp_path / "base.parquet"
    )
    bearing({(2, 2): 5, (3, 3): 3}, [0, 0], ((3, 4),)).write(tmp_path / "change.parquet")
    read = read_memory([tmp_path / "base.parquet", tmp_path / "change.parquet"], 2)
    spelled = [read.signatures[place] if place >= 0 else None for place in read.columns["signature"]]
    assert spelled == [(5, 6, 7), (3, 4), (3, 4), (3, 4)]
    assert read.release == 2


def test_seen_in_keeps_those_of_one_release() -> None:
    assert memory_of({(1, 1): 1, (2, 2): 2}).seen_in(2).size == 1
