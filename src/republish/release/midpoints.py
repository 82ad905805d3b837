"""Midpoints and widths of published cells of numbers and dates, from Parquet or from text."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from republish.release.cells import ABOVE, BELOW, FROM, UP_TO

_ONE = {"number": r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)", "date": r"([+-]?\d{4,}-\d\d-\d\d)"}


def with_midpoints(table: pl.DataFrame, kinds: Mapping[str, str]) -> pl.DataFrame:
    """The table with `age_mid` and `age_width` behind the cells of every column of numbers or dates.

    The width is the difference of the ends, in days for dates: 0 where a cell is one value. Both are null where a cell
    is missing, says nothing, or is open. `kinds` are those of the quasi-identifiers.
    """
    found = table
    for name, kind in kinds.items():
        if kind not in _ONE:
            continue
        typed = f"{name}_lo" in table.columns
        ends = (pl.col(f"{name}_lo"), pl.col(f"{name}_hi")) if typed else _ends(name, kind)
        if not typed and table.schema.get(name) != pl.String:
            continue
        low, high = ends
        width = (high - low).dt.total_days() if kind == "date" else high - low
        middle = low + pl.duration(days=width // 2) if kind == "date" else low + width / 2
        last = f"{name}_missing" if f"{name}_missing" in table.columns else f"{name}_hi" if typed else name
        measured = found.select(mid=middle, width=width)
        at = found.columns.index(last) + 1
        for place, (what, column) in enumerate(measured.to_dict().items()):
            found = found.insert_column(at + place, column.alias(free_name(f"{name}_{what}", found)))
    return found


def free_name(name: str, table: pl.DataFrame) -> str:
    """A name that no column of a table has."""
    while name in table.columns:
        name += "_"
    return name


def _ends(name: str, kind: str) -> tuple[pl.Expr, pl.Expr]:
    """The ends of cells that are text; null where they are not said."""
    one, cell = _ONE[kind], pl.col(name)
    pair = rf"^[\[(]{one}(?:-|\.\.){one}[\])]$"
    low = pl.coalesce(cell.str.extract(pair, 1), cell.str.extract(f"^(?:{FROM}|{ABOVE})?{one}$", 1))
    high = pl.coalesce(cell.str.extract(pair, 2), cell.str.extract(f"^(?:{UP_TO}|{BELOW})?{one}$", 1))
    if kind == "date":
        return low.str.to_date("%Y-%m-%d", strict=False), high.str.to_date("%Y-%m-%d", strict=False)
    return low.cast(pl.Float64), high.cast(pl.Float64)
