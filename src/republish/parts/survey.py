"""What a view holds as a whole: domains, values, and where something is missing.

Every chunk is read as any view is; what it found of each column is put together. So a task that sees some rows
only gives them the coordinates and codes that they have in the whole view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import republish
from republish.arrays import FloatArray, IntArray
from republish.errors import LedgerError
from republish.expect import Margins
from republish.hierarchies import Hierarchy, compile_tree
from republish.microdata import MISSING, Axis, Microdata, no_codes, read_view, sensitive_codes, whole_of
from republish.parts.blocks import Block, fact
from republish.publishing.publishable import require_publishable, shapes_of
from republish.requirements import Whole
from republish.schema import Category, Column, Ordered, Schema
from republish.sources.direct_identifiers import Sampled
from republish.spatial.cube import Cube, cube_of


class Column1(NamedTuple):
    """What a chunk found in one quasi-identifier; `texts` where the values themselves make the domain."""

    low: float
    high: float
    whole: bool
    gaps: bool
    texts: frozenset[str]


@dataclass(frozen=True)
class Found:
    """What a chunk found."""

    rows: int
    columns: tuple[Column1, ...]
    values: pl.Series | None
    shapes: dict[str, Sampled]
    margins: Margins
    version: str


@dataclass(frozen=True)
class Surveying:
    """The task that looks over a chunk: all columns that are published, no identifier."""

    schema: Schema

    @property
    def columns(self) -> list[str]:
        return list(self.schema.published_columns)

    def __call__(self, frame: pl.DataFrame) -> Iterator[Block]:
        schema = self.schema
        narrow = replace(schema, identifier=None, dropped=(), normal=())
        view = read_view(plain(frame), narrow)
        columns = tuple(
            _found(axis, points, declared)
            for axis, points, declared in zip(view.axes, view.points, schema.quasi_identifiers, strict=True)
        )
        values = None
        if schema.sensitive is not None:
            there = np.bincount(view.codes, minlength=len(view.values)) > 0
            values = view.values.filter(pl.Series(there))
        yield fact(
            Found(view.rows, columns, values, shapes_of(view), Margins.of(view), republish.__version__)
        )


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the digits of whole decimals, as which an engine reads numbers that are too large for it."""
    whole = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal) and kind.scale == 0]
    return frame.with_columns(pl.col(whole).cast(pl.String))


def _found(axis: Axis, points: np.ndarray[Any, Any], declared: Column) -> Column1:
    there = points[points > MISSING]
    low, high = (float(there.min()), float(there.max())) if len(there) else (np.inf, -np.inf)
    open_list = declared.closed is None and (
        (declared.hierarchy is not None and not isinstance(declared.hierarchy, Hierarchy))
        or (declared.hierarchy is None and isinstance(declared, Category))
    )
    texts = frozenset(axis.labels) if open_list else frozenset()
    return Column1(low, high, axis.whole_numbers, len(there) < len(points), texts)


@dataclass(frozen=True)
class Domains:
    """What all tasks must agree on: the schema with every list of values closed, axes, and sensitive values."""

    schema: Schema
    axes: tuple[Axis, ...]
    values: pl.Series
    gaps: tuple[bool, ...]
    rows: int
    ends: tuple[tuple[float, float], ...]
    """The least and the greatest coordinate of the view in every column of numbers or dates; inf and -inf for none."""

    def view(self, points: Any, codes: IntArray, insensitive: pl.DataFrame, people: Any) -> Microdata:
        return Microdata(self.schema, None, points, self.axes, codes, self.values, insensitive, people)

    def hold(self, points: FloatArray) -> bool:
        """Whether coordinates lie in these domains, fractions and missing values where there were any before."""
        for axis, gap, row in zip(self.axes, self.gaps, points, strict=True):
            there = row[row > MISSING]
            outside = len(there) and (there.min() < axis.low or there.max() > axis.high)
            broken = axis.whole_numbers and bool((there != np.floor(there)).any())
            if outside or broken or (len(there) < len(row) and not gap):
                return False
        return True

    def whole(self, counts: IntArray) -> Whole:
        """What a table with so many rows of each sensitive code says of them."""
        nobody = whole_of(self.schema.sensitive, np.empty(0, dtype=np.int64), self.values)
        return replace(nobody, overall=counts / max(1, int(counts.sum())))

    def corners(self, declared: Schema) -> Microdata:
        """The least and the greatest values of the view, and missing ones, in the columns of the schema of a series."""
        points = np.empty((len(self.axes), 3))
        for q, (axis, gap, ends) in enumerate(zip(self.axes, self.gaps, self.ends, strict=True)):
            low, high = (axis.low, axis.high) if axis.labels else ends
            points[q] = (low, high, MISSING if gap else low) if low <= high else MISSING
        axes = tuple(
            replace(axis, column=column)
            for axis, column in zip(self.axes, declared.quasi_identifiers, strict=True)
        )
        codes = np.zeros(3, dtype=np.int32)
        return Microdata(self.schema, None, points, axes, codes, self.values, pl.DataFrame())

    @property
    def cube(self) -> Cube:
        """The cube of the quasi-identifiers, with a range for missing values where there are any."""
        corner = np.array(
            [[MISSING if gap else axis.low] for axis, gap in zip(self.axes, self.gaps, strict=True)]
        )
        nobody = self.view(corner, np.zeros(1, dtype=np.int32), pl.DataFrame(), None)
        return cube_of(nobody)


