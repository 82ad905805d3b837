"""Whether the columns that a release shows as they are may be shown: none may name people by itself.

Numbers, dates and columns whose values the schema lists are known for what they are; so is a column of which the schema
says `direct = "publish"`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from republish.arrays import FloatArray
from republish.errors import SchemaError
from republish.microdata import MISSING, Axis, Microdata
from republish.schema import PUBLISH, Column, Schema
from republish.schema.column_names import listed
from republish.sources.direct_identifiers import (
    Sampled,
    directly_identifying,
    is_about_one_a_person,
    is_prose,
)


def shapes_of(view: Microdata) -> dict[str, Sampled]:
    """The shape of every column of a view, or of a part of it, that has to be judged."""
    schema = view.schema
    shapes = {
        axis.column.name: _of_axis(axis, points)
        for axis, points in zip(view.axes, view.points, strict=True)
        if _is_open(axis.column)
    }
    if schema.sensitive is not None and _is_open(schema.sensitive):
        counts = np.bincount(view.codes, minlength=len(view.values))
        counts[view.values.is_null().to_numpy()] = 0
        different = view.values.filter(pl.Series(counts > 0))
        shapes[schema.sensitive.name] = Sampled.of(different, int(counts.sum()))
    for name in set(schema.insensitive) - set(schema.direct):
        filled = view.insensitive[name].drop_nulls()
        shapes[name] = Sampled.of(filled.unique(), len(filled))
    return shapes


def require_publishable(schema: Schema, shapes: Mapping[str, Sampled]) -> None:
    """Refuse columns whose values look as if they named people, or are about as many as people.

    Raises:
        SchemaError: with the column, the number of such values, and what can be done.
    """
    for name in schema.published_columns:
        found = _problem(schema, name, shapes[name]) if name in shapes else None
        if found is not None:
            raise SchemaError(
                f"column {listed([name])}: what names people must not be published; {found}. Give the column the role "
                f'drop, or, where it may be published, say direct = "{PUBLISH}" at the column in the schema, or in '
                "series.toml once the series is made"
            )


def _problem(schema: Schema, name: str, shape: Sampled) -> str | None:
    """What is wrong with a column; one with a hierarchy is generalized, so that many values are no harm."""
    sensitive = schema.sensitive is not None and name == schema.sensitive.name
    generalized = (
        name not in schema.insensitive and not sensitive and schema.column(name).hierarchy is not None
    )
    found = directly_identifying(shape, sensitive)
    if found is not None or generalized:
        return found
    if not sensitive and is_prose(shape):
        return f"it has {shape.different:,} different long texts in {shape.cells:,} cells"
    if is_about_one_a_person(shape, sensitive):
        return f"it has {shape.different:,} different values in {shape.cells:,} cells, about one a person"
    return None


def _is_open(column: Column) -> bool:
    return column.kind == "category" and column.closed is None and column.direct is None


def _of_axis(axis: Axis, points: FloatArray) -> Sampled:
    there = points[points > MISSING]
    places = np.unique(there).astype(np.int64)
    return Sampled.of(pl.Series(axis.labels, dtype=pl.String)[places], len(there))
