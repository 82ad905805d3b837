"""A series that another tool published, read so that every attack can be made on it.

Given are the release tables, a schema, and the raw views with their identifier. Groups are those that `verify TABLE`
sees: the `group` column, else equal quasi-identifiers; rows with every quasi-identifier `*` count as suppressed. Cells
are read as this tool writes them, and in some more spellings: `20-30`, `[20, 30)`, `4*`, `120**`. A cell `*` says
nothing, and an empty one that the value is missing.

Other tools do not say who is in which group. For attacks that grant it everybody is put into a group whose cells hold
her quasi-identifiers and that has a row of her true value, no row twice and as many rows in use as can be. Where
several such assignments exist one of them is granted, which need not be the one that the other tool had in mind; how
many people could be elsewhere is counted. Whoever finds no row was left out, and rows that nobody takes are nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from republish.arrays import IntArray
from republish.attacks.history import History
from republish.attacks.matching.fitting import Fits, fitting
from republish.attacks.matching.sightings import MatchedView
from republish.attacks.tables import LEFT_OUT, Table
from republish.errors import PolicyError, SchemaError, ViewError
from republish.hierarchies import Tree
from republish.kernels import kernel
from republish.memory.event_lists import Appearances, events_of
from republish.microdata import FLAT, Axis, Microdata, read_view, sensitive_codes
from republish.release.cells import ALL_MISSING, ANY, NONE_MISSING, SOME_MISSING, Cells, set_texts
from republish.release.grouped_table import GroupedTable
from republish.release.release import LEVEL, Release, labels_of_set
from republish.schema import Date, Schema
from republish.secret import Secret
from republish.sources.tables import read_table
from republish.verify.table import all_starred, number_groups, quasi_columns, uniform_groups

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")
"""How the names of release tables end; other files of their folder are none."""

Range = tuple[float, float]
_EPOCH = date(1970, 1, 1)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DAY = r"\d{4}-\d\d-\d\d"
_STARRED = re.compile(r"(\d+)(\*+)")
_NOBODY: Range = (np.inf, -np.inf)
_MISSING, _ANYTHING = (-np.inf,), (-np.inf, np.inf)  # what an empty cell holds, and what `*` does


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
        tuple(_cells(by_group, axis, number) for axis in axes),
        pl.DataFrame([frame[name] if name in frame.columns else nothing.rename(name) for name in own]),
        np.zeros(groups, dtype=np.int64),
        by_group[LEVEL].cast(pl.Int64).to_numpy() if LEVEL in frame.columns else None,
    )


def _cells(by_group: pl.DataFrame, axis: Axis, number: int) -> Cells:
    """The cells of one quasi-identifier, each spelling read once."""
    name = axis.column.name
    flags = by_group[f"{name}_missing"] if f"{name}_missing" in by_group.columns else None
    bounds = [by_group[f"{name}_{end}"] for end in ("lo", "hi") if f"{name}_{end}" in by_group.columns]
    parts = [set_texts(part) if part.dtype == pl.List else part for part in bounds or [by_group[name]]]
    spelled = pl.DataFrame([part.cast(pl.String).rename(str(i)) for i, part in enumerate(parts)])
    distinct = spelled.unique(maintain_order=True)
    read = _reader(axis)
    found = [read(ends) for ends in zip(*(column.to_list() for column in distinct), strict=True)]
    wrong = sum(one is None for one in found)
    if wrong:
        raise SchemaError(
            f"release {number}, column {name}: {wrong} different cells cannot be read as {axis.column.kind}; write "
            "intervals as [20-30], sets as {a|b}, or give the hierarchy that the labels are of"
        )
    which = spelled.join(
        distinct.with_row_index("at"),
        on=distinct.columns,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["at"]
    place = which.cast(pl.Int64).to_numpy()
    kinds = {_MISSING: ALL_MISSING, _ANYTHING: SOME_MISSING}
    kind = np.array([kinds.get(one or (), NONE_MISSING) for one in found], dtype=np.int8)[place]
    if flags is not None:
        kind[flags.is_null().to_numpy()] = SOME_MISSING
        kind[flags.fill_null(value=False).to_numpy()] = ALL_MISSING
    said = kind == NONE_MISSING
    ends = np.array([(min(one), max(one)) if one else _NOBODY for one in found]).reshape(-1, 2)[place]
    low, high = (np.where(said, part, np.nan) for part in ends.T)
    if axis.kind_code != FLAT:
        if axis.whole_numbers:
            low, high = (
                np.ceil(low),
                np.floor(high),
            )  # an end that does not belong to an interval lies beside it
        return Cells(axis, low, high, kind, level=_levels(axis, distinct, found)[place])
    sets = pl.Series([list(one or ()) for one in found], dtype=pl.List(pl.Float64)).gather(place)
    sizes = np.where(said, sets.list.len().to_numpy(), 0)
    members = sets.filter(pl.Series(sizes > 0, dtype=pl.Boolean)).explode().cast(pl.Int64).to_numpy()
    return Cells(
        axis, low, high, kind, offsets=np.append(0, np.cumsum(sizes)).astype(np.int64), members=members
    )


def _levels(axis: Axis, spelled: pl.DataFrame, found: Sequence[tuple[float, ...] | None]) -> IntArray:
    """The level of the node that every spelling names, or of the lowest node around all that it names."""
    level = np.zeros(spelled.height, dtype=np.int64)
    if axis.hierarchy is None:
        return level
    named: dict[str, int] = {}
    for path in axis.hierarchy.labels:
        for height, label in enumerate(path):
            named.setdefault(label, height)
    for at, (text, ends) in enumerate(zip(spelled[spelled.columns[0]].to_list(), found, strict=True)):
        if ends and np.isfinite(ends).all():
            first, last = (np.array([int(end)]) for end in (min(ends), max(ends)))
            around = int(axis.hierarchy.lowest_common(first, last)[0])
            level[at] = max(named.get(text, around), around)
    return level


def _reader(axis: Axis) -> Callable[[tuple[str | None, ...]], tuple[float, ...] | None]:
    """Reads the text, or both ends, of a cell: positions of a set, else both ends; `None` for what is no cell."""
    one: Callable[[str], tuple[float, ...] | None]
    if axis.kind_code == FLAT:
        one = partial(_positions, {label: float(at) for at, label in enumerate(axis.labels)})
    elif axis.hierarchy is not None:
        one = partial(_leaves, _nodes(axis.hierarchy))
    elif axis.labels:
        one = partial(_ordered, {label: float(at) for at, label in enumerate(axis.labels)})
    else:
        one = _day if isinstance(axis.column, Date) else partial(_number, axis.whole_numbers)

    def read(parts: tuple[str | None, ...]) -> tuple[float, ...] | None:
        texts = [part for part in parts if part is not None]
        if len(texts) < len(parts):
            return _MISSING
        if texts == [ANY]:
            return _ANYTHING
        ends = [one(text) for text in texts]
        if any(end is None for end in ends):
            return None
        return ends[0] if len(ends) == 1 else tuple(float(x) for end in ends if end for x in end)

    return read


def _positions(place: Mapping[str, float], text: str) -> tuple[float, ...]:
    """The places of a set of categories, sorted; a category that nobody in the view has is none of them."""
    if text in place:
        return (place[text],)
    if text.startswith("{") and text.endswith("}"):
        return tuple(sorted(place[label] for label in set(labels_of_set(text)) if label in place))
    kept = text.rstrip(ANY)
    alike = (label for label in place if label.startswith(kept) and len(label) == len(text) > len(kept))
    return tuple(sorted(place[label] for label in alike))


def _nodes(tree: Tree) -> dict[str, Range]:
    """First and last leaf below every label."""
    nodes: dict[str, Range] = {}
    for at, path in enumerate(tree.labels):
        for level, label in enumerate(path):
            nodes.setdefault(label, (float(tree.start[at, level]), float(tree.end[at, level] - 1)))
    return nodes


def _leaves(nodes: Mapping[str, Range], text: str) -> tuple[float, ...] | None:
    """The first and the last leaf below a label, or around all labels of a set."""
    labels = labels_of_set(text) if text.startswith("{") and text not in nodes else [text]
    found = [nodes[label] for label in labels if label in nodes]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def _number(whole: bool, text: str) -> Range | None:
    starred = _STARRED.fullmatch(text)
    if starred is not None:
        unit = 10.0 ** len(starred[2])
        low = float(starred[1]) * unit
        return low, low + unit - 1.0 if whole else float(np.nextafter(low + unit, low))
    return _interval(text, _NUMBER, float)


def _day(text: str) -> Range | None:
    return _interval(text, _DAY, lambda day: float((date.fromisoformat(day) - _EPOCH).days))


def _interval(text: str, item: str, value: Callable[[str], float]) -> Range | None:
    """A single value, or the ends of an interval; an end that does not belong to it is moved next to it."""
    single = re.fullmatch(item, text.strip())
    found = re.fullmatch(rf"\s*([\[(\]]?)\s*({item})\s*(?:\.\.|-|,|;)\s*({item})\s*([\])\[]?)\s*", text)
    try:
        if single is not None:
            return value(text), value(text)
        if found is None:
            return None
        low, high = value(found[2]), value(found[3])
    except ValueError:
        return None
    low = np.nextafter(low, np.inf) if found[1] in ("(", "]") else low
    high = np.nextafter(high, -np.inf) if found[4] in (")", "[") else high
    return float(low), float(high)


def _ordered(place: Mapping[str, float], text: str) -> Range | None:
    """Places in an order; labels may hold dashes themselves."""
    if text in place:
        return place[text], place[text]
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    for mark in re.finditer(r"\.\.|-", inner):
        low, high = inner[: mark.start()].strip(), inner[mark.end() :].strip()
        if low in place and high in place:
            return place[low], place[high]
    return None


def assigned(fits: Fits, codes: IntArray, row_group: IntArray, row_code: IntArray) -> tuple[IntArray, int]:
    """A group for every person, -1 for none, so that as many rows as possible are taken; and who could be elsewhere.

    A row is taken once, by a person of its value whom its group fits.
    """
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
