"""The trail of everyone through the releases, as it is remembered: group, value and class in each of them.

Whoever was forgotten is gone from it with the value. So the others are weighed as by somebody who knows that value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from republish.arrays import Int32Array, IntArray, WordArray
from republish.inference.joint.messages import Sighting
from republish.inference.joint.withstand import sighting
from republish.inference.revision import Revision
from republish.memory.memory import Memory

GROUPS, CODES, KINDS = "trail_group", "trail_code", "trail_class"
THERE, GROUP = 1, 2
"""In the trail of groups 0 is not in the view, 1 left out, 2 the first group."""


def trail(memory: Memory, revision: Revision) -> list[Sighting]:
    """Earlier releases as they are remembered, people numbered as in the memory.

    What is known now, `revision`, is taken to have been known then.
    """
    if GROUPS not in memory.columns:
        return []
    past = []
    for i in range(memory.columns[GROUPS].shape[1]):
        group, code, kind = (memory.columns[name][:, i].astype(np.int64) for name in (GROUPS, CODES, KINDS))
        there = np.flatnonzero(group >= THERE)
        place, shown = group[there] - GROUP, group[there] >= GROUP
        past.append(sighting(there, kind[there], revision, place, place[shown], code[there][shown]))
    return past


def trail_codes(memory: Memory) -> list[IntArray]:
    """The true codes of everyone in earlier releases, as `trail` has them."""
    if GROUPS not in memory.columns:
        return []
    group, code = memory.columns[GROUPS], memory.columns[CODES].astype(np.int64)
    return [code[group[:, i] >= THERE, i] for i in range(group.shape[1])]


def numbered(people: WordArray, memory: Memory) -> tuple[IntArray, int]:
    """The number of each of these people, strangers after those in the memory, and how many people there are."""
    person = memory.find(people).astype(np.int64)
    strangers = person < 0
    person[strangers] = memory.size + np.arange(int(strangers.sum()))
    return person, memory.size + int(strangers.sum())


def with_trail(
    people: WordArray, group: IntArray, codes: IntArray, classes: IntArray, memory: Memory
) -> Memory:
    """The memory with the trail of a release, of which `memory` holds everyone; groups from 0, -1 where left out."""
    entries = memory.find(people)
    columns = dict(memory.columns)
    for name, now in ((GROUPS, group + GROUP), (CODES, codes), (KINDS, classes)):
        columns[name] = _appended(columns.get(name), memory, entries, now.astype(np.int32))
    return replace(memory, columns=columns)


def _appended(old: npt.NDArray[Any] | None, memory: Memory, entries: IntArray, now: Int32Array) -> Int32Array:
    """A column of one number a release with that of the release just made."""
    column = np.zeros((memory.size, max(memory.release, 1)), dtype=np.int32)
    if old is not None:
        column[:, : old.shape[1]] = old
    column[entries, -1] = now
    return column
