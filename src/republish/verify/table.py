"""Independent check of what a policy promises, from what is stored and nothing else.

This room imports no publisher. One-table promises are recomputed from the release and the policy
alone; that a release is true to its view is checked while the view is at hand. Promises over the
series are next door, in `verify.series`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.errors import PolicyError
from republish.microdata import Microdata, no_codes, sensitive_codes, whole_of
from republish.release.release import COUNTERFEITS, LEVEL, TABLE_CSV, TABLE_PARQUET, Release
from republish.requirements import Requirement, Whole
from republish.requirements.histograms import histograms
from republish.schema.schema import Schema
from republish.sources.paths import nearby, read_csv
from republish.sources.tables import read_table
from republish.verify.check import STATISTICS, Check, Verification
from republish.verify.columns import (
    ColumnTable,
    StoredTable,
    all_starred,
    number_groups,
    quasi_columns,
    renumber,
    stored_alike,
    uniform,
)


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


def verify_release(
    folder: Path, schema: Schema, requirements: Sequence[Requirement], large: AtLarge | None = None
) -> Verification:
    """Check a stored release: its promises from the Parquet table, and that both tables say the same.

    A table in parts has no CSV table. Of a part, groups whole, `large` is the table that closeness is measured by.
    """
    with nearby(folder / TABLE_PARQUET) as path:
        frame = StoredTable(path)
        found = verify_frame(frame, schema, requirements, large=large)
        same = [stored_alike(frame, folder, schema)] if (folder / TABLE_CSV).exists() else []
        return found.with_checks(*same, _counterfeits_fit(frame, folder))


def verify_frame(
    frame: ColumnTable,
    schema: Schema,
    requirements: Sequence[Requirement],
    suppressed: BoolArray | None = None,
    large: AtLarge | None = None,
) -> Verification:
    """Check a table, `suppressed` rows aside; see `verify_release` for `large`."""
    columns = quasi_columns(frame, schema)
    if suppressed is None:
        suppressed = np.zeros(frame.height, dtype=np.bool_)
    if any(requirement.needs_sensitive for requirement in requirements) and schema.sensitive is None:
        raise PolicyError("these requirements need a sensitive column; label one in the schema")
    codes, values = (
        sensitive_codes(frame[schema.sensitive.name], schema.sensitive, large.values if large else None)
        if schema.sensitive is not None
        else no_codes(frame.height)
    )
    whole = whole_of(schema.sensitive, codes, values) if large is None else large.whole
    group, groups = number_groups(frame, columns)
    kept = ~suppressed
    group, groups = renumber(group[kept]) if suppressed.any() else (group, groups)
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
    if "group" in frame.columns:
        levels = [LEVEL] if LEVEL in frame.columns else []
        checks.append(uniform(frame, [*levels, *columns]))
    return Verification(frame.height, groups, int(suppressed.sum()), tuple(checks))


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


def _counterfeits_fit(frame: ColumnTable, folder: Path) -> Check:
    """Counterfeit statistics may name published groups only, and never more rows than the group has."""
    path = folder / COUNTERFEITS
    wrong = 0
    if path.exists():
        sizes = frame["group"].to_frame().group_by("group").len()
        stated = read_csv(path, schema_overrides={"group": pl.Int32}).join(sizes, on="group", how="left")
        wrong = stated.filter(
            pl.col("len").is_null() | (pl.col("count") < 1) | (pl.col("count") > pl.col("len"))
        ).height
    return Check(STATISTICS, wrong == 0, "Counterfeit counts fit the groups they name.", None, wrong, 0)


def verify_against_view(release: Release, view: Microdata, group_of_row: IntArray) -> Check:
    """A release must be true: every row of the view lies in the cells of its group, every value is published once."""
    kept = group_of_row > 0
    place = group_of_row[kept].astype(np.int64) - 1
    outside = np.zeros(int(kept.sum()), dtype=np.bool_)
    for q, cells in enumerate(release.cells):
        outside |= ~cells.cover(place, view.points[q][kept])
    wrong = int(outside.sum())
    sensitive = view.schema.sensitive
    codes, values = (
        sensitive_codes(release.rest[sensitive.name], sensitive, view.values)
        if sensitive is not None
        else no_codes(release.rows)
    )
    m = len(values)
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
