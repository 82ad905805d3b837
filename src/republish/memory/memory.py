"""What is remembered of each person between releases, under a pseudonym.

One entry a person ever published: the release of the first and the last sight, a digest of the last
quasi-identifiers, the last sensitive code and the last group. Publishers add columns of their own. On
disk a memory is a base file and the entries changed since; a fresh base is written now and then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from republish.arrays import BoolArray, IntArray, WordArray
from republish.kernels import kernel
from republish.microdata import Microdata
from republish.secret import order_of
from republish.sources.paths import read_parquet, write_parquet, write_parquet_in_blocks

KEY = ("person_high", "person_low")
CORE: dict[str, npt.DTypeLike] = {
    "first": np.int32,
    "last": np.int32,
    "row": np.uint64,
    "code": np.int32,
    "group": np.int32,
}
NEVER = 0
_AT_A_TIME = 1 << 18  # people


@dataclass(frozen=True)
class Memory:
    """One entry a person, sorted by pseudonym; `columns` run parallel to `people`.

    `release` is the number of releases made so far. A column "signature" points into `signatures`, sets of
    sensitive codes; -1 where a person has none. A column may hold a row of numbers a person; rows of different
    lengths are filled with zeros. `counts` is a table that belongs to nobody: what was counted over the whole
    series, or the regions of the last index.
    """

    people: WordArray
    columns: Mapping[str, npt.NDArray[Any]]
    signatures: tuple[tuple[int, ...], ...] = ()
    release: int = 0
    counts: pl.DataFrame | None = None

    @classmethod
    def empty(cls, release: int = 0) -> Memory:
        columns = {name: np.empty(0, dtype=kind) for name, kind in CORE.items()}
        return cls(np.empty((0, 2), dtype=np.uint64), columns, release=release)

    @property
    def size(self) -> int:
        return len(self.people)

    def find(self, people: WordArray) -> IntArray:
        """The entry of each person, -1 for a stranger."""
        found: IntArray = _find(self.people, people)
        return found

    def signature_column(self) -> IntArray:
        """Where each person's signature stands in `signatures`, -1 for none."""
        return self.columns.get("signature", np.full(self.size, -1, dtype=np.int32))

    def merged(self, newer: Memory) -> Memory:
        """All entries, the columns of `newer` in place of older ones; what a side lacks is filled with zeros.

        A column that only the older memory has keeps its values, also for people of the newer one.
        """
        if not self.size and self.columns.keys() <= newer.columns.keys():
            counts = self.counts if newer.counts is None else newer.counts
            release = max(self.release, newer.release)
            return replace(newer, signatures=self.signatures, release=release, counts=counts)
        place = newer.find(self.people)
        stay = place < 0
        people = np.concatenate([self.people[stay], newer.people])
        order: IntArray | slice = order_of(people) if stay.any() else slice(None)  # entries are in order
        columns = {}
        for name, old in self.columns.items():
            new = newer.columns.get(name)
            if new is None:
                new = _blank(name, newer.size, old)
                new[place[~stay]] = old[~stay]
            columns[name] = _stacked(old[stay], new)[order]
        for name in set(newer.columns) - set(self.columns):
            new = newer.columns[name]
            columns[name] = _stacked(_blank(name, int(stay.sum()), new), new)[order]
        counts = self.counts if newer.counts is None else newer.counts
        return Memory(people[order], columns, self.signatures, max(self.release, newer.release), counts)

    def only(self, entries: BoolArray) -> Memory:
        if entries.all():
            return self
        columns = {name: column[entries] for name, column in self.columns.items()}
        return replace(self, people=self.people[entries], columns=columns)

    def without(self, people: WordArray) -> Memory:
        stay = np.ones(self.size, dtype=np.bool_)
        entries = self.find(people)
        stay[entries[entries >= 0]] = False
        return self.only(stay)

    def seen_in(self, release: int) -> Memory:
        """The entries of everyone whose last sight is this release."""
        return self.only(self.columns["last"] == release)

    def frame(self) -> pl.DataFrame:
        """The memory as a table, which `memory_of` reads; signatures are spelled out."""
        keys = {name: self.people[:, i] for i, name in enumerate(KEY)}
        frame = pl.DataFrame({**keys, **self.columns}).with_columns(pl.selectors.array().arr.to_list())
        if "signature" in self.columns:
            spelled = pl.Series([list(signature) for signature in self.signatures], dtype=pl.List(pl.Int32))
            place = pl.Series(self.columns["signature"])
            place = pl.select(pl.when(place >= 0).then(place)).to_series()
            frame = frame.with_columns(spelled.gather(place).alias("signature"))
        return frame

    def write(self, path: Path) -> None:
        """Write the memory as one file, some people at a time; pseudonyms do not shrink."""
        if self.size <= _AT_A_TIME:
            write_parquet(self.frame(), path, compression="lz4")
        else:
            schema = self._of(slice(1)).frame().schema
            write_parquet_in_blocks(self._blocks(), schema, path, compression="lz4")

    def _blocks(self) -> Iterator[pl.DataFrame]:
        for start in range(0, self.size, _AT_A_TIME):
            yield self._of(slice(start, start + _AT_A_TIME)).frame()

    def _of(self, entries: slice) -> Memory:
        columns = {name: column[entries] for name, column in self.columns.items()}
        return replace(self, people=self.people[entries], columns=columns)


