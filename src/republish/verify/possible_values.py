"""Whether no group shows a value that is impossible for one of its people, while the view is at hand.

Raw quasi-identifiers are not stored, so that nobody can recompute this later where it goes by one of them. Values given
person by person are kept under pseudonyms, and recomputed. Publishers go by classes of people and sets of codes; here
every pair of a member and a value that her group shows is looked up in the list itself.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.knowledge.possible_people import MEANING, PROMISE, PossibleForPeople
from republish.knowledge.possible_values import PossibleValues
from republish.memory.memory import KEY, keyed
from republish.microdata import MISSING, Microdata, sensitive_codes
from republish.release.release import Release
from republish.sources.values import parse
from republish.verify.check import Check


def checks_of_possible(
    possible: PossibleValues | PossibleForPeople | None, view: Microdata, group: IntArray, shown: Release
) -> tuple[Check, ...]:
    """The check of possible values where they are given; `group` is that of every row of the view, 0 is left out."""
    if possible is None:
        return ()
    if isinstance(possible, PossibleForPeople):
        return (_of_view(view, group, shown),)
    place = next(q for q, axis in enumerate(view.axes) if axis.column.name == possible.column)
    labels, points = view.axes[place].labels, view.points[place]
    position = np.where(points == MISSING, len(labels), points).astype(np.int64)
    cells = pl.Series([*labels, None], dtype=pl.String).gather(position)
    members = pl.DataFrame({"group": group, "cell": cells}).with_row_index("row")
    members = members.filter(pl.col("group") > 0, pl.col("cell").is_in([cell for cell, _ in possible.listed]))
    pairs = members.cast({"group": pl.Int64}).join(_values_of(shown), on="group")
    wrong = pairs.join(_possible(possible, view), on=["cell", "value"], how="anti", nulls_equal=True)
    return (
        Check(
            possible.promise,
            wrong.is_empty(),
            possible.describe(),
            None,
            wrong["group"].n_unique(),
            wrong["row"].n_unique(),
        ),
    )


def possible_for_people(members: pl.DataFrame, shown: pl.DataFrame, may: pl.DataFrame) -> Check:
    """Whether every listed member of a group may have every value that it shows.

    `members` has pseudonym and group, 0 for left out; `shown` group and code of every row; `may` the pairs of the
    table. A person who is in no pair may have any value.
    """
    there = members.filter(pl.col("group") > 0).join(may.select(KEY).unique(), on=list(KEY), how="semi")
    pairs = there.cast({"group": pl.Int64}).join(shown.cast(pl.Int64).unique(), on="group")
    wrong = pairs.join(may.cast({"code": pl.Int64}), on=[*KEY, "code"], how="anti")
    return Check(
        PROMISE,
        wrong.is_empty(),
        MEANING,
        None,
        wrong["group"].n_unique(),
        wrong.select(KEY).n_unique(),
    )


def _of_view(view: Microdata, group: IntArray, shown: Release) -> Check:
    """The check while the view is at hand, from the pairs that came with it."""
    assert view.possible is not None and view.people is not None and view.schema.sensitive is not None
    of_row, allowed = view.possible
    anything = np.count_nonzero(allowed, axis=1) == allowed.shape[1]
    row, code = np.nonzero(allowed[of_row] & ~anything[of_row, np.newaxis])
    codes, _ = sensitive_codes(shown.rest[view.schema.sensitive.name], view.schema.sensitive, view.values)
    return possible_for_people(
        keyed(view.people).with_columns(group=pl.Series(group)),
        pl.DataFrame({"group": shown.group, "code": codes}),
        keyed(view.people[row]).with_columns(code=pl.Series(code)),
    )


def _values_of(shown: Release) -> pl.DataFrame:
    """The values that every group shows."""
    assert shown.schema.sensitive is not None
    value = parse(shown.rest[shown.schema.sensitive.name], shown.schema.sensitive)
    return pl.DataFrame({"group": shown.group, "value": value}).cast({"group": pl.Int64}).unique()


def _possible(possible: PossibleValues, view: Microdata) -> pl.DataFrame:
    """All pairs of a cell and a value that are possible."""
    assert view.schema.sensitive is not None
    pairs = [(cell, value) for cell, values in possible.listed for value in values]
    texts = pl.DataFrame(pairs, schema={"cell": pl.String, "value": pl.String}, orient="row")
    return texts.with_columns(parse(texts["value"], view.schema.sensitive).alias("value"))
