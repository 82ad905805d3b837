"""Independent check of what a policy promises, from what is stored and nothing else.

This room imports no publisher. One-table promises are recomputed from the release and the policy
alone; that a release is true to its view is checked while the view is at hand. Promises over the
series are next door, in `verify.series`.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.errors import PolicyError, SchemaError
from republish.hierarchies import ROOT
from republish.microdata import Microdata, no_codes, sensitive_codes, whole_of
from republish.release.grouped_table import GroupedTable, renumbered
from republish.release.release import LEVEL, TABLE_CSV, Release, stored_table
from republish.release.two_tables import BATCH
from republish.requirements import Requirement, Whole
from republish.requirements.histograms import histograms
from republish.schema import Schema
from republish.sources.paths import read_csv
from republish.sources.tables import read_table
from republish.verify.check import STATISTICS, Check, Verification

ANY = ROOT
_BLOCK = 1 << 18  # rows
_SAME = "table.csv and table.parquet say the same."


def verify_table(source: Any, schema: Schema, requirements: Sequence[Requirement]) -> Verification:
    """Check any table, also one that another tool made.

    Groups are the `group` column, else equal quasi-identifiers; rows with every quasi-identifier `*`
    count as suppressed.
    """
    frame = read_table(source, schema.missing)
    columns = quasi_columns(frame, schema)
    suppressed = all_starred(frame, columns)
    if suppressed.all():
        suppressed[:] = False  # a table that says nothing of anybody is one group
    found = verify_frame(frame, schema, requirements, suppressed)
    return found.with_checks(_labelled(frame, columns, schema))


@dataclass(frozen=True)
class AtLarge:
    """The table that a part belongs to: its sensitive values, code by code, and what it says of them."""

    values: pl.Series
    whole: Whole


def verify_stored(
    table: GroupedTable,
    schema: Schema,
    requirements: Sequence[Requirement],
    large: AtLarge | None = None,
    csv: Path | None = None,
) -> Verification:
    """Check the table of a stored release, and the CSV table where there is one.

    A table in parts has no CSV table. Of a part, groups whole, `large` is the table that closeness is measured by.
    """
    found = verify_frame(table, schema, requirements, large=large)
    same = [compared_tables(table, csv, schema)] if csv is not None and csv.exists() else []
    return found.with_checks(*same, counterfeits_fit(table))


def verify_frame(
    frame: pl.DataFrame | GroupedTable,
    schema: Schema,
    requirements: Sequence[Requirement],
    suppressed: BoolArray | None = None,
    large: AtLarge | None = None,
) -> Verification:
    """Check a table, `suppressed` rows aside; see `verify_stored` for `large`."""
    table = frame if isinstance(frame, GroupedTable) else GroupedTable(frame)
    columns = quasi_columns(table, schema)
    if suppressed is None:
        suppressed = np.zeros(table.height, dtype=np.bool_)
    if any(requirement.needs_sensitive for requirement in requirements) and schema.sensitive is None:
        raise PolicyError("these requirements need a sensitive column; label one in the schema")
    codes, values = (
        sensitive_codes(table[schema.sensitive.name], schema.sensitive, large.values if large else None)
        if schema.sensitive is not None
        else no_codes(table.height)
    )
    whole = whole_of(schema.sensitive, codes, values) if large is None else large.whole
    group, groups = number_groups(table, columns)
    kept = ~suppressed
    group, groups = renumbered(group[kept]) if suppressed.any() else (group, groups)
    kept_codes = codes[kept] if suppressed.any() else codes
    sizes = np.bincount(group, minlength=groups)
    holds = np.ones((len(requirements), groups), dtype=np.bool_)
    reached = np.zeros((len(requirements), groups))
    for first, counts in histograms(group, kept_codes, groups, len(values)):
        part = slice(first, first + len(counts))
        for i, requirement in enumerate(requirements):
            reached[i, part] = requirement.achieved(counts, whole)
            holds[i, part] = requirement.holds(counts, whole)
    checks = [
        Check(
            requirement.text,
            bool(holds[i].all()),
            requirement.describe(),
            requirement.worst(reached[i]) if groups else None,
            int(np.count_nonzero(~holds[i])),
            int(sizes[~holds[i]].sum()),
        )
        for i, requirement in enumerate(requirements)
    ]
    if "group" in table.columns:
        levels = [LEVEL] if LEVEL in table.columns else []
        checks.append(uniform_groups(table, [*levels, *columns]))
    return Verification(table.height, groups, int(suppressed.sum()), tuple(checks))


def quasi_columns(frame: pl.DataFrame | GroupedTable, schema: Schema) -> list[str]:
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


def _labelled(frame: pl.DataFrame, columns: list[str], schema: Schema) -> Check:
    """Every column of a table must have a role, and none may name people."""
    known = {"group", LEVEL, *columns, *schema.published_columns}
    strange = [name for name in frame.columns if name not in known]
    return Check(
        "columns have roles",
        not strange,
        "Every column of the table is a quasi-identifier, insensitive or the sensitive one; nothing names people.",
        None,
        0,
        frame.height if strange else 0,
    )


def all_starred(frame: pl.DataFrame, columns: list[str]) -> BoolArray:
    """Which rows say `*` in all of these columns: they were suppressed."""
    texts = [name for name in columns if frame.schema[name] == pl.String]
    if len(texts) < len(columns):
        return np.zeros(frame.height, dtype=np.bool_)
    return frame.select(pl.all_horizontal(pl.col(texts).eq_missing(pl.lit(ANY)))).to_series().to_numpy()


def number_groups(table: GroupedTable, columns: list[str]) -> tuple[IntArray, int]:
    """Groups as 0, 1, ...: those that the table names, else rows alike in these columns."""
    if "group" in table.columns:
        return table.numbering[:2]
    if not table.height:
        return np.zeros(0, dtype=np.int64), 0
    alike = pl.DataFrame([table[name] for name in columns]).select(pl.struct(columns).rank("dense"))
    return renumbered(alike.to_series().to_numpy())


def uniform_groups(table: GroupedTable, columns: list[str]) -> Check:
    """All rows of a group must show the same cells: else the group is a claim, not a protection."""
    differs = table.apart(columns)
    return Check(
        "uniform groups",
        not differs.any(),
        "All rows of a group show the same quasi-identifiers.",
        None,
        len(np.unique(table.numbering.group[differs])),
        int(differs.sum()),
    )


def same_tables(folder: Path, schema: Schema) -> Check:
    """The CSV table of a stored release must say what its Parquet table says."""
    with stored_table(folder) as table:
        return compared_tables(table, folder / TABLE_CSV, schema)


def compared_tables(table: GroupedTable, text: Path, schema: Schema) -> Check:
    """The CSV table must say what the Parquet table says, cell by cell; the cells are spelled here anew."""
    own = [name for name in (LEVEL, BATCH) if name in table.columns]
    plain = ["group", *own, *schema.insensitive, *([schema.sensitive.name] if schema.sensitive else [])]
    cells = [column.name for column in schema.quasi_identifiers]
    types = {name: table.schema[name] for name in plain} | dict.fromkeys(cells, pl.String())
    if _as_written(table, text, plain, cells):
        return Check("same tables", True, _SAME, None, 0, 0)
    found = read_csv(text, schema_overrides=types)
    if found.height != table.height or set(found.columns) != set(types):
        return Check("same tables", False, _SAME, None, 0, max(found.height, table.height))
    differs = np.zeros(table.height, dtype=np.bool_)
    for name in plain:
        differs |= found.drop_in_place(name).ne_missing(table[name]).to_numpy()
    for name in cells:
        expected, cell = _spelled(table, name).gather(table.numbering.group), found.drop_in_place(name)
        if table.schema.get(f"{name}_lo") == pl.Float64:
            cell = _with_both_ends_in(cell)
        differs |= cell.ne_missing(expected).to_numpy()
    return Check("same tables", not differs.any(), _SAME, None, 0, int(differs.sum()))


def _as_written(table: GroupedTable, text: Path, plain: list[str], cells: list[str]) -> bool:
    """Whether the CSV table is the texts of the Parquet table with commas between them, byte by byte.

    One that is not may say the same all the same, as with quotes or half-open intervals. What texts with commas, quotes
    or line breaks say is for a parser to tell, and what empty ones do.
    """
    by_group = ["group", *([LEVEL] if LEVEL in plain else []), *cells]
    by_row = [name for name in plain if name not in by_group]
    shown = [
        _spelled(table, name) if name in cells else table.of_groups(name).cast(pl.String) for name in by_group
    ]
    if not all(map(_is_plain, (*shown, *(table[name] for name in by_row)))):
        return False
    groups = pl.DataFrame([column.fill_null("").alias(str(at)) for at, column in enumerate(shown)])
    line = groups.select(pl.concat_str(pl.all(), separator=",").alias("group")).to_series()
    with text.open("rb") as file:
        if file.readline() != (",".join([*by_group, *by_row]) + "\n").encode():
            return False
        for start in range(0, table.height, _BLOCK):
            rows = slice(start, start + _BLOCK)
            block = pl.DataFrame(
                [line.gather(table.numbering.group[rows]), *(table[name][rows] for name in by_row)]
            )
            expected = io.BytesIO()
            block.write_csv(expected, include_header=False, quote_style="never")
            if file.read(expected.tell()) != expected.getvalue():
                return False
        return not file.read(1)


def _is_plain(column: pl.Series) -> bool:
    """Whether every cell of a CSV table that shows these is the text alone."""
    if column.dtype != pl.String:
        return column.dtype.is_integer() or column.dtype in (pl.Date, pl.Boolean)
    return not column.str.contains('^$|[",\n\r]').any()


def _spelled(table: GroupedTable, name: str) -> pl.Series:
    """The cell of every group of the typed table as the CSV table must spell it."""
    missing = table.of_groups(f"{name}_missing") if f"{name}_missing" in table.columns else None
    if name in table.columns:
        cell = table.of_groups(name)
        text = _spelled_set(cell) if cell.dtype == pl.List else cell
    else:
        low, high = (table.of_groups(f"{name}_{end}").cast(pl.String) for end in ("lo", "hi"))
        dash = low.str.contains("-", literal=True) | high.str.contains("-", literal=True)
        mark = pl.select(pl.when(dash).then(pl.lit("..")).otherwise(pl.lit("-"))).to_series()
        text = pl.select(pl.when(low == high).then(low).otherwise("[" + low + mark + high + "]")).to_series()
        text = _with_open_ends(text, low, high, missing)
    if missing is None:
        return text
    return pl.select(pl.when(missing.is_null()).then(pl.lit(ANY)).otherwise(text)).to_series()


def _with_both_ends_in(texts: pl.Series) -> pl.Series:
    """Intervals of decimals with ends that are in: `(1.71-2.5]` begins at the number next to 1.71."""
    told = texts.unique().drop_nulls()
    told = told.filter(told.str.contains(r"^(\(|[<>][^=])|\)$"))
    if not len(told):
        return texts
    return texts.replace(told, pl.Series([_both_ends_in(text) for text in told], dtype=pl.String))


def _both_ends_in(text: str) -> str:
    def moved(end: str, outwards: float) -> str:
        return str(pl.Series([math.nextafter(float(end), outwards)]).cast(pl.String)[0])

    try:
        if text[0] in "<>":
            return f"{text[0]}={moved(text[1:], math.inf if text[0] == '>' else -math.inf)}"
        low, high = re.split(r"(?<=\d)(?:\.\.|-)(?=[-\d])", text[1:-1])
        low = moved(low, math.inf) if text[0] == "(" else low
        high = moved(high, -math.inf) if text[-1] == ")" else high
    except ValueError:
        return text
    return f"[{low}{'..' if '-' in low + high else '-'}{high}]"


def _with_open_ends(text: pl.Series, low: pl.Series, high: pl.Series, missing: pl.Series | None) -> pl.Series:
    """The texts of intervals, also of those without a low or a high end, unless all values are missing."""
    if not (low.null_count() or high.null_count()):
        return text
    absent = pl.repeat(False, len(text), eager=True) if missing is None else missing.fill_null(value=True)
    neither, below, above = low.is_null() & high.is_null() & ~absent, low.is_null(), high.is_null()
    return pl.select(
        pl.when(neither)
        .then(pl.lit(ANY))
        .when(below & ~above)
        .then("<=" + high)
        .when(above & ~below)
        .then(">=" + low)
        .otherwise(text)
    ).to_series()


def _spelled_set(cell: pl.Series) -> pl.Series:
    single = cell.list.len() == 1
    only = cell.list.first()
    odd = (only == ANY) | only.str.starts_with("{")
    escaped = cell.list.eval(
        pl.element().str.replace_all("\\", "\\\\", literal=True).str.replace_all("|", "\\|", literal=True)
    ).list.join("|")
    return pl.select(pl.when(single & ~odd).then(only).otherwise("{" + escaped + "}")).to_series()


def counterfeits_fit(table: GroupedTable) -> Check:
    """Counterfeit statistics may name published groups only, and never more rows than the group has."""
    wrong = 0
    if table.counterfeits is not None:
        sizes = table["group"].to_frame().group_by("group").len()
        stated = table.counterfeits.join(sizes, on="group", how="left")
        wrong = stated.filter(
            pl.col("len").is_null() | (pl.col("count") < 1) | (pl.col("count") > pl.col("len"))
        ).height
    return Check(STATISTICS, wrong == 0, "Counterfeit counts fit the groups they name.", None, wrong, 0)


def codes_of(release: Release, view: Microdata) -> IntArray:
    """The sensitive code of every published row as the view counts them; values that it does not have come after."""
    sensitive = view.schema.sensitive
    if sensitive is None:
        return no_codes(release.rows)[0]
    return sensitive_codes(release.rest[sensitive.name], sensitive, view.values)[0]


def verify_against_view(
    release: Release, view: Microdata, group_of_row: IntArray, codes: IntArray | None = None
) -> Check:
    """A release must be true: every row of the view lies in the cells of its group, every value is published once.

    `codes` are the sensitive codes of the release as the view counts them, where they are known.
    """
    kept = group_of_row > 0
    wrong = 0
    for start in range(0, len(kept), _BLOCK):
        rows = start + np.flatnonzero(kept[start : start + _BLOCK])
        place = group_of_row[rows].astype(np.int64) - 1
        covers = (cells.cover(place, view.points[q][rows]) for q, cells in enumerate(release.cells))
        wrong += int((~np.logical_and.reduce(list(covers))).sum()) if release.cells else 0
    place = group_of_row[kept].astype(np.int64) - 1
    if codes is None:
        codes = codes_of(release, view)
    m = max(len(view.values), int(codes.max(initial=-1)) + 1)
    extra = np.zeros(release.group_count, dtype=np.int64)
    pairs = zip(
        histograms(release.group.astype(np.int64) - 1, codes, release.group_count, m),
        histograms(place, view.codes[kept], release.group_count, m),
        strict=True,
    )
    for (first, published), (_, real) in pairs:
        wrong += int(np.maximum(real - published, 0).sum())
        extra[first : first + len(real)] = (published - real).sum(axis=1)
    wrong += int(np.count_nonzero(extra != release.counterfeits))
    return Check(
        "true to the view",
        wrong == 0,
        "Every published row is a row of the view in its own group, counterfeits aside.",
        None,
        0,
        wrong,
    )
