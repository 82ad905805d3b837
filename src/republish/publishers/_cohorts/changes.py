"""How cohorts change from one release to the next: places filled, given up, added, or held by counterfeits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, Int64Array, IntArray
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers._buckets.buckets import Buckets, FillOptions, fill_buckets, recall
from republish.publishers._buckets.dealing import without_places, zones_of
from republish.publishers._buckets.kernels import Ragged, find_places, place_distances
from republish.publishers._buckets.lists import offsets_of, positions_by
from republish.publishers._buckets.partition import Stacks, halve
from republish.publishers._cohorts.kernels import give_up, join_nearest
from republish.publishers._cohorts.past import Remembered
from republish.publishers._kernels.geometry import Geometry, geometry
from republish.publishers.mondrian import divide, prepare
from republish.requirements import KAnonymity, ProbabilisticLDiversity

_FORBIDDEN = 1e12
_LARGEST_MATRIX = 2_000_000
_ZONE = 600  # people, where nothing is said; fewer blur less and need more counterfeits (docs/frontier.md)


@dataclass(frozen=True)
class CohortRules:
    """What may change: see `Cohorts`; the cohorts in `still` must not this time. New ones are cut inside zones.

    A value that was never published hides among at least `newcomers` people, where that is given. Who `deals` leaves it
    to chance who goes where.
    """

    m: int
    size: int
    values: int
    together: int
    still: IntArray
    zone: int | None = None
    newcomers: int | None = None
    deals: bool = False


class _Places(NamedTuple):
    """The living cohorts, the values of each, and of each value how many rows are shown and how many people stay.

    `kind` numbers the sets of values, so that whoever comes back finds hers again; `may_change` says which cohorts do.
    """

    values: Ragged
    owner: Int64Array
    shown: Int64Array
    held: Int64Array
    kind: Int64Array
    may_change: BoolArray


class _CohortRows(NamedTuple):
    """The rows of a view: geometry, codes, the cohort of each (-1 for none yet), the kind that who returns needs."""

    space: Geometry
    codes: Int64Array
    cohort: Int64Array
    needs: Int64Array


def deal(view: Microdata, before: Remembered, changes: CohortRules, rng: np.random.Generator) -> Grouping:
    """Return everyone's cohort as `arrange` does, in every zone alone; in zones only values and chance decide.

    Zones know no values (see `_buckets.dealing`), so it is equally likely who of those who came to a cohort together
    has which of their values.
    """
    company = np.full(view.rows, -1, dtype=np.int64)
    company[before.goes_on] = np.searchsorted(before.living, before.stays.cohort[before.stay[before.goes_on]])
    zone = zones_of(view, company, changes.zone or _ZONE)
    bare, groups = without_places(view), 0
    group = np.empty(view.rows, dtype=np.int32)
    fakes: list[tuple[IntArray, IntArray]] = [(group[:0], group[:0])]
    for number in np.unique(zone):
        rows = np.flatnonzero(zone == number)
        made = arrange(bare.only(rows), before.only(rows), changes, rng)
        group[rows] = groups + made.group
        fakes.append((groups + made.counterfeit_group, made.counterfeit_code))
        groups += made.groups
    fake_group, fake_code = (np.concatenate(side).astype(np.int32) for side in zip(*fakes, strict=True))
    return Grouping(group, fake_group, fake_code)


def arrange(view: Microdata, before: Remembered, changes: CohortRules, rng: np.random.Generator) -> Grouping:
    """Return everyone's cohort, with counterfeits in the places that wait."""
    codes = np.ascontiguousarray(view.codes, dtype=np.int64)
    work = _CohortRows(
        geometry(view), codes, np.full(view.rows, -1, np.int64), np.full(view.rows, -1, np.int64)
    )
    places = _living(before, work, changes)
    work, places = _taken_in(view, before, work, places, changes, rng)
    give_up(places.values.offsets, places.shown, places.held, places.may_change, changes.m)
    waiting = places.shown - places.held
    groups = len(places.values.offsets) - 1
    fake_group, fake_code = np.repeat(places.owner, waiting), np.repeat(places.values.items, waiting)
    group, more_group, more_code = _new_cohorts(view, before, work, changes, rng, groups)
    return Grouping(
        group.astype(np.int32),
        np.concatenate([fake_group, more_group]).astype(np.int32),
        np.concatenate([fake_code, more_code]).astype(np.int32),
    )


