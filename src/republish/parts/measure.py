"""Measures of stored releases as sums over shards of whole groups, and over the rows of raw views."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import LedgerError, ViewError
from republish.metrics.boxes import aligned
from republish.metrics.queries import Workload, estimated_counts, relative_error, true_counts
from republish.metrics.summary import Measures, measures_of
from republish.metrics.sums import Sums, sums_of, sums_of_values
from republish.microdata import read_view, sensitive_codes, whole_of
from republish.parts.blocks import Block, Mover, fact, spread, table_of, tables_of
from republish.parts.files import read_intact
from republish.parts.publish.groups import FALSE, GROUP
from republish.parts.publish.plan import Sizes
from republish.parts.questions import (
    MEMBERS,
    Questions,
    answered_by_batches,
    answered_by_whole,
    spread_members,
)
from republish.parts.survey import plain
from republish.release.cells import Cells
from republish.release.domains import Scales
from republish.release.grouped_table import GroupedTable
from republish.release.release import COUNTERFEITS, TABLE_PARQUET, Release, release_of
from republish.release.two_tables import (
    BATCH,
    PEOPLE_PARQUET,
    VALUES_PARQUET,
    counted_out,
    people_schema,
    values_of,
)
from republish.requirements import Whole
from republish.schema import Schema
from republish.series import Series
from republish.sources.paths import read_csv, tables_together

TABLE_FILE, FALSE_FILE, TABLE = "table file", "counterfeits file", "table"
BOTH, VALUES, PEOPLE = "both", "values", "people"
"""What a table shows: people with their sensitive values, or in two tables one of both."""
_FILES = {BOTH: TABLE_PARQUET, VALUES: VALUES_PARQUET, PEOPLE: PEOPLE_PARQUET}
Recorded = tuple[Path, dict[str, Any]]
"""A file, with the digest and size that the ledger recorded."""


@dataclass(frozen=True)
class Stored:
    """A table as it lies there, and how it is divided: its groups go to tasks `first` to `first + shards - 1`.

    `release` (0, 1, ...) is the one it belongs to; `shows` says which table it is.
    """

    release: int
    shows: str
    scales: Scales
    tables: tuple[Recorded, ...]
    counterfeits: tuple[Path, ...]
    groups: int
    suppressed: int
    first: int
    shards: int

    def schema(self, schema: Schema) -> Schema:
        """The columns of the table, of those of a series."""
        return people_schema(schema) if self.shows == PEOPLE else schema

    def rows_of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of a file of the table, each in a group."""
        return counted_out(frame) if self.shows == VALUES else frame

    def statistics(self, j: int) -> pl.DataFrame:
        """Group and number of counterfeits in one of the files that tell of them."""
        return read_csv(self.counterfeits[j]).rename({BATCH: GROUP}, strict=False)

    def tasks(self, group: IntArray) -> IntArray:
        """The task of every group.

        Raises:
            LedgerError: the release has no such group.
        """
        if len(group) and (group.min() < 1 or group.max() > self.groups):
            raise LedgerError(
                f"the groups of a release are numbered from 1 to {self.groups}, and a file of it has others; restore "
                "the series from a backup"
            )
        found: IntArray = self.first + group.astype(np.int64) * self.shards // (self.groups + 1)
        return found

    def shift(self, task: int) -> int:
        """What the group numbers of a task are beyond 1, 2, ..."""
        return max(0, -(-(task - self.first) * (self.groups + 1) // self.shards) - 1)


def stored_tables(
    series: Series, part_rows: int, parts: int | None, kinds: Sequence[str] = (BOTH, VALUES, PEOPLE)
) -> tuple[Stored, ...]:
    """The tables of these kinds of all releases of a series, each divided into so many shards, or by `part_rows`."""
    found: list[Stored] = []
    for entry in series.records:
        number, payload = entry.release or 0, entry.payload
        folder, prefix = series.ledger.folder(number), f"releases/{number:04d}/"
        files = sorted(
            (name.removeprefix(prefix), (folder / name.removeprefix(prefix), dict(measured)))
            for name, measured in payload["files"].items()
            if name.startswith(prefix)
        )
        two, suppressed = "two_tables" in payload, payload["suppressed"]
        false = tuple(file[0] for name, file in files if _is_of(name, COUNTERFEITS))
        shards = Sizes.of(payload["rows"], part_rows, parts).parts
        for shows, table in _FILES.items():
            if shows not in kinds or two == (shows == BOTH):
                continue
            found.append(
                Stored(
                    number - 1,
                    shows,
                    series.scales(number),
                    tuple(file for name, file in files if _is_of(name, table)),
                    () if shows == PEOPLE else false,
                    payload["two_tables"]["batches"] if shows == VALUES else payload["groups"],
                    0 if two else suppressed,  # people without a batch are shown all the same
                    found[-1].first + found[-1].shards if found else 0,
                    shards,
                )
            )
    return tuple(found)


def stored_releases(series: Series, part_rows: int, parts: int | None) -> tuple[Stored, ...]:
    """The table of sensitive values of every release of a series, divided as `stored_tables` does."""
    return stored_tables(series, part_rows, parts, (BOTH, VALUES))


def _is_of(name: str, table: str) -> bool:
    """Whether a file is this table, or a part of it."""
    return name == table or name.startswith(f"{table}/")


def file_names(releases: Sequence[Stored]) -> list[Block]:
    """A block for every table of the releases; it names the release and the place of the file in its list."""
    return [
        Block(i, kind, f"{i} {j}".encode())
        for i, one in enumerate(releases)
        for kind, files in ((TABLE_FILE, one.tables), (FALSE_FILE, one.counterfeits))
        for j in range(len(files))
    ]


def codes_in(frame: pl.DataFrame, schema: Schema, values: pl.Series) -> IntArray:
    """The sensitive code of every published row.

    Raises:
        LedgerError: a row has a value that the release does not know.
    """
    assert schema.sensitive is not None
    codes, domain = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
    if len(domain) > len(values):
        raise LedgerError(
            f"a file of a release has {len(domain) - len(values)} sensitive values that the release did not have when "
            "it was made; restore the series from a backup"
        )
    return codes


def split_tables(
    schema: Schema, releases: tuple[Stored, ...], blocks: Sequence[Block], members: bool = False
) -> Iterator[Block]:
    """The task that sends the rows of stored tables to shards, groups whole.

    The rows, a block for each shard; and how many have each sensitive code. With `members` people also go to the shards
    of their batches.
    """
    for block in blocks:
        i, j = map(int, block.data.split())
        one = releases[i]
        if block.kind == FALSE_FILE:
            false = one.statistics(j)
            yield from spread(false, one.tasks(false[GROUP].to_numpy()), FALSE)
            continue
        frame = one.rows_of(read_intact(*one.tables[j]))
        yield from spread(frame, one.tasks(frame[GROUP].to_numpy()), TABLE)
        if one.shows == PEOPLE and members:
            held = frame.filter(pl.col(BATCH).is_not_null())
            yield from spread_members(
                held, schema, _values_of(one, releases)[1].tasks(held[BATCH].to_numpy())
            )
        if one.schema(schema).sensitive is not None:
            values = one.scales.values
            yield fact((i, np.bincount(codes_in(frame, schema, values), minlength=len(values))))


def _values_of(one: Stored, releases: Sequence[Stored]) -> tuple[int, Stored]:
    """The table of values of the same release, and its place among all tables."""
    return next(
        (i, other)
        for i, other in enumerate(releases)
        if (other.release, other.shows) == (one.release, VALUES)
    )


def measure_shard(
    schema: Schema,
    releases: tuple[Stored, ...],
    wholes: tuple[Whole, ...],
    asked: tuple[Questions, ...] | None,
    blocks: Sequence[Block],
) -> Iterator[Block]:
    """The task that measures a shard as a release of its own, and answers what is asked of its people."""
    task = blocks[0].to
    i = bisect_right([one.first for one in releases], task) - 1
    one, shift = releases[i], releases[i].shift(task)
    shard, large = _shard(blocks, shift), (one.scales.values, wholes[i])
    valued = None if asked is None else asked[one.release].with_values
    of_people, of_values = None, None
    if one.shows == VALUES:
        values = values_of(shard, schema, one.scales)
        sums = sums_of_values(values, large)
        if valued is not None:
            of_values = answered_by_batches(blocks, values, shift, one.scales, valued)
    else:
        release = release_of(shard, one.schema(schema), one.scales)
        sums = sums_of(release, large)
        of_people = None if asked is None else estimated_counts(release, asked[one.release].people)
        if valued is not None and one.shows == BOTH:
            of_values = estimated_counts(release, valued)
        elif valued is not None:
            whole = wholes[_values_of(one, releases)[0]]
            of_values = answered_by_whole(_rows(blocks, shift), schema, one.scales, whole, valued)
    yield fact((i, sums, of_people, of_values))


def _shard(blocks: Sequence[Block], shift: int) -> GroupedTable:
    """A shard as a table of its own, its groups numbered from 1."""
    false = tables_of(blocks, FALSE)
    back = (pl.col(GROUP) - shift).cast(pl.Int32)
    return GroupedTable(_rows(blocks, shift), false.with_columns(back) if false.height else None)


def _rows(blocks: Sequence[Block], shift: int) -> pl.DataFrame:
    """The rows of a shard: a part may lack a column that others have."""
    back = (pl.col(GROUP) - shift).cast(pl.Int32)
    tables = [table_of(block).with_columns(back) for block in blocks if block.kind == TABLE]
    if not tables:
        raise LedgerError(
            "a release has counterfeits in groups without rows; restore the series from a backup"
        )
    return tables_together(tables)


def answer_queries(
    schema: Schema, release: Release, values: pl.Series, asked: Questions, frame: pl.DataFrame
) -> Iterator[Block]:
    """The task that counts what is asked for in some rows of a raw view: of people, and with values."""
    view = aligned(read_view(plain(frame), schema, values), release)
    valued = None if asked.with_values is None else true_counts(view, asked.with_values)
    yield fact((view.rows, true_counts(view, asked.people), valued))


def measure_in_parts(
    series: Series,
    mover: Mover[Any],
    part_rows: int,
    parts: int | None = None,
    truth: Sequence[Any] | None = None,
    queries: int = 1_000,
) -> dict[int, Measures]:
    """The measures of every release, by its number, from the stored tables.

    With `truth`, the raw views, one a release, also the query errors and the information kept, as `measure` finds them.
    Divergence and record linkage stay `None`: for every tuple of the view they need all groups of the release that
    could hold it.
    """
    schema, tables = series.schema, stored_tables(series, part_rows, parts)
    releases = [one for one in tables if one.shows != VALUES]
    if truth is not None and len(truth) != len(releases):
        raise ViewError(f"there must be one raw view a release: {len(releases)} releases, {len(truth)} views")
    try:
        split = mover.keep(
            mover.map(
                mover.blocks(file_names(tables)),
                [TABLE_FILE, FALSE_FILE],
                partial(split_tables, schema, tables, members=truth is not None),
            )
        )
        wholes = _wholes(schema, tables, mover.facts(split))
        asked = tuple(Questions.of(schema, one.scales, queries) for one in releases)
        tasks = sum(one.shards for one in tables)
        added = partial(measure_shard, schema, tables, wholes, None if truth is None else asked)
        found = mover.facts(mover.exchange([split], [TABLE, FALSE, MEMBERS], max(1, tasks), added))
        measures = {}
        for i, one in enumerate(releases):
            here = [part for part in found if tables[part[0]].release == i]
            if truth is None:
                measures[i + 1] = measures_of([part for _, part, *_ in here], schema, one.suppressed)
                continue
            measures[i + 1] = _compared(mover, truth[i], schema, one, asked[i], here)
    finally:
        mover.release()
    return measures


def _wholes(schema: Schema, releases: Sequence[Stored], counted: Sequence[Any]) -> tuple[Whole, ...]:
    """What every release says of its sensitive values."""
    wholes = []
    for i, one in enumerate(releases):
        values = one.scales.values
        nobody = whole_of(schema.sensitive, np.empty(0, dtype=np.int64), values)
        counts = np.sum([np.zeros(len(values)), *(codes for k, codes in counted if k == i)], axis=0)
        wholes.append(replace(nobody, overall=counts / max(1.0, float(counts.sum()))))
    return tuple(wholes)


def _added(workload: Workload | None, answers: Sequence[Any]) -> FloatArray:
    """The answers to a workload from those of some shards; whoever has none to give adds nothing."""
    nothing = np.zeros(0 if workload is None else workload.queries)
    found: FloatArray = np.sum([nothing, *(answer for answer in answers if answer is not None)], axis=0)
    return found


def _compared(
    mover: Mover[Any],
    view: Any,
    schema: Schema,
    one: Stored,
    asked: Questions,
    here: Sequence[tuple[int, Sums, Any, Any]],
) -> Measures:
    """The measures of a release beside its raw view; `here` are the sums and answers of its shards."""
    headings = mover.columns(view, schema)
    schema.require_labels(headings)
    narrow = replace(schema, identifier=None, insensitive=(), dropped=(), direct=(), normal=())
    answering = partial(answer_queries, narrow, _nobody(schema, one.scales), one.scales.values, asked)
    columns = schema.amended.found(narrow.published_columns, headings)
    found = mover.facts(mover.rows(view, schema, columns, answering))
    counts = [_added(asked.people, [part[1] for part in found])]
    answers = [_added(asked.people, [part[2] for part in here])]
    counts += [_added(asked.with_values, [part[2] for part in found])]
    answers += [_added(asked.with_values, [part[3] for part in here])]
    true, valued = (part.astype(np.int64) for part in counts)
    sums = [part for _, part, *_ in here]
    rows, people = sum(part[0] for part in found), sum(part.people for part in sums)
    if rows < people:
        raise ViewError(
            f"the view must be the one that the release was made of: it has {rows} rows, {people - rows} fewer than "
            "the release has people; give the view of this release"
        )
    return replace(
        measures_of(sums, schema, rows - people),
        query_error=relative_error(true, answers[0]) if len(true) else None,
        value_query_error=asked.error(valued, answers[1]),
        information_kept=asked.kept(valued, answers[1]),
    )


def _nobody(schema: Schema, scales: Scales) -> Release:
    """A release without rows, in the coordinates of one that has some."""
    none = np.empty(0, dtype=np.int64)
    cells = tuple(Cells(axis, np.empty(0), np.empty(0), none) for axis in scales.axes)
    return Release(schema, none, cells, pl.DataFrame(), none)
