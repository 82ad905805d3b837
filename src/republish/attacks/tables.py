"""One release as arrays, and what must hold of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from republish.arrays import IntArray
from republish.errors import PolicyError
from republish.memory.event_lists import THERE, Events, states_of

LEFT_OUT = -1


@dataclass(frozen=True)
class Table:
    """One release: the group of every member (0, 1, ..., -1 where left out), and group and code of every row.

    Published rows of a group that outnumber its members belong to nobody: counterfeits, and people who were
    forgotten since.
    """

    person: IntArray
    group: IntArray
    row_group: IntArray
    row_code: IntArray


def groups_of_table(table: Table, people: int, values: int, number: int) -> int:
    """How many groups a table has; refused where its arrays contradict each other."""
    if len(table.person) != len(table.group) or len(table.row_group) != len(table.row_code):
        raise PolicyError(f"release {number}: the arrays of members, and those of rows, must be equally long")
    limits = ((table.person, 0, people), (table.row_code, 0, values), (table.group, LEFT_OUT, None))
    for array, low, high in limits:
        if len(array) and (array.min() < low or (high is not None and array.max() >= high)):
            raise PolicyError(
                f"release {number}: people, groups or codes lie outside their range; number them afresh"
            )
    if len(np.unique(table.person)) != len(table.person):
        raise PolicyError(f"release {number}: nobody may be in a release twice")
    highest = max((int(part.max()) for part in (table.group, table.row_group) if len(part)), default=-1)
    return highest + 1


def require_possible(events: Events, tables: Sequence[Table]) -> None:
    """Refuse event lists that nobody can live through, or that contradict who is in which release."""
    states = states_of(events.event)
    there = np.zeros(states.shape, dtype=np.bool_)
    for number, table in enumerate(tables):
        there[table.person, number] = True
    wrong = (there != (states == THERE)).any(axis=1)
    if wrong.any():
        raise PolicyError(
            "event lists must follow their grammar and say who is in which release; those of "
            f"{np.count_nonzero(wrong)} of {len(wrong)} people do not; derive them with events_of"
        )
