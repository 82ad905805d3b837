"""Fewer equations that say the same, where groups go on from release to release.

A *line* is a set of groups, at most one a release, whose members are in no other group: a batch, or a cohort, through
all releases. A group of a line that repeats the one before, members and counts, says nothing. In a line that nobody
joins, all lives begin together and each has a last group. Then counts taken off the counts before say what those had
who left between, so that all releases together say what one table of lives says: whoever left together could have
exchanged values, and nobody else. Each group is left with the members whose last group it is, and with their values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.excluding.candidates import Unknowns
from republish.attacks.history import History

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class LinedGroups(NamedTuple):
    """Of every group, the number of its line (-1 where it is in none) and its place in it, 0, 1, ..."""

    line: IntArray
    place: IntArray


def lines_of(who: IntArray, group: IntArray, release: IntArray) -> LinedGroups:
    """The lines of groups, given who is in which, and the release of every group; they are sorted by release."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    groups, people = len(release), int(who.max(initial=-1)) + 1
    graph = coo_matrix((np.ones(len(who), np.int8), (who, people + group)), shape=(people + groups,) * 2)
    part = connected_components(graph, directed=False)[1][people:]
    order = np.lexsort((np.arange(groups), part))
    begins = np.append(True, np.diff(part[order]) != 0)[:groups]
    number = np.cumsum(begins) - 1
    twice = ~begins & (np.diff(release[order], prepend=-1) == 0)
    straight = np.bincount(number[twice], minlength=int(number.max(initial=-1)) + 1) == 0
    line, place = np.empty((2, groups), dtype=np.int64)
    line[order] = np.where(straight[number], number, -1)
    place[order] = np.arange(groups) - np.maximum.accumulate(np.where(begins, np.arange(groups), 0))
    return LinedGroups(line, place)


def condensed(unknowns: Unknowns) -> Unknowns:
    """The same unknowns with fewer equations, which leave the same worlds."""
    from scipy.sparse import csr_matrix

    history = unknowns.history
    release = np.repeat(np.arange(history.releases), np.diff(history.group_start))
    line = lines_of(unknowns.of_appearance, history.group, release)
    usable = _all_of(line, history.nobodys == 0)
    counts = _counts(history)
    spoken = ~_repeats(unknowns, line, usable, counts)
    following = _nested(unknowns, line, usable & spoken, counts)
    kept = spoken[history.group] & ~_stays(unknowns, following)
    rows = csr_matrix(counts.multiply(spoken[:, None]))
    rows = csr_matrix(rows - rows[following].multiply((following >= 0)[:, None]))
    rows.eliminate_zeros()
    return _with(unknowns, kept, rows)


def _counts(history: History) -> csr_matrix:
    """How often every group has which value."""
    from scipy.sparse import csr_matrix

    shape = (history.groups, max(history.values, 1))
    return csr_matrix(
        (history.value_count.astype(np.int64), history.value_code, history.value_start), shape=shape
    )


def _all_of(line: LinedGroups, fine: BoolArray) -> BoolArray:
    """The groups of lines of which all are fine."""
    wrong = np.bincount(line.line[(line.line >= 0) & ~fine], minlength=len(fine)) > 0
    found: BoolArray = (line.line >= 0) & ~wrong[line.line]
    return found


def _repeats(unknowns: Unknowns, line: LinedGroups, usable: BoolArray, counts: csr_matrix) -> BoolArray:
    """Which groups have the members and the counts of the one before in their line."""
    from scipy.sparse import csr_matrix

    size = np.diff(unknowns.history.member_start)
    before = _neighbours(line, usable, -1)
    same = (before >= 0) & (size == size[before]) & (_shared(unknowns, before) == size)
    change = csr_matrix(counts - counts[before])
    change.eliminate_zeros()
    repeated: BoolArray = same & (np.diff(change.indptr) == 0)
    return repeated


def _nested(unknowns: Unknowns, line: LinedGroups, spoken: BoolArray, counts: csr_matrix) -> IntArray:
    """For every group of a line that nobody joins the next one, else -1."""
    before, after = (_neighbours(line, spoken, step) for step in (-1, 1))
    joined = (before >= 0) & (_shared(unknowns, before) < np.diff(unknowns.history.member_start))
    fewer = np.flatnonzero(after >= 0)
    grows = np.zeros(len(after), dtype=np.bool_)  # what contradicts itself stays as it is
    if len(fewer):
        grows[fewer] = (counts[after[fewer]] - counts[fewer]).max(axis=1).toarray().ravel() > 0
    return np.where(_all_of(line, ~joined & ~grows), after, -1)


def _neighbours(line: LinedGroups, usable: BoolArray, step: int) -> IntArray:
    """The group before (-1) or after (1) every one in its line, among those that are usable; -1 for none."""
    order = np.lexsort((line.place, line.line))
    order = order[usable[order]]
    found = np.full(len(line.line), -1, dtype=np.int64)
    one, other = (order[:-1], order[1:]) if step > 0 else (order[1:], order[:-1])
    mine = line.line[one] == line.line[other]
    found[one[mine]] = other[mine]
    return found


def _shared(unknowns: Unknowns, other: IntArray) -> IntArray:
    """How many members of every group are in the one that `other` names for it, too."""
    history = unknowns.history
    return np.bincount(history.group[_stays(unknowns, other)], minlength=history.groups)


def _stays(unknowns: Unknowns, other: IntArray) -> BoolArray:
    """Which appearances are of unknowns that are in the group that `other` names for theirs, too."""
    history, who = unknowns.history, unknowns.of_appearance.astype(np.int64)
    groups = max(history.groups, 1)
    there = np.sort(who * groups + history.group)
    wanted = who * groups + other[history.group]
    place = np.minimum(np.searchsorted(there, wanted), max(len(there) - 1, 0))
    found: BoolArray = (there[place] == wanted) & (other[history.group] >= 0)
    return found


def _with(unknowns: Unknowns, kept: BoolArray, counts: csr_matrix) -> Unknowns:
    """The unknowns with some appearances only, and these counts of values."""
    history = unknowns.history
    counts.sort_indices()
    start = np.append(0, np.cumsum(np.bincount(history.group[kept], minlength=history.groups)))
    fewer = replace(
        history,
        member_start=start.astype(np.int64),
        person=history.person[kept],
        value_start=counts.indptr.astype(np.int64),
        value_code=counts.indices.astype(np.int32),
        value_count=counts.data.astype(np.int32),
        truth=None if history.truth is None else history.truth[kept],
    )
    return Unknowns(fewer, unknowns.of_appearance[kept], unknowns.person, unknowns.previous)
