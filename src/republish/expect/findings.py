"""How a view differs from the last one by more than is expected; figures and columns, never a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from republish.arrays import FloatArray
from republish.expect.limits import AT_LEAST, REFUSE, Expect
from republish.expect.margins import ColumnMargin, Margins
from republish.expect.shift import shift
from republish.schema.column_names import listed

ENOUGH = 100
"""Of fewer rows the shares of a column say nothing."""


@dataclass(frozen=True)
class Deviation:
    """A figure of a view that breaks a limit of `[expect]`: its name, the column if it is of one, and what it says."""

    check: str
    column: str | None
    figure: float
    limit: float
    severity: str
    says: str

    @property
    def refuses(self) -> bool:
        return self.severity == REFUSE

    def sentence(self) -> str:
        """What was found, with the limit."""
        bound = "at least" if self.check in AT_LEAST else "at most"
        return (
            f"{self.says} ({self.check.replace('_', ' ')} {self.figure:.3g}, expected {bound} {self.limit:g})"
        )

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return asdict(self) | {"says": self.sentence()}


def found_of(
    expect: Expect, check: str, figure: float | None, says: str, column: str | None = None
) -> list[Deviation]:
    """The finding that a figure makes, where it breaks a limit; none of no figure."""
    broken = None if figure is None else expect.broken(check, figure)
    if broken is None or figure is None:
        return []
    return [Deviation(check, column, round(float(figure), 6), broken[1], broken[0], says)]


def compare(view: Margins, last: Margins | None, expect: Expect) -> tuple[Deviation, ...]:
    """What is to be warned of or refused of the columns of a view; columns that either lacks are not compared."""
    if last is None or min(view.rows, last.rows) < ENOUGH:
        return ()
    both = {name: (view.columns[name], last.columns[name]) for name in view.columns if name in last.columns}
    each = [one for name, (now, then) in both.items() for one in _of_column(expect, name, now, then)]
    return (*each, *_types(expect, both))


def _of_column(expect: Expect, name: str, now: ColumnMargin, then: ColumnMargin) -> Iterator[Deviation]:
    column = f"column {listed([name])}"
    share, before = now.missing / now.cells, then.missing / then.cells
    says = f"{column}: {share:.1%} of the cells are missing, {before:.1%} in the last view"
    yield from found_of(expect, "missing", share - before, says, name)
    if min(now.filled, then.filled) < ENOUGH:
        return
    if now.labels is not None and then.labels is not None:
        fresh = [rows for label, rows in now.labels.items() if label not in then.labels]
        some = f"{len(fresh):,} values" if len(fresh) != 1 else "1 value"
        says = f"{column}: {sum(fresh):,} of {now.filled:,} rows hold one of {some} that the last view did not have"
        yield from found_of(expect, "new_categories", sum(fresh) / now.filled, says, name)
    unit = _of_unit(expect, name, now, then)
    says = f"{column}: the shares of its values are not those of the last view"
    yield from unit or found_of(expect, "shift", shift(now, then), says, name)
    apart = _apart(now.ends, then.ends)
    if apart is not None:
        says = (
            f"{column}: its lowest and highest number are {apart:,.0f} times as far apart as in the last view; look "
            "for a slip, or a code for missing cells"
        )
        yield from found_of(expect, "extremes", apart, says, name)


def _of_unit(expect: Expect, name: str, now: ColumnMargin, then: ColumnMargin) -> list[Deviation]:
    factor = _factor(now.quartiles, then.quartiles)
    if factor is None:
        return []
    times = f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"
    says = f"column {listed([name])}: its quartiles are {times} times those of the last view; check the unit"
    return found_of(expect, "units", max(factor, 1 / factor), says, name)


def _types(expect: Expect, both: dict[str, tuple[ColumnMargin, ColumnMargin]]) -> Iterator[Deviation]:
    others = {
        name: (now.looks, then.looks)
        for name, (now, then) in both.items()
        if now.looks and then.looks and now.looks != then.looks
    }
    said = "; ".join(
        f"column {listed([name])} holds {now} and held {then}" for name, (now, then) in others.items()
    )
    yield from found_of(expect, "types", len(others), f"{said}; check how they are written")


def _apart(now: FloatArray | None, then: FloatArray | None) -> float | None:
    """How far apart the ends of a column of numbers are, for what they were before; nothing where they were one."""
    if now is None or then is None or then[0] == then[1]:
        return None
    return float((now[1] - now[0]) / (then[1] - then[0]))


def _factor(now: FloatArray | None, then: FloatArray | None) -> float | None:
    """By how much all quartiles grew, or all shrank: the least of their factors; nothing where they went apart."""
    if now is None or then is None:
        return None
    usable = (now != 0) & (then != 0)
    if not usable.any() or ((now == 0) != (then == 0)).any():
        return None
    ratio = now[usable] / then[usable]
    if (ratio <= 0).any():
        return None
    factor = ratio[np.argmin(np.abs(np.log(ratio)))]
    return float(factor) if (ratio >= 1).all() or (ratio <= 1).all() else None
