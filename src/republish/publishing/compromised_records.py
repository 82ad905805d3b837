"""What outsiders know of single people in a view, given by identifier and kept by pseudonym."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from republish.errors import PolicyError, ViewError
from republish.inference import Compromised
from republish.memory.memory import KEY, Memory
from republish.microdata import Microdata
from republish.policy import Policy
from republish.publishers import knowing_publishers
from republish.schema import Schema
from republish.schema.column_names import listed
from republish.secret import Secret
from republish.sources.amended import amended
from republish.sources.columns.spelling import respelled
from republish.sources.identifiers import normal_texts
from republish.sources.tables import read_table
from republish.sources.values import parse

CONFIDENCE = "p"


def with_compromised(view: Microdata, source: Any, policy: Policy, secret: Secret) -> Microdata:
    """The view with what a table says of people in it: identifier, sensitive value, and confidence p from 0 to 1."""
    schema = view.schema
    assert schema.identifier is not None and view.people is not None
    if policy.reasoning is None or schema.sensitive is None:
        raise PolicyError(
            f"{policy.publisher.name} makes no use of compromised records; {knowing_publishers()} do"
        )
    table, identifiers = people_table(
        source, schema, (schema.sensitive.name, CONFIDENCE), "compromised records"
    )
    entries = Memory(view.people, {}).find(secret.pseudonyms(identifiers))
    strangers = int(np.count_nonzero(entries < 0))
    if strangers:
        raise ViewError(
            f"compromised records must be about people in the view; {strangers} of {len(entries)} rows are not"
        )
    codes = codes_of(table, view)
    if codes.null_count():
        raise ViewError(
            f"compromised records must name sensitive values of the series; {codes.null_count()} of {len(codes)} "
            "rows name others"
        )
    told = table[CONFIDENCE].cast(pl.String).str.replace(",", ".", literal=True)  # from 0 to 1: no thousands
    confidence = told.cast(pl.Float64, strict=False)
    if confidence.null_count():
        raise ViewError(f"compromised records: {confidence.null_count()} rows have no number in column p")
    known = Compromised(entries, codes.to_numpy(), confidence.to_numpy()).checked(view.rows, len(view.values))
    sure = known.certain()
    wrong = int(np.count_nonzero(view.codes[sure.row] != sure.code))
    if wrong:
        raise ViewError(
            f"who is certain of a value is right: of {len(sure.row)} compromised records with p = 1, {wrong} name "
            "another value than the view; correct them, or lower p"
        )
    return replace(view, compromised=known)


def people_table(
    source: Any, schema: Schema, columns: tuple[str, ...], what: str
) -> tuple[pl.DataFrame, pl.Series]:
    """A table about single people with these columns, and the identifiers in the form of the series."""
    assert schema.identifier is not None
    wanted = (schema.identifier, *columns)
    table = amended(respelled(read_table(source, files=schema.files), schema), schema)
    absent = [name for name in wanted if name not in table.columns]
    if absent:
        raise ViewError(f"{what} need the columns {listed(wanted)}; {listed(absent)} is missing")
    identifiers = normal_texts(table[schema.identifier], schema.normal)
    if identifiers.null_count():
        raise ViewError(f"{what}: {identifiers.null_count()} rows have no identifier")
    return table, identifiers


def codes_of(table: pl.DataFrame, view: Microdata) -> pl.Series:
    """The code of the sensitive value of every row, null where the view and the series before it do not know it."""
    assert view.schema.sensitive is not None
    values = parse(table[view.schema.sensitive.name], view.schema.sensitive).to_frame("value")
    places = view.values.to_frame("value").with_row_index("code")
    return values.join(places, on="value", how="left", nulls_equal=True, maintain_order="left")["code"]


def compromised_table(view: Microdata) -> pl.DataFrame:
    """What is kept of it: pseudonym, code and confidence."""
    assert view.compromised is not None and view.people is not None
    words = view.people[view.compromised.row]
    return pl.DataFrame(
        {
            **{key: words[:, i] for i, key in enumerate(KEY)},
            "code": view.compromised.code,
            "p": view.compromised.p,
        }
    )