def _taken_in(
    view: Microdata,
    before: Remembered,
    work: _CohortRows,
    places: _Places,
    changes: CohortRules,
    rng: np.random.Generator,
) -> tuple[_CohortRows, _Places]:
    """The cohorts with newcomers in their places, unless too few were left for a new value to hide among."""
    filled = work._replace(cohort=work.cohort.copy())
    taken = places._replace(held=places.held.copy(), shown=places.shown.copy())
    _fill(filled, taken, rng)
    _add(filled, taken, changes, rng)
    left = (filled.cohort < 0) & ~before.returns
    few = changes.newcomers is not None and int(left.sum()) < changes.newcomers
    return (work, places) if few and (work.codes[left] >= view.known).any() else (filled, taken)


def _living(before: Remembered, work: _CohortRows, changes: CohortRules) -> _Places:
    """The cohorts as they were, without those who left; everyone who stays is put in hers."""
    cohort, code, shown = before.stays.heights(before.release - 1)
    there = np.isin(cohort, before.living)
    cohort, code, shown = np.searchsorted(before.living, cohort[there]), code[there], shown[there]
    count = len(before.living)
    values = Ragged(offsets_of(np.bincount(cohort, minlength=count)), code.astype(np.int64))
    stay = before.stay[before.goes_on]
    work.cohort[before.goes_on] = np.searchsorted(before.living, before.stays.cohort[stay])
    at = find_places(values, work.cohort, work.codes)
    held = np.bincount(at[before.goes_on], minlength=len(code)).astype(np.int64)
    open_values = np.bincount(cohort[shown > held], minlength=count)
    may_change = (open_values >= changes.together) & ~np.isin(before.living, changes.still)
    kinds = before.kinds
    back = np.flatnonzero(before.returns)
    work.needs[back] = kinds[before.stays.cohort[before.stay[back]]]
    return _Places(
        values,
        cohort.astype(np.int64),
        shown.astype(np.int64),
        held,
        kinds[before.living].astype(np.int64),
        may_change,
    )


