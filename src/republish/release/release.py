"""One published table: generalized values, group numbers, counterfeit counts.

`table.csv` is for people, `table.parquet` for programs; both say the same. A large table may lie in parts, in a
folder of that name, and then there is no `table.csv`. Rows and group numbers
are permuted afresh by the secret of the series: neither tells of the order of the source, and a
group number means nothing in another release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.grouping import Grouping
from republish.hooks import html_of
from republish.microdata import FLAT, INTERVAL, TREE, Axis, Microdata
from republish.release.answers import Answering
from republish.release.cells import (
    ALL_MISSING,
    NONE_MISSING,
    SOME_MISSING,
    Cells,
    cells_of_ranges,
    generalize,
)
from republish.release.domains import Scales
from republish.release.grouped_table import GroupedTable
from republish.release.r_script import R_SCRIPT, r_script
from republish.schema import Schema
from republish.secret import Secret
from republish.sources.paths import nearby, read_csv, write_csv, write_parquet, write_parquet_in_blocks

TABLE_CSV, TABLE_PARQUET, COUNTERFEITS, ABOUT = "table.csv", "table.parquet", "counterfeits.csv", "about.json"
LEVEL = "level"
_BLOCK, _ROW_GROUP = 1 << 18, 1 << 17


@dataclass(frozen=True)
class Release(Answering):
    """The rows of a release with their group (1, 2, ...), one cell a group and quasi-identifier.

    `rest` holds the insensitive columns and the sensitive one, row by row; `counterfeits[g - 1]` says
    how many rows of group g belong to nobody. Where groups are nested regions, `level[g - 1]` is the level of
    group g: its rows lie in its cells and in those of no group of a higher level inside them.
    """

    schema: Schema
    group: IntArray
    cells: tuple[Cells, ...]
    rest: pl.DataFrame
    counterfeits: IntArray
    level: IntArray | None = None

    @property
    def people(self) -> Release:
        """The table that shows people's quasi-identifiers: this one, which shows their values too."""
        return self

    @property
    def values(self) -> Release:
        """The table that shows sensitive values by group: this one."""
        return self

    @property
    def rows(self) -> int:
        """Number of published rows, counterfeits included."""
        return len(self.group)

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.counterfeits)

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of every group, counterfeits included."""
        return np.bincount(self.group - 1, minlength=self.group_count)

    def table(self) -> pl.DataFrame:
        """The release as a person reads it: the cells of `table.csv`."""
        return self._spread(self._texts())

    def head(self, rows: int = 10) -> pl.DataFrame:
        """The first rows of the release as a person reads it."""
        return self._spread(self._texts(), slice(rows))

    def frame(self) -> pl.DataFrame:
        """The release in types: the columns of `table.parquet`."""
        return self._spread(self._types())

    def groups(self) -> pl.DataFrame:
        """One row a group: its number, its rows, its counterfeits and its cells."""
        return pl.DataFrame(
            [
                pl.Series("group", np.arange(1, self.group_count + 1)),
                pl.Series("rows", self.sizes),
                pl.Series("counterfeits", self.counterfeits),
                *self._levels(),
                *(cells.texts() for cells in self.cells),
            ]
        )

    def penalties(self) -> FloatArray:
        """Certainty penalty of every group, the mean over its quasi-identifiers by their weights."""
        weights = [cells.axis.column.weight for cells in self.cells]
        means: FloatArray = np.average([cells.penalty() for cells in self.cells], axis=0, weights=weights)
        return means

    def _levels(self) -> list[pl.Series]:
        return [] if self.level is None else [pl.Series(LEVEL, self.level, dtype=pl.Int32)]

    def _spread(self, by_group: list[pl.Series], rows: slice = slice(None)) -> pl.DataFrame:
        """Group-level columns repeated for every row, then the rest."""
        group = self.group[rows]
        cells = pl.DataFrame(by_group)[group - 1]  # one gather of a frame uses all cores
        return pl.DataFrame(
            [pl.Series("group", group, dtype=pl.Int32), *cells.get_columns(), *self.rest[rows].get_columns()]
        )

    _repr_html_ = html_of("release_html")

    def write(self, folder: Path, about: dict[str, Any]) -> None:
        """Write the files that may leave the house."""
        with ThreadPoolExecutor(1) as pool:
            typed = pool.submit(self._write_typed, folder / TABLE_PARQUET)
            self._write_text(folder / TABLE_CSV)
            typed.result()
        if self.counterfeits.any():
            held = np.flatnonzero(self.counterfeits)
            statistics = pl.DataFrame({"group": held + 1, "count": self.counterfeits[held]})
            write_csv(statistics, folder / COUNTERFEITS)
        (folder / R_SCRIPT).write_text(r_script(self.schema), encoding="utf-8")
        write_about(folder, about)

    def _write_text(self, path: Path) -> None:
        """Write what people read, some rows at a time: a text a cell of millions of rows would weigh much."""
        with path.open("wb") as file:
            for at, block in enumerate(self._blocks(self._texts(), _BLOCK)):
                block.write_csv(file, include_header=at == 0)

    def _write_typed(self, path: Path) -> None:
        """Write what programs read; a large table in groups of as many rows on every machine."""
        types = self._types()
        if self.rows <= _ROW_GROUP:
            write_parquet(self._spread(types), path)
        else:
            schema = self._spread(types, slice(1)).schema
            write_parquet_in_blocks(self._blocks(types, _ROW_GROUP), schema, path)

    def _blocks(self, by_group: list[pl.Series], rows: int) -> Iterator[pl.DataFrame]:
        for start in range(0, max(self.rows, 1), rows):
            yield self._spread(by_group, slice(start, start + rows))

    def _texts(self) -> list[pl.Series]:
        return [*self._levels(), *(cells.texts() for cells in self.cells)]

    def _types(self) -> list[pl.Series]:
        return [*self._levels(), *(column for cells in self.cells for column in cells.columns())]


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Write what a recipient is told about a release."""
    (folder / ABOUT).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def build_release(
    view: Microdata, grouping: Grouping, secret: Secret, *label: object
) -> tuple[Release, IntArray]:
    """The release of a grouping, and the published group of every row of the view (0 where suppressed).

    A counterfeit copies its insensitive cells from a random row of the view, so that they do not mark it.
    """
    groups = grouping.groups
    number = drawn_numbers(groups, secret, *label)
    place = np.argsort(number)
    kept = np.flatnonzero(grouping.group >= 0)
    group_of_row = np.zeros(view.rows, dtype=np.int32)
    group_of_row[kept] = number[grouping.group[kept]]
    published = group_of_row.astype(np.int64) - 1
    regions, level = grouping.regions, None
    if regions is None:
        cells = tuple(generalize(axis, view.points[q], published, groups) for q, axis in enumerate(view.axes))
    else:
        cells = tuple(
            cells_of_ranges(axis, regions.low[place, q], regions.high[place, q])
            for q, axis in enumerate(view.axes)
        )
        level = None if regions.level is None else regions.level[place].astype(np.int32)

    del published
    group = np.concatenate([group_of_row[kept], number[grouping.counterfeit_group]]).astype(np.int32)
    codes = np.concatenate([view.codes[kept], grouping.counterfeit_code])
    order = secret.permutation(len(group), *label, "rows")
    columns = []
    if view.insensitive.width:
        donors = secret.generator(*label, "donors").integers(0, max(view.rows, 1), grouping.counterfeits)
        source = np.concatenate([kept, donors])[order]
        columns = [column.gather(source) for column in view.insensitive.get_columns()]
    if view.schema.sensitive is not None:
        columns.append(plain_numbers(view.values).gather(codes[order]).rename(view.schema.sensitive.name))
    counterfeits = np.bincount(grouping.counterfeit_group, minlength=groups)[place]
    release = Release(view.schema, group[order], cells, pl.DataFrame(columns), counterfeits, level)
    return release, group_of_row


