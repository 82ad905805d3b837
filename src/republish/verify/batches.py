"""The promises of value-blind batches: when counts may change, and how few can be determined; imports no publisher.

- `value-blind`: who is with whom has nothing to do with values. While a view is at hand everyone's batch is found anew
  from quasi-identifiers (`republish.verify.zones`); later, that whoever is counted on is counted with the same people.
- `open-batches=n`: the counts of a batch change only where at least n of the lives that it counts end, or all of them,
  or at least n begin, each for itself; where lives end, all do whose person left or changed.
- `closed-batches=n`: a batch takes in nobody once it is made; lives end n at a time, and at least n or none remain.
  Either is made of at least n lives.
- `determined=d@c`: as for cohorts (`republish.verify.cohorts`), with everyone in a batch for as long as it counts her.

Whoever was forgotten is nobody in the memberships. Of a batch that counts such a life in a release, or did in the one
before, it cannot be found anew whether lives ended and began n at a time; of its clock only that it is not too early.
The bound is that of the others, with such lives known to the adversary. Where it is above the limit nothing is said:
when the release was made they were ways out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.inference.determination import batch_risk
from republish.memory.batch_record import STAY, BatchRecord
from republish.memory.cohort_stays import FORGOTTEN, CohortSighting, Stays, continued
from republish.memory.memory import KEY, Memory, keyed
from republish.release.two_tables import AS_OF, BATCH
from republish.verify.check import Check
from republish.verify.cohorts import DETERMINED, labelled
from republish.verify.promises import AuditedRelease, meaning_of

BLIND, OPEN, CLOSED = "value-blind", "open-batches", "closed-batches"
ABOUT_BATCHES = (BLIND, OPEN, CLOSED, DETERMINED)
"""The promises that are checked from whom batches count, where batches are value-blind."""
_NOBODY = (pl.col(KEY[0]) == 0) & (pl.col(KEY[1]) == 0)
_SAME = [*KEY, "code", "cohort", "rank"]
_ROWS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(KEY, pl.UInt64),
    "code": pl.Int64,
    "cohort": pl.Int64,
    STAY: pl.Int64,
}


class CountedBefore(NamedTuple):
    """What is known before a release: the stays so far, whom batches count, and the last stay of everyone.

    Where people were forgotten since, a record that is formed anew `lacks` them. One that was kept says whom a batch
    counts that is nobody now.
    """

    stays: Stays
    rows: pl.DataFrame
    last: pl.DataFrame
    lacks: bool = False
    kept: bool = False


def counted_in(memory: Memory) -> CountedBefore:
    """What a memory knows of batches."""
    record = BatchRecord.of(memory).known_to(memory)
    stays = record.stays
    counted = np.flatnonzero(stays.until == memory.release)
    rows = keyed(record.bearers(memory, counted)).with_columns(
        pl.Series("code", stays.code[counted], dtype=pl.Int64),
        pl.Series("cohort", stays.cohort[counted], dtype=pl.Int64),
        pl.Series(STAY, counted, dtype=pl.Int64),
    )
    pointed = memory.columns.get(STAY, np.zeros(memory.size, dtype=np.int32)).astype(np.int64) - 1
    last = keyed(memory.people).with_columns(pl.Series(STAY, pointed, dtype=pl.Int64))
    return CountedBefore(stays, rows, last.filter(pl.col(STAY) >= 0), kept=True)


class Renewals:
    """What one release does to batches, found from whom it counts and whom the one before did."""

    def __init__(self, now: AuditedRelease, before: CountedBefore) -> None:
        counted = now.members.counted()
        held = np.zeros(len(counted.group), dtype=np.bool_)
        if now.members.held is not None and len(now.members.held.group):
            held[-len(now.members.held.group) :] = True
        rows = keyed(counted.people).with_columns(
            pl.Series("group", counted.group, dtype=pl.Int64),
            pl.Series("code", counted.code, dtype=pl.Int64),
            pl.Series("held", held),
        )
        # Who is held may have begun another life; of who is not, only the last life goes on.
        last = before.last.select(STAY, last=pl.lit(True))
        earlier = before.rows.join(last, on=STAY, how="left", maintain_order="left").with_columns(
            pl.col("last").fill_null(_NOBODY)
        )
        lines, self.apart = _lines(rows, earlier)
        rows = _ranked(rows.join(lines, on="group", how="left", maintain_order="left"))
        earlier = _ranked(earlier)
        self.rows = rows.join(
            earlier.select(*_SAME, STAY, "last"),
            on=_SAME,
            how="left",
            nulls_equal=False,
            maintain_order="left",
        ).select(pl.all().exclude(STAY, "last"), pl.when(pl.col("held") | pl.col("last")).then(pl.col(STAY)))
        self.gone = earlier.join(self.rows.select(STAY).drop_nulls(), on=STAY, how="anti")
        self.before, self.now = before, now

    @cached_property
    def unsure(self) -> pl.Series:
        """The batches that count somebody who was forgotten, or did before: who of these goes on cannot be found."""
        cohorts = pl.concat([rows.filter(_NOBODY)["cohort"] for rows in (self.rows, self.before.rows)])
        return cohorts.clear() if self.before.kept else cohorts.drop_nulls().unique()

    @cached_property
    def lacks(self) -> bool:
        """Whether people of this release or an earlier one are forgotten."""
        nobody = not bool(self.now.members.counted().someone.all())
        return self.before.lacks or (nobody and not self.before.kept)

    @cached_property
    def continued(self) -> tuple[Stays, IntArray]:
        """The stays with this release, and that of every row."""
        rows, stays = self.rows, self.before.stays
        goes_on = rows[STAY].is_not_null().to_numpy()
        known = rows.select(KEY).join(self.before.last, on=list(KEY), how="left", maintain_order="left")
        stay = rows[STAY].fill_null(known[STAY]).fill_null(-1).to_numpy()
        fresh = rows.filter(pl.col("cohort").is_null())["group"].unique().sort()
        first = int(stays.cohort.max(initial=0)) + 1
        named = rows["cohort"].fill_null(
            rows["group"].replace_strict(fresh, np.arange(first, first + len(fresh)), default=None)
        )
        cohort, code = named.to_numpy(), rows["code"].to_numpy()
        shown, times = np.unique(np.column_stack([cohort, code]), axis=0, return_counts=True)
        counts = shown[:, 0], shown[:, 1], times.astype(np.int64)
        found, entry = continued(stays, CohortSighting(self.now.number, cohort, code, stay, goes_on, counts))
        found.bearer[entry[rows.select(_NOBODY).to_series().to_numpy()]] = FORGOTTEN
        return found, entry

    @cached_property
    def changes(self) -> pl.DataFrame:
        """Of every batch that was there before: how many of its lives end, remain, are held, and begin."""
        here = self.rows.filter(pl.col("cohort").is_not_null()).group_by("cohort")
        goes_on = pl.col(STAY).is_not_null()
        found = here.agg(
            remain=goes_on.sum(),
            held=pl.col("held").sum(),
            begin=(~goes_on).sum(),
            strange=(pl.col("held") & ~goes_on).sum(),
        )
        ends = self.gone.group_by("cohort").len("end")
        return found.join(ends, on="cohort", how="full", coalesce=True).fill_null(0).cast(pl.Int64)

    def as_of(self) -> pl.DataFrame:
        """The release in which every batch was last counted anew, by the lives of people who are known."""
        stays, entry = self.continued
        sure = np.full(stays.count, True) if self.before.kept else stays.bearer != FORGOTTEN
        over = sure & (stays.until < self.now.number)
        changed = np.zeros(int(stays.cohort.max(initial=0)) + 1, dtype=np.int64)
        np.maximum.at(changed, stays.cohort[sure], stays.since[sure])
        np.maximum.at(changed, stays.cohort[over], stays.until[over] + 1)
        batch = pl.DataFrame({BATCH: self.rows["group"], AS_OF: changed[stays.cohort[entry]]})
        return batch.unique().sort(BATCH)


def _lines(rows: pl.DataFrame, earlier: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Which batch goes on with which, and how many people are not with those whom they were with.

    Somebody may be held with a value twice, in two batches; whoever is there has one last life.
    """
    same = [*KEY, "code"]
    someone = rows.filter(~_NOBODY)
    once = ~pl.struct(same).is_duplicated()
    here = someone.filter(~pl.col("held")).join(earlier.filter("last"), on=same, how="inner")
    held = someone.filter(once).filter("held").join(earlier.filter(once), on=same, how="inner")
    pairs = pl.concat([here, held]).group_by("group", "cohort").len()
    apart = pairs.filter(pl.col("group").is_duplicated() | pl.col("cohort").is_duplicated())
    lines = pairs.sort("len", descending=True).unique("group", keep="first", maintain_order=True)
    lines = lines.unique("cohort", keep="first", maintain_order=True)
    return lines.select("group", "cohort"), int(apart["len"].sum())


