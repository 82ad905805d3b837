"""The checks of the parts of a release, put together to those of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from republish.errors import LedgerError
from republish.requirements import Requirement
from republish.verify.check import MEMBERSHIP, STATISTICS, Check, Verification
from republish.verify.two_tables import joined


@dataclass(frozen=True)
class CheckedCells:
    """What was found in the table of people, whole cells each, and whether its batches are those of the values."""

    found: Sequence[Verification]
    requirements: Sequence[Requirement]
    batches: Check

    def with_values(self, values: Verification, *more: Check) -> Verification:
        """The checks of both tables, those of people first; `more` come after those of what is stored."""
        people = joined(verified(self.found, self.requirements), values)
        at = [check.promise for check in people.checks].index(STATISTICS) + 1
        return replace(people, checks=(*people.checks[:at], self.batches, *more, *people.checks[at:]))


@dataclass(frozen=True)
class CheckedPieces:
    """What was found in a release, piece by piece, whole groups each: one piece where one process checks it.

    `repeated` rows of the membership name somebody whom others name too. `same` are the checks of CSV tables, where
    they are not among those of the pieces. In two tables the pieces are whole batches, and `cells` what was found in
    whole cells of people. `over_series` are the checks of promises that one task made for all pieces.
    """

    found: Sequence[Verification]
    requirements: Sequence[Requirement]
    new_lives: int
    repeated: int
    same: Sequence[Check] = ()
    cells: CheckedCells | None = None
    over_series: Sequence[Check] = ()

    def together(self) -> Verification:
        found = verified(self.found, self.requirements)
        if self.cells is not None:
            found = self.cells.with_values(found)
        checks = [
            self._with_repeated(check) if check.promise == MEMBERSHIP else check for check in found.checks
        ]
        if self.over_series:
            at = [check.promise for check in checks].index(MEMBERSHIP) + 1
            checks[at:at] = self.over_series
        at = [check.promise for check in checks].index(STATISTICS) if self.same else 0
        checks[at:at] = self.same
        return replace(found, checks=tuple(checks))

    def _with_repeated(self, check: Check) -> Check:
        return replace(check, holds=check.holds and not self.repeated, rows=check.rows + self.repeated)


def verified(parts: Sequence[Verification], requirements: Sequence[Requirement]) -> Verification:
    """The checks of all parts as those of one release: a promise holds where it holds in every part."""
    if not parts:
        raise LedgerError("a release has at least one part, and none was verified; nothing was committed")
    if len({len(part.checks) for part in parts}) > 1:
        raise LedgerError("the parts of a release were not checked alike; nothing was committed")
    by_text = {requirement.text: requirement for requirement in requirements}
    checks = [_merged([part.checks[i] for part in parts], by_text) for i in range(len(parts[0].checks))]
    return Verification(
        sum(part.rows for part in parts),
        sum(part.groups for part in parts),
        sum(part.suppressed for part in parts),
        tuple(checks),
        sum(part.batches or 0 for part in parts) if parts[0].batches is not None else None,
    )


def _merged(checks: Sequence[Check], requirements: dict[str, Requirement]) -> Check:
    first = checks[0]
    if any(check.promise != first.promise for check in checks):
        raise LedgerError("the parts of a release were not checked alike; nothing was committed")
    reached = np.array([check.reached for check in checks if check.reached is not None])
    worst: float | None = None
    if len(reached):
        # Beside the requirements of a table only divergences of beliefs reach something: the larger, the worse.
        requirement = requirements.get(first.promise)
        worst = requirement.worst(reached) if requirement else float(reached.max())
    spreads = [check.spread for check in checks if check.spread is not None]
    return replace(
        first,
        holds=all(check.holds for check in checks),
        reached=worst,
        groups=sum(check.groups for check in checks),
        rows=sum(check.rows for check in checks),
        unchecked=sum(check.unchecked for check in checks),
        noted=sum(check.noted for check in checks),
        spread=reduce(add, spreads) if spreads else None,
    )
