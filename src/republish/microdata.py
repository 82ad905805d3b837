"""One validated raw view as arrays: a coordinate a quasi-identifier, a code a sensitive value.

Coordinates: a number is itself, a date its day number, an ordered value its position, a category
the position of its leaf. A missing value is -inf, so that it stands apart below all others.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.errors import SchemaError, ViewError
from republish.hierarchies import Hierarchy, Tree, compile_tree
from republish.kernels import threads
from republish.requirements import Whole
from republish.schema import Category, Column, Date, Number, Ordered, Schema
from republish.secret import Secret, order_of
from republish.sources.amended import amended
from republish.sources.identifiers import identifiers_of
from republish.sources.tables import read_raw
from republish.sources.values import as_text, parse, require_single_values

if TYPE_CHECKING:
    from republish.inference import Compromised
    from republish.knowledge.possible_values import PossibleCodes

MISSING = -np.inf
INTERVAL, FLAT, TREE = 0, 1, 2
SUMS_OF_CELLS, NEWEST_ROWS = 1, 2
"""The forms that digests of rows had; a series has one of them at a time, and its ledger says which."""


@dataclass(frozen=True)
class Axis:
    """How the coordinates of one quasi-identifier are read.

    `low` and `high` bound the domain, `width` is what a group's extent is divided by. `labels` are the
    texts of the positions (ordered and category), `hierarchy` the leaf ranges where there is one. A cell that reaches
    one of the `ends`, the least and the greatest coordinate that any view had, is published open there.
    """

    column: Column
    low: float
    high: float
    labels: tuple[str, ...] = ()
    hierarchy: Tree | None = None
    whole_numbers: bool = False
    ends: tuple[float, float] | None = None

    @property
    def kind_code(self) -> int:
        """0 interval, 1 flat category, 2 hierarchy: what a publisher's kernel needs to know."""
        if self.hierarchy is not None:
            return TREE
        return FLAT if self.column.kind == "category" else INTERVAL

    @property
    def width(self) -> float:
        """Domain width of an interval, number of leaves of a category."""
        if self.kind_code == INTERVAL:
            return self.high - self.low
        return float(len(self.labels))


