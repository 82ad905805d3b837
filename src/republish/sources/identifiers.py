"""Identifiers as text in the normal form that the schema chose: a person who is spelled otherwise is another person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from republish.errors import ViewError
from republish.schema import DROP_POINT_ZERO, NORMAL_FORMS, Schema
from republish.secret import composed
from republish.sources.tables import read_table
from republish.sources.values import type_name

_STEPS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "strip": lambda texts: texts.str.strip_chars(),
    "lower-case": lambda texts: texts.str.to_lowercase(),
    DROP_POINT_ZERO: lambda texts: texts.str.replace(r"^([+-]?[0-9]+)\.0+$", "${1}"),
    "drop-leading-zeros": lambda texts: texts.str.replace(r"(?s)^0+(.)", "${1}"),
}
_DECIMAL = r"^[+-]?[0-9]+(\.[0-9]+([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)$"
_NEARLY_ALL = 0.9


def normal_texts(identifiers: pl.Series, forms: Sequence[str]) -> pl.Series:
    """The identifiers as text in Unicode NFC and in these forms; null where nothing is left of one."""
    texts = identifiers.cast(pl.String)
    for form in NORMAL_FORMS:
        if form in forms:
            texts = _STEPS[form](texts)
    return composed(texts.set(texts == "", None) if forms else texts)


def identifiers_of(column: pl.Series, forms: Sequence[str] = ()) -> pl.Series:
    """The identifiers of a view as text, one row a person."""
    if len(column) > column.null_count() and not (column.dtype == pl.String or column.dtype.is_integer()):
        raise ViewError(
            f"column {column.name}: identifiers must be text or whole numbers; found {type_name(column.dtype)}. "
            "Write them as text, since decimals and dates have several spellings"
        )
    texts = normal_texts(column, forms)
    if texts.null_count():
        raise ViewError(
            f"column {column.name}: every row needs an identifier; {texts.null_count()} of {len(texts)} rows have "
            "none. Give them one, or remove the rows"
        )
    if texts.hash().n_unique() < len(texts):  # equal hashes are cheap to rule out, equal texts are not
        repeated = len(texts) - texts.n_unique()
        if repeated:
            raise ViewError(
                f"column {column.name}: at most one row a person a view; {repeated} rows repeat an identifier"
                f"{', in the normal form of the schema' if forms else ''}. Keep one row a person, for example the "
                "latest"
            )
    return texts


def read_identifiers(source: Any, schema: Schema) -> pl.Series:
    """The identifiers in the table's column of that role, each once; a file is written as the schema says."""
    own, forms = schema.identifier or "", schema.normal
    table = read_table(source, files=schema.files)
    name = next((one for one in schema.amended.names_of(own) if one in table.columns), own)
    if name not in table.columns:
        raise ViewError(f"a list of people must have a column {name}, with that name in its first line")
    listed = table[name].drop_nulls()
    return identifiers_of(listed.filter(normal_texts(listed, forms).is_first_distinct()), forms)


def require_whole(texts: pl.Series, schema: Schema) -> None:
    """Refuse identifiers that look like decimals, which the next file may well write as whole numbers."""
    decimals = int(texts.str.contains(_DECIMAL).sum())
    if not decimals or decimals < _NEARLY_ALL * len(texts) or DROP_POINT_ZERO in schema.normal:
        return
    raise ViewError(
        f"column {schema.identifier}: identifiers must have one spelling; {decimals} of {len(texts)} look like "
        "decimals, as programs write whole numbers now and then. Write them as whole numbers, or let the schema say "
        f'how to read them: normal = ["{DROP_POINT_ZERO}"]'
    )
