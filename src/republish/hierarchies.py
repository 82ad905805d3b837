"""Value generalization: tables in the form ARX uses, and rules that build them.

A hierarchy is a list of paths, one a leaf, from the leaf to `*`. It comes from a CSV file (`;`
between the cells, no header, leaf first, `*` last) or from a rule that gives any value its path:
`Intervals` for numbers, `Neighbours` for ordered values, `Redaction` for codes such as zip codes,
`Calendar` for dates. Publishers read its compiled form, a `Tree` of leaf ranges.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from republish.arrays import IntArray
from republish.errors import SchemaError

ROOT = "*"
SMALLEST_RUN = 2


@dataclass(frozen=True)
class Hierarchy:
    """Paths from every leaf to `*`, all of one length, which together form a tree."""

    paths: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Refuse whatever is not a tree with one root."""
        lengths = {len(path) for path in self.paths}
        if len(lengths) > 1:
            raise SchemaError(
                f"every line of a hierarchy must have the same number of cells; found lines of {min(lengths)} "
                f"to {max(lengths)} cells; repeat a label where a level changes nothing"
            )
        if self.paths and (lengths == {1} or {path[-1] for path in self.paths} != {ROOT}):
            raise SchemaError(
                "the last cell of every line of a hierarchy must be *; add it as the last column"
            )
        leaves = [path[0] for path in self.paths]
        if len(set(leaves)) < len(leaves):
            raise SchemaError(
                f"a leaf may stand in one line of a hierarchy only; {len(leaves) - len(set(leaves))} lines repeat one"
            )
        self._refuse_two_parents()
        self._refuse_two_meanings()

    def _refuse_two_parents(self) -> None:
        for level in range(1, self.height):
            parents: dict[str, str] = {}
            torn = {
                path[level]
                for path in self.paths
                if parents.setdefault(path[level], path[level + 1]) != path[level + 1]
            }
            if torn:
                raise SchemaError(
                    f"a hierarchy must be a tree: {len(torn)} labels of level {level} have two parents at level "
                    f"{level + 1}; give them different labels"
                )

    def _refuse_two_meanings(self) -> None:
        """A published label must say which leaves it stands for, whatever level it comes from."""
        meaning: dict[str, frozenset[str]] = {}
        unclear = set()
        for level in range(self.height + 1):
            nodes: dict[str, list[str]] = {}
            for path in self.paths:
                nodes.setdefault(path[level], []).append(path[0])
            for label, leaves in nodes.items():
                if meaning.setdefault(label, frozenset(leaves)) != frozenset(leaves):
                    unclear.add(label)
        if unclear:
            raise SchemaError(
                f"a label of a hierarchy must stand for the same leaves at every level; {len(unclear)} labels do not; "
                "rename them at one of the levels"
            )

    @property
    def height(self) -> int:
        """Number of steps from a leaf to the root."""
        return len(self.paths[0]) - 1 if self.paths else 0

    @property
    def leaves(self) -> tuple[str, ...]:
        """The leaves in the order of the file."""
        return tuple(path[0] for path in self.paths)

    def extended(self, more: Hierarchy) -> Hierarchy:
        """This hierarchy with the leaves of `more` that it lacks; nothing it says is altered."""
        if self.paths and more.paths and more.height != self.height:
            raise SchemaError(
                f"an amendment must have the levels of the hierarchy it extends: {self.height + 1} cells a line; "
                f"found {more.height + 1}"
            )
        known = {path[0]: path for path in self.paths}
        altered = sum(known.get(path[0], path) != path for path in more.paths)
        if altered:
            raise SchemaError(
                f"an amendment may add leaves and never alter one; {altered} lines differ from the line the series "
                "has for the same leaf; leave those lines as they were, or start a new series"
            )
        return Hierarchy(self.paths + tuple(path for path in more.paths if path[0] not in known))

    def restricted(self, leaves: Collection[str]) -> Hierarchy:
        """This hierarchy without its other leaves."""
        kept = set(leaves)
        return Hierarchy(tuple(path for path in self.paths if path[0] in kept))

    def build(self, values: Sequence[str]) -> Hierarchy:
        """This hierarchy; `values` play no part, a table holds what it holds."""
        del values
        return self

    def write(self, path: str | Path) -> None:
        """Write the file that `read_hierarchy` reads."""
        path = Path(path) if isinstance(path, str) else path
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=";", lineterminator="\n").writerows(self.paths)


def read_hierarchy(path: str | Path) -> Hierarchy:
    """Read an ARX-style CSV: `;` between cells, no header, leaf first, `*` last."""
    path = Path(path) if isinstance(path, str) else path
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return Hierarchy(tuple(tuple(row) for row in csv.reader(file, delimiter=";") if row))
    except FileNotFoundError:
        raise SchemaError(
            f"the hierarchy file {path} does not exist; paths are relative to the schema file"
        ) from None
    except (UnicodeDecodeError, csv.Error, OSError):
        raise SchemaError(
            f"the hierarchy file {path} must be a CSV file in UTF-8; convert it first"
        ) from None
    except SchemaError as problem:
        raise SchemaError(f"{path.name}: {problem}") from None


