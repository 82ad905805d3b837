"""A series that another tool published, read so that every attack can be made on it.

Given are the release tables, a schema, and the raw views with their identifier. Groups are those that `verify TABLE`
sees: the `group` column, else equal quasi-identifiers; rows with every quasi-identifier `*` count as suppressed. Cells
are read as this tool writes them, and in some more spellings (`republish.attacks.matching.foreign_cells`).

Other tools do not say who is in which group. For attacks that grant it everybody is put into a group whose cells hold
her quasi-identifiers and that has a row of her true value, no row twice and as many rows in use as can be. Where
several such assignments exist one of them is granted, which need not be the one that the other tool had in mind; how
many people could be elsewhere is counted. Whoever finds no row was left out, and rows that nobody takes are nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.attacks.history import History
from republish.attacks.matching.fitting import Fits, fitting
from republish.attacks.matching.foreign_cells import cells_of_axis
from republish.attacks.matching.sightings import MatchedView
from republish.attacks.tables import LEFT_OUT, Table
from republish.errors import PolicyError, ViewError
from republish.kernels import kernel
from republish.memory.event_lists import Appearances, events_of
from republish.microdata import Axis, Microdata, read_view, sensitive_codes
from republish.release.grouped_table import GroupedTable
from republish.release.release import LEVEL, Release
from republish.schema import Schema
from republish.secret import Secret
from republish.sources.tables import read_table
from republish.verify.table import all_starred, number_groups, quasi_columns, uniform_groups

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")
"""How the names of release tables end; other files of their folder are none."""


@dataclass(frozen=True)
class Foreign:
    """A series of another tool as a history, with what matching needs, and one number a release of what is unclear.

    `left_out` people of the view found no row, `elsewhere` people could be in another group too, and `nobodys` rows
    were taken by nobody.
    """

    history: History
    sightings: tuple[MatchedView, ...]
    left_out: tuple[int, ...]
    elsewhere: tuple[int, ...]
    nobodys: tuple[int, ...]


def tables_in(folder: str | Path) -> list[Path]:
    """The release tables of a folder, CSV or Parquet, in the order of their names; other files are none."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ViewError(f"release tables of another tool are files of one folder; there is none at {folder}")
    files = sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and path.suffix.lower() in TABLE_SUFFIXES and not path.name.startswith(".")
    )
    if not files:
        raise ViewError(
            f"{folder} holds no release tables; put one CSV or Parquet file a release there, with a name in "
            f"{', '.join(TABLE_SUFFIXES)}"
        )
    return files


def foreign_history(tables: Sequence[Any], schema: Schema, views: Sequence[Any]) -> Foreign:
    """The history of tables that another tool made of these raw views, table i of view i.

    People are numbered in an order that says nothing; the key of their pseudonyms is thrown away.
    """
    if len(tables) != len(views):
        raise PolicyError(f"every release table needs its raw view; there are {len(tables)} and {len(views)}")
    if schema.sensitive is None:
        raise PolicyError("attacks seek sensitive values and this schema has no sensitive column")
    secret, values = Secret.new(), None
    parts: list[tuple[Microdata, Release, IntArray]] = []
    for number, (table, raw) in enumerate(zip(tables, views, strict=True), start=1):
        view = read_view(raw, schema, values).pseudonymous(secret)
        release = read_foreign(table, schema, view.axes, number)
        codes, values = sensitive_codes(release.rest[schema.sensitive.name], schema.sensitive, view.values)
        parts.append((view, release, codes.astype(np.int64)))
    words = [view.people for view, _, _ in parts if view.people is not None]
    everyone, place = np.unique(
        np.concatenate([np.zeros((0, 2), np.uint64), *words]), axis=0, return_inverse=True
    )
    person = np.split(place.ravel().astype(np.int64), np.cumsum([view.rows for view, _, _ in parts])[:-1])
    made, seen, unclear = [], [], []
    for number, (who, (view, release, codes)) in enumerate(zip(person, parts, strict=False), start=1):
        row_group = release.group.astype(np.int64) - 1
        group, elsewhere = assigned(fitting(release, view.points), view.codes, row_group, codes)
        left_out = int(np.count_nonzero(group == LEFT_OUT))
        if release.rows and view.rows == left_out > 0:
            raise PolicyError(
                f"release {number}: nobody in the raw view fits a row of the table; give the view it was made of"
            )
        unclear.append((left_out, elsewhere, release.rows - view.rows + left_out))
        made.append(Table(who, group, row_group, codes))
        seen.append(Appearances(who, view.codes.astype(np.int64), view.row_digests(secret)))
    history = History.of(
        len(everyone),
        0 if values is None else len(values),
        made,
        events_of(len(everyone), seen),
        [appearances.code for appearances in seen],
    )
    sightings = tuple(
        MatchedView.of(release, view, table.person, table.group + 1)
        for table, (view, release, _) in zip(made, parts, strict=True)
    )
    left_out_by, elsewhere_by, nobodys_by = zip(*unclear, strict=True) if unclear else ((), (), ())
    return Foreign(history, sightings, left_out_by, elsewhere_by, nobodys_by)


