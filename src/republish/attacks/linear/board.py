"""What is still open, as one system of zeros and ones.

A *cell* is an open unknown with one of its candidates, and is 1 if that is its value. A *slot* is a group with one of
its values: the cells in it add up to the rows of that value that nobody settled holds. A row that belongs to no member
is held by an unknown of its own, who is in this group only and may have any value left in it. The cells of an unknown
add up to 1. Cells that cannot both be 1, since successive lives differ, are rivals. A *world* is a choice of one
cell for every unknown that keeps all of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray, WordArray
from republish.attacks.excluding.candidates import Unknowns, sizes

NOBODY = -1


class Net(NamedTuple):
    """A board as arrays for kernels.

    The cells of unknown i start at `cell_start[i]`, and `owner[cell]` is i. The slots of a cell, one a group, start at
    `slot_start[cell]` in `slot`, in the order of the groups; the cells of a slot at `in_start[slot]` in `in_cell`, and
    where each has the slot in `in_entry`. `older` and `newer` are a cell's rivals in the life before and after, or -1.
    """

    cell_start: IntArray
    owner: IntArray
    slot_start: IntArray
    slot: IntArray
    in_start: IntArray
    in_cell: IntArray
    in_entry: IntArray
    need: IntArray
    older: IntArray
    newer: IntArray


@dataclass(frozen=True)
class Board:
    """The open unknowns, and the rows of nobody, with their cells and slots.

    `unknown` is the number of each in the history's unknowns (-1 for a row of nobody), `code` the value of each cell,
    `group` and `release` are those of each slot.
    """

    unknown: IntArray
    code: IntArray
    net: Net
    group: IntArray
    release: IntArray

    @property
    def count(self) -> int:
        return len(self.unknown)

    @property
    def cells(self) -> int:
        return len(self.code)

    @property
    def slots(self) -> int:
        return len(self.net.need)

    def parts(self, linked: bool = True) -> IntArray:
        """The number of every unknown's component: joined by groups and, if `linked`, by rivals."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        net, n = self.net, self.count
        owner = np.repeat(net.owner, np.diff(net.slot_start))
        rows, columns = [owner], [n + net.slot]
        if linked:
            later = np.flatnonzero(net.older >= 0)
            rows.append(net.owner[later])
            columns.append(net.owner[net.older[later]])
        # the slots of a group hang together through its members, for each has several cells
        one, other = np.concatenate(rows), np.concatenate(columns)
        graph = coo_matrix((np.ones(len(one), np.int8), (one, other)), shape=(n + self.slots,) * 2)
        label = connected_components(graph, directed=False)[1][:n]
        return np.unique(label, return_inverse=True)[1].astype(np.int64)

    def exclude(self, sets: WordArray, cells: IntArray) -> bool:
        """Take the values of some cells, in place, from the candidates of their unknowns; whether there were any."""
        theirs = cells[self.unknown[self.net.owner[cells]] != NOBODY]
        unknown, code = self.unknown[self.net.owner[theirs]], self.code[theirs]
        bits = ~(np.uint64(1) << (code & 63).astype(np.uint64))
        np.bitwise_and.at(sets, (unknown, code >> 6), bits)
        return len(theirs) > 0