@dataclass(frozen=True)
class Microdata:
    """A raw view: identifiers as text, `points[q, row]`, sensitive `codes`, and the columns left as they are.

    `values` is the sensitive domain that `codes` point into; a missing sensitive value is a value of
    its own, the null of that domain. Inside a series `people` holds the pseudonyms, by which the rows
    are sorted, and no identifier is left. `compromised` is what is known of single rows, `possible` which
    values each row may have, where that was given. Where the view is only a part of a table, `at_large` is what that
    table says of its sensitive values. The first `known` values are those that earlier releases showed or the schema
    lists; the others are new.
    """

    schema: Schema
    identifiers: pl.Series | None
    points: FloatArray
    axes: tuple[Axis, ...]
    codes: IntArray
    values: pl.Series
    insensitive: pl.DataFrame
    people: WordArray | None = None
    compromised: Compromised | None = None
    possible: PossibleCodes | None = None
    at_large: Whole | None = None
    known: int = 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.points.shape[1])

    @property
    def widths(self) -> FloatArray:
        """The width of every axis."""
        return np.array([axis.width for axis in self.axes], dtype=np.float64)

    @cached_property
    def whole(self) -> Whole:
        """What the whole view says of its sensitive values, or the table that it is a part of."""
        if self.at_large is not None:
            return self.at_large
        return whole_of(self.schema.sensitive, self.codes, self.values)

    def only(self, rows: IntArray) -> Microdata:
        """The view of some of its rows, under pseudonyms, with the same values."""
        return replace(
            self,
            identifiers=None,
            points=np.ascontiguousarray(self.points[:, rows]),
            codes=self.codes[rows],
            insensitive=self.insensitive[rows] if self.insensitive.width else self.insensitive,
            people=None if self.people is None else self.people[rows],
            compromised=None,
            possible=None
            if self.possible is None
            else self.possible._replace(of_row=self.possible.of_row[rows]),
        )

    def without(self, rows: BoolArray) -> Microdata:
        """The view as if these rows had not been in it: new values that only they have are not of it."""
        left = self.only(np.flatnonzero(~rows))
        stays = np.arange(len(self.values)) < self.known
        stays[left.codes] = True
        number = np.cumsum(stays, dtype=np.int32) - 1
        may = left.possible
        return replace(
            left,
            codes=number[left.codes],
            values=self.values.filter(pl.Series(stays)),
            possible=None if may is None else may._replace(allowed=may.allowed[:, stays]),
        )

    def pseudonymous(self, secret: Secret) -> Microdata:
        """The view with pseudonyms for identifiers, its rows in their order: none is left of the source's."""
        if self.identifiers is None:
            raise SchemaError(
                "a series needs an identifier column to recognise people again; label one in the schema"
            )
        people = secret.pseudonyms(self.identifiers)
        order = order_of(people)
        return replace(
            self,
            identifiers=None,
            points=_gathered(self.points, order),
            codes=self.codes[order],
            insensitive=self.insensitive[order] if self.insensitive.width else self.insensitive,
            people=people[order],
        )

    def row_digests(self, secret: Secret, form: int = NEWEST_ROWS) -> WordArray:
        """One keyed word a row: of one person it changes when a quasi-identifier changes.

        Without the secret that is all it tells. It is a keyed hash of her pseudonym and of a word of all cells, so
        words of different people have nothing to do with each other, even where their cells are equal. With the
        secret, guesses at somebody's cells can be tried. Form 1 is that word of all cells, a sum of one word a cell:
        whoever has many of them finds the cells without the secret. It serves to compare with what earlier versions
        stored, and is stored no more.
        """
        assert self.people is not None
        words = self._cell_sums(secret)
        return words if form == SUMS_OF_CELLS else secret.row_words(self.people, words)

    def _cell_sums(self, secret: Secret) -> WordArray:
        """The sum of one keyed word a cell, which depends on the column and the value alone; nothing if missing."""
        words = np.zeros(self.rows, dtype=np.uint64)
        for axis, coordinates in zip(self.axes, self.points, strict=True):
            there: IntArray | slice = slice(None)
            if len(coordinates) and coordinates.min() == MISSING:
                there = np.flatnonzero(~np.isneginf(coordinates))
            values, place = _distinct(axis, coordinates[there])
            words[there] += secret.text_words(f"{axis.column.name}=" + values)[place]
        return words


def _gathered(points: FloatArray, order: IntArray) -> FloatArray:
    """The columns of all rows in another order, several at a time."""
    out = np.empty((len(points), len(order)), dtype=points.dtype)

    def gather(q: int) -> None:
        np.take(points[q], order, out=out[q], mode="clip")  # no place is outside, and none is looked for

    with ThreadPoolExecutor(threads()) as pool:
        list(pool.map(gather, range(len(points))))
    return out


def _distinct(axis: Axis, coordinates: FloatArray) -> tuple[pl.Series, IntArray]:
    """The values that occur, and perhaps some that do not, as texts, and the place of each coordinate among them."""
    if axis.labels:
        return pl.Series(axis.labels, dtype=pl.String), coordinates.astype(np.int64)
    if axis.whole_numbers and axis.width <= len(coordinates):
        return _decimals(np.arange(axis.low, axis.high + 1)), (coordinates - axis.low).astype(np.int64)
    values, place = np.unique(coordinates, return_inverse=True)
    return _decimals(values), place


def _decimals(numbers: FloatArray) -> pl.Series:
    """The texts that Python writes for numbers below 2^53."""
    if (numbers == np.floor(numbers)).all():
        return pl.Series(numbers).cast(pl.Int64).cast(pl.String) + ".0"
    return pl.Series([str(number) for number in numbers.tolist()], dtype=pl.String)


