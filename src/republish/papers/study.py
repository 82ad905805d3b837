"""What a study of a paper is made of: computations, figures of their results, and what the paper claims of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray

Value = str | float | int | bool
Row = dict[str, Value]
Axis = tuple[str, str]


class Outcome(Enum):
    """What our numbers say of a claim.

    OTHER: it would fail, and what it is compared with is better here than in the paper. OPEN: it was run, and leaves
    too little to compare.
    """

    HOLDS = "holds"
    SHAPE = "holds in shape"
    FAILS = "does not hold"
    OTHER = "other baseline"
    OPEN = "cannot be judged"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """A verdict, and the numbers behind it in words."""

    verdict: Outcome
    number: str


@dataclass(frozen=True)
class Scale:
    """How much is computed: `quick` takes smaller views. `adult` is where UCI Adult lies, if anywhere."""

    quick: bool = False
    adult: Path | None = None
    seed: int = 7


@dataclass(frozen=True)
class Cell:
    """One computation, kept once it is finished: `run(scale, **settings)` returns rows of a `study`.

    `run` is a function of a module, so that another process can call it; `settings` are columns of its rows too. Where
    rows tell how long something took, it is `timed` and nothing else runs meanwhile.
    """

    study: str
    run: Callable[..., list[Row]]
    settings: Mapping[str, Value]
    timed: bool = False


@dataclass(frozen=True)
class Lines:
    """The numbers of a figure: for every line its points, x ascending (texts in the order of the rows).

    Where a figure is made of points, several may share a place; of them `at` and `together` take the mean.
    """

    points: Mapping[str, tuple[list[Value], FloatArray]]

    def y(self, name: str) -> FloatArray:
        return self.points[name][1]

    def at(self, name: str, x: Value) -> float:
        return self.places(name)[x]

    def places(self, name: str) -> dict[Value, float]:
        found: dict[Value, list[float]] = {}
        for x, y in zip(*self.points[name], strict=True):
            found.setdefault(x, []).append(float(y))
        return {x: float(np.mean(ys)) for x, ys in found.items()}

    def together(self, one: str, other: str) -> tuple[FloatArray, FloatArray]:
        """The values of two lines at the places that both have."""
        first, second = self.places(one), self.places(other)
        common = [x for x in first if x in second]
        return np.array([first[x] for x in common]), np.array([second[x] for x in common])


@dataclass(frozen=True)
class Claim:
    """What the paper says of a figure, in our words; `tolerance` says what counts as holding, as `check` decides.

    `baseline` says how the rival it is compared with differs from the paper's, where it is better here. A claim that is
    `own` is none of the paper: it is ours, of our own system or of what we expect, and is counted apart.
    """

    says: str
    tolerance: str
    check: Callable[[Lines], Finding]
    baseline: str = ""
    own: bool = False


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper, made of the rows of one study.

    `line` is the column that tells lines apart; `labels` are of both axes, with units.

    Attributes:
        where: which rows: columns with the value, or the values, they must have.
        bars: bars instead of lines.
        points: points that no line joins; all are kept where several share a place.
        front: a map of points instead, each line one point, and the front of those that none betters in both.
        log: which axes are logarithmic: "", "x", "y", "xy"; "symlog": that of y, and linear below 1.
        needs: what must be given for it to be run at all, in words.
    """

    name: str
    title: str
    study: str
    x: str
    y: str
    line: str
    labels: tuple[str, str]
    claims: tuple[Claim, ...]
    where: Mapping[str, Value | tuple[Value, ...]] = field(default_factory=dict)
    bars: bool = False
    points: bool = False
    front: bool = False
    log: str = ""
    needs: str = ""

    @property
    def file(self) -> str:
        """What its files are called."""
        return "".join(c if c.isalnum() else "-" for c in self.name.lower()).replace("--", "-").strip("-")

    def table(self, studies: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """The rows it shows: line, x and y; the mean where several rows share a place, unless it shows points."""
        rows = studies.get(self.study)
        if rows is None or self.y not in rows.columns:
            return pl.DataFrame(schema={self.line: pl.String, self.x: pl.Float64, self.y: pl.Float64})
        for column, wanted in self.where.items():
            rows = rows.filter(pl.col(column).is_in(wanted if isinstance(wanted, tuple) else (wanted,)))
        named = rows.with_columns(pl.col(self.line).cast(pl.String)).drop_nulls(self.y)
        table = (
            named.select(self.line, self.x, self.y)
            if self.points
            else named.group_by(self.line, self.x, maintain_order=True).agg(pl.col(self.y).mean())
        )
        order = table.with_columns(pl.col(self.line).rle_id().alias("")).with_columns(
            pl.col("").min().over(self.line)
        )
        by = [""] if table[self.x].dtype == pl.String else ["", self.x]
        return order.sort(by, maintain_order=True).drop("")

    def lines(self, table: pl.DataFrame) -> Lines:
        """The table as lines, in the order in which they were computed."""
        parts = table.partition_by(self.line, maintain_order=True, as_dict=True)
        return Lines(
            {
                str(key[0]): (part[self.x].to_list(), part[self.y].cast(pl.Float64).to_numpy())
                for key, part in parts.items()
            }
        )


def figure(
    name: str, title: str, study: str, x: Axis, y: Axis, *claims: Claim, line: str = "line", **how: Any
) -> Figure:
    """A figure with these claims; an axis is a column and its label."""
    return Figure(name, title, study, x[0], y[0], line, (x[1], y[1]), claims, **how)


@dataclass(frozen=True)
class Paper:
    """A paper's experiments; `data` says what ours are and how they differ from the paper's.

    `counterpart` names the same experiments on other data, if there are any.
    """

    name: str
    title: str
    citation: str
    data: str
    cells: Callable[[Scale], list[Cell]]
    figures: tuple[Figure, ...]
    counterpart: str = ""