def _blank(name: str, people: int, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column for people of whom it says nothing."""
    return np.full((people, *like.shape[1:]), -1 if name == "signature" else 0, dtype=like.dtype)


def _stacked(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One column above the other, narrower rows filled with zeros."""
    if above.ndim == 1:
        return np.concatenate([above, below])
    column = np.zeros((len(above) + len(below), max(above.shape[1], below.shape[1])), dtype=below.dtype)
    column[: len(above), : above.shape[1]] = above
    column[len(above) :, : below.shape[1]] = below
    return column


def read_memory(paths: list[Path], release: int, counts: Path | None = None) -> Memory:
    """The memory of a base file and the files of changes after it, oldest first; and of the file of its counts."""
    frame = read_parquet(paths) if paths else pl.DataFrame()
    counted = None if counts is None else read_parquet(counts)
    if len(paths) > 1 and frame.height:
        frame = frame.unique(subset=list(KEY), keep="last", maintain_order=True)
    return memory_of(frame, release, counted)


def keyed(people: WordArray) -> pl.DataFrame:
    """Pseudonyms as the columns of a table."""
    words = {key: np.ascontiguousarray(people[:, i]) for i, key in enumerate(KEY)}
    return pl.DataFrame(words, schema=dict.fromkeys(KEY, pl.UInt64))


def people_of(frame: pl.DataFrame) -> WordArray:
    """The pseudonyms in a table of people."""
    return np.column_stack([frame[key].to_numpy() for key in KEY])


def memory_of(frame: pl.DataFrame, release: int, counts: pl.DataFrame | None = None) -> Memory:
    """The memory that a table of `Memory.frame` holds, one line a person."""
    if not frame.height:
        return replace(Memory.empty(release), counts=counts)
    people = people_of(frame)
    order = order_of(people)
    signatures: tuple[tuple[int, ...], ...] = ()
    if "signature" in frame.columns:
        distinct = frame["signature"].drop_nulls().unique(maintain_order=True)
        table = distinct.to_frame("signature").with_row_index("place")
        places = frame.select("signature").join(table, on="signature", how="left", maintain_order="left")[
            "place"
        ]
        frame = frame.with_columns(places.cast(pl.Int32).fill_null(-1).alias("signature"))
        signatures = tuple(tuple(codes) for codes in distinct.to_list())
    columns = {name: _column(frame[name])[order] for name in frame.columns if name not in KEY}
    return Memory(people[order], columns, signatures, release, counts)


def _column(stored: pl.Series) -> npt.NDArray[Any]:
    """A stored column as an array; rows of numbers, of which some may be shorter, as a table."""
    if not isinstance(stored.dtype, pl.List):
        return stored.fill_null(0).to_numpy()
    lengths = stored.list.len().fill_null(0).to_numpy().astype(np.int64)
    flat = stored.filter(lengths > 0).explode().to_numpy()  # an empty row would become a null
    table = np.zeros((len(stored), int(lengths.max(initial=0))), dtype=flat.dtype)
    table[np.arange(table.shape[1]) < lengths[:, None]] = flat
    return table


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
        release=release,
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


@kernel
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
