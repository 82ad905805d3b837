"""Buckets: the rows of a view by signature, every value of a signature equally often.

The machinery that m-invariance, tau-safety and Cor-Split share (Xiao and Tao, SIGMOD 2007, as restated in
Cor-Split, section 4.2, and in chapter 4 of the tau-safety thesis). Rows that must keep their signature are
divided by it; gaps are filled with newcomers of the value wanted, else with counterfeits; the remaining
newcomers form buckets with signatures of their own. A bucket is then cut into groups by its publisher.

A bucket is as high as its most frequent value has rows. So one value of every bucket has no counterfeits, and
groups that take one entry of each value always hold at least one row of the view.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from republish.arrays import BoolArray, Int32Array, Int64Array
from republish.errors import CannotPublish, LedgerError
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.memory.signatures import ANEW
from republish.microdata import Microdata
from republish.publishers._buckets.hiding import hide, require_hidden
from republish.publishers._buckets.kernels import Bars, Ragged, UnfilledBuckets, find_places, lay_out, tallest
from republish.publishers._buckets.lists import lists_of, offsets_of
from republish.publishers._buckets.newcomers import FillOptions, Work, assign, balance, require_values
from republish.publishers._buckets.partition import Stacks, gather_groups, halve
from republish.publishers._buckets.regions import split_by_regions
from republish.publishers._kernels.geometry import geometry
from republish.spatial.cube import cells, cube_of
from republish.spatial.keys import interleave, key_order

Ints = Int32Array

__all__ = [
    "Buckets",
    "FillOptions",
    "Past",
    "complete",
    "divide",
    "fill_buckets",
    "gathered",
    "halved",
    "in_regions",
    "recall",
]

NOBODY = -1


@dataclass(frozen=True)
class Buckets:
    """Entries by bucket; every row of the view is one entry, and each code of a signature occurs equally often.

    Entries lie bucket after bucket, in a bucket code after code in the order of its signature, and of one
    code the rows before the counterfeits. So bucket b begins at `starts[b]`, and the j-th entry of its p-th
    code is `starts[b] + p * heights[b] + j`.

    Attributes:
        row: the row of the view, -1 for a counterfeit.
        code: the sensitive code.
        bucket: the bucket, from 0.
        sig_offsets: where the signature of each bucket begins in `sig_codes`, and the end.
        sig_codes: the codes of the signatures, sorted within each.
        heights: how often each code occurs in a bucket.
    """

    row: Int64Array
    code: Ints
    bucket: Ints
    sig_offsets: Int64Array
    sig_codes: Ints
    heights: Int64Array

    @property
    def count(self) -> int:
        return len(self.heights)

    @property
    def starts(self) -> Int64Array:
        return offsets_of(np.diff(self.sig_offsets) * self.heights)

    @property
    def counterfeits(self) -> int:
        return int(np.count_nonzero(self.row == NOBODY))

    def grouping(self, rows: int) -> Grouping:
        """Return the groups of the j-th entry of every code of a bucket, for each j."""
        first = offsets_of(self.heights)[self.bucket]
        within = (np.arange(len(self.row)) - self.starts[self.bucket]) % self.heights[self.bucket]
        return self._grouped(rows, (first + within).astype(np.int32))

    def batches(self, rows: int) -> Grouping:
        """Return the buckets as groups, whole."""
        return self._grouped(rows, self.bucket)

    def of_rows(self, rows: Int64Array) -> Buckets:
        """The same buckets, made of some rows of a view, with the numbers that those rows have there."""
        return replace(self, row=np.where(self.row == NOBODY, NOBODY, rows[self.row]))

    def _grouped(self, rows: int, numbers: Ints) -> Grouping:
        real = self.row != NOBODY
        group = np.empty(rows, dtype=np.int32)
        group[self.row[real]] = numbers[real]
        return Grouping(group, numbers[~real], self.code[~real])


@dataclass(frozen=True)
class Past:
    """What is remembered of the people of a view; parallel to its rows.

    Attributes:
        known: whether the person was ever published.
        present: whether the person was in the previous release.
        code: the last sensitive code, -1 where unknown.
        signature: the last signature, a list of `signatures`, -1 where there is none.
        within: whether the code of today belongs to that signature.
        signatures: all signatures that somebody bears, sorted by their codes.
        release: the number of releases made so far.
    """

    known: BoolArray
    present: BoolArray
    code: Int64Array
    signature: Int64Array
    within: BoolArray
    signatures: Ragged
    release: int

    @property
    def sizes(self) -> Int64Array:
        """How many codes each person's last signature has, 0 where there is none."""
        return np.append(np.diff(self.signatures.offsets), 0)[self.signature]

    def only(self, rows: Int64Array) -> Past:
        """What is remembered of some of the people."""
        return replace(
            self,
            known=self.known[rows],
            present=self.present[rows],
            code=self.code[rows],
            signature=self.signature[rows],
            within=self.within[rows],
        )


