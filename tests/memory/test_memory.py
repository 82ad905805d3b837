"""What is remembered: found again, merged, erased, compared with a twin made of dictionaries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish.memory.memory import CORE, Memory, read_memory

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


Wide = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 9)),
    st.lists(st.floats(0.5, 1, width=32), min_size=0, max_size=4),
    max_size=8,
)


def wide_of(entries: dict[tuple[int, int], list[float]], counts: pl.DataFrame | None = None) -> Memory:
    """A memory with a row of numbers a person, as wide as the widest."""
    plain = memory_of(dict.fromkeys(entries, 1))
    table = np.zeros((len(entries), max(map(len, entries.values()), default=0)), np.float32)
    for row, key in enumerate(sorted(entries)):
        table[row, : len(entries[key])] = entries[key]
    return Memory(plain.people, {**plain.columns, "belief": table}, counts=counts)


def rows_of(memory: Memory) -> dict[tuple[int, int], list[float]]:
    """The row of every person without the zeros that fill it."""
    found = {}
    for (a, b), row in zip(memory.people, memory.columns["belief"], strict=True):
        there = np.flatnonzero(row)
        found[int(a), int(b)] = row[: there[-1] + 1].tolist() if len(there) else []
    return found


@given(Wide, Wide)
def test_rows_of_numbers_are_merged_whatever_their_lengths(
    old: dict[tuple[int, int], list[float]], new: dict[tuple[int, int], list[float]]
) -> None:
    merged = wide_of(old).merged(wide_of(new))
    assert rows_of(merged) == {**old, **new}
    assert merged.columns["belief"].dtype == np.float32


@given(old=Wide, new=Wide)
def test_rows_of_numbers_are_written_and_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    old: dict[tuple[int, int], list[float]],
    new: dict[tuple[int, int], list[float]],
) -> None:
    folder = tmp_path_factory.mktemp("memory")
    for name, entries in (("base", old), ("change", new)):
        wide_of(entries).write(folder / name)
    read = read_memory([folder / "base", folder / "change"], 2)
    both = {**old, **new}
    assert read.size == len(both)
    if both:
        assert rows_of(read) == both
        assert read.columns["belief"].dtype == np.float32


def test_a_row_of_numbers_that_one_side_lacks_is_zeros() -> None:
    old, new = wide_of({(1, 1): [0.5, 0.25]}), memory_of({(2, 2): 2})
    assert rows_of(old.merged(new)) == {(1, 1): [0.5, 0.25], (2, 2): []}
    assert rows_of(new.merged(old)) == {(1, 1): [0.5, 0.25], (2, 2): []}
    assert rows_of(old.merged(memory_of({(1, 1): 7}))) == {(1, 1): [0.5, 0.25]}


def test_rows_without_any_number_are_kept_as_such(tmp_path: Path) -> None:
    wide_of({(1, 1): [], (2, 2): []}).write(tmp_path / "base")
    assert read_memory([tmp_path / "base"], 1).columns["belief"].shape == (2, 0)


def test_counts_belong_to_nobody(tmp_path: Path) -> None:
    counts, later = pl.DataFrame({"count": [3]}), pl.DataFrame({"count": [4]})
    known = wide_of({(1, 1): [0.5]}, counts)
    assert known.without(known.people).counts is counts
    assert known.merged(memory_of({(2, 2): 1})).counts is counts
    assert known.merged(wide_of({(2, 2): [0.5]}, later)).counts is later
    known.write(tmp_path / "base")
    counts.write_parquet(tmp_path / "counts")
    assert read_memory([tmp_path / "base"], 1, tmp_path / "counts").counts.equals(counts)  # type: ignore[union-attr]
    known.without(known.people).write(tmp_path / "nobody")
    assert read_memory([tmp_path / "nobody"], 1, tmp_path / "counts").counts.equals(counts)  # type: ignore[union-attr]
    assert read_memory([tmp_path / "base"], 1).counts is None
