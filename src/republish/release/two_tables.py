"""A release in two tables: people with their quasi-identifiers, and sensitive values by batch.

The form of angelization (Tao, Chen, Xiao, Zhou and Zhang, TKDE 2009), which the tau-safety thesis proposes for series
(5.3) and JS-reduce names as bucketization (4.1). `people.*` has one line a person: cells of quasi-identifiers shared by
at least k people, insensitive columns, and the number of a batch, none where a person's value is not counted.
`values.*` says how often each value occurs in a batch. Who is in which cell depends on quasi-identifiers and k alone,
never on a value; counterfeits appear only in counts; the numbers of groups and batches are drawn anew every time.

Either table is a `Release` of its own: `people` has no sensitive column, `values` no quasi-identifier. What is known of
tables that say both applies to one or the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import LedgerError, ViewError
from republish.grouping import Grouping, Snapshots
from republish.hooks import html_of
from republish.microdata import Microdata
from republish.release.answers import Answering
from republish.release.domains import Scales
from republish.release.grouped_table import GroupedTable
from republish.release.r_script import R_SCRIPT, r_script
from republish.release.release import (
    COUNTERFEITS,
    TABLE_PARQUET,
    Release,
    build_release,
    drawn_numbers,
    release_of,
    stored_table,
    write_about,
)
from republish.schema import Schema
from republish.secret import Secret
from republish.sources.paths import nearby, read_csv, read_parquet, write_csv, write_parquet

PEOPLE_CSV, PEOPLE_PARQUET = "people.csv", "people.parquet"
VALUES_CSV, VALUES_PARQUET, BATCHES_CSV = "values.csv", "values.parquet", "batches.csv"
BATCH, COUNT, AS_OF, WAITING = "batch", "count", "as_of", "waiting"


@dataclass(frozen=True)
class TwoTableRelease(Answering):
    """People in groups of alike quasi-identifiers, the batch of each (1, 2, ..., 0 for none), and the batches.

    The groups of `people` are cells, and nobody in it is a counterfeit; those of `values` are batches, with one row for
    every time that a value is counted. Where batches were not all counted in this release, `clock` says of each in
    which release it was (`as_of`), and how many people of it were not counted then (`waiting`).
    """

    schema: Schema
    people: Release
    batch: IntArray
    values: Release
    clock: pl.DataFrame | None = None

    @property
    def rows(self) -> int:
        """Number of people."""
        return self.people.rows

    @property
    def counterfeits(self) -> IntArray:
        """How many values of each batch belong to nobody."""
        return self.values.counterfeits

    def table(self) -> pl.DataFrame:
        """The people as a person reads them: the cells of `people.csv`."""
        return self._with_batch(self.people.table())

    def head(self, rows: int = 10) -> pl.DataFrame:
        """The first people as a person reads them."""
        return self._with_batch(self.people.head(rows))

    def frame(self) -> pl.DataFrame:
        """The people in types: the columns of `people.parquet`."""
        return self._with_batch(self.people.frame())

    def batches(self) -> pl.DataFrame:
        """Batch, sensitive value and how often it is counted: the columns of `values.csv`."""
        return batches_of(self.values)

    def _with_batch(self, people: pl.DataFrame) -> pl.DataFrame:
        return with_batch(people, self.batch[: people.height])

    _repr_html_ = html_of("release_html")

    def write(self, folder: Path, about: dict[str, Any]) -> None:
        """Write the files that may leave the house."""
        write_csv(self.table(), folder / PEOPLE_CSV)
        write_parquet(self.frame(), folder / PEOPLE_PARQUET)
        write_csv(self.batches(), folder / VALUES_CSV)
        write_parquet(self.batches(), folder / VALUES_PARQUET)
        held = np.flatnonzero(self.counterfeits)
        if len(held):
            statistics = pl.DataFrame({BATCH: held + 1, COUNT: self.counterfeits[held]})
            write_csv(statistics, folder / COUNTERFEITS)
        if self.clock is not None:
            write_csv(self.clock, folder / BATCHES_CSV)
        (folder / R_SCRIPT).write_text(r_script(self.schema), encoding="utf-8")
        write_about(folder, about)


AnyRelease = Release | TwoTableRelease


def batches_of(values: Release) -> pl.DataFrame:
    """Batch, sensitive value and how often it is counted, of a table of values."""
    assert values.schema.sensitive is not None
    value = values.rest[values.schema.sensitive.name]
    rows = pl.DataFrame([pl.Series(BATCH, values.group, dtype=pl.Int32), value])
    return rows.group_by(rows.columns).len(COUNT).sort(rows.columns).cast({COUNT: pl.Int64})


def with_batch(people: pl.DataFrame, batch: IntArray) -> pl.DataFrame:
    """A table of people with the batch of each, none where it is 0."""
    number = pl.Series(BATCH, batch, dtype=pl.Int32)
    return people.with_columns(pl.select(pl.when(number > 0).then(number).alias(BATCH)).to_series())


def people_schema(schema: Schema) -> Schema:
    """The columns of a table of people: no sensitive one."""
    return replace(schema, sensitive=None)


def values_schema(schema: Schema) -> Schema:
    """The columns of a table of values: the sensitive one alone. No view can have it."""
    alone = copy(schema)
    for role in ("quasi_identifiers", "insensitive"):
        object.__setattr__(alone, role, ())
    return alone


class Sides(NamedTuple):
    """A view as either table shows it."""

    people: Microdata
    values: Microdata


def sides_of(view: Microdata) -> Sides:
    """The quasi-identifiers and insensitive columns of a view, and its sensitive values."""
    codes = np.zeros(view.rows, dtype=np.int32)
    nothing = pl.Series("", [None], dtype=pl.String)
    people = replace(
        view, schema=people_schema(view.schema), codes=codes, values=nothing, compromised=None, at_large=None
    )
    values = replace(
        view,
        schema=values_schema(view.schema),
        points=view.points[:0],
        axes=(),
        insensitive=view.insensitive.select([]),
    )
    return Sides(people, values)


class Placed(NamedTuple):
    """Where every row of a view was published, 0 where it was not: its batch and its cell, one group in one table.

    `listed` is the batch that people show, which may not have counted them yet.
    """

    group: IntArray
    cell: IntArray
    listed: IntArray | None = None

    @property
    def shown(self) -> IntArray:
        """The batch that people show."""
        return self.group if self.listed is None else self.listed


def build_two_tables(
    view: Microdata, batches: Grouping, cells: Grouping, secret: Secret, *label: object
) -> tuple[TwoTableRelease, Placed]:
    """The release of batches and cells, each table in an order of its own, and where every row of the view is."""
    values, batch = build_values(view, batches, secret, *label)
    if batches.snapshots is None:
        people, of_people, cell = build_people(view, batch, cells, secret, *label)
        return TwoTableRelease(view.schema, people, of_people, values), Placed(batch, cell)
    listed, clock = clocked(
        batches, batches.snapshots, drawn_numbers(batches.groups, secret, *label, "values")
    )
    people, of_people, cell = build_people(view, listed, cells, secret, *label)
    return TwoTableRelease(view.schema, people, of_people, values, clock), Placed(batch, cell, listed)


def clocked(batches: Grouping, snapshots: Snapshots, number: IntArray) -> tuple[IntArray, pl.DataFrame]:
    """The batch that everyone is listed in, and when each was counted and how many were not then."""
    there = snapshots.listed >= 0
    listed = np.zeros(len(there), dtype=np.int32)
    listed[there] = number[snapshots.listed[there]]
    waiting = np.bincount(listed[there & (batches.group < 0)], minlength=len(number) + 1)[1:]
    as_of = np.zeros(len(number), dtype=np.int64)
    as_of[number - 1] = snapshots.as_of
    clock = {BATCH: np.arange(1, len(number) + 1), AS_OF: as_of, WAITING: waiting}
    return listed, pl.DataFrame(clock).cast(pl.Int64)


def build_values(
    view: Microdata, batches: Grouping, secret: Secret, *label: object
) -> tuple[Release, IntArray]:
    """The values of batches in an order of their own, and the batch of every row of the view."""
    counted, batch = build_release(sides_of(view).values, batches, secret, *label, "values")
    return replace(counted, schema=view.schema), batch


def build_people(
    view: Microdata, batch: IntArray, cells: Grouping, secret: Secret, *label: object
) -> tuple[Release, IntArray, IntArray]:
    """The people of cells in an order of their own with the batch of each, and the cell of every row of the view.

    `batch` is that of every row of the view.
    """
    people = sides_of(view).people
    named = pl.DataFrame([*view.insensitive.get_columns(), pl.Series(BATCH, batch)])
    found, cell = build_release(replace(people, insensitive=named), cells, secret, *label, "people")
    own = found.rest.drop(BATCH)
    return replace(found, schema=people.schema, rest=own), found.rest[BATCH].to_numpy(), cell


def cell_numbers(cells: int, secret: Secret, *label: object) -> IntArray:
    """The published number of every cell that `build_people` will draw with the same label."""
    return drawn_numbers(cells, secret, *label, "people")


@dataclass(frozen=True)
class TwoTableCounts:
    """How many batches there are, how many values they count, and how many different ones the poorest has.

    `without_batch` are people whose value is not counted, `extended` those in cells that extend over a cut that died.
    `stale` are the batches that count somebody as she was, or do not count somebody yet, where batches have clocks.
    """

    batches: int
    smallest: int
    average: float
    largest: int
    fewest_values: int
    without_batch: int
    extended: int
    stale: int | None = None

    @classmethod
    def of(cls, release: TwoTableRelease, extended: int = 0) -> TwoTableCounts:
        """The counts of a release."""
        without_batch = int(np.count_nonzero(release.batch == 0))
        clock = release.clock
        waiting = None if clock is None else clock.filter(pl.col(WAITING) > 0)[BATCH].to_numpy()
        return replace(cls.of_values(release.values, without_batch, waiting), extended=extended)

    @classmethod
    def of_values(
        cls, values: Release, without_batch: int, waiting: IntArray | None = None
    ) -> TwoTableCounts:
        """The counts of a table of values; `waiting` are the batches of people who wait, where these have clocks."""
        sizes = values.sizes
        different = batches_of(values).group_by(BATCH).len()["len"]
        return cls(
            batches=values.group_count,
            smallest=int(sizes.min()) if len(sizes) else 0,
            average=float(sizes.mean()) if len(sizes) else 0.0,
            largest=int(sizes.max(initial=0)),
            fewest_values=int(different.to_numpy().min()) if len(different) else 0,
            without_batch=without_batch,
            extended=0,
            stale=None
            if waiting is None
            else len(np.union1d(np.flatnonzero(values.counterfeits) + 1, waiting)),
        )

    @classmethod
    def together(cls, parts: Sequence[TwoTableCounts], extended: int) -> TwoTableCounts:
        """The counts of all parts of a table of values."""
        held = [part for part in parts if part.batches]
        batches = sum(part.batches for part in held)
        values = sum(round(part.average * part.batches) for part in held)
        return cls(
            batches=batches,
            smallest=min((part.smallest for part in held), default=0),
            average=values / batches if held else 0.0,
            largest=max((part.largest for part in held), default=0),
            fewest_values=min((part.fewest_values for part in held), default=0),
            without_batch=sum(part.without_batch for part in parts),
            extended=extended,
            stale=None
            if any(part.stale is None for part in parts)
            else sum(part.stale or 0 for part in parts),
        )

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {name: found for name, found in asdict(self).items() if found is not None}

    def sentence(self) -> str:
        """The batches in words."""
        if not self.batches:
            return "no batches"
        spread = (
            f"{self.smallest:,}"
            if self.smallest == self.largest
            else f"{self.smallest:,} to {self.largest:,}"
        )
        each = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
        return f"{each} of {spread} values, at least {self.fewest_values} different ones in each"


class StoredRelease(NamedTuple):
    """The tables of a release as they lie on disk: where there is one table, it is both; and the clock of batches."""

    people: GroupedTable
    values: GroupedTable
    clock: pl.DataFrame | None = None

    @property
    def two(self) -> bool:
        """Whether there are two tables."""
        return self.people is not self.values


@contextmanager
def stored_release(folder: Path) -> Iterator[StoredRelease]:
    """The tables of a release in a folder, for the block."""
    if not is_two_tables(folder):
        with stored_table(folder) as table:
            yield StoredRelease(table, table)
        return
    with nearby(folder / PEOPLE_PARQUET) as people:
        yield StoredRelease(
            GroupedTable(people),
            GroupedTable(stored_values(folder), stored_counterfeits(folder)),
            stored_clock(folder),
        )


def is_two_tables(folder: Path) -> bool:
    """Whether the release in a folder has two tables."""
    return (folder / VALUES_PARQUET).exists()


def stored_values(folder: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Group and sensitive value of every published row, counterfeits included; batches are groups.

    `columns` are those that are wanted.
    """
    if not is_two_tables(folder):
        return read_parquet(folder / TABLE_PARQUET, list(columns or ()) or None)
    return counted_out(read_parquet(folder / VALUES_PARQUET)).select(columns or pl.all())


