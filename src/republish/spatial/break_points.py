"""Where the break points of a scale lie: numbers on numbers, dates on dates, values on ordered columns and categories.

A break point is read by the kind of its column alone. A number never stands for the position of a value: what is not
a value of the column is refused, by the schema when a series is made and by the view when it is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from math import isfinite
from typing import NoReturn

import numpy as np

from republish.errors import PolicyError
from republish.hierarchies import Hierarchy, compile_tree
from republish.schema import Column, Schema
from republish.schema.column_names import listed

_FIRST_DAY = date(1970, 1, 1)
_DATE = 10  # characters of YYYY-MM-DD


def require_scales(
    schema: Schema, bits: int | Mapping[str, int] | None, scales: Mapping[str, Sequence[float | str]]
) -> None:
    """Refuse resolutions and break points that the quasi-identifiers of a schema cannot have.

    Raises:
        PolicyError: a column is no quasi-identifier, has both bits and break points, or break points that are no
            values of it; or no quasi-identifier is told apart at all.
    """
    columns = {column.name: column for column in schema.quasi_identifiers}
    each = bits if isinstance(bits, Mapping) else {}
    require_names(list(columns), each, scales)
    if all(each.get(name) == 0 for name in columns):
        raise PolicyError("bits: at least one quasi-identifier must have more than 0 bits; found none")
    for name, points in scales.items():
        positions(columns[name], _listed(columns[name]), points)


def require_names(names: Sequence[str], bits: Mapping[str, int], scales: Mapping[str, object]) -> None:
    """Refuse bits and scales of columns that are no quasi-identifiers, or of one column both."""
    unknown = sorted((set(bits) | set(scales)) - set(names))
    if unknown:
        raise PolicyError(
            f"bits and scales must name quasi-identifiers; {listed(unknown)} are none. There are {listed(names)}"
        )
    for name in names:
        if name in bits and name in scales:
            raise PolicyError(f"column {name}: break points set the resolution; leave out its bits")


def positions(column: Column, labels: Sequence[str], points: Sequence[float | str]) -> list[float]:
    """Return the coordinates of break points, ascending.

    Args:
        column: says how a point is read.
        labels: the values of the column by position, none where numbers and dates are their own coordinates.
        points: as the user gave them.
    """
    if column.kind not in ("number", "date"):
        place = {label: float(at) for at, label in enumerate(labels)}
        return _ascending(column, [place.get(str(point)) for point in points], points)
    numbers = [_number(column, point) for point in points]
    if not labels:
        return _ascending(column, numbers, points)
    read = [_number(column, label) for label in labels]
    leaves = [leaf for leaf in read if leaf is not None]
    if len(leaves) == len(read) and all(a < b for a, b in pairwise(leaves)):
        # Among leaves in their order a break needs no leaf of its own; two that part nothing are one.
        at = np.searchsorted(np.array(leaves), np.array(_ascending(column, numbers, points)))
        return [float(place) for place in np.unique(at)]
    place_of = {leaf: float(at) for at, leaf in enumerate(read) if leaf is not None}
    return _ascending(column, [None if x is None else place_of.get(x) for x in numbers], points)


def _listed(column: Column) -> tuple[str, ...]:
    """The values of a column in their order as the schema alone knows them."""
    hierarchy = column.hierarchy
    if isinstance(hierarchy, Hierarchy):
        table = hierarchy if column.closed is None else hierarchy.restricted(column.closed)
        return tuple(path[0] for path in compile_tree(table).labels)
    if column.kind in ("number", "date"):
        return ()
    if column.closed is None:
        raise PolicyError(
            f"column {column.name}: break points of a category need values that stay as they are; list them in the "
            "schema (domain), or give the column a hierarchy that is a table"
        )
    if hierarchy is None:
        return column.closed
    return tuple(path[0] for path in compile_tree(hierarchy.build(column.closed)).labels)


def _number(column: Column, point: float | str) -> float | None:
    """The coordinate of a number or a date, None where it is none."""
    try:
        if column.kind == "date":
            exact = isinstance(point, str) and len(point) == _DATE
            return float((date.fromisoformat(str(point)) - _FIRST_DAY).days) if exact else None
        found = float(point)
    except ValueError:
        return None
    return found if isfinite(found) else None  # one outside the domain parts nothing


def _ascending(column: Column, found: Sequence[float | None], points: Sequence[float | str]) -> list[float]:
    known = [at for at in found if at is not None]
    if len(known) < len(found):
        _refuse(column, str(points[found.index(None)]))
    if any(a >= b for a, b in pairwise(known)):
        raise PolicyError(
            f"column {column.name}: the break points of its scale must be in ascending order, each once; sort them"
        )
    return known


def _refuse(column: Column, point: str) -> NoReturn:
    what = {"date": "dates such as 2026-03-02", "number": "numbers"}.get(column.kind, "values of the column")
    if isinstance(column.hierarchy, Hierarchy):
        what = f"{what} in its hierarchy"
    raise PolicyError(
        f"column {column.name}: the break points of its scale must be {what}; found {point}. Correct it or leave it out"
    )
