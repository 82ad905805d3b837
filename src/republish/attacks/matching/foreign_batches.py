"""Two tables that another tool made, and who of a raw view is in which of their batches.

A line of the table of people names cells and a batch, the table of values counts the values of every batch. Somebody is
on a line whose cells hold her quasi-identifiers, in a batch that counts her value; every line is taken once, and every
value as often as it is counted. To find out who is where is a contingency table of three dimensions, people of one
value in one cell by batch, of which the margins are known; no fast way is known to fill it in every case. Batches are
filled one after the other, each as far as it can be by a maximum flow from its cells to its values; one that stays
short is emptied together with some others and filled first, again and again. Whoever finds no line is in no batch.
Where the view says who was in which batch, only cells have to be found, and one flow a batch finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.matching.fitting import Fits, fitting
from republish.attacks.matching.other_tools import foreign_release
from republish.errors import ViewError
from republish.microdata import Axis, Microdata, sensitive_codes
from republish.release.domains import Scales
from republish.release.grouped_table import GroupedTable
from republish.release.two_tables import (
    BATCH,
    TwoTableRelease,
    counted_out,
    people_schema,
    values_of,
)
from republish.schema import Schema
from republish.verify.two_tables import read_two_tables

NO_BATCH = 0
_ANY = -1
_ROUNDS, _WITH = 300, 4  # how often a short batch is filled anew, and with how many others


class PeopleLines(NamedTuple):
    """Where everyone of a view is: batch (0 for none) and cell (0 without a line); and who could be elsewhere."""

    batch: IntArray
    cell: IntArray
    elsewhere: int


def read_foreign_batches(
    people: Any, values: Any, schema: Schema, axes: tuple[Axis, ...], number: int = 1
) -> TwoTableRelease:
    """Two tables of any tool as a release, cells in the coordinates of these axes; no counterfeit is known of."""
    table, counts = read_two_tables(people, values, schema)
    shown = foreign_release(table.drop(BATCH), people_schema(schema), axes, number)
    assert schema.sensitive is not None
    rows = counted_out(counts)
    _, domain = sensitive_codes(rows[schema.sensitive.name], schema.sensitive)
    counted = values_of(GroupedTable(rows), schema, Scales((), domain))
    batch = table[BATCH].fill_null(NO_BATCH).to_numpy().astype(np.int32)
    known = np.unique(counted.group)
    if not np.isin(batch[batch > 0], known).all() or len(known) < counted.group_count:
        raise ViewError(
            f"release {number}: every batch of the table of people must be counted in the table of values, and no "
            "other; give the tables of one release"
        )
    return TwoTableRelease(schema, shown, batch, counted)


def placed_in_batches(
    release: TwoTableRelease, view: Microdata, counted: IntArray, stated: IntArray | None = None
) -> PeopleLines:
    """The batch and cell of everyone in a view; `counted` is the code of every row of the table of values.

    Where `stated` says in which batch everyone is, only her cell is looked for.
    """
    batches = np.full(view.rows, _ANY, dtype=np.int64) if stated is None else stated.astype(np.int64)
    places = _Kinds.of(fitting(release.people, view.points), view.codes.astype(np.int64), batches)
    board = _Board.of(places, release, counted)
    board.fill()
    taken = np.array(list(board.taken()), dtype=np.int64).reshape(-1, 4)
    taken = taken[np.argsort(taken[:, 1], kind="stable")]
    kind, times = np.repeat(taken[:, 1], taken[:, 3]), taken[:, 3]
    who = places.people[places.start[kind] + _rank(kind)]
    batch, cell = np.zeros(view.rows, dtype=np.int32), np.zeros(view.rows, dtype=np.int32)
    batch[who], cell[who] = np.repeat(taken[:, 0], times), np.repeat(taken[:, 2], times) + 1
    elsewhere = 0 if stated is not None else int(np.count_nonzero(board.choices(places.kind) > 1))
    return PeopleLines(batch, cell, elsewhere)


@dataclass(frozen=True)
class _Kinds:
    """People of one kind have the same value and fit the same cells: `people[start[i]:start[i + 1]]` are those of i.

    Where it is stated they are in the same `batch`, -1 where it is not.

    `pair_kind` and `pair_cell` are the cells (0, 1, ...) that kinds fit, sorted by cell. `kind` is that of everyone,
    -1 where no cell fits.
    """

    kind: IntArray
    people: IntArray
    start: IntArray
    code: IntArray
    batch: IntArray
    pair_kind: IntArray
    pair_cell: IntArray

    @classmethod
    def of(cls, fits: Fits, codes: IntArray, batch: IntArray) -> _Kinds:
        """The kinds of people with these codes and stated batches, who fit these cells."""
        length = fits.end - fits.start
        person = fits.order[np.repeat(fits.start, length) + _rank(np.repeat(np.arange(len(length)), length))]
        cell = np.repeat(fits.group, length)
        mark = np.random.default_rng(0).integers(
            0, 2**63, (int(cell.max(initial=-1)) + 1, 2), dtype=np.uint64
        )
        sums = np.zeros((len(codes), 2), dtype=np.uint64)  # equal for those who fit the same cells
        np.add.at(sums, person, mark[cell])
        somewhere = np.zeros(len(codes), dtype=np.bool_)
        somewhere[person] = True
        there = np.flatnonzero(somewhere)
        keys = np.column_stack([sums[there], np.column_stack([codes, batch])[there].astype(np.uint64)])
        _, first, kinds = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        kind = np.full(len(codes), -1, dtype=np.int64)
        kind[there] = kinds.ravel()
        people = there[np.argsort(kind[there], kind="stable")]
        start = np.append(0, np.cumsum(np.bincount(kind[there], minlength=len(first))))
        stands = np.zeros(len(codes), dtype=np.bool_)
        stands[there[first]] = True
        pairs = np.flatnonzero(stands[person])
        pairs = pairs[np.argsort(cell[pairs], kind="stable")]
        one = there[first]
        return cls(kind, people, start, codes[one], batch[one], kind[person[pairs]], cell[pairs])


class _Board:
    """Batches that are filled: lines of each by cell, values of each by code, and who is still to be placed."""

    def __init__(self, places: _Kinds, lines: _Margin, values: _Margin) -> None:
        self.places, self.lines, self.values = places, lines, values
        self.left = np.diff(places.start)
        self.placed: dict[int, tuple[IntArray, IntArray, IntArray]] = {}
        cells = int(max(lines.item.max(initial=-1), places.pair_cell.max(initial=-1))) + 1
        self._cell_start = np.searchsorted(places.pair_cell, np.arange(cells + 1))

    @classmethod
    def of(cls, places: _Kinds, release: TwoTableRelease, counted: IntArray) -> _Board:
        """The board of a release."""
        cell = release.people.group.astype(np.int64) - 1
        values = _Margin.of(release.values.group.astype(np.int64), counted.astype(np.int64))
        return cls(places, _Margin.of(release.batch.astype(np.int64), cell), values)

    def fill(self) -> None:
        """Fill all batches, and then the lines without a batch, whoever is left."""
        batches = np.unique(self.lines.batch[self.lines.batch != NO_BATCH])
        size = np.array([self.lines.at(batch)[1].sum() for batch in batches.tolist()], dtype=np.int64)
        for batch in batches[np.argsort(size, kind="stable")].tolist():
            self._fill(batch)
        rng = np.random.default_rng(0)
        for _ in range(_ROUNDS):
            short = [batch for batch in batches.tolist() if self._missing(batch)]
            if not short:
                break
            self._again(short, batches, rng)
        self._fill(NO_BATCH)

    def taken(self) -> Iterator[tuple[int, int, int, int]]:
        """Batch, kind of people, cell and how many of them are on such lines."""
        for batch, (kind, cell, times) in self.placed.items():
            for one in zip(kind.tolist(), cell.tolist(), times.tolist(), strict=True):
                yield batch, *one

    def choices(self, kind: IntArray) -> IntArray:
        """In how many batches everyone of these kinds could be, by cells and values."""
        places = self.places
        offered = np.unique(np.column_stack([self.lines.item, self.lines.batch]), axis=0)
        low = np.searchsorted(offered[:, 0], places.pair_cell)
        length = np.searchsorted(offered[:, 0], places.pair_cell, side="right") - low
        whose = np.repeat(places.pair_kind, length)
        batch = offered[np.repeat(low, length) + _rank(np.repeat(np.arange(len(low)), length)), 1]
        possible = np.unique(np.column_stack([whose, batch]), axis=0)
        counts = _keys(self.values.batch, self.values.item)
        shown = (possible[:, 1] == NO_BATCH) | np.isin(
            _keys(possible[:, 1], places.code[possible[:, 0]]), counts
        )
        found = np.bincount(possible[shown, 0], minlength=len(places.code))
        return np.where(kind >= 0, found[kind], 0) if len(found) else np.zeros(len(kind), dtype=np.int64)

    def _missing(self, batch: int) -> int:
        return int(self.lines.at(batch)[1].sum()) - int(self.placed[batch][2].sum())

    def _again(self, short: list[int], batches: IntArray, rng: np.random.Generator) -> None:
        """Empty a short batch and some others, and fill it first; undone where that is worse."""
        others = rng.choice(batches, min(_WITH, len(batches)), replace=False).tolist()
        touched = list(dict.fromkeys([int(rng.choice(short)), *others]))
        before, missing = {b: self.placed[b] for b in touched}, sum(map(self._missing, touched))
        for batch in touched:
            self._empty(batch)
        for batch in touched:
            self._fill(batch)
        if sum(map(self._missing, touched)) > missing:
            for batch in touched:
                self._empty(batch)
            for batch in touched:
                self._take(batch, *before[batch])

    def _empty(self, batch: int) -> None:
        kind, _, times = self.placed.pop(batch)
        np.add.at(self.left, kind, times)

    def _take(self, batch: int, kind: IntArray, cell: IntArray, times: IntArray) -> None:
        np.subtract.at(self.left, kind, times)
        self.placed[batch] = kind, cell, times

    def _fill(self, batch: int) -> None:
        """Put as many people on the lines of a batch as can be, no more of a value than it counts."""
        cells, lines = self.lines.at(batch)
        places, first = self.places, self._cell_start
        length = first[cells + 1] - first[cells]
        pair = np.repeat(first[cells], length) + _rank(np.repeat(np.arange(len(cells)), length))
        line, kind = np.repeat(np.arange(len(cells)), length), places.pair_kind[pair]
        codes: IntArray
        counts: IntArray
        if batch == NO_BATCH:  # nothing is counted there
            every = np.unique(places.code)
            codes, counts = every, np.full(len(every), self.left.sum(), dtype=np.int64)
        else:
            codes, counts = self.values.at(batch)
        useful = (self.left[kind] > 0) & np.isin(places.code[kind], codes)
        useful &= (places.batch[kind] == _ANY) | (places.batch[kind] == batch)
        line, kind = line[useful], kind[useful]
        flow = _flow(_Network(line, lines, kind, self.left, places.code, codes, counts))
        self._take(batch, kind[flow > 0], cells[line[flow > 0]], flow[flow > 0])


@dataclass(frozen=True)
class _Margin:
    """How often each item, a cell or a value, occurs in every batch, sorted by batch."""

    batch: IntArray
    item: IntArray
    count: IntArray

    @classmethod
    def of(cls, batch: IntArray, item: IntArray) -> _Margin:
        """The margin of these rows."""
        pairs, count = np.unique(np.column_stack([batch, item]), axis=0, return_counts=True)
        return cls(pairs[:, 0], pairs[:, 1], count.astype(np.int64))

    def at(self, batch: int) -> tuple[IntArray, IntArray]:
        """The items of one batch and how often each occurs."""
        here = slice(*np.searchsorted(self.batch, [batch, batch + 1]).tolist())
        return self.item[here], self.count[here]


class _Network(NamedTuple):
    """Pairs of a line and a kind of people; how many there are of each line, kind and code."""

    line: IntArray
    lines: IntArray
    kind: IntArray
    left: IntArray
    code: IntArray
    codes: IntArray
    counts: IntArray


def _flow(net: _Network) -> IntArray:
    """How many people of each pair are placed in a largest flow from lines over kinds of people to values."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    kinds, of_kind = np.unique(net.kind, return_inverse=True)
    if not len(kinds):
        return np.zeros(0, dtype=np.int64)
    value = np.searchsorted(net.codes, net.code[kinds])
    first_kind = 1 + len(net.lines)
    first_value = first_kind + len(kinds)
    sink = first_value + len(net.codes)
    edges = [
        (np.zeros(len(net.lines), dtype=np.int64), 1 + np.arange(len(net.lines)), net.lines),
        (1 + net.line, first_kind + of_kind, np.minimum(net.lines[net.line], net.left[net.kind])),
        (first_kind + np.arange(len(kinds)), first_value + value, net.left[kinds]),
        (first_value + np.arange(len(net.codes)), np.full(len(net.codes), sink), net.counts),
    ]
    tail, head, room = (np.concatenate([edge[i] for edge in edges]) for i in range(3))
    graph = csr_array((room.astype(np.int32), (tail, head)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, 0, sink).flow
    return np.asarray(flow[1 + net.line, first_kind + of_kind]).ravel().astype(np.int64)


def _rank(run: IntArray) -> IntArray:
    """The place of every entry among those of its run; equal entries lie side by side."""
    starts: BoolArray = np.diff(run, prepend=-1) != 0
    at = np.arange(len(run))
    return at - np.maximum.accumulate(np.where(starts, at, 0)) if len(run) else at


def _keys(batch: IntArray, code: IntArray) -> IntArray:
    return batch.astype(np.int64) << 32 | code.astype(np.int64)