def counted_out(values: pl.DataFrame) -> pl.DataFrame:
    """One row for every time that a value is counted in a batch, which is called group."""
    wrong = values.filter(pl.col(COUNT).is_null() | (pl.col(COUNT) < 1)).height
    if wrong:
        raise ViewError(
            f"a table of values counts each value by a whole number of at least 1; {wrong} of its lines do not"
        )
    times = values[COUNT].to_numpy()
    return values.drop(COUNT).rename({BATCH: "group"})[np.repeat(np.arange(values.height), times)]


def stored_counterfeits(folder: Path) -> pl.DataFrame | None:
    """Group, or batch under that name, and number of counterfeits of a stored release, where it has any."""
    if not (folder / COUNTERFEITS).exists():
        return None
    held = read_csv(folder / COUNTERFEITS)
    return held.rename({BATCH: "group"}, strict=False).cast({"group": pl.Int32})


def stored_clock(folder: Path) -> pl.DataFrame | None:
    """When each batch of a stored release was counted, and how many were not then, where it says so."""
    file = folder / BATCHES_CSV
    return read_csv(file).cast(pl.Int64) if file.exists() else None


def read_release(folder: Path, schema: Schema, scales: Scales) -> AnyRelease:
    """The release in a folder, whatever its form."""
    try:
        with stored_release(folder) as stored:
            return any_release_of(stored, schema, scales)
    except (pl.exceptions.PolarsError, OSError, LedgerError, ViewError):
        name = PEOPLE_PARQUET if is_two_tables(folder) else TABLE_PARQUET
        raise LedgerError(f"{folder / name} is missing or damaged; restore it from a backup") from None


def any_release_of(stored: StoredRelease, schema: Schema, scales: Scales) -> AnyRelease:
    """The release that stored tables hold."""
    if not stored.two:
        return release_of(stored.people, schema, scales)
    batch = stored.people[BATCH].fill_null(0).to_numpy()
    people = release_of(stored.people, people_schema(schema), scales)
    return TwoTableRelease(schema, people, batch, values_of(stored.values, schema, scales), stored.clock)


def values_of(stored: GroupedTable, schema: Schema, scales: Scales) -> Release:
    """The table of values that is stored, batches as groups."""
    values = release_of(stored, values_schema(schema), Scales((), scales.values))
    return replace(values, schema=schema)