def drawn_numbers(groups: int, secret: Secret, *label: object) -> IntArray:
    """The numbers 1, 2, ... in the order that the secret draws for groups of a release with this label."""
    return (secret.permutation(groups, *label, "groups") + 1).astype(np.int32)


def plain_numbers(values: pl.Series) -> pl.Series:
    """Sensitive numbers as whole numbers where they all are."""
    whole = values.dtype.is_float() and bool((values.drop_nulls() % 1 == 0).all())
    return values.cast(pl.Int64) if whole else values


@contextmanager
def stored_table(folder: Path) -> Iterator[GroupedTable]:
    """The table of a release in a folder, with its statistics of counterfeits, for the block."""
    statistics = folder / COUNTERFEITS
    held = read_csv(statistics, schema_overrides={"group": pl.Int32}) if statistics.exists() else None
    with nearby(folder / TABLE_PARQUET) as path:
        yield GroupedTable(path, held)


def release_of(table: GroupedTable, schema: Schema, scales: Scales) -> Release:
    """The release that a table in the columns of `table.parquet` holds."""
    plain = [*schema.insensitive, *([schema.sensitive.name] if schema.sensitive else [])]
    group = table["group"].to_numpy()
    groups = int(group.max()) if len(group) else 0
    place = np.zeros(groups, dtype=np.int64)  # of a group that has no row nothing is known
    place[group - 1] = table.numbering.group
    cells = [name for name in table.columns if name not in (*plain, "group", "batch")]
    by_group = pl.DataFrame([table.of_groups(name).gather(place) for name in cells])
    counterfeits = np.zeros(groups, dtype=np.int64)
    if table.counterfeits is not None:
        counterfeits[table.counterfeits["group"].to_numpy() - 1] = table.counterfeits["count"].to_numpy()
    return Release(
        schema,
        group,
        tuple(_read_cells(by_group, axis) for axis in scales.axes),
        pl.DataFrame([table[name] for name in plain]),
        counterfeits,
        by_group[LEVEL].to_numpy() if LEVEL in table.columns else None,
    )