def read_foreign(source: Any, schema: Schema, axes: Sequence[Axis], number: int = 1) -> Release:
    """A release table of any tool, its cells in the coordinates of these axes; it has no counterfeits to know of.

    Rows that say nothing but `*` of anybody are left out.
    """
    frame = read_table(source, schema.missing)
    starred = all_starred(frame, quasi_columns(frame, schema))
    kept = frame if starred.all() else frame.filter(~pl.Series(starred, dtype=pl.Boolean))
    return foreign_release(kept, schema, axes, number)


def foreign_release(frame: pl.DataFrame, schema: Schema, axes: Sequence[Axis], number: int = 1) -> Release:
    """The release that a table of any tool is, row by row; columns of the schema that it lacks say nothing."""
    if schema.identifier is not None and schema.identifier in frame.columns:
        raise PolicyError(
            f"release {number}: the table holds the identifier column, so that there is nothing to find out"
        )
    columns = quasi_columns(frame, schema)
    table = GroupedTable(frame)
    if "group" in frame.columns and not uniform_groups(table, columns).holds:
        raise ViewError(
            f"release {number}: all rows of a group must show the same quasi-identifiers; leave out the column group, "
            "or give the table as it was published"
        )
    group, groups = number_groups(table, columns)
    a_row = np.zeros(groups, dtype=np.int64)
    a_row[group] = np.arange(frame.height)
    by_group = frame[a_row]
    own = [*schema.insensitive, *([schema.sensitive.name] if schema.sensitive else [])]
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, frame.height)
    return Release(
        schema,
        (group + 1).astype(np.int32),
        tuple(cells_of_axis(by_group, axis, number) for axis in axes),
        pl.DataFrame([frame[name] if name in frame.columns else nothing.rename(name) for name in own]),
        np.zeros(groups, dtype=np.int64),
        by_group[LEVEL].cast(pl.Int64).to_numpy() if LEVEL in frame.columns else None,
    )


def assigned(fits: Fits, codes: IntArray, row_group: IntArray, row_code: IntArray) -> tuple[IntArray, int]:
    """A group for every person, -1 for none, so that as many rows as possible are taken; and who could be elsewhere.

    A row is taken once, by a person of its value whom its group fits.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    values = int(max(codes.max(initial=-1), row_code.max(initial=-1))) + 1
    order = np.argsort(row_group * max(values, 1) + row_code, kind="stable")
    cells, first, count = np.unique(
        (row_group * max(values, 1) + row_code)[order], return_index=True, return_counts=True
    )
    start, column, groups = _takers(fits, codes.astype(np.int64), cells, first, count, max(values, 1))
    graph = csr_matrix(
        (np.ones(len(column), dtype=np.int8), column, start), shape=(len(codes), max(len(row_group), 1))
    )
    group = np.full(len(codes), LEFT_OUT, dtype=np.int64)
    for code in np.unique(codes).tolist():  # who has another value competes for other rows
        theirs, rows = np.flatnonzero(codes == code), np.flatnonzero(row_code[order] == code)
        taken = maximum_bipartite_matching(graph[theirs][:, rows], perm_type="column")
        group[theirs[taken >= 0]] = row_group[order[rows[taken[taken >= 0]]]]
    return group, int(np.count_nonzero(groups > 1))


@kernel
def _takers(fits, codes, cells, first, count, values):  # type: ignore[no-untyped-def]
    """The rows that each person may take, row by row of a sparse matrix, and how many groups these are of."""
    people = len(codes)
    start, groups = np.zeros(people + 1, np.int64), np.zeros(people, np.int64)
    column = np.empty(0, np.int64)
    for turn in range(2):  # count, then fill
        at = start.copy()
        for r in range(len(fits.group)):
            for i in range(fits.start[r], fits.end[r]):
                p = fits.order[i]
                key = fits.group[r] * values + codes[p]
                cell = np.searchsorted(cells, key)
                if cell == len(cells) or cells[cell] != key:
                    continue
                if turn == 0:
                    start[p + 1] += count[cell]
                    groups[p] += 1
                else:
                    for j in range(count[cell]):
                        column[at[p]] = first[cell] + j
                        at[p] += 1
        if turn == 0:
            start = np.cumsum(start)
            column = np.empty(start[-1], np.int64)
    return start, column, groups
