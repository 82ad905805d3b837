"""A published table as it lies on disk, each column read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.errors import ViewError
from republish.sources.paths import parquet_rows, parquet_schema, read_parquet

GROUP = "group"
_AT_A_TIME = 2  # columns in memory, and threads
_BLOCK = 1 << 18  # rows that are compared at a time


class Numbering(NamedTuple):
    """The group of every row as 0, 1, ..., the number of groups, and the last row of each."""

    group: IntArray
    groups: int
    a_row: IntArray


class GroupedTable:
    """A table whose columns are read when they are asked for, and once.

    A column that is asked for by row is held; of a cell that all rows of a group share one a group is held, so that a
    large release is never whole in memory. `counterfeits` are the statistics beside it, group by group, if any.
    """

    def __init__(self, source: Path | pl.DataFrame, counterfeits: pl.DataFrame | None = None) -> None:
        self._source, self.counterfeits = source, counterfeits
        self.schema: Mapping[str, pl.DataType]
        if isinstance(source, pl.DataFrame):
            self.schema, self.height = source.schema, source.height
        else:
            self.schema, self.height = parquet_schema(source), parquet_rows(source)
        self.columns = list(self.schema)
        self._by_row: dict[str, pl.Series] = {}
        self._by_group: dict[str, pl.Series] = {}

    def __getitem__(self, name: str, /) -> pl.Series:
        """One column, row by row."""
        if name not in self._by_row:
            self._by_row[name] = self._read(name)
        return self._by_row[name]

    @cached_property
    def numbering(self) -> Numbering:
        """The groups that the column `group` names.

        Raises:
            ViewError: a row has none.
        """
        if self[GROUP].null_count():
            raise ViewError(
                f"every row needs a group; {self[GROUP].null_count()} rows of the table have none"
            )
        group, groups = renumbered(self[GROUP].to_numpy())
        a_row = np.empty(groups, dtype=np.int64)
        a_row[group] = np.arange(self.height)
        return Numbering(group, groups, a_row)

    def of_groups(self, name: str) -> pl.Series:
        """What a row of every group shows in a column."""
        if name not in self._by_group:
            a_row = self.numbering.a_row
            column = self._by_row[name] if name in self._by_row else self._read(name)
            self._by_group[name] = column.gather(a_row)
        return self._by_group[name]

    def apart(self, columns: Iterable[str]) -> BoolArray:
        """Which rows show something else in these columns than a row of their group."""
        differs = np.zeros(self.height, dtype=np.bool_)
        numbering = self.numbering

        def differing(name: str) -> BoolArray:
            column = self._read(name)
            shown = self._by_group[name] = column.gather(numbering.a_row)
            found = np.empty(self.height, dtype=np.bool_)
            for start in range(0, self.height, _BLOCK):
                rows = slice(start, start + _BLOCK)
                found[rows] = column[rows].ne_missing(shown.gather(numbering.group[rows])).to_numpy()
            return found

        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            for found in pool.map(differing, columns):
                differs |= found
        return differs

    def _read(self, name: str) -> pl.Series:
        source = self._source
        return source[name] if isinstance(source, pl.DataFrame) else read_parquet(source, [name])[name]


def renumbered(group: IntArray) -> tuple[IntArray, int]:
    """Groups of any numbers as 0, 1, ..., in their order, and how many there are."""
    if (
        np.issubdtype(group.dtype, np.integer)
        and len(group)
        and group.min() >= 0
        and group.max() < 4 * len(group)
    ):
        used = np.bincount(group) > 0
        return (np.cumsum(used) - 1)[group], int(used.sum())
    names, place = np.unique(group, return_inverse=True)
    return place.astype(np.int64), len(names)
