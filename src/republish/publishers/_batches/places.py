"""Where people go: the batch of everyone, by quasi-identifiers, counts of people and chance, never by a value.

Diversity is the exception, and looks at how often values occur among people who are put together, not at whose they
are. What it decides, chance decides now and then as well.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.microdata import Microdata
from republish.publishers._batches.past import BatchPast
from republish.publishers._batches.renewal import BatchPlaces, BatchRules, tallied
from republish.spatial.zones import LedRow, Zones, chances, cut_zones

_ENOUGH, _NEARLY = 0.7, 0.9  # of the size make a closed batch, and one of people who wait in a zone
_ROOMY, _GROWN = 2.0, 1.5  # times the size, and times its first size, an open batch takes newcomers


def led_row(view: Microdata, rows: IntArray | slice = slice(None)) -> LedRow:
    """What leads rows of a view."""
    assert view.people is not None
    return LedRow(view.points[:, rows], view.people[rows])


def first_zones(view: Microdata, past: BatchPast, size: int, weights: FloatArray) -> tuple[Zones, IntArray]:
    """The zones of the first release, or those remembered; and the zone of everyone."""
    if past.batches:
        zones = Zones.of_frame(past.record.cuts)
        return zones, zones.lead(led_row(view))
    return cut_zones(led_row(view), size, weights)


def open_places(view: Microdata, past: BatchPast, rules: BatchRules, weights: FloatArray) -> BatchPlaces:
    """Everyone in a batch of her zone: those who were in one that lives stay in it, newcomers join any with room.

    Who finds no room waits for a new batch, which is made of those who wait in a zone once they are nearly `size`.
    """
    zones, zone = first_zones(view, past, rules.size, weights)
    if not past.batches:
        part, fit = fit_parts(zone, view.codes, rules)
        home = np.where(fit, np.arange(len(fit)) + 1, 0)[part[zone]]
        return BatchPlaces(home, home > 0, zones.joined(part))
    living = np.zeros(past.batches + 1, dtype=np.bool_)
    living[past.record.stays.cohort[past.counted[~past.ended]]] = True
    home = np.where(living[past.home], past.home, 0)
    present = np.bincount(home, minlength=past.batches + 1)
    room = living[1:] & (present[1:] < np.maximum(_ROOMY * rules.size, _GROWN * past.record.size))
    free = np.flatnonzero(room) + 1
    free = free[np.argsort(past.record.zone[free - 1], kind="stable")]
    many = np.bincount(past.record.zone[free - 1], minlength=zones.count)
    first = np.cumsum(many) - many
    new = np.flatnonzero((home == 0) & (many[zone] > 0))
    assert view.people is not None
    drawn = chances(view.people[new], np.full(len(new), zones.count), past.release)
    home[new] = free[first[zone[new]] + (drawn * many[zone[new]]).astype(np.int64)]
    alone = np.flatnonzero(home == 0)
    for made, at in enumerate(ready_zones(zone[alone], view.codes[alone], zones.count, rules), start=1):
        home[alone[zone[alone] == at]] = past.batches + made
    return BatchPlaces(home, ~past.same & (home > 0), zones)


def ready_zones(zone: IntArray, codes: IntArray, zones: int, rules: BatchRules) -> IntArray:
    """The zones in which those who wait make a batch: enough, no value too frequent, and not barred by chance."""
    total, most = tallied(zone, codes, zones)
    return np.flatnonzero((total >= _NEARLY * rules.size) & (most * rules.m <= total) & ~rules.idle[:zones])


def closed_places(view: Microdata, past: BatchPast, rules: BatchRules, weights: FloatArray) -> BatchPlaces:
    """New batches of lives that begin: newcomers, and people with a value that they were not counted with last.

    Whoever comes back with the value of a life that ended is in none: two stays of one life would say more.
    """
    home = np.zeros(view.rows, dtype=np.int64)  # who changed and changed back is listed nowhere, and counted
    home[past.same] = past.record.stays.cohort[past.stay[past.same]]
    begin = np.flatnonzero(~past.known)
    zones = Zones.one()
    enough = len(begin) >= _ENOUGH * rules.size and not rules.idle[0]
    if enough or (len(begin) and not past.batches):
        zones, zone = cut_zones(led_row(view, begin), rules.size, weights, past.release)
        part, fit = fit_parts(zone, view.codes[begin], rules)
        home[begin] = np.where(fit, np.cumsum(fit) + past.batches, 0)[part[zone]]
        zones = zones.joined(part)
    return BatchPlaces(home, ~past.same & (home > 0), zones)


def fit_parts(zone: IntArray, codes: IntArray, rules: BatchRules) -> tuple[IntArray, BoolArray]:
    """Zones joined with the next where they have fewer than n rows, or a value more than one in m, or by chance.

    Returns the part of every zone, and which parts may be a batch: all, or where there is one part, perhaps not that.
    """
    values = int(codes.max(initial=0)) + 1
    zones = int(zone.max(initial=0)) + 1
    counts = np.bincount(zone * values + codes, minlength=zones * values).reshape(zones, values)
    part = np.zeros(zones, dtype=np.int64)
    parts: list[IntArray] = []
    for at, mine in enumerate(counts):
        if parts and (rules.idle[at] or not _is_fit(parts[-1], rules)):
            parts[-1] = parts[-1] + mine
        else:
            parts.append(mine)
        part[at] = len(parts) - 1
    while len(parts) > 1 and not _is_fit(parts[-1], rules):
        rest = parts.pop()
        parts[-1] = parts[-1] + rest
        part[part == len(parts)] = len(parts) - 1
    return part, np.array([_is_fit(part, rules) for part in parts], dtype=np.bool_)


def _is_fit(counts: IntArray, rules: BatchRules) -> bool:
    rows = counts.sum()
    return bool(rows >= rules.n and counts.max(initial=0) * rules.m <= rows)
