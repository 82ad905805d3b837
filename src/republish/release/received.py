"""A release as a recipient has it: the folder with its tables and `about.json`, without schema, ledger or secret."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from republish.errors import LedgerError, PolicyError, ViewError
from republish.release.cells import set_texts
from republish.release.midpoints import free_name, with_midpoints
from republish.release.release import ABOUT, TABLE_CSV, TABLE_PARQUET
from republish.release.two_tables import (
    BATCH,
    COUNT,
    PEOPLE_CSV,
    PEOPLE_PARQUET,
    VALUES_CSV,
    VALUES_PARQUET,
    stored_counterfeits,
)
from republish.schema.column_names import listed
from republish.sources.paths import read_csv, read_parquet

PERSON, WEIGHT, PEOPLE = "person", "weight", "people"


@dataclass(frozen=True)
class ReceivedRelease:
    """The tables of one release, whatever its form.

    Attributes:
        about: what `about.json` says.
        people: one line a person, or a published row where there is one table, numbered by `person` from 1. Where a
            published column has that name the number is `person_`; so is `weight_` the weight, beside one of its name.
            An open cell, `<=23` or `>=61`, has no `_lo` or no `_hi` in Parquet. On request `age_mid` and `age_width`
            follow the cells of numbers and dates.
        values: how often each value is counted in each batch, or group where there is one table.
        sensitive: the name of the sensitive column; None where there is none.
        counterfeits: how many values of a batch, or rows of a group, belong to nobody.
    """

    about: dict[str, Any]
    people: pl.DataFrame
    values: pl.DataFrame
    sensitive: str | None
    counterfeits: pl.DataFrame

    @property
    def person(self) -> str:
        """The column with the number of a person: `person`, or `person_` where a published column is called so."""
        return self.people.columns[0]

    @property
    def weight(self) -> str:
        """The column with weights: `weight`, or `weight_` where a published column is called so."""
        return free_name(WEIGHT, self.people)

    @property
    def two_tables(self) -> bool:
        """Whether people and values are published in two tables."""
        return BATCH in self.values.columns

    @cached_property
    def weights(self) -> pl.DataFrame:
        """Of every person each value she may have, and its weight; all weights add up to the number of people.

        In two tables a weight is the share of her batch that has the value, or of the whole release where she has no
        batch. In one table a row has its value, with the share of its group that is no counterfeit as weight.
        """
        if self.sensitive is None or not self.two_tables:
            sizes = self.people.group_by("group").len("rows").join(self.counterfeits, on="group", how="left")
            real = (1 - pl.col("count").fill_null(0) / pl.col("rows")).alias(self.weight)
            by_row = self.people.join(
                sizes.select("group", real), on="group", how="left", maintain_order="left"
            )
            return by_row.select(self.person, *([self.sensitive] if self.sensitive else []), self.weight)
        shares = self.values.with_columns(
            (pl.col(COUNT) / pl.col(COUNT).sum().over(BATCH)).alias(self.weight)
        )
        known = self.people.filter(pl.col(BATCH).is_not_null()).select(self.person, BATCH)
        found = known.join(shares, on=BATCH, how="inner").select(self.person, self.sensitive, self.weight)
        overall = self.values.group_by(self.sensitive).agg(pl.col(COUNT).sum())
        overall = overall.select(self.sensitive, (pl.col(COUNT) / pl.col(COUNT).sum()).alias(self.weight))
        alone = self.people.filter(pl.col(BATCH).is_null()).select(self.person).join(overall, how="cross")
        return pl.concat([found, alone]).sort(self.person, self.sensitive)

    def joined(self) -> pl.DataFrame:
        """The people with every value they may have and its weight: what a weighted analysis reads."""
        own = self.people.drop(self.sensitive or "", strict=False)
        return own.join(self.weights, on=self.person, how="inner", maintain_order="left")

    def margin(self, *columns: str) -> pl.DataFrame:
        """How many people there are by these columns, or by the sensitive one; counterfeits are left out."""
        by = list(columns) or ([self.sensitive] if self.sensitive else [])
        apart = self.two_tables and self.sensitive not in by
        table = self.people.with_columns(pl.lit(1.0).alias(self.weight)) if apart else self.joined()
        unknown = [name for name in by if name not in table.columns]
        if unknown:
            raise PolicyError(
                f"a margin is by columns of the release; {len(unknown)} of the names given are none; it has "
                f"{listed(table.columns)}"
            )
        table = as_text(table.select(*by, self.weight))
        counted = pl.col(self.weight).sum().alias(free_name(PEOPLE, table.select(by)))
        return table.group_by(by).agg(counted).sort(by) if by else table.select(counted)


def read_received(folder: str | Path, midpoints: bool = False) -> ReceivedRelease:
    """The release in a folder such as `releases/0001`: its tables from Parquet, or from CSV where there is no other.

    With `midpoints`, `age_mid` and `age_width` follow the cells of every quasi-identifier that is a number or a date.
    """
    place = Path(folder)
    try:
        about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
        sensitive = next((one["name"] for one in about["columns"] if one["role"] == "sensitive"), None)
        kinds = {one["name"]: one["kind"] for one in about["columns"] if one["role"] == "quasi-identifier"}
        two = (place / PEOPLE_PARQUET).exists() or (place / PEOPLE_CSV).exists()
        people = _table(place, *((PEOPLE_PARQUET, PEOPLE_CSV) if two else (TABLE_PARQUET, TABLE_CSV)))
        values = _table(place, VALUES_PARQUET, VALUES_CSV) if two else _counted(people, sensitive)
        held = stored_counterfeits(place)
    except (OSError, ValueError, KeyError, TypeError, LedgerError, pl.exceptions.PolarsError):
        raise ViewError(
            f"{place} must be the folder of a release, with {ABOUT} and {PEOPLE_CSV} and {VALUES_CSV}, or {TABLE_CSV}; "
            "something of it is missing or damaged: ask for the folder again"
        ) from None
    if midpoints:
        people = with_midpoints(people, kinds)
    counterfeits = pl.DataFrame(schema={"group": pl.Int32, "count": pl.Int64}) if held is None else held
    if two:
        counterfeits = counterfeits.rename({"group": BATCH})
    return ReceivedRelease(
        about, people.with_row_index(free_name(PERSON, people), 1), values, sensitive, counterfeits
    )


def as_text(table: pl.DataFrame) -> pl.DataFrame:
    """The table with sets as the text of a cell, `{a|b}`, so that any file can hold it."""
    sets = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(set_texts(table[name]).alias(name) for name in sets)


def _table(folder: Path, parquet: str, csv: str) -> pl.DataFrame:
    if (folder / parquet).exists():
        return read_parquet(folder / parquet)
    numbers = {"group": pl.Int32, BATCH: pl.Int32, COUNT: pl.Int64}
    found = read_csv(folder / csv, infer_schema=False)
    return found.cast({name: kind for name, kind in numbers.items() if name in found.columns})


def _counted(table: pl.DataFrame, sensitive: str | None) -> pl.DataFrame:
    """How often each value is counted in each group."""
    by = ["group", *([sensitive] if sensitive else [])]
    return table.group_by(by).len(COUNT).sort(by).cast({COUNT: pl.Int64})
