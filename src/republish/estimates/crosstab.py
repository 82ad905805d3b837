"""The table of a quasi-identifier by the sensitive value, as a release lets it be estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError
from republish.estimates.bins import Bin, Edge, bins_of, cell_shares, density_of, missing_bin, span_of
from republish.estimates.em import fit
from republish.estimates.units import units_of
from republish.metrics.boxes import require_sensitive
from republish.metrics.information import mutual_information
from republish.queries.columns import Columns
from republish.queries.counts import count_many
from republish.queries.language import Every
from republish.release.release import Release
from republish.release.two_tables import AnyRelease

Method = Literal["spread", "em"]


@dataclass(frozen=True, eq=False)
class Crosstab:
    """Expected people of every bin and value, with standard errors and bounds that hold for certain.

    With `method="em"` standard errors are those of the even spread, and the estimate lies within the bounds too.
    """

    column: str
    sensitive: str
    bins: tuple[str, ...]
    values: tuple[str, ...]
    expected: FloatArray
    standard_error: FloatArray
    lower: IntArray
    upper: IntArray
    method: str = "spread"
    strength: float | None = None

    @property
    def mutual_information(self) -> float:
        """What the bin says of the value, in nats."""
        return mutual_information(self.expected)

    @property
    def cramers_v(self) -> float:
        """Association of bin and value, from 0 to 1."""
        table = self.expected[self.expected.sum(axis=1) > 0][:, self.expected.sum(axis=0) > 0]
        total, least = table.sum(), min(table.shape) - 1
        if total == 0 or least < 1:
            return 0.0
        even = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / total
        return float(np.sqrt(((table - even) ** 2 / even).sum() / total / least))

    def frame(self) -> pl.DataFrame:
        """One line for every bin and value."""
        return pl.DataFrame(
            {
                self.column: np.repeat(self.bins, len(self.values)),
                self.sensitive: np.tile(self.values, len(self.bins)),
                "expected": self.expected.ravel(),
                "standard_error": self.standard_error.ravel(),
                "lower": self.lower.ravel(),
                "upper": self.upper.ravel(),
            }
        )

    def table(self) -> pl.DataFrame:
        """Expected people: one line a bin, one column a value."""
        return pl.DataFrame({self.column: self.bins, **dict(zip(self.values, self.expected.T, strict=True))})

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {
            "column": self.column,
            "sensitive": self.sensitive,
            "method": self.method,
            "bins": list(self.bins),
            "values": list(self.values),
            "expected": self.expected.tolist(),
            "standard_error": self.standard_error.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "mutual_information": self.mutual_information,
            "cramers_v": self.cramers_v,
        }


def crosstab(
    release: AnyRelease,
    column: str,
    bins: Sequence[Edge] | None = None,
    *,
    values: Sequence[Edge] | None = None,
    method: Method = "spread",
) -> Crosstab:
    """The expected table of a quasi-identifier, in bins, by sensitive value.

    Args:
        release: the release, in one table or two.
        column: a quasi-identifier.
        bins: where the bins of numbers, dates and ordered values begin, or categories; see `bins_of`.
        values: the same for the sensitive value.
        method: `spread` takes values to be independent of people inside a group or batch, `em` looks for the likeliest
            table, as far as batches that were held out bear it out.
    """
    require_sensitive(release.schema, "a table by sensitive value")
    assert release.schema.sensitive is not None
    sensitive = release.schema.sensitive.name
    names = [cells.axis.column.name for cells in release.people.cells]
    if column not in names:
        raise PolicyError(
            f"a table by sensitive value is that of a quasi-identifier: one of {', '.join(names)}"
        )
    if method not in ("spread", "em"):
        raise PolicyError(f'a table is estimated with method "spread" or "em", found {method!r}')
    columns = Columns(release)
    rows = _with_missing(columns, column, bins_of(columns, column, bins))
    kinds = _with_missing(columns, sensitive, bins_of(columns, sensitive, values))
    asked = [Every((row.condition, kind.condition)) for row in rows for kind in kinds]
    found, shape = count_many(release, asked), (len(rows), len(kinds))
    made = Crosstab(
        column,
        sensitive,
        tuple(row.name for row in rows),
        tuple(kind.name for kind in kinds),
        found.expected.reshape(shape),
        found.standard_error.reshape(shape),
        found.lower.reshape(shape),
        found.upper.reshape(shape),
    )
    return made if method == "spread" else _likeliest(release, columns, made, rows, kinds)


def _likeliest(
    release: AnyRelease, columns: Columns, spread: Crosstab, rows: list[Bin], kinds: list[Bin]
) -> Crosstab:
    """The table that batches bear out, and people without a batch as the even spread has them."""
    units = units_of(release)
    cells = {cells.axis.column.name: cells for cells in release.people.cells}[spread.column]
    by_batch = units.margins(
        cell_shares(cells, [span_of(columns, row) for row in rows], density_of(columns, cells))
    )
    by_batch *= (units.sizes / np.maximum(by_batch.sum(axis=1), 1e-12))[:, None]
    places = columns.places(columns.sensitive)
    kind = np.full(len(places), -1, dtype=np.int64)
    for k, one in enumerate(kinds):
        span = span_of(columns, one)
        inside = np.where(places < 0, span.missing, False)
        for low, high in span.intervals:
            inside |= (low <= places) & (places <= high)
        kind[inside] = k
    counted = units.counts(kind, len(kinds))
    found = fit(by_batch, counted)
    even = fit(by_batch, counted, np.inf).table
    table = np.clip(spread.expected + found.table - even, spread.lower, spread.upper)
    return replace(spread, expected=table, method="em", strength=found.strength)


def _with_missing(columns: Columns, name: str, bins: list[Bin]) -> list[Bin]:
    """The bins, and one for the missing value where somebody may lack it."""
    release = columns.release
    axes = {cells.axis.column.name: cells for cells in release.people.cells}
    if name in axes:
        lacking = bool((axes[name].missing > 0).any())
    else:
        hidden = not isinstance(release, Release) and bool((release.batch == 0).any())
        lacking = hidden or bool((columns.places(columns.names.index(name)) < 0).any())
    return [*bins, missing_bin(name)] if lacking else bins
