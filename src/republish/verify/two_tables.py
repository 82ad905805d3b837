"""Whether a stored release keeps what is promised of it, in one table or in two.

Of two tables each is checked as a table of its own: people as one without a sensitive column, values as one without
quasi-identifiers; and that they fit each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.errors import SchemaError, ViewError
from republish.release.grouped_table import GroupedTable
from republish.release.release import TABLE_CSV
from republish.release.two_tables import (
    BATCH,
    COUNT,
    PEOPLE_CSV,
    VALUES_CSV,
    WAITING,
    StoredRelease,
    counted_out,
    people_schema,
    stored_release,
    values_schema,
)
from republish.requirements import Requirement
from republish.schema import Schema
from republish.sources.paths import read_csv
from republish.sources.tables import read_table
from republish.verify.check import Check, Verification
from republish.verify.table import (
    AtLarge,
    compared_tables,
    counterfeits_fit,
    verify_frame,
    verify_stored,
    verify_table,
)

_MOST_A_PERSON = 1_000  # values that a table may count for each person, counterfeits and all
PEOPLE = "people"
"""What the promises about cells of people are called by."""


def verify_release(
    folder: Path,
    schema: Schema,
    requirements: Sequence[Requirement],
    of_people: Sequence[Requirement] | None = None,
    large: AtLarge | None = None,
    strict: bool = True,
) -> Verification:
    """Check a stored release: its promises from the Parquet tables, and that the CSV tables say the same.

    `of_people` is what every group of people satisfies, where there are two tables. Unless `strict` lines of people may
    be nobody's.
    """
    with stored_release(folder) as stored:
        return verify_stored_release(stored, schema, requirements, of_people, large, folder, strict)


def verify_stored_release(
    stored: StoredRelease,
    schema: Schema,
    requirements: Sequence[Requirement],
    of_people: Sequence[Requirement] | None = None,
    large: AtLarge | None = None,
    folder: Path | None = None,
    strict: bool = True,
) -> Verification:
    """Check the tables of a stored release, and those as text where there is a `folder` with them.

    Of a part, groups whole, `large` is the table that closeness is measured by. For `strict` see `verify_release`.
    """
    if (of_people is not None) != stored.two:
        wanted = "one table" if of_people is None else "two tables"
        return Verification(0, 0, 0, (Check("form", False, f"The release is published in {wanted}."),))
    if of_people is None:
        csv = None if folder is None else folder / TABLE_CSV
        return verify_stored(stored.people, schema, requirements, large, csv)
    found = _both(stored, schema, requirements, of_people, large)
    same = [] if folder is None else _same(stored, folder, schema)
    fit = [batches_fit(stored)] if strict else []
    return found.with_checks(*same, counterfeits_fit(stored.values), *fit)


def verify_two_tables(
    people: Any,
    values: Any,
    schema: Schema,
    requirements: Sequence[Requirement],
    of_people: Sequence[Requirement] = (),
) -> Verification:
    """Check two tables that any tool made: `requirements` of batches, `of_people` of people who look alike.

    People name their batch in a column `batch`; values have the columns batch, the sensitive one, and count. Groups of
    people are the column `group`, else equal quasi-identifiers.
    """
    table, counts = read_two_tables(people, values, schema)
    found = verify_table(table.drop(BATCH), people_schema(schema), of_people)
    stored = StoredRelease(GroupedTable(table), GroupedTable(counted_out(counts)))
    of_values = verify_frame(stored.values, values_schema(schema), requirements)
    assert schema.sensitive is not None
    plain = {BATCH, COUNT, schema.sensitive.name}
    labelled = Check(
        "values: columns have roles",
        set(counts.columns) <= plain,
        "The table of values has the batch, the sensitive column and the count, and nothing that names people.",
        None,
        0,
        0 if set(counts.columns) <= plain else counts.height,
    )
    return joined(found, of_values).with_checks(labelled, batches_fit(stored, strict=False))


def read_two_tables(people: Any, values: Any, schema: Schema) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two tables that any tool made, people and counted values, with batches of any name as numbers from 1 on."""
    if schema.sensitive is None:
        raise SchemaError(
            "two tables need a sensitive column, that of the table of values; label one in the schema"
        )
    table, counts = read_table(people, schema.missing), read_table(values, schema.missing)
    for name, frame, wanted in (
        ("people", table, (BATCH,)),
        ("values", counts, (BATCH, schema.sensitive.name, COUNT)),
    ):
        absent = [column for column in wanted if column not in frame.columns]
        if absent:
            raise SchemaError(f"the table of {name} needs a column {' and '.join(absent)}")
    table, counts = _numbered(table, counts)
    total = int(counts[COUNT].sum())
    if total > _MOST_A_PERSON * max(table.height, 1):
        raise ViewError(
            f"the table of values counts {total:,} values for {table.height:,} people; give the tables of one release"
        )
    return table, counts


def _both(
    stored: StoredRelease,
    schema: Schema,
    requirements: Sequence[Requirement],
    of_people: Sequence[Requirement],
    large: AtLarge | None,
) -> Verification:
    people = verify_frame(stored.people, people_schema(schema), of_people)
    return joined(people, verify_frame(stored.values, values_schema(schema), requirements, large=large))


