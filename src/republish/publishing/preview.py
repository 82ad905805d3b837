"""What is seen of a release before it is irrevocable: published rows, margins, and the change since the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from republish.schema.columns import Column

ROWS = 8
"""So many rows of every table are shown."""
_MOST = 12  # values that are shown one by one
_SEEN = 0.0005  # a difference of shares that is written as more than 0.0 points
_RANGES = 8  # numbers and dates of more values than that are shown in so many ranges


@dataclass(frozen=True)
class Margin:
    """The share of a value in the raw view and in the release.

    `value` is one that is published, a range between two that are, or `None` for all that are not published.
    """

    value: str | None
    raw: float
    released: float

    @property
    def difference(self) -> float:
        """By how much the release says more than the view."""
        return self.released - self.raw


@dataclass(frozen=True)
class Change:
    """A figure of the last release and of this one; `share` says whether it is one."""

    figure: str
    before: float | None
    now: float
    share: bool = False


@dataclass(frozen=True)
class Preview:
    """The first rows of every published table, the margins of the sensitive column, and what changes.

    Margins have the largest differences first, `unshown` values with smaller ones are left out; they count what the raw
    view holds and stay in the house. `change` is empty before a first release.
    """

    tables: tuple[pl.DataFrame, ...] = ()
    margins: tuple[Margin, ...] = ()
    unshown: int = 0
    change: tuple[Change, ...] = ()

    @property
    def margins_agree(self) -> bool:
        """Whether no share differs by as much as would be seen."""
        return all(abs(one.difference) < _SEEN for one in self.margins)

    def as_dict(self) -> dict[str, Any]:
        """A JSON document; it has no rows where there are none to be shown."""
        rows = [{"columns": head.columns, "rows": head.rows()} for head in self.tables]
        margins: dict[str, Any] = {"margins": [asdict(one) for one in self.margins]}
        margins |= {"margins_unshown": self.unshown, "margins_agree": self.margins_agree}
        return ({"sample": rows} if rows else {}) | margins | {"change": [asdict(one) for one in self.change]}


def margins_of(raw: pl.Series, released: pl.Series, column: Column) -> tuple[tuple[Margin, ...], int]:
    """The margins of the sensitive column, and of how many values they are not shown."""
    shares = _shares(raw, released)
    if column.kind in ("number", "date") and shares.height > _MOST:
        shares = _ranges(shares)
    else:
        shares = shares.with_columns(pl.col("value").cast(pl.String).fill_null("missing"))
    shown = shares.filter(pl.col("released") > 0)
    shown = shown.sort((pl.col("released") - pl.col("raw")).abs(), descending=True, maintain_order=True)
    margins = [Margin(*row) for row in shown.head(_MOST).select("value", "raw", "released").rows()]
    absent = shares.filter(pl.col("released") == 0)["raw"].sum()
    margins += [Margin(None, float(absent), 0.0)] if absent else []
    margins.sort(key=lambda one: -abs(one.difference))
    return tuple(margins), max(shown.height - _MOST, 0)


def _shares(raw: pl.Series, released: pl.Series) -> pl.DataFrame:
    """Every value with its share in either, in the order of values."""
    counted = [
        part.alias("value")
        .to_frame()
        .group_by("value")
        .agg((pl.len() / max(len(part), 1)).cast(pl.Float64).alias(name))
        for part, name in ((raw, "raw"), (released, "released"))
    ]
    both = counted[0].join(counted[1], on="value", how="full", coalesce=True, nulls_equal=True)
    return both.with_columns(pl.col("raw", "released").fill_null(0.0)).sort("value", nulls_last=True)


def _ranges(shares: pl.DataFrame) -> pl.DataFrame:
    """Ranges with about as much of the release in each; their ends are published values."""
    published = pl.col("released")
    middle = published.cum_sum() - published / 2
    place = (_RANGES * middle).floor().clip(0, _RANGES - 1)
    shares = shares.with_columns(
        pl.when(pl.col("value").is_null()).then(_RANGES).otherwise(place).alias("range")
    )
    ends = pl.col("value").filter(published > 0)
    least, most = (end.cast(pl.String) for end in (ends.min(), ends.max()))
    label = pl.when(least == most).then(least).otherwise(pl.concat_str(least, pl.lit(" to "), most))
    found = shares.group_by("range", maintain_order=True).agg(
        label.alias("value"), pl.col("raw").sum(), published.sum()
    )
    return found.with_columns(pl.col("value").fill_null("missing"))


def changes(
    before: Mapping[str, Any] | None, now: Mapping[str, Any], keeps_counts: bool
) -> tuple[Change, ...]:
    """What is another than in the last release, from the documents of both; none where there was none."""
    if before is None:
        return ()
    two, people = "two_tables" in now, "people" if "two_tables" in now else "rows"
    outside = "waiting or without a batch" if keeps_counts else "without a batch" if two else "left out"
    added = "held" if keeps_counts else "counterfeits"
    figures: list[tuple[str, tuple[str, ...], bool]] = [
        (people, ("rows",), False),
        ("people who are new", ("arrivals", "new"), False),
        ("people who came back", ("arrivals", "returned"), False),
        ("people who left", ("arrivals", "left"), False),
        ("people with a changed value", ("arrivals", "changed_value"), False),
        (outside, ("suppressed",), False),
        (added, ("counterfeits",), False),
        ("groups", ("groups",), False),
        ("certainty penalty", ("measures", "penalty"), True),
        ("highest risk of a row", ("measures", "prosecutor_risk", "highest"), True),
        ("error of a count", ("usefulness", "count_error"), True),
        ("error of a count with a value", ("usefulness", "value_count_error"), True),
    ]  # fmt: skip
    found = ((name, _at(before, path), _at(now, path), share) for name, path, share in figures)
    return tuple(Change(name, then, here, share) for name, then, here, share in found if here is not None)


def _at(document: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """What a document says at a place; `None` where an earlier version did not record it."""
    found: Any = document
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
