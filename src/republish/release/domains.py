"""What the codes and coordinates of one release mean, kept in private beside it.

The domain widths of its quasi-identifiers and the list of sensitive values, so that a stored
release can be measured and attacked later exactly as on the day it was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from republish.hierarchies import Hierarchy, compile_tree
from republish.microdata import Axis, Microdata
from republish.schema import Column, Date, Number, Schema
from republish.sources.values import as_text


@dataclass(frozen=True)
class Scales:
    """The axes of a release and its sensitive domain, code by code."""

    axes: tuple[Axis, ...]
    values: pl.Series

    @classmethod
    def of(cls, view: Microdata) -> Scales:
        """The scales of a view."""
        return cls(view.axes, view.values)

    def to_json(self, schema: Schema) -> dict[str, Any]:
        """A JSON document that `from_json` reads."""
        return {
            "axes": {axis.column.name: _axis_to_json(axis) for axis in self.axes},
            "values": as_text(self.values).to_list(),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any], schema: Schema) -> Scales:
        """The scales that a release was published with."""
        axes = tuple(
            _axis_from_json(column, document["axes"][column.name]) for column in schema.quasi_identifiers
        )
        texts = pl.Series("", document["values"], dtype=pl.String)
        return cls(axes, _typed(texts, schema.sensitive))


def _typed(texts: pl.Series, column: Column | None) -> pl.Series:
    if isinstance(column, Date):
        return texts.str.to_date("%Y-%m-%d")
    return texts.cast(pl.Float64) if isinstance(column, Number) else texts


def _axis_to_json(axis: Axis) -> dict[str, Any]:
    document: dict[str, Any] = {"low": axis.low, "high": axis.high, "whole_numbers": axis.whole_numbers}
    if axis.ends is not None:
        document["ends"] = list(axis.ends)
    if axis.labels:
        document["labels"] = list(axis.labels)
    return document


def _axis_from_json(column: Column, document: dict[str, Any]) -> Axis:
    labels = tuple(document.get("labels", ()))
    tree = None
    if column.hierarchy is not None:
        given = column.hierarchy
        tree = compile_tree(given.restricted(labels) if isinstance(given, Hierarchy) else given.build(labels))
        labels = tuple(path[0] for path in tree.labels)
    ends = tuple(document["ends"]) if "ends" in document else None
    return Axis(column, document["low"], document["high"], labels, tree, document["whole_numbers"], ends)
