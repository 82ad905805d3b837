"""Who was published with whom, from when to when: the stays of people, and of counterfeits, in cohorts.

A cohort is a group that goes on from release to release: whoever is in it stays in it. A stay is an unbroken run of
releases that somebody, or a counterfeit, spent in a cohort with one value. A life is all the time a person has one
value; somebody who comes back has a life of several stays, somebody whose value changed has several lives.

The record holds no pseudonyms: people are counted in it, not named. The memory points into it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray

NOBODY, FREE, TIED, FORGOTTEN = 0, 1, 2, 3
NONE = -1
COLUMNS = ("cohort", "code", "since", "until", "bearer", "person", "life", "previous", "following")


@dataclass(frozen=True)
class Stays:
    """One entry a stay, in the order they began; releases are numbered from 1, cohorts from 1.

    Attributes:
        cohort: where.
        code: the sensitive code.
        since: the first release of the stay.
        until: the last release of the stay so far.
        bearer: NOBODY for a counterfeit, FREE for a person whose life has this one stay, TIED where it has several;
            FORGOTTEN where a batch still counts somebody, or did, who is not remembered any more.
        person: the entry with which the person was first seen; its own for a counterfeit.
        life: the entry with which the life began; its own for a counterfeit.
        previous: the code of the person's life before, -1 for none.
        following: the code of the life after, -1 for none.
    """

    cohort: IntArray
    code: IntArray
    since: IntArray
    until: IntArray
    bearer: IntArray
    person: IntArray
    life: IntArray
    previous: IntArray
    following: IntArray

    @classmethod
    def none(cls) -> Stays:
        return cls(*(np.zeros(0, dtype=np.int64) for _ in COLUMNS))

    @classmethod
    def of_frame(cls, frame: pl.DataFrame | None) -> Stays:
        if frame is None:
            return cls.none()
        if "stays" in frame.columns:  # one table of several
            frame = frame["stays"].explode().struct.unnest().drop_nulls("cohort")
        return cls(*(frame[name].cast(pl.Int64).to_numpy() for name in COLUMNS))

    def frame(self) -> pl.DataFrame:
        return pl.DataFrame({name: getattr(self, name).astype(np.int32) for name in COLUMNS})

    @property
    def count(self) -> int:
        return len(self.cohort)

    @property
    def people(self) -> int:
        """How many people there are, but for those who were forgotten."""
        someone = (self.bearer == FREE) | (self.bearer == TIED)
        return int(np.count_nonzero(someone & (self.person == np.arange(self.count))))

    def heights(self, release: int) -> tuple[IntArray, IntArray, IntArray]:
        """Cohort, code and number of rows of everything that a release showed, sorted."""
        there = (self.since <= release) & (release <= self.until)
        pairs = np.column_stack([self.cohort[there], self.code[there]])
        found, rows = np.unique(pairs, axis=0, return_counts=True)
        return found[:, 0], found[:, 1], rows.astype(np.int64)


@dataclass(frozen=True)
class CohortSighting:
    """Everyone published in one release: the cohort, the code, and the stay each had before.

    `stay` is the entry of a person's last stay, -1 for a stranger. `goes_on` are those who were in the release
    before with the same code and hence stay. `shown` holds cohort, code and number of all published rows.
    """

    release: int
    cohort: IntArray
    code: IntArray
    stay: IntArray
    goes_on: BoolArray
    shown: tuple[IntArray, IntArray, IntArray]


def continued(stays: Stays, now: CohortSighting) -> tuple[Stays, IntArray]:
    """The record with one more release, and for everyone in it the entry of the stay."""
    until, bearer, following = stays.until.copy(), stays.bearer.copy(), stays.following.copy()
    until[now.stay[now.goes_on]] = now.release
    comes = ~now.goes_on
    old = now.stay[comes]
    known = old >= 0
    changed = known.copy()
    changed[known] = stays.code[old[known]] != now.code[comes][known]
    returns = known & ~changed
    bearer[np.isin(stays.life, stays.life[old[returns]])] = TIED
    # All stays of a life that has ended are told which value followed.
    ended = stays.life[old[changed]]
    after = np.full(stays.count, NONE, dtype=np.int64)
    after[ended] = now.code[comes][changed]
    follows = after[stays.life] if stays.count else after
    following = np.where(follows != NONE, follows, following)

    entry = now.stay.copy()
    entry[comes] = stays.count + np.arange(int(comes.sum()))
    person, life = entry[comes].copy(), entry[comes].copy()
    person[known] = stays.person[old[known]]
    life[returns] = stays.life[old[returns]]
    previous = np.full(len(old), NONE, dtype=np.int64)
    previous[changed] = stays.code[old[changed]]
    previous[returns] = stays.previous[old[returns]]
    fresh = Stays(
        now.cohort[comes],
        now.code[comes],
        np.full(len(old), now.release),
        np.full(len(old), now.release),
        np.where(returns, TIED, FREE),
        person,
        life,
        previous,
        np.full(len(old), NONE),
    )
    longer = _joined(replace(stays, until=until, bearer=bearer, following=following), fresh)
    return _with_counterfeits(longer, now), entry


def _with_counterfeits(stays: Stays, now: CohortSighting) -> Stays:
    """The record in which the rows of nobody go on as far as they did, and further ones begin."""
    shown = pl.DataFrame(dict(zip(("cohort", "code", "shown"), now.shown, strict=True)))
    held = pl.DataFrame({"cohort": now.cohort, "code": now.code}).group_by("cohort", "code").len("held")
    spare = shown.join(held, on=["cohort", "code"], how="left").select(
        "cohort", "code", spare=pl.col("shown").cast(pl.Int64) - pl.col("held").fill_null(0).cast(pl.Int64)
    )
    waiting = (
        pl.DataFrame({"cohort": stays.cohort, "code": stays.code})
        .with_row_index("entry")
        .filter(pl.Series((stays.bearer == NOBODY) & (stays.until == now.release - 1)))
        .with_columns(rank=pl.int_range(pl.len()).over("cohort", "code"))
        .join(spare, on=["cohort", "code"], how="inner", maintain_order="left")
        .filter(pl.col("rank") < pl.col("spare"))
    )
    until = stays.until.copy()
    until[waiting["entry"].to_numpy()] = now.release
    more = (
        spare.join(waiting.group_by("cohort", "code").len("go_on"), on=["cohort", "code"], how="left")
        .with_columns(new=pl.col("spare") - pl.col("go_on").fill_null(0).cast(pl.Int64))
        .filter(pl.col("new") > 0)
        .sort("cohort", "code")
    )
    rows = more["new"].to_numpy()
    cohort, code = (np.repeat(more[name].to_numpy(), rows) for name in ("cohort", "code"))
    nobody = len(cohort)
    fresh = Stays(
        cohort,
        code,
        np.full(nobody, now.release),
        np.full(nobody, now.release),
        np.full(nobody, NOBODY),
        stays.count + np.arange(nobody),
        stays.count + np.arange(nobody),
        np.full(nobody, NONE),
        np.full(nobody, NONE),
    )
    return _joined(replace(stays, until=until), fresh)


def _joined(older: Stays, newer: Stays) -> Stays:
    return Stays(
        *(np.concatenate([getattr(older, name), getattr(newer, name)]).astype(np.int64) for name in COLUMNS)
    )