def domains_of(found: Sequence[Found], schema: Schema, known: pl.Series | None) -> Domains:
    """The domains of a view from those of its chunks; `known` are the sensitive values of earlier releases.

    Raises:
        LedgerError: an executor has another version of republish.
    """
    others = {one.version for one in found} - {republish.__version__}
    if others:
        raise LedgerError(
            f"driver and executors must have the same version of republish; found {republish.__version__} and "
            f"{', '.join(sorted(others))}; install one everywhere. Nothing was written"
        )
    shapes = [one.shapes for one in found]
    require_publishable(
        schema, {name: Sampled.together(one[name] for one in shapes) for name in shapes[0]} if shapes else {}
    )
    columns = [_merged([one.columns[q] for one in found]) for q in range(len(schema.quasi_identifiers))]
    closed = [
        _closed(declared, found) for declared, found in zip(schema.quasi_identifiers, columns, strict=True)
    ]
    if schema.sensitive is None:
        values = no_codes(0)[1]
    else:
        seen = [one.values for one in found if one.values is not None]
        every = (
            pl.concat(seen).rename(schema.sensitive.name)
            if seen
            else pl.Series(schema.sensitive.name, [], pl.String)
        )
        values = sensitive_codes(every, schema.sensitive, known)[1]
    fixed = replace(schema, quasi_identifiers=tuple(closed))
    axes = tuple(_axis(column, found) for column, found in zip(closed, columns, strict=True))
    gaps, ends = tuple(c.gaps for c in columns), tuple((c.low, c.high) for c in columns)
    return Domains(fixed, axes, values, gaps, sum(one.rows for one in found), ends)


def _merged(found: Sequence[Column1]) -> Column1:
    return Column1(
        min((c.low for c in found), default=np.inf),
        max((c.high for c in found), default=-np.inf),
        all(c.whole for c in found),
        any(c.gaps for c in found),
        frozenset().union(*(c.texts for c in found)),
    )


def _closed(column: Column, found: Column1) -> Column:
    """The column with the values of the whole view where those make its domain."""
    texts = sorted(found.texts)
    if column.closed is not None or (column.hierarchy is None and not isinstance(column, Category)):
        return column
    if column.hierarchy is None:
        return replace(column, domain=tuple(texts))  # type: ignore[call-arg]
    if isinstance(column.hierarchy, Hierarchy):
        return column
    return replace(column, hierarchy=column.hierarchy.build(texts))


def _axis(column: Column, found: Column1) -> Axis:
    if column.hierarchy is not None:
        given = column.hierarchy
        assert isinstance(given, Hierarchy) or column.closed is not None
        if not isinstance(given, Hierarchy):
            given = given.build(list(column.closed or ()))
        elif column.closed is not None:
            given = given.restricted(column.closed)
        tree = compile_tree(given)
        labels = tuple(path[0] for path in tree.labels)
        return Axis(column, 0.0, float(max(len(labels) - 1, 0)), labels, tree)
    if isinstance(column, Ordered | Category):
        labels = column.closed or ()
        return Axis(column, 0.0, float(max(len(labels) - 1, 0)), labels)
    domain = getattr(column, "domain", None)
    low, high = domain or ((0.0, 0.0) if found.low > found.high else (found.low, found.high))
    return Axis(column, low, high, whole_numbers=found.whole)
