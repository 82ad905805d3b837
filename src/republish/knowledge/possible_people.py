"""Which values each person may have, given by identifier with every view: theta of Cor-Split's paper (2.1, Def. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from republish.errors import PolicyError, ViewError
from republish.knowledge.possible_values import PossibleCodes
from republish.microdata import Microdata
from republish.schema import Schema

PEOPLE = "people"
"""The text that says so: values are possible person by person."""
PROMISE = f"theta={PEOPLE}"
MEANING = "No group shows a value that is impossible for one of its people, by the table given with the view."


@dataclass(frozen=True)
class PossibleForPeople:
    """The values of the table that came with a view, at least `m` each; a person who is not in it may have any."""

    m: int
    promise: ClassVar[str] = PROMISE
    kept: ClassVar[bool] = True
    """Whether the pairs are stored, so that the promise can be recomputed."""

    def describe(self) -> str:
        """The promise as a sentence."""
        return MEANING

    def require_fit(self, schema: Schema, m: int) -> None:
        """Refuse a schema without the two columns that such a table has."""
        if schema.sensitive is None or schema.identifier is None:
            raise PolicyError(
                "theta = people needs an identifier and a sensitive column; label them in the schema"
            )

    def of_people(self, view: Microdata) -> PossibleCodes:
        """Who in a view may have which of its values, as the table says.

        Raises:
            PolicyError: no table came with the view.
            ViewError: a person has a value that is impossible.
        """
        if view.possible is None:
            raise PolicyError(
                "theta = people needs the possible values of the people in each view; give them with "
                "publish --theta TABLE"
            )
        of_row, allowed = view.possible
        wrong = int(np.count_nonzero(~allowed[of_row, view.codes]))
        if wrong:
            raise ViewError(
                f"everyone must have a value that theta says is possible; {wrong} of {view.rows} rows do not; correct "
                "the view, or the table"
            )
        return view.possible


def possible_codes(pairs: pl.DataFrame, rows: int, values: int) -> PossibleCodes:
    """Classes of rows by the codes of their pairs; who has no pair may have any. `pairs` has columns row and code."""
    may = np.zeros((rows, values), dtype=np.bool_)
    may[np.setdiff1d(np.arange(rows), pairs["row"].to_numpy())] = True
    known = pairs.drop_nulls("code")
    may[known["row"].to_numpy(), known["code"].to_numpy()] = True
    allowed, of_row = np.unique(may, axis=0, return_inverse=True)
    return PossibleCodes(of_row.ravel(), allowed)
