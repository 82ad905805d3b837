"""Read knowledge from `knowledge.toml` and the tables it names; every error says how much is wrong, never what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError, ViewError
from republish.knowledge.extraction import Extracted
from republish.knowledge.knowledge import Knowledge, require_size
from republish.knowledge.settings import VIEWS, KnowledgeSettings, read_settings
from republish.knowledge.writer import FILE, last_columns
from republish.schema import Number, Schema
from republish.schema.column_names import listed
from republish.sources.tables import read_table
from republish.sources.values import as_text, parse

_OFF = 1e-6


def read_knowledge(source: str | Path, schema: Schema) -> Knowledge | Extracted:
    """The knowledge that a `knowledge.toml`, or the folder that holds one, describes.

    `Extracted` where the prior or the sequential part is to be counted from the views themselves.
    """
    path = Path(source)
    path = path / FILE if path.is_dir() else path
    settings = read_settings(path, schema)
    prior = _prior_file(settings, path.parent)
    sequential = _sequential_file(settings, path.parent)
    terminal = _terminal_values(settings)
    if prior is None and sequential is None:
        counted = Extracted(settings.order, settings.classes, terminal, settings.smoothing)
        return replace(counted, unseen=settings.unseen, gaps=settings.gaps)
    domain = _domain(prior, sequential, settings)
    m = len(domain.values)
    first = np.full((settings.classes.count, m), 1 / m) if prior is None else _prior(prior, domain, settings)
    later = None if sequential is None else _sequential(sequential, domain, settings)
    codes = _terminal_codes(terminal, domain, settings)
    order = 0 if later is None else settings.order
    given = Knowledge(
        domain.values, settings.classes, first, later, order, codes, settings.unseen, settings.gaps
    )
    if VIEWS not in (settings.prior, settings.sequential):
        return given
    return Extracted(
        settings.order,
        settings.classes,
        terminal,
        settings.smoothing,
        prior=None if prior is None else given,
        sequential=None if sequential is None else given,
        unseen=settings.unseen,
        gaps=settings.gaps,
    )


@dataclass(frozen=True)
class _Domain:
    """The values that files mention, in that order, typed and as the texts of the files."""

    texts: pl.Series
    values: pl.Series

    def codes(self, column: pl.Series) -> IntArray:
        """The code of every text, the number of values for null."""
        count = len(self.texts)
        codes = column.replace_strict(
            self.texts, pl.arange(count, eager=True), default=count, return_dtype=pl.Int64
        )
        return codes.to_numpy()


def _prior_file(settings: KnowledgeSettings, folder: Path) -> pl.DataFrame | None:
    if settings.prior == VIEWS:
        return None
    return _table(folder / settings.prior, ["value"], [], settings)


def _sequential_file(settings: KnowledgeSettings, folder: Path) -> pl.DataFrame | None:
    if settings.sequential in (None, VIEWS):
        return None
    *older, last = last_columns(settings.order)
    return _table(folder / str(settings.sequential), [last, "next"], older, settings)


def _table(path: Path, full: list[str], older: list[str], settings: KnowledgeSettings) -> pl.DataFrame:
    """A table with class columns, value columns as normal texts, and chances; each checked by itself."""
    name = path.name
    if not path.is_file():
        raise PolicyError(
            f"there is no file {path}, which {settings.file} names; correct the name, or write it"
        )
    try:
        table = read_table(path, numbers=["p"])
    except ViewError as problem:
        raise PolicyError(f"{name} cannot be read: {problem}") from None
    labels = [column.column for column in settings.classes.columns]
    expected = [*labels, *older, *full, "p"]
    strange = sorted(set(table.columns) - set(expected))
    absent = [column for column in expected if column not in table.columns]
    if strange or absent:
        raise PolicyError(
            f"{name} must have the columns {listed(expected)}"
            + (f"; without: {listed(absent)}" if absent else "")
            + (f"; not known: {listed(strange)} (a class column needs its [classes.NAME])" if strange else "")
        )
    _require_none(
        settings.classes.numbers(table) < 0, name, f"name a class that {settings.file} does not declare"
    )
    chances = table["p"].cast(pl.Float64, strict=False)
    _require_none(~chances.is_between(0, 1).fill_null(False), name, "have a p that is no number from 0 to 1")
    steps = [chances.alias("p")]
    for column in (*older, *full):
        if column in full:
            _require_none(table[column].is_null(), name, f"have no value in column {column}")
        steps.append(_spelled(table[column], settings, name))
    table = table.with_columns(steps)
    for before, after in pairwise(older):
        gap = table[before].is_not_null() & table[after].is_null()
        _require_none(gap, name, f"have a value in {before} and none in {after}, which is later")
    return table


def _spelled(column: pl.Series, settings: KnowledgeSettings, name: str) -> pl.Series:
    """The values of a column each in its one spelling, checked against the schema."""
    marked = column.cast(pl.String) == settings.missing if settings.missing else column.is_null() & False
    try:
        typed = parse(column.set(marked, None) if marked.any() else column, settings.declared)
    except ViewError as problem:
        raise PolicyError(f"{name}: {problem}") from None
    texts = as_text(typed)
    declared = settings.declared
    if declared.closed is not None:
        strange = ~texts.is_in(declared.closed) & texts.is_not_null()
        _require_none(
            strange.fill_null(False), name, f"hold a value in {column.name} that the schema does not list"
        )
    if isinstance(declared, Number) and declared.domain is not None:
        outside = ~typed.is_between(*declared.domain)
        _require_none(
            outside.fill_null(False), name, f"hold a number in {column.name} outside the schema's domain"
        )
    return texts.set(marked, settings.missing).rename(column.name)


def _require_none(wrong: pl.Series | np.ndarray[Any, np.dtype[np.bool_]], name: str, what: str) -> None:
    number = int(wrong.sum())
    if number:
        raise PolicyError(f"{name}: {number} of {len(wrong)} rows {what}; correct them")


def _domain(
    prior: pl.DataFrame | None, sequential: pl.DataFrame | None, settings: KnowledgeSettings
) -> _Domain:
    """Every value that the tables mention, in the order in which they do."""
    columns = [] if prior is None else [prior["value"]]
    if sequential is not None:
        columns += [sequential[name] for name in (*last_columns(settings.order), "next")]
    name = settings.declared.name
    texts = pl.concat([column.rename(name) for column in columns]).drop_nulls().unique(maintain_order=True)
    if not len(texts):
        raise PolicyError(f"the tables that {settings.file} names have no rows; knowledge needs some")
    return _Domain(texts, parse(_unmarked(texts, settings), settings.declared))


def _unmarked(texts: pl.Series, settings: KnowledgeSettings) -> pl.Series:
    """The texts with null for the one that stands for the missing value."""
    return texts.set(texts == settings.missing, None) if settings.missing else texts


def _terminal_values(settings: KnowledgeSettings) -> tuple[Any, ...]:
    texts = _spelled(pl.Series("terminal", settings.terminal, dtype=pl.String), settings, settings.file)
    return tuple(parse(_unmarked(texts, settings), settings.declared).to_list())


def _terminal_codes(
    terminal: tuple[Any, ...], domain: _Domain, settings: KnowledgeSettings
) -> tuple[int, ...]:
    mentioned = {value: code for code, value in enumerate(domain.values.to_list())}
    unknown = len(set(terminal) - mentioned.keys())
    if unknown:
        raise PolicyError(f"{settings.file}: terminal values must occur in the tables; {unknown} do not")
    return tuple(mentioned[value] for value in terminal)


def _prior(table: pl.DataFrame, domain: _Domain, settings: KnowledgeSettings) -> FloatArray:
    shape = (settings.classes.count, len(domain.texts))
    cell = np.ravel_multi_index((settings.classes.numbers(table), domain.codes(table["value"])), shape)
    prior = _filled(cell, table["p"], shape, settings.prior)
    wrong = int(np.count_nonzero(np.abs(prior.sum(axis=1) - 1) > _OFF))
    if wrong:
        raise PolicyError(
            f"{settings.prior}: the chances of each class must sum to 1; those of {wrong} of {len(prior)} classes do "
            "not; correct them"
        )
    return prior


def _sequential(table: pl.DataFrame, domain: _Domain, settings: KnowledgeSettings) -> FloatArray:
    m, order = len(domain.texts), settings.order
    require_size(settings.classes, m, order)
    shape = (settings.classes.count, *[m + 1] * (order - 1), m, m)
    named = [domain.codes(table[name]) for name in (*last_columns(order), "next")]
    cell = np.ravel_multi_index((settings.classes.numbers(table), *named), shape)
    sequential = _filled(cell, table["p"], shape, str(settings.sequential))
    contexts = np.unique(cell // m)
    wrong = int(np.count_nonzero(np.abs(sequential.reshape(-1, m)[contexts].sum(axis=1) - 1) > _OFF))
    if wrong:
        raise PolicyError(
            f"{settings.sequential}: the chances of each context must sum to 1; those of {wrong} of {len(contexts)} "
            "contexts do not; correct them"
        )
    return sequential.reshape(settings.classes.count, -1, m, m)


def _filled(cell: IntArray, chances: pl.Series, shape: tuple[int, ...], name: str) -> FloatArray:
    twice = len(cell) - len(np.unique(cell))
    if twice:
        raise PolicyError(
            f"{name}: each class, context and value has one row; {twice} rows repeat one; remove them"
        )
    table = np.zeros(shape)
    table.reshape(-1)[cell] = chances.to_numpy()
    return table
