"""A column cut into bins: each a condition, a name, and its share of every cell of a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray
from republish.errors import PolicyError
from republish.metrics.boxes import is_discrete, real_rows
from republish.microdata import FLAT
from republish.queries.columns import Columns, Domain
from republish.queries.density import density
from republish.queries.language import Condition, Every, Literal, Not, Test
from republish.queries.spans import Span
from republish.release.cells import ALL_MISSING, SOME_MISSING, Cells
from republish.release.release import Release

Edge = str | float
_FEW = 12  # values of a column with an order that are bins of their own
_CUTS = 4


class Bin(NamedTuple):
    """Values of a column that are counted together."""

    name: str
    condition: Condition


def bins_of(columns: Columns, name: str, given: Sequence[Edge] | None = None, cuts: int = _CUTS) -> list[Bin]:
    """The bins of a column.

    Of numbers, dates and ordered values `given` are the values at which a bin begins, the first bin excepted; without
    them there are about as many people in each of `cuts` + 1 bins, or a bin for each of few values. Of categories they
    are values or labels of a hierarchy, of which each is a bin and all others one; without them every value is one.
    """
    domain = columns.domain(name)
    if domain.kind == "category":
        return _of_categories(domain, given)
    if given is None:
        texts = _values_in_order(columns, domain)
        if texts is not None and len(texts) <= _FEW:
            return [Bin(text, Test(name, "=", (_literal(domain, text),))) for text in texts]
        edges: Sequence[Edge] = _even_edges(columns, domain, cuts)
    else:
        edges = list(given)
        if not edges:
            raise PolicyError(
                f"the bins of {name} are the values at which they begin; give at least one, or none"
            )
    return _between(domain, edges)


def density_of(columns: Columns, cells: Cells) -> tuple[int, FloatArray] | None:
    """How people lie over a column, as counts take it: evenly in one table, where nothing is returned."""
    release = columns.release
    return None if isinstance(release, Release) else density(cells, real_rows(release.people))


def cell_shares(
    cells: Cells, spans: Sequence[Span], known: tuple[int, FloatArray] | None = None
) -> FloatArray:
    """The share of every group's cell that lies in each span; `*` is spread over the domain.

    People lie in a cell as the density says that is `known`, evenly without one. An empty cell lies in the spans that
    hold the missing value.
    """
    axis = cells.axis
    star = cells.missing == SOME_MISSING
    low = np.where(star, axis.low, cells.low)
    high = np.where(star, axis.high, cells.high)
    shares = np.zeros((len(low), len(spans)))
    blank = cells.missing == ALL_MISSING
    if known is not None:
        lowest, summed = known[0], np.append(0.0, np.cumsum(known[1]))

        def weight(start: FloatArray, end: FloatArray) -> FloatArray:
            first = np.clip(np.where(blank, 0.0, np.ceil(start) - lowest), 0, len(summed) - 1).astype(
                np.int64
            )
            last = np.clip(np.where(blank, 0.0, np.floor(end) - lowest + 1), 0, len(summed) - 1).astype(
                np.int64
            )
            found: FloatArray = np.maximum(summed[last] - summed[first], 0.0)
            return found

    with np.errstate(invalid="ignore", divide="ignore"):
        for s, span in enumerate(spans):
            for first, last in span.intervals:
                start, end = np.maximum(low, first), np.minimum(high, last)
                if known is not None:
                    shares[:, s] += weight(start, end) / weight(low, high)
                elif is_discrete(axis):
                    shares[:, s] += np.maximum(np.floor(end) - np.ceil(start) + 1, 0) / (high - low + 1)
                else:
                    part = np.where(high > low, (end - start) / (high - low), 1.0)
                    shares[:, s] += np.where(end >= start, part, 0.0)
    if axis.kind_code == FLAT:
        of_sets = _shares_of_sets(cells, spans, known)
        shares[~star] = of_sets[~star]
    shares[blank] = [span.missing for span in spans]
    return np.nan_to_num(shares)


def _shares_of_sets(cells: Cells, spans: Sequence[Span], known: tuple[int, FloatArray] | None) -> FloatArray:
    groups = len(cells.low)
    own = np.repeat(np.arange(groups), np.diff(cells.offsets))
    weight = np.ones(len(own)) if known is None else known[1][cells.members.astype(np.int64) - known[0]]
    held = np.bincount(own, weight, minlength=groups)
    shares = np.zeros((groups, len(spans)))
    for s, span in enumerate(spans):
        inside = np.zeros(len(own), dtype=np.bool_)
        for first, last in span.intervals:
            inside |= (first <= cells.members) & (cells.members <= last)
        shares[:, s] = np.bincount(own, weight * inside, minlength=groups) / np.where(held > 0, held, 1.0)
    return shares


def span_of(columns: Columns, one: Bin) -> Span:
    """The values of a bin in the coordinates of its column."""
    terms = columns.terms(one.condition)
    assert all(len(term) == 1 for term in terms)
    return next(iter(terms[0].values())) if terms else Span(())


def missing_bin(name: str) -> Bin:
    """The bin of those who lack the value."""
    return Bin("missing", Test(name, "null"))


def _literal(domain: Domain, value: Edge) -> Literal:
    number = domain.kind == "number"
    return Literal(_text(value), float(value) if number else None)


def _text(value: Edge) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _between(domain: Domain, edges: Sequence[Edge]) -> list[Bin]:
    name, found = domain.name, []
    try:
        literals = [_literal(domain, edge) for edge in edges]
    except (TypeError, ValueError):
        raise PolicyError(
            f"column {name} holds numbers: its bins begin at numbers, such as 30 and 60"
        ) from None
    for at in range(len(edges) + 1):
        tests = []
        if at > 0:
            tests.append(Test(name, ">=", (literals[at - 1],)))
        if at < len(edges):
            tests.append(Test(name, "<", (literals[at],)))
        first = literals[at - 1].text if at else None
        last = literals[at].text if at < len(edges) else None
        said = (
            f"below {last}"
            if first is None
            else f"{first} and more"
            if last is None
            else f"{first} to below {last}"
        )
        found.append(Bin(said, Every(tuple(tests))))
    return found


def _of_categories(domain: Domain, given: Sequence[Edge] | None) -> list[Bin]:
    name = domain.name
    if given is None:
        return [Bin(text, Test(name, "=", (Literal(text),))) for text in domain.texts or ()]
    texts = [str(value) for value in given]
    unknown = [text for text in texts if text not in domain.place and text not in domain.nodes]
    if unknown or len(set(texts)) < len(texts):
        raise PolicyError(
            f"the bins of {name} are values of it or labels of its hierarchy, each once; {len(unknown)} of "
            f"{len(texts)} are neither: check their spelling"
        )
    listed = Test(name, "in", tuple(Literal(text) for text in texts))
    each = [Bin(text, Test(name, "=", (Literal(text),))) for text in texts]
    return [*each, Bin("other", Not(listed))]


def _values_in_order(columns: Columns, domain: Domain) -> list[str] | None:
    """The values of a column in its order, where a release lists them."""
    if domain.texts is None or domain.ranks is None:
        return None
    return [text for _, text in sorted(zip(domain.ranks, domain.texts, strict=True))]


def _even_edges(columns: Columns, domain: Domain, cuts: int) -> list[Edge]:
    """Values that cut people, or published values, into parts of about the same size."""
    release = columns.release
    wanted = (np.arange(cuts) + 1) / (cuts + 1)
    texts = _values_in_order(columns, domain)
    axes = {cells.axis.column.name: cells for cells in release.people.cells}
    if domain.name not in axes:
        places = columns.places(columns.names.index(domain.name))
        ranks = np.array(domain.ranks or (0.0,))
        order = np.argsort(ranks)
        position = np.argsort(order)[places[places >= 0]]
        at = (
            np.unique(np.quantile(position, wanted, method="nearest"))
            if len(position)
            else np.zeros(0, np.int64)
        )
        assert texts is not None
        return [texts[i] for i in at.astype(np.int64).tolist() if i > 0]
    cells = axes[domain.name]
    said = cells.said & (real_rows(release.people) > 0)
    middle = np.repeat((cells.low + cells.high)[said] / 2, real_rows(release.people)[said])
    if not len(middle):
        return [_written(domain, cells, cells.axis.low)]
    found = np.unique(np.quantile(middle, wanted, method="nearest"))
    found = np.unique(np.ceil(found)) if is_discrete(cells.axis) else found
    edges = [x for x in found.tolist() if x > cells.axis.low] or [cells.axis.high]
    return [_written(domain, cells, x) for x in edges]


def _written(domain: Domain, cells: Cells, coordinate: float) -> Edge:
    if domain.kind == "date":
        return str(np.datetime64("1970-01-01") + np.timedelta64(int(coordinate), "D"))
    if domain.kind == "ordered":
        return cells.axis.labels[int(coordinate)]
    return float(coordinate)
