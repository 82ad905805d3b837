"""Who is determined by the equations alone: every group and value is one, and so is everybody's single value.

People who are always in the same groups with the same candidates can never be told apart by equations; they stand in
them as one, and a sum of none or of all of them still speaks of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.linear._sparse import PRIME
from republish.attacks.linear.board import Board, all_alike, ranges
from republish.attacks.linear.elimination import Rows, eliminate_rows
from republish.attacks.linear.proof import confirmed
from republish.kernels import kernel


class Solved(NamedTuple):
    """The cells that equations exclude; how many finds had no proof; how many unknowns have too many equations."""

    excluded: BoolArray
    unconfirmed: int
    unsolved: int


def solve(
    board: Board, rng: np.random.Generator, fresh: BoolArray | None = None, prime: int = PRIME
) -> Solved:
    """Solve the equations of every component, only of those with unknowns in `fresh` if this is given."""
    net = board.net
    value = np.full(board.cells, -1, dtype=np.int64)
    if not board.count:
        return Solved(value == 0, 0, 0)
    first = alike(board, rng)
    many = np.bincount(first, minlength=board.count)
    unconfirmed, unsolved = 0, 0
    for rows, cells in _systems(board, first, fresh):
        who = np.unique(net.owner[cells])
        if all_alike(board, who):
            continue  # determined, a value would be determined along with all others
        eliminated = eliminate_rows(rows, prime)
        if eliminated is None:
            unsolved += len(who)
            continue
        seeming = eliminated.null_vector(rng) == 0
        if not seeming.any():
            continue
        proved, found = confirmed(rows, seeming, rng, prime)
        if ((found < 0) | (found > many[net.owner[cells]]))[proved].any():
            continue  # what contradicts itself teaches nothing
        unconfirmed += int(np.count_nonzero(seeming & ~proved))
        value[cells[proved]] = found[proved]
    # whoever stands in the equations as one with others: none of them or all of them
    own = net.cell_start[first[net.owner]] + np.arange(board.cells) - net.cell_start[net.owner]
    must = (value[own] == many[first[net.owner]]) & (value[own] > 0)
    holds = np.zeros(board.count, dtype=np.bool_)
    holds[net.owner[must]] = True
    return Solved((value[own] == 0) | (holds[net.owner] & ~must), unconfirmed, unsolved)


def alike(board: Board, rng: np.random.Generator) -> IntArray:
    """For every unknown the first one with the same groups and candidates."""
    net = board.net
    word = rng.integers(0, 2**63, board.slots + 1, dtype=np.uint64)
    entry_start = net.slot_start[net.cell_start]
    sums = np.append(np.uint64(0), np.cumsum(word[net.slot], dtype=np.uint64))
    key = sums[entry_start[1:]] - sums[entry_start[:-1]]
    order = np.argsort(key, kind="stable")
    first: IntArray = _first(order, key, entry_start, net.slot, np.diff(net.cell_start))
    return first


@kernel
def _first(order, key, entry_start, slot, cells):  # type: ignore[no-untyped-def]
    """Compare everyone with the first of the same key, entry by entry."""
    first = np.arange(len(order))
    lead = -1
    for u in order:
        if lead < 0 or key[u] != key[lead]:
            lead = u
            continue
        a, b = entry_start[lead], entry_start[u]
        size = entry_start[lead + 1] - a
        same = size > 0 and entry_start[u + 1] - b == size and cells[u] == cells[lead]
        for i in range(size if same else 0):
            same &= slot[a + i] == slot[b + i]
        if same:
            first[u] = lead
    return first


def _systems(board: Board, first: IntArray, fresh: BoolArray | None) -> Iterator[tuple[Rows, IntArray]]:
    """The equations of every component, with the cells its columns stand for.

    They are those of its slots, and one for each unknown that is the first of its kind: its cells add up to its kind.
    """
    net = board.net
    many = np.bincount(first, minlength=board.count)
    wanted = (many > 0) & (np.diff(net.slot_start)[net.cell_start[:-1]] > 0)
    part = board.parts(linked=False)
    if fresh is not None:
        wanted &= (np.bincount(part, fresh) > 0)[part]
    who = np.flatnonzero(wanted)
    if not len(who):
        return
    who = who[np.argsort(part[who], kind="stable")]
    part = np.unique(part[who], return_inverse=True)[1]
    width = np.diff(net.cell_start)[who]
    cells = ranges(net.cell_start[who], net.cell_start[who + 1])
    cell_part = np.repeat(part, width)
    bounds = np.searchsorted(cell_part, np.arange(part[-1] + 2))
    entry = ranges(net.slot_start[cells], net.slot_start[cells + 1])
    each = np.diff(net.slot_start)[cells]
    slot, of_slot = np.unique(net.slot[entry], return_inverse=True)
    row_part = np.empty(len(slot) + len(who), dtype=np.int64)
    row_part[of_slot] = np.repeat(cell_part, each)
    row_part[len(slot) :] = part
    place = np.empty(len(row_part), dtype=np.int64)  # of every row, part by part
    place[np.argsort(row_part, kind="stable")] = np.arange(len(row_part))
    number = np.arange(len(cells)) - bounds[cell_part]
    row = np.concatenate(
        [of_slot, len(slot) + np.repeat(np.arange(len(who)), width), np.arange(len(row_part))]
    )
    column = np.concatenate([np.repeat(number, each), number, np.diff(bounds)[row_part]])
    side = np.concatenate([net.need[slot], many[who]])
    value = np.concatenate([np.ones(len(row) - len(row_part), dtype=np.int64), side])
    order = np.lexsort((column, place[row]))
    column, value = column[order], value[order]
    start = np.append(0, np.cumsum(np.bincount(place[row], minlength=len(row_part))))
    rows = np.append(0, np.cumsum(np.bincount(row_part)))
    for i in range(len(bounds) - 1):
        starts = start[rows[i] : rows[i + 1] + 1]
        entries = slice(starts[0], starts[-1])
        columns = int(bounds[i + 1] - bounds[i])
        yield (
            Rows(starts - starts[0], column[entries], value[entries], columns),
            cells[bounds[i] : bounds[i + 1]],
        )
