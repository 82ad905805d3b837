"""Who is in a release: the one form in which verification, attacks and the gate have it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray, WordArray
from republish.memory.memory import Memory, keyed, people_of
from republish.secret import order_of, pseudonym_texts
from republish.sources.paths import read_parquet

HELD = "held"
"""The column that tells people who are held from those of a view."""


@dataclass(frozen=True)
class Membership:
    """Everyone in one release side by side: pseudonym, group (0 = suppressed) and sensitive code.

    Where they are kept also a digest of the quasi-identifiers (`row`) and the class that knowledge puts a person in.
    In two tables the group is a batch, and `cell` the group in the table of people. Whoever was forgotten is nobody:
    both words of the pseudonym are 0. `held` are people whom a batch counts as they were when it was counted.
    """

    people: WordArray
    group: IntArray
    code: IntArray
    row: WordArray | None = None
    classes: IntArray | None = None
    cell: IntArray | None = None
    held: Membership | None = None

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> Membership:
        if HELD in frame.columns:
            parts = (frame.filter(pl.col(HELD) == held).drop(HELD) for held in (False, True))
            here, held = (cls.of_frame(part) for part in parts)
            return replace(here, held=held)
        group, code, row = (frame[name].to_numpy() for name in ("group", "code", "row"))
        classes, cell = (
            frame[name].to_numpy() if name in frame.columns else None for name in ("class", "cell")
        )
        return cls(people_of(frame), group, code, row, classes, cell)

    @classmethod
    def read(cls, paths: list[Path]) -> Membership:
        """The membership of a release by pseudonym, from one file or from those of its parts."""
        frame = read_parquet(paths)
        return cls.of_frame(frame if len(paths) == 1 else frame[order_of(people_of(frame))])

    def counted(self) -> Membership:
        """Everyone whom a batch counts, those who are held last; somebody may be in it twice."""
        there = self.group > 0
        mine = self.people[there], self.group[there], self.code[there]
        if self.held is None:
            return Membership(*mine)
        theirs = self.held.people, self.held.group, self.held.code
        people, group, code = (np.concatenate(pair) for pair in zip(mine, theirs, strict=True))
        return Membership(people, group, code)

    @property
    def someone(self) -> BoolArray:
        """Who is still remembered."""
        there: BoolArray = (self.people != 0).any(axis=1)
        return there

    @property
    def repeated(self) -> int:
        """How many rows name somebody whom others name too."""
        return int(keyed(self.people[self.someone]).is_duplicated().sum())

    def table(self) -> pl.DataFrame:
        """Person (pseudonym as text), group, code and row."""
        columns = {"group": self.group, "code": self.code, "row": self.row}
        known = (pl.Series(name, column) for name, column in columns.items() if column is not None)
        return pl.DataFrame([pseudonym_texts(self.people), *known])

    def groups(self, count: int) -> pl.DataFrame:
        """Group, code and number of people of each, in groups 1 to `count`."""
        frame = pl.DataFrame({"group": self.group, "code": self.code})
        return frame.filter(pl.col("group").is_between(1, count)).group_by("group", "code").len()


def with_held(members: Memory, held: Membership) -> Memory:
    """What is kept of the people of a release, and of those who are held, who have no row and no cell in it."""
    nothing = np.zeros(len(held.people), dtype=np.uint64)
    theirs = {"group": held.group, "code": held.code}
    columns = {
        name: np.concatenate([column, theirs.get(name, nothing).astype(column.dtype)])
        for name, column in members.columns.items()
    }
    columns[HELD] = np.arange(members.size + len(nothing)) >= members.size
    return Memory(np.concatenate([members.people, held.people]), columns)