class Rule(Protocol):
    """Gives any value of some kinds of columns its path to the root."""

    kinds: ClassVar[tuple[str, ...]]

    def build(self, values: Sequence[str]) -> Hierarchy:
        """The hierarchy of these values."""
        ...

    def spec(self) -> dict[str, Any]:
        """What `schema.toml` says for this rule."""
        ...


@dataclass(frozen=True)
class Intervals:
    """Numbers in intervals of growing width: `Intervals((5, 10, 20))` puts 17 into [15-19], [10-19], [0-19].

    Where a width, the start or a value is no whole number, an interval is written [15..20), without its end.
    """

    kinds: ClassVar[tuple[str, ...]] = ("number",)
    widths: tuple[float, ...]
    start: float = 0.0

    def __post_init__(self) -> None:
        """Refuse widths that would not nest."""
        object.__setattr__(self, "widths", tuple(self.widths))
        if not all(math.isfinite(number) for number in (*self.widths, self.start)):
            raise SchemaError("the widths and the start of intervals must be numbers")
        exact = [_exact(width) for width in self.widths]
        nested = all(a > 0 and b % a == 0 for a, b in pairwise(exact))
        if not exact or min(exact) <= 0 or not nested:
            raise SchemaError(
                "interval widths must be positive, and each a multiple of the one before, for example [5, 10, 20]"
            )

    def build(self, values: Sequence[str]) -> Hierarchy:
        """Every value under its intervals, narrow ones first."""
        numbers = sorted((Fraction(value), value) for value in values)
        start, widths = _exact(self.start), [_exact(width) for width in self.widths]
        whole = all(x.denominator == 1 for x in (start, *widths, *(number for number, _ in numbers)))

        def label(number: Fraction, width: Fraction) -> str:
            low = start + (number - start) // width * width
            if whole:
                return interval_text(str(low), str(low + width - 1)) if width > 1 else str(low)
            return f"[{_decimal(low)}..{_decimal(low + width)})"

        return Hierarchy(tuple((text, *(label(x, width) for width in widths), ROOT) for x, text in numbers))

    def spec(self) -> dict[str, Any]:
        """What `schema.toml` says for this rule."""
        return {"intervals": list(self.widths), "start": self.start}


def _exact(number: float) -> Fraction:
    """The decimal number that a person wrote: .1 is a tenth, so that three of them make .3."""
    return Fraction(repr(number))


