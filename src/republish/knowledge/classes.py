"""Classes of people with the same knowledge about them, found from their quasi-identifiers.

A class is one combination of bands of numbers or dates and of listed values. Somebody with a missing
quasi-identifier, or with a value that no class holds, belongs to no class that can be told and gets the number
after the last one, under which knowledge keeps the average of all classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError
from republish.microdata import MISSING, Axis, Microdata
from republish.schema import Category, Column, Date, Number, Ordered, Schema
from republish.schema.column_names import listed

Break = int | float | date


@dataclass(frozen=True)
class Bands:
    """A number or a date falls in the band whose break it has reached; the last break lies outside.

    `Bands("age", (45, 55, 65))` has two bands, called [45..55) and [55..65) unless `labels` name them.
    """

    column: str
    breaks: tuple[Break, ...]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "breaks", tuple(self.breaks))
        days = {isinstance(one, date) for one in self.breaks}
        rising = len(days) == 1 and all(a < b for a, b in pairwise(_coordinates(self.breaks)))
        if len(self.breaks) < 2 or not rising:
            raise PolicyError(
                f"class column {self.column}: breaks are two or more numbers, or dates, each above the one before"
            )
        default = [f"[{a}..{b})" for a, b in pairwise(self.breaks)]
        object.__setattr__(self, "labels", _labels(self.column, self.labels, default))

    def positions(self, coordinates: FloatArray, axis: Axis) -> IntArray:
        """The band of every coordinate, -1 where it is missing or lies in none."""
        missing = coordinates == MISSING
        if axis.labels:  # a hierarchy: coordinates are positions of leaves
            texts: list[Break] = [
                date.fromisoformat(text) if axis.column.kind == "date" else float(text)
                for text in axis.labels
            ]
            coordinates = _coordinates(texts)[np.where(missing, 0, coordinates).astype(np.int64)]
        band = np.searchsorted(_coordinates(self.breaks), coordinates, side="right") - 1
        band[missing | (band >= len(self.labels))] = -1
        return np.maximum(band, -1)

    def require_fit(self, declared: Column) -> None:
        """Refuse a column that has no numbers or days, or a domain that the bands do not cover."""
        kind = Date if isinstance(self.breaks[0], date) else Number
        if not isinstance(declared, kind):
            raise PolicyError(
                f"class column {self.column}: breaks are for numbers and dates, like against like; the schema says "
                f"{declared.kind}"
            )
        if isinstance(declared, Number) and declared.domain is not None:
            low, high = declared.domain
            first, *_, last = _coordinates(self.breaks)
            if low < first or high >= last:
                raise PolicyError(
                    f"class column {self.column}: the bands must cover the domain of the schema, and the last break "
                    "lies outside its band; add bands, or move the first or last break"
                )

    def document(self) -> dict[str, Any]:
        return {"breaks": list(self.breaks), "labels": list(self.labels)}


@dataclass(frozen=True)
class Listed:
    """A value of an ordered column or a category is in the class that lists it.

    `Listed("gender", ("F", "M"))` makes every value a class; `Listed("ward", (("1a", "1b"), ("2",)), ("one",
    "two"))` makes classes of several values, which need labels.
    """

    column: str
    values: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...] = ()

    def __init__(
        self, column: str, values: Sequence[str | Sequence[str]], labels: Sequence[str] = ()
    ) -> None:
        groups = tuple((one,) if isinstance(one, str) else tuple(one) for one in values)
        every = [value for group in groups for value in group]
        if not groups or not all(groups) or len(set(every)) < len(every):
            raise PolicyError(f"class column {column}: list at least one value a class, and each value once")
        if not labels and len(every) > len(groups):
            raise PolicyError(f"class column {column}: classes of several values need labels; add them")
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "values", groups)
        object.__setattr__(self, "labels", _labels(column, labels, [group[0] for group in groups]))

    def positions(self, coordinates: FloatArray, axis: Axis) -> IntArray:
        """The class of every coordinate, -1 where it is missing or listed in none."""
        missing = coordinates == MISSING
        place = np.append(self._places(axis.labels), -1)
        return place[np.where(missing, len(axis.labels), coordinates).astype(np.int64)]

    def _places(self, texts: Sequence[str]) -> IntArray:
        of = {value: place for place, group in enumerate(self.values) for value in group}
        return np.array([of.get(text, -1) for text in texts], dtype=np.int64)

    def require_fit(self, declared: Column) -> None:
        """Refuse a column of numbers or days, or a closed list of which some values have no class."""
        if not isinstance(declared, Ordered | Category):
            raise PolicyError(
                f"class column {self.column}: values are listed for ordered columns and categories; the schema says "
                f"{declared.kind}, so give breaks"
            )
        if declared.closed is not None:
            without = int(np.count_nonzero(self._places(declared.closed) < 0))
            strange = len({v for group in self.values for v in group} - set(declared.closed))
            if without or strange:
                raise PolicyError(
                    f"class column {self.column}: its classes must list the values of the schema; {without} of the "
                    f"schema are not listed and {strange} listed ones are not in the schema"
                )

    def document(self) -> dict[str, Any]:
        plain = all(group == (label,) for group, label in zip(self.values, self.labels, strict=True))
        if plain:
            return {"values": list(self.labels)}
        return {"values": [list(group) for group in self.values], "labels": list(self.labels)}


@dataclass(frozen=True)
class Classes:
    """The classes of people: every combination of the classes of some quasi-identifiers."""

    columns: tuple[Bands | Listed, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if len({column.column for column in self.columns}) < len(self.columns):
            raise PolicyError("classes are found from each quasi-identifier once; a column is named twice")

    @classmethod
    def everyone(cls) -> Classes:
        return cls()

    @property
    def count(self) -> int:
        return math.prod(len(column.labels) for column in self.columns)

    @property
    def rows(self) -> int:
        """Number of classes, and one more for people of no known class where that can happen."""
        return self.count + 1 if self.columns else 1

    def of(self, view: Microdata) -> IntArray:
        """The class of every row; `count` where a quasi-identifier that decides is missing or in no class."""
        places = {axis.column.name: q for q, axis in enumerate(view.axes)}
        absent = [column.column for column in self.columns if column.column not in places]
        if absent:
            raise PolicyError(
                f"classes are found from quasi-identifiers; the view has none called {listed(absent)}"
            )
        number = np.zeros(view.rows, dtype=np.int64)
        unknown = np.zeros(view.rows, dtype=np.bool_)
        for column in self.columns:
            q = places[column.column]
            place = column.positions(view.points[q], view.axes[q])
            number = number * len(column.labels) + place
            unknown |= place < 0
        number[unknown] = self.count
        return number

    def label_columns(self, numbers: IntArray) -> dict[str, pl.Series]:
        """The labels of some classes, one column a quasi-identifier."""
        columns = {}
        for column in reversed(self.columns):
            numbers, place = np.divmod(numbers, len(column.labels))
            columns[column.column] = pl.Series(column.labels, dtype=pl.String).gather(place)
        return dict(reversed(columns.items()))

    def numbers(self, table: pl.DataFrame) -> IntArray:
        """The class that the label columns of a table name, -1 where a label is unknown."""
        number = np.zeros(table.height, dtype=np.int64)
        unknown = np.zeros(table.height, dtype=np.bool_)
        for column in self.columns:
            labels = pl.Series(column.labels, dtype=pl.String)
            place = (
                table[column.column]
                .cast(pl.String)
                .replace_strict(labels, pl.arange(len(labels), eager=True), default=-1, return_dtype=pl.Int64)
                .to_numpy()
            )
            number = number * len(labels) + place
            unknown |= place < 0
        number[unknown] = -1
        return number

    def require_fit(self, schema: Schema) -> None:
        """Refuse classes that are not found from the quasi-identifiers of this schema."""
        declared = {column.name: column for column in schema.quasi_identifiers}
        for column in self.columns:
            if column.column not in declared:
                raise PolicyError(
                    f"classes are found from quasi-identifiers; the schema has none called {column.column}"
                )
            column.require_fit(declared[column.column])

    def document(self) -> dict[str, Any]:
        return {column.column: column.document() for column in self.columns}


def classes_from_mapping(document: Mapping[str, Any]) -> Classes:
    """The classes that `[classes.NAME]` tables describe."""
    if not all(isinstance(settings, Mapping) for settings in document.values()):
        raise PolicyError(
            "classes has one table a quasi-identifier, such as [classes.age] with breaks = [...]"
        )
    return Classes(tuple(_column(name, settings) for name, settings in document.items()))


def _column(name: str, settings: Mapping[str, Any]) -> Bands | Listed:
    labels = settings.get("labels", [])
    if _texts(labels):
        match settings:
            case {"breaks": list(breaks)} if settings.keys() <= {"breaks", "labels"}:
                return Bands(name, tuple(_break(name, one) for one in breaks), tuple(labels))
            case {"values": list(values)} if settings.keys() <= {"values", "labels"}:
                if all(isinstance(one, str) or _texts(one) for one in values):
                    return Listed(name, values, labels)
    raise PolicyError(
        f"class column {name}: give breaks = [...] for a number or date, values = [...] for other columns, and "
        "labels = [...], a list of texts, if you like; nothing else"
    )


def _break(name: str, given: object) -> Break:
    if isinstance(given, str):
        try:
            return date.fromisoformat(given)
        except ValueError:
            pass
    elif type(given) in (int, float, date):
        return given  # type: ignore[return-value]
    raise PolicyError(f"class column {name}: a break is a number or a date, YYYY-MM-DD")


def _coordinates(breaks: Sequence[Break]) -> FloatArray:
    """Numbers as they are, dates as day numbers: the coordinates of a view."""
    epoch = date(1970, 1, 1)
    return np.array([(b - epoch).days if isinstance(b, date) else b for b in breaks], dtype=np.float64)


def _texts(given: object) -> bool:
    return isinstance(given, list) and all(isinstance(one, str) for one in given)


def _labels(column: str, given: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    labels = tuple(given) or tuple(default)
    if len(labels) != len(default) or len(set(labels)) < len(labels):
        raise PolicyError(
            f"class column {column}: one label a class, each another; found {len(labels)} labels for {len(default)} "
            "classes"
        )
    return labels
