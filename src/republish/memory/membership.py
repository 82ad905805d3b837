"""Who is in a release: the one form in which verification, attacks and the gate have it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from republish.arrays import BoolArray, IntArray, WordArray
from republish.memory.memory import keyed, people_of
from republish.secret import order_of, pseudonym_texts
from republish.sources.paths import read_parquet


@dataclass(frozen=True)
class Membership:
    """Everyone in one release side by side: pseudonym, group (0 = suppressed) and sensitive code.

    Where they are kept also a digest of the quasi-identifiers (`row`) and the class that knowledge puts a person in.
    In two tables the group is a batch, and `cell` the group in the table of people. Whoever was forgotten is nobody:
    both words of the pseudonym are 0.
    """

    people: WordArray
    group: IntArray
    code: IntArray
    row: WordArray | None = None
    classes: IntArray | None = None
    cell: IntArray | None = None

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> Membership:
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