def _read_cells(by_group: pl.DataFrame, axis: Axis) -> Cells:
    name = axis.column.name
    low = by_group[f"{name}_lo"] if axis.kind_code == INTERVAL else by_group[name]
    high = by_group[f"{name}_hi"] if axis.kind_code == INTERVAL else low
    missing = np.full(len(low), NONE_MISSING, dtype=np.int8)
    flags = by_group[f"{name}_missing"] if f"{name}_missing" in by_group.columns else None
    if flags is not None:
        missing[flags.is_null().to_numpy()] = SOME_MISSING
        missing[flags.fill_null(value=False).to_numpy()] = ALL_MISSING
    if axis.kind_code == TREE:
        return _read_nodes(low, axis, missing)
    if axis.kind_code == FLAT:
        return _read_sets(low, axis, missing)
    if axis.labels:
        position = {label: at for at, label in enumerate(axis.labels)}
        low, high = (
            part.replace_strict(position, default=None, return_dtype=pl.Float64) for part in (low, high)
        )
    least, most = (np.nan, np.nan) if axis.ends is None else axis.ends
    said = missing == NONE_MISSING
    first, last = (
        np.where(said & part.is_null().to_numpy(), end, part.to_physical().cast(pl.Float64).fill_null(np.nan))
        for part, end in ((low, least), (high, most))
    )
    return Cells(axis, first, last, missing)


def _read_nodes(labels: pl.Series, axis: Axis, missing: IntArray) -> Cells:
    tree = axis.hierarchy
    assert tree is not None
    place: dict[str, tuple[int, int]] = {}
    for position, path in enumerate(tree.labels):
        for height, label in enumerate(path):
            place.setdefault(label, (position, height))
    texts = labels.to_list()
    found = np.array([place.get(text, (-1, 0)) for text in texts], dtype=np.int64).reshape(-1, 2)
    leaf, level = found[:, 0], found[:, 1]
    said = leaf >= 0
    low, high = np.full(len(leaf), np.nan), np.full(len(leaf), np.nan)
    low[said], high[said] = tree.start[leaf[said], level[said]], tree.end[leaf[said], level[said]] - 1
    for row in np.flatnonzero(~said & (missing == NONE_MISSING)).tolist():
        nodes = [place[label] for label in labels_of_set(texts[row])]
        low[row] = min(tree.start[at, height] for at, height in nodes)
        high[row] = max(tree.end[at, height] for at, height in nodes) - 1
        level[row] = np.argmax(tree.end[int(low[row])] > high[row])
    return Cells(axis, low, high, missing, level=level)


def labels_of_set(text: str) -> list[str]:
    """The labels in a text that `set_texts` wrote."""
    return [re.sub(r"\\(.)", r"\1", part) for part in re.findall(r"(?:\\.|[^|\\])+", text[1:-1])]


def _read_sets(sets: pl.Series, axis: Axis, missing: IntArray) -> Cells:
    offsets = np.append(0, np.cumsum(sets.list.len().fill_null(0).to_numpy())).astype(np.int64)
    flat = sets.list.explode(empty_as_null=False, keep_nulls=False)
    position = {label: at for at, label in enumerate(axis.labels)}
    members = (
        flat.replace_strict(position, return_dtype=pl.Int64).to_numpy()
        if len(flat)
        else np.zeros(0, np.int64)
    )
    owner = np.repeat(np.arange(len(sets)), np.diff(offsets))
    members = members[np.lexsort((members, owner))]  # stored in the order of their texts
    low, high = np.full(len(sets), np.nan), np.full(len(sets), np.nan)
    held = np.diff(offsets) > 0
    if held.any():
        low[held] = np.minimum.reduceat(members, offsets[:-1][held])
        high[held] = np.maximum.reduceat(members, offsets[:-1][held])
    return Cells(axis, low, high, missing, offsets=offsets, members=members)
