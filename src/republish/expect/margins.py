"""What is kept of a view to compare the next one with: of every column what it counts alone, and no row.

Counts add up over the parts of a view, so that one made in parts has the same margins as one that was read as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.microdata import MISSING, Axis, Microdata
from republish.schema import Date, Number
from republish.sources.values import as_text

NUMBERS, DATES, TRUTH, TEXTS = "numbers", "dates", "truth values", "texts"
_STEPS, _ZERO = 8, 1 << 14  # bins for each doubling of a number; where the exponent 0 lies
_YEARS = 5  # bins of dates, coarse: who was born when is nobody's business here
_MOST = 1_000
"""Different values of an insensitive column beyond which they are not counted."""


Counted = tuple[FloatArray, FloatArray]
"""Values, and how many rows have each."""


@dataclass(frozen=True)
class ColumnMargin:
    """Cells of a column, those missing, what the others look like, and how many there are of each.

    `labels` counts texts; `sizes` counts numbers by sign and size, in steps of a ninth; `years` counts dates by the
    five years that they lie in, under the first of them. Each is `None` where it is not kept.
    """

    cells: int
    missing: int
    looks: str | None = None
    labels: Mapping[str, int] | None = None
    sizes: Mapping[int, int] | None = None
    years: Mapping[int, int] | None = None

    @property
    def filled(self) -> int:
        return self.cells - self.missing

    @property
    def quartiles(self) -> FloatArray | None:
        """The quartiles of a column of numbers, each right to a few percent."""
        return self._quantiles(0.25, 0.5, 0.75)

    @property
    def ends(self) -> FloatArray | None:
        """The lowest and the highest number, each right to a few percent."""
        return self._quantiles(0.0, 1.0)

    @property
    def numbers(self) -> Counted | None:
        """The numbers in order, each right to a few percent, and how many rows have each."""
        if not self.sizes:
            return None
        bins = np.array(list(self.sizes), dtype=np.int64)
        values = np.sign(bins) * 2.0 ** ((np.abs(bins) - _ZERO) / _STEPS)
        order = np.argsort(values)
        return values[order], np.array(list(self.sizes.values()), dtype=np.float64)[order]

    @property
    def dates(self) -> Counted | None:
        """The first year of every five that hold a date, and how many rows lie in them."""
        if not self.years:
            return None
        return np.array(list(self.years), np.float64), np.array(list(self.years.values()), np.float64)

    def _quantiles(self, *shares: float) -> FloatArray | None:
        numbers = self.numbers
        if numbers is None:
            return None
        values, upto = numbers[0], np.cumsum(numbers[1])
        places = np.searchsorted(upto, np.array(shares) * upto[-1])
        return np.asarray(values[places], dtype=np.float64)

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {"cells": self.cells, "missing": self.missing, "looks": self.looks}
        if self.labels is not None:
            found["labels"] = dict(self.labels)
        if self.sizes is not None:
            found["sizes"] = list(self.sizes.items())
        if self.years is not None:
            found["years"] = list(self.years.items())
        return found


@dataclass(frozen=True)
class Margins:
    """The margins of a view by column; a column that the source does not have any more is not among them."""

    rows: int
    columns: Mapping[str, ColumnMargin]

    @classmethod
    def of(cls, view: Microdata) -> Margins:
        """The margins of a view, or of a part of one."""
        schema, columns = view.schema, dict[str, ColumnMargin]()
        for axis, points in zip(view.axes, view.points, strict=True):
            columns[axis.column.name] = _of_axis(axis, points)
        if schema.sensitive is not None:
            columns[schema.sensitive.name] = _of_codes(view)
        for name in view.insensitive.columns:
            columns[name] = _of_cells(view.insensitive[name])
        return cls(view.rows, columns)

    @classmethod
    def together(cls, parts: Sequence[Margins]) -> Margins:
        """The margins of a view from those of its parts."""
        names = parts[0].columns if parts else ()
        return cls(
            sum(part.rows for part in parts),
            {name: _merged([part.columns[name] for part in parts]) for name in names},
        )

    def lacking(self, names: Iterable[str]) -> Margins:
        """Without those of these columns in which nothing is but missing cells."""
        gone = {name for name in names if not self.columns[name].filled}
        return Margins(self.rows, {name: one for name, one in self.columns.items() if name not in gone})

    def document(self) -> dict[str, Any]:
        """A JSON document that `from_document` reads."""
        return {
            "rows": self.rows,
            "columns": {name: one.document() for name, one in self.columns.items()},
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Margins:
        """The margins that were kept."""
        columns = {
            name: ColumnMargin(**one | {kept: dict(one[kept]) for kept in ("sizes", "years") if kept in one})
            for name, one in document["columns"].items()
        }
        return cls(document["rows"], columns)


def _of_axis(axis: Axis, points: FloatArray) -> ColumnMargin:
    there = points[points > MISSING]
    missing = len(points) - len(there)
    if isinstance(axis.column, Date):
        return ColumnMargin(len(points), missing, DATES, years=_years(there))
    if not axis.labels and isinstance(axis.column, Number):
        sizes = _sizes(*_counted(axis, there)) if axis.whole_numbers else _sizes(there)
        return ColumnMargin(len(points), missing, NUMBERS, sizes=sizes)
    counts = np.bincount(there.astype(np.int64), minlength=len(axis.labels))
    return _of_labels(pl.Series(axis.labels, dtype=pl.String), counts, missing)


def _counted(axis: Axis, numbers: FloatArray) -> tuple[FloatArray, IntArray | None]:
    """Whole numbers and how often each occurs, where they repeat; else the numbers themselves."""
    if axis.width > len(numbers):
        return numbers, None
    counts = np.bincount((numbers - axis.low).astype(np.int64))
    return np.arange(len(counts), dtype=np.float64) + axis.low, counts


def _of_codes(view: Microdata) -> ColumnMargin:
    counts = np.bincount(view.codes, minlength=len(view.values))
    null = view.values.is_null().to_numpy()
    missing = int(counts[null].sum())
    values, counts = view.values.filter(pl.Series(~null)), counts[~null]
    if isinstance(view.schema.sensitive, Date):
        days = values.cast(pl.Int32).to_numpy()
        return ColumnMargin(view.rows, missing, DATES, years=_years(days, counts))
    if isinstance(view.schema.sensitive, Number):
        return ColumnMargin(view.rows, missing, NUMBERS, sizes=_sizes(values.to_numpy(), counts))
    return _of_labels(as_text(values), counts, missing)


def _of_labels(labels: pl.Series, counts: Any, missing: int) -> ColumnMargin:
    there = counts > 0
    found = dict(zip(labels.filter(pl.Series(there)).to_list(), counts[there].tolist(), strict=True))
    return ColumnMargin(int(counts.sum()) + missing, missing, _looks(pl.Series(list(found))), found)


def _of_cells(column: pl.Series) -> ColumnMargin:
    filled = column.drop_nulls()
    rows, missing, looks = len(column), column.null_count(), _looks(filled)
    if looks == NUMBERS:
        return ColumnMargin(rows, missing, looks, sizes=_sizes(filled.cast(pl.Float64).to_numpy()))
    if looks == DATES:
        return ColumnMargin(rows, missing, looks, years=_years(_days(filled).cast(pl.Int32).to_numpy()))
    counts = filled.cast(pl.String).value_counts(name="rows")
    if counts.height > _MOST:
        return ColumnMargin(rows, missing, looks)
    return ColumnMargin(rows, missing, looks, dict(counts.rows()))


def _looks(cells: pl.Series) -> str | None:
    """What all cells look like, whatever type the source gave them: CSV gives none; nothing of no cell."""
    if not len(cells):
        return None
    if cells.dtype == pl.Boolean:
        return TRUTH
    if cells.dtype == pl.Date or isinstance(cells.dtype, pl.Datetime):
        return DATES
    if cells.dtype.is_numeric() or not cells.cast(pl.String).cast(pl.Float64, strict=False).null_count():
        return NUMBERS
    return TEXTS if _days(cells).null_count() else DATES


def _days(cells: pl.Series) -> pl.Series:
    """The day that each cell begins with; missing where it does not."""
    return cells.cast(pl.String).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


def _sizes(numbers: Any, counts: Any = None) -> dict[int, int]:
    """How many numbers there are of each sign and size."""
    number = np.asarray(numbers, dtype=np.float64)
    rows = np.ones(len(number), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
    number, rows = number[np.isfinite(number)], rows[np.isfinite(number)]
    with np.errstate(divide="ignore"):
        size = np.where(number == 0, -_ZERO, np.round(_STEPS * np.log2(np.abs(number))))
    return _binned((np.sign(number) * (size + _ZERO)).astype(np.int64), rows)


def _years(days: Any, counts: Any = None) -> dict[int, int]:
    """How many days, numbered from 1970 on, lie in each of the five years."""
    day = np.asarray(days).astype(np.int64).astype("datetime64[D]")
    rows = np.ones(len(day), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
    year = day.astype("datetime64[Y]").astype(np.int64) + 1970
    return _binned(year // _YEARS * _YEARS, rows)


def _binned(bins: Any, rows: Any) -> dict[int, int]:
    """How many rows lie in each bin; whole numbers below 2^53 add up exactly."""
    first = int(bins.min(initial=0))
    found = np.bincount(bins - first, weights=rows).astype(np.int64)
    there = np.flatnonzero(found)
    return dict(zip((there + first).tolist(), found[there].tolist(), strict=True))


def _merged(parts: Sequence[ColumnMargin]) -> ColumnMargin:
    looks = {part.looks for part in parts if part.looks is not None}
    filled = [part for part in parts if part.looks is not None]
    alike = len(looks) == 1
    labels = _sum(part.labels for part in filled) if alike else None
    return ColumnMargin(
        sum(part.cells for part in parts),
        sum(part.missing for part in parts),
        looks.pop() if alike else TEXTS if looks else None,
        labels,
        _sum(part.sizes for part in filled) if alike else None,
        _sum(part.years for part in filled) if alike else None,
    )


def _sum(parts: Iterable[Mapping[Any, int] | None]) -> dict[Any, int] | None:
    total: Counter[Any] = Counter()
    for part in parts:
        if part is None:
            return None
        total.update(part)
    return dict(sorted(total.items()))