def _fill(work: _CohortRows, places: _Places, rng: np.random.Generator) -> None:
    """Give open places to newcomers of their value: as many as can be, with the least sum of squared distances."""
    members = positions_by(work.cohort, len(places.values.offsets) - 1)
    free = np.where(places.may_change[places.owner], places.shown - places.held, 0)
    newcomers = positions_by(np.where(work.cohort < 0, work.codes, -1), int(work.codes.max(initial=-1)) + 1)
    sites = positions_by(np.where(free > 0, places.values.items, -1), len(newcomers.offsets) - 1)
    for value in range(len(newcomers.offsets) - 1):
        rows = newcomers.items[newcomers.offsets[value] : newcomers.offsets[value + 1]]
        items = sites.items[sites.offsets[value] : sites.offsets[value + 1]]
        slots = np.repeat(items, free[items])
        parts = max(1, -(-len(rows) * len(slots) // _LARGEST_MATRIX))
        rows, slots = rng.permutation(rows), rng.permutation(slots)
        for some, into in zip(np.array_split(rows, parts), np.array_split(slots, parts), strict=True):
            row, slot = _matched(work, places, members, some, into)
            work.cohort[row] = places.owner[slot]
            np.add.at(places.held, slot, 1)


def _matched(
    work: _CohortRows, places: _Places, members: Ragged, rows: Int64Array, slots: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """The rows that go to a place, and the places, none twice."""
    from scipy.optimize import linear_sum_assignment

    if not len(rows) or not len(slots):
        return rows[:0], slots[:0]
    cohorts, which = np.unique(places.owner[slots], return_inverse=True)
    apart = place_distances(work.space, members, cohorts, rows)
    needs = work.needs[rows]
    apart[(needs[:, None] >= 0) & (needs[:, None] != places.kind[cohorts][None, :])] = _FORBIDDEN
    cost = apart[:, which]
    row, slot = linear_sum_assignment(cost)
    kept = cost[row, slot] < _FORBIDDEN
    return rows[row[kept]], slots[slot[kept]]


def _add(work: _CohortRows, places: _Places, changes: CohortRules, rng: np.random.Generator) -> None:
    """Add places for newcomers who found none, in the nearest cohorts that change and can take another row.

    Where chance decides, it draws how near they are.
    """
    members = positions_by(work.cohort, len(places.values.offsets) - 1)
    sizes = np.bincount(places.owner, weights=places.shown, minlength=len(places.kind)).astype(np.int64)
    left = np.where(work.cohort < 0, work.codes, -1)
    newcomers = positions_by(left, int(work.codes.max(initial=-1)) + 1)
    may = places.may_change[places.owner]
    sites = positions_by(np.where(may, places.values.items, -1), len(newcomers.offsets) - 1)
    for value in rng.permutation(len(newcomers.offsets) - 1):
        rows = newcomers.items[newcomers.offsets[value] : newcomers.offsets[value + 1]]
        items = sites.items[sites.offsets[value] : sites.offsets[value + 1]]
        if not len(rows) or not len(items):
            continue
        apart = (
            rng.random((len(rows), len(items)))
            if changes.deals
            else place_distances(work.space, members, places.owner[items], rows)
        )
        needs = work.needs[rows]
        apart[(needs[:, None] >= 0) & (needs[:, None] != places.kind[places.owner[items]][None, :])] = np.inf
        taken = join_nearest(
            apart, items, places.owner, places.shown, places.held, sizes, changes.m, 2 * changes.size
        )
        went = taken >= 0
        work.cohort[rows[went]] = places.owner[taken[went]]


def _new_cohorts(
    view: Microdata,
    before: Remembered,
    work: _CohortRows,
    changes: CohortRules,
    rng: np.random.Generator,
    groups: int,
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The group of every row, and group and code of further counterfeits: what found no place gets cohorts anew."""
    group = work.cohort.copy()
    fakes: list[tuple[Int64Array, Int64Array]] = []
    for rows, values in _lonely(before, work, changes):
        missing = _evened(np.bincount(np.searchsorted(values, work.codes[rows]), minlength=len(values)))
        group[rows] = groups
        fakes.append((np.full(int(missing.sum()), groups), np.repeat(values, missing)))
        groups += 1
    rows = np.flatnonzero(group < 0)
    if len(rows):
        made, fake_group, fake_code = _cut_zones(view.only(rows), changes, rng)
        group[rows] = groups + made
        fakes.append((groups + fake_group, fake_code))
    return (
        group,
        np.concatenate([np.zeros(0, np.int64), *(g for g, _ in fakes)]),
        np.concatenate([np.zeros(0, np.int64), *(c for _, c in fakes)]),
    )


def _lonely(
    before: Remembered, work: _CohortRows, changes: CohortRules
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Those who came back and found no place, in new cohorts with the values of the old one.

    Who was together before is again, where they have values enough; of the others, those with the same values.
    """
    alone = np.flatnonzero((work.cohort < 0) & before.returns)
    old = before.stays.cohort[before.stay[alone]]
    pairs = np.unique(np.column_stack([old, work.codes[alone]]), axis=0)
    enough = np.bincount(pairs[:, 0], minlength=len(before.kinds)) >= changes.m
    for among, key in ((enough[old], old), (~enough[old], work.needs[alone])):
        for number in np.unique(key[among]):
            rows = alone[among & (key == number)]
            values = np.array(before.signature_of[int(before.stays.cohort[before.stay[rows[0]]])])
            rows = rows[np.argsort(work.codes[rows], kind="stable")]
            rank = np.arange(len(rows)) - np.searchsorted(work.codes[rows], work.codes[rows])
            part = rank // max(1, changes.size // len(values))
            for piece in range(int(part.max()) + 1):
                yield rows[part == piece], values


def _evened(counts: Int64Array) -> Int64Array:
    """How many counterfeits make all values as frequent as the most frequent one."""
    evened: Int64Array = counts.max() - counts
    return evened


def _cut_zones(
    view: Microdata, changes: CohortRules, rng: np.random.Generator
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """New cohorts of all rows, each of people of one zone: values that are frequent there stay there."""
    width = _width(view, changes)
    if changes.deals or changes.zone is None or view.rows < 2 * changes.zone or width < changes.m:
        return _cut(view, changes, rng)
    diverse = (KAnonymity(changes.zone), ProbabilisticLDiversity(width))
    zone = divide(prepare(view), view.codes, view.whole, diverse, strict=True)
    group, groups = np.empty(view.rows, dtype=np.int64), 0
    fakes: list[tuple[Int64Array, Int64Array]] = []
    for number in range(int(zone.max()) + 1):
        rows = np.flatnonzero(zone == number)
        made, fake_group, fake_code = _cut(view.only(rows), changes, rng)
        group[rows] = groups + made
        fakes.append((groups + fake_group, fake_code))
        groups += int(max(made.max(), fake_group.max(initial=-1))) + 1
    return group, np.concatenate([g for g, _ in fakes]), np.concatenate([c for _, c in fakes])


def _width(view: Microdata, changes: CohortRules) -> int:
    """How many values a new cohort may have, so that none of them needs counterfeits."""
    counts = np.bincount(view.codes)
    return min(changes.values, view.rows // int(counts.max()), int(np.count_nonzero(counts)))


def _cut(
    view: Microdata, changes: CohortRules, rng: np.random.Generator
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """New cohorts of all rows: the group of each, and group and code of counterfeits."""
    width = max(_width(view, changes), changes.m)
    filling = FillOptions(eligible=False, pad=True, hidden=changes.newcomers or 0)
    nobody = np.zeros(view.rows, dtype=np.bool_)
    buckets = fill_buckets(view, recall(view, Memory.empty()), nobody, width, rng, filling)
    row, heights = buckets.row.copy(), buckets.heights
    widths = np.diff(buckets.sig_offsets)
    limit = max(1, changes.size // width)
    if changes.deals:
        row, parts = _spread(buckets), _ranges(heights, limit)
    else:
        parts = halve(geometry(view), row, Stacks(buckets.starts, heights, widths), limit)
    # Which part each level of each bucket is in, then the level of each entry.
    order = np.lexsort((parts[:, 1], parts[:, 0]))
    of_level = np.repeat(order, (parts[:, 2] - parts[:, 1])[order])
    level = (np.arange(len(row)) - buckets.starts[buckets.bucket]) % heights[buckets.bucket]
    number = of_level[offsets_of(heights)[buckets.bucket] + level]
    real = row >= 0
    group = np.empty(view.rows, dtype=np.int64)
    group[row[real]] = number[real]
    return group, number[~real], buckets.code[~real].astype(np.int64)


def _ranges(heights: Int64Array, limit: int) -> Int64Array:
    """The levels of every bucket in as few parts as hold at most `limit` of them: [bucket, low, high] of all."""
    count = -(-heights // limit)
    bucket = np.repeat(np.arange(len(heights)), count)
    place = np.arange(len(bucket)) - offsets_of(count)[bucket]
    low, high = (step * heights[bucket] // count[bucket] for step in (place, place + 1))
    return np.column_stack([bucket, low, high])


def _spread(buckets: Buckets) -> Int64Array:
    """The rows of the entries, those of a value in their order, and counterfeits evenly among them."""
    height = buckets.heights[buckets.bucket]
    first = buckets.starts[buckets.bucket]
    first = first + (np.arange(len(height)) - first) // height * height  # of the same value
    real = np.flatnonzero(buckets.row >= 0)
    held = np.bincount(first[real], minlength=len(height) + 1)[first[real]]
    row = np.full(len(height), -1, dtype=np.int64)
    row[first[real] + (real - first[real]) * height[real] // held] = buckets.row[real]
    return row