def recall(view: Microdata, memory: Memory) -> Past:
    """Return what is remembered of the people of the view.

    Raises:
        LedgerError: what is remembered of somebody contradicts itself or the view.
    """
    # Sorted by their codes, so that nothing depends on how the memory numbers them.
    numbers = sorted(range(len(memory.signatures)), key=memory.signatures.__getitem__)
    place = np.full(len(numbers) + 1, -1, dtype=np.int64)  # the number -1 finds the last
    place[numbers] = np.arange(len(numbers))
    signatures, borne = lists_of([memory.signatures[i] for i in numbers]), place[memory.signature_column()]
    _require_sense(memory, signatures, borne, len(view.values))
    entry = np.full(view.rows, -1) if view.people is None else memory.find(view.people)
    known: BoolArray = entry >= 0
    known[known] = borne[entry[known]] >= 0  # others begin anew
    there = entry[known]
    present = np.zeros(view.rows, dtype=np.bool_)
    code = np.full(view.rows, -1, dtype=np.int64)
    signature = np.full(view.rows, -1, dtype=np.int64)
    present[known] = memory.columns["last"][there] == memory.release
    code[known] = memory.columns["code"][there]
    signature[known] = borne[there]
    within = find_places(signatures, signature, _codes(view)) >= 0
    return Past(known, present, code, signature, within, signatures, memory.release)


def _require_sense(memory: Memory, signatures: Ragged, borne: Int64Array, domain: int) -> None:
    """Refuse a memory in which somebody's last value or last release cannot be."""
    last, code = memory.columns["last"], memory.columns["code"].astype(np.int64)
    outside = (find_places(signatures, borne, code) < 0) & ((borne >= 0) | (memory.columns.get(ANEW, 0) == 0))
    wrong = (last < 1) | (last > memory.release) | outside
    unknown = (
        bool(signatures.items.size) and not 0 <= signatures.items.min() <= signatures.items.max() < domain
    )
    if wrong.any() or unknown:
        raise LedgerError(
            "everyone's last value must be one of the signature she last had, in a release that was made; of "
            f"{memory.size} people remembered {np.count_nonzero(wrong)} contradict that"
            + (", and signatures hold values that the view cannot have" if unknown else "")
            + "; the memory is damaged or of another series: restore it from a backup. Nothing was written"
        )


def fill_buckets(
    view: Microdata,
    past: Past,
    keeps: BoolArray,
    m: int,
    rng: np.random.Generator,
    filling: FillOptions | None = None,
    apart: BoolArray | None = None,
) -> Buckets:
    """Return balanced buckets of all rows; those that keep their signature are in a bucket of that signature.

    Args:
        view: the rows, in the order of pseudonyms.
        past: what is remembered of the people in them.
        keeps: the rows that keep their signature; their code must belong to it.
        m: the fewest values of a new signature.
        rng: chance, where rows or padding are chosen at random.
        filling: how newcomers are chosen; at random and always m-eligible unless given.
        apart: newcomers whose new signature must have nothing in common with the old one.

    Raises:
        CannotPublish: the newcomers are not m-eligible and may not be padded, or there are too few values.
    """
    bars = Bars(np.empty(0, dtype=np.int64), lists_of([]))
    if apart is not None and apart.any():
        barred, of_row = _borne(past, apart)
        bars = Bars(of_row, barred)
    work = Work(
        codes=_codes(view),
        domain=len(view.values),
        known=view.known,
        space=geometry(view),
        keeps=keeps,
        bars=bars,
        m=m,
        rng=rng,
        filling=filling or FillOptions(),
        first=past.release == 0,
    )
    draft = divide(view, past, keeps)
    require_values(work, draft)
    filled = assign(work, balance(work, draft))
    if work.filling.hidden:
        # Where balancing leaves too few newcomers for a new value to hide among, all of them get new signatures.
        filled = hide(work, draft, filled) or require_hidden(work, hide(work, draft, assign(work, draft)))
    return complete(filled, work.codes)


