"""Batches with clocks of their own: an adversary who knows the program knows whom every batch counts, and as of when.

The rows of a batch that belong to nobody present are then no riddle: they are people who left or changed, counted as
they were. So for attacks that exclude values a release is a set of *snapshots*. The members of a batch are everyone
whom it counts, none of its rows is nobody's, a change shows when the batch counts it, and who waits is in no group.
Attacks that ask how values follow each other in time, or who fits a cell, look at the people who are there instead. To
the former a batch speaks in the releases in which it was counted: what it repeats later it has said of the lives that
it counted then. What it counts of people who left or changed by then they are told.

With closed batches one release may count somebody twice: a life that ended and is held, and the next one in a batch of
its own. A life that overlaps the next one of the same person, and what came before it, goes by a name of its own. What
is lost is that the two differ; whose they are is kept, so that people are counted and compromised once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray


class CountedRows(NamedTuple):
    """Group and code of some rows of a release."""

    group: IntArray
    code: IntArray


def lives_apart(
    people: int, person: IntArray, release: IntArray, code: IntArray
) -> tuple[IntArray, IntArray]:
    """The name of every appearance, so that no name is in a release twice; and who bears each name.

    The first `people` names are those of the people. Runs of releases in which somebody is counted with one code go by
    another, up to one that has not ended when the next begins, and by her own from the last such on. Of two runs of one
    code at a time it is not known which goes on as which, and does not matter: both have this code.
    """
    values = int(code.max(initial=0)) + 1
    order = np.lexsort((release, code, person))
    key, when = (person.astype(np.int64) * values + code)[order], release[order]
    twin = _twins(key * (int(release.max(initial=0)) + 1) + when)
    order = order[(again := np.lexsort((when, twin, key)))]
    key, when, twin = key[again], when[again], twin[again]
    begins = np.append(True, (np.diff(key) != 0) | (np.diff(twin) != 0) | (np.diff(when) != 1))[: len(key)]
    run = np.cumsum(begins) - 1
    first = when[begins]
    last = when[np.append(np.flatnonzero(begins)[1:], len(when))[: len(first)] - 1]
    bearer = person[order[begins]]
    by_start = np.lexsort((last, first, bearer))
    mine = np.append(bearer[by_start][1:] == bearer[by_start][:-1], False)[: len(first)]
    follower = np.append(first[by_start][1:], 0)[: len(first)]
    overlaps = np.zeros(len(first), dtype=np.bool_)
    overlaps[by_start] = mine & (last[by_start] >= follower)
    ends = np.flatnonzero(overlaps[by_start])  # of the names that are not her own
    following = np.searchsorted(ends, np.arange(len(first)))
    other = np.append(ends, len(first))[following]
    hers = np.append(bearer[by_start], -1)[other] == bearer[by_start]
    name = np.empty(len(first), dtype=np.int64)
    name[by_start] = np.where(hers, people + following, bearer[by_start])
    found = np.empty(len(person), dtype=np.int64)
    found[order] = name[run]
    return found, np.concatenate([np.arange(people), bearer[by_start][ends]]).astype(np.int64)


def _twins(key: IntArray) -> IntArray:
    """The place of every sorted key among those equal to it."""
    starts = np.append(True, np.diff(key) != 0)[: len(key)]
    return np.arange(len(key)) - np.maximum.accumulate(np.where(starts, np.arange(len(key)), 0))


def counted_anew(
    fresh: BoolArray, group: IntArray, rows: CountedRows, held: CountedRows
) -> tuple[IntArray, CountedRows]:
    """The groups of people (-1 for none) and the rows of those batches that a release counts anew, numbered afresh.

    Rows of people who are held are not among them.
    """
    number = np.append(np.where(fresh, np.cumsum(fresh) - 1, -1), -1)
    values = max(int(part.max(initial=0)) for part in (rows.code, held.code)) + 1
    key, gone = rows.group * values + rows.code, held.group * values + held.code
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], key[order])
    taken = np.searchsorted(np.sort(gone), key[order], side="right") - np.searchsorted(
        np.sort(gone), key[order]
    )
    kept = np.zeros(len(key), dtype=np.bool_)
    kept[order] = np.arange(len(key)) - first >= taken
    kept &= number[rows.group] >= 0
    return number[group], CountedRows(number[rows.group[kept]], rows.code[kept])
