"""What the values in a condition mean in the coordinates of a release.

A quasi-identifier has the coordinates of its cells. The columns that a release publishes as they are, the
insensitive ones and the sensitive one, have the places of their values in a sorted list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, reduce
from math import isfinite
from typing import NoReturn

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import PolicyError, SchemaError
from republish.hierarchies import Hierarchy, Tree, compile_tree
from republish.microdata import Axis
from republish.queries import spans
from republish.queries.language import Condition, Either, Every, Literal, Not, Test
from republish.queries.spans import Span, Term
from republish.release.two_tables import AnyRelease
from republish.schema import Column, Ordered, Schema
from republish.schema.column_names import listed
from republish.sources.values import as_text

_EPOCH = date(1970, 1, 1)
_KINDS = {"number": "numbers", "date": "dates", "ordered": "texts with an order", "category": "texts"}
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda value, bound: value == bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}


@dataclass(frozen=True)
class Domain:
    """How the values of one column are read.

    `texts` are its values place by place, none for numbers and dates that are their own coordinates; `ranks`
    are what comparisons of places go by, none where values have no order. `nodes` are the leaves below every
    label of a hierarchy. `closed` lists the only texts that can occur; `loose` says that the schema does not say what
    the column holds, so that texts and numbers may both be asked for.
    """

    name: str
    kind: str
    texts: tuple[str, ...] | None = None
    ranks: tuple[float, ...] | None = None
    order: tuple[str, ...] = ()
    nodes: Mapping[str, Span] = field(default_factory=dict)
    closed: tuple[str, ...] | None = None
    loose: bool = False

    @cached_property
    def place(self) -> Mapping[str, int]:
        return {text: at for at, text in enumerate(self.texts or ())}


@dataclass
class Columns:
    """The columns of a release that conditions may name, numbered: quasi-identifiers first."""

    release: AnyRelease
    notes: list[str] = field(default_factory=list)
    _known: dict[str, Domain] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return self.release.schema.published_columns

    def terms(self, condition: Condition) -> list[Term]:
        """The condition as disjoint terms; `notes` gains what is odd about it."""
        return self._terms(condition, negated=False)

    def places(self, column: int) -> IntArray:
        """Of every published row, the place of its value in a column published as it is; -1 where missing."""
        texts = as_text(self._published(self.names[column]))
        place = self.domain(self.names[column]).place
        if not place:
            return np.full(len(texts), -1, dtype=np.int64)
        return texts.replace_strict(dict(place), default=-1, return_dtype=pl.Int64).to_numpy()

    @property
    def sensitive(self) -> int:
        """The number of the sensitive column, -1 where there is none."""
        sensitive = self.release.schema.sensitive
        return -1 if sensitive is None else self.names.index(sensitive.name)

    def terms_of_unknown(self, condition: Condition, *, holds: bool) -> list[Term]:
        """The terms of somebody whose sensitive value is not published: every test of it holds, or none does."""
        return self._terms(condition, negated=False, value_holds=holds)

    def _published(self, name: str) -> pl.Series:
        """A column that is published as it is, the sensitive one from the table that shows values."""
        sensitive = self.release.schema.sensitive
        of_values = sensitive is not None and name == sensitive.name
        return (self.release.values if of_values else self.release.people).rest[name]

    def _terms(self, condition: Condition, negated: bool, value_holds: bool | None = None) -> list[Term]:
        if isinstance(condition, Not):
            return self._terms(condition.part, not negated, value_holds)
        if isinstance(condition, Test):
            if value_holds is not None and self._speaks_of_value(condition):
                return [{}] if value_holds else []
            column, span = self._span(condition, negated)
            return [{column: span}] if span != spans.NOTHING else []
        parts = [self._terms(part, negated, value_holds) for part in condition.parts]
        if isinstance(condition, Every) is not negated:
            return reduce(spans.all_of, parts, [{}])
        assert isinstance(condition, Every | Either)
        return reduce(spans.any_of, parts, [])

    def _speaks_of_value(self, test: Test) -> bool:
        return self.sensitive >= 0 and test.column == self.names[self.sensitive]

    def _span(self, test: Test, negated: bool) -> tuple[int, Span]:
        domain = self.domain(test.column)
        column = self.names.index(test.column)
        if test.sign == "null":
            return column, spans.PRESENT if negated else spans.ABSENT
        if test.sign == "!=":
            found, negated = _compared(domain, "=", test.values[0], self.notes), not negated
        elif test.sign == "in":
            found = spans.joined(_compared(domain, "=", value, self.notes) for value in test.values)
        elif test.sign == "between":
            low, high = test.values
            found = spans.common(
                _compared(domain, ">=", low, self.notes), _compared(domain, "<=", high, self.notes)
            )
        else:
            found = _compared(domain, test.sign, test.values[0], self.notes)
        return column, spans.others(found) if negated else found

    def domain(self, name: str) -> Domain:
        """How the values of a column are read."""
        if name not in self.names:
            raise SchemaError(_unknown(name, self.release.schema))
        if name not in self._known:
            axes = {cells.axis.column.name: cells.axis for cells in self.release.people.cells}
            self._known[name] = (
                _of_axis(axes[name])
                if name in axes
                else _of_values(self._published(name), self.release.schema)
            )
        return self._known[name]


def _unknown(name: str, schema: Schema) -> str:
    columns = f"a condition may name {listed(schema.published_columns)}"
    if name == schema.identifier:
        return f"{name} is the identifier, which no release has; {columns}"
    return f"a release of this schema has no column {name}; {columns}"


def _of_axis(axis: Axis) -> Domain:
    column = axis.column
    if not axis.labels and column.kind in ("number", "date"):
        return Domain(column.name, column.kind)
    return _listed(column.name, column.kind, axis.labels, column, _nodes(axis.labels, axis.hierarchy))


def _of_values(values: pl.Series, schema: Schema) -> Domain:
    """The domain of a column that is published as it is."""
    sensitive = schema.sensitive
    texts = as_text(values)
    known = tuple(texts.drop_nulls().unique().sort().to_list())
    if sensitive is not None and values.name == sensitive.name:
        given = sensitive.hierarchy
        table = given if given is None or isinstance(given, Hierarchy) else given.build(known)
        nodes = _nodes(known, compile_tree(table) if table is not None else None)
        return _listed(values.name, sensitive.kind, known, sensitive, nodes)
    numbers = values.dtype.is_numeric() or _all_numbers(known)
    kind = "date" if values.dtype == pl.Date else "number" if numbers else "category"
    return _listed(values.name, kind, known, None, {})


def _all_numbers(texts: tuple[str, ...]) -> bool:
    """Whether a column of texts, as CSV files have them, holds numbers alone and each in one spelling."""
    numbers = [_number(text) for text in texts]
    return bool(texts) and None not in numbers and len(set(numbers)) == len(texts)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


def _listed(
    name: str, kind: str, texts: tuple[str, ...], column: Column | None, nodes: Mapping[str, Span]
) -> Domain:
    order = column.order if isinstance(column, Ordered) else ()
    ranks: tuple[float, ...] | None = None
    if kind == "number":
        ranks = tuple(float(text) for text in texts)
    elif kind == "date":
        ranks = tuple(float(_day(text) or 0) for text in texts)
    elif kind == "ordered":
        place = {text: float(at) for at, text in enumerate(order)}
        ranks = tuple(place[text] for text in texts)
    closed = column.closed if column is not None else None
    return Domain(name, kind, texts, ranks, order, nodes, closed, loose=column is None)


def _nodes(texts: tuple[str, ...], tree: Tree | None) -> dict[str, Span]:
    """The places of the leaves below every label of a hierarchy."""
    place = {text: at for at, text in enumerate(texts)}
    leaves: dict[str, list[int]] = {}
    for path in tree.labels if tree is not None else ():
        if path[0] in place:
            for label in dict.fromkeys(path):
                leaves.setdefault(label, []).append(place[path[0]])
    return {label: spans.runs(sorted(places)) for label, places in leaves.items()}


def _day(text: str) -> int | None:
    try:
        return (date.fromisoformat(text) - _EPOCH).days if len(text) == 10 else None
    except ValueError:
        return None


def _compared(domain: Domain, sign: str, literal: Literal, notes: list[str]) -> Span:
    """The values of a column that stand in a relation to a literal."""
    written = literal.text if literal.number is None else None
    if sign == "=" and written is not None and written in domain.nodes:
        return domain.nodes[written]
    if sign == "=" and written is not None and (domain.loose or domain.kind in ("ordered", "category")):
        if written not in domain.place:
            _refuse_or_note(domain, literal, notes)
        return spans.runs([domain.place[written]] if written in domain.place else [])
    bound = _bound(domain, sign, literal)
    if domain.texts is None:
        if sign == "=":
            return spans.between(bound, bound)
        upwards = sign in (">", ">=")
        make = spans.above if upwards else spans.below
        return make(bound, included=sign.endswith("="))
    holds = _SIGNS[sign]
    places = [at for at, rank in enumerate(domain.ranks or ()) if holds(rank, bound)]
    if sign == "=" and not places:
        _refuse_or_note(domain, literal, notes)
    return spans.runs(places)


def _bound(domain: Domain, sign: str, literal: Literal) -> float:
    """The number that a literal stands for in its column; 0 where texts are only equal or not."""
    expected = {
        "number": "a number without quotes, such as 40",
        "date": "a date in single quotes, such as '2024-01-31'",
    }.get(domain.kind, "a text in single quotes")
    found: float | None
    if domain.kind == "number":
        found = literal.number
    elif literal.number is not None:
        found = None
    elif domain.kind == "date":
        found = _day(literal.text)
    elif domain.kind == "ordered" and literal.text in domain.order:
        found = float(domain.order.index(literal.text))
    else:
        _refuse_unordered(domain, sign, literal)
    if found is None:
        raise PolicyError(
            f"column {domain.name} holds {_KINDS[domain.kind]}: write {expected}; found {literal.text}"
        )
    return found


def _refuse_unordered(domain: Domain, sign: str, literal: Literal) -> NoReturn:
    if domain.kind == "ordered":
        raise PolicyError(
            f"column {domain.name}: {literal.text} is not in the order of the schema; check its spelling"
        )
    raise PolicyError(
        f"column {domain.name} holds texts without an order; compare it with =, != or in, not with {sign}"
    )


def _refuse_or_note(domain: Domain, literal: Literal, notes: list[str]) -> None:
    """A text that a closed list cannot hold is an error; elsewhere nobody has it, which may be a slip."""
    if domain.closed is not None and literal.text not in domain.closed:
        raise PolicyError(
            f"column {domain.name}: {literal.text} is not among the values that the schema lists; check its spelling"
        )
    note = f"no cell of {domain.name} holds {literal.text}; check its spelling"
    if note not in notes:
        notes.append(note)