def divide(view: Microdata, past: Past, keeps: BoolArray) -> UnfilledBuckets:
    """Return buckets of the rows that keep their signature; the other rows are in none."""
    lost = int(np.count_nonzero(keeps & ~past.within))
    if lost:
        raise CannotPublish(
            f"a row that keeps its signature must have a value of that signature; {lost} rows do not; "
            "publish them as newcomers"
        )
    signatures, bucket = _borne(past, keeps)
    places = find_places(signatures, bucket, _codes(view))
    held = np.bincount(places[places >= 0], minlength=len(signatures.items))
    return UnfilledBuckets(signatures, held.astype(np.int64), bucket)


def complete(draft: UnfilledBuckets, codes: Int64Array) -> Buckets:
    """Return the buckets with counterfeits wherever a code has fewer rows than the most frequent one."""
    used = np.flatnonzero(tallest(draft.signatures, draft.held))
    renumbered = np.full(len(draft.signatures.offsets) - 1, -1, dtype=np.int64)
    renumbered[used] = np.arange(len(used))
    sizes = np.diff(draft.signatures.offsets)
    kept = np.repeat(renumbered >= 0, sizes)
    signatures = Ragged(offsets_of(sizes[used]), draft.signatures.items[kept])
    draft = UnfilledBuckets(signatures, draft.held[kept], renumbered[draft.bucket])
    heights = tallest(signatures, draft.held)
    starts = offsets_of(heights * sizes[used])
    row, code, bucket = lay_out(draft, find_places(signatures, draft.bucket, codes), heights, starts)
    return Buckets(row, code, bucket, signatures.offsets, signatures.items.astype(np.int32), heights)


def _codes(view: Microdata) -> Int64Array:
    return np.ascontiguousarray(view.codes, dtype=np.int64)


def _borne(past: Past, rows: BoolArray) -> tuple[Ragged, Int64Array]:
    """Return the signatures of these rows, and for each row of the view its own among them, -1 for none."""
    number = np.where(rows, past.signature, -1)
    sizes = np.diff(past.signatures.offsets)
    used = np.zeros(len(sizes), dtype=np.bool_)
    used[number[number >= 0]] = True
    position = np.append(np.where(used, np.cumsum(used) - 1, -1), -1)  # the number -1 finds the last
    items = past.signatures.items[np.repeat(used, sizes)]
    return Ragged(offsets_of(sizes[used]), items), position[number]


def halved(view: Microdata, buckets: Buckets) -> Grouping:
    """Return the groups that repeated halving along the best quasi-identifier leaves."""
    row = buckets.row.copy()
    halve(geometry(view), row, _stacks(buckets), 1)
    return replace(buckets, row=row).grouping(view.rows)


def gathered(view: Microdata, buckets: Buckets, limit: int, rng: np.random.Generator) -> Grouping:
    """Return groups gathered around random rows, in parts of at most `limit` groups cut by halving."""
    row, space, stacks = buckets.row.copy(), geometry(view), _stacks(buckets)
    parts = halve(space, row, stacks, limit)
    gather_groups(space, row, stacks, parts, rng.random(int(buckets.heights.sum())))
    return replace(buckets, row=row).grouping(view.rows)


def in_regions(view: Microdata, buckets: Buckets, limit: int, rng: np.random.Generator) -> Grouping:
    """Return groups gathered in blocks of at most `limit` groups that nested regions of the view's cube leave."""
    cube = cube_of(view)
    keys = interleave(cells(cube, view.points), cube.bits, cube.turns)
    rank = np.empty(view.rows + 1, dtype=np.int64)
    rank[key_order(keys)] = np.arange(view.rows)
    rank[-1] = view.rows  # of counterfeits, which are numbered -1
    of_code = np.repeat(buckets.heights, np.diff(buckets.sig_offsets))
    segment = np.repeat(np.arange(len(of_code)), of_code)
    row = buckets.row[np.lexsort((rank[buckets.row], segment))]
    stacks = _stacks(buckets)
    parts = split_by_regions(keys, cube.levels, row, stacks, limit)
    gather_groups(geometry(view), row, stacks, parts, rng.random(int(buckets.heights.sum())))
    return replace(buckets, row=row).grouping(view.rows)


def _stacks(buckets: Buckets) -> Stacks:
    return Stacks(buckets.starts, buckets.heights, np.diff(buckets.sig_offsets))
