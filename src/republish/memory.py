"""What is remembered of each person between releases, under a pseudonym.

One entry a person ever published: the release of the first and the last sight, a digest of the last
quasi-identifiers, the last sensitive code and the last group. Publishers add columns of their own. On
disk a memory is a base file and the entries changed since; a fresh base is written now and then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from numba import njit

from republish.microdata import Microdata
from republish.secret import order_of
from republish.types import BoolArray, IntArray, WordArray

KEY = ("person_high", "person_low")
CORE: dict[str, npt.DTypeLike] = {
    "first": np.int32,
    "last": np.int32,
    "row": np.uint64,
    "code": np.int32,
    "group": np.int32,
}
NEVER = 0


@dataclass(frozen=True)
class Memory:
    """One entry a person, sorted by pseudonym; `columns` run parallel to `people`."""

    people: WordArray
    columns: Mapping[str, npt.NDArray[Any]]

    @classmethod
    def empty(cls) -> Memory:
        """The memory of a series that has published nothing."""
        return cls(
            np.empty((0, 2), dtype=np.uint64), {name: np.empty(0, dtype=kind) for name, kind in CORE.items()}
        )

    @property
    def size(self) -> int:
        """Number of people remembered."""
        return len(self.people)

    def find(self, people: WordArray) -> IntArray:
        """The entry of each person, -1 for a stranger."""
        found: IntArray = _find(self.people, people)
        return found

    def merged(self, newer: Memory) -> Memory:
        """All entries, those of `newer` in place of older ones; a column one side lacks is filled with zeros."""
        if not self.size:
            return newer
        stay = newer.find(self.people) < 0
        people = np.concatenate([self.people[stay], newer.people])
        order = order_of(people)
        columns = {}
        for name in {**self.columns, **newer.columns}:
            kind = (newer.columns.get(name, self.columns.get(name))).dtype  # type: ignore[union-attr]
            old = self.columns.get(name, np.zeros(self.size, dtype=kind))[stay]
            new = newer.columns.get(name, np.zeros(newer.size, dtype=kind))
            columns[name] = np.concatenate([old, new])[order]
        return Memory(people[order], columns)

    def without(self, people: WordArray) -> Memory:
        """The memory with these people erased."""
        gone = np.zeros(self.size, dtype=np.bool_)
        entries = self.find(people)
        gone[entries[entries >= 0]] = True
        return Memory(self.people[~gone], {name: column[~gone] for name, column in self.columns.items()})

    def seen_in(self, release: int) -> Memory:
        """The entries of everyone whose last sight is this release."""
        now = self.columns["last"] == release
        return Memory(self.people[now], {name: column[now] for name, column in self.columns.items()})

    def write(self, path: Path) -> None:
        """Write the memory as one Parquet file."""
        keys = {name: self.people[:, i] for i, name in enumerate(KEY)}
        pl.DataFrame({**keys, **self.columns}).write_parquet(
            path, compression="lz4"
        )  # pseudonyms do not shrink


def read_memory(paths: list[Path]) -> Memory:
    """The memory of a base file and the files of changes after it, oldest first."""
    memory = Memory.empty()
    for path in paths:
        frame = pl.read_parquet(path)
        people = np.column_stack([frame[name].to_numpy() for name in KEY])
        part = Memory(people, {name: frame[name].to_numpy() for name in frame.columns if name not in KEY})
        memory = memory.merged(part)
    return memory


@dataclass(frozen=True)
class Arrivals:
    """How a view differs from what is remembered, in numbers of people."""

    new: int
    returned: int
    changed_value: int
    changed_quasi_identifiers: int
    left: int


def sight(view: Microdata, digests: WordArray, group: IntArray, release: int, memory: Memory) -> Memory:
    """The entries of everyone in this view, as they stand after its release (group 0 = suppressed)."""
    assert view.people is not None
    entries = memory.find(view.people)
    known = entries >= 0
    first = np.full(view.rows, release, dtype=np.int32)
    first[known] = memory.columns["first"][entries[known]]
    return Memory(
        view.people,
        {
            "first": first,
            "last": np.full(view.rows, release, dtype=np.int32),
            "row": digests,
            "code": view.codes.astype(np.int32),
            "group": group.astype(np.int32),
        },
    )


def compare(seen: Memory, release: int, memory: Memory) -> Arrivals:
    """Who is new, came back, changed or left between the last release and this one."""
    entries = memory.find(seen.people)
    known: BoolArray = entries >= 0
    before = entries[known]
    present_before = int(np.count_nonzero(memory.columns["last"] == release - 1)) if release > 1 else 0
    stayed = int(np.count_nonzero(memory.columns["last"][before] == release - 1))
    return Arrivals(
        new=int(np.count_nonzero(~known)),
        returned=int(known.sum()) - stayed,
        changed_value=int(np.count_nonzero(memory.columns["code"][before] != seen.columns["code"][known])),
        changed_quasi_identifiers=int(
            np.count_nonzero(memory.columns["row"][before] != seen.columns["row"][known])
        ),
        left=present_before - stayed,
    )


@njit(cache=True)
def _find(sorted_people, people):  # type: ignore[no-untyped-def]
    """Binary search of pairs of words among sorted pairs."""
    found = np.full(len(people), -1, dtype=np.int64)
    for i in range(len(people)):
        high, low = people[i, 0], people[i, 1]
        left, right = 0, len(sorted_people)
        while left < right:
            middle = (left + right) // 2
            a, b = sorted_people[middle, 0], sorted_people[middle, 1]
            if a < high or (a == high and b < low):
                left = middle + 1
            else:
                right = middle
        if left < len(sorted_people) and sorted_people[left, 0] == high and sorted_people[left, 1] == low:
            found[i] = left
    return found