def _decimal(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


@dataclass(frozen=True)
class Neighbours:
    """Ordered values in runs of neighbours: `Neighbours((2, 4))` joins two by two, then four by four."""

    kinds: ClassVar[tuple[str, ...]] = ("ordered",)
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse sizes that would not nest."""
        object.__setattr__(self, "sizes", tuple(self.sizes))
        if not all(isinstance(size, int) and size >= SMALLEST_RUN for size in self.sizes):
            raise SchemaError("sizes of runs must be whole numbers from 2")
        nested = all(b % a == 0 for a, b in pairwise(self.sizes))
        if not self.sizes or not nested:
            raise SchemaError("each size of a run must be a multiple of the one before, such as [2, 4]")

    def build(self, values: Sequence[str]) -> Hierarchy:
        """Runs over `values` in the order given."""

        def label(position: int, size: int) -> str:
            first = position // size * size
            last = min(first + size, len(values)) - 1
            return interval_text(values[first], values[last]) if last > first else values[first]

        return Hierarchy(
            tuple((v, *(label(i, size) for size in self.sizes), ROOT) for i, v in enumerate(values))
        )

    def spec(self) -> dict[str, Any]:
        """What `schema.toml` says for this rule."""
        return {"neighbours": list(self.sizes)}


@dataclass(frozen=True)
class Redaction:
    """Codes losing characters from the right: 12030, 1203*, 120**, 12***, 1****, *."""

    kinds: ClassVar[tuple[str, ...]] = ("category", "ordered", "number", "date")

    def build(self, values: Sequence[str]) -> Hierarchy:
        """Every value with 1, 2, ... characters starred; values of unequal length meet at `*` only."""
        longest = max((len(value) for value in values), default=0)

        def label(value: str, hidden: int) -> str:
            if len(value) == 1:
                return value  # its star would be the root's
            hidden = min(hidden, len(value))
            return value[: len(value) - hidden] + ROOT * hidden

        paths = ((v, *(label(v, hidden) for hidden in range(1, longest)), ROOT) for v in sorted(values))
        return Hierarchy(tuple(paths))

    def spec(self) -> dict[str, Any]:
        """What `schema.toml` says for this rule."""
        return {"redaction": True}


_CALENDAR = {
    "week": lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()[:2]),
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}


@dataclass(frozen=True)
class Calendar:
    """Dates in months, quarters, years, decades: `Calendar(("month", "year"))`; weeks nest in nothing else."""

    kinds: ClassVar[tuple[str, ...]] = ("date",)
    levels: tuple[str, ...] = ("month", "year", "decade")

    def __post_init__(self) -> None:
        """Refuse unknown levels and such as would not nest."""
        object.__setattr__(self, "levels", tuple(self.levels))
        unknown = [level for level in self.levels if level not in _CALENDAR]
        if unknown or not self.levels:
            raise SchemaError(
                f"calendar levels are {', '.join(_CALENDAR)}; found {', '.join(unknown) or 'none'}"
            )
        ordered = [level for level in _CALENDAR if level in self.levels]
        if list(self.levels) != ordered or (len(ordered) > 1 and "week" in ordered):
            raise SchemaError("calendar levels go from short to long, each once, and a week stands alone")

    def build(self, values: Sequence[str]) -> Hierarchy:
        """Every ISO date under its periods."""
        days = [(value, date.fromisoformat(value)) for value in sorted(values)]
        return Hierarchy(
            tuple((v, *(_CALENDAR[level](day) for level in self.levels), ROOT) for v, day in days)
        )

    def spec(self) -> dict[str, Any]:
        """What `schema.toml` says for this rule."""
        return {"calendar": list(self.levels)}


def rule_from_spec(spec: dict[str, Any]) -> Rule:
    """The rule that `schema.toml` describes, for example `{ intervals = [5, 10] }`."""
    match spec:
        case {"intervals": list(widths), **rest} if _numbers(*widths, *rest.values()) and rest.keys() <= {
            "start"
        }:
            return Intervals(tuple(float(w) for w in widths), float(rest.get("start", 0.0)))
        case {"neighbours": list(sizes)} if len(spec) == 1 and _numbers(*sizes):
            return Neighbours(tuple(sizes))
        case {"redaction": True} if len(spec) == 1:
            return Redaction()
        case {"calendar": list(levels)} if len(spec) == 1:
            return Calendar(tuple(str(level) for level in levels))
    raise SchemaError(
        "a hierarchy is the path of a file or one of { intervals = [5, 10] }, { neighbours = [2, 4] }, "
        '{ redaction = true }, { calendar = ["month", "year"] }'
    )


def _numbers(*given: object) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in given)


def interval_text(low: str, high: str) -> str:
    """`[51-52]`, or `[-5..-2]` where a bound itself holds a dash."""
    return f"[{low}..{high}]" if "-" in low + high else f"[{low}-{high}]"


@dataclass(frozen=True)
class Tree:
    """A hierarchy as arrays: leaves in depth-first order, so that every node is a range of leaves.

    `start[leaf, level]` and `end[leaf, level]` are the half-open range of the leaf's ancestor;
    level 0 is the leaf itself, the last level the root.
    """

    labels: tuple[tuple[str, ...], ...]
    start: IntArray
    end: IntArray

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return int(self.start.shape[0])

    def lowest_common(self, low: IntArray, high: IntArray) -> IntArray:
        """The lowest level at which the ancestor of leaf `low` also covers leaf `high`."""
        level: IntArray = np.argmax(self.end[low] > high[:, None], axis=1)
        return level


def compile_tree(hierarchy: Hierarchy) -> Tree:
    """The hierarchy with its leaves put in depth-first order, siblings in the order of the file."""
    first_seen: list[dict[str, int]] = [{} for _ in range(hierarchy.height + 1)]
    for position, path in enumerate(hierarchy.paths):
        for level, label in enumerate(path):
            first_seen[level].setdefault(label, position)
    paths = sorted(
        hierarchy.paths,
        key=lambda path: tuple(first_seen[lv][path[lv]] for lv in range(hierarchy.height, -1, -1)),
    )
    count, levels = len(paths), hierarchy.height + 1
    nodes = np.array([[first_seen[lv][p[lv]] for lv in range(levels)] for p in paths], dtype=np.int32)
    nodes = nodes.reshape(count, levels)
    start = np.zeros((count, levels), dtype=np.int32)
    end = np.zeros((count, levels), dtype=np.int32)
    for level in range(levels):
        begins = np.flatnonzero(np.diff(nodes[:, level], prepend=-1))
        run = np.searchsorted(begins, np.arange(count), side="right") - 1
        start[:, level] = begins[run] if count else 0
        end[:, level] = np.append(begins[1:], count)[run] if count else 0
    return Tree(tuple(paths), start, end)
