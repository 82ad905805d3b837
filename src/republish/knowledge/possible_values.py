"""Which values a person may have at all, by a quasi-identifier: what Cor-Split's paper calls theta (section 2.1).

Everybody knows that some values are impossible for some people. Whoever hides among values of which some are
impossible for her hides among fewer than it seems.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.errors import PolicyError, ViewError
from republish.microdata import MISSING, Microdata, sensitive_codes
from republish.schema import Category, Ordered, Schema
from republish.sources.tables import read_table

ALL = "all"
"""The text that limits nobody."""
_FORM = 'theta must be a text such as {"gender": {"m": ["flu", "gout"]}}: of one quasi-identifier, the possible values'


class PossibleCodes(NamedTuple):
    """Classes of people who may have the same values: that of every row, and `allowed[class, code]`."""

    of_row: IntArray
    allowed: BoolArray


@dataclass(frozen=True)
class PossibleValues:
    """The values that people with one of the listed cells of a column may have; everyone else may have any."""

    kept: ClassVar[bool] = False
    """Whether the pairs of people and values are stored: raw quasi-identifiers are not."""

    column: str
    listed: tuple[tuple[str, tuple[str | None, ...]], ...]

    @classmethod
    def of(cls, text: str) -> PossibleValues:
        """What a text says, which `text` gives back."""
        try:
            document = json.loads(text)
        except (ValueError, TypeError):
            raise PolicyError(_FORM) from None
        if isinstance(document, dict) and len(document) == 1:
            ((column, cells),) = document.items()
            if isinstance(cells, dict) and cells and all(map(_values, cells.values())):
                return cls(column, tuple((cell, tuple(values)) for cell, values in cells.items()))
        raise PolicyError(_FORM)

    @classmethod
    def of_table(cls, source: Any, schema: Schema) -> PossibleValues:
        """What a table of possible pairs says: a quasi-identifier and the sensitive column, one pair a row."""
        table = read_table(source, files=schema.files)
        value = schema.sensitive.name if schema.sensitive is not None else ""
        others = [name for name in table.columns if name != value]
        if value not in table.columns or len(others) != 1 or table[others[0]].null_count():
            raise PolicyError(
                "theta must be a table of two columns, a quasi-identifier without gaps and the sensitive one, with one "
                f"possible pair a row; found {table.width} columns"
            )
        pairs = table.select(pl.col(others[0]).cast(pl.String), pl.col(value).cast(pl.String)).unique()
        cells = pairs.sort(others[0], value).group_by(others[0], maintain_order=True).agg(value)
        return cls(others[0], tuple((cell, tuple(values)) for cell, values in cells.rows()))

    @property
    def text(self) -> str:
        return json.dumps({self.column: dict(self.listed)}, ensure_ascii=False)

    @property
    def promise(self) -> str:
        return f"theta={self.column}"

    def describe(self) -> str:
        """The promise as a sentence."""
        return f"No group shows a value that is impossible for one of its people, as {self.column} says."

    def require_fit(self, schema: Schema, m: int) -> None:
        """Refuse a column that is no category among the quasi-identifiers, and fewer than m possible values."""
        declared = {column.name: column for column in schema.quasi_identifiers}.get(self.column)
        if not isinstance(declared, Category | Ordered) or schema.sensitive is None:
            raise PolicyError(
                "theta must name a quasi-identifier that is a category or ordered, beside a sensitive column; "
                "found another; name such a column"
            )
        few = sum(len(values) < m for _, values in self.listed)
        if few:
            raise PolicyError(
                f"theta must leave everyone at least m={m} possible values; {few} of the {len(self.listed)} cells that "
                "it lists have fewer; choose a smaller m, or add values"
            )
        for _, values in self.listed:
            sensitive_codes(pl.Series(values, dtype=pl.String), schema.sensitive)

    def of_people(self, view: Microdata) -> PossibleCodes:
        """Who in a view may have which of its values.

        Raises:
            ViewError: somebody has a value that is impossible.
        """
        place = next(q for q, axis in enumerate(view.axes) if axis.column.name == self.column)
        sets = np.ones(
            (len(self.listed) + 1, len(view.values)), dtype=np.bool_
        )  # the last may have any value
        assert view.schema.sensitive is not None
        for line, (_, values) in zip(sets, self.listed, strict=False):
            codes, _ = sensitive_codes(pl.Series(values, dtype=pl.String), view.schema.sensitive, view.values)
            line[:] = np.isin(np.arange(len(line)), codes)
        allowed, of_set = np.unique(sets, axis=0, return_inverse=True)
        number = {cell: i for i, (cell, _) in enumerate(self.listed)}
        labels = [number.get(label, len(number)) for label in view.axes[place].labels]
        missing = view.points[place] == MISSING
        position = np.where(missing, len(labels), view.points[place]).astype(np.int64)
        of_row = of_set.ravel()[np.array([*labels, len(number)])[position]]
        wrong = int(np.count_nonzero(~allowed[of_row, view.codes]))
        if wrong:
            raise ViewError(
                f"everyone must have a value that theta says is possible; {wrong} of {view.rows} rows do not, going by "
                f"{self.column}; correct them, or start a new series with another theta"
            )
        return PossibleCodes(of_row, allowed)


def _values(given: object) -> bool:
    return (
        isinstance(given, list)
        and len(given) == len(set(map(str, given)))
        and all(one is None or isinstance(one, str) for one in given)
    )
