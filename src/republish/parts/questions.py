"""What is asked of a release in parts: queries on people, and queries that speak of the sensitive value.

In two tables the people of a batch and its values lie apart. People go to the task that has the values of their batch;
those without one have each value with its share of the whole release, which everybody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.metrics.boxes import ranks_of
from republish.metrics.information import share_kept, value_grids
from republish.metrics.queries import QueryError, Workload, estimated_counts, relative_error
from republish.microdata import Microdata
from republish.parts.blocks import Block, spread, tables_of
from republish.parts.publish.groups import GROUP
from republish.release.domains import Scales
from republish.release.grouped_table import GroupedTable
from republish.release.release import Release, release_of
from republish.release.two_tables import BATCH, TwoTableRelease, people_schema
from republish.requirements import Whole
from republish.schema import Schema

MEMBERS = "members"


@dataclass(frozen=True)
class Questions:
    """The queries that `measure` puts to a release: they are drawn from its domains alone.

    The queries with values are as many random ones, then a grid for each quasi-identifier; there are none without a
    sensitive column.
    """

    people: Workload
    grids: tuple[Workload, ...]
    random: Workload | None

    @classmethod
    def of(cls, schema: Schema, scales: Scales, queries: int) -> Questions:
        """The questions to a release with these domains."""
        axes, none = scales.axes, np.empty(0, dtype=np.int32)
        nobody = Microdata(schema, None, np.empty((len(axes), 0)), axes, none, scales.values, pl.DataFrame())
        asked = [
            Workload.random(nobody, queries, min(2, len(axes)), 0.05, 0, sensitive=sensitive)
            for sensitive in (False, True)
            if schema.sensitive is not None or not sensitive
        ]
        if len(asked) == 1:
            return cls(asked[0], (), None)
        return cls(asked[0], tuple(value_grids(nobody)), asked[1])

    @cached_property
    def with_values(self) -> Workload | None:
        """All queries that speak of the value."""
        return None if self.random is None else Workload.together([self.random, *self.grids])

    def error(self, true: IntArray, estimated: FloatArray) -> QueryError | None:
        """The error of the random queries among those with values."""
        if self.random is None or not self.random.queries:
            return None
        count = self.random.queries
        return relative_error(true[:count], estimated[:count])

    def kept(self, true: IntArray, estimated: FloatArray) -> float | None:
        """The information kept, by the grids among the queries with values."""
        if self.random is None:
            return None
        ends = np.cumsum([self.random.queries, *(grid.queries for grid in self.grids)])[:-1]
        by_grid = np.split(estimated, ends)[1:]
        return share_kept(self.grids, np.split(true, ends)[1:], lambda a: by_grid[a])


def spread_members(people: pl.DataFrame, schema: Schema, tasks: IntArray) -> Iterator[Block]:
    """The rows of people with a batch on their way to the tasks of their batches."""
    yield from spread(people.drop(schema.insensitive, strict=False), tasks, MEMBERS)


def answered_by_batches(
    blocks: Sequence[Block], values: Release, shift: int, scales: Scales, asked: Workload
) -> FloatArray:
    """The counts of people in some batches; these are numbered from 1, `shift` less than in the release."""
    rows = tables_of(blocks, MEMBERS)
    if not rows.height:
        return np.zeros(asked.queries)
    rows = rows.with_columns(pl.col(GROUP).rank("dense").cast(pl.Int32))
    batch = rows[BATCH].to_numpy().astype(np.int64) - shift
    people = release_of(GroupedTable(rows), _bare(values.schema), scales)
    return estimated_counts(TwoTableRelease(values.schema, people, batch, values), asked)


def answered_by_whole(
    people: pl.DataFrame, schema: Schema, scales: Scales, whole: Whole, asked: Workload
) -> FloatArray:
    """The counts of those who have no batch: everybody has a value with its share of the whole release."""
    alone = people.filter(pl.col(BATCH).is_null()).drop(schema.insensitive, strict=False)
    if not alone.height:
        return np.zeros(asked.queries)
    release = release_of(GroupedTable(alone), _bare(schema), scales)
    rank = ranks_of(scales.values, asked.values)
    inside = (asked.value_low[:, None] <= rank) & (rank <= asked.value_high[:, None])
    found: FloatArray = estimated_counts(release, asked.of_people()) * (inside @ whole.overall)
    return found


def _bare(schema: Schema) -> Schema:
    """The quasi-identifiers alone."""
    return replace(people_schema(schema), insensitive=())
