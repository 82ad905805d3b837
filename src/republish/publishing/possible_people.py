"""The possible values of the people in a view, given by identifier and kept by pseudonym."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from republish.errors import PolicyError, ViewError
from republish.knowledge.possible_people import PossibleForPeople, possible_codes
from republish.memory.memory import KEY, Memory
from republish.microdata import Microdata
from republish.policy import Policy
from republish.publishing.compromised_records import codes_of, people_table
from republish.secret import Secret


def with_possible(view: Microdata, source: Any, policy: Policy, secret: Secret) -> Microdata:
    """The view with what a table says: identifier and sensitive value, one possible pair a row.

    People who are not in the view are left out; values that neither it nor the series knows are counted, and no more.
    """
    schema, possible = view.schema, policy.possible
    if not isinstance(possible, PossibleForPeople):
        raise PolicyError(
            f"{policy.publisher.name} of this series takes no possible values of single people; begin a series with "
            "--publisher cor-split -p theta=people"
        )
    assert schema.sensitive is not None and view.people is not None
    table, identifiers = people_table(source, schema, (schema.sensitive.name,), "possible values")
    entries = pl.Series("row", Memory(view.people, {}).find(secret.pseudonyms(identifiers)))
    texts = table[schema.sensitive.name].cast(pl.String).alias("text")
    pairs = pl.DataFrame([entries, texts, codes_of(table, view).alias("code")])
    pairs = pairs.filter(pl.col("row") >= 0).unique(["row", "text"], maintain_order=True)
    few = pairs.group_by("row").len().filter(pl.col("len") < possible.m).height
    if few:
        raise ViewError(
            f"theta must leave everyone at least m={possible.m} possible values; {few} people of the view have fewer; "
            "add values, or leave these people out of the table"
        )
    return replace(view, possible=possible_codes(pairs, view.rows, len(view.values)))


def possible_table(view: Microdata) -> pl.DataFrame:
    """What is kept of it: pseudonym and code of every possible pair of those who may not have all values."""
    assert view.possible is not None and view.people is not None
    may = view.possible.allowed[view.possible.of_row]
    row, code = np.nonzero(may & ~may.all(axis=1, keepdims=True))
    words = view.people[row]
    return pl.DataFrame({**{key: words[:, i] for i, key in enumerate(KEY)}, "code": code.astype(np.int32)})
