"""Knowledge learned from a corpus of raw views with identifiers (SPM of JS-reduce, Alg. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError, ViewError
from republish.knowledge.classes import Classes
from republish.knowledge.kernel import kernel_prior
from republish.knowledge.knowledge import Knowledge, codes_of
from republish.knowledge.transitions import NONE, Transitions
from republish.microdata import read_view
from republish.schema import Schema
from republish.sources.identifiers import normal_texts
from republish.sources.tables import read_raw

ORDERS = (0, 1, 2, 3)


def learn(
    views: Sequence[Any],
    schema: Schema,
    classes: Classes | None = None,
    order: int = 2,
    smoothing: float = 0.0,
    terminal: Sequence[Any] = (),
    bandwidth: float | Sequence[float] | None = None,
    unseen: str = "shorter",
    gaps: str = "skip",
) -> Knowledge:
    """The shares of first values and of successions in a corpus, by class.

    `views` are raw views, oldest first: files or frames. A person's sequence is that of the appearances in
    them, however many views lie between two, or, where `gaps` count, those in views one after the other; the class is
    that of the later appearance. The prior is counted from each person's first appearance.
    `Transitions.to_knowledge` explains `smoothing`.

    With a `bandwidth` the prior is found by kernel regression over the quasi-identifiers, see `kernel_prior`: that of
    a class is the average over the people in it. `unseen` and `gaps` are those of `Knowledge`.
    """
    if schema.sensitive is None or schema.identifier is None:
        raise PolicyError(
            "knowledge is learned from views with an identifier and a sensitive column; label them"
        )
    if order not in ORDERS:
        raise PolicyError(f"the order of learned knowledge is 0, 1, 2 or 3, not {order}")
    if not views:
        raise PolicyError("knowledge is learned from one view or more; none was given")
    classes = Classes.everyone() if classes is None else classes
    classes.require_fit(schema)
    rows, values = _appearances(views, schema, classes)
    if not len(values):
        raise ViewError("knowledge is learned from people, and the views hold nobody; give views with rows")
    history = _history(rows, max(order, 1), gaps == "count")
    counted = (
        pl.Series(history[0] != NONE) | rows["person"].is_first_distinct()
    )  # else after a gap that counts
    counts = Transitions.empty(max(order, 1)).add(
        rows["class"].filter(counted).to_numpy(),
        [codes[counted.to_numpy()] for codes in history],
        rows["code"].filter(counted).to_numpy(),
    )
    ends = codes_of(values, terminal)
    knowledge = counts.to_knowledge(values.rename(schema.sensitive.name), classes, smoothing, ends)
    knowledge = replace(knowledge, unseen=unseen, gaps=gaps)
    if bandwidth is not None:
        knowledge = replace(knowledge, prior=_regressed(views, schema, knowledge, bandwidth))
    return knowledge.steps(order)


def _regressed(
    views: Sequence[Any], schema: Schema, knowledge: Knowledge, bandwidth: float | Sequence[float]
) -> FloatArray:
    """The prior of every class by kernel regression over everybody's first appearance."""
    assert schema.identifier is not None
    tables = [read_raw(view, schema) for view in views]
    every = pl.concat(tables, how="vertical_relaxed")
    first = every.filter(normal_texts(every[schema.identifier], schema.normal).is_first_distinct())
    corpus = read_view(first, schema, knowledge.values.rename(""))
    people, count = knowledge.classes.of(corpus), knowledge.classes.count
    prior = kernel_prior(corpus, corpus, bandwidth)
    found = np.tile(prior.mean(axis=0), (count, 1))
    for number in np.unique(people[people < count]):
        found[number] = prior[people == number].mean(axis=0)
    return found


def _appearances(views: Sequence[Any], schema: Schema, classes: Classes) -> tuple[pl.DataFrame, pl.Series]:
    """Every appearance as person, view, class and code, each person's in order; and what the codes stand for."""
    frames = []
    values: pl.Series | None = None
    for number, view in enumerate(views):
        data = read_view(view, schema, values)
        values = data.values
        assert data.identifiers is not None
        columns = {"class": classes.of(data), "code": data.codes.astype(np.int64)}
        frames.append(pl.DataFrame({"person": data.identifiers, **columns}).with_columns(view=number))
    assert values is not None
    every = pl.concat(frames)
    return every.sort("person", maintain_order=True), values


def _history(rows: pl.DataFrame, length: int, in_a_row: bool) -> list[IntArray]:
    """The codes one, two, ... appearances earlier, or that many views earlier; -1 where there is none."""
    person, view = pl.col("person"), pl.col("view")
    earlier = [
        pl.when((person.shift(age) == person) & ((view.shift(age) == view - age) | (not in_a_row)))
        .then(pl.col("code").shift(age))
        .fill_null(NONE)
        for age in range(1, length + 1)
    ]
    found = rows.select(column.alias(str(age)) for age, column in enumerate(earlier))
    return [found[str(age)].to_numpy() for age in range(length)]