def read_view(source: Any, schema: Schema, known_values: pl.Series | None = None) -> Microdata:
    """The view as arrays, every cell checked against the schema.

    `known_values` is the sensitive domain of earlier releases: its codes stay, new values follow.
    """
    table = read_raw(source, schema)
    schema.require_labels(table.columns)
    table = amended(table, schema).drop(schema.dropped, strict=False)
    require_single_values(table)
    identifiers = identifiers_of(table[schema.identifier], schema.normal) if schema.identifier else None
    points = np.empty((len(schema.quasi_identifiers), table.height), dtype=np.float64)
    axes = []
    for row, column in enumerate(schema.quasi_identifiers):
        axes.append(_locate(table[column.name], column, points[row]))
        table = table.drop(column.name)
    codes, values = (
        sensitive_codes(table[schema.sensitive.name], schema.sensitive, known_values)
        if schema.sensitive is not None
        else no_codes(table.height)
    )
    listed = () if schema.sensitive is None else schema.sensitive.closed or ()
    return Microdata(
        schema,
        identifiers,
        points,
        tuple(axes),
        codes,
        values,
        table.select(schema.insensitive),
        known=len(listed) if known_values is None else len(known_values),
    )


def whole_of(column: Column | None, codes: IntArray, values: pl.Series) -> Whole:
    """The shares of the sensitive values, with the order and hierarchy that their distances need."""
    order = nodes = None
    if isinstance(column, Ordered):
        position = {value: rank for rank, value in enumerate(column.order)}
        ranks = [position.get(value, -1) for value in values.to_list()]
        order = np.argsort(np.array(ranks), kind="stable").astype(np.int64)
    elif isinstance(column, Number | Date):
        order = values.arg_sort(nulls_last=False).to_numpy().astype(np.int64)
    if column is not None and column.hierarchy is not None:
        nodes = _nodes(column, values)
    return Whole.of(codes, len(values), order, nodes)


def _nodes(column: Column, values: pl.Series) -> NDArray[np.int32]:
    """Node numbers of every sensitive value at every level; the missing value hangs from the root."""
    assert column.hierarchy is not None
    texts = as_text(values)
    hierarchy = _hierarchy_for(column, texts)
    paths = {path[0]: path for path in hierarchy.paths}
    levels = hierarchy.height + 1
    numbers: list[dict[str, int]] = [{} for _ in range(levels)]
    nodes = np.empty((len(values), levels), dtype=np.int32)
    for code, text in enumerate(texts.to_list()):
        path = ("",) * (levels - 1) + ("*",) if text is None else paths[text]
        for level, label in enumerate(path):
            nodes[code, level] = numbers[level].setdefault(label, len(numbers[level]))
    return nodes


def _locate(column: pl.Series, declared: Column, out: FloatArray) -> Axis:
    """Write the coordinates of one quasi-identifier into `out`; return how to read them."""
    typed = parse(column, declared)
    if declared.hierarchy is not None:
        texts = as_text(typed)
        tree = compile_tree(_hierarchy_for(declared, texts))
        labels = tuple(path[0] for path in tree.labels)
        _positions(texts, labels, declared, out)
        return Axis(declared, 0.0, float(max(len(labels) - 1, 0)), labels, tree)
    if isinstance(declared, Ordered | Category):
        labels = declared.closed or tuple(typed.drop_nulls().unique().sort().to_list())
        _positions(typed, labels, declared, out)
        return Axis(declared, 0.0, float(max(len(labels) - 1, 0)), labels)
    numbers = typed.to_physical().cast(pl.Float64) if isinstance(declared, Date) else typed
    out[:] = numbers.fill_null(MISSING).to_numpy()
    low, high = _bounds(numbers, declared)
    whole = isinstance(declared, Date) or bool((numbers == numbers.floor()).all())
    return Axis(declared, low, high, whole_numbers=whole)


def _bounds(numbers: pl.Series, declared: Column) -> tuple[float, float]:
    """The domain that the schema gives, else the lowest and highest value found."""
    domain = declared.domain if isinstance(declared, Number) else None
    if domain is None:
        low, high = numbers.min(), numbers.max()
        return (0.0, 0.0) if low is None else (float(low), float(high))  # type: ignore[arg-type]
    outside = int((~numbers.is_between(*domain)).sum())
    if outside:
        raise ViewError(
            f"column {declared.name}: {outside} values lie outside the domain of the schema; correct them, or start "
            "a series whose schema has a wider domain or none"
        )
    return domain


def _hierarchy_for(column: Column, texts: pl.Series) -> Hierarchy:
    """The column's table, or what its rule builds; for the values of the schema where it lists them."""
    assert column.hierarchy is not None
    if not isinstance(column.hierarchy, Hierarchy):
        return column.hierarchy.build(column.closed or texts.drop_nulls().unique().sort().to_list())
    return column.hierarchy if column.closed is None else column.hierarchy.restricted(column.closed)


