"""Cells of tables that another tool made, in coordinates of a view.

They are read as this tool writes them, and in some more spellings: `20-30`, `[20, 30)`, `4*`, `120**`. An open one,
`<=16`, `<16`, `>=61` or `>61`, reaches as far as the view or the declared domain does. A cell `*` says nothing, and an
empty one that the value is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import SchemaError
from republish.hierarchies import Tree
from republish.microdata import FLAT, INTERVAL, Axis
from republish.release.cells import (
    ABOVE,
    ALL_MISSING,
    ANY,
    BELOW,
    FROM,
    NONE_MISSING,
    SOME_MISSING,
    UP_TO,
    Cells,
    set_texts,
)
from republish.release.release import labels_of_set
from republish.schema import Date

Range = tuple[float, float]
_EPOCH = date(1970, 1, 1)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DAY = r"\d{4}-\d\d-\d\d"
_STARRED = re.compile(r"(\d+)(\*+)")
_NOBODY: Range = (np.inf, -np.inf)
_MISSING, _ANYTHING = (-np.inf,), (-np.inf, np.inf)  # what an empty cell holds, and what `*` does


def cells_of_axis(by_group: pl.DataFrame, axis: Axis, number: int) -> Cells:
    """The cells of one quasi-identifier, each spelling read once."""
    name = axis.column.name
    flags = by_group[f"{name}_missing"] if f"{name}_missing" in by_group.columns else None
    bounds = [by_group[f"{name}_{end}"] for end in ("lo", "hi") if f"{name}_{end}" in by_group.columns]
    parts = [set_texts(part) if part.dtype == pl.List else part for part in bounds or [by_group[name]]]
    spelled = pl.DataFrame([part.cast(pl.String).rename(str(i)) for i, part in enumerate(parts)])
    distinct = spelled.unique(maintain_order=True)
    read = _reader(axis)
    found = [read(ends) for ends in zip(*(column.to_list() for column in distinct), strict=True)]
    wrong = sum(one is None for one in found)
    if wrong:
        raise SchemaError(
            f"release {number}, column {name}: {wrong} different cells cannot be read as {axis.column.kind}; write "
            "intervals as [20-30], <=20 or >=61, sets as {a|b}, or give the hierarchy that the labels are of"
        )
    which = spelled.join(
        distinct.with_row_index("at"),
        on=distinct.columns,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["at"]
    place = which.cast(pl.Int64).to_numpy()
    kinds = {_MISSING: ALL_MISSING, _ANYTHING: SOME_MISSING}
    kind = np.array([kinds.get(one or (), NONE_MISSING) for one in found], dtype=np.int8)[place]
    if flags is not None:
        kind[flags.is_null().to_numpy()] = SOME_MISSING
        kind[flags.fill_null(value=False).to_numpy()] = ALL_MISSING
        kind[(kind == ALL_MISSING) & ~flags.fill_null(value=True).to_numpy()] = (
            SOME_MISSING  # open at both ends
        )
    said = kind == NONE_MISSING
    ends = np.array([(min(one), max(one)) if one else _NOBODY for one in found]).reshape(-1, 2)[place]
    low, high = (np.where(said, part, np.nan) for part in ends.T)
    if axis.kind_code != FLAT:
        if axis.whole_numbers:
            low, high = (
                np.ceil(low),
                np.floor(high),
            )  # an end that does not belong to an interval lies beside it
        return Cells(axis, low, high, kind, level=_levels(axis, distinct, found)[place])
    sets = pl.Series([list(one or ()) for one in found], dtype=pl.List(pl.Float64)).gather(place)
    sizes = np.where(said, sets.list.len().to_numpy(), 0)
    members = sets.filter(pl.Series(sizes > 0, dtype=pl.Boolean)).explode().cast(pl.Int64).to_numpy()
    return Cells(
        axis, low, high, kind, offsets=np.append(0, np.cumsum(sizes)).astype(np.int64), members=members
    )


def _levels(axis: Axis, spelled: pl.DataFrame, found: Sequence[tuple[float, ...] | None]) -> IntArray:
    """The level of the node that every spelling names, or of the lowest node around all that it names."""
    level = np.zeros(spelled.height, dtype=np.int64)
    if axis.hierarchy is None:
        return level
    named: dict[str, int] = {}
    for path in axis.hierarchy.labels:
        for height, label in enumerate(path):
            named.setdefault(label, height)
    for at, (text, ends) in enumerate(zip(spelled[spelled.columns[0]].to_list(), found, strict=True)):
        if ends and np.isfinite(ends).all():
            first, last = (np.array([int(end)]) for end in (min(ends), max(ends)))
            around = int(axis.hierarchy.lowest_common(first, last)[0])
            level[at] = max(named.get(text, around), around)
    return level


def _reader(axis: Axis) -> Callable[[tuple[str | None, ...]], tuple[float, ...] | None]:
    """Reads the text, or both ends, of a cell: positions of a set, else both ends; `None` for what is no cell."""
    one: Callable[[str], tuple[float, ...] | None]
    if axis.kind_code == FLAT:
        one = partial(_positions, {label: float(at) for at, label in enumerate(axis.labels)})
    elif axis.hierarchy is not None:
        one = partial(_leaves, _nodes(axis.hierarchy))
    elif axis.labels:
        one = partial(_ordered, {label: float(at) for at, label in enumerate(axis.labels)})
    else:
        exactly = _day if isinstance(axis.column, Date) else partial(_number, axis.whole_numbers)
        one = partial(_open_ended, exactly, axis)

    def read(parts: tuple[str | None, ...]) -> tuple[float, ...] | None:
        texts = [part for part in parts if part is not None]
        if len(texts) == 1 < len(parts) and axis.kind_code == INTERVAL and not axis.labels:
            texts = [(UP_TO if parts[0] is None else FROM) + texts[0]]
        elif len(texts) < len(parts):
            return _MISSING
        if texts == [ANY]:
            return _ANYTHING
        ends = [one(text) for text in texts]
        if any(end is None for end in ends):
            return None
        return ends[0] if len(ends) == 1 else tuple(float(x) for end in ends if end for x in end)

    return read


def _positions(place: Mapping[str, float], text: str) -> tuple[float, ...]:
    """The places of a set of categories, sorted; a category that nobody in the view has is none of them."""
    if text in place:
        return (place[text],)
    if text.startswith("{") and text.endswith("}"):
        return tuple(sorted(place[label] for label in set(labels_of_set(text)) if label in place))
    kept = text.rstrip(ANY)
    alike = (label for label in place if label.startswith(kept) and len(label) == len(text) > len(kept))
    return tuple(sorted(place[label] for label in alike))


def _nodes(tree: Tree) -> dict[str, Range]:
    """First and last leaf below every label."""
    nodes: dict[str, Range] = {}
    for at, path in enumerate(tree.labels):
        for level, label in enumerate(path):
            nodes.setdefault(label, (float(tree.start[at, level]), float(tree.end[at, level] - 1)))
    return nodes


def _leaves(nodes: Mapping[str, Range], text: str) -> tuple[float, ...] | None:
    """The first and the last leaf below a label, or around all labels of a set."""
    labels = labels_of_set(text) if text.startswith("{") and text not in nodes else [text]
    found = [nodes[label] for label in labels if label in nodes]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def _number(whole: bool, text: str) -> Range | None:
    starred = _STARRED.fullmatch(text)
    if starred is not None:
        unit = 10.0 ** len(starred[2])
        low = float(starred[1]) * unit
        return low, low + unit - 1.0 if whole else float(np.nextafter(low + unit, low))
    return _interval(text, _NUMBER, float)


def _open_ended(exactly: Callable[[str], Range | None], axis: Axis, text: str) -> Range | None:
    """An interval that has both ends, or reaches from one to the end of the axis."""
    for mark in (UP_TO, FROM, BELOW, ABOVE):
        if text.strip().startswith(mark):
            found = exactly(text.strip().removeprefix(mark).strip())
            if found is None:
                return None
            low, high = found
            if mark in (UP_TO, BELOW):
                end = high if mark == UP_TO else float(np.nextafter(high, -np.inf))
                return min(axis.low, low, end), end
            end = low if mark == FROM else float(np.nextafter(low, np.inf))
            return end, max(axis.high, high, end)
    return exactly(text)


def _day(text: str) -> Range | None:
    return _interval(text, _DAY, lambda day: float((date.fromisoformat(day) - _EPOCH).days))


def _interval(text: str, item: str, value: Callable[[str], float]) -> Range | None:
    """A single value, or the ends of an interval; an end that does not belong to it is moved next to it."""
    single = re.fullmatch(item, text.strip())
    found = re.fullmatch(rf"\s*([\[(\]]?)\s*({item})\s*(?:\.\.|-|,|;)\s*({item})\s*([\])\[]?)\s*", text)
    try:
        if single is not None:
            return value(text), value(text)
        if found is None:
            return None
        low, high = value(found[2]), value(found[3])
    except ValueError:
        return None
    low = np.nextafter(low, np.inf) if found[1] in ("(", "]") else low
    high = np.nextafter(high, -np.inf) if found[4] in (")", "[") else high
    return float(low), float(high)


def _ordered(place: Mapping[str, float], text: str) -> Range | None:
    """Places in an order; labels may hold dashes themselves."""
    if text in place:
        return place[text], place[text]
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    for mark in re.finditer(r"\.\.|-", inner):
        low, high = inner[: mark.start()].strip(), inner[mark.end() :].strip()
        if low in place and high in place:
            return place[low], place[high]
    return None
