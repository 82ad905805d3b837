"""What a table shows to be checked: its columns and groups; that rows of a group look alike, and both tables agree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.errors import SchemaError, ViewError
from republish.hierarchies import ROOT
from republish.release.release import LEVEL, TABLE_CSV, TABLE_PARQUET
from republish.schema.schema import Schema
from republish.sources.paths import nearby, parquet_rows, parquet_schema, read_csv, read_parquet
from republish.verify.check import Check

ANY = ROOT
_SAME = "table.csv and table.parquet say the same."


class ColumnTable(Protocol):
    """What the checks need of a table: its columns, one at a time."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        ...

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The types of the columns."""
        ...

    @property
    def height(self) -> int:
        """The number of rows."""
        ...

    def __getitem__(self, name: str, /) -> pl.Series:
        """One column."""
        ...


class StoredTable:
    """A stored table whose columns are read when asked for, so that a large release is never whole in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.schema: Mapping[str, pl.DataType] = parquet_schema(path)
        self.columns = list(self.schema)
        self.height = parquet_rows(path)

    def __getitem__(self, name: str, /) -> pl.Series:
        return read_parquet(self._path, [name])[name]


def quasi_columns(frame: ColumnTable, schema: Schema) -> list[str]:
    """The columns that hold quasi-identifiers, plain or as bounds."""
    columns = []
    for column in schema.quasi_identifiers:
        spelled = [n for n in (column.name, f"{column.name}_lo", f"{column.name}_hi") if n in frame.columns]
        if not spelled:
            raise SchemaError(
                f"the table has no column {column.name}, a quasi-identifier of the schema; "
                "a CSV table starts with a line of column names"
            )
        extra = f"{column.name}_missing"
        columns += [*spelled, *([extra] if extra in frame.columns else [])]
    if schema.sensitive is not None and schema.sensitive.name not in frame.columns:
        raise SchemaError(
            f"the table has no column {schema.sensitive.name}, the sensitive column of the schema"
        )
    return columns


def all_starred(frame: pl.DataFrame, columns: list[str]) -> BoolArray:
    """Which rows say nothing in any of these columns."""
    texts = [name for name in columns if frame.schema[name] == pl.String]
    if len(texts) < len(columns):
        return np.zeros(frame.height, dtype=np.bool_)
    return frame.select(pl.all_horizontal(pl.col(texts).eq_missing(pl.lit(ANY)))).to_series().to_numpy()


def number_groups(frame: ColumnTable, columns: list[str]) -> tuple[IntArray, int]:
    """Groups as 0, 1, ..."""
    if "group" not in frame.columns:
        ranks = (
            pl.DataFrame([frame[name] for name in columns])
            .select(pl.struct(columns).rank("dense"))
            .to_series()
        )
        return renumber(ranks.to_numpy()) if frame.height else (np.zeros(0, dtype=np.int64), 0)
    if frame["group"].null_count():
        raise ViewError(f"every row needs a group; {frame['group'].null_count()} rows of the table have none")
    return renumber(frame["group"].to_numpy())


def renumber(group: IntArray) -> tuple[IntArray, int]:
    """Numbers of groups as 0, 1, ..., and how many there are."""
    if (
        np.issubdtype(group.dtype, np.integer)
        and len(group)
        and group.min() >= 0
        and group.max() < 4 * len(group)
    ):
        used = np.bincount(group) > 0
        return (np.cumsum(used) - 1)[group], int(used.sum())
    names, place = np.unique(group, return_inverse=True)
    return place.astype(np.int64), len(names)


def uniform(frame: ColumnTable, columns: list[str]) -> Check:
    """All rows of a group must show the same cells: else the group is a claim, not a protection."""
    group, groups = number_groups(frame, columns)
    first = np.empty(groups, dtype=np.int64)
    first[group] = np.arange(frame.height)
    differs = np.zeros(frame.height, dtype=np.bool_)
    for name in columns:
        column = frame[name]
        differs |= column.ne_missing(column.gather(first).gather(group)).to_numpy()
    broken = np.unique(group[differs])
    return Check(
        "uniform groups",
        not differs.any(),
        "All rows of a group show the same quasi-identifiers.",
        None,
        len(broken),
        int(differs.sum()),
    )


def same_tables(folder: Path, schema: Schema) -> Check:
    """The CSV table of a stored release must say what its Parquet table says."""
    with nearby(folder / TABLE_PARQUET) as path:
        return stored_alike(StoredTable(path), folder, schema)


def stored_alike(frame: ColumnTable, folder: Path, schema: Schema) -> Check:
    """The CSV table must say what the Parquet table says, cell by cell; the cells are spelled here anew."""
    levels = [LEVEL] if LEVEL in frame.columns else []
    plain = ["group", *levels, *schema.insensitive, *([schema.sensitive.name] if schema.sensitive else [])]
    cells = [column.name for column in schema.quasi_identifiers]
    types = {name: frame.schema[name] for name in plain} | dict.fromkeys(cells, pl.String())
    csv = read_csv(folder / TABLE_CSV, schema_overrides=types)
    if csv.height != frame.height or set(csv.columns) != set(types):
        return Check("same tables", False, _SAME, None, 0, max(csv.height, frame.height))
    differs = np.zeros(frame.height, dtype=np.bool_)
    for name in plain:
        differs |= csv.drop_in_place(name).ne_missing(frame[name]).to_numpy()
    group, groups = number_groups(frame, [])
    a_row = np.empty(groups, dtype=np.int64)
    a_row[group] = np.arange(frame.height)
    for name in cells:
        expected = _spelled(frame, name, a_row).gather(group)
        differs |= csv.drop_in_place(name).ne_missing(expected).to_numpy()
    return Check("same tables", not differs.any(), _SAME, None, 0, int(differs.sum()))


def _spelled(frame: ColumnTable, name: str, rows: IntArray) -> pl.Series:
    """The cells of some rows of the typed table as the CSV table must spell them."""
    missing = frame[f"{name}_missing"].gather(rows) if f"{name}_missing" in frame.columns else None
    if name in frame.columns:
        cell = frame[name].gather(rows)
        text = _spelled_set(cell) if cell.dtype == pl.List else cell
    else:
        low, high = (frame[f"{name}_{end}"].gather(rows).cast(pl.String) for end in ("lo", "hi"))
        dash = low.str.contains("-", literal=True) | high.str.contains("-", literal=True)
        mark = pl.select(pl.when(dash).then(pl.lit("..")).otherwise(pl.lit("-"))).to_series()
        text = pl.select(pl.when(low == high).then(low).otherwise("[" + low + mark + high + "]")).to_series()
    if missing is None:
        return text
    return pl.select(pl.when(missing.is_null()).then(pl.lit(ANY)).otherwise(text)).to_series()


def _spelled_set(cell: pl.Series) -> pl.Series:
    single = cell.list.len() == 1
    only = cell.list.first()
    odd = (only == ANY) | only.str.starts_with("{")
    escaped = cell.list.eval(
        pl.element().str.replace_all("\\", "\\\\", literal=True).str.replace_all("|", "\\|", literal=True)
    ).list.join("|")
    return pl.select(pl.when(single & ~odd).then(only).otherwise("{" + escaped + "}")).to_series()
