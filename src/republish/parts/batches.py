"""Whether batches of two tables have as many people as values, from counts of both that tasks made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from republish.parts.blocks import Block, fact, spread, tables_of
from republish.verify.check import Check
from republish.verify.two_tables import compared_batches

BATCHES = "batches"
_SIDES = ("people", "values")


def spread_batches(counted: pl.DataFrame, tasks: int) -> Iterator[Block]:
    """How many people, or how many values, batches have, on its way to the tasks that compare them."""
    yield from spread(counted, counted["group"].to_numpy() % tasks, BATCHES)


def fit_batches(blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that compares how many people and how many values some batches have."""
    yield fact(_compared(tables_of(blocks, BATCHES)))


def _compared(counted: pl.DataFrame) -> Check:
    people, values = (
        counted.filter(pl.col(name).is_not_null()).group_by("group").agg(pl.col(name).sum())
        if name in counted.columns
        else pl.DataFrame(schema={"group": pl.Int64, name: pl.Int64})
        for name in _SIDES
    )
    return compared_batches(people, values)


def batches_together(checks: Sequence[Check]) -> Check:
    """The check of all batches from those of some."""
    if not checks:
        return _compared(pl.DataFrame())
    return replace(
        checks[0],
        holds=all(check.holds for check in checks),
        groups=sum(check.groups for check in checks),
        rows=sum(check.rows for check in checks),
    )