def _ranked(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(rank=pl.int_range(pl.len()).over(*KEY, "code", "cohort"))


class BatchWalk:
    """The stays of a series of batches, formed anew from its memberships, release by release."""

    def __init__(self) -> None:
        nobody = {name: _ROWS[name] for name in (*KEY, STAY)}
        self.before = CountedBefore(Stays.none(), pl.DataFrame(schema=_ROWS), pl.DataFrame(schema=nobody))

    def add(self, found: Renewals) -> None:
        """Take in a release."""
        stays, entry = found.continued
        rows = found.rows.with_columns(
            pl.Series(STAY, entry, dtype=pl.Int64), pl.Series("cohort", stays.cohort[entry], dtype=pl.Int64)
        )
        seen = rows.filter(~pl.col("held") & ~_NOBODY).select(*KEY, STAY).unique(KEY, keep="last")
        last = pl.concat([self.before.last.join(seen, on=list(KEY), how="anti"), seen])
        self.before = CountedBefore(stays, rows.select(*_ROWS), last, found.lacks)

    def differences(self, memory: Memory) -> list[str]:
        """Where the stored record is not what the memberships say; of people who were forgotten nothing can be said."""
        wrong = ["the memory has another record of batches than the memberships say"]
        if memory.counts is None:
            return wrong if self.before.stays.count else []
        stored = BatchRecord.of(memory).stays
        mine, theirs = labelled(self.before.stays), labelled(stored)
        if self.before.lacks:
            return []
        pointed = memory.columns.get(STAY, np.zeros(memory.size, dtype=np.int32)).astype(np.int64) - 1
        if (pointed >= stored.count).any():
            return ["the memory points to stays that are not recorded"]
        last = keyed(memory.people).join(self.before.last, on=list(KEY), how="left", maintain_order="left")
        found = last[STAY].fill_null(-1).to_numpy()
        there = pointed >= 0
        same = bool(((found >= 0) == there).all()) and mine[found[there]].equals(theirs[pointed[there]])
        same = same and mine.sort(mine.columns).equals(theirs.sort(theirs.columns))
        return [] if same else wrong


def batch_checks(promise: str, found: Renewals) -> Sequence[Check]:
    """Whether a release keeps a promise about batches."""
    name, _, bound = promise.partition("=")
    if name == BLIND:
        says = "A person who is counted on is counted with the same people."
        return (Check(f"{promise}: together", not found.apart, says, None, 0, found.apart),)
    if name == DETERMINED:
        return (_determined(promise, found),)
    checks = [_renewed(promise, name == CLOSED, int(bound), found)]
    if found.now.clock is not None:
        wrong = _wrong_clocks(found, found.now.clock)
        says = "Every batch says in which release it was last counted."
        checks.append(Check(f"{promise}: clock", wrong == 0, says, None, wrong))
    return checks


def _wrong_clocks(found: Renewals, clock: pl.DataFrame) -> int:
    """How many batches say that they were counted in another release than they were.

    Of one that was not counted anew since an audit began, in the midst of a series, it is known that it was not later;
    of one that counted somebody who was forgotten, that it was not earlier.
    """
    stays, entry = found.continued
    first = int(stays.since.min()) if stays.count else 1
    shown, known = clock.select(BATCH, shown=AS_OF).cast(pl.Int64), found.as_of().cast(pl.Int64)
    both = shown.join(known, on=BATCH, how="full", coalesce=True)
    earlier = (pl.col(AS_OF) == first) & (pl.col("shown") <= first)
    if not found.before.kept:
        forgotten = np.isin(stays.cohort[entry], stays.cohort[stays.bearer == FORGOTTEN])
        later = pl.col(BATCH).is_in(found.rows["group"].filter(forgotten).unique().implode())
        earlier |= later & (pl.col("shown") >= pl.col(AS_OF))
    return both.filter(~(earlier | (pl.col("shown") == pl.col(AS_OF))).fill_null(False)).height


def _renewed(promise: str, closed: bool, n: int, found: Renewals) -> Check:
    """Whether lives end, and begin, n at a time."""
    end, remain, held, begin = (pl.col(name) for name in ("end", "remain", "held", "begin"))
    few_end = (end > 0) & (end < n) & (remain > 0)
    left_behind = (end > 0) & (held > 0)
    few_begin = (begin > 0) if closed else (begin > 0) & (begin < n)
    few_remain = (end > 0) & (remain > 0) & (remain < n)
    wrong = found.changes.filter(
        few_end | left_behind | few_begin | few_remain | (pl.col("strange") > 0),
        ~pl.col("cohort").is_in(found.unsure.implode()),
    )
    made = found.rows.filter(pl.col("cohort").is_null()).group_by("group").len().filter(pl.col("len") < n)
    rows = int((wrong["end"] + wrong["begin"]).sum()) + int(made["len"].sum())
    groups = wrong.height + made.height
    says = meaning_of(promise)
    return Check(f"{promise}: counts", groups == 0, says, None, groups, rows, unchecked=len(found.unsure))


def _determined(promise: str, found: Renewals) -> Check:
    limit, _, compromised = promise.partition("=")[2].partition("@")
    stays, _ = found.continued
    risk = batch_risk(stays, float(compromised))
    if found.lacks and risk.share > float(limit):
        says = f"{meaning_of(promise)[:-1]}; people were forgotten, so this cannot be computed anew; it was when the "
        return Check(f"{promise}: ways out", True, f"{says}release was made.", unchecked=found.changes.height)
    says = (
        f"{meaning_of(promise)[:-1]}; the bound for what was released so far is {risk.share:.3%} of the people, and "
        f"{risk.worst:.1%} for the worst placed of them"
        + (", but for those who were forgotten: all of theirs is taken to be known." if found.lacks else ".")
    )
    return Check(f"{promise}: ways out", risk.share <= float(limit), says, risk.share)