def joined(people: Verification, values: Verification) -> Verification:
    """The checks of both tables; those of people are called so."""
    named = (replace(check, promise=f"{PEOPLE}: {check.promise}") for check in people.checks)
    own = (check for check in values.checks if check.promise != "uniform groups")
    return replace(people, checks=(*named, *own), batches=values.groups)


def compared_texts(folder: Path, schema: Schema) -> list[Check]:
    """Whether the tables as text of a stored release say what those in types say."""
    with stored_release(folder) as stored:
        if not stored.two:
            return [compared_tables(stored.people, folder / TABLE_CSV, schema)]
        return _same(stored, folder, schema)


def verify_values(
    values: GroupedTable, schema: Schema, requirements: Sequence[Requirement], large: AtLarge | None = None
) -> Verification:
    """Check whole batches of a stored table of values, and the counterfeits declared in them."""
    found = verify_frame(values, values_schema(schema), requirements, large=large)
    return found.with_checks(counterfeits_fit(values))


def batches_fit(stored: StoredRelease, strict: bool = True) -> Check:
    """Every batch must count as many values as it has people, counterfeits aside; `strict` where they are declared."""
    values = values_by_batch(stored.values)
    if stored.clock is not None:
        values = with_waiting(values, stored.clock)
    return compared_batches(people_by_batch(stored.people), values, strict)


def with_waiting(values: pl.DataFrame, clock: pl.DataFrame) -> pl.DataFrame:
    """How many people show every batch: those whose values it counts, and those who came since it was counted."""
    waiting = clock.select(pl.col(BATCH).cast(pl.Int64).alias("group"), pl.col(WAITING).cast(pl.Int64))
    more = pl.col("values") + pl.col(WAITING).fill_null(0)
    return values.join(waiting, on="group", how="left").select("group", values=more)


def people_by_batch(people: GroupedTable) -> pl.DataFrame:
    """How many people of a table each batch has."""
    named = people[BATCH].drop_nulls().cast(pl.Int64).to_frame("group")
    return named.group_by("group").len("people").cast({"people": pl.Int64})


def values_by_batch(values: GroupedTable) -> pl.DataFrame:
    """How many values of a table each batch counts, counterfeits aside."""
    counted = values["group"].cast(pl.Int64).to_frame("group").group_by("group").len("values")
    counted = counted.cast({"values": pl.Int64})
    if values.counterfeits is None:
        return counted
    held = values.counterfeits.select(pl.col("group").cast(pl.Int64), false=pl.col("count").cast(pl.Int64))
    own = pl.col("values") - pl.col("false").fill_null(0)
    return counted.join(held, on="group", how="left").select("group", values=own)


def compared_batches(people: pl.DataFrame, values: pl.DataFrame, strict: bool = True) -> Check:
    """Whether batches count as many values as they have people, from what `people_by_batch` and the other say."""
    frames = people.join(values, on="group", how="full", coalesce=True)
    short = pl.col("people").fill_null(0) - pl.col("values").fill_null(0)
    wrong = frames.filter(short != 0 if strict else short > 0)
    return Check(
        "batches",
        wrong.is_empty(),
        "Every batch counts the values of the people in it and of nobody else, counterfeits aside.",
        None,
        wrong.height,
        int(wrong["people"].fill_null(0).sum()),
    )


def _same(stored: StoredRelease, folder: Path, schema: Schema) -> list[Check]:
    """Whether the tables as text say what those in types say."""
    found = []
    if (folder / PEOPLE_CSV).exists():
        same = compared_tables(stored.people, folder / PEOPLE_CSV, people_schema(schema))
        says = f"{PEOPLE_CSV} and people.parquet say the same."
        found.append(replace(same, promise=f"{PEOPLE}: same tables", says=says))
    if (folder / VALUES_CSV).exists():
        found.append(_same_values(stored.values, folder / VALUES_CSV, schema))
    return found


def _same_values(values: GroupedTable, text: Path, schema: Schema) -> Check:
    assert schema.sensitive is not None
    name = schema.sensitive.name
    typed = pl.DataFrame([values["group"].rename(BATCH), values[name]])
    typed = typed.group_by(BATCH, name).len(COUNT)
    csv = read_csv(
        text, schema_overrides={BATCH: typed.schema[BATCH], name: typed.schema[name], COUNT: pl.UInt32}
    )
    held = typed.join(csv, on=[BATCH, name, COUNT], how="inner", nulls_equal=True).height
    wrong = max(typed.height, csv.height) - held
    return Check("same tables", wrong == 0, "values.csv and values.parquet say the same.", None, 0, wrong)


def _numbered(people: pl.DataFrame, values: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables with batches of any name as numbers, and counts as whole numbers."""
    text = pl.col(BATCH).cast(pl.String).str.strip_suffix(".0")  # whole numbers among missing ones are floats
    names = (
        pl.concat([frame.select(text).to_series() for frame in (people, values)]).drop_nulls().unique().sort()
    )
    number = text.replace_strict(names, np.arange(1, len(names) + 1), default=None)
    counts = pl.col(COUNT).cast(pl.Int64, strict=False)
    return people.with_columns(number), values.with_columns(number, counts)
