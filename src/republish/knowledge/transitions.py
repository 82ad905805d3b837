"""Counts of what followed what, kept between releases: the raw material of knowledge from views.

One line for each class, context and next value that occurred, with how often. A person's first
appearance is a line whose context has no value at all; -1 stands for "no value".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError
from republish.knowledge.classes import Classes
from republish.knowledge.contexts import normalised, split_oldest
from republish.knowledge.knowledge import Knowledge, require_size
from republish.knowledge.writer import last_columns
from republish.schema.column_names import listed

NONE = -1


@dataclass(frozen=True, eq=False)
class Transitions:
    """How often each value followed each context of `order` values in each class.

    `table` has the columns class, last2, last1 (for order 2), next and count, sorted, codes of the series.
    """

    order: int
    table: pl.DataFrame

    def __post_init__(self) -> None:
        if self.order < 1:
            raise PolicyError(f"transitions have contexts of 1 value or more, not {self.order}")
        if self.table.schema != _schema(self.order):
            raise PolicyError(
                f"counts of order {self.order} have the columns {', '.join(_schema(self.order))}; found "
                f"{listed(self.table.columns)}"
            )

    @classmethod
    def empty(cls, order: int) -> Transitions:
        return cls(order, pl.DataFrame(schema=_schema(order)))

    def add(self, classes: IntArray, history: Sequence[IntArray], following: IntArray) -> Transitions:
        """The counts with one more view: `following` are the codes in it, `history[0]` the last ones before it.

        `history[1]` are those before the last, and so on, -1 where a person has none; what goes beyond the
        order is not looked at.
        """
        if len(history) < self.order:
            raise PolicyError(
                f"counts of order {self.order} need {self.order} last values; found {len(history)}"
            )
        columns = [classes, *reversed(history[: self.order]), following, np.ones(len(following))]
        schema = _schema(self.order)
        rows = pl.DataFrame(
            [pl.Series(name, column).cast(schema[name]) for name, column in zip(schema, columns, strict=True)]
        )
        return self.plus(rows)

    def plus(self, *counted: pl.DataFrame) -> Transitions:
        """These counts and others, tables of the same columns in any order; an empty one may lack them."""
        schema = _schema(self.order)
        keys = list(schema)[:-1]
        others = [table.select(list(schema)).cast(schema) for table in counted if table.height]
        merged = pl.concat([self.table, *others]).group_by(keys).agg(pl.col("count").sum()).sort(keys)
        return Transitions(self.order, merged)

    def to_knowledge(
        self, values: pl.Series, classes: Classes, smoothing: float = 0.0, terminal: Sequence[int] = ()
    ) -> Knowledge:
        """The shares in these counts as knowledge; `values` are what the codes stand for.

        The prior of a class is counted from first appearances. A class without any has the prior of all
        classes together, and if nobody appeared it is uniform. The rows of `sequential` are shares of the
        contexts that have a successor (JS-reduce, Alg. 5, which counts the others too); unseen contexts are zero.

        `smoothing` is worth so many observations of what a less exact context says: for a class's prior, the
        prior of all; for a context, the one without its oldest value, and for a single last value, that value
        in all classes. Then only contexts whose last value never had a successor stay zero. People of no
        known class are not counted.
        """
        m, count = len(values), classes.count
        require_size(classes, m, self.order)
        first, later = self._counts(m, count)
        pooled = first.sum(axis=0)
        overall = pooled / pooled.sum() if pooled.sum() else np.full(m, 1 / m)
        total = first.sum(axis=1, keepdims=True) + smoothing
        prior = np.where(total > 0, (first + smoothing * overall) / np.maximum(total, 1e-300), overall)
        sequential = smoothed(later, smoothing) if smoothing else normalised(later)
        return Knowledge(values, classes, prior, sequential, self.order, tuple(terminal))

    def _counts(self, m: int, count: int) -> tuple[FloatArray, FloatArray]:
        """Dense counts of first values [class, value] and of later ones [class, older, last, next]."""
        table = self.table.filter(pl.col("class") < count)
        is_first = table["last1"] == NONE
        first = _dense(table.filter(is_first), ["class", "next"], (count, m))
        names = ["class", *last_columns(self.order), "next"]
        later = _dense(table.filter(~is_first), names, (count, *[m + 1] * (self.order - 1), m, m))
        return first, later.reshape(count, -1, m, m)


def smoothed(counts: FloatArray, weight: float) -> FloatArray:
    """Shares of counts [class, older, last, next], each context drawn to the one without its oldest value."""
    if counts.shape[1] > 1:
        split = split_oldest(counts)
        shorter = smoothed(split.sum(axis=1), weight)[:, np.newaxis]
    else:
        split = counts
        shorter = normalised(counts.sum(axis=0, keepdims=True))
    known = shorter.any(axis=-1, keepdims=True)
    shares = np.where(known, split + weight * shorter, 0.0)
    return normalised(shares).reshape(counts.shape)


def _schema(order: int) -> pl.Schema:
    codes: dict[str, Any] = dict.fromkeys(("class", *last_columns(order), "next"), pl.Int32())
    return pl.Schema({**codes, "count": pl.Int64()})


def _dense(table: pl.DataFrame, names: list[str], shape: tuple[int, ...]) -> FloatArray:
    """The counts as an array; "no value" is the last position of its axis."""
    codes = [
        np.where((code := table[name].to_numpy()) == NONE, size - 1, code)
        for name, size in zip(names, shape, strict=True)
    ]
    if any(len(code) and code.max() >= size for code, size in zip(codes, shape, strict=True)):
        raise PolicyError("the counts hold codes beyond the values given; give all values of the series")
    cell = np.ravel_multi_index(tuple(codes), shape)
    dense = np.bincount(cell, weights=table["count"].to_numpy(), minlength=int(np.prod(shape)))
    return dense.astype(np.float64).reshape(shape)