def _positions(texts: pl.Series, labels: tuple[str, ...], declared: Column, out: FloatArray) -> None:
    positions = _look_up(texts, labels)
    unknown = int(np.count_nonzero(positions < 0)) - texts.null_count()
    if unknown:
        distinct = texts.filter(pl.Series(positions < 0) & texts.is_not_null()).n_unique()
        if declared.closed is None:
            where, remedy = "hierarchy", _amend(declared)
        else:
            where = "list in the schema"
            remedy = f"correct them, or say which of the list they stand for with {_recode(declared)}"
        raise ViewError(
            f"column {declared.name}: {unknown} rows hold {distinct} values that its {where} does not know; {remedy}"
        )
    np.copyto(out, positions)
    out[positions < 0] = MISSING


def _look_up(texts: pl.Series, labels: tuple[str, ...]) -> IntArray:
    """Position of every text among the labels, -1 where it is null or unknown."""
    if not labels:
        return np.full(len(texts), -1, dtype=np.int32)
    known = pl.Series(labels, dtype=pl.String)
    found = texts.replace_strict(known, pl.arange(len(labels), eager=True), default=-1, return_dtype=pl.Int32)
    return found.to_numpy()


def no_codes(rows: int) -> tuple[IntArray, pl.Series]:
    """What stands for a sensitive column where there is none: a single code for all rows."""
    return np.zeros(rows, dtype=np.int32), pl.Series("", [None], dtype=pl.String)


def sensitive_codes(
    column: pl.Series, declared: Column, known: pl.Series | None = None
) -> tuple[IntArray, pl.Series]:
    """Codes of the sensitive column and the domain they point into; codes of `known` values stay."""
    require_single_values(column.to_frame())
    column = parse(column, declared)
    if isinstance(declared, Number):
        _bounds(column, declared)
    domain = _domain(column, declared, known)
    if column.dtype == pl.String:
        return _places_of_texts(column, domain), domain
    positions = domain.to_frame("value").with_row_index("code")
    codes = column.to_frame("value").join(
        positions, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    return codes["code"].cast(pl.Int32).to_numpy(), domain


def _places_of_texts(texts: pl.Series, domain: pl.Series) -> IntArray:
    """The place of every text, also of none, in a domain that has it."""
    there = np.flatnonzero(domain.is_not_null().to_numpy())
    found = texts.cast(pl.Enum(domain.drop_nulls())).to_physical().cast(pl.Int32)
    if len(there) == len(domain):
        return found.to_numpy()
    places = np.append(there, np.flatnonzero(domain.is_null().to_numpy())).astype(np.int32)
    codes: IntArray = places[found.fill_null(len(there)).to_numpy()]
    return codes


def _domain(column: pl.Series, declared: Column, known: pl.Series | None) -> pl.Series:
    """The known values, else those the schema lists, in their order; then the new ones, sorted."""
    found = column.unique().sort(nulls_last=False).rename("")
    base = (
        pl.Series("", declared.closed or (), dtype=found.dtype) if known is None else known.cast(found.dtype)
    )
    fresh = found.filter(~found.is_in(base.implode(), nulls_equal=True))
    values = fresh.drop_nulls()
    if len(values) and declared.closed is not None:
        raise ViewError(
            f"column {declared.name}: {len(values)} values are not among those that the schema lists; correct them, "
            f"say which of those they stand for with {_recode(declared)}, or start a series whose schema lists them"
        )
    if isinstance(declared.hierarchy, Hierarchy):
        unknown = len(set(as_text(values).to_list()) - set(declared.hierarchy.leaves))
        if unknown:
            raise ViewError(
                f"column {declared.name}: {unknown} values are not in its hierarchy; {_amend(declared)}"
            )
    return pl.concat([base, fresh])


def _amend(declared: Column) -> str:
    return f"add their lines with `republish amend SERIES --hierarchy {declared.name}=FILE`, or to the file"


def _recode(declared: Column) -> str:
    return f"`republish amend SERIES --recode {declared.name}=FILE --reason WHY`"