def board_of(unknowns: Unknowns, sets: WordArray) -> Board:
    """The board of all unknowns with several candidates."""
    history, values = unknowns.history, max(1, unknowns.history.values)
    size = sizes(sets)
    number = np.full(unknowns.count, NOBODY, dtype=np.int64)
    is_open = np.flatnonzero(size > 1)
    number[is_open] = np.arange(len(is_open))
    person, code = np.nonzero(_bits(sets[is_open], values))  # sorted: by unknown, then by code
    each = size[is_open]
    starts = np.append(0, np.cumsum(each))

    where = np.flatnonzero(number[unknowns.of_appearance] >= 0)
    who, group = number[unknowns.of_appearance[where]], history.group[where]
    who, group = who[order := np.argsort(who, kind="stable")], group[order]

    is_live = np.zeros(history.groups, dtype=np.bool_)
    is_live[group] = True
    row_group = np.repeat(np.arange(history.groups), np.diff(history.value_start))
    row_key = row_group * values + history.value_code
    settled = np.flatnonzero(size[unknowns.of_appearance] == 1)
    sole = np.zeros(unknowns.count, dtype=np.int64)
    alone = np.flatnonzero(size == 1)
    sole[alone] = np.argmax(_bits(sets[alone], values), axis=1) if len(alone) else 0
    taken = history.group[settled] * values + sole[unknowns.of_appearance[settled]]
    left = history.value_count.astype(np.int64) - _counts(taken, row_key)
    left = np.maximum(left, 0)
    rest = np.bincount(row_group[is_live[row_group]], left[is_live[row_group]], minlength=history.groups)
    fakes = np.maximum(rest.astype(np.int64) - np.bincount(group, minlength=history.groups), 0) * is_live
    fake_group = np.repeat(np.arange(history.groups), fakes)
    fake_row = ranges(history.value_start[fake_group], history.value_start[fake_group + 1])
    fake_owner = np.repeat(np.arange(len(fake_group)), np.diff(history.value_start)[fake_group])
    kept = left[fake_row] > 0
    fake_row, fake_owner = fake_row[kept], fake_owner[kept] + len(is_open)

    owner = np.concatenate([person, fake_owner]).astype(np.int64)
    codes = np.concatenate([code, history.value_code[fake_row]]).astype(np.int64)
    # one entry for every cell and group of its owner
    cell_at = ranges(starts[who], starts[who + 1])
    key = np.concatenate([np.repeat(group, each[who]) * values + code[cell_at], row_key[fake_row]])
    cell_at = np.concatenate([cell_at, len(person) + np.arange(len(fake_row))])
    order = np.lexsort((key, cell_at))
    key, cell_at = key[order], cell_at[order]
    slot_key, slot = np.unique(key, return_inverse=True)
    need = np.zeros(len(slot_key), dtype=np.int64)
    if len(row_key):
        place = np.minimum(np.searchsorted(row_key, slot_key), len(row_key) - 1)
        need = np.where(row_key[place] == slot_key, left[place], 0)
    by_slot = np.argsort(slot, kind="stable")
    older, newer = _rivals(unknowns, is_open, number, owner[: len(person)], code, values, len(owner))
    unknown = np.concatenate([is_open, np.full(len(fake_group), NOBODY)]).astype(np.int64)
    net = Net(
        cell_start=_starts(owner, len(unknown)),
        owner=owner,
        slot_start=_starts(cell_at, len(owner)),
        slot=slot.astype(np.int64),
        in_start=_starts(slot, len(slot_key)),
        in_cell=cell_at[by_slot].astype(np.int64),
        in_entry=by_slot.astype(np.int64),
        need=need,
        older=older,
        newer=newer,
    )
    released = np.repeat(np.arange(history.releases), np.diff(history.group_start))
    return Board(unknown, codes, net, slot_key // values, released[slot_key // values])


def all_alike(board: Board, who: IntArray) -> bool:
    """Whether any values could change places all over a component: then each is as likely as the others."""
    net = board.net
    each = np.diff(net.cell_start)[who]
    if (each != each[0]).any():
        return False
    cells = ranges(net.cell_start[who], net.cell_start[who + 1])
    if (board.code[cells].reshape(len(who), -1) != board.code[cells[: each[0]]]).any():
        return False
    entry = ranges(net.slot_start[cells], net.slot_start[cells + 1])
    length = np.diff(net.slot_start)[cells]
    ahead = np.repeat(net.slot_start[cells] - net.slot_start[net.cell_start[net.owner[cells]]], length)
    return bool((net.need[net.slot[entry]] == net.need[net.slot[entry - ahead]]).all())


def interchangeable(board: Board, who: IntArray) -> bool:
    """Whether a component is one group with the same candidates for all: then its rows are dealt out any way."""
    net = board.net
    each = np.diff(net.cell_start)[who]
    cells = ranges(net.cell_start[who], net.cell_start[who + 1])
    if (each != each[0]).any() or (np.diff(net.slot_start)[cells] != 1).any():
        return False
    slot = net.slot[net.slot_start[cells]].reshape(len(who), -1)
    return bool((slot == slot[0]).all() and (net.older[cells] < 0).all() and (net.newer[cells] < 0).all())


def _rivals(
    unknowns: Unknowns,
    is_open: IntArray,
    number: IntArray,
    owner: IntArray,
    code: IntArray,
    values: int,
    cells: int,
) -> tuple[IntArray, IntArray]:
    """For every cell the one of the same value in the life before, and after; -1 for none."""
    older, newer = np.full(cells, -1, dtype=np.int64), np.full(cells, -1, dtype=np.int64)
    before = unknowns.previous[is_open[owner]]
    before = np.where(before >= 0, number[before], NOBODY)
    key = owner * values + code
    mine = np.flatnonzero(before >= 0)
    wanted = before[mine] * values + code[mine]
    place = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    there = key[place] == wanted
    older[mine[there]] = place[there]
    newer[place[there]] = mine[there]
    return older, newer


def _bits(sets: WordArray, values: int) -> BoolArray:
    """One column a code."""
    if not len(sets):
        return np.zeros((0, values), dtype=np.bool_)
    spread = np.unpackbits(np.ascontiguousarray(sets.astype("<u8")).view(np.uint8), axis=1, bitorder="little")
    return spread[:, :values].astype(np.bool_)


def _counts(keys: IntArray, among: IntArray) -> IntArray:
    """How often each of the sorted, distinct keys `among` occurs in `keys`."""
    counts = np.zeros(len(among), dtype=np.int64)
    if len(among):
        place = np.minimum(np.searchsorted(among, keys), len(among) - 1)
        np.add.at(counts, place[among[place] == keys], 1)
    return counts


def ranges(first: IntArray, last: IntArray) -> IntArray:
    """All numbers from each first to below each last, one range after the other."""
    length = last - first
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    listed: IntArray = np.arange(total) - np.repeat(ends - length - first, length)
    return listed


def _starts(sorted_items: IntArray, count: int) -> IntArray:
    return np.append(0, np.cumsum(np.bincount(sorted_items, minlength=count))).astype(np.int64)
