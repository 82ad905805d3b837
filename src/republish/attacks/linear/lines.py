"""Groups that go on from release to release, as lines of points between which lives are ways.

The groups of a line are points one after the other, and a life is a way between them: from the point at which it is
first counted to the one from which on it is not. A life that was interrupted has several stays, a way each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.linear.board import Board, ranges
from republish.attacks.linear.condensed import lines_of


class Ways(NamedTuple):
    """Lives of lines as ways between points, numbered through all lines.

    Those of unknown u lead from `begin[i]` to `end[i]` for i from `start[u]` to `start[u + 1]`; there are none where u
    is in no line. `out` lists for every point p, from `out_start[p]`, the unknowns of one stay that begin there.
    Unknowns with the same stays are of one `kind`; those of kind k are listed in `mates` from `mate_start[k]`.
    """

    start: IntArray
    begin: IntArray
    end: IntArray
    out_start: IntArray
    out: IntArray
    kind: IntArray
    mate_start: IntArray
    mates: IntArray


@dataclass(frozen=True)
class LinedUp:
    """The unknowns of a board that are in lines, and the line of each (-1 for none)."""

    ways: Ways
    line: IntArray

    def longer_than(self, lives: int) -> BoolArray:
        """The unknowns of lines of more lives than these."""
        there = self.line >= 0
        size = np.bincount(self.line[there], minlength=len(self.line))
        long: BoolArray = there & (size[self.line] > lives)
        return long


def lined_up(board: Board) -> LinedUp:
    """The lines of a board."""
    net = board.net
    first = net.cell_start[:-1]
    entry = ranges(net.slot_start[first], net.slot_start[first + 1])
    who = np.repeat(np.arange(board.count), np.diff(net.slot_start)[first])
    _, one, at = np.unique(board.group[net.slot[entry]], return_index=True, return_inverse=True)
    line = lines_of(who, at, board.release[net.slot[entry[one]]])
    length = np.bincount(line.line[line.line >= 0])
    first_point = np.cumsum(length + 1) - length - 1
    mine = line.line[at] >= 0
    who, at = who[mine], at[mine]
    point = first_point[line.line[at]] + line.place[at]
    order = np.lexsort((point, who))
    who, point, at = who[order], point[order], at[order]
    fresh = np.append(True, (np.diff(who) != 0) | (np.diff(point) != 1))[: len(who)]
    last = np.append(fresh[1:], True)[: len(who)]
    owner, begin, end = who[fresh], point[fresh], point[last] + 1
    stays = np.bincount(owner, minlength=board.count)
    points = int((length + 1).sum())
    single = stays[owner] == 1
    kind = _kinds(stays, begin, end)
    of = np.full(board.count, -1, dtype=np.int64)
    of[who] = line.line[at]
    return LinedUp(
        Ways(
            np.append(0, np.cumsum(stays)),
            begin,
            end,
            *_listed(begin[single], owner[single], points),
            kind,
            *_listed(kind, np.arange(board.count), int(kind.max(initial=-1)) + 1),
        ),
        of,
    )


def _kinds(stays: IntArray, begin: IntArray, end: IntArray) -> IntArray:
    """A number for every unknown, the same for those with the same stays."""
    owner = np.repeat(np.arange(len(stays)), stays)
    place = np.arange(len(owner)) - (np.cumsum(stays) - stays)[owner]
    table = np.full((len(stays), 2 * int(stays.max(initial=1))), -1, dtype=np.int64)
    table[owner, 2 * place], table[owner, 2 * place + 1] = begin, end
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _listed(point: IntArray, who: IntArray, points: int) -> tuple[IntArray, IntArray]:
    order = np.argsort(point, kind="stable")
    return np.append(0, np.cumsum(np.bincount(point, minlength=points))), who[order]
