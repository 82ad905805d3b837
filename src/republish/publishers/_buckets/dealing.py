"""Membership by chance: people of one value are dealt to the places of that value inside zones that know no values.

Whoever knows the program must not learn from who is with whom. So quasi-identifiers decide on zones alone, and values
and chance on everything inside a zone: signatures, counterfeits, and who is dealt to which place. Let two people of a
group exchange their values and their chance: both were in one zone, so all that is published stays as it was. Every
assignment of the values of a group to its people is equally likely.

- Zones are cut of those who need a signature (newcomers), about so many in each; whoever keeps one goes, with
  the people she was with, to the zone where most of these are led.
- In a zone buckets are filled as everywhere, without distances.
- People who were together stay together: the groups of a bucket that kept most people go on, as many as the bucket is
  high, and the people of the others and newcomers take the places that are free, in the order of pseudonyms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from republish.arrays import BoolArray, Int64Array, IntArray, WordArray
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Axis, Microdata
from republish.publishers._buckets.buckets import Buckets, FillOptions, Past, fill_buckets
from republish.publishers._buckets.lists import offsets_of, positions_by
from republish.publishers.contract import MustWait
from republish.schema import Number
from republish.spatial.zones import LedRow, cut_zones

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Deal:
    """The zone of every row of a view; and the company of who keeps a signature, those she was last in a group with.

    Companies have numbers; whoever keeps no signature has -1.
    """

    view: Microdata
    keeps: BoolArray
    company: Int64Array
    zone: Int64Array

    @classmethod
    def of(cls, view: Microdata, memory: Memory, keeps: BoolArray, size: int) -> Deal:
        """The deal of a view in zones of about `size` people who need a signature."""
        company = _companies(view, memory, keeps)
        return cls(view, keeps, company, zones_of(view, company, size))

    @classmethod
    def eligible(cls, view: Microdata, memory: Memory, keeps: BoolArray, size: int, m: int) -> Deal:
        """The deal whose newcomers are m-eligible in every zone, or that of one zone: they grow until then.

        That is a choice by value, one for all zones together: an exchange of two values hardly ever changes it.
        """
        deal = cls.of(view, memory, keeps, size)
        while deal.zone.any() and not deal._is_eligible(m):
            size *= 2
            deal = cls.of(view, memory, keeps, size)
        return deal

    def _is_eligible(self, m: int) -> bool:
        new, codes = ~self.keeps, len(self.view.values)
        pairs, people = np.unique(self.zone[new] * codes + self.view.codes[new], return_counts=True)
        of_zone = np.bincount(self.zone[new], minlength=1)
        return bool((m * people <= of_zone[pairs // codes]).all())

    def filled(
        self,
        past: Past,
        m: int,
        rng: np.random.Generator,
        filling: FillOptions,
        apart: BoolArray | None = None,
    ) -> Buckets:
        """Return balanced buckets of all rows as `fill_buckets` does, each of rows of one zone.

        Raises:
            CannotPublish: newcomers of a zone are not m-eligible and may not be padded, or there are too few values.
        """
        bare, filled = without_places(self.view), []
        of_zone = positions_by(self.zone, int(self.zone.max(initial=0)) + 1)
        for rows in np.split(of_zone.items, of_zone.offsets[1:-1]):
            if not len(rows):
                continue
            others = None if apart is None else apart[rows]
            try:
                made = fill_buckets(
                    bare.only(rows), past.only(rows), self.keeps[rows], m, rng, filling, others
                )
            except MustWait as wait:
                raise MustWait(str(wait), ~self.keeps) from None
            filled.append(made.of_rows(rows))
        return joined(filled)

    def grouping(self, buckets: Buckets) -> Grouping:
        """Return groups of one entry of each value: companies that kept most people go on, others take what is free."""
        return _dealt(buckets, self.company)


def without_places(view: Microdata) -> Microdata:
    """The view without quasi-identifiers, so that nothing is nearer than anything else."""
    return replace(view, points=view.points[:0], axes=(), insensitive=pl.DataFrame())


def in_order_of_pseudonyms(view: Microdata) -> Microdata:
    """The view with one number in place of its quasi-identifiers: near are people whose pseudonyms are, by chance."""
    assert view.people is not None
    drawn = view.people[:, 0].astype(np.float64) * 2.0**-64
    return replace(view, points=drawn[None, :], axes=(Axis(Number("drawn"), 0.0, 1.0),))


def _companies(view: Microdata, memory: Memory, keeps: BoolArray) -> Int64Array:
    """A number for everyone who keeps a signature, the same for people who were last in one group; -1 for others."""
    company = np.full(view.rows, _NOWHERE, dtype=np.int64)
    rows = np.flatnonzero(keeps)
    if len(rows):
        assert view.people is not None
        entry = memory.find(view.people[rows])
        last, group = (memory.columns[name][entry].astype(np.int64) for name in ("last", "group"))
        company[rows] = np.unique(last * (int(group.max()) + 1) + group, return_inverse=True)[1]
    return company


def zones_of(view: Microdata, company: Int64Array, size: int) -> Int64Array:
    """The zone of every row: about `size` newcomers each, and the companies most of whose people are led there."""
    led = LedRow(view.points, _words(view))
    new = np.flatnonzero(company == _NOWHERE)
    some = LedRow(led.points[:, new], led.people[new])
    zones, coming = cut_zones(some, size, np.ones(len(view.axes)))
    # Whoever has the same quasi-identifiers is led to the same side: zones that are left with few join the one before.
    part = np.maximum(np.cumsum(_enough(np.bincount(coming, minlength=zones.count), size)) - 1, 0)
    zone: Int64Array = part[zones.lead(led)]
    there = np.flatnonzero(company != _NOWHERE)
    if not len(there):
        return zone
    pairs, people = np.unique(company[there] * zones.count + zone[there], return_counts=True)
    owner, place = pairs // zones.count, pairs % zones.count
    order = np.lexsort((place, -people, owner))
    home = place[order[np.flatnonzero(np.diff(owner[order], prepend=-1))]]
    zone[there] = home[company[there]]
    return zone


def _enough(people: IntArray, size: int) -> BoolArray:
    """Which zones begin a part, so that every part has half of `size` people, the first perhaps aside."""
    begins = 2 * people >= size
    begins[:1] = True
    return begins


def _words(view: Microdata) -> WordArray:
    """A word for every row that its quasi-identifiers alone decide on."""
    words = np.zeros(view.rows, dtype=np.uint64)
    for points in view.points:
        words = (words ^ (points + 0.0).view(np.uint64)) * _GOLDEN
        words ^= words >> np.uint64(29)
    return np.column_stack([words, words])


def joined(parts: list[Buckets]) -> Buckets:
    """All buckets of some lists of them."""
    if not parts:
        nothing, none = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        return Buckets(nothing, none, none, np.zeros(1, dtype=np.int64), none, nothing)
    before = offsets_of(np.array([part.count for part in parts]))
    return Buckets(
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.code for part in parts]),
        np.concatenate([part.bucket + first for part, first in zip(parts, before, strict=False)]).astype(
            np.int32
        ),
        offsets_of(np.concatenate([np.diff(part.sig_offsets) for part in parts])),
        np.concatenate([part.sig_codes for part in parts]),
        np.concatenate([part.heights for part in parts]),
    )


def _dealt(buckets: Buckets, company: Int64Array) -> Grouping:
    """Return groups of one entry of each value: companies that kept most people go on, others take what is free.

    `company` numbers the people of the view who were together, -1 for those who were with nobody.
    """
    real = np.flatnonzero(buckets.row >= 0)
    bucket, height = buckets.bucket[real], buckets.heights[buckets.bucket[real]]
    first = buckets.starts[bucket] + (real - buckets.starts[bucket]) // height * height  # of the same value
    level = _levels(bucket.astype(np.int64), company[buckets.row[real]])
    entry = np.where((level >= 0) & (level < height), first + level, _NOWHERE)
    # A group that another tool made may hold a value twice: one of them goes on.
    taken, holder = np.unique(entry, return_index=True)
    goes_on = np.zeros(len(real), dtype=np.bool_)
    goes_on[holder[taken != _NOWHERE]] = True
    left = np.flatnonzero(~goes_on)
    left = left[np.lexsort((buckets.row[real[left]], first[left]))]
    rank = np.arange(len(left)) - np.searchsorted(first[left], first[left])
    free = np.setdiff1d(np.arange(len(buckets.row)), entry[goes_on], assume_unique=True)
    entry[left] = free[np.searchsorted(free, first[left]) + rank]
    row = np.full(len(buckets.row), _NOWHERE, dtype=np.int64)
    row[entry] = buckets.row[real]
    return replace(buckets, row=row).grouping(len(company))


def _levels(bucket: Int64Array, company: Int64Array) -> Int64Array:
    """The rank of everyone's company among those of her bucket, that with most people first; -1 without one."""
    level = np.full(len(bucket), _NOWHERE, dtype=np.int64)
    has = np.flatnonzero(company >= 0)
    if len(has):
        many = int(company.max()) + 1
        pairs, which, people = np.unique(
            bucket[has] * many + company[has], return_inverse=True, return_counts=True
        )
        order = np.lexsort((-people, pairs // many))
        owner = pairs[order] // many
        rank = np.empty(len(pairs), dtype=np.int64)
        rank[order] = np.arange(len(pairs)) - np.searchsorted(owner, owner)
        level[has] = rank[which]
    return level
