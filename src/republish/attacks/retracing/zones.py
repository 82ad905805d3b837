"""The zones that a publisher dealt people in, found again: quasi-identifiers and who kept a signature decide on them.

They are granted to the adversary together with who kept a signature, which event lists tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from republish.arrays import Int64Array, IntArray
from republish.attacks.history import History
from republish.grouping import Grouping
from republish.memory.memory import Memory, sight
from republish.microdata import Microdata
from republish.publishers.contract import Publisher
from republish.secret import Secret


def zones_of_releases(
    publisher: Publisher, secret: Secret, history: History, views: Iterable[tuple[Microdata, IntArray]]
) -> Iterator[IntArray | None]:
    """The zone of every row of each view, -1 where it is not published; `None` where groups do not lie in such zones.

    `views` are those of all releases and whose in the history every row is. From the first release on that has no zones
    all have none.
    """
    memory = Memory.empty()
    for number, (view, person) in enumerate(views):
        group = _groups(history, number, person)
        kept = np.flatnonzero(group >= 0)
        found = publisher.zones(view.only(kept), memory)
        if found is None or not _holds(found, group[kept]):
            break
        zone = np.full(view.rows, -1, dtype=np.int64)
        zone[kept] = found
        yield zone
        seen = sight(view, view.row_digests(secret), group + 1, number + 1, memory)
        memory = publisher.remember(view, _grouping(history, number, view, group), memory.merged(seen))
    while True:
        yield None


def _groups(history: History, number: int, person: IntArray) -> Int64Array:
    """The group of everyone in a view, -1 for those who were not published."""
    start = history.group_start
    first, last = history.member_start[start[[number, number + 1]]]
    group = np.full(history.people + 1, -1, dtype=np.int64)  # nobody, who is numbered -1, is in none
    group[history.person[first:last]] = history.group[first:last] - start[number]
    return group[person]


def _holds(zone: IntArray, group: Int64Array) -> bool:
    """Whether everyone in a group is in the same zone."""
    lowest = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, group, zone)
    highest = np.full(len(lowest), -1, dtype=np.int64)
    np.maximum.at(highest, group, zone)
    return bool((lowest[group] == highest[group]).all())


def _grouping(history: History, number: int, view: Microdata, group: Int64Array) -> Grouping:
    """The grouping of a release: what no row of the view has in a group are counterfeits."""
    first, last = history.group_start[[number, number + 1]]
    lines = slice(history.value_start[first], history.value_start[last])
    owner = np.repeat(np.arange(last - first), np.diff(history.value_start[first : last + 1]))
    rows = np.zeros((last - first, history.values), dtype=np.int64)
    rows[owner, history.value_code[lines]] = history.value_count[lines]
    kept = group >= 0
    np.subtract.at(rows, (group[kept], view.codes[kept]), 1)
    of, code = np.nonzero(rows > 0)
    times = rows[of, code]
    return Grouping(
        group.astype(np.int32), np.repeat(of, times).astype(np.int32), np.repeat(code, times).astype(np.int32)
    )
