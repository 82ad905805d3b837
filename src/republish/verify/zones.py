"""Whether everyone is in the batch that quasi-identifiers, numbers of people and chance lead to: found anew here.

Nothing of how the publisher finds it is used, but what it says of its own cuts. Where cuts are made for the release at
hand, each must be the one that the quasi-identifiers of the people whom it parts call for; later ones are those stored.

Values have a part in two things: whether a value is the one that a person was counted with, which event lists tell, and
diversity. That may only put neighbouring zones together, or keep people who begin from a batch, all of them or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.memory.batch_record import HOME, STAY, BatchRecord, BatchTerms
from republish.memory.memory import KEY, Memory, keyed
from republish.microdata import Microdata
from republish.verify.batches import BLIND, counted_in
from republish.verify.check import Check

LED = f"{BLIND}: led by quasi-identifiers"
_SAYS = "Everyone is in the batch that quasi-identifiers, numbers of people and chance lead her to."
_WORD = 2**64
_STEP, _MIX, _MORE = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # SplitMix64
_ROOM, _GROWTH, _ENOUGH, _NEARLY = (2, 1), (3, 2), (7, 10), (9, 10)
"""An open batch has room up to twice the size, or 3/2 of its first; 7/10 of the size make closed batches,
9/10 a new open one."""
_TAILS = 5, 95
_NEAR, _LEAST = 0.15, 0.35


class _Expected(NamedTuple):
    """Who must be listed where.

    `batch` is the number of a batch of the record, 0 for none; `begins` marks people who may be in a new batch, or all
    in none, by `zone`.
    """

    batch: IntArray
    begins: BoolArray
    zone: IntArray
    wrong_cuts: int


def led_by_zones(
    view: Microdata, listed: IntArray, memory: Memory, cuts: pl.DataFrame, terms: BatchTerms
) -> Check:
    """Whether a draft lists everyone in the batch that she must be in; `listed` is the published one, 0 for none.

    `cuts` are those that the draft says people were led by, `memory` is that before it.
    """
    record = BatchRecord.of(memory)
    if not len(record.zone) and not terms.closed:
        begins = np.ones(view.rows, dtype=np.bool_)
        zone, wrong = _zones_made(view, begins, cuts, terms, 0)
        expected = _Expected(np.zeros(view.rows, dtype=np.int64), begins, zone, wrong)
    elif terms.closed:
        expected = _closed(view, memory, record, cuts, terms)
    else:
        expected = _open(view, memory, record, cuts, terms)
    makes = terms.closed or not len(record.zone)
    astray = _astray(listed, expected, runs=makes)
    # Cuts that lead nobody to a batch need not have been made.
    idle = makes and not (listed[expected.begins] > 0).any()
    batches = len(np.unique(listed[astray])) + (0 if idle else expected.wrong_cuts)
    return Check(LED, batches == 0, _SAYS, None, batches, int(astray.sum()))


def _open(
    view: Microdata, memory: Memory, record: BatchRecord, cuts: pl.DataFrame, terms: BatchTerms
) -> _Expected:
    """Who was in a batch that lives stays in it, others join one of their zone with room, drawn by their pseudonyms."""
    people = _people(view)
    zone = np.zeros(view.rows, dtype=np.int64)
    for leaf, mine in _leaves(view.points, people, cuts, 0):
        zone[mine] = leaf
    living = _counted_now(view, memory)["cohort"].unique()
    rows = keyed(people).with_columns(pl.Series("zone", zone)).with_row_index("row")
    home = rows.join(_homes(memory), on=list(KEY), how="left", maintain_order="left")[HOME]
    home = pl.select(pl.when(home.is_in(living.implode())).then(home).otherwise(0)).to_series()
    number = np.arange(1, len(record.zone) + 1)
    batches = pl.DataFrame({HOME: number, "zone": record.zone, "first": record.size}).filter(
        pl.col(HOME).is_in(living.implode())
    )
    there = home.value_counts(name="there").rename({home.name: HOME})
    room = (
        batches.join(there, on=HOME, how="left")
        .filter(
            (pl.col("there") * _ROOM[1] < _ROOM[0] * terms.size)
            | (pl.col("there") * _GROWTH[1] < _GROWTH[0] * pl.col("first"))
        )
        .sort(HOME)
        .group_by("zone", maintain_order=True)
        .agg(pl.col(HOME).alias("free"))
    )
    drawn = _chances(people, cuts.height + 1, memory.release + 1)
    joined = (
        rows.with_columns(home.alias(HOME), pl.Series("drawn", drawn))
        .join(room, on="zone", how="left", maintain_order="left")
        .with_columns(pick=(pl.col("drawn") * pl.col("free").list.len()).floor().cast(pl.Int64))
        .select(
            pl.when(pl.col(HOME) > 0)
            .then(HOME)
            .otherwise(pl.col("free").list.get(pl.col("pick")).fill_null(0))
        )
        .to_series()
        .to_numpy()
        .astype(np.int64)
    )
    many = np.bincount(zone[joined == 0], minlength=cuts.height + 1)
    begins = (joined == 0) & (many[zone] * _NEARLY[1] >= _NEARLY[0] * terms.size)
    changed = 0 if cuts.equals(record.cuts) else 1
    return _Expected(joined, begins, zone, changed)


def _closed(
    view: Microdata, memory: Memory, record: BatchRecord, cuts: pl.DataFrame, terms: BatchTerms
) -> _Expected:
    """Who is counted stays where she is; lives that begin are parted by cuts, if they are enough."""
    here = _counted_now(view, memory)
    batch = np.zeros(view.rows, dtype=np.int64)
    batch[here["row"].to_numpy()] = here["cohort"].to_numpy()
    rows = keyed(_people(view)).with_row_index("row")
    last = rows.join(_homes(memory), on=list(KEY), how="left", maintain_order="left")[STAY].fill_null(0)
    code = np.append(record.stays.code, -1)[last.to_numpy().astype(np.int64) - 1]
    begins = code != view.codes
    many = int(begins.sum())
    if len(record.zone) and many * _ENOUGH[1] < _ENOUGH[0] * terms.size:
        begins = np.zeros(view.rows, dtype=np.bool_)
    zone, wrong = _zones_made(view, begins, cuts, terms, memory.release + 1)
    return _Expected(batch, begins, zone, wrong)


def _zones_made(
    view: Microdata, begins: BoolArray, cuts: pl.DataFrame, terms: BatchTerms, salt: int
) -> tuple[IntArray, int]:
    """The zone of everyone who begins, and how many cuts are not those that their quasi-identifiers call for."""
    rows = np.flatnonzero(begins)
    points, people = view.points[:, rows], _people(view)[rows]
    zone = np.zeros(view.rows, dtype=np.int64)
    led = list(_leaves(points, people, cuts, salt))
    for leaf, mine in led:
        zone[rows[mine]] = leaf
    order = [leaf for leaf, _ in led]
    if order != sorted(
        order, reverse=True
    ):  # zones that are one batch lie side by side; the walk begins above
        return zone, cuts.height + 1
    return zone, _wrong_cuts(points, people, cuts, terms, salt) if len(rows) else cuts.height


def _astray(listed: IntArray, expected: _Expected, runs: bool) -> BoolArray:
    """Which rows are not listed where they must be.

    A batch of those who begin is all of a zone, or, with `runs`, of neighbouring zones.
    """
    begins, zone = expected.begins, expected.zone
    wrong: BoolArray = ~begins & ((listed > 0) != (expected.batch > 0))
    pairs = pl.DataFrame({"listed": listed, "batch": np.where(begins, -1, expected.batch)})
    once = pairs.unique().filter(pl.col("listed") > 0)
    mixed = once.filter(
        pl.col("listed").is_duplicated() | ((pl.col("batch") > 0) & pl.col("batch").is_duplicated())
    )["listed"]
    wrong |= np.isin(listed, mixed.to_numpy()) & (listed > 0)
    parts = pl.DataFrame({"zone": zone[begins], "listed": listed[begins]}).unique().sort("zone")
    split = parts.filter(pl.col("zone").is_duplicated())["listed"]
    again = parts["listed"].rle().struct.field("value")
    apart = (
        again.filter(again.is_duplicated())
        if runs
        else parts["listed"].filter(parts["listed"].is_duplicated())
    )
    none = parts.filter(pl.col("listed") == 0)["listed"] if runs and (parts["listed"] > 0).any() else split
    bad = pl.concat([split, apart.filter(apart > 0), none]).to_numpy()
    astray: BoolArray = wrong | (begins & np.isin(listed, bad))
    return astray


def _people(view: Microdata) -> WordArray:
    assert view.people is not None
    return view.people


def _counted_now(view: Microdata, memory: Memory) -> pl.DataFrame:
    """The rows whose value a batch counts already, and that batch."""
    rows = (
        keyed(_people(view)).with_columns(pl.Series("code", view.codes, dtype=pl.Int64)).with_row_index("row")
    )
    last = _homes(memory).filter(pl.col(STAY) > 0).select(*KEY, pl.col(STAY) - 1)
    counted = counted_in(memory).rows.join(last, on=[*KEY, STAY], how="semi")
    return rows.join(counted, on=[*KEY, "code"], how="inner").select("row", "cohort")


def _homes(memory: Memory) -> pl.DataFrame:
    """The last stay of everyone, and the batch she was listed in, each 0 for none."""
    nothing = np.zeros(memory.size, dtype=np.int32)
    columns = [pl.Series(name, memory.columns.get(name, nothing), dtype=pl.Int64) for name in (STAY, HOME)]
    return keyed(memory.people).with_columns(*columns)


def _leaves(
    points: FloatArray, people: WordArray, cuts: pl.DataFrame, salt: int
) -> Iterator[tuple[int, IntArray]]:
    """The rows of every zone."""
    for place, rows, _ in _walk(points, people, cuts, salt, 1):
        if place < 0:
            yield -1 - place, rows


def _walk(
    points: FloatArray, people: WordArray, cuts: pl.DataFrame, salt: int, parts: int
) -> Iterator[tuple[int, IntArray, int]]:
    """Every cut and zone with the rows that come to it, and of how many parts they are to be."""
    below, above = cuts["below"].to_list(), cuts["above"].to_list()
    todo = [(0 if cuts.height else -1, np.arange(points.shape[1]), parts)]
    while todo:
        place, rows, parts = todo.pop()
        yield place, rows, parts
        if place >= 0:
            side = _is_below(points, people, cuts.row(place, named=True), rows, place, salt)
            todo.append((below[place], rows[side], parts // 2))
            todo.append((above[place], rows[~side], parts - parts // 2))


def _is_below(
    points: FloatArray, people: WordArray, cut: dict[str, float], rows: IntArray, place: int, salt: int
) -> BoolArray:
    """Who of some rows goes below a cut: those with a lower value, and of those with its own a share by chance."""
    value = points[int(cut["axis"])][rows]
    side: BoolArray = value < cut["cut"]
    on = np.flatnonzero(value == cut["cut"])
    side[on] = _chances(people[rows[on]], place, salt) < cut["share"]
    return side


def _chances(people: WordArray, label: int, salt: int) -> FloatArray:
    """A number from 0 to 1 for everyone: the upper 53 bits of SplitMix64, started by pseudonym, label and salt."""
    start = ((label + 1) * _STEP % _WORD) ^ (salt * _MORE % _WORD)
    word = people[:, 1] ^ np.uint64(start)
    for shift, factor in ((30, _MIX), (27, _MORE)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    word = word ^ (word >> np.uint64(31))
    return np.ldexp((word >> np.uint64(11)).astype(np.float64), -53)


def _wrong_cuts(
    points: FloatArray, people: WordArray, cuts: pl.DataFrame, terms: BatchTerms, salt: int
) -> int:
    """How many cuts, or zones that should have been cut, are not what the rows that come to them call for."""
    known = np.where(np.isneginf(points), np.nan, points)
    blank = np.isnan(known).all(axis=1)
    known[blank] = 0
    low, high = np.nanmin(known, axis=1), np.nanmax(known, axis=1)
    width = np.where(high > low, high - low, np.inf)
    filled = np.where(np.isnan(known), low[:, None], known)  # a missing value is the lowest of all
    wrong = 0
    for place, rows, parts in _walk(points, people, cuts, salt, max(1, round(points.shape[1] / terms.size))):
        if place < 0 or parts <= 1:
            wrong += (place < 0) != (parts <= 1)
        elif len(rows):
            mine = cuts.row(place, named=True)
            wrong += not _called_for(points, filled[:, rows] / width[:, None], rows, mine, parts, terms)
    return wrong


def _called_for(
    points: FloatArray,
    shares: FloatArray,
    rows: IntArray,
    cut: dict[str, float],
    parts: int,
    terms: BatchTerms,
) -> bool:
    """Whether a cut is along the axis on which rows differ most, and leaves either side its share of them.

    `shares` are the rows as parts of the width of every axis.
    """
    axis = int(cut["axis"])
    differ = np.subtract(*np.percentile(shares, _TAILS[::-1], axis=1)) * terms.weights
    if not (differ > 0).any():
        differ = np.ptp(shares, axis=1) * terms.weights
    if differ[axis] < differ.max() * (1 - 1e-9):
        return False
    value = points[axis][rows]
    part = len(rows) * ((parts // 2) / parts)
    below, upto = np.count_nonzero(value < cut["cut"]), np.count_nonzero(value <= cut["cut"])
    if not below <= min(round(part), len(rows) - 1) < upto:
        return False
    share = float(np.clip((part - below) / (upto - below), 0, 1))
    if share < _NEAR and below > _LEAST * len(rows):
        share = 0.0
    elif share > 1 - _NEAR and upto < (1 - _LEAST) * len(rows):
        share = 1.0
    return abs(share - cut["share"]) < 1e-9
