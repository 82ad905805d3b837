"""Linkage: how far the rows of one person can be followed over releases, without a thought of values.

While somebody's quasi-identifiers stay the same they lie in all of her cells. Whoever follows her rows is left with the
people of her last release who fit the intersection of these cells. Cells that are made anew each time isolate many;
cells by kept cuts are nested, and their intersection is one of them. Of nested regions of one release the outer ones
are taken whole.

A register-holder, who knows her quasi-identifiers and in which releases she is, asks which batch is hers: see
`batches_left`.

Insensitive columns are published as they are. Where their cells are unique they name a row; where they also never
change they link the rows of a person over all releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.attacks.history import History
from republish.attacks.identity import IdentityResult, Linked, Verdicts, mean, middle
from republish.attacks.matching.batches_left import batches_left
from republish.attacks.matching.coordinates import CommonCells, CommonCoordinates
from republish.attacks.matching.sightings import MatchedView, require_everyone
from republish.attacks.summary import highest
from republish.kernels import kernel
from republish.metrics.boxes import real_rows
from republish.metrics.tuples import tree_of

_DEPTH = 128
_APART, _PARTLY, _INSIDE = 0, 1, 2


def linkage(history: History, sightings: Sequence[MatchedView], k: int | None = None) -> IdentityResult:
    """How many people are left with everyone, and how many batches; k is by default the rows of the smallest cell."""
    require_everyone(history, sightings)
    rows = _Shown.of(sightings)
    figures = _Figures(
        rows.person,
        rows.left(sightings),
        _batches(history, sightings, rows),
        rows.unique if any(sighting.release.schema.insensitive for sighting in sightings) else None,
        rows.tag,
    )
    least = _smallest(sightings) if k is None else k
    parts = [figures.linked(rows.release == i, least) for i in range(len(sightings))]
    overall = figures.linked(np.ones(len(rows.person), dtype=np.bool_), least)
    found = Verdicts(rows.person, rows.release, 1.0 / np.maximum(figures.left, 1), figures.left <= 1)
    return IdentityResult.of("linkage", overall, parts, found, history.people)


@dataclass(frozen=True)
class _Shown:
    """The rows of all people whom tables show, by person and release, and the common coordinates of each.

    `begins` says where quasi-identifiers differ from those before, or there are none; `unique` whether nobody else of
    the release has the same insensitive cells.
    """

    person: IntArray
    release: IntArray
    row: IntArray
    points: FloatArray
    tag: WordArray
    unique: BoolArray
    begins: BoolArray

    @classmethod
    def of(cls, sightings: Sequence[MatchedView]) -> _Shown:
        common = CommonCoordinates.of(sightings)
        parts = []
        for i, sighting in enumerate(sightings):
            row = np.flatnonzero((sighting.cell > 0) & (sighting.person >= 0))
            _, place, count = np.unique(sighting.tag, return_inverse=True, return_counts=True)
            points = common.points(sighting)[:, row]
            unique = count[place.ravel()][row] == 1
            parts.append((sighting.person[row], np.full(len(row), i), row, points, sighting.tag[row], unique))
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            empty = np.zeros(0, dtype=np.bool_)
            return cls(none, none, none, np.zeros((0, 0)), none.astype(np.uint64), empty, empty)
        person, release, row, points, tag, unique = (
            np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)
        )
        order = np.lexsort((release, person))
        person, points = person[order], points[:, order]
        begins = np.ones(len(order), dtype=np.bool_)
        begins[1:] = (np.diff(person) != 0) | (points[:, 1:] != points[:, :-1]).any(axis=0)
        return cls(person, release[order], row[order], points, tag[order], unique[order], begins)

    def left(self, sightings: Sequence[MatchedView]) -> IntArray:
        """Of every row, how many people of the last release of its chain fit all cells of the chain."""
        common = CommonCoordinates.of(sightings)
        chain = np.cumsum(self.begins) - 1
        ends = np.append(self.begins[1:], True)[: len(chain)]
        node = np.full(len(np.unique(chain)), -1, dtype=np.int64)  # where each chain has come to
        found = np.zeros(len(node), dtype=np.int64)
        so_far = CommonCells(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros((0, 1), dtype=np.uint64))
        for i, sighting in enumerate(sightings):
            here = np.flatnonzero(self.release == i)
            cells = common.cells(sighting)
            cell = sighting.cell[self.row[here]] - 1
            # Chains that went through the same cells so far have one node; a chain that rests keeps its own.
            now = np.full(len(node), -1)
            now[chain[here]] = cell
            begun = (node >= 0) | (now >= 0)
            states, place = np.unique(
                (node[begun] + 1) * (len(cells.low) + 1) + now[begun] + 1, return_inverse=True
            )
            so_far = _narrowed(so_far, cells, *(part - 1 for part in np.divmod(states, len(cells.low) + 1)))
            node[begun] = place
            last = here[ends[here]]
            asked, which = np.unique(node[chain[last]], return_inverse=True)
            found[chain[last]] = _fitting_all(
                common, common.points(sighting)[:, _published(sighting)], so_far.taken(asked)
            )[which]
        left: IntArray = found[chain]
        return left


def _narrowed(so_far: CommonCells, cells: CommonCells, node: IntArray, cell: IntArray) -> CommonCells:
    """What is left of each node in the cell beside it; -1 for no node yet, or no cell this time."""
    made = CommonCells(
        np.full((len(node), cells.low.shape[1]), -np.inf),
        np.full((len(node), cells.low.shape[1]), np.inf),
        np.full((len(node), cells.labels.shape[1]), ~np.uint64(0)),
    )
    for which, held in ((node, so_far), (cell, cells)):
        some = np.flatnonzero(which >= 0)
        if len(some):
            narrowed = made.taken(some).within(held.taken(which[some]))
            for whole, part in zip(made, narrowed, strict=True):
                whole[some] = part
    return made


def _published(sighting: MatchedView) -> BoolArray:
    """Who is in the table of people; nobody remembers the cells of those who were forgotten, who are there too."""
    return (sighting.cell > 0) | (sighting.person < 0)


def _fitting_all(common: CommonCoordinates, points: FloatArray, cells: CommonCells) -> IntArray:
    """How many points fit each cell."""
    bits = np.ascontiguousarray(common.bits(points).T)
    order, nodes = tree_of(bits, np.ones(len(bits), dtype=np.int64))
    if not len(order):
        return np.zeros(len(cells.low), dtype=np.int64)
    found: IntArray = _inside(nodes, cells.low, cells.high, cells.labels, common.labelled)
    return found


def _batches(history: History, sightings: Sequence[MatchedView], rows: _Shown) -> FloatArray:
    """The batches left to every row, nan for people without one."""
    found = np.full(len(rows.person), np.nan)
    keys = rows.person * max(history.releases, 1) + rows.release
    found[np.searchsorted(keys, history.person * history.releases + history.release)] = batches_left(
        history, sightings
    )
    return found


def _smallest(sightings: Sequence[MatchedView]) -> int:
    """The fewest people of any cell: what each release alone seems to promise."""
    rows = [real_rows(sighting.release.people) for sighting in sightings]
    return min((int(part[part > 0].min()) for part in rows if part.any()), default=0)


@dataclass(frozen=True)
class _Figures:
    """What was found of every row; `unique` is `None` where there are no insensitive columns."""

    person: IntArray
    left: IntArray
    batches: FloatArray
    unique: BoolArray | None
    tag: WordArray

    def linked(self, here: BoolArray, k: int) -> Linked:
        """The figures of some rows, everyone once and at the worst."""
        person = self.person[here]
        people = int(self.person.max(initial=-1)) + 1
        left = _fewest(people, person, self.left[here].astype(np.float64))
        held = here & np.isfinite(self.batches)
        batches = _fewest(people, self.person[held], self.batches[held])
        some = len(batches) > 0
        return Linked(
            people=len(left),
            k=k,
            alone=mean(left <= 1),
            below_k=mean(left < k),
            median_left=middle(left),
            median_batches=middle(batches) if some else None,
            one_batch=mean(batches <= 1) if some else None,
            **self._by_cells(person, here),
        )

    def _by_cells(self, person: IntArray, here: BoolArray) -> dict[str, float | None]:
        """How far insensitive cells lead, of people in these rows; over several releases, of all their rows."""
        if self.unique is None:
            return dict.fromkeys(("unique_cells", "same_cells", "followed_by_cells"))
        start = np.flatnonzero(np.diff(self.person, prepend=-1))
        several = np.diff(np.append(start, len(self.person))) > 1
        first = np.repeat(start, np.diff(np.append(start, len(self.person))))
        same = np.logical_and.reduceat(self.tag == self.tag[first], start) if len(start) else several
        always = np.logical_and.reduceat(self.unique, start) if len(start) else several
        once = _fewest(int(self.person.max(initial=-1)) + 1, person, -self.unique[here].astype(np.float64))
        among = np.isin(self.person[start], person) & several
        return {
            "unique_cells": mean(once < 0) if len(once) else None,
            "same_cells": mean(same[among]) if among.any() else None,
            "followed_by_cells": mean((same & always)[among]) if among.any() else None,
        }


def _fewest(people: int, person: IntArray, figure: FloatArray) -> FloatArray:
    """The lowest figure of everyone who has one."""
    found = -highest(people, person, -figure)
    return found[np.isfinite(found)]


@kernel
def _compared(lows, highs, at, low, high, labels, labelled, cell):  # type: ignore[no-untyped-def]
    """Whether the region `lows[at]` to `highs[at]` lies apart from a cell, partly in it or inside."""
    answer = _INSIDE
    for a in range(lows.shape[1]):
        below, above = lows[at, a], highs[at, a]
        if labelled[a] < 0:
            if above < low[cell, a] or below > high[cell, a]:
                return _APART
            if below < low[cell, a] or above > high[cell, a]:
                answer = _PARTLY
            continue
        held = 0
        for label in range(int(below), int(above) + 1):
            bit = labelled[a] + label
            held += int((labels[cell, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1))
        if held == 0:
            return _APART
        if held < int(above) - int(below) + 1:
            answer = _PARTLY
    return answer


@kernel
def _inside(nodes, low, high, labels, labelled):  # type: ignore[no-untyped-def]
    """How many points of a tree lie in each cell."""
    count = np.zeros(len(low), np.int64)
    stack = np.empty(_DEPTH, np.int64)
    for cell in range(len(low)):
        stack[0], waiting = 0, 1
        while waiting:
            waiting -= 1
            node = stack[waiting]
            where = _compared(nodes.low, nodes.high, node, low, high, labels, labelled, cell)
            if where == _INSIDE:
                count[cell] += nodes.total[node]
            elif where == _PARTLY and nodes.child[node] >= 0:
                stack[waiting] = nodes.child[node] + 1
                stack[waiting + 1] = nodes.child[node]
                waiting += 2
            elif where == _PARTLY:
                for i in range(nodes.start[node], nodes.end[node]):
                    if _compared(nodes.points, nodes.points, i, low, high, labels, labelled, cell) == _INSIDE:
                        count[cell] += 1
    return count
