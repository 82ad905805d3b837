"""A formula such as `salary ~ age + gender`: the score of every sensitive value, and the columns that explain it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray
from republish.errors import PolicyError
from republish.metrics.boxes import require_sensitive
from republish.queries.columns import Columns
from republish.queries.language import Condition, Test, parse_condition
from republish.schema.column_names import listed


class Formula(NamedTuple):
    """What is explained and by what.

    `scores` has a number for every place of the sensitive value, NaN for one that is left out: numbers, days and places
    in the order of the schema are themselves, a condition is 1 where it holds and 0 elsewhere.
    """

    text: str
    response: str
    scores: FloatArray
    columns: tuple[str, ...]


def read_formula(text: str, columns: Columns) -> Formula:
    """The formula in the columns of a release."""
    schema = columns.release.schema
    require_sensitive(schema, "a regression")
    assert schema.sensitive is not None
    sensitive = schema.sensitive.name
    if text.count("~") != 1:
        raise PolicyError(
            f"a regression is written like `{sensitive} ~ age + gender`: what is explained, one ~, and columns"
        )
    left, right = (part.strip() for part in text.split("~"))
    names = tuple(_unquoted(part) for part in right.split("+"))
    explaining = [name for name in columns.names if name != sensitive]
    wrong = [name for name in names if name not in explaining]
    if wrong or len(set(names)) < len(names):
        raise PolicyError(
            f"a regression is explained by columns of the release, each once: {listed(explaining)}; found {right}"
        )
    return Formula(text, left, _scores(left, columns, sensitive), names)


def _unquoted(name: str) -> str:
    name = name.strip()
    return name[1:-1].replace('""', '"') if len(name) > 1 and name[0] == name[-1] == '"' else name


def _scores(left: str, columns: Columns, sensitive: str) -> FloatArray:
    domain = columns.domain(sensitive)
    known = len(domain.texts or ())
    if _unquoted(left) == sensitive:
        if domain.ranks is None:
            raise PolicyError(
                f"column {sensitive} holds texts without an order, which have no mean; name the values that are "
                f"meant: `{sensitive} = 'a' ~ ...` or `{sensitive} in ('a', 'b') ~ ...`"
            )
        return np.array(domain.ranks, dtype=np.float64)
    condition = None if not left or _unquoted(left) in columns.names else parse_condition(left)
    if condition is None or _columns_of(condition) != {sensitive}:
        raise PolicyError(
            f"what is explained is {sensitive}, or a condition on it alone such as `{sensitive} = 'a'`"
        )
    scores, at = np.zeros(known), np.arange(known)
    for term in columns.terms(condition):
        for low, high in term[columns.sensitive].intervals:
            scores[(low <= at) & (at <= high)] = 1.0
    return scores


def _columns_of(condition: Condition) -> set[str]:
    if isinstance(condition, Test):
        return {condition.column}
    parts = condition.parts if hasattr(condition, "parts") else (condition.part,)
    return set().union(*(_columns_of(part) for part in parts))
