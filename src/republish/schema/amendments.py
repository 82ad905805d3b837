"""How views of today are read into the columns that a series was made with; what is published stays as it was.

A promise over a series is kept for every view that can be written in its columns. So nothing that only says how a view
is written in them can hurt one: a column of the source that is left out, another heading, a column that the source
lacks and that is missing in every row, other codes for the same things.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from republish.schema.column_names import listed

DROP, RENAME, ABSENT, RECODE = "drop", "rename", "absent", "recode"
_ADOPT = (
    "`republish adopt NEW TABLE --view VIEW` for each (of two tables, `adopt NEW PEOPLE VALUES --view VIEW`)"
)


def new_series(schema: str = "FILE") -> str:
    """How a new series is begun that adopts releases, with a publisher that can: value-blind adopts nothing."""
    return f"`republish init NEW --schema {shlex.quote(schema)} --publisher tau-safety`, then, oldest first, {_ADOPT}"


@dataclass(frozen=True)
class Amendments:
    """What was amended of how a view is read.

    Attributes:
        headings: the column that a heading of the source stands for; `None` where the source's column is left out.
        absent: columns that a view may lack; their cells are missing then.
        before: columns that views of adopted releases may lack, and no view that is published.
        recodes: of columns the code of the series that a code of the source stands for.
        series: the folder of the series, once its policy is frozen: what messages tell to type.
    """

    headings: Mapping[str, str | None] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    recodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    series: str | None = None

    def amended(self, change: Mapping[str, Any], codes: Mapping[str, str] | None = None) -> Amendments:
        """With one change more, as the ledger records it; `codes` are those of a recode."""
        kind, column = change["change"], change["column"]
        if kind == DROP:
            return replace(self, headings={**self.headings, column: None})
        if kind == RENAME:
            return replace(self, headings={**self.headings, change["heading"]: column})
        if kind == ABSENT:
            return replace(self, absent=(*self.absent, column))
        return replace(
            self, recodes={**self.recodes, column: {**self.recodes.get(column, {}), **(codes or {})}}
        )

    @property
    def optional(self) -> tuple[str, ...]:
        """The columns that a table may lack."""
        return (*self.absent, *self.before)

    def of_today(self) -> Amendments:
        """How a view that is to be published is read."""
        return replace(self, before=())

    def column_of(self, heading: str) -> str | None:
        """The column that a heading stands for; nothing where it is left out."""
        return self.headings.get(heading, heading)

    def names_of(self, column: str) -> tuple[str, ...]:
        """All headings that stand for a column, its own first."""
        return (column, *(heading for heading, meant in self.headings.items() if meant == column))

    def found(self, columns: Iterable[str], headings: Sequence[str]) -> list[str]:
        """Under which of these headings a table has columns; those that it lacks are left out."""
        return [name for column in columns for name in self.names_of(column) if name in headings]

    def remedies(self, unknown: Sequence[str], lacking: Sequence[str], optional: Sequence[str]) -> str:
        """Which commands let a view be read that has `unknown` headings and is `lacking` columns, once it is frozen.

        `optional` are the columns that a view may be allowed to lack.
        """
        ways = []
        if unknown and lacking:
            named = f"{_word(lacking[0])}={_word(unknown[0])}"
            ways.append(f"if {listed(unknown[:1])} is {listed(lacking[:1])}, `{self._typed(RENAME, named)}`")
        if unknown:
            ways.append(f"to leave {listed(unknown[:1])} out, `{self._typed(DROP, _word(unknown[0]))}`")
        gone = [name for name in lacking if name in optional]
        if gone:
            ways.append(
                f"if the source has no {listed(gone[:1])} any more, `{self._typed(ABSENT, _word(gone[0]))}`"
            )
        return "; ".join(ways)

    def _typed(self, change: str, what: str) -> str:
        return f"republish amend {shlex.quote(self.series or 'SERIES')} --{change} {what} --reason WHY"


def _word(name: str) -> str:
    return shlex.quote(name)
